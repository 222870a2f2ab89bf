"""Find a value in JSON by a pointer (RFC 6901), and compare two values exactly. Changes nothing."""

import re

from noetl_mcp.playbook.node import Json

_INDEX = re.compile(r"0|[1-9][0-9]{0,17}")
_BAD_ESCAPE = re.compile(r"~(?![01])")


class NoSuchValue(Exception):
    """A pointer leads nowhere; the text says how far it led."""


def problem_of_pointer(pointer: str) -> str | None:
    """Say why a text is no pointer; None when it is one."""
    if pointer and not pointer.startswith("/"):
        return "it must begin with '/'"
    if _BAD_ESCAPE.search(pointer):
        return "'~' must be written '~0', and '/' inside a key '~1'"
    return None


def at_pointer(value: Json, pointer: str) -> Json:
    """Return what a pointer points at; raise NoSuchValue where there is nothing."""
    problem = problem_of_pointer(pointer)
    if problem is not None:
        raise NoSuchValue(problem)
    way = ""
    for written in pointer.split("/")[1:]:
        key = written.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and _INDEX.fullmatch(key) and int(key) < len(value):
            value = value[int(key)]
        else:
            raise NoSuchValue(f"there is nothing at '{way}/{written}'")
        way += f"/{written}"
    return value


def same(one: Json, other: Json) -> bool:
    """Whether two JSON values are equal: 1 is 1.0, but true is not 1; depth costs nothing."""
    pairs = [(one, other)]
    while pairs:
        left, right = pairs.pop()
        if isinstance(left, dict) and isinstance(right, dict):
            if left.keys() != right.keys():
                return False
            pairs.extend((left[key], right[key]) for key in left)
        elif isinstance(left, list) and isinstance(right, list):
            if len(left) != len(right):
                return False
            pairs.extend(zip(left, right, strict=True))
        elif _kind(left) is not _kind(right) or left != right:
            return False
    return True


def _kind(value: Json) -> type:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float if is_number else type(value)


__all__ = [
    "NoSuchValue",
    "at_pointer",
    "problem_of_pointer",
    "same",
]
