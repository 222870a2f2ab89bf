"""Arrays in Postgres's binary form, both ways, as fast as Python can.

Lists of one type and one dimension only; null elements where the type allows. Sends nothing.
"""

import struct
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, repeat
from typing import Any

BOOL, INT8, INT2, INT4, TEXT, FLOAT8 = 16, 20, 21, 23, 25, 701
ARRAY_OF = {BOOL: 1000, INT8: 1016, INT2: 1005, INT4: 1007, TEXT: 1009, FLOAT8: 1022}
_SIZES = {BOOL: (1, "?"), INT8: (8, "q"), INT2: (2, "h"), INT4: (4, "i"), FLOAT8: (8, "d")}
_HEAD = struct.Struct(">iiIii")
_EMPTY = {oid: struct.pack(">iiI", 0, 0, oid) for oid in ARRAY_OF}
_LENGTH = struct.Struct(">i")
_NULL = _LENGTH.pack(-1)
_length = _LENGTH.pack


def array(oid: int, values: Sequence[Any]) -> bytes:
    """Return a list of numbers or truths, none of them null."""
    count = len(values)
    if not count:
        return _EMPTY[oid]
    size, letter = _SIZES[oid]
    body = struct.pack(">" + f"i{letter}" * count, *chain.from_iterable(zip(repeat(size), values)))
    return _HEAD.pack(1, 0, oid, count, 1) + body


def sparse(oid: int, values: Sequence[Any]) -> bytes | None:
    """Return a list in which some are null; None when all are."""
    if not any(value is not None for value in values):
        return None
    size, letter = _SIZES[oid]
    pack = struct.Struct(f">i{letter}").pack
    body = (_NULL if value is None else pack(size, value) for value in values)
    return _HEAD.pack(1, 1, oid, len(values), 1) + b"".join(body)


def texts(values: Sequence[str | None]) -> bytes | None:
    """Return a list of texts, some of them null; None when all are."""
    parts: list[bytes] = [b""]
    found = False
    for value in values:
        if value is None:
            parts.append(_NULL)
            continue
        found = True
        raw = value.encode()
        parts += (_length(len(raw)), raw)
    if not found:
        return None if values else _EMPTY[TEXT]
    parts[0] = _HEAD.pack(1, 1, TEXT, len(values), 1)
    return b"".join(parts)


def number(oid: int, value: int | bool) -> bytes:
    """Return one number or truth."""
    return struct.pack(">" + _SIZES[oid][1], value)


def read_array(oid: int, raw: bytes | None) -> list[Any]:
    """Return the values of a list of numbers or truths; nulls are None."""
    if raw is None or len(raw) < 20:
        return []
    _, _, _, count, _ = _HEAD.unpack_from(raw)
    size, letter = _SIZES[oid]
    if len(raw) == 20 + count * (4 + size):
        return list(struct.unpack_from(">" + f"i{letter}" * count, raw, 20)[1::2])
    unpack = struct.Struct(">" + letter).unpack_from
    return _each(raw, count, lambda at, length: unpack(raw, at)[0])


def read_texts(raw: bytes | None) -> list[str | None]:
    """Return the values of a list of texts; nulls are None."""
    if raw is None or len(raw) < 20:
        return []
    count = _HEAD.unpack_from(raw)[3]
    if len(raw) == 20 + 4 * count and raw[20:] == _NULL * count:
        return [None] * count
    return _each(raw, count, lambda at, length: raw[at : at + length].decode())


def _each(raw: bytes, count: int, value: Callable[[int, int], Any]) -> list[Any]:
    found, at = [], 20
    for _ in range(count):
        (length,) = _LENGTH.unpack_from(raw, at)
        at += 4
        found.append(None if length < 0 else value(at, length))
        at += max(length, 0)
    return found


def columns(rows: Sequence[Sequence[Any]], width: int) -> Iterable[Sequence[Any]]:
    """Return rows turned into columns."""
    return zip(*rows, strict=True) if rows else ((),) * width


__all__ = [
    "ARRAY_OF",
    "BOOL",
    "FLOAT8",
    "INT2",
    "INT4",
    "INT8",
    "TEXT",
    "array",
    "columns",
    "number",
    "read_array",
    "read_texts",
    "sparse",
    "texts",
]
