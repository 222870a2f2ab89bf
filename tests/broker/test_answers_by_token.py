"""A token answers the callback it belongs to, and nothing else."""

import pytest

from noetl_mcp.broker.answers import answer
from noetl_mcp.broker.desk import Desk
from noetl_mcp.broker.refusals import Unknown
from tests.broker.desks import ANN, work, work_off
from tests.worker.shop import Shop

ASKS = """
workflow:
  - {step: start, next: [ask]}
  - {step: ask, type: approve, approve: {who: [lead], message: "Go on?"}, next: [end]}
  - {step: end, result: "{{ ask }}"}
"""


def asked(shop: Shop) -> tuple[int, str]:
    """Return an execution that waits for a person, and the token of its step."""
    number = shop.start(ASKS)
    work(shop, lambda: shop.state(number, "ask") == "parked")
    rows = shop.records.connection.execute("select token from noetl.signal where waits").fetchall()
    return number, rows[0][0]


def test_the_token_of_a_step_that_asks_a_person_opens_nothing(shop: Shop, desk: Desk) -> None:
    number, token = asked(shop)

    with pytest.raises(Unknown, match="nothing waits for this token"):
        answer(desk, token, {"approved": True}, by=ANN)

    assert shop.state(number, "ask") == "parked"


@pytest.mark.parametrize("text", ['["approved"]', "true", '{"approved": "no"}', "{}", "null"])
def test_an_approval_that_does_not_say_yes_is_none(shop: Shop, desk: Desk, text: str) -> None:
    number, _ = asked(shop)
    desk.connection.execute(
        "select noetl.answer_1(execution_id, idx, item, %s, 'somebody') from noetl.signal", [text]
    )

    assert work_off(shop, number) == "failed"
    error = shop.done(number).error
    assert error is not None
    assert error["message"] == "its answer does not say whether it is approved"
