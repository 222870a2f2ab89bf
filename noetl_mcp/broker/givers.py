"""Find who may have set a name under `ctx` that a step reads. Asks nobody whether it did."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

Giver = tuple[int, int | None]
"""A step, and the number of its way that sets the name; None when the step itself does."""
_NONE: Mapping[str, Any] = {}


class Givers:
    """The steps and ways of a plan that set names.

    Where the plan lists the givers of a name for a step, its list holds. For a tool, or for `ctx`
    as a whole, it lists none, and they are found by the same rule: whatever control comes from.
    """

    def __init__(self, plan: Mapping[str, Any]) -> None:
        self._steps: list[Mapping[str, Any]] = plan["steps"]
        self._edges: list[Mapping[str, Any]] = plan["edges"]
        self._found: dict[tuple[int, str], tuple[Giver, ...]] = {}
        self._before: dict[int, set[int]] = {}

    def of(self, reader: int, name: str) -> tuple[Giver, ...]:
        """Return who may set a name that a step reads, the one that counts first at the front.

        A way counts when it leads on to the reader, and before what its step itself sets.
        """
        key = (reader, name)
        if key not in self._found:
            self._found[key] = tuple(self._givers(reader, name))
        return self._found[key]

    @cached_property
    def names(self) -> Mapping[str, frozenset[int]]:
        """Every name that is set, with the steps that set it, or whose ways do."""
        found: dict[str, set[int]] = {}
        for idx, step in enumerate(self._steps):
            for name in step.get("set", ()):
                found.setdefault(name, set()).add(idx)
        for idx, ways in self._ways.items():
            for number in ways:
                for name in self._edges[number]["set"]:
                    found.setdefault(name, set()).add(idx)
        return {name: frozenset(givers) for name, givers in found.items()}

    def _givers(self, reader: int, name: str) -> Iterator[Giver]:
        above = self._above(reader)
        listed = self._steps[reader].get("ctx", _NONE).get(name)
        for step in self._unlisted(reader, name) if listed is None else listed:
            for number in reversed(self._ways.get(step, ())):
                edge = self._edges[number]
                if name in edge["set"] and edge["target"] in above:
                    yield step, number
            if name in self._steps[step].get("set", ()):
                yield step, None

    def _unlisted(self, reader: int, name: str) -> list[int]:
        above, inside = self._above(reader), self._steps[reader].get("within")
        return [
            step
            for step in sorted(self.names.get(name, ()), reverse=True)
            if step in above and self._steps[step].get("within") in (None, inside)
        ]

    def _above(self, reader: int) -> set[int]:
        """Return the steps from which control leads to a step, itself included."""
        if reader not in self._before:
            found, stack = {reader}, [reader]
            while stack:
                step = stack.pop()
                outside = self._steps[step].get("within", step)
                more = {*self._sources[step], outside} - found
                found |= more
                stack += more
            self._before[reader] = found
        return self._before[reader]

    @cached_property
    def _sources(self) -> list[list[int]]:
        sources: list[list[int]] = [[] for _ in self._steps]
        for edge in self._edges:
            sources[edge["target"]].append(edge["source"])
        return sources

    @cached_property
    def _ways(self) -> Mapping[int, list[int]]:
        """The ways that set names, by the step they lead from."""
        ways: dict[int, list[int]] = {}
        for number, edge in enumerate(self._edges):
            if "set" in edge:
                ways.setdefault(edge["source"], []).append(number)
        return ways


__all__ = ["Giver", "Givers"]
