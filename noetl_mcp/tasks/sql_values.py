"""Give what databases answer its form in JSON: numbers, times, bytes, and rows by column.

A number stays one only while its digits survive; else it is a text, as is what JSON has no number
for. Nothing is cut and nothing rounded. Knows no database.
"""

import json
import math
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from uuid import UUID

from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.calls import Failed

MOST_INTEGER = 2**63
_MOMENT = re.compile(r"(\d{4,}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)([+-]\d\d)?(:\d\d)?(:\d\d)?")


@dataclass(frozen=True, slots=True)
class Answer:
    """What one statement gave: rows below their columns, and how many rows it gave or touched."""

    columns: tuple[str, ...] = ()
    rows: tuple[list[Json], ...] = ()
    row_count: int = 0


def shaped(answers: Sequence[Answer], rows_as: str) -> Json:
    """Return the result of a step: the last answer with columns, and each one of several."""
    chosen = next((one for one in reversed(answers) if one.columns), answers[-1])
    result = _shaped(chosen, rows_as)
    if len(answers) > 1:
        result |= {f"command_{n}": _shaped(one, rows_as) for n, one in enumerate(answers)}
    return result


def _shaped(answer: Answer, rows_as: str) -> dict[str, Json]:
    columns: list[Json] = list(answer.columns)
    rows: list[Json] = list(answer.rows)
    if rows_as == "maps":
        rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
        if len(set(answer.columns)) < len(columns):
            twice = sorted({one for one in answer.columns if answer.columns.count(one) > 1})
            raise Failed(
                "same-column-twice",
                f"more than one column is called {', '.join(twice)}: name them with AS, "
                "or say 'rows_as: lists'",
                retriable=False,
            )
    return {"rows": rows, "row_count": answer.row_count, "columns": columns}


def number(text: str) -> Json:
    """Return a number from its digits; a text when JSON's numbers would not keep them."""
    try:
        if not text.lstrip("+-").isdigit():
            return _fraction(text)
        whole = int(text)
    except ValueError:  # more digits than Python reads
        return text
    return whole if -MOST_INTEGER <= whole < MOST_INTEGER else text


def _fraction(text: str) -> Json:
    try:
        exact = Decimal(text)
    except InvalidOperation:
        return text
    near = float(text)
    if not math.isfinite(near) or Decimal(repr(near)) != exact:
        return text
    return near


def real(value: float) -> Json:
    """Return a floating number; what is none is a text."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def moment(text: str) -> str:
    """Return a timestamp as ISO 8601 writes it; infinity and years before Christ stay."""
    found = _MOMENT.fullmatch(text)
    if found is None:
        return text
    day, clock, hours, minutes, seconds = found.groups()
    zone = f"{hours}{minutes or ':00'}{seconds or ''}" if hours else ""
    return f"{day}T{clock}{zone}"


def json_value(text: str) -> Json:
    """Return the value of a JSON text that a database holds."""
    value: Json = json.loads(text, parse_int=number, parse_float=_near, parse_constant=str)
    return value


def _near(text: str) -> Json:
    """Return a fraction inside JSON, where readers expect no more than a float's digits."""
    value = float(text)
    return value if math.isfinite(value) else text


def plain(value: object) -> Json:
    """Return any value that a driver gives as JSON."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if -MOST_INTEGER <= value < MOST_INTEGER else str(value)
        case float():
            return real(value)
        case Decimal():
            return number(format(value, "f")) if value.is_finite() else str(value)
        case bytes() | bytearray() | memoryview():
            return b64encode(bytes(value)).decode()
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta() | UUID():
            return str(value)
        case Mapping():
            return {_key(key): plain(item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(item) for item in value]
        case _:
            return str(value)


def _key(key: object) -> str:
    made = plain(key)
    return made if isinstance(made, str) else json.dumps(made)


__all__ = [
    "MOST_INTEGER",
    "Answer",
    "json_value",
    "moment",
    "number",
    "plain",
    "real",
    "shaped",
]
