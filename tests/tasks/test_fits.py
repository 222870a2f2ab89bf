"""Values are held against schemas of tools and turns, in bounded time."""

from typing import Any

import pytest

from noetl_mcp.tasks.models.fits import misfits

WEAK = r"^(\w+\s?)*$"
HOSTILE = "a" * 5_000 + "!"
BACK = r"^(a+)+\1$"


def obj(**said: Any) -> dict[str, Any]:
    return {"type": "object", **said}


@pytest.mark.parametrize(
    ("schema", "value", "words"),
    [
        (obj(properties={"q": {"pattern": WEAK}}), {"q": HOSTILE}, r"$.q: 'aaa"),
        (obj(properties={"q": {"pattern": BACK}}), {"q": HOSTILE}, "would take too long"),
        (obj(properties={"q": {"not": {"pattern": BACK}}}), {"q": HOSTILE}, "would take too long"),
        (obj(patternProperties={WEAK: False}, required=["x"]), {HOSTILE: 1}, "'x' is a required"),
        (
            obj(patternProperties={WEAK: {}}, additionalProperties=False),
            {HOSTILE: 1},
            "Additional properties are not",
        ),
        (obj(propertyNames={"pattern": WEAK}), {HOSTILE: 1}, "$: 'aaa"),
        (
            {"$schema": "http://json-schema.org/draft-07/schema#", "items": {"$ref": "#"}}
            | {"pattern": WEAK},
            [[HOSTILE]],
            "$[0][0]: 'aaa",
        ),
        (
            obj(allOf=[{"patternProperties": {WEAK: {}}}], unevaluatedProperties=False),
            {HOSTILE: 1},
            "'unevaluatedProperties' beside 'patternProperties' cannot be checked",
        ),
        (obj(properties={"q": {"pattern": "(("}}), {"q": "a"}, "schema itself is broken"),
        (obj(properties={"q": {"pattern": "a{99999999999}"}}), {"q": "a"}, "itself is broken"),
    ],
)
def test_a_weak_pattern_and_a_hostile_value_cannot_stop_a_worker(
    schema: dict[str, Any], value: Any, words: str
) -> None:
    assert words in misfits(value, schema)[0]


@pytest.mark.parametrize(
    ("schema", "value", "fits"),
    [
        (obj(patternProperties={"^x-": {"type": "integer"}}), {"x-a": 1, "b": "c"}, True),
        (obj(patternProperties={"^x-": {"type": "integer"}}), {"x-a": "1"}, False),
        (obj(patternProperties={"^x-": {}}, additionalProperties=False), {"x-a": 1}, True),
        (obj(patternProperties={"^x-": {}}, additionalProperties=False), {"x-a": 1, "b": 1}, False),
        (
            obj(patternProperties={"^x-": {}}, additionalProperties={"type": "string"})
            | {"properties": {"p": {}}},
            {"x-a": 1, "b": "c", "p": 1},
            True,
        ),
        (obj(properties={"a": {}}, unevaluatedProperties=False), {"a": 1}, True),
        (obj(properties={"a": {}}, unevaluatedProperties=False), {"b": 1}, False),
        ({"pattern": r"^(?!x)\d+$"}, "12", True),
        ({"pattern": "b"}, "abc", True),
        ({"pattern": "b"}, 7, True),
        ({"properties": {"$schema": {"type": "string"}}}, {"$schema": 1}, False),
    ],
)
def test_patterns_of_schemas_mean_what_they_always_meant(
    schema: dict[str, Any], value: Any, fits: bool
) -> None:
    assert (misfits(value, schema) == []) is fits
