"""What a step must not crowd, and how long all may take, is known before anything is rendered."""

import pytest

from tests.compiler.compiled import found_in

_HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: p, path: p}\n"


@pytest.mark.parametrize(
    "text",
    [
        "workflow: [{step: start, limits: '{{ workload.x }}'}]",
        "workflow: [{step: start, limits: [a, 'b-{{ 1 }}']}]",
        "workflow: [{step: start, limits: {name: '{{ 1 }}', max: 1}}]",
        "workflow: [{step: start, limits: {name: a, max: '{{ 3 }}'}}]",
        "limits: {a: '{{ 3 }}'}\nworkflow: [{step: start, limits: a}]",
        "limits: {'{{ 1 }}': 3}\nworkflow: [{step: start}]",
    ],
)
def test_neither_the_name_nor_the_number_of_a_limit_is_a_template(text: str) -> None:
    found = [line.partition(" ")[2] for line in found_in(text + "\n", "error")]

    assert found
    assert {*found} <= {"wrong-value", "wrong-kind"}


@pytest.mark.parametrize("said", ["'{{ workload.t }}'", "'{{ 3 }}s'", "-1", "soon", "true"])
def test_how_long_an_execution_may_take_is_no_template(said: str) -> None:
    text = f"timeout: {said}\nworkload: {{t: 1s}}\nworkflow: [{{step: start}}]\n"

    assert found_in(text, "error") == ["3 wrong-value"]


@pytest.mark.parametrize("said", ["3", "{a: 1}", "null", "true"])
def test_a_collection_that_is_written_down_is_a_list(said: str) -> None:
    text = (
        f"workflow:\n- step: start\n  type: iterator\n  collection: {said}\n"
        "  task: {type: noop}\n"
    )

    found = [line.partition(" ")[2] for line in found_in(text, "error")]

    assert found in (["wrong-value"], ["empty-value"])
