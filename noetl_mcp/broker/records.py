"""What is read and kept around the hot path: contexts, plans, lanes, outcomes, payloads.

One connection, one call at a time. Decides nothing; texts come out as they were put in.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from noetl_mcp.broker.lanes import Lane
from noetl_mcp.broker.start_call import StartCall
from noetl_mcp.database import Connection, TupleRow, statements
from noetl_mcp.queue.apart import keep

SQL = statements(__file__, "records.sql")
Key = tuple[int, int, int]


class Context(NamedTuple):
    """What a worker must know of an execution."""

    id: int
    plan: int
    payload: str | None
    path: str | None = None
    version: int | None = None
    key: str | None = None
    priority: int = 0
    labels: str | None = None
    pins: str | None = None
    parent_execution: int | None = None
    parent_idx: int | None = None
    parent_item: int | None = None
    round: int = 1
    outcome: int = 0
    on_end: str | None = None
    status: int = 0
    created_at: datetime | None = None


class Outcome(NamedTuple):
    """What is known of a step: its state, and texts."""

    state: int
    result: str | None
    error: str | None
    extra: str | None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Begin:
    """One execution to start, and the steps its plan begins with."""

    plan: int
    payload: str
    path: str | None
    version: int | None
    steps: Sequence[tuple[int, int, int, int, int, int, str | None, str | None]]
    """(idx, state, lane, waits, toward, live, result, extra) of each."""
    key: str | None = None
    priority: int = 0
    labels: str | None = None
    pins: str | None = None
    parent: Key | None = None
    rerun_of: int | None = None
    on_end: str | None = None
    timeout: float | None = None
    over: bool = False
    result: str | None = None
    told: str | None = None
    """What the log says instead of a payload that holds secrets."""


class Records:
    """The store behind one connection."""

    def __init__(self, connection: Connection[TupleRow]) -> None:
        self.connection = connection
        self._start = StartCall(connection)

    def _rows(self, name: str, /, **values: Any) -> list[tuple[Any, ...]]:
        return self.connection.execute(SQL[name].encode(), values).fetchall()

    def contexts(self, ids: Iterable[int]) -> dict[int, Context]:
        """Return what is known of executions."""
        return {row[0]: Context(*row) for row in self._rows("contexts", ids=list(ids))}

    def plan(self, number: int) -> str:
        """Return the text of a plan."""
        return str(self._rows("plan", id=number)[0][0])

    def lanes(self, wanted: Sequence[Lane]) -> dict[Lane, int]:
        """Return the number of each lane, making those that are new."""
        missing = list(dict.fromkeys(wanted))
        values: dict[str, list[Any]] = {
            "pools": [lane.queue for lane in missing],
            "ranks": [lane.rank for lane in missing],
            "limits": [_array(lane.limits) for lane in missing],
            "maxes": [_array(lane.maxes) for lane in missing],
            "writes": [lane.writes for lane in missing],
        }
        found = self._found_lanes(values["pools"])
        if any(_lane_key(lane) not in found for lane in missing):
            self.connection.execute(SQL["add_lanes"].encode(), values)
            found = self._found_lanes(values["pools"])
        return {lane: found[_lane_key(lane)] for lane in missing}

    def _found_lanes(self, pools: list[Any]) -> dict[tuple[Any, ...], int]:
        rows = self._rows("find_lanes", pools=pools)
        return {(r[1], r[2], tuple(r[3]), tuple(r[4]), r[5]): r[0] for r in rows}

    def outcomes(self, keys: Sequence[Key]) -> dict[Key, Outcome]:
        """Return what is known of steps."""
        execs, idxs, items = zip(*keys, strict=True)
        rows = self._rows("outcomes", execs=list(execs), idxs=list(idxs), items=list(items))
        return {row[:3]: Outcome(*row[3:]) for row in rows}

    def items(
        self, execution_id: int, idxs: Sequence[int], first: int, last: int
    ) -> dict[tuple[int, int], Outcome]:
        """Return the steps of an iterator's items, by step and item."""
        rows = self._rows(
            "items", execution_id=execution_id, idxs=list(idxs), first=first, last=last
        )
        return {(row[0], row[1]): Outcome(*row[2:]) for row in rows}

    def fan(self, key: Key) -> tuple[int, int, int, int, int, bool] | None:
        """Return (total, next, live, failed, tolerate, closed) of an iterator's window."""
        rows = self._rows("fan", execution_id=key[0], idx=key[1], item=key[2])
        return rows[0] if rows else None

    def signal(self, key: Key) -> tuple[str | None, str | None] | None:
        """Return what arrived for a parked step, and who said it."""
        rows = self._rows("signal", execution_id=key[0], idx=key[1], item=key[2])
        return (rows[0][0], rows[0][1]) if rows else None

    def ended(self, execution_id: int) -> tuple[int, str | None, str | None] | None:
        """Return (status, result, error) of an execution."""
        rows = self._rows("ended", id=execution_id)
        return (rows[0][0], rows[0][1], rows[0][2]) if rows else None

    def halted(self) -> list[tuple[int, int, int, str | None]]:
        """Return the executions that are to end, with their plans and why."""
        return [(row[0], row[1], row[2], row[3]) for row in self._rows("halted")]

    def note(self, key: Key, lease: int, worker: int, note: str) -> bool:
        """Keep a note with a step that a worker holds; say whether it still held it."""
        return bool(
            self._rows(
                "note",
                execution_id=key[0],
                idx=key[1],
                item=key[2],
                worker=worker,
                lease=lease,
                note=note,
            )
        )

    def playbook(self, path: str, version: int | None) -> tuple[int, int] | None:
        """Return (plan, version) of a playbook in the catalog, the latest when none is named."""
        rows = self._rows("find_playbook", path=path, version=version)
        return (rows[0][0], rows[0][1]) if rows else None

    def close(self, execution_id: int, finals: Sequence[tuple[int, int]]) -> str:
        """End a halted execution if nothing of it can move; say how it stands."""
        idxs, lanes = [idx for idx, _ in finals], [lane for _, lane in finals]
        return str(self._rows("close", id=execution_id, idxs=idxs, lanes=lanes)[0][0])

    def seal(self) -> bytes:
        """Return the secret from which tokens are derived."""
        return bytes(self._rows("seal")[0][0])

    def keep(self, text: str) -> str:
        """Return a text that fits into a row: itself, or `@` and its digest once it is stored."""
        return keep(self.connection, text)

    def whole(self, text: str) -> str:
        """Return the text behind what stands in a row."""
        if not text.startswith("@"):
            return text
        return str(self._rows("payload", digest=text[1:])[0][0])

    def start(self, begins: Sequence[Begin]) -> list[tuple[int, bool]]:
        """Start executions; return the number of each, and whether it is a new one."""
        return self._start(begins)


def _array(values: Sequence[Any]) -> str:
    """Return a list as Postgres writes it."""
    quoted = (str(v).replace("\\", "\\\\").replace('"', '\\"') for v in values)
    return "{" + ",".join(f'"{one}"' for one in quoted) + "}"


def _lane_key(lane: Lane) -> tuple[Any, ...]:
    return (lane.queue, lane.rank, lane.limits, lane.maxes, lane.writes)


__all__ = ["SQL", "Begin", "Context", "Key", "Outcome", "Records"]
