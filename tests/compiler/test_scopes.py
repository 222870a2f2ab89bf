"""What a template may read, and when it is there."""

import pytest

from tests.compiler.compiled import found_in, plan_of

BODY = """workload: {{topic: walls}}
workflow:
  - {{step: start, next: [{{step: a, data: {{given: 1}}}}]}}
  - step: a
    type: python
    data: {{own: 1, x: "{data}"}}
    code: "def main(**kw): return kw"
    save: {{data: "{save}"}}
    retry: {{max_attempts: 2, retry_when: "{retry}"}}
    next: [{{step: read-doors, when: "{when}"}}]
  - {{step: read-doors, type: noop, next: [end]}}
  - {{step: end, result: "{result}"}}
"""
FINE = {"data": "1", "save": "1", "retry": "{{ true }}", "when": "{{ true }}", "result": "1"}


@pytest.mark.parametrize(
    ("place", "template"),
    [
        ("data", "{{ workload.topic }}"),
        ("data", "{{ topic }}"),
        ("data", "{{ context.input.topic }}"),
        ("data", "{{ given }}"),
        ("data", "{{ input.given }}"),
        ("data", "{{ secrets.token }}"),
        ("data", "{{ execution_id }}"),
        ("data", "{{ now() }}"),
        ("data", "{{ nothing_like_it | default(1) }}"),
        ("data", "{{ 1 if nothing_like_it is defined else 2 }}"),
        ("data", "{% for n in range(3) %}{{ n }}{% endfor %}"),
        ("save", "{{ a.own }}"),
        ("save", "{{ this.own }}"),
        ("save", "{{ result.own }}"),
        ("retry", "{{ status_code >= 500 and attempt < 2 }}"),
        ("when", "{{ result.own > 0 and a.x }}"),
        ("result", "{{ read_doors.status }}"),
        ("result", "{{ workload.items() | list }}"),
    ],
)
def test_a_name_that_is_there_is_found(place: str, template: str) -> None:
    assert found_in(BODY.format(**{**FINE, place: template})) == []


@pytest.mark.parametrize(
    ("place", "template", "found"),
    [
        ("data", "{{ tpoic }}", "unknown-name"),
        ("data", "{{ own }}", "unknown-name"),
        ("data", "{{ workload.topik }}", "undeclared-variable"),
        ("data", "{{ workload.items }}", "undeclared-variable"),
        ("data", "{{ input.gvien }}", "unknown-input"),
        ("data", "{{ result }}", "unknown-name"),
        ("data", "{{ a.own }}", "uses-itself"),
        ("data", "{{ read_doors.x }}", "used-too-early"),
        ("data", "{{ read-doors.x }}", "unknown-name"),
        ("data", "{{ ctx.never_set }}", "unknown-name"),
        ("data", "{{ mcp.models.gpt.name }}", "unknown-mcp-name"),
        ("data", "{{ topic | lenght }}", "template-syntax"),
        ("data", "{{ topic ", "template-syntax"),
        ("save", "{{ reslut }}", "unknown-name"),
        ("when", "{{ nowhere.at.all }}", "unknown-name"),
    ],
)
def test_a_name_that_is_not_there_is_told_once(place: str, template: str, found: str) -> None:
    errors = found_in(BODY.format(**{**FINE, place: template}), "error")

    assert [one.partition(" ")[2] for one in errors] == [found]


def test_what_a_step_sets_is_read_under_ctx_by_those_behind_it() -> None:
    plan = plan_of(
        "workflow:\n  - {step: start, type: noop, set: {n: 1}, next: [a]}\n"
        "  - {step: a, type: noop, set: {n: 2}, next: [b]}\n"
        '  - {step: b, type: set, values: {n: "{{ ctx.n }}"}}\n'
    )

    assert plan.steps[plan.index("b")].more["ctx"] == {"n": [plan.index("a"), plan.index("start")]}


def test_an_item_and_what_is_known_of_it_are_read_inside_an_iterator() -> None:
    body = (
        "workload: {rows: [1]}\nworkflow:\n  - step: start\n    type: iterator\n"
        '    collection: "{{ workload.rows }}"\n    element: row\n    where: "{{ row > 0 }}"\n'
        '    task: {type: python, data: {x: "{{ row }}", n: "{{ _loop.index }}"},'
        ' code: "def main(x, n): return x"}\n'
    )

    assert found_in(body) == []
    assert found_in(body.replace("{{ row }}", "{{ rwo }}"), "error") == ["10 unknown-name"]


def test_a_result_of_another_branch_is_waited_for() -> None:
    plan = plan_of(
        "workflow:\n  - {step: start, next: [a, b]}\n  - {step: a, type: noop}\n"
        '  - {step: b, type: set, values: {x: "{{ a.x }}"}}\n'
    )

    needs = [(e.source, e.target) for e in plan.edges if e.kind == "need"]
    assert needs == [(plan.index("a"), plan.index("b"))]


def test_a_result_that_may_have_been_skipped_is_warned_of() -> None:
    body = (
        "workload: {x: 1}\nworkflow:\n"
        '  - {step: start, next: [{step: a, when: "{{ x > 1 }}"}, c]}\n'
        "  - {step: a, type: noop, next: [c]}\n"
        '  - {step: c, type: set, values: {x: "{{ a.x }}"}}\n'
    )

    assert found_in(body) == ["7 maybe-skipped"]
    assert found_in(body.replace("a.x }}", "a.x | default(0) }}")) == []
