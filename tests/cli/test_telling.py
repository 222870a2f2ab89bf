"""What a person is told before anything runs: of files with findings, of needs, and by the help."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from noetl_mcp.broker.progress import Names, Standing, Step
from noetl_mcp.cli.main import COMMANDS, GROUPS
from noetl_mcp.cli.screen import began_of
from noetl_mcp.looking import Seen
from noetl_mcp.queue.lease import State, Status
from tests.cli.commands import noetl
from tests.cli.test_run import HEAD, Person, person  # noqa: F401  # a fixture

WRITE = HEAD + (
    "workflow:\n  - step: start\n    type: file\n"
    "    action: write\n    path: a.txt\n    content: a\n"
)
KEEPS = HEAD + (
    "workload: {rows: [{id: 1}]}\n"
    "workflow:\n  - step: start\n    type: postgres\n    auth: plant\n    sql: SELECT 1\n"
    "    save:\n      storage: postgres\n      dsn: '{{ secrets.shop_dsn }}'\n"
    "      table: rooms\n      mode: upsert\n      key: id\n      data: '{{ result.rows }}'\n"
)


BEGAN = datetime(2026, 11, 18, 6, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def seen(names: Names, steps: list[Step], since: datetime) -> Seen:
    standing = Standing(Status.COMPLETED, 0, None, None, 1, None, BEGAN, BEGAN + 3 * SECOND)
    return Seen(1, standing, names, steps, (), (), (), frozenset(), since)


def explained(tmp_path: Path, text: str) -> str:
    (tmp_path / "t.yaml").write_text(text)
    return noetl("explain", str(tmp_path / "t.yaml")).out


def test_the_help_lists_every_command_in_one_group() -> None:
    grouped = [name for names in GROUPS.values() for name in names.split()]

    assert sorted(grouped) == sorted(COMMANDS)


def test_a_file_with_errors_starts_nothing_and_says_so(
    person: Person,  # noqa: F811  # a fixture
) -> None:
    file = person.file(WRITE.replace("action: write", "acton: write"))

    ran = person.does("run", file)

    assert (ran.code, ran.out) == (1, "")
    assert ran.err.endswith(": 1 error; nothing was started\n")


def test_a_run_says_that_there_are_warnings(person: Person) -> None:  # noqa: F811  # a fixture
    file = person.file(WRITE)

    ran = person.does("run", file, "--dry-run")

    assert f"{file}: 1 warning; it is told by: noetl-mcp validate {file}\n" in ran.err


def test_what_a_save_keeps_is_explained(tmp_path: Path) -> None:
    text = explained(tmp_path, KEEPS)

    assert "     mode: upsert by id\n     data: {{ result.rows }}\n" in text


def test_secrets_and_credentials_that_a_playbook_needs_are_named(tmp_path: Path) -> None:
    text = explained(tmp_path, KEEPS)

    assert "     auth: plant\n" in text
    assert "\nSecrets: shop_dsn\nCredentials: plant\n" in text


def test_names_that_may_be_meant_are_listed_whole(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(
        WRITE + "    colour: red\n  - {step: b, type: http, urll: x}\n"
    )

    lines = noetl("validate", str(tmp_path / "t.yaml")).out.splitlines()

    long = [line for line in lines if "use one of:" in line and line.endswith("…")]
    assert long
    assert all(line.endswith(", …") for line in long)


def test_a_tab_that_indents_is_told(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text("apiVersion: noetl.io/v2\nmetadata:\n\tname: t\n")
    (tmp_path / "u.yaml").write_text("workflow:\n  - step: a\n\ttype: http\n")

    for file in ("t.yaml", "u.yaml"):
        text = noetl("validate", str(tmp_path / file)).out

        assert "a tab is used to indent" in text
        assert "indent with spaces only" in text


def test_a_folder_is_told_to_be_one(tmp_path: Path) -> None:
    ran = noetl("validate", str(tmp_path))

    assert ran.code == 1
    assert "it is a folder; name the files in it" in ran.out


def test_an_unknown_type_may_be_one_that_a_package_brings(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(HEAD + "workflow: [{step: start, type: note}]\n")

    text = noetl("validate", str(tmp_path / "t.yaml")).out

    assert "workbook; or install the package that brings it\n" in text


def test_a_dry_run_without_writes_does_not_speak_of_allowing_them(
    person: Person,  # noqa: F811  # a fixture
) -> None:
    text = HEAD.replace("v1", "v2") + (
        "mcp:\n  models: [{name: small}]\n"
        "  turns: [{name: answer, model: small, user: How wide is a door?}]\n"
    )

    ran = person.does("run", person.file(text), "--dry-run")

    assert "dry run: no write was met; " in ran.err


def test_a_turn_took_as_long_as_its_conversation() -> None:
    first = Step(0, 0, State.DONE, 1, None, BEGAN, BEGAN + 2 * SECOND, None, None)
    turn = first._replace(idx=1, began_at=BEGAN + 3 * SECOND, ended_at=BEGAN + 3 * SECOND)
    names = Names(("answer.model.1", "answer"), frozenset({0}))

    assert began_of(seen(names, [first, turn], since=BEGAN), turn) == BEGAN
    assert began_of(seen(names, [first, turn], since=BEGAN + SECOND), turn) == turn.began_at
