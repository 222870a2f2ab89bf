"""A secret in a field of a step is used, or refused by a code that says so; nothing crashes."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from noetl_mcp.broker.asked import SecretLeft
from noetl_mcp.broker.run import World
from noetl_mcp.playbook.rendering.secret import Secret
from noetl_mcp.tasks.calls import Failed
from noetl_mcp.tasks.registry import known_tasks
from noetl_mcp.tasks.settings_model import spellings
from noetl_mcp.worker.calling import kept_settings, validated
from noetl_mcp.worker.rendered import Rendered
from tests.worker.shop import Shop

SPECS = known_tasks()
WAITING = ("playbook", "wait", "approve", "callback")
FIELDS = [(name, field) for name, spec in SPECS.items() for field in spellings(spec.settings)]
TOKEN = "s3cr3t-T0ken"
CHILD = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: child, path: tests/child}
workload: {a: 1}
workflow:
  - {step: start, next: [end]}
  - {step: end, result: 1}
"""


def given(name: str, field: str, value: object) -> Rendered:
    node = SimpleNamespace(name="a", made=None, is_constant=False)
    made = SimpleNamespace(node=node, settings={field: value}, model=SPECS[name].settings)
    return cast("Rendered", made)


@pytest.mark.parametrize(("name", "field"), [one for one in FIELDS if one[0] in WAITING])
@pytest.mark.parametrize("shape", [lambda one: one, lambda one: {"x": [one]}])
def test_no_field_of_a_step_that_waits_takes_a_secret(name: str, field: str, shape: Any) -> None:
    with pytest.raises(SecretLeft, match=f"'{field}[^']*' is a secret"):
        kept_settings(SPECS[name].settings, given(name, field, shape(Secret(TOKEN))))


@pytest.mark.parametrize(("name", "field"), [one for one in FIELDS if one[0] not in WAITING])
@pytest.mark.parametrize("shape", [lambda one: one, lambda one: {"x": [one]}, lambda one: [one]])
def test_a_secret_in_any_field_of_a_task_is_taken_or_refused_unseen(
    name: str, field: str, shape: Any
) -> None:
    rendered = given(name, field, shape(Secret(TOKEN)))

    said = "bad-settings: "
    try:
        validated(cast("Any", rendered.node), rendered)
    except Failed as refused:
        said = f"{refused.code}: {refused.message}"

    assert said.startswith("bad-settings: ")
    assert "input_type" not in said


STEPS = [
    "type: wait, wait: SECRET",
    "type: wait, for: SECRET",
    "type: wait, wait: {until: SECRET}",
    "type: wait, wait: {event: SECRET, timeout: 1s}",
    "type: approve, approve: {message: SECRET, timeout: 1s}",
    "type: approve, approve: {message: m, who: [SECRET]}",
    "type: callback, message: SECRET, expires: 1s",
    "type: callback, answer_schema: {const: SECRET}, expires: 1s",
    "type: playbook, path: SECRET",
    "type: playbook, path: tests/t, version: SECRET",
    "type: playbook, path: tests/child, input: {a: SECRET}",
    "type: playbook, path: tests/child, input: SECRET",
    "type: set, values: {a: SECRET}",
    "type: noop, input: {a: SECRET}",
    "type: echo, timeout: SECRET",
    "type: echo, input: {fails: 9}, retry: {max_attempts: 2, initial_delay: SECRET}",
    "type: echo, input: {fails: 9}, retry: {max_attempts: SECRET}",
    "type: echo, repeat: {until: false, delay: SECRET, max: 3}",
    "type: echo, repeat: {until: false, max: SECRET}",
    "type: echo, repeat: {until: true, max: 3, collect: SECRET}",
    "type: echo, assert: {returns: [SECRET]}",
    "type: iterator, collection: SECRET, element: x, task: {type: noop}",
    "type: iterator, collection: [SECRET], element: x, task: {type: noop}",
    "type: iterator, collection: [1], limit: SECRET, element: x, task: {type: noop}",
    "type: iterator, collection: [1], chunk: SECRET, element: x, task: {type: noop}",
    "type: iterator, collection: [1], concurrency: SECRET, element: x, task: {type: noop}",
    "type: iterator, collection: [1], tolerate: SECRET, element: x, task: {type: noop}",
]


@pytest.mark.parametrize("step", STEPS)
def test_a_step_that_would_keep_a_secret_fails_with_a_code_that_says_so(
    shop: Shop, step: str
) -> None:
    shop.secrets = World(secrets={"tok": Secret(TOKEN)})
    if "tests/child" in step:
        shop.submit(CHILD)
    written = step.replace("SECRET", '"{{ secrets.tok }}"')

    done = shop.run(f"workflow:\n  - {{step: start, {written}, next: [end]}}\n  - {{step: end}}\n")

    kept = shop.records.connection.execute("select error, note from noetl.step").fetchall()
    assert done.error is not None
    assert done.error["code"] == "secret"
    assert TOKEN not in str(kept)


@pytest.mark.parametrize("wait", ["{for: SOON}", "{until: SOON}", "{event: e, timeout: SOON}"])
def test_what_is_no_time_is_told_in_words(shop: Shop, wait: str) -> None:
    written = wait.replace("SOON", "\"{{ 'so' ~ 'on' }}\"")

    done = shop.run(
        f"workflow:\n  - {{step: start, type: wait, wait: {written}, next: [end]}}\n"
        "  - {step: end}\n"
    )

    assert done.error is not None
    assert done.error["code"] == "bad-settings"
