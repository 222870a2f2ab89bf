"""Derive from an answer how much was changed and found, and name where it says so. Calls nobody.

A number that the answer does not hold is absent, never nought: who bounds it must then refuse.
Minus one is no number, and what stands inside a part that failed is not counted.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

from noetl_mcp.bim.revit.methods import METHODS as REVIT
from noetl_mcp.bim.rhino.methods import METHODS as RHINO
from noetl_mcp.diagnostics import shorten

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
Change = Literal["updated", "created", "deleted"]
CHANGES: tuple[Change, ...] = ("updated", "created", "deleted")
NAMES = (*CHANGES, "candidates", "targets")


class Counted(NamedTuple):
    """A number, and the place in the answer that gave it."""

    number: int
    source: str


class Refusal(NamedTuple):
    """What an answer says that did not go well, and where."""

    words: str
    source: str


Counters: TypeAlias = Mapping[str, Counted]

_BEGINNINGS: Mapping[Change, str] = MappingProxyType(
    {
        "created": "create add duplicate copy place insert import new",
        "updated": "update set change rename move modify edit rotate",
        "deleted": "delete remove purge",
    }
)
_VERBS = {verb: change for change, verbs in _BEGINNINGS.items() for verb in verbs.split()}

# Methods whose name begins otherwise, and where their answers hold what they changed.
_CHANGED_BY: Mapping[str, Change] = MappingProxyType(
    {
        "apply_transform_delta": "updated",
        "rebar_apply_plan": "created",
        "rebar_layout_update": "updated",
        "rebar_layout_update_by_host": "updated",
        "rhino_commit_transform": "updated",
        "rhino_lock_objects": "updated",
        "rhino_refresh_from_revit": "updated",
        "rhino_unlock_objects": "updated",
    }
)
_PLACES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "apply_transform_delta": ("any applied",),
        "create_grids": ("grids",),
        "delete_rebars": ("deletedTargetCount",),
        "move_rebars": ("movedCount", "movedRebarElementIds"),
        "rename_types_bulk": ("items",),
        "rhino_commit_transform": ("appliedCount",),
        "rhino_import_3dm": ("objectCount",),
        "rhino_import_by_ids": ("imported",),
        "rhino_lock_objects": ("count",),
        "rhino_refresh_from_revit": ("refreshed",),
        "rhino_unlock_objects": ("count",),
        "set_visual_override": ("count",),
    }
)
# These act on exactly one element and answer no more than `ok`.
_ONE_BY_NATURE = """
delete_wall delete_room delete_element set_room_param update_level_parameter update_project_info
rhino_import_snapshot
"""
_ONE_ELEMENT = ("elementId", "newTypeId", "levelId", "uniqueId")
_TOTALS = ("totalCount", "total", "count", "row_count")
_LISTS = """
elementIds items rows walls rooms hosts elements doors windows floors structuralFrames
structuralColumns levels grids views types instances materials
"""
_DEEPEST = 4


@dataclass(frozen=True, slots=True)
class Layer:
    """An object inside an answer; one that only carries the next has no numbers of its own."""

    value: Mapping[str, Json]
    path: str
    carries: bool


def count(answer: Json, method: str | None = None) -> Counters:
    """Return every counter that the answer gives, with its source."""
    found: dict[str, Counted] = {}
    body, path = answer, "$"
    for layer in layers(answer):
        if layer.carries:
            continue
        for name, counted in _of_layer(layer, method).items():
            found.setdefault(name, counted)
    if isinstance(answer, dict) and _is_http(answer):
        body, path = answer["data"], "$.data"
    if isinstance(body, list):
        found["candidates"] = Counted(len(body), f"length of {path}")
    for name, other in (("targets", "candidates"), ("candidates", "targets")):
        if name not in found and other in found:
            found[name] = found[other]
    return found


def changes(method: str | None) -> Change | None:
    """Return the counter that a method moves, as far as its name tells."""
    if method is None:
        return None
    name = _name(method)
    if REVIT.reads(name) or RHINO.reads(name):
        return None
    if name in _CHANGED_BY:
        return _CHANGED_BY[name]
    return _VERBS.get(_WORD_END.split(name.removeprefix("rhino_"), maxsplit=1)[0].lower())


def refusal(answer: Json) -> Refusal | None:
    """Return what an answer says that is a failure in the dress of a success."""
    for layer in layers(answer):
        value, path = layer.value, layer.path
        error = value.get("error")
        if value.get("ok") is False:
            return Refusal(f"the answer says ok: false{_reason(value)}", f"{path}.ok")
        if "jsonrpc" in value and isinstance(error, dict):
            return Refusal(f"the answer is an error{_reason(value)}", f"{path}.error")
        if value.get("isError") is True:
            return Refusal(f"the answer says isError: true{_reason(value)}", f"{path}.isError")
    return None


def layers(answer: Json) -> tuple[Layer, ...]:
    """Return the objects of an answer from the outside in: envelopes, the payload, its data."""
    found: list[Layer] = []
    value, path, unwrapped = answer, "$", 0
    while isinstance(value, dict) and len(found) <= 2 * _DEEPEST:
        inner = value.get("result")
        if _is_http(value):
            found.append(Layer(value, path, carries=True))
            value, path = value["data"], f"{path}.data"
        elif unwrapped < _DEEPEST and isinstance(inner, dict) and _is_envelope(value):
            found.append(Layer(value, path, carries=True))
            value, path, unwrapped = inner, f"{path}.result", unwrapped + 1
        else:
            found.append(Layer(value, path, carries=False))
            key = next((key for key in _INNER if isinstance(value.get(key), dict)), "")
            value, path = value.get(key), f"{path}.{key}"
    return tuple(found)


_INNER = ("data", "structuredContent", "structured_content")
_WORD_END = re.compile(r"[_\-\s]|(?<=[a-z0-9])(?=[A-Z])")


def _is_http(value: Mapping[str, Json]) -> bool:
    return {"status_code", "headers", "data"} <= value.keys()


def _is_envelope(value: Mapping[str, Json]) -> bool:
    """Whether an object only carries its `result`; the payload has `ok` or a counter."""
    return "ok" not in value and all(_number(value.get(name)) is None for name in NAMES)


def _name(method: str) -> str:
    name = REVIT.name(method)
    return name if REVIT.knows(name) else RHINO.name(method)


def _reason(value: Mapping[str, Json]) -> str:
    inner = value.get("error")
    nested = inner if isinstance(inner, dict) else {}
    given = (
        [value.get("code"), value.get("errorCode"), nested.get("code")],
        [value.get("msg"), value.get("message"), nested.get("message"), inner],
    )
    words = [
        str(next(one for one in ones if isinstance(one, str | int) and str(one).strip()))
        for ones in given
        if any(isinstance(one, str | int) and str(one).strip() for one in ones)
    ]
    return f": {shorten(': '.join(words), 300)}" if words else ""


def _of_layer(layer: Layer, method: str | None) -> dict[str, Counted]:
    batch = layer.value.get("results")
    if isinstance(batch, list) and {"okCount", "failCount"} & layer.value.keys():
        return _of_batch(batch, layer)
    reading = _Reading(layer, None if method is None else _name(method))
    found: dict[str, Counted | None] = {name: reading.changed(name) for name in CHANGES}
    found["candidates"] = reading.found()
    found["targets"] = reading.targets()
    return {name: counted for name, counted in found.items() if counted is not None}


def _of_batch(results: Sequence[Json], layer: Layer) -> dict[str, Counted]:
    """Sum up the operations that went well; one that hides what it changed hides the sum."""
    if layer.value.get("rolledBack") is True and layer.value.get("dryRun") is not True:
        return dict.fromkeys(CHANGES, Counted(0, f"{layer.path}.rolledBack"))
    sums: dict[str, int] = {}
    for one in results:
        if not isinstance(one, dict) or one.get("ok") is False:
            continue
        named = one.get("method")
        method = named if isinstance(named, str) else None
        inner = one.get("result")
        held = Layer(inner if isinstance(inner, dict) else one, "", carries=False)
        reading = _Reading(held, None if method is None else _name(method))
        told = {name: counted for name in CHANGES if (counted := reading.changed(name))}
        if not told and (method is None or (REVIT.writes(method) and RHINO.writes(method))):
            return {}
        for name, counted in told.items():
            sums[name] = sums.get(name, 0) + counted.number
    return {name: Counted(sum_, f"sum of {layer.path}.results") for name, sum_ in sums.items()}


class _Reading:
    """Looks for numbers in one object, whose keys may be spelt in camel or snake case."""

    def __init__(self, layer: Layer, method: str | None) -> None:
        self.value = layer.value
        self.path = layer.path
        self.method = method
        self.spelt = {_fold(key): key for key in layer.value}

    def changed(self, name: Change) -> Counted | None:
        """Return how many were updated, created or deleted."""
        is_its_own = changes(self.method) == name
        places = _PLACES.get(self.method or "", ()) if is_its_own else ()
        told = self.told(name) or next(filter(None, map(self.at, places)), None)
        told = told or self.at(name) or self.ids(name)
        if told is not None or not is_its_own:
            return told
        is_sql = (self.method or "").lower() in ("insert", "update", "delete")
        return (self.integer("row_count") if is_sql else None) or self.one()

    def found(self) -> Counted | None:
        """Return how many there are to act on."""
        told = self.told("candidates") or self.integer("candidateCount") or self.at("candidates")
        told = told or next(filter(None, map(self.integer, _TOTALS)), None)
        if told is not None or self.is_partial():
            return told
        lists = ((key, self.value.get(key)) for key in map(self.key, _LISTS.split()))
        key, listed = next((one for one in lists if isinstance(one[1], list)), ("", None))
        if not isinstance(listed, list):
            return None
        return Counted(len(listed), f"length of {self.path}.{key}")

    def targets(self) -> Counted | None:
        """Return how many were acted on."""
        told = self.told("targets") or self.integer("targetCount") or self.at("targets")
        told = told or self.ids("target") or self.found()
        is_write = changes(self.method) is not None
        return told or (self.one() if is_write else None)

    def told(self, name: str) -> Counted | None:
        """Return a number that stands under the name itself."""
        plain = self.integer(name) or self.integer(f"{name}Count")
        counts = self.value.get("counts")
        if plain is not None or not isinstance(counts, dict):
            return plain
        number = _number(counts.get(name))
        return None if number is None else Counted(number, f"{self.path}.counts.{name}")

    def integer(self, name: str) -> Counted | None:
        """Return a whole number from zero on."""
        key = self.key(name)
        number = _number(self.value.get(key))
        return None if number is None else Counted(number, f"{self.path}.{key}")

    def at(self, place: str) -> Counted | None:
        """Return a number, or the length of a list without what is marked as failed."""
        key = self.key(place.removeprefix("any "))
        value = self.value.get(key)
        if not isinstance(value, list):
            return self.integer(key)
        if place.startswith("any "):
            return Counted(1 if value else 0, f"{self.path}.{key}")
        gone_well = [one for one in value if not (isinstance(one, dict) and one.get("ok") is False)]
        return Counted(len(gone_well), f"length of {self.path}.{key}")

    def ids(self, name: str) -> Counted | None:
        """Return how many ids stand in lists such as `createdIds` and `createdRebarIds`."""
        form = re.compile(rf"{name}s?[a-z0-9]*ids")
        keys = [key for key, value in self.value.items() if isinstance(value, list)]
        named = [key for key in keys if form.fullmatch(_fold(key))]
        if not named:
            return None
        lists = [ids for key in named if isinstance(ids := self.value[key], list)]
        distinct = {str(one) for ids in lists for one in ids}
        number = len(lists[0]) if len(lists) == 1 else len(distinct)
        return Counted(number, "length of " + " and ".join(f"{self.path}.{key}" for key in named))

    def one(self) -> Counted | None:
        """Return one where a write acts on a single element and says that it did."""
        if self.value.get("ok") is not True:
            return None
        keys = (self.key(name) for name in _ONE_ELEMENT)
        named = next((key for key in keys if self.value.get(key) not in (None, 0, "")), None)
        if named is None and self.method not in _ONE_BY_NATURE.split():
            return None
        return Counted(1, f"{self.path}.{named or 'ok'} of {self.method}, which is about one")

    def is_partial(self) -> bool:
        """Whether the lists are only a page of what there is."""
        following = self.value.get(self.key("nextIndex"))
        return following is not None or self.value.get("completed") is False

    def key(self, name: str) -> str:
        """Return a key as it is spelt here."""
        return name if name in self.value else self.spelt.get(_fold(name), name)


def _fold(key: str) -> str:
    return key.replace("_", "").lower()


def _number(value: Json) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        return None
    return int(value) if value < 2**63 and value == int(value) else None


__all__ = [
    "CHANGES",
    "NAMES",
    "Change",
    "Counted",
    "Counters",
    "Layer",
    "Refusal",
    "changes",
    "count",
    "layers",
    "refusal",
]
