"""Start the same once more: a new execution of the same plan, with what is to be different."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from noetl_mcp.broker.desk import By, Desk
from noetl_mcp.broker.lanes import demand_open
from noetl_mcp.broker.starts import Starts
from noetl_mcp.compiler.payload import with_sets
from noetl_mcp.queue.encode import decode


def rerun(
    desk: Desk,
    execution_id: int,
    *,
    by: By,
    payload: Mapping[str, Any] | None = None,
    sets: Sequence[str] = (),
) -> int:
    """Start an execution again with its own payload, changed by names and by `k=v` settings.

    A child starts as an execution of its own. Raises WrongPayload when what comes of it does not
    fit the playbook.
    """
    context = desk.context(execution_id)
    demand_open(execution_id, context.priority)
    program = desk.program(context.plan)
    inputs = program.plan["inputs"]
    given = decode(desk.records.whole(context.payload)) if context.payload else {}
    changed = with_sets({**given, **(payload or {})}, sets, inputs)
    keys = sorted({*(payload or {}), *(text.partition("=")[0].rstrip(":") for text in sets)})
    with desk.audited(by, "rerun", str(execution_id), keys):
        starts = Starts(desk.records, desk.world)
        begin = starts.prepare(
            program,
            changed,
            version=context.version,
            priority=context.priority,
            labels=context.labels,
            on_end=context.on_end,
            rerun_of=execution_id,
        )
        # Its children are those of then, too.
        return starts.start([replace(begin, pins=context.pins)])[0][0]


__all__ = ["rerun"]
