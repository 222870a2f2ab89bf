"""What steps see of each other: in sequences, in iterators, behind saves, and under `ctx`."""

import pytest

from noetl_mcp.broker.results import Known
from noetl_mcp.broker.sight import Round
from noetl_mcp.playbook.node import Json
from noetl_mcp.playbook.rendering.render import RenderError
from tests.broker.worlds import World, world_of
from tests.compiler.compiled import plan_of

CHAIN = """workload: {rows: [1]}
workflow:
  - step: start
    type: sequence
    tasks:
      - {name: large, type: python, code: "def main(): return [1]"}
      - {name: sums, type: python, data: {rows: "{{ large }}"}, code: "def main(rows): return rows"}
    set: {total: "{{ result.n + sums.n }}"}
    save: [{storage: file, path: out.json, data: "{{ result.n }}"}]
    next: [{step: end, when: "{{ result.n > 0 }}"}]
  - {step: end, result: "{{ start }}"}
"""
EACH = """workload: {rows: [5, 6]}
workflow:
  - {step: start, type: noop, next: [each]}
  - step: each
    type: iterator
    collection: "{{ workload.rows }}"
    where: "{{ item > 0 }}"
    chunk: 2
    task:
      - {name: read, type: noop, set: {iter.mark: "{{ item }}"}, save: [{storage: file, path: x}]}
      - name: use
        type: noop
        data: {x: "{{ read.n }}", m: "{{ iter.mark }}", c: "{{ ctx.mark }}"}
    next: [end]
  - {step: end, result: "{{ each }}"}
"""
BRANCHES = """workload: {go: true}
workflow:
  - step: start
    type: noop
    set: {n: 1, only: s}
    next: [{step: a, set: {ctx.n: 2}}, {step: b, set: {ctx.n: 3}}]
  - {step: a, type: set, values: {x: "{{ ctx.n }}"}, next: [c]}
  - {step: b, type: set, values: {x: "{{ ctx.n }}"}, set: {n: 4}, next: [c]}
  - {step: c, type: set, values: {x: "{{ ctx.n }}", y: "{{ only }}", all: "{{ ctx }}"}}
"""


def test_a_task_of_a_sequence_reads_those_before_it() -> None:
    world = world_of(plan_of(CHAIN), rows=[1])
    world.came("start.large", [1, 2])
    world.came("start.sums", {"n": 3})
    world.came("start", {"n": 3})

    assert world.see("start.sums", "{{ large[1] }}") == 2
    assert world.see("start.sums", "{{ large | sum }}") == 3
    assert world.see("start", "{{ result.n + sums.n }}", own=Known("done", {"n": 3})) == 6
    assert world.see("start", "{{ result.results.large }}", own=Known("done", {"n": 3})) == [1, 2]
    assert world.see("end", "{{ start.results }}") == {"large": [1, 2], "sums": {"n": 3}}
    assert world.see("end", "{{ start.n }}") == 3
    assert world.see("end", "{{ start }}") == {"n": 3}
    assert world.see("end", "{{ large is defined }}") is False


def test_a_failed_task_of_a_sequence_is_seen_among_its_results() -> None:
    world = world_of(plan_of(CHAIN), rows=[1])
    world.came("start.large", error={"code": "boom", "message": "no"})
    world.came("start", {})

    assert world.see("end", "{{ start.results.large.error.code }}") == "boom"


def test_a_save_sees_what_its_step_gave_as_its_own_whoever_renders_it() -> None:
    world = world_of(plan_of(CHAIN), rows=[1])
    world.came("start.sums", {"n": 3})
    world.came("start", {"n": 3})
    saved = Known("done", {"rows": 1})

    assert world.see("start.save.1", "{{ result.n + this.n }}") == 6
    assert world.see("start.save.1", "{{ result.n }}", own=saved) == 3
    assert world.see("start.save.1", "{{ sums.n + start.n }}", own=saved) == 6
    assert world.see("start.save.1", "{{ success and status == 'completed' }}") is True


def test_a_save_after_an_error_sees_the_error() -> None:
    body = CHAIN.replace("path: out.json,", "path: out.json, on: error,")
    world = world_of(plan_of(body), rows=[1])
    world.came("start", error={"code": "boom", "message": "no"})

    assert world.see("start.save.1", "{{ error.code ~ result.error.message }}") == "boomno"
    assert world.see("start.save.1", "{{ result }}") == {"error": {"code": "boom", "message": "no"}}


@pytest.fixture
def each() -> World:
    world = world_of(plan_of(EACH), rows=[5, 6])
    for index in (0, 1):
        world.came("each.read", {"n": index * 10}, index)
        world.sets[world.index("each.read"), None, (index,)] = {"mark": f"m{index}"}
    return world


def one(world: World, index: int) -> tuple[Round, ...]:
    value: Json = [5 + index]
    return (Round(world.index("each"), index, value, 2),)


def test_a_task_of_an_iterator_reads_those_before_it_for_its_own_item(each: World) -> None:
    assert each.see("each.use", "{{ read.n }}", rounds=one(each, 0)) == 0
    assert each.see("each.use", "{{ read.n }}", rounds=one(each, 1)) == 10
    assert each.see("each.use", "{{ iter.mark ~ ctx.mark }}", rounds=one(each, 1)) == "m1m1"
    assert each.see("each.read.save.1", "{{ result.n }}", rounds=one(each, 1)) == 10
    assert each.asked[-1] == (each.index("each.read"), (1,))


def test_a_chunk_is_the_batch_and_the_element(each: World) -> None:
    assert each.see("each.use", "{{ batch == item }}", rounds=one(each, 1)) is True


def test_the_condition_of_an_iterator_sees_the_item(each: World) -> None:
    assert each.see("each", "{{ item[0] > 5 }}", rounds=one(each, 1)) is True
    assert each.see("each", "{{ item is defined }}") is False


def test_the_tasks_around_an_item_are_those_of_its_own_iterator_in_every_depth() -> None:
    world = world_of(plan_of(EACH), rows=[5, 6])
    outer, inner = world.index("each"), world.index("start")
    world.plan["steps"][outer]["within"] = inner
    world.plan["steps"][inner]["settings"] = {"element": "floor"}
    world.came("each.read", {"n": 7}, 3, 1)
    rounds = (Round(inner, 3, "F3", 4), *one(world, 1))

    seen = "{{ [read.n, floor, item[0], index, parent.index, parent.floor, iter.parent.index] }}"
    given = world.see("each.use", seen, rounds=rounds)

    assert given == [7, "F3", 6, 1, 3, "F3", 3]


def test_under_ctx_the_latest_step_that_came_to_it_wins() -> None:
    world = world_of(plan_of(BRANCHES), go=True)
    start, b = world.index("start"), world.index("b")
    to_a, to_b = (
        next(n for n, edge in enumerate(world.plan["edges"]) if edge["target"] == world.index(name))
        for name in ("a", "b")
    )
    world.sets[start, None, ()] = {"n": 1, "only": "s"}

    assert world.see("c", "{{ ctx.n }}") == 1
    world.sets[start, to_a, ()] = {"n": 2}
    world.sets[start, to_b, ()] = {"n": 3}
    assert world.see("a", "{{ ctx.n }}") == 2
    assert world.see("b", "{{ ctx.n }}") == 3
    world.sets[b, None, ()] = {"n": 4}
    assert world.see("c", "{{ ctx.n ~ only }}") == "4s"
    assert world.see("c", "{{ ctx }}") == {"n": 4, "only": "s"}
    assert world.see("start", "{{ ctx }}") == {"n": 1, "only": "s"}


def test_a_name_that_was_not_set_is_missing() -> None:
    world = world_of(plan_of(BRANCHES), go=True)

    assert world.see("c", "{{ ctx.n | default(0) }}") == 0
    with pytest.raises(RenderError, match="no 'n' among the names set under ctx"):
        world.see("c", "{{ ctx.n }}")


def test_a_resource_sees_the_workload_as_its_input() -> None:
    world = world_of(
        plan_of(
            "workload: {topic: walls}\nmcp:\n  models: [{name: m}]\n  resources:\n"
            "    - {name: kb-one, type: duckdb, spec: {sql: 'SELECT {{ input.topic }}'}}\n"
            "  turns:\n    - name: t1\n      model: m\n"
            "      user: [{use: 'resource:kb-one'}, '{{ kb_one.rows }}']\n"
        ),
        topic="walls",
    )
    world.came("kb-one", {"rows": [1]})

    assert world.see("kb-one", "{{ input.topic ~ topic ~ data.topic }}") == "wallswallswalls"
    assert world.see("kb-one", "{{ input.topic }}", input={"topic": "doors"}) == "doors"
    assert world.see("t1.model.1", "{{ kb_one.rows }}") == [1]


def test_a_round_of_a_turn_asks_its_own_answer() -> None:
    world = world_of(
        plan_of(
            "workload: {topic: walls}\nmcp:\n  models: [{name: m}]\n"
            "  tools: [{name: t, type: http, spec: {url: 'http://a/{{ input.q }}'}}]\n"
            "  turns: [{name: t1, model: m, user: hi, tools_allowed: [t]}]\n"
        ),
        topic="walls",
    )
    world.came("t1.model.1", {"tool_calls": [1]})
    asks = "{{ result.tool_calls }}"

    assert world.see("t1.model.2", asks, own=Known("done", {"tool_calls": []})) == []
    assert world.see("t1.model.1", asks, own=Known("done", {"tool_calls": [1]})) == [1]
    assert world.see("t1.model.2", "{{ input.topic }}") == "walls"
