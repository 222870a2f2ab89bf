"""Calls for tests: what an engine would hand to a task, with statements bound from SQL."""

from collections.abc import Mapping
from typing import Any

from noetl_mcp.playbook.node import Json
from noetl_mcp.playbook.rendering.render import compile_text
from noetl_mcp.tasks.calls import Call, HandedBack, Statement
from noetl_mcp.tasks.sql_text import bind


class Around:
    """Surroundings of a lease that holds, unless said otherwise."""

    def __init__(self, *, holds: bool = True) -> None:
        self.holds = holds
        self.asked = 0
        self.notes: list[Json] = []

    def may_send(self) -> None:
        self.asked += 1
        if not self.holds:
            raise HandedBack

    async def remember(self, note: Json) -> None:
        self.notes.append(note)

    def log(self, text: str, *, stream: str = "stdout") -> None:
        self.notes.append(text)


def bound(sql: str, **names: object) -> tuple[Statement, ...]:
    """The statements of a template, rendered with some names."""
    return bind(sql, lambda expression: compile_text(expression)(names))


def call(
    task: str, settings: Any, *, names: Mapping[str, object] | None = None, **more: Any
) -> Call:
    """One attempt of one step; the settings' `sql` is bound with `names`."""
    texts = getattr(settings, "sql", None) or ()
    statements = [one for text in texts for one in bound(text, **(names or {}))]
    given = {"input": None, "around": Around(), "sql": statements, "key": "1/step/1", **more}
    return Call(task, settings, **given)
