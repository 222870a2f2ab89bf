"""Which task types there are: the built-in ones, and those that installed packages bring.

Imports no plugin and no library of one. A package that brings a type which cannot be used is told
of, never raised: a broken wheel must not keep anybody from validating a playbook.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from noetl_mcp.playbook.values import Model
from noetl_mcp.tasks import specs_bim, specs_compute, specs_data, specs_flow, specs_web
from noetl_mcp.tasks.contract import TaskSpec

ENTRY_POINTS = "noetl_mcp.tasks"
NOT_YET = ("mcp", "revit", "rhino", "floorplan")
"""Types that have a spec and no plugin."""

BUILT_IN: Mapping[str, TaskSpec] = MappingProxyType(
    {
        spec.name: spec
        for module in (specs_web, specs_bim, specs_compute, specs_data, specs_flow)
        for spec in module.SPECS
    }
)


class Entry(Protocol):
    """An entry point: a name, and the object it stands for."""

    @property
    def name(self) -> str: ...
    @property
    def value(self) -> str: ...
    def load(self) -> object: ...


@dataclass(frozen=True, slots=True)
class Broken:
    """A task type that an installed package names and that cannot be used."""

    name: str
    comes_from: str
    problem: str


@dataclass(frozen=True, slots=True)
class Found:
    """The task types that can be used, and those that cannot."""

    tasks: Mapping[str, TaskSpec]
    broken: tuple[Broken, ...] = ()


def known_tasks() -> Mapping[str, TaskSpec]:
    """Return every task type that can be used, by name."""
    return find_tasks(installed()).tasks


def runs_yet(type_: str) -> bool:
    """Whether steps of a type are carried out, and not only read, checked and planned."""
    return type_ not in NOT_YET


def installed() -> tuple[Entry, ...]:
    """Return what installed packages name as task types."""
    from importlib.metadata import entry_points  # slow, and only needed here

    return tuple(entry_points(group=ENTRY_POINTS))


def find_tasks(entries: Iterable[Entry]) -> Found:
    """Add the types behind `entries` to the built-in ones, whose names nobody else can take."""
    tasks, broken = dict(BUILT_IN), []
    for entry in sorted(entries, key=lambda one: (one.name, one.value)):
        spec = _loaded(entry)
        if isinstance(spec, TaskSpec) and spec.name in tasks:
            spec = "the name is taken already"
        if isinstance(spec, TaskSpec):
            tasks[spec.name] = spec
        else:
            broken.append(Broken(entry.name, entry.value, spec))
    return Found(MappingProxyType(tasks), tuple(broken))


def _loaded(entry: Entry) -> TaskSpec | str:
    """Return the type behind an entry point, or what is wrong with it."""
    try:
        found = entry.load()
    except Exception as problem:  # noqa: BLE001 - somebody else's module may raise anything
        return f"cannot be loaded: {type(problem).__name__}: {problem}"
    if not isinstance(found, TaskSpec):
        return f"is {type(found).__name__}, not a TaskSpec"
    if found.name != entry.name:
        return f"calls itself '{found.name}'"
    if not (isinstance(found.settings, type) and issubclass(found.settings, Model)):
        return "has no settings model"
    return found


__all__ = [
    "BUILT_IN",
    "ENTRY_POINTS",
    "NOT_YET",
    "Broken",
    "Entry",
    "Found",
    "find_tasks",
    "installed",
    "known_tasks",
    "runs_yet",
]
