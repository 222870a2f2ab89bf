"""What follows a step: branches, joins, failures, ends."""

import pytest

from tests.worker.shop import Shop


def test_all_true_ways_fire_else_all_the_others(shop: Shop) -> None:
    done = shop.run(
        """
workflow:
  - {step: start, type: echo, data: {v: 5}, next: [{when: "{{ start.v > 1 }}", step: b},
      {when: "{{ start.v > 2 }}", step: c}, {when: "{{ start.v > 9 }}", step: d}, e]}
  - {step: b, type: echo, next: [join]}
  - {step: c, type: echo, next: [join]}
  - {step: d, type: echo, next: [join]}
  - {step: e, type: echo, next: [join]}
  - {step: join, type: echo, data: {ok: true}, next: [end]}
  - {step: end, result: "{{ join.ok }}"}
"""
    )

    assert done.result is True
    states = {name: done.steps[name] for name in ("b", "c", "d", "e", "join")}
    assert states == {"b": "done", "c": "done", "d": "skipped", "e": "skipped", "join": "done"}


def test_a_skip_goes_on_and_a_join_that_nothing_reached_is_skipped(shop: Shop) -> None:
    done = shop.run(
        """
workload: {go: false}
workflow:
  - step: start
    next: [{when: "{{ workload.go }}", step: a}, {when: "{{ workload.go }}", step: b}]
  - {step: a, type: echo, next: [c]}
  - {step: b, type: echo, next: [c]}
  - {step: c, type: echo, next: [d]}
  - {step: d, type: echo}
"""
    )

    assert done.status == "completed"
    assert {done.steps[name] for name in "abcd"} == {"skipped"}


def test_any_join_runs_with_the_first_way(shop: Shop) -> None:
    done = shop.run(
        """
workflow:
  - {step: start, next: [near, far]}
  - {step: near, type: echo, next: [use]}
  - {step: far, type: echo, data: {sleep: 0.3}, next: [use]}
  - {step: use, join: any, type: echo, data: {far: "{{ far.sleep | default('not yet') }}"}}
"""
    )

    assert done.steps["use"] == "done"
    assert done.steps["far"] == "done"
    assert shop.kinds(done.id, "use").count("step_started") == 1


@pytest.mark.parametrize("way", ["exclusive", "inclusive"])
def test_other_rules_for_ways(shop: Shop, way: str) -> None:
    done = shop.run(
        f"""
workflow:
  - step: start
    next:
      spec: {{mode: {way}}}
      arcs: [{{step: a, when: "{{{{ 1 > 0 }}}}"}}, {{step: b, when: "{{{{ 1 > 0 }}}}"}}, c]
  - {{step: a, type: echo}}
  - {{step: b, type: echo}}
  - {{step: c, type: echo}}
"""
    )

    taken = [name for name in "abc" if done.steps[name] == "done"]
    assert taken == (["a"] if way == "exclusive" else ["a", "b", "c"])


def test_a_condition_of_its_own_skips_a_step(shop: Shop) -> None:
    done = shop.run(
        """
workflow:
  - {step: start, type: echo, next: [a, b]}
  - {step: a, when: "{{ 1 > 2 }}", type: echo, next: [c]}
  - {step: b, when: "{{ 2 > 1 }}", type: echo}
  - {step: c, type: echo}
"""
    )

    assert [done.steps[name] for name in "abc"] == ["skipped", "done", "skipped"]


def test_a_failure_ends_the_execution_and_tells_its_step(shop: Shop) -> None:
    done = shop.run(
        """
workflow:
  - {step: start, type: echo, next: [a]}
  - {step: a, type: echo, data: {fails: 9}, next: [b]}
  - {step: b, type: echo}
"""
    )

    assert done.status == "failed"
    assert done.error is not None
    assert (done.error["step"], done.error["code"]) == ("a", "unlucky")
    assert done.steps["a"] == "failed"
    assert "b" not in done.steps


def test_running_branches_drain_when_another_fails(shop: Shop) -> None:
    done = shop.run(
        """
workflow:
  - {step: start, next: [slow, bad]}
  - {step: slow, type: echo, data: {sleep: 0.2}, next: [after]}
  - {step: bad, type: echo, data: {fails: 1}}
  - {step: after, type: echo}
"""
    )

    assert done.status == "failed"
    assert done.steps["slow"] == "done"
    assert done.steps["after"] == "cancelled"


def test_on_error_leads_elsewhere(shop: Shop) -> None:
    done = shop.run(
        """
workflow:
  - {step: start, type: echo, data: {fails: 1}, on_error: sorry, next: [fine]}
  - {step: fine, type: echo, next: [end]}
  - {step: sorry, type: echo, data: {why: "{{ start.error.message }}"}, next: [end]}
  - {step: end, result: "{{ sorry.why | default('none') }}"}
"""
    )

    assert (done.status, done.result) == ("completed", "attempt 1 failed")
    assert [done.steps[name] for name in ("start", "fine", "sorry")] == [
        "failed",
        "skipped",
        "done",
    ]


def test_on_error_with_a_condition_that_does_not_hold_fails(shop: Shop) -> None:
    done = shop.run(
        """
workflow:
  - {step: start, type: echo, data: {fails: 1}, next: [fine],
     on_error: {step: sorry, when: "{{ error.code == 'other' }}"}}
  - {step: fine, type: echo}
  - {step: sorry, type: echo}
"""
    )

    assert done.status == "failed"


def test_on_error_continue_takes_the_ordinary_ways(shop: Shop) -> None:
    done = shop.run(
        """
workflow:
  - {step: start, type: echo, data: {fails: 1}, on_error: continue, next: [fine]}
  - {step: fine, type: echo, data: {ok: 1}, next: [end]}
  - {step: end, result: "{{ fine.ok }}"}
"""
    )

    assert (done.status, done.result) == ("completed", 1)


@pytest.mark.parametrize("fails", [0, 1])
def test_finally_steps_run_once_whatever_happened(shop: Shop, fails: int) -> None:
    done = shop.run(
        f"""
workflow:
  - {{step: start, type: echo, data: {{fails: {fails}}}, next: [a]}}
  - {{step: a, type: echo, data: {{ok: 1}}}}
finally:
  - {{step: f1, type: echo, next: [f2]}}
  - {{step: f2, type: echo}}
"""
    )

    assert done.status == ("failed" if fails else "completed")
    assert (done.steps["f1"], done.steps["f2"]) == ("done", "done")
    assert shop.kinds(done.id, "f2").count("step_completed") == 1
    assert shop.kinds(done.id)[-1] == f"execution_{done.status}"


def test_a_failing_finally_step_fails_the_execution(shop: Shop) -> None:
    done = shop.run(
        """
workflow:
  - {step: start, type: echo}
finally:
  - {step: f1, type: echo, data: {fails: 1}}
"""
    )

    assert done.status == "failed"
    assert done.error is not None
    assert done.error["step"] == "f1"


def test_names_set_on_steps_and_ways_reach_later_steps(shop: Shop) -> None:
    done = shop.run(
        """
workflow:
  - {step: start, type: echo, data: {n: 4}, set: {a: "{{ result.n + 1 }}"}, next: [b]}
  - step: b
    type: echo
    data: {x: "{{ ctx.a }}"}
    next: [{step: c, data: {y: "{{ result.x * 2 }}"}}]
  - {step: c, type: echo, data: {z: 1}, next: [end]}
  - {step: end, result: {c: "{{ c }}", a: "{{ ctx.a }}"}}
"""
    )

    assert done.result == {"c": {"z": 1, "y": 10}, "a": 5}


def test_a_condition_that_cannot_be_asked_fails_with_the_answer_kept(shop: Shop) -> None:
    done = shop.run(
        """
workflow:
  - {step: start, type: echo, data: {n: 1},
     next: [{when: "{{ start.nothing.at.all }}", step: a}]}
  - {step: a, type: echo}
"""
    )

    assert done.status == "failed"
    assert done.error is not None
    assert (done.error["step"], done.error["code"]) == ("start", "template")
    answer = shop.records.connection.execute(
        "select answer from noetl.step where execution_id = %s and idx = 0", (done.id,)
    ).fetchone()
    assert answer == ('{"n":1}',)


def test_an_execution_that_only_routes_is_over_at_once(shop: Shop) -> None:
    number = shop.start(
        "workflow:\n  - {step: start, next: [end]}\n  - {step: end, result: {a: 1}}\n"
    )

    done = shop.done(number)
    assert (done.status, done.result) == ("completed", {"a": 1})


def test_events_stand_in_the_order_of_cause_and_effect(shop: Shop) -> None:
    done = shop.run(
        """
workflow:
  - {step: start, type: echo, next: [a, b]}
  - {step: a, type: echo, next: [c]}
  - {step: b, type: echo, next: [c]}
  - {step: c, type: echo}
"""
    )

    kinds = shop.kinds(done.id)
    assert kinds[0] == "execution_started"
    assert kinds[-1] == "execution_completed"
    assert kinds.count("execution_completed") == 1
    assert kinds.count("step_started") == kinds.count("step_completed") == 4
