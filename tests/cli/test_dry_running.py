from pathlib import Path

import pytest

from tests.cli.commands import Ran, noetl

HEAD = "apiVersion: noetl.io/v1\nkind: Playbook\nmetadata: {name: t, path: tests/t}\n"
SAFE = "http://127.0.0.1:1"
START = HEAD + "workflow:\n  - {step: start, next: [order]}\n"
ORDER = (
    f"  - {{step: order, type: http, method: POST, url: '{SAFE}/orders',"
    " data: {number: A-1}, confirm: true, next: [next]}\n"
)


class Trial:
    """Somebody who tries a playbook without a database."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def does(self, text: str, *options: str, columns: int = 80) -> Ran:
        file = self.folder / "t.yaml"
        file.write_text(text)
        home, width = str(self.folder / "home"), str(columns)
        return noetl("run", file, "--dry-run", *options, NOETL_HOME=home, COLUMNS=width)


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    return Trial(tmp_path)


def test_each_write_is_shown_as_it_would_be_sent(trial: Trial) -> None:
    text = START + ORDER.replace("[next]", "[end]") + "  - {step: end}\n"

    ran = trial.does(text)

    assert ran.code == 0
    assert ran.out == f'would write  order  POST {SAFE}/orders {{"number": "A-1"}}\n'
    assert ran.err.endswith("dry run: everything would be allowed, nothing was written\n")


def test_everything_is_never_said_while_something_could_not_be_looked_at(trial: Trial) -> None:
    text = (
        START
        + ORDER
        + (
            f"  - {{step: next, type: http, method: PUT, confirm: true, next: [end],"
            f" url: '{SAFE}/orders/{{{{ order.data.id }}}}'}}\n  - {{step: end}}\n"
        )
    )
    ran, told = trial.does(text), trial.does(text, "--json")

    assert ran.code == told.code == 0
    assert "everything" not in ran.err
    assert "unknown      next   PUT http://127.0.0.1:1/orders/{{ order.data.id }}\n" in ran.out
    assert "1 write would be allowed; 1 step could not be looked at wholly: next" in ran.err
    found = told.json()
    assert (found["allowed"], found["verdict"], found["unknown"]) == (True, "unknown", ["next"])
    assert found["unknown_because"] == {"next": "it needs {{ order.data.id }}"}
    assert [one["method"] for one in found["writes"]] == ["POST", "PUT"]


def test_what_would_be_refused_behind_an_unknown_step_is_refused_and_1(trial: Trial) -> None:
    text = (
        START
        + ORDER
        + (
            f"  - {{step: next, type: http, method: PUT, url: '{SAFE}/{{{{ order.data.id }}}}',"
            " confirm: true, next: [last]}\n"
            f"  - {{step: last, type: http, method: PUT, url: '{SAFE}/x',"
            " expect: {requireConfirm: true}, next: [end]}\n  - {step: end}\n"
        )
    )

    ran = trial.does(text)

    assert ran.code == 1
    assert "refused      last" in ran.out
    assert "1 write would be refused: last" in ran.err


def test_lines_fit_the_terminal_and_what_is_cut_says_so(trial: Trial) -> None:
    long = ORDER.replace("A-1", "'" + "abc " * 400 + "'").replace("[next]", "[end]")
    text = START + long + "  - {step: end}\n"

    for columns in (60, 80, 120):
        ran = trial.does(text, columns=columns)

        assert max(map(len, (ran.out + ran.err).splitlines())) <= columns
        assert "characters; --json shows all" in ran.out
    whole = trial.does(text, "--json").json()
    assert len(whole["writes"][0]["request"]["body"]["number"]) == 1600


def test_of_many_items_alike_the_first_ones_stand_for_the_rest(trial: Trial) -> None:
    text = HEAD + (
        "workflow:\n  - {step: start, next: [each]}\n"
        "  - {step: each, type: iterator, collection: '{{ range(9) | list }}', element: n,"
        f" next: [end], task: {{type: http, method: PUT, url: '{SAFE}/{{{{ n }}}}'"
        ", confirm: true}}\n  - {step: end}\n"
    )

    ran = trial.does(text)

    assert ran.code == 0
    assert [line.split()[2] for line in ran.out.splitlines()] == [
        "each.item[0]",
        "each.item[1]",
        "each.item[2]",
        "…",
    ]
    assert "6 more of these; --json shows all" in ran.out


def test_an_approval_is_told_to_be_assumed(trial: Trial) -> None:
    text = HEAD + (
        "workflow:\n  - {step: start, next: [ask]}\n"
        "  - {step: ask, type: approve, approve: {message: may I}, next: [end]}\n  - {step: end}\n"
    )

    ran = trial.does(text)

    assert "done         ask    assumed approved\n" in ran.err
