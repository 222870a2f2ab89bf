"""What waits for somebody is found among everything that runs."""

from pathlib import Path

import pytest

from tests.broker.desks import work
from tests.cli.test_operations import ASKS, FAILS, Here
from tests.postgres import database, postgres  # noqa: F401  # fixtures
from tests.worker.conftest import shop  # noqa: F401  # a fixture
from tests.worker.shop import Shop

HEARS = "workflow:\n  - {step: hear, type: callback, message: Well?}\n"
SLEEPS = "workflow:\n  - {step: nap, type: wait, wait: 1h}\n"
LOSES = FAILS.replace("type: change,", "type: change, data: {lose: true},")


@pytest.fixture
def here(database: str, tmp_path: Path, shop: Shop) -> Here:  # noqa: F811  # fixtures
    return Here(database, tmp_path / "home", shop)


@pytest.fixture
def numbers(here: Here) -> dict[str, int]:
    """Executions that wait: three for somebody, one for a time."""
    shop_ = here.shop
    found = {
        "asks": shop_.start(ASKS),
        "hears": shop_.start(HEARS),
        "sleeps": shop_.start(SLEEPS),
        "loses": shop_.start(LOSES),
    }
    states = [("asks", "ask", "parked"), ("hears", "hear", "parked"), ("sleeps", "nap", "parked")]
    states.append(("loses", "one", "in_doubt"))
    work(shop_, lambda: all(shop_.state(found[one], step) == state for one, step, state in states))
    return found


def test_only_those_that_wait_for_somebody_are_listed(here: Here, numbers: dict[str, int]) -> None:
    listed = here("executions", "--attention", "--json").json()
    text = here("executions", "--attention").out

    assert [int(one["execution_id"]) for one in listed] == [
        numbers["loses"],
        numbers["hears"],
        numbers["asks"],
    ]
    assert [one["attention"][0]["what"] for one in listed] == ["in_doubt", "callback", "approval"]
    assert [one["attention_total"] for one in listed] == [1, 1, 1]
    assert "'one' is in doubt: nobody knows" in text
    assert "'hear' waits for an answer: Well?" in text
    assert "'ask' waits for a yes or no: Go on?" in text


def test_who_was_answered_is_no_longer_listed(here: Here, numbers: dict[str, int]) -> None:
    here("answer", numbers["hears"], "hear", "--value", "1")
    here("approve", numbers["asks"], "ask")

    listed = here("executions", "--attention", "--json").json()

    assert [int(one["execution_id"]) for one in listed] == [numbers["loses"]]


def test_what_is_halted_says_so(here: Here, numbers: dict[str, int]) -> None:
    here("cancel", numbers["loses"], "--reason", "wrong level")
    here("pause", numbers["sleeps"])

    listed = {
        int(line.split()[0]): line for line in here("executions").out.splitlines()[1:] if line
    }
    shown = here("show", numbers["loses"])

    assert "it is being cancelled: cancelled by" in listed[numbers["loses"]]
    assert "wrong level; 'one' is in doubt" in listed[numbers["loses"]]
    assert "paused by" in listed[numbers["sleeps"]]
    assert "running (being cancelled)" in shown.out


def test_status_counts_what_waits_for_somebody(here: Here, numbers: dict[str, int]) -> None:
    said, told = here("status"), here("status", "--json").json()

    assert told["attention"] == {"in_doubt": 1, "approval": 1, "callback": 1}
    line = next(one for one in said.out.splitlines() if one.startswith("attention"))
    assert "1 step in doubt" in line
    assert "1 approval" in line
    assert line.endswith("see: noetl-mcp executions --attention")


def test_what_is_being_cancelled_is_not_offered_a_retry(here: Here) -> None:
    number = here.shop.start(
        f"{ASKS}finally:\n  - {{step: bye, type: approve, approve: {{message: Bye?}}}}\n"
    )
    work(here.shop, lambda: here.shop.state(number, "ask") == "parked")
    here("cancel", number)
    work(here.shop, lambda: here.shop.state(number, "bye") == "parked")

    shown, listed = here("show", number).out, here("executions").out

    assert "running (being cancelled)" in shown
    assert "noetl-mcp retry" not in shown
    assert "it waits: 'bye' waits for a person to say yes or no" in shown
    assert "it is being cancelled: cancelled by" in listed
