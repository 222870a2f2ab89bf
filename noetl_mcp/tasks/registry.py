"""Which task types there are: the built-in ones, and those that installed packages bring.

Imports no plugin and no library of one. A package that brings a type which cannot be used is told
of, never raised: a broken wheel must not keep anybody from validating a playbook.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Protocol

from noetl_mcp.playbook.values import Model
from noetl_mcp.tasks import (
    specs_bim,
    specs_compute,
    specs_data,
    specs_floorplan,
    specs_flow,
    specs_web,
)
from noetl_mcp.tasks.contract import Settings, TaskSpec, reads, writes

ENTRY_POINTS = "noetl_mcp.tasks"
NOT_YET = ("revit", "rhino")
"""Types that have a spec and no plugin."""

_STRUCTURE = frozenset(("end", "iterator", "router", "sequence", "start", "turn", "workbook"))
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")

BUILT_IN: Mapping[str, TaskSpec] = MappingProxyType(
    {
        spec.name: spec
        for module in (
            specs_web,
            specs_bim,
            specs_floorplan,
            specs_compute,
            specs_data,
            specs_flow,
        )
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


def broken_offer(name: str) -> Broken | None:
    """Return the type of this name that an installed package brings and that cannot be used."""
    return next((one for one in find_tasks(installed()).broken if one.name == name), None)


def _loaded(entry: Entry) -> TaskSpec | str:
    """Return the type behind an entry point, or what is wrong with it."""
    try:
        found = entry.load()
        problem = _problem(found, entry.name)
    except (Exception, SystemExit) as problem_:  # noqa: BLE001 - somebody else's module may raise anything
        said = str(problem_).partition("\n")[0]
        return f"cannot be loaded: {type(problem_).__name__}: {said}"
    if problem is not None or not isinstance(found, TaskSpec):
        return problem or ""
    if found.writes in (reads, writes):
        return found
    return replace(found, writes=_careful(found.writes))


def _problem(found: object, name: str) -> str | None:
    """Return what is wrong with what an entry point stands for, as the end of a sentence."""
    if not isinstance(found, TaskSpec):
        return f"is {type(found).__name__}, not a TaskSpec"
    if found.name != name:
        return f"calls itself '{found.name}'"
    if not _NAME.fullmatch(name) or name in _STRUCTURE:
        return "has a name that no type can have: small letters, digits and _, no word of playbooks"
    if not (isinstance(found.settings, type) and issubclass(found.settings, Model)):
        return "has no settings model: a class made from SettingsModel"
    found.settings.model_json_schema()  # what has none would break everybody's schema
    if not callable(found.writes):
        return (
            "has a 'writes' that cannot be asked: it takes the settings and answers True or False"
        )
    if found.plugin is None:
        return "names no 'plugin', so nothing could carry it out"
    if isinstance(found.plugin, str) and not _PATH.fullmatch(found.plugin):
        return f"has the plugin '{found.plugin}', which is no import path such as 'module:Class'"
    if not isinstance(found.plugin, str) and not callable(found.plugin):
        return f"has a plugin of type {type(found.plugin).__name__}, not an import path or a class"
    return None


def _careful(asked: Callable[[Settings], bool]) -> Callable[[Settings], bool]:
    """Return somebody else's `writes`, which assumes the worst where it breaks."""

    def writes_perhaps(settings: Settings) -> bool:
        try:
            return asked(settings) is not False
        except Exception:  # noqa: BLE001 - somebody else's function may raise anything
            return True

    return writes_perhaps


__all__ = [
    "BUILT_IN",
    "ENTRY_POINTS",
    "NOT_YET",
    "Broken",
    "Entry",
    "Found",
    "broken_offer",
    "find_tasks",
    "installed",
    "known_tasks",
    "runs_yet",
]
