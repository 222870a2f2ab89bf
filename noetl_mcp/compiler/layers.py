"""Lay an action over the workbook action it stands for, and check what comes of it.

Part of the pass `bind`. Makes no nodes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from noetl_mcp.compiler.draft import Draft, Placed
from noetl_mcp.compiler.settings import check_settings
from noetl_mcp.compiler.stray_keys import say_no_settings
from noetl_mcp.diagnostics import Report
from noetl_mcp.playbook.dialects.actions import CARE_KEYS
from noetl_mcp.playbook.model import Action, Step
from noetl_mcp.playbook.node import Path, weight
from noetl_mcp.playbook.values import Model
from noetl_mcp.rules import names, reading, shape

MOST_VALUES = 1_000_000
STRUCTURE = ("router", "iterator", "sequence", "turn")
Data = Mapping[str, Placed] | Placed | None


@dataclass(slots=True)
class Workbook:
    """The named actions of a playbook, and which of them were asked for."""

    draft: Draft
    report: Report
    numbers: dict[str, int] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    checks: set[Path] = field(default_factory=set)
    weights: dict[int, int] = field(default_factory=dict)
    room: int = MOST_VALUES

    def has_room_for(self, number: int, at: Path) -> bool:
        """Whether an action may be laid under one more: many under many is more than fits."""
        if number not in self.weights:
            self.weights[number] = weight(self.draft.playbook.workbook[number].plain())
        return self.takes(self.weights[number], at)

    def takes(self, heavy: int, at: Path) -> bool:
        """Take room for so many values; say once where there was too little."""
        had_room = self.room >= 0
        self.room -= heavy
        if had_room and self.room < 0:
            self.report.say(reading.TOO_MANY_VALUES, at, most=MOST_VALUES)
        return self.room >= 0

    def __post_init__(self) -> None:
        for index, action in enumerate(self.draft.playbook.workbook):
            self.numbers.setdefault(action.name or "", index)


@dataclass(frozen=True, slots=True)
class Settled:
    """An action with its workbook action laid under it."""

    type: str
    settings: Mapping[str, Placed]
    data: Data
    care: dict[str, Placed]
    tasks: tuple[tuple[Action, Path], ...]


def settle(action: Action, at: Path, workbook: Workbook, called: str | None = None) -> Settled:
    """Lay an action over what it stands for; tell what is wrong with it where it is written."""
    layers = _layers(action, at, workbook)
    settings: dict[str, Placed] = {}
    care: dict[str, Placed] = {}
    data: Data = None
    for layer, place in reversed(layers):
        settings |= {
            key: Placed(value, (*place, "settings", key)) for key, value in layer.settings.items()
        }
        care |= written_care(layer, place, CARE_KEYS)
        data = laid_over(data, layer.data, (*place, "data"))
    if "check" in care:
        care["check"] = _settled_check(layers, workbook)
    tasks = next((_tasks(layer, place) for layer, place in layers if layer.tasks), ())
    bottom, place = layers[-1]
    where = called if called and bottom is action else label(bottom, place)
    kind = _kind(bottom, place, where, workbook.report)
    return Settled(kind, _checked(kind, settings, where, place, workbook), data, care, tasks)


def label(action: Action, at: Path) -> str:
    """Say which action is meant."""
    if isinstance(action, Step):
        return f"step '{action.step}'"
    if action.name:
        return f"action '{action.name}'" if at[:1] == ("workbook",) else f"task '{action.name}'"
    return "the check" if at[-1:] == ("check",) else "the task"


def _layers(action: Action, at: Path, workbook: Workbook) -> list[tuple[Action, Path]]:
    """Return the action and what it stands for, from the outside in."""
    layers, seen = [(action, at)], set[str]()
    while True:
        action, at = layers[-1]
        if action.type not in (None, "workbook"):
            return layers
        if action.task is not None:
            layers.append((action.task, (*at, "task")))
            continue
        if not action.calls or action.calls not in workbook.numbers:
            return layers
        workbook.used.add(action.calls)
        if action.calls in seen:
            workbook.report.say(names.ACTION_CYCLE, (*at, "calls"), name=action.calls)
            return layers
        seen.add(action.calls)
        index = workbook.numbers[action.calls]
        if not workbook.has_room_for(index, (*at, "calls")):
            return [(Action(type="workbook", calls=action.calls), at)]
        layers.append((workbook.draft.playbook.workbook[index], ("workbook", index)))


def _kind(bottom: Action, at: Path, where: str, report: Report) -> str:
    kind = bottom.type or "router"
    if kind == "turn" and not (isinstance(bottom, Step) and bottom.turn):
        report.say(shape.MISSING_KEY, (*at, "type"), where=where, key="turn")
        return "unknown"
    if kind != "workbook":
        return kind
    if bottom.calls is not None:
        return "unknown"
    report.say(shape.MISSING_KEY, (*at, "type"), where=where, key="task")
    return "unknown"


def _tasks(action: Action, at: Path) -> tuple[tuple[Action, Path], ...]:
    return tuple((task, (*at, "tasks", index)) for index, task in enumerate(action.tasks))


def _settled_check(layers: list[tuple[Action, Path]], workbook: Workbook) -> Placed:
    """Settle the reading step that decides a doubt, like any other action."""
    action, at = next((layer, at) for layer, at in layers if layer.check is not None)
    assert action.check is not None
    place: Path = (*at, "check")
    if place in workbook.checks:
        workbook.report.say(names.ACTION_CYCLE, place, at_key=True, name=action.name or "check")
        return Placed({"type": "unknown", "settings": {}}, place)
    workbook.checks.add(place)
    settled = settle(action.check, place, workbook)
    workbook.checks.discard(place)
    data = settled.data
    plain: dict[str, Any] = {"type": settled.type}
    plain["settings"] = {key: placed.value for key, placed in settled.settings.items()}
    if isinstance(data, Placed):
        plain["input"] = data.value
    elif data:
        plain["input"] = {key: placed.value for key, placed in data.items()}
    if action.check.writes is not None:
        plain["writes"] = action.check.writes
    return Placed(plain, place)


def written_care(action: Action, at: Path, keys: tuple[str, ...]) -> dict[str, Placed]:
    """Return the care that is written on an action, as plain values."""
    found: dict[str, Placed] = {}
    for key in keys:
        name = "assertion" if key == "assert" else key
        if name not in action.model_fields_set:
            continue
        value = getattr(action, name)
        if value is not None and value != []:
            found[key] = Placed(plain_of(value), (*at, key))
    return found


def plain_of(value: Any) -> Any:
    """Return a part of the model as plain values."""
    if isinstance(value, Model):
        return value.plain()
    return [plain_of(one) for one in value] if isinstance(value, list) else value


def laid_over(below: Data, data: Any, at: Path) -> Data:
    """Lay an input over another: entry by entry where both are maps, else as a whole."""
    if data is None:
        return below
    if not isinstance(data, dict):
        return Placed(data, at)
    above = {key: Placed(value, (*at, key)) for key, value in data.items()}
    return {**below, **above} if isinstance(below, dict) else above


def _checked(
    kind: str, settings: Mapping[str, Placed], where: str, at: Path, workbook: Workbook
) -> Mapping[str, Placed]:
    spec = workbook.draft.tasks.get(kind)
    if spec is not None:
        return check_settings(spec, settings, where, at, workbook.report)
    if kind in STRUCTURE:
        say_no_settings(kind, settings, where, workbook.report)
        return {}
    return settings
