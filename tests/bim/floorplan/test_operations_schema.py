"""The published schema of the operations says what they take, and says it in words."""

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noetl_mcp.bim.floorplan import words
from noetl_mcp.bim.floorplan.edit.asked import asked_of
from noetl_mcp.bim.floorplan.edit.operations import ACTIONS, OPERATION
from tests.bim.floorplan.random_plans import operations, plan

SCHEMA = OPERATION.json_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, list):
        for one in schema:
            yield from objects(one)
    if isinstance(schema, dict):
        if "properties" in schema:
            yield schema
        for one in schema.values():
            yield from objects(one)


def test_every_action_of_the_first_tool_is_there() -> None:
    first = {"add_room", "remove_room", "resize_room", "move_room", "rename_room"}
    first |= {"update_walls", "add_label", "convert_to_relative"}

    assert first <= set(ACTIONS)
    assert set(SCHEMA["discriminator"]["mapping"]) == set(ACTIONS)


def test_every_object_is_closed_and_every_key_of_params_explained() -> None:
    for found in objects(SCHEMA):
        assert found["additionalProperties"] is False
        assert found["description"]
        silent = {
            key
            for key, one in found["properties"].items()
            if key not in ("action", "params") and "description" not in one
        }
        assert silent == set()


def test_the_schema_is_small_enough_to_be_sent_to_a_model() -> None:
    assert len(json.dumps(SCHEMA, separators=(",", ":"))) < 60_000


@pytest.mark.parametrize(
    "name", ["wallThickness", "wall_thicknes", "relativePositon", "news_name", "WIDTH"]
)
def test_the_spellings_of_parameters_are_those_of_the_first_tool(name: str) -> None:
    params = {"anchorRoom": "A", "alignmentTolerance": 0.5, "targetRooms": ["B"]}

    assert not asked_of([{"action": "convert_to_relative", "params": params}]).wrong
    wrong = asked_of([{"action": "convert_to_relative", "params": params | {name: 1}}]).wrong
    assert f"there is no '{name}' here" in wrong[0]["message"]


def test_the_words_of_walls_and_places_are_those_of_the_language() -> None:
    lists = [tuple(one["enum"]) for one in _walk(SCHEMA) if isinstance(one, dict) and "enum" in one]

    for table in (words.WALL_KINDS, words.DIRECTIONS, words.ALIGNMENTS, words.STAIR_SHAPES):
        assert table in lists
    assert any(tuple(one["properties"]) == words.SIDES for one in objects(SCHEMA))


def _walk(value: Any) -> Iterator[Any]:
    yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in inner:
        yield from _walk(one)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_what_the_schema_takes_and_what_is_carried_out_are_the_same(seed: int) -> None:
    random = Random(seed)
    for asked in operations(random, plan(random).text, 8, removing=True):
        is_read = not asked_of([asked]).wrong

        assert VALIDATOR.is_valid(asked) == is_read, asked
