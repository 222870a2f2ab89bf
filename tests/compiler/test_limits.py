"""What a step must not crowd is known before anything is rendered."""

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
