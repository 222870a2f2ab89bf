import json
from collections import Counter, OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl_mcp.tasks.calls import Failed
from noetl_mcp.tasks.python.pool import Habits
from noetl_mcp.tasks.python.results import MOST_DEPTH, NotJson, to_json
from tests.tasks.python_steps import call, result_of, with_python

MOST = 1024 * 1024
Pair = namedtuple("Pair", "a b")
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
)
keys = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(keys, inner))


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    ONE = 1


class Mark(StrEnum):
    DOOR = "D"


@dataclass
class Room:
    area: float


def problem(result: object, most: int = MOST) -> str:
    with pytest.raises(NotJson) as found:
        to_json(result, most)
    return f"{found.value.path} {found.value.problem}"


@given(values)
def test_json_stays_what_it_is(value: Any) -> None:
    assert json.loads(to_json(value, MOST)) == value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ((1, (2,)), [1, [2]]),
        (Pair(1, 2), [1, 2]),
        (Counter("aab"), {"a": 2, "b": 1}),
        (OrderedDict(b=1), {"b": 1}),
        (defaultdict(list, a=[1]), {"a": [1]}),
        ([Level.ONE, Mark.DOOR], [1, "D"]),
    ],
)
def test_subclasses_of_json_types_are_those_types(value: Any, expected: Any) -> None:
    assert json.loads(to_json(value, MOST)) == expected


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (datetime(2026, 1, 1, tzinfo=UTC), "$ is a datetime; write .isoformat()"),
        ([date(2026, 1, 1)], "$[0] is a date; write .isoformat()"),
        ({"t": timedelta(1)}, "$.t is a timedelta; write .total_seconds()"),
        ({"a": [0, {"b c": Decimal(1)}]}, '$.a[1]["b c"] is a Decimal; write str(…) or float(…)'),
        (UUID(int=1), "$ is an UUID; write str(…)"),
        (Path("x"), "$ is a PosixPath; write str(…)"),
        ({1}, "$ is a set; write sorted(…)"),
        (b"x", "$ is a bytes; write .decode() or base64"),
        ((n for n in [1]), "$ is a generator; write list(…)"),
        ({}.keys(), "$ is a dict_keys; write list(…)"),
        (Colour.RED, "$ is a Colour; write its .value"),
        (Room(1.5), "$ is a Room; write dataclasses.asdict(…)"),
        (object(), "$ is an object"),
        (json, "$ is a module"),
        ({"a": {1: 2}}, "$.a has the key 1, an int; a key is text"),
        ({None: 2}, "$ has the key None, a NoneType; a key is text"),
        ([1.0, float("nan")], "$[1] is nan, which JSON cannot hold; write None"),
        ({"x": float("-inf")}, "$.x is -inf, which JSON cannot hold; write None"),
        ([2**64], "$[0] is a whole number of more than 64 bits; write str(…)"),
        ([-(2**63) - 1], "$[0] is a whole number of more than 64 bits; write str(…)"),
        (["a\0b"], "$[0] is text that cannot be kept: it has a NUL in it"),
        (["\ud800"], "$[0] is text that cannot be kept: it has half a surrogate pair in it"),
        ({"a\0": 1}, "$ is text that cannot be kept: a key has a NUL in it"),
        ({"\ud800": 1}, "$ is text that cannot be kept: a key has half a surrogate pair in it"),
        ({"k" * 99: {1}}, f"$.{'k' * 59}… is a set; write sorted(…)"),
    ],
)
def test_anything_else_is_refused_by_its_path(value: Any, words: str) -> None:
    assert problem(value) == words


def test_what_is_nested_too_deeply_is_refused_and_so_is_a_circle() -> None:
    deep: list[Any] = []
    for _ in range(MOST_DEPTH - 1):
        deep = [deep]
    circle: list[Any] = []
    circle += [circle, circle]

    assert to_json(deep, MOST)
    assert "is nested deeper than 200 levels" in problem([deep])
    assert "is nested deeper than 200 levels" in problem(circle)


def test_what_is_too_big_is_refused_before_it_is_built() -> None:
    bomb: list[Any] = ["x"]
    for _ in range(50):
        bomb = [bomb, bomb]

    assert problem("x" * 100, 100) == "$ is too big: more than 100 bytes of JSON"
    assert "is too big" in problem(bomb)
    assert len(to_json("x" * 98, 100)) == 100


def test_a_result_that_is_no_json_fails_the_step_with_its_path() -> None:
    code = """
import datetime
def main(): return {"rows": [{}, {"when": datetime.date(2026, 1, 1)}]}
"""

    with pytest.raises(Failed) as failed:
        result_of(call(code))

    assert failed.value.code == "not-json"
    assert failed.value.message == (
        "the result is not JSON: $.rows[1].when is a date; write .isoformat()"
    )
    assert failed.value.details == {"path": "$.rows[1].when"}
    assert not failed.value.retriable


def test_a_result_that_is_too_big_fails_the_step() -> None:
    with pytest.raises(Failed, match=r"\$ is too big: more than 1,000 bytes"):
        with_python(
            lambda python: python.execute(call("def main(): return 'x' * 999")),
            Habits(most_result_bytes=1_000),
        )


def test_a_main_without_a_return_gives_nothing() -> None:
    assert result_of(call("def main(): pass")) is None
