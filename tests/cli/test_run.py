import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from noetl_mcp.database import connect
from tests.cli.commands import Ran, noetl
from tests.worker.brokers import free_port, redis

HEAD = "apiVersion: noetl.io/v1\nkind: Playbook\nmetadata: {name: t, path: tests/t}\n"
HELLO = (
    HEAD + "workload: {n: 41, s: '007', wait: 0.01}\nworkflow:\n  - {step: start, next: [a]}\n"
    "  - {step: a, type: wait, wait: {for: '{{ workload.wait }}s'}, next: [end]}\n"
    "  - {step: end, type: end, result: {n: '{{ workload.n + 1 }}', s: '{{ workload.s }}'}}\n"
)
FAILING = (
    HEAD + "workflow:\n  - {step: start, next: [bad]}\n"
    "  - step: bad\n    type: python\n    code: |\n      def main():\n"
    "          print('so far so good')\n          raise ValueError('too bad')\n    next: [end]\n"
    "  - {step: end}\n"
)
ASKING = (
    HEAD + "workflow:\n  - {step: start, next: [ask]}\n"
    "  - {step: ask, type: approve, approve: {message: may I}, next: [end]}\n  - {step: end}\n"
)


class Begun(subprocess.Popen[str]):
    """A command that runs; whoever fails while it does leaves nothing behind to wait for."""

    def __exit__(self, *problem: Any) -> None:
        if problem[0] is not None:
            self.kill()
        super().__exit__(*problem)


class Person:
    """Somebody at a terminal, with an installation of his own."""

    def __init__(self, dsn: str, folder: Path) -> None:
        self.folder = folder
        self.environment = {"NOETL_DSN": dsn, "NOETL_HOME": str(folder / "home")}

    def does(self, *arguments: str, stdin: bytes = b"") -> Ran:
        return noetl(*arguments, stdin=stdin, **self.environment)

    def begins(self, *arguments: str, **more: Any) -> "Begun":
        return Begun(
            [sys.executable, "-m", "noetl_mcp", *arguments],
            env={**os.environ, "NO_COLOR": "1", **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **more,
        )

    def finds(self, sql: str) -> list[tuple[Any, ...]]:
        """Return what is in the database."""
        with connect(self.environment["NOETL_DSN"], application_name="tests") as connection:
            return connection.execute(sql.encode()).fetchall()

    def file(self, text: str) -> str:
        path = self.folder / "t.yaml"
        path.write_text(text)
        return str(path)


@pytest.fixture
def person(database: str, tmp_path: Path) -> Person:
    return Person(database, tmp_path)


def until(claim: Callable[[], Any], seconds: float = 30) -> Any:
    end = time.monotonic() + seconds
    while not (found := claim()):
        assert time.monotonic() < end, "it never came to be"
        time.sleep(0.05)
    return found


def test_a_file_is_run_here_when_no_worker_is_up_and_its_result_is_printed(person: Person) -> None:
    ran = person.does("run", person.file(HELLO), "--set", "n=1")

    assert (ran.code, json.loads(ran.out)) == (0, {"n": 2, "s": "007"})
    assert "done      a" in ran.err
    assert "execution 1 completed" in ran.err


def test_json_is_the_shape_of_show_and_nothing_else(person: Person) -> None:
    ran = person.does("run", person.file(HELLO), "--json", "--label", "team=blue", "--id", "k")
    again = person.does("run", "tests/t", "--json", "--id", "k")

    done = ran.json()
    assert (ran.code, ran.err, again.json()) == (0, "", done)
    assert (done["execution_id"], done["status"], done["key"]) == ("1", "completed", "k")
    assert (done["result"], done["labels"]) == ({"n": 42, "s": "007"}, {"team": "blue"})


def test_a_failure_tells_its_story(person: Person) -> None:
    ran = person.does("run", person.file(FAILING))

    assert (ran.code, ran.out) == (1, "")
    assert "step 'bad' failed" in ran.err
    assert "too bad" in ran.err
    assert "  | so far so good" in ran.err
    assert "noetl-mcp retry 1 --wait" in ran.err


def test_who_retries_or_starts_once_more_may_wait_for_the_end(person: Person) -> None:
    person.does("run", person.file(FAILING))
    person.does("run", person.file(HELLO))

    retried = person.does("retry", "1", "--wait", "--json")
    again = person.does("rerun", "2", "--set", "n=1", "--wait", "--json")

    assert (retried.code, retried.json()["round"]) == (1, 2)
    assert (again.code, again.json()["execution_id"]) == (0, "3")
    assert again.json()["result"] == {"n": 2, "s": "007"}


def test_what_does_not_fit_is_refused_before_anything_is_written(person: Person) -> None:
    file = person.file(HELLO)
    wrong = person.does("run", file, "--json", "--set", "m=1")
    broken = person.does("run", person.file(HELLO.replace("[end]", "[ende]")), "--json")
    absent = person.does("run", "tests/nobody", "--json")

    for ran in (wrong, broken, absent):
        told = ran.json()
        assert (ran.code, told["execution_id"], told["status"]) == (1, None, "refused")
        assert told["diagnostics"]
    assert person.finds("select * from noetl.execution") == []


def test_a_payload_comes_from_a_file_or_from_standard_input(person: Person) -> None:
    file = person.file(HELLO)

    piped = person.does("run", file, "--payload", "-", stdin=b"n: 9\ns: x\n")

    assert json.loads(piped.out) == {"n": 10, "s": "x"}


def test_a_detached_execution_is_done_by_a_worker_that_then_leaves(person: Person) -> None:
    started = person.does("run", person.file(HELLO), "--detach", "--json").json()

    drained = person.does("worker", "--drain", "--processes", "2")

    assert drained.code == 0, drained.err
    told = person.does("status", "--json").json()
    assert (started["execution_id"], told["executions"]["completed"]) == ("1", 1)
    assert told["workers"] == []


def test_ctrl_c_leaves_the_execution_and_says_how_to_go_on(person: Person) -> None:
    process = person.begins("run", person.file(HELLO), "--set", "wait=600", "--id", "k")
    until(lambda: "done      start" in (process.stderr.readline() if process.stderr else ""))

    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)

    assert (process.returncode, out) == (130, "")
    assert "execution 1 is not over and nobody works on it now" in err
    assert person.finds("select * from noetl.worker") == []


def test_who_waits_for_a_person_says_what_to_type(person: Person) -> None:
    process = person.begins("run", person.file(ASKING))
    assert process.stderr is not None
    lines: list[str] = []
    while "approve 1 ask" not in "".join(lines):
        lines.append(process.stderr.readline())
        assert lines[-1], lines

    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)

    assert "may I" in "".join(lines)


def test_run_leaves_the_work_to_workers_that_are_up(person: Person) -> None:
    with person.begins("worker", "--processes", "1", "--name", "w") as worker:
        until(lambda: person.finds("select * from noetl.worker"))

        done = person.does("run", person.file(HELLO), "--json").json()

        names = {name for (name,) in person.finds("select name from noetl.worker")}
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(30) == 0
    assert (done["status"], names) == ("completed", {"w"})


def test_a_killed_worker_is_followed_by_another_that_does_the_rest(person: Person) -> None:
    number = person.does("run", person.file(HELLO), "--detach", "--set", "wait=1").out.strip()
    with person.begins("worker", "--processes", "1") as worker:
        until(lambda: person.finds("select * from noetl.step where state = 9"))
        worker.kill()
        worker.communicate()

    drained = person.does("worker", "--drain", "--processes", "1")

    assert drained.code == 0
    assert person.finds("select id, status from noetl.execution") == [(int(number), 1)]


def test_the_timeline_and_show_tell_the_same_time_after_the_death_of_a_worker(
    person: Person,
) -> None:
    slow = FAILING.replace("raise ValueError('too bad')", "import time; time.sleep(1)")
    number = person.does("run", person.file(slow), "--detach").out.strip()
    with person.begins("worker", "--processes", "1", start_new_session=True) as worker:
        until(lambda: person.finds("select * from noetl.event where kind = 10 and idx > 0"))
        os.killpg(worker.pid, signal.SIGKILL)
        worker.communicate()

    watched = person.does("watch", number)
    (step,) = [
        s for s in person.does("show", number, "--json").json()["steps"] if s["attempts"] > 1
    ]

    started, ended = (datetime.fromisoformat(step[key]) for key in ("started", "ended"))
    (line,) = [one for one in watched.err.splitlines() if re.search(r"bad +done +x2 ", one)]
    assert f"{(ended - started).total_seconds():.2f} s" in line


def test_a_dry_run_of_a_kept_playbook_refuses_a_value_that_is_no_json(person: Person) -> None:
    kept = HEAD + "workload: {n: 1}\nworkflow:\n  - {step: start, next: [end]}\n  - {step: end}\n"
    assert person.does("submit", person.file(kept)).code == 0

    ran = person.does("run", "tests/t", "--dry-run", "--set", "n:={")
    told = person.does("run", "tests/t", "--dry-run", "--set", "n:={", "--json")

    assert (ran.code, told.code) == (1, 1)
    assert "not-json: n: what follows ':=' is not JSON" in ran.err
    assert told.json()["status"] == "refused"


def test_a_dry_run_needs_no_database_and_writes_nothing(person: Person) -> None:
    writing = HELLO.replace(
        "type: wait, wait: {for: '{{ workload.wait }}s'}",
        "type: http, method: POST, url: 'http://127.0.0.1:1/', confirm: true",
    )
    person.environment["NOETL_DSN"] = "postgresql://127.0.0.1:1/nowhere"

    ran = person.does("run", person.file(writing), "--dry-run", "--json")

    told = ran.json()
    assert (ran.code, told["execution_id"], told["allowed"]) == (0, None, True)
    assert [one["step"] for one in told["writes"]] == ["a"]


def test_a_database_that_cannot_be_reached_is_a_sentence_and_3(person: Person) -> None:
    person.environment["NOETL_DSN"] = "postgresql://127.0.0.1:1/nowhere"

    codes = [
        person.does(*one).code
        for one in (("run", person.file(HELLO)), ("status",), ("doctor",), ("token", "list"))
    ]

    assert codes == [3, 3, 3, 3]


def test_usage_that_cannot_be_meant_is_2(person: Person) -> None:
    file = person.file(HELLO)

    for wrong in (
        ("run", file, "--version", "1"),
        ("run", file, "--label", "blue"),
        ("run", file, "--detach", "--inline"),
        ("run", "-", "--payload", "-"),
        ("run", file, "--on-end", "ftp://a/b"),
        ("serve", "--host", "0.0.0.0", "--port", "0"),
        ("token", "create", "ci", "--lasts", "soon"),
    ):
        assert person.does(*wrong).code == 2, wrong


@pytest.mark.slow
def test_a_fleet_goes_on_while_its_broker_is_away(person: Person) -> None:
    port = free_port()
    person.environment["NOETL_BROKER"] = f"redis://127.0.0.1:{port}/0"
    file = person.file(HELLO)
    with person.begins("worker", "--processes", "1") as worker:
        with redis(port):
            until(lambda: person.finds("select * from noetl.worker"))
            before = person.does("run", file, "--json").json()["status"]
        after = person.does("run", file, "--json").json()["status"]
        worker.send_signal(signal.SIGTERM)
        worker.wait(30)

    assert (before, after) == ("completed", "completed")


def test_a_worker_may_have_as_many_connections_open_as_the_machine_allows(person: Person) -> None:
    """Machines begin with few; a thousand servers at once need more."""
    few, most = 200, resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    counting = person.file(
        HEAD + "workflow:\n  - step: start\n    type: python\n    code: |\n"
        "      import resource\n      def main():\n"
        "          return resource.getrlimit(resource.RLIMIT_NOFILE)[0]\n"
    )
    limited = f"ulimit -Sn {few}; exec {sys.executable} -m noetl_mcp run {counting}"

    ran = subprocess.run(
        ["bash", "-c", limited],
        env={**os.environ, **person.environment},
        capture_output=True,
        text=True,
        check=True,
    )

    assert few < json.loads(ran.stdout) <= (most if most > 0 else sys.maxsize)
