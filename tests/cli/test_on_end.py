"""Whoever is to be told of an end is told, by processes as they run for users."""

import hmac

from noetl_mcp.broker.end_calls import SIGNATURE
from noetl_mcp.database import connect
from tests.cli.test_run import HELLO, Person, person, until  # noqa: F401  # a fixture among them
from tests.worker.ears import listening


def test_a_run_here_calls_and_whoever_is_called_can_tell_that_it_was_us(
    person: Person,  # noqa: F811  # a fixture
) -> None:
    with listening() as ear:
        ran = person.does("run", person.file(HELLO), "--on-end", ear.url)
        key = person.does("token", "signing-key").out.strip()

    assert ran.code == 0, ran.err
    ((headers, body),) = ear.heard
    assert ear.told()["result"] == {"n": 42, "s": "007"}
    expected = hmac.new(key.encode(), body, "sha256").hexdigest()
    assert headers[SIGNATURE.lower()] == f"sha256={expected}"


def test_a_worker_that_is_killed_before_it_was_answered_is_followed_by_one_that_calls_again(
    person: Person,  # noqa: F811  # a fixture
) -> None:
    with listening() as ear:
        ear.may_answer.clear()
        person.does("run", person.file(HELLO), "--detach", "--on-end", ear.url)
        with person.begins("worker", "--processes", "1") as worker:
            until(lambda: ear.heard)
            (pid,) = person.finds("select pid from noetl.worker")
            worker.kill()
            worker.communicate()
        until(lambda: not _lives(pid[0]))
        assert len(person.finds("select from noetl.end_call where due > now()")) == 1
        ear.may_answer.set()
        with connect(person.environment["NOETL_DSN"], application_name="tests") as connection:
            connection.execute("update noetl.end_call set due = now()")

        drained = person.does("worker", "--drain", "--processes", "1")

    assert drained.code == 0
    assert len(ear.heard) == 2
    assert len(set(ear.keys())) == 1
    assert person.finds("select from noetl.end_call") == []


def _lives(pid: int) -> bool:
    """Whether a process is still there and no mere remainder."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
