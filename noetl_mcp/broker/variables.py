"""Render the variables of an execution: the defaults of a plan, under what was submitted.

The templates of a default see the execution and the other variables, and no step. Checks no type;
two variables that need each other are refused.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from noetl_mcp.broker.names import Names
from noetl_mcp.broker.sight import Sight
from noetl_mcp.broker.trees import Renderers, Tree
from noetl_mcp.playbook.node import Json
from noetl_mcp.playbook.rendering.render import RenderError


def variables(
    plan: Mapping[str, Any], renderers: Renderers, given: Mapping[str, Json], sight: Sight
) -> dict[str, Any]:
    """Return every variable that has a value; `sight.workload` is not looked at."""
    defaults = {
        one["name"]: Tree(one["default"], renderers, "workload", one["name"])
        for one in plan["inputs"]
        if "default" in one and one["name"] not in given
    }
    order = [one["name"] for one in plan["inputs"] if one["name"] in {*defaults, *given}]
    found = _Variables(given, defaults, order)
    names = Names({**plan, "steps": [], "edges": []})
    found.scope = names.outside(replace(sight, workload=found))
    return dict(found)


class _Variables(Mapping[str, Any]):
    """Variables by name, each rendered when it is first asked for."""

    def __init__(
        self, given: Mapping[str, Json], defaults: Mapping[str, Tree], order: Sequence[str]
    ) -> None:
        self.scope: Mapping[str, object] = {}
        self._names = dict.fromkeys((*order, *given))
        self._known: dict[str, Any] = dict(given)
        self._defaults = defaults
        self._begun: list[str] = []

    def __getitem__(self, name: str) -> Any:
        if name not in self._known:
            self._known[name] = self._rendered(name)
        return self._known[name]

    def _rendered(self, name: str) -> Any:
        tree = self._defaults[name]
        if name in self._begun:
            circle = ", ".join(self._begun[self._begun.index(name) :])
            raise RenderError(f"the variable '{name}'", f"it needs itself, by way of {circle}")
        self._begun.append(name)
        value = tree.render(self.scope)
        self._begun.remove(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


__all__ = ["variables"]
