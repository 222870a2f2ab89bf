"""Turn what a program returned into JSON, or say which part of it is not. Converts nothing.

A tuple is a list, and a subclass of a JSON type is that type; anything else is refused by its
path. Works inside the program's process, so it imports only what JSON needs anyway.
"""

from __future__ import annotations

from json import JSONEncoder, dumps

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing it would cost every fresh process three milliseconds
    from typing import Any

MOST_DEPTH = 200
_LEAST_INT, _MOST_INT = -(2**63), 2**64 - 1
_MOST_FLOAT = 1.7976931348623157e308
_encode = JSONEncoder(
    ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":")
).encode
_HINTS = {
    "datetime": "write .isoformat()",
    "date": "write .isoformat()",
    "time": "write .isoformat()",
    "timedelta": "write .total_seconds()",
    "Decimal": "write str(…) or float(…)",
    "Fraction": "write str(…) or float(…)",
    "UUID": "write str(…)",
    "PurePath": "write str(…)",
    "Enum": "write its .value",
    "set": "write sorted(…)",
    "frozenset": "write sorted(…)",
    "bytes": "write .decode() or base64",
    "bytearray": "write .decode() or base64",
    "generator": "write list(…)",
    "map": "write list(…)",
    "filter": "write list(…)",
    "range": "write list(…)",
    "dict_keys": "write list(…)",
    "dict_values": "write list(…)",
    "dict_items": "write dict(…) or list(…)",
    "ndarray": "write .tolist()",
    "generic": "write .item()",
    "DataFrame": "write .to_dict('records')",
    "Series": "write .tolist()",
    "BaseModel": "write .model_dump(mode='json')",
}


class NotJson(Exception):
    """A part of a result is not JSON; the path to it grows while it is raised."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.keys: list[object] = []

    @property
    def path(self) -> str:
        """The path to the part, from the result, which is `$`."""
        return "$" + "".join(map(_shown_key, reversed(self.keys)))


def to_json(result: object, most_bytes: int) -> bytes:
    """Return the result as JSON in UTF-8; raise NotJson when a part cannot be, or it is too big."""
    _Look(most_bytes).at(result, 0)
    encoded = _encode(result).encode()
    if len(encoded) > most_bytes:
        raise _too_big(most_bytes)
    return encoded


class _Look:
    """One look over a result; `left` bounds it, for one list may stand in many places."""

    __slots__ = ("left", "most_bytes")

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.left = most_bytes // 2  # every value takes two bytes at least

    def at(self, value: object, depth: int) -> None:
        if isinstance(value, (dict, list, tuple)):
            self.into(value, depth + 1)
        elif isinstance(value, str):
            _check_text(value, "it")
        elif isinstance(value, int):
            if not _LEAST_INT <= value <= _MOST_INT:
                raise NotJson("is a whole number of more than 64 bits; write str(…)")
        elif isinstance(value, float):
            if not -_MOST_FLOAT <= value <= _MOST_FLOAT:
                raise NotJson(f"is {float.__repr__(value)}, which JSON cannot hold; write None")
        elif value is not None:
            raise NotJson(_named(value))

    def into(self, values: dict[Any, Any] | list[Any] | tuple[Any, ...], depth: int) -> None:
        if depth > MOST_DEPTH:
            raise NotJson(f"is nested deeper than {MOST_DEPTH} levels")
        self.left -= len(values)
        if self.left < 0:
            raise _too_big(self.most_bytes)
        if isinstance(values, dict):
            _check_keys(values)
        for key, value in values.items() if isinstance(values, dict) else enumerate(values):
            kind = type(value)  # the usual ones at once; `at` says the same, slower
            if kind is str:
                if value.isascii() and "\0" not in value:
                    continue
            elif kind is int:
                if _LEAST_INT <= value <= _MOST_INT:
                    continue
            elif kind is float:
                if -_MOST_FLOAT <= value <= _MOST_FLOAT:
                    continue
            elif kind is bool or value is None:
                continue
            try:
                self.at(value, depth)
            except NotJson as found:
                found.keys.append(key)
                raise


def _check_keys(values: dict[object, object]) -> None:
    for key in values:
        if not isinstance(key, str):
            raise NotJson(f"has the key {_cut(repr(key))}, {_named(key, '')}; a key is text")
        _check_text(key, "a key")


def _check_text(text: str, what: str) -> None:
    if "\0" in text:
        raise NotJson(f"is text that cannot be kept: {what} has a NUL in it")
    try:
        text.encode()
    except UnicodeEncodeError:
        words = f"is text that cannot be kept: {what} has half a surrogate pair in it"
        raise NotJson(words) from None


def _named(value: object, verb: str = "is ") -> str:
    """Name the type of a value, and how to write it as JSON where that is known."""
    kind = type(value)
    article = "an" if kind.__name__[:1].lower() in "aeiou" else "a"
    hints = [_HINTS[one.__name__] for one in kind.__mro__ if one.__name__ in _HINTS]
    if hasattr(kind, "__dataclass_fields__"):
        hints.append("write dataclasses.asdict(…)")
    ending = f"; {hints[0]}" if hints and verb else ""
    return f"{verb}{article} {kind.__name__}{ending}"


def _too_big(most_bytes: int) -> NotJson:
    return NotJson(f"is too big: more than {most_bytes:,} bytes of JSON")


def _shown_key(key: object) -> str:
    if isinstance(key, int):
        return f"[{key}]"
    text = str(key)
    return f".{_cut(text)}" if text.isidentifier() else f"[{dumps(_cut(text))}]"


def _cut(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


__all__ = ["MOST_DEPTH", "NotJson", "to_json"]
