"""The variables of an execution: defaults, with what was submitted over them."""

import pytest

from noetl_mcp.broker.variables import variables
from noetl_mcp.playbook.node import Json
from noetl_mcp.playbook.rendering.render import RenderError, compile_text
from tests.broker.worlds import world_of
from tests.compiler.compiled import plan_of

BODY = """workload:
  jobId: "{{ job.uuid }}"
  folder: "{{ base }}/{{ workload.name }}"
  base: {type: string, default: "/data/{{ env.LANG }}"}
  name: {type: string, required: true}
  started: "{{ now() }}"
  all: [1, {of: "{{ execution_id }}"}]
workflow:
  - {step: start, type: noop}
"""


def given(body: str, **submitted: Json) -> dict[str, Json]:
    world = world_of(plan_of(body))
    renderers = [compile_text(row["text"]) for row in world.plan["templates"]]
    return variables(world.plan, renderers, submitted, world.sight())


def test_a_default_sees_the_execution_and_the_other_variables() -> None:
    values = given(BODY, name="x")

    assert list(values) == ["jobId", "folder", "base", "name", "started", "all"]
    assert values == {
        "jobId": "4711",
        "folder": "/data/C/x",
        "base": "/data/C",
        "started": "2027-01-31T08:00:00+00:00",
        "all": [1, {"of": 4711}],
        "name": "x",
    }


def test_what_was_submitted_lies_over_the_defaults() -> None:
    values = given(BODY, name="x", base="/mine", other=[1])

    assert (values["folder"], values["base"], values["other"]) == ("/mine/x", "/mine", [1])


def test_a_variable_that_is_not_there_is_told_with_its_place() -> None:
    with pytest.raises(RenderError, match=r"^workload\.folder: \{\{ workload\.name \}\}: .*'name'"):
        given(BODY)


def test_variables_that_need_each_other_are_refused() -> None:
    body = (
        'workload: {a: "{{ b }}", b: "{{ workload.a }}"}\n'
        "workflow:\n  - {step: start, type: noop}\n"
    )

    with pytest.raises(
        RenderError, match=r"^workload\.b: the variable 'a': it needs itself"
    ) as caught:
        given(body)

    assert caught.value.reason == "it needs itself, by way of a, b"
