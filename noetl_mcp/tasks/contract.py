"""What the compiler must know of a task type before any plugin is imported."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from noetl_mcp.playbook.node import Json
from noetl_mcp.playbook.values import Model

Settings = Mapping[str, Json]
UnknownOutcome = Literal["run_again", "in_doubt", "resume"]
Confirmation = Literal["never", "warned", "refused"]


def reads(settings: Settings) -> bool:
    """Say of a task type that it never writes by itself."""
    return False


def writes(settings: Settings) -> bool:
    """Say of a task type that it always writes."""
    return True


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """A task type: its settings, whether it writes, and what a lost answer means.

    `writes` looks at the settings as written; where they are templates it must assume the worst.
    A step's own `writes: true` or `false` wins where `may_say_writes`. `confirmation` says what an
    unconfirmed write meets. `sql` and `code` name the settings that hold SQL (values become bound
    parameters) and program text (never rendered).

    `plugin` is what carries the type out, for one that an installed package brings: a class with
    `execute` and `close` or a function that returns such an object, best as its import path
    (`greetings.task:Greet`), which only a worker loads. `computes` says that it keeps a processor
    busy; then it runs in a thread of its own and waits among the steps that compute.
    """

    name: str
    summary: str
    settings: type[Model]
    writes: Callable[[Settings], bool] = reads
    may_say_writes: bool = True
    unknown_outcome: UnknownOutcome = "run_again"
    confirmation: Confirmation = "warned"
    required_one_of: tuple[frozenset[str], ...] = ()
    sql: frozenset[str] = field(default_factory=frozenset)
    code: frozenset[str] = field(default_factory=frozenset)
    plugin: str | Callable[[], Any] | None = None
    computes: bool = False
