"""Executions are watched and decided about from the command line, with the promised exit codes."""

import getpass
from pathlib import Path

import pytest
from click.testing import CliRunner

from noetl_mcp.cli.main import commands
from noetl_mcp.queue.lease import Status
from tests.broker.desks import work, work_off
from tests.cli.commands import Ran, noetl
from tests.postgres import database, postgres  # noqa: F401  # fixtures
from tests.worker.conftest import shop  # noqa: F401  # a fixture
from tests.worker.shop import Shop

ASKS = """
workflow:
  - {step: start, next: [ask]}
  - {step: ask, type: approve, approve: {message: "Go on?"}, next: [end]}
  - {step: end, result: {said: "{{ ask.by }}"}}
"""
FAILS = """
workload: {fails: 1}
workflow:
  - {step: start, next: [one]}
  - {step: one, type: change, confirm: true, next: [two]}
  - {step: two, type: echo, data: {fails: "{{ workload.fails }}"}, next: [end]}
  - {step: end}
"""
FILE = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: hello, path: tests/hello, description: Says hello.}
workflow:
  - {step: start, next: [end]}
  - {step: end}
"""


class Here:
    """An installation on a database of its own, with a shop that works off what is started."""

    def __init__(self, dsn: str, home: Path, shop: Shop) -> None:  # noqa: F811
        self.environment = {"NOETL_DSN": dsn, "NOETL_HOME": str(home)}
        self.shop = shop

    def __call__(self, *arguments: str | int | Path) -> Ran:
        """Run a command in this process, which is quicker."""
        said = [str(one) for one in arguments]
        done = CliRunner().invoke(commands, said, env=self.environment, prog_name="noetl-mcp")
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return Ran(done.exit_code, done.stdout, done.stderr)

    def parked(self) -> int:
        number = self.shop.start(ASKS)
        work(self.shop, lambda: self.shop.state(number, "ask") == "parked")
        return number

    def failed(self) -> int:
        number = self.shop.start(FAILS)
        assert work_off(self.shop, number) == "failed"
        return number


@pytest.fixture
def here(database: str, tmp_path: Path, shop: Shop) -> Here:  # noqa: F811  # fixtures
    return Here(database, tmp_path / "home", shop)


def test_executions_are_listed_and_shown(here: Here) -> None:
    number = here.failed()

    listed = noetl("executions", "--json", stdin=b"", **here.environment)
    shown, text = here("show", number, "--json"), here("show", number)

    assert [one["execution_id"] for one in listed.json()] == [str(number)]
    told = shown.json()
    assert (told["status"], told["error"]["step"]) == ("failed", "two")
    assert {one["name"]: one["state"] for one in told["steps"]} == {
        "start": "done",
        "one": "done",
        "two": "failed",
    }
    assert text.code == 0
    assert "step 'two': attempt 1 failed [unlucky]" in text.out
    assert here("executions", "--status", "running", "--json").json() == []
    assert "failed  tests/t v1" in here("executions", "--path", "tests/").out


def test_one_step_is_shown(here: Here) -> None:
    number = here.failed()

    shown, text = here("show", number, "two", "--json"), here("show", number, "two")

    assert shown.json()["error"]["code"] == "unlucky"
    assert "unlucky" in text.out
    assert here("show", number, "twoo").code == 1
    assert "did you mean 'two'?" in here("show", number, "twoo").err


def test_why_says_what_it_waits_for_and_approve_lets_it_go_on(here: Here) -> None:
    number = here.parked()

    why = here("why", number)
    said = here("approve", number, "ask", "--comment", "fine")
    again = here("approve", number, "ask", "--reject")

    assert why.out == (
        "'ask' waits for a person to say yes or no (Go on?); answer with:"
        f" noetl-mcp approve {number} ask, or with --reject\n"
    )
    assert here("why", number, "end", "--json").json()[0]["waits_for"] == "steps"
    assert (said.code, said.out) == (0, "'ask' was approved\n")
    assert again.code == 1
    assert f"was answered already by {getpass.getuser()}" in again.err
    assert work_off(here.shop, number) == "completed"
    assert here.shop.done(number).result == {"said": getpass.getuser()}


def test_an_execution_is_paused_resumed_and_cancelled(here: Here) -> None:
    number = here.parked()

    assert here("pause", number, "--reason", "lunch").code == 0
    assert here("show", number, "--json").json()["status"] == "paused"
    assert here("pause", number).code == 1
    assert here("resume", number, "--json").json() == {
        "execution_id": str(number),
        "executions": [str(number)],
    }
    cancelled = here("cancel", number, "--json")
    assert (cancelled.code, cancelled.json()["is_over"]) == (0, True)
    assert here.shop.status(number) == Status.CANCELLED
    refused = here("cancel", number)
    assert refused.code == 1
    assert "is cancelled and cannot be cancelled; 'retry' goes on" in refused.err


def test_a_failed_one_is_retried(here: Here) -> None:
    number = here.failed()
    refused = here("retry", number, "--from", "one")
    unknown = here("retry", number, "--from", "one", "--confirm-write", "onee")
    here.shop.echo.calls.clear()

    retried = here("retry", number, "--from", "two", "--json")

    assert refused.code == 1
    assert "--confirm-write one" in refused.err
    assert "did you mean 'one'?" in unknown.err
    assert retried.json() == {
        "execution_id": str(number),
        "status": "running",
        "round": 2,
        "steps": ["two"],
        "children": [],
    }


def test_a_rerun_is_a_new_execution_with_other_values(here: Here) -> None:
    number = here.failed()

    again = here("rerun", number, "--set", "fails=0", "--json").json()
    wrong = here("rerun", number, "--set", "nothing=1", "--json")

    assert again["rerun_of"] == str(number)
    assert work_off(here.shop, int(again["execution_id"])) == "completed"
    assert (wrong.code, wrong.json()["status"]) == (1, "refused")


def test_a_doubt_is_resolved(here: Here) -> None:
    number = here.shop.start(FAILS.replace("type: change,", "type: change, data: {lose: true},"))
    work(here.shop, lambda: here.shop.state(number, "one") == "in_doubt")
    here.shop.start(ASKS)

    assert "'one' is in doubt" in here("show", number).out
    assert here("resolve", number, "one").code == 2
    assert here("resolve", number, "one", "--accept", "{not json").code == 2
    assert here("resolve", number, "one", "--accept", "1", "--lease", "7").code == 1
    done = here("resolve", number, "one", "--accept", '{"ok": true}', "--reason", "seen")
    says = "'one' is no longer in doubt: it was done, and what you gave is its result\n"
    assert (done.code, done.out) == (0, says)
    assert f"do it here with: noetl-mcp watch {number}" in done.err


def test_dead_letters_are_none_when_nothing_died(here: Here) -> None:
    listed, dropped = here("dead-letters", "--json"), here("dead-letters", "drop", here.failed())

    assert listed.json() == []
    assert dropped.code == 1
    assert "has no dead letters" in dropped.err


def test_the_catalog_keeps_versions_and_tells_what_changed(here: Here, tmp_path: Path) -> None:
    file = tmp_path / "hello.yaml"
    file.write_text(FILE)
    first = here("submit", file, "--json")
    file.write_text(FILE.replace("hello.", "goodbye."))
    second = here("catalog", "submit", file)

    assert first.json()[0] | {"plan": ""} == {
        "file": str(file),
        "path": "tests/hello",
        "version": 1,
        "plan": "",
        "is_new": True,
    }
    assert second.out == "tests/hello version 2\n"
    changed = here("catalog", "diff", "tests/hello", "1", "2")
    missing = here("catalog", "diff", "tests/hello", "1", "9")
    assert "+metadata: {name: hello, path: tests/hello, description: Says goodbye.}" in changed.out
    assert "both have the same plan" in changed.err
    assert "has no version 9, only 1, 2" in missing.err


def test_kept_playbooks_are_listed_and_shown(here: Here, tmp_path: Path) -> None:
    file = tmp_path / "hello.yaml"
    file.write_text(FILE)
    here("submit", file)

    assert here("catalog", "list", "--json").json()[0]["path"] == "tests/hello"
    assert here("catalog", "show", "tests/hello", "--version", "1").out == FILE
    assert here("catalog", "show", "tests/hello", "--json").json()["versions"][0]["version"] == 1
    assert "did you mean 'tests/hello'?" in here("catalog", "show", "tests/helo").err
    assert here("catalog", "show", "tests/hello", "--version", "9").code == 1


def test_what_does_not_compile_is_not_kept(here: Here, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(FILE)
    bad.write_text(FILE.replace("next: [end]", "next: [nowhere]"))

    ran = here("submit", bad, good, "--json")

    assert ran.code == 1
    assert ran.json()[0]["diagnostics"]
    assert ran.json()[1]["is_new"] is True
    assert here("submit", bad).code == 1
    assert "nowhere" in here("submit", bad).err


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "seven"],
        ["show"],
        ["executions", "--status", "odd"],
        ["executions", "--label", "x"],
        ["resolve", "1", "a", "--retry", "--abort"],
        ["resolve", "1", "a", "--abort", "--force"],
        ["catalog", "diff", "p", "1"],
    ],
)
def test_wrong_usage_is_two(arguments: list[str]) -> None:
    assert noetl(*arguments).code == 2


@pytest.mark.parametrize(
    "arguments",
    [["show", "77"], ["why", "77"], ["cancel", "77"], ["retry", "77"], ["rerun", "77"]],
)
def test_an_unknown_execution_is_one(here: Here, arguments: list[str]) -> None:
    ran = here(*arguments)

    assert (ran.code, ran.err) == (1, "Error: there is no execution 77\n")


@pytest.mark.parametrize("name", ["executions", "submit"])
def test_a_database_that_cannot_be_reached_is_three(name: str, tmp_path: Path) -> None:
    file = tmp_path / "hello.yaml"
    file.write_text(FILE)
    more = [file] if name == "submit" else []

    ran = noetl(name, *more, NOETL_DSN="postgresql://nobody@127.0.0.1:1/none")

    assert ran.code == 3
    assert "cannot be reached" in ran.err
