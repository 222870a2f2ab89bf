"""The page of promises names every promise once, and tests that exist."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reference" / "promises.md"
COUNT = 38
_ROW = re.compile(r"^\| (\d+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def rows(text: str) -> list[tuple[int, str, list[tuple[str, str]]]]:
    """Return the rows of tables: number, what it says, and the tests by file and name."""
    return [(int(n), says.strip(), _TEST.findall(held)) for n, says, held in _ROW.findall(text)]


def named() -> list[tuple[str, str]]:
    return sorted(set(_TEST.findall(PAGE.read_text())))


@cache
def functions(path: str) -> dict[str, ast.FunctionDef]:
    """Return the tests of a file; it is read and not run."""
    body = ast.parse((ROOT / path).read_text()).body
    return {one.name: one for one in body if isinstance(one, ast.FunctionDef)}


def marks(function: ast.FunctionDef) -> Iterator[str]:
    """Yield what a test is marked with."""
    for one in function.decorator_list:
        yield ast.unparse(one)


def test_every_promise_stands_on_the_page_once_and_in_its_order() -> None:
    assert [number for number, _, _ in rows(PAGE.read_text())] == list(range(1, COUNT + 1))


def test_every_promise_says_something_and_is_held_by_a_test() -> None:
    for number, says, held in rows(PAGE.read_text()):
        assert says.endswith("."), number
        assert held, f"promise {number} names no test"
        assert 1 <= number <= COUNT


@pytest.mark.parametrize(("path", "name"), named())
def test_a_test_that_the_page_names_exists(path: str, name: str) -> None:
    assert name.startswith("test_")
    assert name in functions(path)


def test_what_is_promised_is_not_expected_to_fail() -> None:
    for path, name in named():
        assert not any("xfail" in mark for mark in marks(functions(path)[name])), name
