"""A waiting step is answered once: by a person, from outside, by an event; early answers wait."""

import pytest

from noetl_mcp.broker.answers import answer, approve, send_event
from noetl_mcp.broker.desk import By, Desk
from noetl_mcp.broker.operate import cancel, pause, resume
from noetl_mcp.broker.refusals import NotAllowed, Unknown
from noetl_mcp.broker.tokens import token
from tests.broker.desks import ANN, work, work_off
from tests.worker.shop import Shop

ASKS = """
workflow:
  - {step: start, next: [ask]}
  - {step: ask, type: approve, approve: {who: [lead, ann], message: "Go on?"}, next: [end]}
  - {step: end, result: "{{ ask.by }}"}
"""
CALLED = """
workflow:
  - {step: start, next: [hear]}
  - step: hear
    type: callback
    message: "How many?"
    answer_schema:
      type: object
      required: [n]
      properties: {n: {type: integer, minimum: 1}}
    next: [end]
  - {step: end, result: "{{ hear.n }}"}
"""
HEARS = """
workflow:
  - {step: start, next: [first]}
  - {step: first, type: echo, next: [hear]}
  - {step: hear, type: wait, wait: {event: bell}, next: [end]}
  - {step: end, result: "{{ hear }}"}
"""


def parked(shop: Shop, text: str, step: str) -> int:
    number = shop.start(text)
    work(shop, lambda: shop.state(number, step) == "parked")
    return number


def test_a_yes_lets_the_step_go_on_and_is_said_by_somebody(shop: Shop, desk: Desk) -> None:
    number = parked(shop, ASKS, "ask")

    approve(desk, number, "ask", by=ANN, comment="looks fine")

    assert work_off(shop, number) == "completed"
    assert shop.done(number).result == "ann"
    assert "approval_given" in shop.kinds(number, "ask")


def test_a_no_fails_the_step(shop: Shop, desk: Desk) -> None:
    number = parked(shop, ASKS, "ask")

    approve(desk, number, "ask", by=ANN, approved=False, comment="not on Fridays")

    assert work_off(shop, number) == "failed"
    error = shop.done(number).error
    assert error is not None
    assert (error["code"], error["message"]) == (
        "rejected",
        "it was rejected by ann: not on Fridays",
    )


def test_a_second_answer_is_refused_and_says_who_gave_the_first(shop: Shop, desk: Desk) -> None:
    number = parked(shop, ASKS, "ask")
    approve(desk, number, "ask", by=ANN)

    with pytest.raises(NotAllowed, match="'ask' was answered already by ann"):
        approve(desk, number, "ask", by=By("bob"), approved=False)

    assert work_off(shop, number) == "completed"
    with pytest.raises(NotAllowed, match="is completed"):
        approve(desk, number, "ask", by=ANN)


def test_only_those_who_are_asked_may_answer(shop: Shop, desk: Desk) -> None:
    number = parked(shop, ASKS, "ask")

    with pytest.raises(NotAllowed, match="may be answered by lead, ann, not by bob"):
        approve(desk, number, "ask", by=By("bob"), may=["bob", "operator"])

    approve(desk, number, "ask", by=By("carl"), may=["carl", "lead"])


def test_nobody_says_yes_to_what_was_not_asked(shop: Shop, desk: Desk) -> None:
    number = shop.start(ASKS.replace("next: [ask]}", "next: [a]}\n  - {step: a, next: [ask]}", 1))
    desk.connection.execute("delete from noetl.step where execution_id = %s", (number,))

    with pytest.raises(NotAllowed, match="does not ask yet"):
        approve(desk, number, "ask", by=ANN)
    with pytest.raises(NotAllowed, match="asks nobody"):
        approve(desk, number, "end", by=ANN)
    with pytest.raises(Unknown, match="no step 'asq'; did you mean 'ask'"):
        approve(desk, number, "asq", by=ANN)


def test_an_approval_during_a_pause_counts_afterwards(shop: Shop, desk: Desk) -> None:
    number, other = parked(shop, ASKS, "ask"), shop.start("workflow:\n  - {step: a, type: echo}\n")
    pause(desk, number, by=ANN)
    approve(desk, number, "ask", by=ANN)
    work_off(shop, other)

    resume(desk, number, by=ANN)

    assert work_off(shop, number) == "completed"


def test_nothing_waits_in_what_is_being_ended(shop: Shop, desk: Desk) -> None:
    number = parked(shop, ASKS, "ask")
    cancel(desk, number, by=ANN)

    with pytest.raises(NotAllowed, match="is cancelled; nothing waits in it"):
        approve(desk, number, "ask", by=ANN)


def test_items_are_asked_one_by_one(shop: Shop, desk: Desk) -> None:
    number = shop.start(
        "workflow:\n  - {step: start, next: [each]}\n"
        "  - {step: each, type: iterator, collection: [1, 2], element: x, mode: async,"
        ' task: {type: approve, approve: {message: "Item {{ x }}?"}}, next: [end]}\n'
        '  - {step: end, result: "{{ each.count }}"}\n'
    )
    work(shop, lambda: list(shop.done(number).steps.values()).count("parked") == 3)
    approve(desk, number, "each[0]", by=ANN)
    approve(desk, number, "each[1]", by=ANN)

    assert work_off(shop, number) == "completed"
    with pytest.raises(Unknown, match=r"say which one"):
        approve(desk, number, "each.item", by=ANN)


def test_an_item_that_an_iterator_does_not_have_takes_no_answer(shop: Shop, desk: Desk) -> None:
    number = shop.start(
        "workflow:\n  - {step: start, type: iterator, collection: [1, 2], element: x, mode: async,"
        " task: {type: callback}, next: [end]}\n  - {step: end}\n"
    )
    work(shop, lambda: list(shop.done(number).steps.values()).count("parked") == 3)

    with pytest.raises(Unknown, match=r"there is no 'start\[2\]'.*'start' has 2 items"):
        answer(desk, (number, "start[2]"), 7, by=ANN)

    for step in ("start[0]", "start[1]"):
        answer(desk, (number, step), 7, by=ANN)
    assert work_off(shop, number) == "completed"


# Callbacks


def test_a_callback_takes_an_answer_by_its_token(shop: Shop, desk: Desk) -> None:
    number = parked(shop, CALLED, "hear")
    row = desk.connection.execute("select token from noetl.signal").fetchone()
    assert row is not None

    assert answer(desk, row[0], {"n": 3}, by=By("outside", "web"))[0] == number

    assert work_off(shop, number) == "completed"
    assert shop.done(number).result == 3
    with pytest.raises(Unknown, match="nothing waits for this token"):
        answer(desk, "0" * 40, {"n": 3}, by=ANN)


@pytest.mark.parametrize(
    ("value", "says"),
    [({}, r"answer\.n: it is needed"), ({"n": "x"}, "whole number"), ({"n": 0}, "at least 1")],
)
def test_an_answer_that_does_not_fit_is_refused_and_another_may_come(
    value: object, says: str, shop: Shop, desk: Desk
) -> None:
    number = parked(shop, CALLED, "hear")

    with pytest.raises(NotAllowed, match=says):
        answer(desk, (number, "hear"), value, by=ANN)

    answer(desk, (number, "hear"), {"n": 1}, by=ANN)


def test_an_answer_that_comes_before_the_step_waits_is_kept(shop: Shop, desk: Desk) -> None:
    number = shop.start(CALLED)
    answer(desk, (number, "hear"), {"n": 7}, by=ANN)

    assert work_off(shop, number) == "completed"
    assert shop.done(number).result == 7


def test_a_token_of_another_step_opens_nothing(shop: Shop, desk: Desk) -> None:
    number = shop.start(CALLED)
    own = token("", number, 1, 0, 1)

    with pytest.raises(Unknown):
        answer(desk, (number, "hear"), {"n": 7}, by=ANN, token=token("", number, 2, 0, 1))

    answer(desk, (number, "hear"), {"n": 7}, by=ANN, token=own)


def test_the_token_is_the_one_the_step_waits_with(shop: Shop, desk: Desk) -> None:
    number = parked(shop, CALLED, "hear")
    row = desk.connection.execute("select token, idx from noetl.signal").fetchone()
    assert row is not None

    assert row[0] == token("", number, row[1], 0, 1)


# Events


def test_an_event_wakes_those_who_wait_for_it(shop: Shop, desk: Desk) -> None:
    number = parked(shop, HEARS, "hear")

    assert send_event(desk, number, "bell", {"rings": 2}, by=ANN) == ["hear"]

    assert work_off(shop, number) == "completed"
    assert shop.done(number).result == {"rings": 2}


def test_an_early_event_is_kept_and_a_wrong_one_is_refused(shop: Shop, desk: Desk) -> None:
    number = shop.start(HEARS)

    with pytest.raises(NotAllowed, match="waits for event 'gong'"):
        send_event(desk, number, "gong", by=ANN)
    assert send_event(desk, number, "bell", 1, by=ANN) == ["hear"]

    assert work_off(shop, number) == "completed"
    assert shop.done(number).result == 1


def test_what_cannot_be_kept_is_no_answer(shop: Shop, desk: Desk) -> None:
    number = parked(shop, HEARS, "hear")

    with pytest.raises(NotAllowed, match="cannot be kept"):
        send_event(desk, number, "bell", {"x": float("nan")}, by=ANN)
    with pytest.raises(NotAllowed, match="cannot be kept"):
        send_event(desk, number, "bell", "\0", by=ANN)
