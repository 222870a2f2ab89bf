"""What one step instance can see of its execution, as whoever runs it tells. Looks nothing up."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from noetl_mcp.broker.results import Known
from noetl_mcp.playbook.rendering.secret import Secret

Items = tuple[int, ...]
"""Which instance of a step is meant: the item of each iterator around it, the outermost first."""
Look = Callable[[int, Items], Known | None]
"""What came of a step, by its number; None when nothing did yet."""
LookSet = Callable[[int, int | None, Items], Mapping[str, Any] | None]
"""What a step set under `ctx`, or one of its ways, by the way's number; None when neither came."""


@dataclass(frozen=True, slots=True)
class Round:
    """One item of an iterator: `value` is what is handed out, a list of items when it chunks.

    `input` is the input of the iterator's step, which its tasks see below their own.
    """

    iterator: int
    index: int
    value: Any
    total: int
    input: Any = None


@dataclass(frozen=True, slots=True)
class Later:
    """An input that is rendered only when a template asks for it."""

    make: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Sight:
    """What a step instance can see.

    `input` is None until it is rendered, or a `Later`; until then `payload`, what the ways brought,
    stands for it. Of a step that speaks for another both are those of that one. `own` is what came
    of the step, or of its attempt. `rounds` are the items that it is done for, outermost first.
    """

    execution_id: int | str
    workload: Mapping[str, Any]
    now: datetime
    look: Look
    look_set: LookSet
    secrets: Mapping[str, Secret] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    payload: Mapping[str, Any] = field(default_factory=dict)
    input: Any = None
    own: Known | None = None
    rounds: tuple[Round, ...] = ()


__all__ = ["Items", "Later", "Look", "LookSet", "Round", "Sight"]
