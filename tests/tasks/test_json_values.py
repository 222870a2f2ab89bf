from typing import Any

import pytest

from noetl_mcp.tasks.json_values import NoSuchValue, at_pointer, problem_of_pointer, same

DOCUMENT: Any = {"foo": ["bar", "baz"], "": 0, "a/b": 1, "m~n": 8, " ": 7, "0": {"x": None}}


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("", DOCUMENT),
        ("/foo", ["bar", "baz"]),
        ("/foo/0", "bar"),
        ("/", 0),
        ("/a~1b", 1),
        ("/m~0n", 8),
        ("/ ", 7),
        ("/0/x", None),
    ],
)
def test_a_pointer_leads_to_its_value(pointer: str, value: Any) -> None:
    assert at_pointer(DOCUMENT, pointer) == value


@pytest.mark.parametrize(
    "pointer",
    [
        "/bar",
        "/foo/2",
        "/foo/-",
        "/foo/01",
        "/foo/-1",
        "/foo/+1",
        "/foo/\u0661",
        "/foo/0/0",
        "/0/x/y",
        "/foo/" + "9" * 5_000,
    ],
)
def test_a_pointer_to_nothing_says_so(pointer: str) -> None:
    with pytest.raises(NoSuchValue, match="there is nothing at"):
        at_pointer(DOCUMENT, pointer)


@pytest.mark.parametrize("pointer", ["foo", "#/foo", "/a~b", "/a~2"])
def test_a_text_that_is_no_pointer_is_told(pointer: str) -> None:
    assert problem_of_pointer(pointer)
    with pytest.raises(NoSuchValue):
        at_pointer(DOCUMENT, pointer)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        ([1, {"a": None}], [1.0, {"a": None}]),
        ({}, {}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ],
)
def test_equal_values_are_the_same(one: Any, other: Any) -> None:
    assert same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *[(True, 1), (False, 0), (None, False), (1, "1"), ([1], [True]), ([], {}), ({"a": 1}, {})],
        *[({"a": 1}, {"b": 1}), ([1], [1, 1]), (float("nan"), float("nan")), ("", None)],
        (2**53, float(2**53) + 2),
    ],
)
def test_other_values_are_not(one: Any, other: Any) -> None:
    assert not same(one, other)
    assert not same(other, one)


def test_depth_costs_nothing() -> None:
    one: Any = []
    other: Any = []
    for _ in range(50_000):
        one, other = [one], [other]

    assert same(one, other)
