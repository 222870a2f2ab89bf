"""The names that the templates of a step can see: looked up one by one, in the documented order.

Pure: what other steps gave is asked for through a `Sight`, and only when a template names it.
Judges nothing; a name that is not there is the renderer's to tell.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from noetl_mcp.broker.givers import Givers
from noetl_mcp.broker.results import Known, Tasks, output_of, status_code, this_of, view_of
from noetl_mcp.broker.sight import Items, Later, Round, Sight
from noetl_mcp.compiler.plan import LITERAL_MARK, TEMPLATE_MARK
from noetl_mcp.playbook.node import Json
from noetl_mcp.playbook.rendering.absent import Absent
from noetl_mcp.playbook.rendering.views import Named, View
from noetl_mcp.settings import PREFIX, SECRET_PREFIX

_NONE: Mapping[str, Any] = {}
_MISSING: Any = object()
_SECTIONS = ("models", "tools", "resources", "prompts", "turns")
_NOT_WORD = re.compile(r"\W")


@dataclass(slots=True)
class _Place:
    """What a plan says about the names of one step."""

    step: int
    """The step whose names they are: another one, where a step speaks for it."""
    kind: str
    siblings: Mapping[str, int] = field(default_factory=dict)
    keys: frozenset[str] | None = frozenset()
    """Keys of the input as it is written; None when they are known only when it is rendered."""
    on_workload: bool = False
    """The workload lies below its input."""
    asks: bool = False
    """What came of the step is asked for: whoever renders this only speaks for it."""
    alone: bool = False
    """Nothing at all lies below its input."""


class Names:
    """The names of one plan, whichever execution they are asked for."""

    def __init__(self, plan: Mapping[str, Any]) -> None:
        self.steps: list[Mapping[str, Any]] = plan["steps"]
        self.playbook: Mapping[str, Any] = plan["playbook"]
        self.givers = Givers(plan)
        self._constants: Mapping[str, Any] = plan["constants"]
        self._places: dict[int, _Place] = {}

    def scope(self, idx: int, sight: Sight) -> "Scope":
        """Return what the templates of a step see, and those of its ways on."""
        place = self._places.get(idx)
        if place is None:
            place = self._places[idx] = self._place(idx)
        return Scope(self, place, sight, sight.input, sight.own)

    def tool(self, idx: int, sight: Sight) -> "Scope":
        """Return what the templates of a tool see that a step calls; its arguments are `input`."""
        place = _Place(idx, self.steps[idx]["type"], alone=True)
        return Scope(self, place, sight, sight.input, None)

    def prompt(self, idx: int, sight: Sight) -> "Scope":
        """Return what a prompt sees that a step uses; its `input` is laid over the workload."""
        place = replace(self._place(idx), on_workload=True)
        return Scope(self, place, sight, sight.input, sight.own)

    def outside(self, sight: Sight) -> "Scope":
        """Return what templates see that belong to no step, such as those of the options."""
        return Scope(self, _Place(-1, ""), sight, None, None)

    def _place(self, idx: int) -> _Place:
        own = self.steps[idx]
        step = own.get("speaks_for", idx)
        seen = self.steps[step]
        tree = seen.get("input", _NONE)
        is_template = isinstance(tree, Mapping) and tree.keys() == {TEMPLATE_MARK}
        is_resource = seen["at"].startswith("mcp/resources/")
        return _Place(
            step,
            seen["type"],
            seen.get("siblings", _NONE),
            None if is_template else frozenset(tree.get(LITERAL_MARK, tree)),
            is_resource or ("turn" in seen and "input" not in seen),
            "speaks_for" in own and own["type"] != "turn.model",
        )

    @cached_property
    def readable(self) -> Mapping[str, int]:
        """The steps that templates may read, by name and by the name without hyphens."""
        own = {
            step["name"]: idx
            for idx, step in enumerate(self.steps)
            if not step.get("hidden") or step["at"].startswith("mcp/resources/")
        }
        return _by_alias(own) | own

    @cached_property
    def sections(self) -> Mapping[str, View]:
        """The sections of `mcp:`; a name with a hyphen is found without it too."""
        return {name: _aliased(self._constants.get(name, {})) for name in _SECTIONS}

    @cached_property
    def mcp(self) -> View:
        """The `mcp:` section."""
        return View(dict(self._constants), first=self.sections)

    def items(self, idx: int, rounds: tuple[Round, ...]) -> Items:
        """Return which instance of a step is meant, seen from inside some iterators."""
        if not rounds or "within" not in self.steps[idx]:
            return ()
        owners: list[int] = []
        while "within" in self.steps[idx]:
            idx = self.steps[idx]["within"]
            owners.append(idx)
        return tuple(one.index for one in rounds if one.iterator in owners)

    def element(self, iterator: int) -> str:
        """Return what an item of an iterator is called."""
        return str(self.steps[iterator]["settings"].get("element", "item"))


def _aliased(section: Mapping[str, Any]) -> View:
    return View(section, (_by_alias(section),))


def _by_alias(named: Mapping[str, Any]) -> dict[str, Any]:
    """Return what stands under each name as a template can write it."""
    return {_NOT_WORD.sub("_", name): one for name, one in named.items()}


class Scope(dict[str, Any]):
    """The names of one step instance; each is looked up when it is first asked for, and kept."""

    __slots__ = ("_input", "_names", "_own", "_place", "_sight")

    def __init__(
        self, names: Names, place: _Place, sight: Sight, given: Any, own: Known | None
    ) -> None:
        self._names = names
        self._place = place
        self._sight = sight
        self._input = given
        self._own = None if place.asks else own

    def with_input(self, given: Any) -> "Scope":
        """Return the scope once the step's input is known."""
        return Scope(self._names, self._place, self._sight, given, self._own)

    def after(self, own: Known) -> "Scope":
        """Return the scope once something came of the step, or of an attempt of it."""
        return Scope(self._names, self._place, self._sight, self._input, own)

    def __missing__(self, name: str) -> Any:
        value = self._find(name)
        if value is _MISSING:
            raise KeyError(name)
        self[name] = value
        return value

    def _find(self, name: str) -> Any:
        """Look a name up in the documented order."""
        sight, names = self._sight, self._names
        value = self._of_item(name) if sight.rounds else _MISSING
        if value is not _MISSING:
            return value
        step = self._place.siblings.get(name)
        if step is not None:
            return self._seen(step)
        value = self._of_input(name)
        if value is not _MISSING:
            return value
        step = names.readable.get(name)
        if step is not None:
            return self._seen(step)
        if name in sight.workload:
            return sight.workload[name]
        if name in _FIXED:
            return _FIXED[name](self)
        own = self._came() if name in _AFTER else None
        if own is not None:
            return _AFTER[name](self._place.kind, own, self._tasks(self._place.step))
        value = self._set(name)
        return sight.now.isoformat() if value is _MISSING and name == "now" else value

    def _of_item(self, name: str) -> Any:
        """Return what a name is inside an iterator: the item, or something about it."""
        rounds, names = self._sight.rounds, self._names
        last = rounds[-1]
        if name == names.element(last.iterator):
            return last.value
        if name in _LOOP:
            return _LOOP[name](self, last)
        outer = (one for one in reversed(rounds[:-1]) if name == names.element(one.iterator))
        return next((one.value for one in outer), _MISSING)

    def _of_input(self, name: str) -> Any:
        """Return what a name is in the step's input, or in what lies below it."""
        place, sight = self._place, self._sight
        given = self._input
        if given is None:
            given = sight.payload
        elif given.__class__ is Later:
            is_there = place.keys is None or name in place.keys or name in sight.payload
            given = self._given() if is_there else None
        is_map = given.__class__ is dict or isinstance(given, Mapping)
        if is_map and name in given:
            return given[name]
        if sight.rounds or place.on_workload:
            for below in self._below():
                if name in below:
                    return below[name]
        return _MISSING

    def _below(self) -> list[Mapping[str, Json]]:
        """Return what lies below the step's input, the nearest first."""
        place, sight = self._place, self._sight
        if place.on_workload:
            return [sight.workload]
        if not sight.rounds or place.alone:
            return []
        return [one.input for one in reversed(sight.rounds) if isinstance(one.input, dict)]

    def _given(self) -> Any:
        """Return the step's input, rendering it if need be; before that what the ways brought."""
        if isinstance(self._input, Later):
            self._input = self._input.make()
        return self._sight.payload if self._input is None else self._input

    def _whole_input(self) -> Any:
        given, below = self._given(), self._below()
        if not isinstance(given, Mapping):
            return given
        if not below:
            return given if given.__class__ is dict else dict(given)
        laid: dict[str, Json] = {}
        for one in (*reversed(below), given):
            laid.update(one)
        return laid

    def _came(self) -> Known | None:
        """Return what came of the step itself, or of the one that it speaks for."""
        return self._known(self._place.step) if self._place.asks else self._own

    def _known(self, step: int) -> Known | None:
        if step == self._place.step and self._own is not None:
            return self._own
        return self._sight.look(step, self._names.items(step, self._sight.rounds))

    def _seen(self, step: int) -> Any:
        """Return how a step is seen by name; one that gave nothing is absent, and says why."""
        about, known = self._names.steps[step], self._known(step)
        if known is not None and (known.state == "done" or known.failed):
            return view_of(about["type"], known, self._tasks(step))
        why = "it has not run" if known is None else f"it was {known.state}"
        return Absent(f"step '{about['name']}' has no result: {why}")

    def _tasks(self, step: int) -> Tasks | None:
        """Return what gathers the results of a sequence's tasks, a failure as `{error: …}`."""
        about = self._names.steps[step]
        if about["type"] != "sequence":
            return None

        def tasks() -> dict[str, Json]:
            found: dict[str, Json] = {}
            for name, task in about.get("siblings", _NONE).items():
                known = self._known(task)
                if known is not None and (known.state == "done" or known.failed):
                    found[name] = {"error": known.error} if known.failed else known.result
            return found

        return tasks

    def _set(self, name: str) -> Any:
        """Return what was set under a name by the latest step that came to it."""
        sight, names = self._sight, self._names
        if name in names.givers.names:
            for step, way in names.givers.of(self._place.step, name):
                given = sight.look_set(step, way, names.items(step, sight.rounds))
                if given is not None and name in given:
                    return given[name]
        return _MISSING

    def _ctx(self) -> Named:
        def one(name: str) -> Any:
            value = self._set(name)
            if value is _MISSING:
                raise KeyError(name)
            return value

        def every() -> list[str]:
            return [name for name in self._names.givers.names if self._set(name) is not _MISSING]

        return Named("the names set under ctx before this step", one, every)

    def _parent(self, one: Round) -> Named:
        """Return the names as they are outside the innermost iterator."""
        rounds = self._sight.rounds[:-1]
        sight = replace(self._sight, rounds=rounds, payload={}, input=one.input, own=None)
        outside = self._names.scope(one.iterator, sight)
        return Named("the names outside the iterator", outside.__getitem__)

    def _iter(self, one: Round) -> View:
        known = {self._names.element(one.iterator): one.value, **_loop(one)}
        return View(known, ({"parent": self._parent(one)}, self._ctx()))

    def _batch(self, one: Round) -> Json:
        is_chunk = "chunk" in self._names.steps[one.iterator]["settings"]
        return one.value if is_chunk else [one.value]

    def _job(self) -> dict[str, Json]:
        execution, playbook = self._sight.execution_id, self._names.playbook
        return {
            "id": execution,
            "uuid": str(execution),
            "execution_id": execution,
            "playbook": playbook["path"],
            "name": playbook["name"],
        }

    def _context(self) -> View:
        return View(self._sight.workload, first={"input": self._sight.workload})

    def _secrets(self) -> Named:
        return Named("the secrets", self._sight.secrets.__getitem__, remedy=set_secret)

    def _env(self) -> Named:
        called = "the variables of the environment that this worker allows"
        return Named(called, self._sight.env.__getitem__, remedy=_allow_variable)


def set_secret(name: str) -> str:
    """Say how a secret that is not there is given."""
    if name != name.lower():
        return f"secrets are named in small letters: 'secrets.{name.lower()}'"
    return f"set {SECRET_PREFIX}{name.upper()} where the worker is started"


def _allow_variable(name: str) -> str:
    return f"set it where the worker is started, and name it in {PREFIX}ENV_ALLOW"


def _loop(one: Round) -> dict[str, Json]:
    return {
        "index": one.index,
        "current_index": one.index,
        "item": one.value,
        "count": one.total,
        "first": one.index == 0,
        "last": one.index == one.total - 1,
    }


_FIXED: Mapping[str, Callable[[Any], Any]] = {
    "workload": lambda scope: scope._sight.workload,
    "context": Scope._context,
    "input": Scope._whole_input,
    "data": Scope._whole_input,
    "secrets": Scope._secrets,
    "env": Scope._env,
    "mcp": lambda scope: scope._names.mcp,
    "prompts": lambda scope: scope._names.sections["prompts"],
    "job": Scope._job,
    "execution_id": lambda scope: scope._sight.execution_id,
    "ctx": Scope._ctx,
}
_AFTER: Mapping[str, Callable[[str, Known, Tasks | None], Any]] = {
    "this": this_of,
    "result": view_of,
    "response": view_of,
    "output": output_of,
    "outcome": output_of,
    "error": lambda kind, own, tasks: own.error if own.failed else None,
    "attempt": lambda kind, own, tasks: own.attempt,
    "status": lambda kind, own, tasks: own.state if own.failed else "completed",
    "status_code": lambda kind, own, tasks: status_code(own),
    "success": lambda kind, own, tasks: not own.failed,
    "event": lambda kind, own, tasks: {"name": "step.failed" if own.failed else "step.done"},
}
AFTERWARDS = frozenset(_AFTER)
"""The names that a step's own templates see only once something came of it."""
_LOOP: Mapping[str, Callable[[Any, Round], Any]] = {
    "_loop": lambda scope, one: _loop(one),
    "iter": Scope._iter,
    "index": lambda scope, one: one.index,
    "batch": Scope._batch,
    "parent": Scope._parent,
}

__all__ = ["AFTERWARDS", "Names", "Scope", "set_secret"]
