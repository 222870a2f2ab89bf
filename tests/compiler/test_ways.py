"""Where control goes, in every form that `next` has been written in."""

import pytest

from tests.compiler.compiled import found_in, plan_of, ways

STEPS = "  - {step: a, type: noop}\n  - {step: b, type: noop}\n  - {step: c, type: noop}\n"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("a", ["start -> a"]),
        ("[a, b]", ["start -> a", "start -> b"]),
        ("{step: a}", ["start -> a"]),
        ("[{step: a}, b]", ["start -> a", "start -> b"]),
        ('[{step: a, when: "{{ x }}"}]', ["start -> a when {{ x }}"]),
        ('[{step: a, condition: "{{ x }}"}]', ["start -> a when {{ x }}"]),
        (
            '[{when: "{{ x }}", then: [a, {step: b}]}, {else: [c]}]',
            ["start -> a when {{ x }}", "start -> b when {{ x }}", "start -> c"],
        ),
        ('[{when: "{{ x }}", then: a, else: b}]', ["start -> a when {{ x }}", "start -> b"]),
        (
            '[{when: "{{ x }}", then: [{step: a, when: "{{ y }}"}]}]',
            ["start -> a when {{ (x) and (y) }}"],
        ),
        ("{spec: {mode: exclusive}, arcs: [{step: a}]}", ["start -> a"]),
        (
            "{arcs: [{step: a, when: \"{{ event.name == 'step.done' and x }}\"}]}",
            ["start -> a when {{ x }}"],
        ),
    ],
)
def test_every_form_of_next_is_read(written: str, expected: list[str]) -> None:
    body = f"workload: {{x: true, y: true}}\nworkflow:\n  - {{step: start, next: {written}}}\n"

    assert ways(plan_of(body + STEPS)) == expected


def test_an_arc_on_failure_is_a_way_for_failures() -> None:
    arcs = "[{step: a}, {step: b, when: \"{{ event.name == 'step.failed' }}\"}]"
    plan = plan_of(
        f"workflow:\n  - {{step: start, tool: {{kind: noop}}, next: {{arcs: {arcs}}}}}\n{STEPS}"
    )

    assert ways(plan) == ["start -> a", "start -!> b"]


def test_the_seed_rule_is_the_default_and_the_newer_rules_are_kept() -> None:
    edges = '[{step: a, when: "{{ 1 > 0 }}"}, {step: b}]'
    for form, route in (
        (edges, "seed"),
        (f"{{spec: {{mode: exclusive}}, arcs: {edges}}}", "exclusive"),
        (f"{{spec: {{mode: inclusive}}, arcs: {edges}}}", "inclusive"),
    ):
        plan = plan_of(f"workflow:\n  - {{step: start, next: {form}}}\n{STEPS}")
        assert plan.steps[0].more.get("route", "seed") == route


def test_a_step_behind_several_ways_waits_for_all_of_them() -> None:
    plan = plan_of(
        "workflow:\n  - {step: start, next: [a, b]}\n"
        "  - {step: a, type: noop, next: [c]}\n  - {step: b, type: noop, next: [c]}\n"
        "  - {step: c, type: noop}\n"
    )

    assert plan.arrays["waits"][plan.index("c")] == 2
    assert plan.arrays["join"][plan.index("c")] == 0


def test_the_arrays_say_what_the_edges_say() -> None:
    plan = plan_of("workflow:\n  - {step: start, next: [a, b]}\n" + STEPS.replace("c,", "c2,"))
    at, successors, edge = (plan.arrays[key] for key in ("succ_at", "succ", "edge"))

    for number in range(len(plan.steps)):
        mine = range(at[number], at[number + 1])
        assert [plan.edges[edge[i]].source for i in mine] == [number] * len(mine)
        assert [plan.edges[edge[i]].target for i in mine] == [successors[i] for i in mine]
    assert sum(plan.arrays["waits"]) == len(plan.edges)


def test_everything_that_leads_nowhere_is_joined_at_the_end() -> None:
    plan = plan_of("workflow:\n  - {step: start, next: [a, b, c]}\n" + STEPS)
    end = plan.index("$end")

    assert sorted(e.source for e in plan.edges if e.target == end) == [1, 2, 3]


def test_sequences_are_entered_at_their_first_task() -> None:
    plan = plan_of(
        "workflow:\n  - {step: start, next: [s]}\n"
        "  - {step: s, type: sequence, tasks: [{name: x, type: noop}, {name: y, type: noop}]}\n"
    )

    assert ways(plan) == ["start -> s.x", "s.x -> s.y", "s.y -> s"]


def test_a_turn_that_is_the_first_step_begins_the_execution() -> None:
    plan = plan_of(
        "mcp: {models: [{name: m}], turns: [{name: t, model: m, user: [hi]}]}\n"
        "workflow:\n  - {step: start, type: turn, turn: t, next: [end]}\n  - {step: end}\n"
    )

    assert plan.arrays["entries"] == [plan.index("t.model.1")]
    assert ways(plan) == ["t.model.1 -> t", "t -> start", "start -> end"]


def test_turns_that_need_each_other_go_round_in_a_circle() -> None:
    turns = "[{name: a, model: m, needs: [b]}, {name: b, model: m, needs: [a]}]"

    found = found_in(f"mcp: {{models: [{{name: m}}], turns: {turns}}}\n", "error")

    assert found == ["3 cycle"]


def test_finally_steps_follow_each_other_whatever_comes() -> None:
    plan = plan_of(
        "workflow: [{step: start}]\nfinally: [{step: x, type: noop}, {step: y, type: noop}]\n"
    )

    assert ways(plan) == ["x -> y", "x -!> y"]
    assert "$finally" in [step.name for step in plan.steps]


def test_a_condition_without_braces_is_told_and_taken_for_the_expression_it_is() -> None:
    found = found_in(
        "workload: {x: 1}\nworkflow:\n  - {step: start, next: [{step: a, when: x > 0}]}\n"
        "  - {step: a, type: noop}\n"
    )

    assert found == ["5 condition-is-text"]
