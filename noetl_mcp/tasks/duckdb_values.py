"""Read the values of DuckDB by their types, and say which types rows of JSON have. Pure.

Times come as the texts that DuckDB writes, so that infinity and nanoseconds survive; they are cast
on the way out. Nothing of a list of rows is lost: where kinds are mixed, the column is JSON.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol

from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.sql_values import MOST_INTEGER, json_value, moment, plain

Structure = str | list[Any] | dict[str, Any]
"""What `from_json` of DuckDB wants to know: names of types, in lists and maps."""

MOST_HUGE = 2**127
_TIMES = frozenset(("date", "interval", "time", "time with time zone"))
_UNKNOWN: Structure = "NULL"


class Type(Protocol):
    """A type of DuckDB, as its driver shows it."""

    @property
    def id(self) -> str: ...
    @property
    def children(self) -> list[Any]: ...


@dataclass(frozen=True, slots=True)
class Form:
    """How a column is read: the type it is cast to before, and what is made of its values."""

    cast: str
    is_cast: bool
    read: Callable[[Any], Json]


def form_of(known: Type) -> Form:
    """Return how values of a type are read."""
    match known.id:
        case "list" | "array":
            return _list_form(known)
        case "struct":
            return _struct_form(known)
        case "map":
            return _map_form(known)
        case kind if kind.startswith("timestamp"):
            return Form("VARCHAR", True, _if_there(moment))
        case kind if kind in _TIMES:
            return Form("VARCHAR", True, plain)
    name = str(known)
    return Form(name, False, _if_there(json_value) if name == "JSON" else plain)


def _if_there(read: Callable[[Any], Json]) -> Callable[[Any], Json]:
    return lambda value: None if value is None else read(value)


def _list_form(known: Type) -> Form:
    (_, inner), *size = known.children
    item = form_of(inner)
    length = size[0][1] if size else ""
    return Form(
        f"{item.cast}[{length}]",
        item.is_cast,
        _if_there(lambda values: [item.read(value) for value in values]),
    )


def _struct_form(known: Type) -> Form:
    fields = {name: form_of(inner) for name, inner in known.children}
    cast = ", ".join(f"{quoted(name)} {form.cast}" for name, form in fields.items())
    return Form(
        f"STRUCT({cast})",
        any(form.is_cast for form in fields.values()),
        _if_there(lambda found: {name: fields[name].read(value) for name, value in found.items()}),
    )


def _map_form(known: Type) -> Form:
    key, value = (form_of(inner) for _, inner in known.children)
    return Form(
        f"MAP({key.cast}, {value.cast})",
        key.is_cast or value.is_cast,
        _if_there(lambda found: plain({key.read(k): value.read(v) for k, v in found.items()})),
    )


def quoted(name: str) -> str:
    """Return a name as SQL writes any name."""
    return '"' + name.replace('"', '""') + '"'


def text_of(value: str) -> str:
    """Return a text as SQL writes one; for what cannot be bound, and never for values."""
    return "'" + value.replace("'", "''") + "'"


def to_bind(value: object) -> tuple[object, str | None]:
    """Return a value as it is bound, and with which type; none where the driver sees it itself.

    The driver would take a map of two lists for a MAP, and make texts of a list of mixed kinds.
    """
    if not isinstance(value, (list, Mapping)):
        return value, None
    structure = _settled(_seen(value))
    written = _written(structure)
    if "JSON" in written:
        return json.dumps(value), "JSON"
    if "STRUCT" not in written:
        return value, None
    return _completed(value, structure), written


def _completed(value: object, structure: Structure) -> object:
    """Return the value with a null for every key that only its neighbours have."""
    if isinstance(structure, dict) and isinstance(value, Mapping):
        return {key: _completed(value.get(key), inner) for key, inner in structure.items()}
    if isinstance(structure, list) and isinstance(value, (list, tuple)):
        return [_completed(item, structure[0]) for item in value]
    return value


def _written(known: Structure) -> str:
    if isinstance(known, dict):
        return f"STRUCT({', '.join(f'{quoted(name)} {_written(t)}' for name, t in known.items())})"
    return f"{_written(known[0])}[]" if isinstance(known, list) else known


def structure_of(rows: Sequence[Mapping[str, Json]]) -> dict[str, Structure]:
    """Return the types of the columns of some rows."""
    found = _settled(reduce(_merged, map(_seen, rows), _UNKNOWN))
    return found if isinstance(found, dict) else {}


def _seen(value: object) -> Structure:
    match value:
        case None:
            return _UNKNOWN
        case bool():
            return "BOOLEAN"
        case int():
            if -MOST_INTEGER <= value < MOST_INTEGER:
                return "BIGINT"
            return "HUGEINT" if -MOST_HUGE <= value < MOST_HUGE else "JSON"
        case float():
            return "DOUBLE"
        case str():
            return "VARCHAR"
        case list() | tuple():
            return [reduce(_merged, map(_seen, value), _UNKNOWN)]
        case Mapping():
            return {str(key): _seen(item) for key, item in value.items()} or "JSON"
    return "JSON"


_NUMBERS = ("BIGINT", "HUGEINT", "DOUBLE")


def _merged(one: Structure, other: Structure) -> Structure:
    """Return the type that holds what either holds."""
    if _UNKNOWN in (one, other):
        return other if one == _UNKNOWN else one
    if isinstance(one, dict) and isinstance(other, dict):
        keys = dict.fromkeys((*one, *other))
        return {key: _merged(one.get(key, _UNKNOWN), other.get(key, _UNKNOWN)) for key in keys}
    if isinstance(one, list) and isinstance(other, list):
        return [_merged(one[0], other[0])]
    if one in _NUMBERS and other in _NUMBERS:
        return max(str(one), str(other), key=_NUMBERS.index)
    return one if one == other else "JSON"


def kind_of_statement(statement: Any) -> Any:
    """Return the type of a statement; None where the driver has no name for it and would break."""
    try:
        return statement.type
    except ValueError:
        return None


def _settled(found: Structure) -> Structure:
    """Return the type with a text wherever no value was seen."""
    if isinstance(found, dict):
        return {key: _settled(inner) for key, inner in found.items()}
    if isinstance(found, list):
        return [_settled(found[0])]
    return "VARCHAR" if found == _UNKNOWN else found


__all__ = [
    "Form",
    "Structure",
    "Type",
    "form_of",
    "kind_of_statement",
    "quoted",
    "structure_of",
    "text_of",
    "to_bind",
]
