"""What templates give is held to the rules for what is written down, before anything is done."""

from collections.abc import Iterator
from typing import Any, get_args

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from noetl_mcp.broker.run import World
from noetl_mcp.playbook.model import Playbook
from noetl_mcp.playbook.rendering.secret import MASK, Secret
from noetl_mcp.playbook.values import OrTemplate
from tests.worker.shop import Done, Shop

ITEMS = "type: iterator, collection: [1, 2, 3], task: {type: echo}"
RETRY = "type: echo, data: {fails: 1}, retry: "
REPEAT = "type: echo, repeat: "
X = '"{{ workload.x }}"'


def one(settings: str) -> str:
    return f"""
workload: {{x: null}}
workflow:
  - {{step: start, next: [it]}}
  - {{step: it, {settings}, next: [end]}}
  - {{step: end, result: "{{{{ it }}}}"}}
"""


def given(shop: Shop, settings: str, x: object) -> Done:
    return shop.run(one(settings), {"x": x})


def said(done: Done) -> str:
    assert done.status == "failed"
    assert done.error is not None
    assert (done.error["step"], done.error["code"]) == ("it", "bad-settings"), done.error
    return str(done.error["message"])


SETTINGS: dict[str, tuple[str, list[Any], str]] = {
    "Iterator.limit": (f"{ITEMS}, limit: {X}", [-1, "x", 1.5, "2"], "0 or more"),
    "Iterator.chunk": (f"{ITEMS}, chunk: {X}", [-2, 0, "{{ 1 }}"], "1 or more"),
    "Iterator.concurrency": (f"{ITEMS}, mode: async, concurrency: {X}", [-1, 0, True], "1 or more"),
    "Iterator.tolerate": (f"{ITEMS}, tolerate: {X}", [-1, "-5%", "150%", "x", None], "a count"),
    "Iterator.collection": (
        f"type: iterator, collection: {X}, task: {{type: echo}}",
        ["a", "[1,2]", 3, {"a": 1}, {"results": [1]}, None],
        "a list",
    ),
    "Retry.max_attempts": (f"{RETRY}{{max_attempts: {X}}}", [-1, 0, "x", None], "1 or more"),
    "Retry.initial_delay": (f"{RETRY}{{initial_delay: {X}}}", [-1, "soon"], "a duration"),
    "Retry.max_delay": (f"{RETRY}{{max_delay: {X}}}", [-1, [1]], "a duration"),
    "Retry.backoff_multiplier": (f"{RETRY}{{backoff_multiplier: {X}}}", [-2, "x"], "0 or more"),
    "Retry.jitter": (f"{RETRY}{{jitter: {X}}}", ["perhaps", 2], "true or false"),
    "Repeat.max": (f'{REPEAT}{{until: "{{{{ true }}}}", max: {X}}}', [0, -1, "x"], "1 or more"),
    "Repeat.delay": (f"{REPEAT}{{until: false, max: 2, delay: {X}}}", [-1, "x"], "a duration"),
    "Cache.ttl": (f"type: echo, cache: {{ttl: {X}}}", [-1, "moons"], "a duration"),
    "Action.timeout": (f"type: echo, timeout: {X}", [-1, "x", True], "a duration"),
    "Step.timeout": (f"type: echo, timeout: {X}", ["5 moons"], "a duration"),
}
"""Each setting, a step with it, values that it may not have, and some of what is told."""
ELSEWHERE = {
    "Expect.": "its gates call it impossible-bounds, or a broken promise",
    "ModelPreset.": "turns",
    "Tool.": "turns",
    "Turn.": "turns",
    "Resource.timeout": "it becomes a step",
}
CASES = [(step, x, words) for step, values, words in SETTINGS.values() for x in values]


@pytest.mark.parametrize(("step", "x", "words"), CASES)
def test_a_wrong_value_of_a_template_fails_the_step_before_it_is_done(
    shop: Shop, step: str, x: object, words: str
) -> None:
    told = said(given(shop, step, x))

    assert told.count("should be") == 1
    assert words in told or "whole number" in told or "a number" in told
    assert not shop.echo.calls or "retry" in step


def test_every_setting_that_may_be_a_template_is_held_to_its_rules() -> None:
    found = {name for name in _may_be_templates(Playbook) if not name.endswith((".data", ".with_"))}

    others = {name for name in found if any(name.startswith(one) for one in ELSEWHERE)}
    assert found - others == SETTINGS.keys()


def _may_be_templates(model: type[BaseModel], seen: set[type] | None = None) -> Iterator[str]:
    seen = set() if seen is None else seen
    if model in seen:
        return
    seen.add(model)
    for name, field in model.model_fields.items():
        if any(isinstance(one, OrTemplate) for one in _marks(field)):
            yield f"{model.__name__}.{name}"
        for inner in _models(field.annotation):
            yield from _may_be_templates(inner, seen)


def _marks(field: FieldInfo) -> Iterator[Any]:
    yield from field.metadata
    pending = [field.annotation]
    while pending:
        kind = pending.pop()
        yield from getattr(kind, "__metadata__", ())
        pending += [arg for arg in get_args(kind) if not isinstance(arg, OrTemplate)]


def _models(kind: object) -> Iterator[type[BaseModel]]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
    for arg in get_args(kind):
        yield from _models(arg)


TASKS: dict[str, tuple[str, list[Any]]] = {
    "wait: for": (f"type: wait, wait: {{for: {X}}}", [-1, "x"]),
    "wait: whole": (f"type: wait, wait: {X}", ["x", {"event": "e", "for": 1}, {"a": 1}]),
    "wait: until": (f"type: wait, wait: {{until: {X}}}", ["2027-01-31T08:00:00", "{{ 1 }}"]),
    "wait: on_timeout": (f"type: wait, wait: {{event: e, on_timeout: {X}}}", ["stop"]),
    "approve": (f"type: approve, approve: {{message: a, timeout: {X}}}", [-1, "x"]),
    "callback": (f"type: callback, expires: {X}", [-1, "x"]),
    "playbook": (f"type: playbook, path: {X}", [3, None]),
    "playbook: version": (f"type: playbook, path: a, version: {X}", [0, "x", "{{ 1 }}"]),
    "http": (f'type: http, url: "http://127.0.0.1:9", connect_timeout: {X}', [-1, "x"]),
}


@pytest.mark.parametrize(("step", "x"), [(step, x) for step, xs in TASKS.values() for x in xs])
def test_the_settings_of_every_task_type_are_told_alike(shop: Shop, step: str, x: object) -> None:
    told = said(given(shop, step, x))

    assert "should be" in told or "is not known" in told or "exclude each other" in told


def test_what_is_wrong_is_told_with_its_name_its_value_and_what_it_should_be(shop: Shop) -> None:
    done = given(shop, f'{ITEMS}, limit: {X}, chunk: "{{{{ [] }}}}"', -1)

    expected = (
        "step 'it': 'limit' should be 0 or more, not -1; 'chunk' should be a whole number, not []"
    )
    assert said(done) == expected


def test_a_secret_is_not_told_in_what_is_wrong_about_it(shop: Shop) -> None:
    shop.secrets = World(secrets={"n": Secret("s3cret-number")})

    step = 'type: http, url: "http://127.0.0.1:9", connect_timeout: "{{ secrets.n }}"'
    done = given(shop, step, 1)

    assert MASK in said(done)
    assert "s3cret" not in said(done)


@pytest.mark.parametrize(
    ("settings", "x", "items"),
    [(f"limit: {X}", 2, 2), (f"limit: {X}", None, 3), (f"chunk: {X}", 2, 2), (f"limit: {X}", 0, 0)],
)
def test_what_fits_is_taken(shop: Shop, settings: str, x: object, items: int) -> None:
    done = given(shop, f"{ITEMS}, {settings}", x)

    assert isinstance(done.result, dict)
    assert done.result["items"] == items


def test_durations_of_templates_may_have_units(shop: Shop) -> None:
    step = f"{RETRY}{{initial_delay: {X}, max_delay: {X}}}, timeout: {X}"

    assert given(shop, step, "10ms").status == "completed"


def test_the_result_of_an_iterator_stands_for_its_results(shop: Shop) -> None:
    text = """
workflow:
  - {step: start, next: [a]}
  - step: a
    type: iterator
    collection: [1, 2]
    task: {type: echo, data: {x: "{{ item }}"}}
    next: [b]
  - step: b
    type: iterator
    collection: "{{ a }}"
    task: {type: echo, data: "{{ item }}"}
    next: [end]
  - {step: end, result: "{{ b.results }}"}
"""

    assert shop.run(text).result == [{"x": 1}, {"x": 2}]


def test_what_a_failure_says_may_be_part_of_how_often_it_is_tried(shop: Shop) -> None:
    attempts = "{{ 3 if error.code == 'unlucky' else 'x' }}"
    step = (
        f'type: echo, data: {{fails: 2}}, retry: {{max_attempts: "{attempts}", initial_delay: 0}}'
    )

    assert given(shop, step, None).status == "completed"


def test_a_wrong_number_that_only_a_failure_tells_keeps_the_failure(shop: Shop) -> None:
    step = 'type: echo, data: {fails: 2}, retry: {max_attempts: "{{ error.message }}"}'

    told = said(given(shop, step, None))

    assert "'retry.max_attempts' should be a whole number" in told
    assert "(after: attempt 1 failed)" in told
