"""What the templates of a step see, name by name and in which order."""

import re
from pathlib import Path
from typing import Any

import pytest

from noetl_mcp.broker.results import Known
from noetl_mcp.broker.sight import Later, Round
from noetl_mcp.compiler.constants import SECTIONS
from noetl_mcp.compiler.scope import AFTER, ALWAYS, GLOBALS, LOOP
from noetl_mcp.playbook.node import Json
from noetl_mcp.playbook.rendering.render import RenderError, compile_text
from noetl_mcp.playbook.rendering.secret import Secret
from tests.broker.worlds import World, world_of
from tests.compiler.compiled import plan_of

DOCS = Path(__file__).parent.parent.parent / "docs" / "reference" / "templates.md"
PAGE = """workload: {topic: walls, rows: [7, 8], text: t}
mcp:
  models: [{name: gpt-4o, provider: openai}]
  prompts: [{name: in-short, template: "Say {{ input.text }}"}]
  turns: [{name: t1, model: gpt-4o, user: [{use: "prompt:in-short", with: {text: x}}]}]
workflow:
  - {step: start, type: noop, set: {seen: 1}, next: [{step: read-doors, data: {given: 1}}]}
  - step: read-doors
    type: python
    data: {own: "{{ topic }}"}
    code: "def main(**kw): return kw"
    set: {doors: "{{ result.n }}"}
    next: [each]
  - step: each
    type: iterator
    collection: "{{ workload.rows }}"
    element: row
    data: {below: 5}
    task: {type: python, data: {x: "{{ row }}"}, code: "def main(x): return x"}
    next: [t1]
  - {step: t1, type: turn, turn: t1, next: [last]}
  - {step: last, type: noop, data: {n: "{{ ctx.seen }}"}}
"""
DOCUMENTED: list[tuple[str, str, object]] = [
    ("context", "{{ context.topic ~ context.input.topic }}", "wallswalls"),
    ("ctx", "{{ ctx.seen }}", 1),
    ("data", "{{ data.own }}", "walls"),
    ("env", "{{ env.LANG }}", "C"),
    ("execution_id", "{{ execution_id }}", 4711),
    ("input", "{{ input.own }}", "walls"),
    ("job", "{{ job.id }}", 4711),
    ("mcp", "{{ mcp.models['gpt-4o'].provider }}", "openai"),
    ("prompts", "{{ prompts.in-short.template | render({input: {text: 'hi'}}) }}", "Say hi"),
    ("secrets", "{{ secrets.token }}", Secret("s3cr3t")),
    ("workload", "{{ workload.topic }}", "walls"),
    ("attempt", "{{ attempt }}", 2),
    ("error", "{{ error }}", None),
    ("event", "{{ event.name }}", "step.done"),
    ("outcome", "{{ outcome.n }}", 1),
    ("output", "{{ output.data.n }}", 1),
    ("response", "{{ response.n }}", 1),
    ("result", "{{ result.n }}", 1),
    ("status", "{{ status }}", "completed"),
    ("status_code", "{{ status_code }}", 200),
    ("success", "{{ success }}", True),
    ("this", "{{ this.n }}", 1),
    ("_loop", "{{ [_loop.index, _loop.current_index, _loop.item, _loop.count] }}", [1, 1, 8, 2]),
    ("batch", "{{ batch }}", [8]),
    ("index", "{{ index }}", 1),
    ("iter", "{{ [iter.row, iter.item, iter.index, iter.parent.topic] }}", [8, 8, 1, "walls"]),
    ("parent", "{{ parent.topic ~ parent.below }}", "walls5"),
    ("cycler", "{{ cycler(1, 2).next() }}", 1),
    ("dict", "{{ dict(a=1).a }}", 1),
    ("joiner", "{% set j = joiner(',') %}{{ j() }}{{ j() }}", ","),
    ("namespace", "{% set n = namespace(a=1) %}{{ n.a }}", "1"),
    ("now", "{{ now() }}", "2027-01-31T08:00:00+00:00"),
    ("range", "{{ range(2) }}", [0, 1]),
]


@pytest.fixture
def page() -> World:
    world = world_of(plan_of(PAGE), topic="walls", rows=[7, 8], text="t")
    world.came("start", {})
    world.came("read-doors", {"doors": 3})
    world.sets[world.index("start"), None, ()] = {"seen": 1}
    return world


def item(world: World, index: int = 1, **more: Any) -> dict[str, Any]:
    """What a task sees that is done for one of the rows."""
    rows: Any = world.workload["rows"]
    one = Round(world.index("each"), index, rows[index], len(rows), {"below": 5})
    return {"rounds": (one,), **more}


@pytest.mark.parametrize(("name", "text", "value"), DOCUMENTED, ids=lambda one: str(one)[:20])
def test_every_documented_name_gives_what_the_docs_say(
    page: World, name: str, text: str, value: object
) -> None:
    if name in LOOP:
        given = page.see("each.item", text, **item(page))
    else:
        own = Known("done", {"n": 1, "status_code": 200}, attempt=2)
        given = page.see("read-doors", text, input={"own": "walls"}, own=own)

    assert given == value


def test_the_docs_and_the_compiler_know_the_names_that_are_tested_here() -> None:
    tested = {name for name, *_ in DOCUMENTED}
    rows = re.findall(r"(?m)^\| (?:fixed|after|inside|functions) .*", DOCS.read_text())
    listed = {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
    table = DOCS.read_text().partition("What the fixed names are")[2].partition("\n\nA ")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    told = {name.partition(".")[0] for cell in cells for name in re.findall(r"`([^`]+)`", cell)}

    assert tested == listed == {*ALWAYS, *AFTER, *GLOBALS, *LOOP}
    assert told <= tested


@pytest.mark.parametrize("name", sorted(AFTER))
def test_what_is_known_after_the_body_is_not_there_before(page: World, name: str) -> None:
    text = f"{{{{ {name} is defined }}}}"

    assert page.see("read-doors", text) is False
    assert page.see("read-doors", text, own=Known("done")) is True


def test_names_are_looked_up_in_the_documented_order(page: World) -> None:
    page.workload["index"] = page.workload["read_doors"] = page.workload["input"] = "workload"
    given: dict[str, Json] = {"row": "input", "read_doors": "input", "topic": "input"}

    assert page.see("each.item", "{{ row }}", **item(page, input=given)) == 8
    assert page.see("each.item", "{{ index }}", **item(page, input=given)) == 1
    assert page.see("last", "{{ row }}", input=given) == "input"
    assert page.see("last", "{{ read_doors }}", input=given) == "input"
    assert page.see("last", "{{ topic }}", input=given) == "input"
    assert page.see("last", "{{ read_doors }}") == {"doors": 3}
    assert page.see("last", "{{ index }}") == "workload"
    assert page.see("last", "{{ input }}", input={}) == "workload"
    assert page.see("last", "{{ seen }}") == 1
    page.workload["seen"] = "workload"
    assert page.see("last", "{{ seen }}") == "workload"


def test_a_step_is_read_by_its_name_without_hyphens(page: World) -> None:
    assert page.see("last", "{{ read_doors.doors }}") == 3
    assert page.see("last", "{{ read_doors.status }}") == "completed"


def test_nothing_is_asked_for_that_no_template_names(page: World) -> None:
    assert page.see("last", "{{ workload.topic }} {{ secrets.token | length }}") == "walls 6"
    assert page.asked == []


def test_a_step_that_gave_nothing_is_absent_and_says_why(page: World) -> None:
    page.skipped("start")

    assert page.see("last", "{{ start is defined }}") is False
    assert page.see("last", "{{ start.x.y | default(3) }}") == 3
    with pytest.raises(RenderError, match="step 'start' has no result: it was skipped"):
        page.see("last", "{{ start.x }}")
    with pytest.raises(RenderError, match="step 'each' has no result: it has not run"):
        page.see("last", "x{{ each.count }}")


def test_a_failure_is_read_from_the_step_that_failed(page: World) -> None:
    page.came("start", error={"code": "timeout", "message": "too slow"})

    assert page.see("last", "{{ start.error.message }}, {{ start.status }}") == "too slow, failed"
    assert page.see("last", "{{ start.data | default('none') }}") == "none"


def test_a_failed_attempt_is_told_to_retry_and_on_error(page: World) -> None:
    error: Json = {"code": "http-status", "message": "busy", "details": {"status_code": 503}}
    own = Known("failed", None, error, attempt=3)

    def asked(text: str) -> object:
        return page.see("read-doors", text, own=own)

    assert asked("{{ status_code in [429, 503] and attempt < 5 }}") is True
    assert asked("{{ error.code == 'http-status' and not success }}") is True
    assert asked("{{ status ~ event.name }}") == "failedstep.failed"
    assert asked("{{ 'busy' in (error | string) }}") is True
    assert asked("{{ this.error.code }}") == "http-status"
    lost = Known("failed", None, {"code": "connect", "message": "refused"})
    assert page.see("read-doors", "{{ status_code >= 500 }}", own=lost) is False


def test_the_input_is_what_the_ways_brought_until_it_is_rendered(page: World) -> None:
    scope = page.scope("read-doors", payload={"given": 1})
    assert compile_text("{{ given + input.given }}")(scope) == 2

    scope = scope.with_input({"given": 1, "own": "walls"})
    assert compile_text("{{ own ~ data.given }}")(scope) == "walls1"

    scope = scope.after(Known("done", {"n": 5}))
    assert compile_text("{{ own ~ result.n ~ read_doors.n }}")(scope) == "walls55"


def test_an_input_is_rendered_when_a_template_asks_for_it(page: World) -> None:
    made = []

    def make() -> Json:
        made.append(1)
        return {"own": "walls"}

    later = Later(make)
    assert page.see("read-doors", "{{ start.status }}", input=later) == "completed"
    assert not made
    assert page.see("read-doors", "{{ own ~ input.own }}", input=later) == "wallswalls"
    assert made == [1]


def test_an_input_that_is_no_map_is_read_as_a_whole(page: World) -> None:
    assert page.see("last", "{{ input[1] }}", input=[1, 2]) == 2
    assert page.see("last", "{{ input }}") == {}


def test_a_task_sees_the_input_of_its_iterator_below_its_own(page: World) -> None:
    assert page.see("each.item", "{{ below ~ x }}", **item(page, input={"x": 8})) == "58"
    assert page.see("each.item", "{{ input }}", **item(page, input={"x": 8})) == {
        "below": 5,
        "x": 8,
    }
    assert page.see("each.item", "{{ _loop.first ~ _loop.last }}", **item(page)) == "falsetrue"


def test_the_mcp_section_is_read_by_every_spelling_of_a_name(page: World) -> None:
    for text in ("mcp.models.gpt-4o.provider", "mcp.models.gpt_4o.provider"):
        assert page.see("last", f"{{{{ {text} }}}}") == "openai"
    assert page.see("last", "{{ prompts['in-short'].template }}") == "Say {{ input.text }}"
    assert page.see("last", "{{ mcp.models | list }}") == ["gpt-4o"]
    for section in SECTIONS:
        assert page.see("last", f"{{{{ mcp.{section} is mapping }}}}") is True


def test_a_turn_sees_the_workload_as_its_input_and_a_prompt_below_its_own(page: World) -> None:
    assert page.see("t1.model.1", "{{ input.topic ~ topic }}") == "wallswalls"
    seen = page.names.prompt(page.index("t1.model.1"), page.sight(input={"text": "with"}))
    assert compile_text("{{ input.text ~ input.topic ~ text }}")(seen) == "withwallswith"


def test_a_tool_sees_its_arguments_and_nothing_below_them(page: World) -> None:
    tool = page.names.tool(page.index("t1.model.1"), page.sight(input={"query": "q"}))

    assert compile_text("{{ input.query ~ query ~ workload.topic ~ ctx.seen }}")(tool) == (
        "qqwalls1"
    )
    assert compile_text("{{ input.topic is defined }}")(tool) is False


def test_secrets_and_the_environment_are_read_one_by_one(page: World) -> None:
    with pytest.raises(RenderError, match="no 'tokn' among the secrets"):
        page.see("last", "{{ secrets.tokn }}")
    with pytest.raises(RenderError, match="read one by one"):
        page.see("last", "{{ secrets }}")
    with pytest.raises(RenderError, match="no 'HOME' among the variables of the environment"):
        page.see("last", "{{ env.HOME }}")
    assert page.see("last", "{{ env.HOME | default('/') }}") == "/"


def test_what_belongs_to_no_step_sees_the_execution(page: World) -> None:
    seen = page.names.outside(page.sight())

    assert compile_text("{{ workload.topic ~ job.uuid ~ execution_id }}")(seen) == "walls47114711"


def test_every_value_that_leaves_is_plain(page: World) -> None:
    plain = {dict, list, str, int, float, bool, type(None)}
    for name, *_ in DOCUMENTED:
        if name in GLOBALS or name in ("secrets", "env", "parent"):
            continue
        given = page.see(
            "each.item", f"{{{{ {name} }}}}", **item(page, own=Known("done", {"n": 1}))
        )
        assert type(given) in plain, name
        assert all(
            type(one) in plain for one in (given if isinstance(given, dict) else {}).values()
        )
