"""What a worker is given: connections, tasks, what templates may see, and how it works."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from noetl_mcp.broker.run import World
from noetl_mcp.database import Connection, TupleRow
from noetl_mcp.tasks.calls import Task
from noetl_mcp.tasks.contract import TaskSpec
from noetl_mcp.worker.calling import Rules
from noetl_mcp.worker.engine import Terms

Connect = Callable[[str], Connection[TupleRow]]
"""Opens a connection for a purpose."""


@dataclass(frozen=True, slots=True)
class Equipment:
    """What a worker is given."""

    connect: Connect
    specs: Mapping[str, TaskSpec]
    task: Callable[[str], Task | None]
    lives: Path
    """The folder in which the workers of this machine lock their lives."""
    world: World = field(default_factory=World)
    rules: Rules = field(default_factory=Rules)
    terms: Terms = field(default_factory=Terms)
    credentials: Callable[[str], Mapping[str, Any]] | None = None
    name: str | None = None
    caches: bool = True
    """Whether former results are used and kept, where steps ask for that."""
    keep: timedelta | None = None
    """How long ended executions and their events are kept; for ever when None."""


__all__ = ["Connect", "Equipment"]
