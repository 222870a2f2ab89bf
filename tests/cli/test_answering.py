"""Steps that wait for an answer or an event are told of it from the command line."""

import getpass
from pathlib import Path

import pytest

from tests.broker.desks import work, work_off
from tests.cli.test_operations import Here
from tests.postgres import database, postgres  # noqa: F401  # fixtures
from tests.worker.conftest import shop  # noqa: F401  # a fixture
from tests.worker.shop import Shop

WAITS = """
workflow:
  - {step: start, next: [bill, delivery]}
  - step: bill
    type: callback
    message: "The bill, please"
    answer_schema: {type: object, required: [total], properties: {total: {type: number}}}
    next: [end]
  - {step: delivery, type: wait, wait: {event: delivered}, next: [end]}
  - {step: end, result: {total: "{{ bill.total }}", by: "{{ delivery.van }}"}}
"""


@pytest.fixture
def here(database: str, tmp_path: Path, shop: Shop) -> Here:  # noqa: F811  # fixtures
    return Here(database, tmp_path / "home", shop)


def waiting(here: Here) -> int:
    number = here.shop.start(WAITS)
    work(here.shop, lambda: list(here.shop.done(number).steps.values()).count("parked") == 2)
    return number


def test_an_answer_and_an_event_let_an_execution_go_on(here: Here) -> None:
    number = waiting(here)

    answered = here("answer", number, "bill", "--value", '{"total": 12.5}')
    told = here("signal", number, "delivered", "--value", '{"van": 7}', "--json")

    assert (answered.code, answered.out) == (0, "'bill' has its answer\n")
    assert f"do it here with: noetl-mcp watch {number}" in answered.err
    assert told.json() == {
        "execution_id": str(number),
        "event": "delivered",
        "steps": ["delivery"],
    }
    assert work_off(here.shop, number) == "completed"
    assert here.shop.done(number).result == {"total": 12.5, "by": 7}


def test_what_does_not_fit_or_comes_twice_is_refused(here: Here) -> None:
    number = waiting(here)

    unfit = here("answer", number, "bill", "--value", "{}")
    other = here("answer", number, "delivery", "--value", "1")
    nobody = here("signal", number, "deliverd")
    here("answer", number, "bill", "--value", '{"total": 1}')
    again = here("answer", number, "bill", "--value", '{"total": 2}')

    assert [one.code for one in (unfit, other, nobody, again)] == [1, 1, 1, 1]
    assert "answer.total: it is needed" in unfit.err
    assert "waits for no answer from outside" in other.err
    assert "it waits for 'delivered'" in nobody.err
    assert f"was answered already by {getpass.getuser()}" in again.err


def test_an_answer_may_come_early_and_from_a_file(here: Here, tmp_path: Path) -> None:
    number = here.shop.start(WAITS)
    file = tmp_path / "bill.json"
    file.write_text('{"total": 3}')

    assert here("answer", number, "bill", "--payload", file).code == 0
    assert here("signal", number, "delivered", "--value", '{"van": 1}').code == 0
    assert work_off(here.shop, number) == "completed"


@pytest.mark.parametrize(
    "arguments",
    [
        ["answer", 1, "bill"],
        ["answer", 1, "bill", "--value", "1", "--payload", "-"],
        ["answer", 1, "bill", "--value", "yes"],
        ["signal", 1, "delivered", "--value", "1", "--payload", "-"],
        ["signal", 1],
    ],
)
def test_wrong_usage_is_two(here: Here, arguments: list[str | int]) -> None:
    assert here(*arguments).code == 2


def test_the_address_of_an_answer_is_told_and_leads_to_the_step(here: Here) -> None:
    number = waiting(here)

    said, told = here("why", number, "bill"), here("why", number, "bill", "--json").json()

    assert f"noetl-mcp answer {number} bill --value JSON" in said.out
    assert told[0]["path"] in said.out
    assert f"noetl-mcp signal {number} delivered" in here("why", number).out


def test_who_is_asked_and_who_answered_are_told(here: Here) -> None:
    number = here.shop.start(
        "workflow:\n  - {step: ask, type: approve, approve: {who: bim-manager, message: Well?}}\n"
    )
    work(here.shop, lambda: here.shop.state(number, "ask") == "parked")

    shown, said = here("show", number), here("approve", number, "ask")

    assert "'ask' waits for bim-manager to say yes or no (Well?)" in shown.out
    who = getpass.getuser()
    assert said.out == f"'ask' was approved (asked of bim-manager; answered as {who})\n"
