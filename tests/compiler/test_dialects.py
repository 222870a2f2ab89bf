"""What the newer and older dialects say keeps its meaning, or is told."""

from typing import Any

import pytest

from tests.compiler.compiled import found_in, plan_of, ways

STEP = """workload: {{u: "http://x"}}
workflow:
  - step: start
    tool:
      kind: http
      url: "{{{{ u }}}}"
      spec: {{policy: {{rules: {rules}}}}}
    next: {{arcs: [{{step: end}}]}}
  - {{step: end}}
"""
FAILED = "output.status == 'error'"


def start(rules: str) -> dict[str, Any]:
    plan = plan_of(STEP.format(rules=rules))
    step = plan.steps[0]

    def told(value: Any) -> Any:
        if isinstance(value, dict) and set(value) == {"$t"}:
            return plan.templates[value["$t"]]["text"]
        if isinstance(value, dict):
            return {key: told(child) for key, child in value.items()}
        return [told(child) for child in value] if isinstance(value, list) else value

    return {key: told(value) for key, value in step.more.items()}


@pytest.mark.parametrize(
    "condition",
    [FAILED, f"({FAILED})", "output.status != 'ok'", "outcome.status == 'failed'"],
)
def test_going_on_after_a_failure_is_read_in_every_spelling(condition: str) -> None:
    rules = f'[{{when: "{{{{ {condition} }}}}", then: {{do: continue}}}}]'

    assert start(rules)["goes_on"] is True


def test_going_on_after_some_failures_only_is_told() -> None:
    rules = '[{when: "{{ output.http.status == 404 }}", then: {do: continue}}]'

    assert found_in(STEP.format(rules=rules), "error") == ["9 policy-not-supported"]


def test_the_first_rule_that_holds_decides_what_is_set() -> None:
    rules = (
        '[{when: "{{ output.data.n > 5 }}", then: {do: continue, set: {ctx.mode: big}}},'
        " {else: {then: {do: continue, set_ctx: {mode: small}}}}]"
    )
    chosen = "{{ ('big') if (output.data.n > 5) else ('small') }}"

    assert start(rules)["set"] == {"mode": chosen}


def test_what_is_set_after_a_failure_stands_beside_what_is_set_after_a_success() -> None:
    rules = (
        f'[{{when: "{{{{ {FAILED} }}}}", then: {{do: continue, set: {{ctx.failed: true}}}}}},'
        " {else: {then: {do: continue, set: {ctx.failed: false}}}}]"
    )

    text = start(rules)["set"]["failed"]

    assert FAILED in text
    assert text.index("true") < text.index("false")


def test_a_success_that_a_rule_refuses_fails() -> None:
    rules = '[{when: "{{ output.data.ok }}", then: {do: continue}}, {else: {then: {do: fail}}}]'

    assert start(rules)["assert"]["that"] == ["{{ ((output.data.ok)) }}"]


def test_two_retries_of_different_lengths_are_told() -> None:
    rules = (
        '[{when: "{{ output.http.status == 429 }}", then: {do: retry, attempts: 9}},'
        ' {when: "{{ output.http.status == 503 }}", then: {do: retry, attempts: 2}}]'
    )

    assert found_in(STEP.format(rules=rules), "error") == ["9 policy-not-supported"]


def test_a_misspelt_key_of_a_rule_is_told() -> None:
    rules = f'[{{when: "{{{{ {FAILED} }}}}", then: {{do: retry, atempts: 9}}}}]'

    assert found_in(STEP.format(rules=rules), "error") == ["9 unknown-key"]


def test_an_arc_on_an_error_status_is_a_way_for_failures() -> None:
    body = STEP.format(rules="[]").replace(
        "[{step: end}]", f'[{{step: oops, when: "{{{{ {FAILED} }}}}"}}, {{step: end}}]'
    )

    plan = plan_of(body + "  - {step: oops, type: noop}\n")

    assert ways(plan) == ["start -> end", "start -!> oops"]


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ('[{when: "{{ x }}", then: {allow: true}}, {else: {then: {allow: false}}}]', "{{ x }}"),
        (
            '[{when: "{{ x }}", then: {allow: false}}, {else: {then: {allow: true}}}]',
            "{{ not (x) }}",
        ),
        ('[{then: {allow: "{{ x }}"}}]', "{{ x }}"),
        ("[{else: {then: {allow: true}}}]", None),
    ],
)
def test_admission_is_the_condition_of_the_step_itself(rules: str, expected: str | None) -> None:
    plan = plan_of(
        "workload: {x: true}\nworkflow:\n"
        f"  - step: start\n    spec: {{policy: {{admit: {{rules: {rules}}}}}}}\n"
        "    tool: {kind: noop}\n"
    )

    when = plan.steps[0].more.get("when")
    assert (plan.templates[when["$t"]]["text"] if when else None) == expected


def test_the_ways_of_one_case_entry_are_all_taken_and_no_other() -> None:
    plan = plan_of(
        "workload: {x: 1}\nworkflow:\n  - step: start\n    tool: {kind: noop}\n    case:\n"
        '      - {when: "{{ x > 1 }}", then: {next: [{step: a}, {step: b}]}}\n'
        "      - {then: {next: [{step: c}]}}\n"
        "  - {step: a, type: noop}\n  - {step: b, type: noop}\n  - {step: c, type: noop}\n"
    )

    assert plan.steps[0].more["route"] == "inclusive"
    assert ways(plan) == [
        "start -> a when {{ x > 1 }}",
        "start -> b when {{ x > 1 }}",
        "start -> c when {{ not ((x > 1)) }}",
    ]


def test_a_sink_after_an_error_is_kept_after_an_error() -> None:
    plan = plan_of(
        "workflow:\n  - step: start\n    tool: {kind: noop}\n    case:\n"
        "      - when: \"{{ event.name == 'call.error' }}\"\n"
        "        then: {sink: {tool: file, path: err.json}}\n"
    )

    assert ways(plan) == ["start -?> start.save.1"]


def test_an_else_below_a_condition_keeps_it() -> None:
    plan = plan_of(
        "workload: {n: 1, u: a}\nworkflow:\n  - step: start\n    next:\n"
        '      - when: "{{ n == 1 }}"\n'
        "        then: [{when: \"{{ u == 'a' }}\", then: [a]}, {else: [b]}]\n"
        "      - else: [c]\n"
        "  - {step: a, type: noop}\n  - {step: b, type: noop}\n  - {step: c, type: noop}\n"
    )

    assert ways(plan) == [
        "start -> a when {{ (n == 1) and (u == 'a') }}",
        "start -> b when {{ (n == 1) and (not ((u == 'a'))) }}",
        "start -> c",
    ]


def test_a_loop_around_nothing_is_told() -> None:
    found = found_in("workflow:\n  - {step: start, loop: {in: [1], iterator: x}, next: [end]}\n")

    assert "iterator-without-task" in found[0]


def test_keys_of_other_servers_are_read_where_they_mean_what_ours_mean() -> None:
    plan = plan_of(
        'spec: {base: "http://x"}\nworkflow:\n'
        "  - step: start\n"
        '    tool: {kind: http, method: POST, url: "{{ spec.base }}", body: {a: 1},'
        " timeout_seconds: 5, confirm: true}\n"
        '    vars: {n: "{{ result.n }}"}\n'
        "    next: [ask]\n"
        '  - {step: ask, type: http, url: "http://x", data: {query: {q: 1}, body: {b: 2}}}\n'
    )

    start, ask = plan.steps[0].more, plan.steps[1].more
    assert start["settings"]["json"] == {"a": 1}
    assert start["timeout"] == 5
    assert list(start["set"]) == ["n"]
    assert ask["settings"]["params"] == {"q": 1}
    assert ask["settings"]["json"] == {"b": 2}
    assert [one["name"] for one in plan.inputs] == ["spec"]


def test_either_of_two_events_is_one_question() -> None:
    when = "{{ event.name == 'call.done' or event.name == 'step.exit' }}"
    plan = plan_of(
        "workflow:\n  - step: start\n    tool: {kind: noop}\n"
        f'    next: {{arcs: [{{step: end, when: "{when}"}}]}}\n  - {{step: end}}\n'
    )

    assert ways(plan) == ["start -> end"]


def test_what_is_set_for_each_item_is_not_read_behind_the_loop() -> None:
    body = (
        "workflow:\n  - step: start\n    loop: {in: [1], iterator: r}\n"
        '    tool: {kind: noop, set: {iter.last: "{{ r }}"}}\n    next: [end]\n'
        '  - {step: end, result: "{{ ctx.last }}"}\n'
    )

    assert found_in(body, "error") == ["8 unknown-name"]
