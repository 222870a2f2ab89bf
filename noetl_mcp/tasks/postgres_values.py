"""Write values as Postgres reads them, and read what it answers. Pure: no connection, no driver.

A text goes out without a type, as a literal would, so that the server decides what it is; numbers
and flags have theirs. A map is jsonb. A list is what its place asks for: an array, jsonb, or its
JSON as a text. Where that is open it is an array if its items are all texts, all numbers or all
flags, and else jsonb.
"""

import json
import math
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.sql_pieces import refused
from noetl_mcp.tasks.sql_values import json_value, moment, number

UNKNOWN, TEXT = 0, 25
_BOOL, _INT4, _INT8, _NUMERIC = 16, 23, 20, 1700
_JSON, _JSONB = 114, 3802
_OPEN_TYPES = frozenset((UNKNOWN, 705, 2277, 2283, 2776))  # anyarray, anyelement and the like
_INT4_END, _INT8_END = 2**31, 2**63


@dataclass(frozen=True, slots=True)
class Written:
    """A value as it goes out: its text, and the number of its type (0 lets the server decide)."""

    text: bytes | None
    type: int = UNKNOWN


def write(value: object, wanted: int = UNKNOWN) -> Written:
    """Return a value as Postgres reads it; a list looks at the type that is `wanted`."""
    match value:
        case None:
            return Written(None)
        case bool():
            return Written(b"t" if value else b"f", _BOOL)
        case int():
            return Written(str(value).encode(), _whole_type(value))
        case float():
            exact = math.isfinite(value)
            return Written(repr(value).encode(), _NUMERIC if exact else UNKNOWN)
        case str():
            return Written(_text(value), TEXT if wanted == TEXT else UNKNOWN)
        case list() | tuple():
            return _written_list(list(value), wanted)
        case Mapping():
            return Written(_json(value), _JSON if wanted == _JSON else _JSONB)
        case _:
            raise refused(f"a {type(value).__name__} cannot be sent to a database")


def _whole_type(value: int) -> int:
    if -_INT4_END <= value < _INT4_END:
        return _INT4
    return _INT8 if -_INT8_END <= value < _INT8_END else _NUMERIC


def _text(value: str) -> bytes:
    if "\0" in value:
        raise refused("Postgres keeps no text with a NUL character in it")
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise refused("a text has half a surrogate pair in it") from None


def _json(value: object) -> bytes:
    try:
        return _text(json.dumps(value, ensure_ascii=False, allow_nan=False, default=_mapped))
    except ValueError as problem:
        raise refused(f"a value has no JSON form: {problem}") from None


def _mapped(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise ValueError(f"a {type(value).__name__}")


def _written_list(value: list[object], wanted: int) -> Written:
    if wanted in (_JSON, _JSONB):
        return Written(_json(value), wanted)
    if wanted == TEXT:
        return Written(_json(value), TEXT)
    own = _array_type(value)
    if wanted not in _OPEN_TYPES:
        return Written(_array(value), wanted)
    return Written(_json(value), _JSONB) if own is None else Written(_array(value), own)


def _array_type(value: list[object]) -> int | None:
    """Return the array type that fits all items, however deep; none when there is none."""
    found: set[int] = set()
    for item in value:
        if isinstance(item, (list, Mapping)):
            return None
        if item is not None:
            found.add(TEXT if isinstance(item, str) else write(item).type)
    if found in ({TEXT}, {_BOOL}):
        return ARRAYS[found.pop()]
    if found and found <= {_INT4, _INT8, _NUMERIC}:
        return ARRAYS[max(found, key=(_INT4, _INT8, _NUMERIC).index)]
    return None


def _array(value: list[object]) -> bytes:
    return b"{" + b",".join(map(_element, value)) + b"}"


def _element(item: object) -> bytes:
    if item is None:
        return b"NULL"
    if isinstance(item, list):
        return _array(item)
    text = _json(item) if isinstance(item, Mapping) else write(item).text or b""
    return b'"' + text.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'


def _real(text: str) -> Json:
    value = float(text)
    return value if math.isfinite(value) else text


def _bytes(text: str) -> Json:
    return b64encode(bytes.fromhex(text.removeprefix("\\x"))).decode()


def _same(text: str) -> Json:
    return text


Reader = Callable[[str], Json]
_SCALARS: Mapping[int, Reader] = {
    16: lambda text: text == "t",
    17: _bytes,
    20: int,
    21: int,
    23: int,
    26: int,
    114: json_value,
    700: _real,
    701: _real,
    1114: moment,
    1184: moment,
    1700: number,
    3802: json_value,
}
_ARRAYS = """
16:1000 17:1001 18:1002 19:1003 20:1016 21:1005 23:1007 25:1009 26:1028 114:199 142:143 650:651
700:1021 701:1022 790:791 869:1041 1042:1014 1043:1015 1082:1182 1083:1183 1114:1115 1184:1185
1186:1187 1266:1270 1700:1231 2950:2951 3802:3807
"""
ARRAYS: Mapping[int, int] = MappingProxyType(
    {int(item): int(array) for item, _, array in (one.partition(":") for one in _ARRAYS.split())}
)
"""The array types that every Postgres has, by the type of their items."""

_ITEMS: Mapping[int, int] = {array: item for item, array in ARRAYS.items()}


def reader(type_number: int) -> Reader:
    """Return what reads the values of a column; unknown types stay as the server writes them."""
    if type_number in _ITEMS:
        item = _SCALARS.get(_ITEMS[type_number], _same)
        return lambda text: read_array(text, item)
    return _SCALARS.get(type_number, _same)


def read_array(text: str, item: Reader) -> Json:
    """Return an array that Postgres wrote, with lists in it for further dimensions."""
    start = text.index("{")  # a lower bound other than 1 stands before it
    stack: list[list[Json]] = [[]]
    at = start
    while at < len(text):
        sign = text[at]
        if sign == "{":
            stack.append([])
            at += 1
        elif sign == "}":
            done = stack.pop()
            stack[-1].append(done)
            at += 1
        elif sign == ",":
            at += 1
        elif sign == '"':
            at, word = _quoted(text, at + 1)
            stack[-1].append(item(word))
        else:
            end = min(place for place in (text.find(",", at), text.find("}", at)) if place >= 0)
            word = text[at:end]
            stack[-1].append(None if word == "NULL" else item(word))
            at = end
    return stack[0][0]


def _quoted(text: str, at: int) -> tuple[int, str]:
    """Return the place after a quoted item, and what it says."""
    said: list[str] = []
    while text[at] != '"':
        at += text[at] == "\\"
        said.append(text[at])
        at += 1
    return at + 1, "".join(said)


__all__ = ["ARRAYS", "TEXT", "UNKNOWN", "Reader", "Written", "read_array", "reader", "write"]
