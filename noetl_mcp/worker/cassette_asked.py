"""What a call asks, as a cassette keeps it, and in which fields two of them differ. Pure."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from pydantic import BaseModel

from noetl_mcp.broker.places import written
from noetl_mcp.broker.records import Context
from noetl_mcp.tasks.calls import Call
from noetl_mcp.worker.calling import Around
from noetl_mcp.worker.cassette import Spot, plain_of
from noetl_mcp.worker.masks import Mask

COMPUTES = frozenset(("python", "save.python"))
"""Types whose calls are the playbook's own program: they run, unless they write."""
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Difference:
    """One field of a request that is not as it was recorded; None stands for a missing one."""

    field: str
    recorded: Any
    now: Any

    def as_json(self) -> dict[str, Any]:
        """Return it as it is printed."""
        return {"field": self.field, "recorded": self.recorded, "now": self.now}


@dataclass(slots=True, eq=False)
class Spots:
    """Says from where calls are made; of sub-playbooks somebody else knows who called them."""

    within: Callable[[Context], str]
    known: dict[int, str] = field(default_factory=dict)

    async def of(self, around: Around) -> Spot:
        """Return the spot of a call."""
        work = around.work
        context = work.run.context
        step = written(work.run.program, work.node.idx, work.item)
        if context.parent_execution is None:
            return Spot(step)
        if context.id not in self.known:
            self.known[context.id] = await asyncio.to_thread(self.within, context)
        return Spot(step, self.known[context.id])


def around_of(call: Call) -> Around:
    """Return what the worker put around a call: the step, and the secrets it was given."""
    around = call.around
    assert isinstance(around, Around)
    return around


def asked_of(call: Call) -> dict[str, Any]:
    """Return what a call asks, without secrets and without what differs in every execution."""
    settings = call.settings
    if isinstance(settings, BaseModel):
        settings = settings.model_dump(exclude_defaults=True)
    asked = {
        "settings": settings or {},
        "input": call.input,
        "sql": [[one.text, list(one.values)] for one in call.sql],
    }
    mask = around_of(call).mask
    return {key: shown(mask, one) for key, one in asked.items() if one is not None and one != []}


def shown(mask: Mask, value: Any) -> Any:
    """Return a value without secrets, as it is read back."""
    try:
        return mask.value(plain_of(mask.value(value)))
    except RecursionError:
        return "(it is too deep to be shown)"


def is_computed_here(call: Call) -> bool:
    """Whether a call is the playbook's own program, which no cassette stands for."""
    return call.task in COMPUTES and not call.writes


def differences(
    step: str, recorded: Any, now: Any, ignored: Sequence[str] = ()
) -> list[Difference]:
    """Return the fields that differ, but for those that may; a pattern is STEP.FIELD with `*`."""
    name = step.partition("[")[0]
    return [
        one
        for one in _differing("", recorded, now)
        if not any(fnmatchcase(f"{name}.{one.field}", pattern) for pattern in ignored)
    ]


def _differing(path: str, recorded: Any, now: Any) -> Iterator[Difference]:
    if isinstance(recorded, Mapping) and isinstance(now, Mapping):
        for key in sorted({*recorded, *now}):
            one, other = recorded.get(key, _ABSENT), now.get(key, _ABSENT)
            yield from _differing(f"{path}.{key}" if path else key, one, other)
    elif isinstance(recorded, list) and isinstance(now, list) and len(recorded) == len(now):
        for number, (one, other) in enumerate(zip(recorded, now, strict=True)):
            yield from _differing(f"{path}.{number}", one, other)
    elif type(recorded) is not type(now) or recorded != now:
        yield Difference(path, _shown(recorded), _shown(now))


def _shown(value: Any) -> Any:
    return None if value is _ABSENT else value


__all__ = [
    "COMPUTES",
    "Difference",
    "Spots",
    "around_of",
    "asked_of",
    "differences",
    "is_computed_here",
    "shown",
]
