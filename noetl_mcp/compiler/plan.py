"""The plan: frozen JSON with a digest, and flat arrays for whoever runs it.

It holds no line of the text it came from: two spellings of one playbook give one plan. `at` of a
step is a path into the read playbook, from which `playbook.load` finds the line again.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import orjson

FORMAT = 1
TEMPLATE_MARK = "$t"
LITERAL_MARK = "$lit"

EdgeKind = Literal["next", "error", "failed", "need"]


@dataclass(frozen=True, slots=True)
class PlanEdge:
    """One way between two steps, by their numbers; `when` is the number of a template."""

    source: int
    target: int
    kind: EdgeKind
    when: int | bool | None
    data: Any
    set: Any

    def as_json(self) -> dict[str, Any]:
        """Return the form that stands in the plan."""
        found: dict[str, Any] = {"source": self.source, "target": self.target, "kind": self.kind}
        for key in ("when", "data", "set"):
            if getattr(self, key) is not None:
                found[key] = getattr(self, key)
        return found


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One step of a plan. `more` holds what only some steps have; nothing in it is null."""

    name: str
    type: str
    at: str
    hidden: bool
    writes: bool
    more: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        """Return the form that stands in the plan."""
        head = {"name": self.name, "type": self.type, "at": self.at}
        marks = {key: True for key in ("hidden", "writes") if getattr(self, key)}
        return {**head, **marks, **self.more}


@dataclass(frozen=True)
class Plan:
    """Everything an execution will do, decided before it begins."""

    playbook: Mapping[str, Any]
    inputs: tuple[Mapping[str, Any], ...]
    steps: tuple[PlanStep, ...]
    edges: tuple[PlanEdge, ...]
    templates: tuple[Mapping[str, Any], ...]
    constants: Mapping[str, Any]
    tools: Mapping[str, Any]
    options: Mapping[str, Any]
    result: Mapping[str, Any]

    @cached_property
    def content(self) -> dict[str, Any]:
        """The plan as JSON, without its digest."""
        return {
            "format": FORMAT,
            "playbook": dict(self.playbook),
            "inputs": [dict(one) for one in self.inputs],
            "steps": [step.as_json() for step in self.steps],
            "edges": [edge.as_json() for edge in self.edges],
            "arrays": self.arrays,
            "templates": [dict(one) for one in self.templates],
            "constants": dict(self.constants),
            "tools": dict(self.tools),
            "options": dict(self.options),
            "result": dict(self.result),
        }

    @cached_property
    def arrays(self) -> dict[str, list[int]]:
        """The graph in flat lists: of step `i` the ways on are `succ[succ_at[i]:succ_at[i+1]]`.

        `edge` gives the number of each of these ways, `waits` how many ways lead to a step, and
        `join` is 0 for all, 1 for any, 2 for settled (runs when all is decided, live or not).
        """
        by_source: list[list[int]] = [[] for _ in self.steps]
        waits = [0] * len(self.steps)
        for number, edge in enumerate(self.edges):
            by_source[edge.source].append(number)
            waits[edge.target] += 1
        starts = [0]
        for ways in by_source:
            starts.append(starts[-1] + len(ways))
        order = [number for ways in by_source for number in ways]
        joins = {"all": 0, "any": 1, "settled": 2}
        return {
            "succ_at": starts,
            "succ": [self.edges[number].target for number in order],
            "edge": order,
            "waits": waits,
            "join": [joins[step.more.get("join", "all")] for step in self.steps],
            "entries": [n for n, step in enumerate(self.steps) if step.more.get("entry")],
        }

    @cached_property
    def digest(self) -> str:
        """The name of the content: the same content has the same digest everywhere."""
        return hashlib.sha256(orjson.dumps(self.content, option=orjson.OPT_SORT_KEYS)).hexdigest()

    def to_json(self, *, pretty: bool = False) -> bytes:
        """Return the plan with its digest as JSON text."""
        option = orjson.OPT_INDENT_2 if pretty else 0
        return orjson.dumps({"digest": self.digest, **self.content}, option=option)

    def index(self, name: str) -> int:
        """Return the number of a step."""
        return self._numbers[name]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {step.name: number for number, step in enumerate(self.steps)}
