"""A retry goes on from what failed, in the same execution: what is done stays done."""

import asyncio
from datetime import datetime

import pytest

from noetl_mcp.broker.desk import Desk
from noetl_mcp.broker.operate import cancel
from noetl_mcp.broker.progress import Progress
from noetl_mcp.broker.refusals import NotAllowed, Unknown
from noetl_mcp.broker.resolve import resolve
from noetl_mcp.broker.retry import retry
from noetl_mcp.broker.show import show
from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.calls import Call, Failed, UnknownOutcome
from tests.broker.desks import ANN, events, work, work_off
from tests.worker.shop import Answer, Shop

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: c, path: tests/c}\n"
ORDINARY = """
workflow:
  - {step: start, next: [a, b]}
  - {step: a, type: echo, data: {x: 1}, next: [c]}
  - {step: b, type: echo, data: {y: 2}, next: [c]}
  - {step: c, type: echo, data: {z: "{{ a.x + b.y }}"}, next: [end]}
  - {step: end, result: "{{ c.z }}"}
"""


def fail(shop: Shop, *steps: str) -> None:
    """Let the calls of some steps fail (of an item `each[1]`), and all others succeed."""
    shop.echo.calls.clear()
    shop.change.calls.clear()

    async def answer(call: Call) -> Json:
        name = call.step if call.item is None else f"{call.step.partition('.')[0]}[{call.item}]"
        if name in steps or call.step in steps:
            raise Failed("unlucky", f"{name} failed", retriable=False)
        given: Json = call.input
        return given

    shop.echo.answer = shop.change.answer = answer


def done_by(shop: Shop) -> list[str]:
    calls = [*shop.change.calls, *shop.echo.calls]
    return sorted(c.step if c.item is None else f"{c.step}[{c.item}]" for c in calls)


def test_what_failed_is_done_again_and_what_was_done_is_not(shop: Shop, desk: Desk) -> None:
    number = shop.start(ORDINARY)
    fail(shop, "b")
    assert work_off(shop, number) == "failed"
    fail(shop)

    found = retry(desk, number, by=ANN)

    assert (found.round, found.steps) == (2, ("b",))
    assert work_off(shop, number) == "completed"
    assert shop.done(number).result == 3
    assert done_by(shop) == ["b", "c"]
    ends = [k for k in shop.kinds(number) if k.startswith("execution_")]
    assert ends[1:] == ["execution_failed", "execution_retried", "execution_completed"]


def test_it_may_fail_again_and_be_retried_again(shop: Shop, desk: Desk) -> None:
    number = shop.start(ORDINARY)
    fail(shop, "b", "c")
    assert work_off(shop, number) == "failed"
    fail(shop, "c")
    retry(desk, number, by=ANN)
    assert work_off(shop, number) == "failed"
    fail(shop)

    found = retry(desk, number, by=ANN)

    assert (found.round, found.steps) == (3, ("c",))
    assert work_off(shop, number) == "completed"
    assert done_by(shop) == ["c"]


def test_automatic_attempts_begin_anew_with_a_round(shop: Shop, desk: Desk) -> None:
    number = shop.start(
        ORDINARY.replace(
            "data: {y: 2}", "data: {y: 2}, retry: {max_attempts: 2, initial_delay: 0.01}"
        )
    )
    shop.echo.answer = _flaky()
    assert work_off(shop, number) == "failed"

    retry(desk, number, by=ANN)

    assert work_off(shop, number) == "completed"
    assert shop.done(number).rows["b"][1] == 2


def _flaky() -> Answer:
    """Return an answer that fails three times."""
    failures = iter(range(3))

    async def answer(call: Call) -> Json:
        if call.step == "b" and next(failures, None) is not None:
            raise Failed("unlucky", "not now")
        given: Json = call.input
        return given

    return answer


def test_a_cancelled_execution_goes_on_where_it_stopped(shop: Shop, desk: Desk) -> None:
    number = shop.start(
        "workflow:\n  - {step: start, next: [a]}\n  - {step: a, type: echo, next: [ask]}\n"
        "  - {step: ask, type: approve, approve: {message: Go on?}, next: [end]}\n"
        "  - {step: end}\n"
    )
    work(shop, lambda: shop.state(number, "ask") == "parked")
    cancel(desk, number, by=ANN)

    assert retry(desk, number, by=ANN).steps == ("ask",)

    work(shop, lambda: shop.state(number, "ask") == "parked")
    assert done_by(shop) == ["a"]


def test_finally_steps_run_once_in_every_round(shop: Shop, desk: Desk) -> None:
    number = shop.start(ORDINARY + "finally:\n  - {step: clean, type: echo, data: {c: 1}}\n")
    fail(shop, "b")
    assert work_off(shop, number) == "failed"
    assert "clean" in done_by(shop)
    fail(shop)

    retry(desk, number, by=ANN)

    assert work_off(shop, number) == "completed"
    assert done_by(shop) == ["b", "c", "clean"]


def test_a_failure_of_the_finally_steps_alone_lets_only_them_run_again(
    shop: Shop, desk: Desk
) -> None:
    number = shop.start(ORDINARY + "finally:\n  - {step: clean, type: echo, data: {c: 1}}\n")
    fail(shop, "clean")
    assert work_off(shop, number) == "failed"
    fail(shop)

    retry(desk, number, by=ANN)

    assert work_off(shop, number) == "completed"
    assert done_by(shop) == ["clean"]
    assert shop.done(number).result == 3


def test_a_save_after_an_error_is_taken_back_with_it(shop: Shop, desk: Desk) -> None:
    number = shop.start(
        "workflow:\n  - {step: start, next: [a, b]}\n"
        "  - {step: a, type: echo, next: [c]}\n"
        "  - {step: b, type: echo, next: [c],"
        " save: {storage: python, code: 'def main(**kw): return 1', on: error}}\n"
        "  - {step: c, type: echo, next: [end]}\n  - {step: end}\n"
    )
    fail(shop, "b")
    assert work_off(shop, number) == "failed"
    fail(shop)

    retry(desk, number, by=ANN)

    assert work_off(shop, number) == "completed"
    assert shop.done(number).steps["b.save.1"] == "skipped"


def test_a_failure_that_was_made_up_for_stays_as_it_was(shop: Shop, desk: Desk) -> None:
    number = shop.start(
        "workflow:\n  - {step: start, next: [a]}\n"
        "  - {step: a, type: echo, on_error: oops, next: [b]}\n"
        "  - {step: oops, type: echo, next: [b]}\n"
        "  - {step: b, type: echo, next: [end]}\n  - {step: end}\n"
    )
    fail(shop, "a", "b")
    assert work_off(shop, number) == "failed"
    fail(shop)

    assert retry(desk, number, by=ANN).steps == ("b",)

    assert work_off(shop, number) == "completed"
    assert done_by(shop) == ["b"]
    assert shop.done(number).steps["a"] == "failed"


def test_an_answered_body_is_only_settled_again(shop: Shop, desk: Desk) -> None:
    number = shop.start(
        "workload: {limit: 1}\nworkflow:\n  - {step: start, next: [w]}\n"
        "  - {step: w, type: change, confirm: true, data: {n: 5},"
        " assert: {returns: [missing]}, next: [end]}\n  - {step: end}\n"
    )
    fail(shop)
    assert work_off(shop, number) == "failed"
    fail(shop)

    retry(desk, number, by=ANN)
    work_off(shop, number)

    assert done_by(shop) == []


@pytest.mark.parametrize(
    ("bounds", "code"),
    [
        ("{maxCreated: 6}", "expectation-failed"),
        ("{maxUpdated: 6}", "expectation-unverifiable"),
        ("{equals: {/created: 9}}", "expectation-failed"),
    ],
)
def test_an_answer_that_broke_a_bound_breaks_it_again(
    shop: Shop, desk: Desk, bounds: str, code: str
) -> None:
    number = shop.start(
        "workflow:\n  - {step: start, next: [w]}\n"
        "  - {step: w, type: change, confirm: true, data: {created: 8},"
        f" expect: {bounds}, next: [after]}}\n  - {{step: after, type: echo}}\n"
    )
    fail(shop)
    assert work_off(shop, number) == "failed"
    fail(shop)

    retry(desk, number, by=ANN)

    assert work_off(shop, number) == "failed"
    error = shop.done(number).error
    assert error is not None
    assert error["code"] == code
    assert done_by(shop) == []


def test_what_comes_after_a_kept_answer_still_sees_the_input_of_its_step(
    shop: Shop, desk: Desk
) -> None:
    number = shop.start(
        "workflow:\n  - {step: start, next: [{step: w, data: {n: 5}}]}\n"
        "  - {step: w, type: change, confirm: true, data: {a: 1}, set: {seen: '{{ input.n }}'},"
        " next: [end]}\n  - {step: end, result: '{{ ctx.seen }}'}\n"
    )

    async def loses(call: Call) -> Json:
        raise UnknownOutcome("lost", "nobody knows")

    shop.change.answer = loses
    work(shop, lambda: shop.state(number, "w") == "in_doubt")
    resolve(desk, number, "w", "accept", value={"a": 1}, by=ANN)

    assert work_off(shop, number) == "completed"
    assert shop.done(number).result == 5


# Iterators

EACH = """
workflow:
  - {{step: start, next: [each, other]}}
  - {{step: each, type: iterator, collection: [10, 11, 12, 13, 14, 15], element: x, {how},
     task: {{type: echo, data: {{x: "{{{{ x }}}}"}}}}, next: [end]}}
  - {{step: other, type: echo, next: [end]}}
  - {{step: end, result: "{{{{ each.count }}}}"}}
"""


@pytest.mark.parametrize(
    ("how", "again"),
    [
        ("mode: sequential", ["each.item[2]", "each.item[3]", "each.item[4]", "each.item[5]"]),
        ("{mode: async, concurrency: 6}", ["each.item[2]"]),
        ("{mode: async, concurrency: 2, tolerate: 0}", ["each.item[2]"]),
    ],
)
def test_only_failed_items_and_those_that_had_no_turn_are_done(
    how: str, again: list[str], shop: Shop, desk: Desk
) -> None:
    number = shop.start(EACH.format(how=how.strip("{}")))
    fail(shop, "each[2]")
    assert work_off(shop, number) == "failed"
    before = set(done_by(shop)) - {"each.item[2]"}
    fail(shop)

    retry(desk, number, by=ANN)

    assert work_off(shop, number) == "completed"
    assert shop.done(number).result == 6
    assert set(again) <= set(done_by(shop))
    assert not before & set(done_by(shop))


def test_a_whole_item_is_not_repeated_for_its_last_step(shop: Shop, desk: Desk) -> None:
    number = shop.start(
        "workflow:\n  - {step: start, next: [each]}\n"
        "  - {step: each, type: iterator, collection: [1, 2], element: x, mode: async,"
        ' task: [{name: one, type: change, confirm: true, data: {x: "{{ x }}"}},'
        ' {name: two, type: echo, data: {y: "{{ one.x }}"}}], next: [end]}\n'
        '  - {step: end, result: "{{ each.results }}"}\n'
    )
    fail(shop, "each.two")
    assert work_off(shop, number) == "failed"
    fail(shop)

    found = retry(desk, number, by=ANN)

    assert set(found.steps) <= {"each.two[0]", "each.two[1]"}
    assert work_off(shop, number) == "completed"
    assert done_by(shop) == ["each.two[0]", "each.two[1]"]
    assert shop.done(number).result == [{"y": 1}, {"y": 2}]


def test_an_iterator_that_was_stopped_by_another_step_goes_on(shop: Shop, desk: Desk) -> None:
    number = shop.start(EACH.format(how="mode: sequential"))
    fail(shop, "other")
    assert work_off(shop, number) == "failed"
    before = set(done_by(shop)) - {"other"}
    fail(shop)

    retry(desk, number, by=ANN)

    assert work_off(shop, number) == "completed"
    assert shop.done(number).result == 6
    assert not before & set(done_by(shop))


def test_a_retried_iterator_took_as_long_as_its_items(shop: Shop, desk: Desk) -> None:
    number = shop.start(
        "workflow:\n  - {step: start, next: [each]}\n"
        "  - {step: each, type: iterator, collection: [0, 1], element: x, mode: sequential,"
        ' task: {type: echo, data: {x: "{{ x }}"}}}\n'
    )
    fail(shop, "each[0]")
    assert work_off(shop, number) == "failed"
    fail(shop)
    at_once = shop.echo.answer

    async def slowly(call: Call) -> Json:
        await asyncio.sleep(0.3)
        return await at_once(call)

    shop.echo.answer = slowly
    retry(desk, number, by=ANN)
    assert work_off(shop, number) == "completed"

    (each,) = (step for step in show(desk, number)["steps"] if step["name"] == "each")
    began = Progress(shop.records.connection, number).began()
    told = datetime.fromisoformat(each["started"])
    took = (datetime.fromisoformat(each["ended"]) - told).total_seconds()
    assert took > 0.6
    assert told in began.values()


def test_items_are_known_again_although_the_failed_step_forgot_them(shop: Shop, desk: Desk) -> None:
    number = shop.start(
        "workload: {xs: []}\n"
        + EACH.format(how="mode: sequential").replace(
            "[10, 11, 12, 13, 14, 15]", '"{{ workload.xs }}"'
        ),
        {"xs": ["x" * 40_000, "y" * 40_000]},
    )
    fail(shop, "each[0]")
    assert work_off(shop, number) == "failed"
    fail(shop)

    retry(desk, number, by=ANN)

    assert work_off(shop, number) == "completed"
    assert shop.done(number).result == 2


# Children

PARENT = """
workflow:
  - {step: start, next: [kid]}
  - {step: kid, type: playbook, path: tests/c, next: [after]}
  - {step: after, type: echo, data: {r: "{{ kid }}"}, next: [end]}
  - {step: end, result: "{{ after.r }}"}
"""


def test_a_failed_child_is_retried_in_place(shop: Shop, desk: Desk) -> None:
    shop.submit(HEAD + ORDINARY)
    number = shop.start(PARENT)
    fail(shop, "b")
    assert work_off(shop, number) == "failed"
    fail(shop)

    found = retry(desk, number, by=ANN)

    assert (found.children, found.steps) == ((number + 1,), ("kid",))
    assert work_off(shop, number) == "completed"
    assert shop.done(number).result == 3
    assert done_by(shop) == ["after", "b", "c"]
    assert events(shop, number + 1, "execution_retried")[0]["parent"] == number


def test_a_child_that_was_retried_by_itself_gives_its_result_to_the_retried_parent(
    shop: Shop, desk: Desk
) -> None:
    shop.submit(HEAD + ORDINARY)
    number = shop.start(PARENT)
    fail(shop, "b")
    assert work_off(shop, number) == "failed"
    fail(shop)
    retry(desk, number + 1, by=ANN)
    assert work_off(shop, number + 1) == "completed"
    fail(shop)

    retry(desk, number, by=ANN)

    assert work_off(shop, number) == "completed"
    assert done_by(shop) == ["after"]


def test_children_of_items_are_retried_in_place(shop: Shop, desk: Desk) -> None:
    shop.submit(HEAD + "workload: {n: 0}\n" + ORDINARY.replace("y: 2", 'y: "{{ workload.n }}"'))
    number = shop.start(
        "workflow:\n  - {step: start, next: [each]}\n"
        "  - {step: each, type: iterator, collection: [1, 2], element: x, mode: async,"
        ' task: {type: playbook, path: tests/c, data: {n: "{{ x }}"}}, next: [end]}\n'
        '  - {step: end, result: "{{ each.results }}"}\n'
    )
    fail(shop, "b")
    assert work_off(shop, number) == "failed"
    fail(shop)

    found = retry(desk, number, by=ANN)

    assert len(found.children) == 2
    assert work_off(shop, number) == "completed"
    assert shop.done(number).result == [2, 3]


# From a step

WRITES = """
workflow:
  - {step: start, next: [a, apart]}
  - {step: a, type: echo, data: {x: 1}, next: [w]}
  - {step: w, type: change, confirm: true, data: {y: "{{ a.x }}"}, next: [last]}
  - {step: apart, type: echo, next: [last]}
  - {step: last, type: echo, data: {z: "{{ w.y }}"}, next: [end]}
  - {step: end, result: "{{ last.z }}"}
"""


def failed_at_last(shop: Shop) -> int:
    number = shop.start(WRITES)
    fail(shop, "last")
    assert work_off(shop, number) == "failed"
    fail(shop)
    return number


def test_everything_behind_a_named_step_is_done_again(shop: Shop, desk: Desk) -> None:
    number = failed_at_last(shop)

    found = retry(desk, number, by=ANN, from_step="a", confirm_writes=["w"])

    assert found.steps == ("a",)
    assert work_off(shop, number) == "completed"
    assert done_by(shop) == ["a", "last", "w"]
    assert shop.done(number).result == 1


def test_writes_are_made_again_only_when_they_are_named(shop: Shop, desk: Desk) -> None:
    number = failed_at_last(shop)

    with pytest.raises(NotAllowed, match=r"written by 'w'.*--confirm-write w"):
        retry(desk, number, by=ANN, from_step="a")

    assert shop.done(number).status == "failed"
    assert retry(desk, number, by=ANN).steps == ("last",)


def test_writes_of_children_and_of_items_count_too(shop: Shop, desk: Desk) -> None:
    shop.submit(HEAD + WRITES)
    number = shop.start(
        "workflow:\n  - {step: start, next: [kid, each]}\n"
        "  - {step: kid, type: playbook, path: tests/c, next: [after]}\n"
        "  - {step: each, type: iterator, collection: [1], element: x,"
        ' task: {type: change, confirm: true, data: {x: "{{ x }}"}}, next: [after]}\n'
        "  - {step: after, type: echo, next: [end]}\n  - {step: end}\n"
    )
    fail(shop, "after")
    assert work_off(shop, number) == "failed"

    with pytest.raises(NotAllowed, match="written by 'kid', 'each'"):
        retry(desk, number, by=ANN, from_step="start")


def test_items_are_handed_out_anew_behind_a_named_step(shop: Shop, desk: Desk) -> None:
    number = shop.start(EACH.format(how="mode: async"))
    fail(shop, "each[5]")
    assert work_off(shop, number) == "failed"
    fail(shop)

    retry(desk, number, by=ANN, from_step="each")

    assert work_off(shop, number) == "completed"
    assert [name for name in done_by(shop) if "each" in name] == [
        f"each.item[{n}]" for n in range(6)
    ]


def test_what_cannot_be_begun_from_is_refused(shop: Shop, desk: Desk) -> None:
    number = shop.start(
        'workload: {go: false}\nworkflow:\n  - {step: start, next: [{when: "{{ workload.go }}",'
        " step: never}, a]}\n"
        "  - {step: never, type: echo, next: [b]}\n"
        "  - {step: a, type: echo, next: [b]}\n  - {step: b, type: echo, next: [end]}\n"
        "  - {step: end}\nfinally:\n  - {step: clean, type: echo}\n"
    )
    fail(shop, "a")
    assert work_off(shop, number) == "failed"

    with pytest.raises(NotAllowed, match="was skipped"):
        retry(desk, number, by=ANN, from_step="never")
    with pytest.raises(NotAllowed, match="did not begin"):
        retry(desk, number, by=ANN, from_step="b")
    with pytest.raises(NotAllowed, match="`finally` step"):
        retry(desk, number, by=ANN, from_step="clean")
    with pytest.raises(Unknown, match="did you mean 'never'"):
        retry(desk, number, by=ANN, from_step="nevr")


def test_what_is_not_over_or_completed_is_not_retried(shop: Shop, desk: Desk) -> None:
    number = shop.start(ORDINARY)
    with pytest.raises(NotAllowed, match="not over yet"):
        retry(desk, number, by=ANN)
    fail(shop)
    assert work_off(shop, number) == "completed"

    with pytest.raises(NotAllowed, match="'rerun' starts the same once more"):
        retry(desk, number, by=ANN)
