"""An execution as a test tells it: what came of which step, and what its templates see."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import orjson

from noetl_mcp.broker.names import Names, Scope
from noetl_mcp.broker.results import Known
from noetl_mcp.broker.sight import Items, Sight
from noetl_mcp.compiler.plan import Plan
from noetl_mcp.playbook.node import Json
from noetl_mcp.playbook.rendering.render import compile_text
from noetl_mcp.playbook.rendering.secret import Secret

NOW = datetime(2027, 1, 31, 8, 0, tzinfo=UTC)


@dataclass
class World:
    """One execution of a plan."""

    plan: dict[str, Any]
    workload: dict[str, Json] = field(default_factory=dict)
    outcomes: dict[tuple[int, Items], Known] = field(default_factory=dict)
    sets: dict[tuple[int, int | None, Items], Mapping[str, Json]] = field(default_factory=dict)
    asked: list[tuple[int, Items]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.names = Names(self.plan)

    def index(self, name: str) -> int:
        return next(n for n, step in enumerate(self.plan["steps"]) if step["name"] == name)

    def came(self, name: str, result: Json = None, *items: int, error: Json = None) -> None:
        state = "done" if error is None else "failed"
        self.outcomes[self.index(name), items] = Known(state, result, error)  # type: ignore[arg-type]

    def skipped(self, name: str) -> None:
        self.outcomes[self.index(name), ()] = Known("skipped")

    def sight(self, **more: Any) -> Sight:
        given = Sight(
            execution_id=4711,
            workload=self.workload,
            now=NOW,
            look=self._look,
            look_set=lambda step, way, items: self.sets.get((step, way, items)),
            secrets={"token": Secret("s3cr3t")},
            env={"LANG": "C"},
        )
        return replace(given, **more)

    def _look(self, step: int, items: Items) -> Known | None:
        self.asked.append((step, items))
        return self.outcomes.get((step, items))

    def scope(self, step: str, **more: Any) -> Scope:
        return self.names.scope(self.index(step), self.sight(**more))

    def see(self, step: str, text: str, **more: Any) -> object:
        return compile_text(text)(self.scope(step, **more))


def world_of(plan: Plan, **workload: Json) -> World:
    """Return a world in which nothing has happened yet; the plan goes through JSON."""
    return World(orjson.loads(plan.to_json()), workload)
