"""What is asked for is started whole or not at all, and each key once."""

from collections.abc import Iterator

import pytest

from noetl_mcp.broker.guards import Guards
from noetl_mcp.broker.pinning import CannotRun
from noetl_mcp.broker.refusals import NotAllowed
from noetl_mcp.broker.starts import WrongPayload
from noetl_mcp.database import connect
from noetl_mcp.playbook.load import load_bytes
from noetl_mcp.queue.encode import decode
from noetl_mcp.starting import KeyTaken, NoSuchPlaybook, Order, Started, Starting
from tests.postgres import database, postgres  # noqa: F401  # fixtures of this file


def text(path: str, steps: str, more: str = "") -> str:
    return (
        f"apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: t, path: {path}}}\n{more}"
        f"workflow:\n{steps}"
    )


CHILD = text("tests/kid", "  - {step: start, type: set, values: {n: 1}}\n")
CALLS = "  - {step: start, next: [kid]}\n  - {step: kid, type: playbook, path: tests/kid%s}\n"


@pytest.fixture
def starting(database: str) -> Iterator[Starting]:  # noqa: F811  # a fixture asks for it
    with connect(database, application_name="tests") as connection:
        yield Starting(connection)


def submit(starting: Starting, content: str) -> int:
    return starting.submit(load_bytes(content.encode(), "t.yaml")).version


def start(starting: Starting, content: str, **said: object) -> Started:
    order = Order(**said)  # type: ignore[arg-type]  # what each test says
    return starting.file_and_start(load_bytes(content.encode(), "t.yaml"), order)


def pins(starting: Starting, number: int) -> object:
    found = starting.records.contexts([number])[number].pins
    return None if found is None else decode(found)


def count(starting: Starting) -> int:
    row = starting.connection.execute("select count(*) from noetl.execution").fetchone()
    assert row is not None
    return int(row[0])


def test_the_newest_versions_of_other_playbooks_are_fixed_at_the_start(starting: Starting) -> None:
    submit(starting, CHILD)
    newest = submit(starting, CHILD.replace("n: 1", "n: 2"))
    submit(starting, text("tests/mid", CALLS % ""))

    started = start(starting, text("tests/top", CALLS.replace("tests/kid", "tests/mid") % ""))

    assert pins(starting, started.id) == {"tests/kid": newest, "tests/mid": 1}


@pytest.mark.parametrize("more", [", version: 1", ", version: '{{ workload.v }}'"])
def test_a_version_that_is_named_or_rendered_is_not_fixed(starting: Starting, more: str) -> None:
    submit(starting, CHILD)

    started = start(starting, text("tests/top", CALLS % more, "workload: {v: 1}\n"))

    assert pins(starting, started.id) is None


def test_a_playbook_may_call_itself(starting: Starting) -> None:
    own = text("tests/own", CALLS.replace("tests/kid", "tests/own") % "")

    assert pins(starting, start(starting, own).id) == {"tests/own": 1}


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        (CALLS % "", "step 'kid' of 'tests/top' runs the playbook 'tests/kid', which is not"),
        (CALLS % ", version: 7", "runs version 7 of the playbook 'tests/kid', which"),
        (
            "  - {step: start, type: revit, method: get_walls}\n",
            "step 'start' of 'tests/top' is of type 'revit', which does not run yet",
        ),
    ],
)
def test_what_could_never_be_done_is_not_started(starting: Starting, steps: str, says: str) -> None:
    with pytest.raises(CannotRun, match=says):
        start(starting, text("tests/top", steps))

    assert count(starting) == 0
    with pytest.raises(NoSuchPlaybook):
        starting.find("tests/top")


def test_what_a_child_could_never_do_is_not_started_either(starting: Starting) -> None:
    submit(starting, text("tests/kid", "  - {step: start, type: revit, method: get_walls}\n"))

    with pytest.raises(CannotRun, match="step 'start' of 'tests/kid' is of type 'revit'"):
        start(starting, text("tests/top", CALLS % ""))


def test_a_key_gives_the_same_execution_and_tells_whether_it_began_with_the_same(
    starting: Starting,
) -> None:
    steps = text("tests/top", "  - {step: start, type: wait, wait: 1h}\n", "workload: {n: 1}\n")
    first = start(starting, steps, key="k")

    same = start(starting, steps, key="k")
    other = start(starting, steps, key="k", payload={"n": 2})

    assert (first.is_new, first.is_same, first.status) == (True, True, "running")
    assert (same.id, same.is_new, same.is_same) == (first.id, False, True)
    assert (other.id, other.is_new, other.is_same) == (first.id, False, False)


def test_a_key_of_another_playbook_is_taken(starting: Starting) -> None:
    steps = "  - {step: start, type: wait, wait: 1h}\n"
    first = start(starting, text("tests/one", steps), key="k")

    with pytest.raises(KeyTaken, match=f"belongs to execution {first.id} of 'tests/one'"):
        start(starting, text("tests/two", steps), key="k")

    assert count(starting) == 1


def test_refused_starts_leave_the_connection_as_good_as_it_was(starting: Starting) -> None:
    good = text("tests/top", "  - {step: start, type: set, values: {n: 1}}\n", "workload: {n: 1}\n")
    for _ in range(10):
        assert start(starting, good).is_new
    for _ in range(3):
        with pytest.raises(WrongPayload), starting.connection.transaction():
            start(starting, good, payload={"m": 1})

    assert start(starting, good).is_new


def test_nobody_takes_the_keys_of_children(starting: Starting) -> None:
    with pytest.raises(NotAllowed, match="those of sub-playbooks"):
        start(starting, CHILD, key="child:1:2:0:1:1")


def test_the_gates_of_who_starts_it_go_along_and_nobody_else_names_them(
    starting: Starting,
) -> None:
    starting.guards = Guards(read_only=True)
    started = start(starting, CHILD, labels={"who": "ann"})
    labels = starting.records.contexts([started.id])[started.id].labels

    with pytest.raises(NotAllowed, match=r"begin with 'noetl\.'"):
        start(starting, CHILD, labels={"noetl.gates": ""})

    assert labels is not None
    assert decode(labels) == {"who": "ann", "noetl.gates": "read-only"}
