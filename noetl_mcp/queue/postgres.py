"""The queue in Postgres: one prepared call a flush, by the connection of one worker.

Decides nothing and tries nothing again. Errors come out as what a worker must do about them.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

from noetl_mcp.database import Connection, Error, TupleRow
from noetl_mcp.queue.apart import keep_results
from noetl_mcp.queue.binary import (
    ARRAY_OF,
    BOOL,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    TEXT,
    array,
    columns,
    number,
    read_array,
    read_texts,
    sparse,
    texts,
)
from noetl_mcp.queue.lease import (
    BadValue,
    Fenced,
    Flush,
    Flushed,
    Lease,
    Lost,
    Stale,
    Wish,
)

PLANNER = (
    "enable_seqscan=off",
    "enable_hashjoin=off",
    "enable_mergejoin=off",
    "enable_bitmapscan=off",
    "plan_cache_mode=force_generic_plan",
    "jit=off",
)
_TUPLES_OK = 2
_COMMAND_OK = 1
_Encode = Callable[[Sequence[Any]], bytes | None]


def _plain(oid: int) -> tuple[int, _Encode]:
    return ARRAY_OF[oid], lambda values: array(oid, values)


_B, _I2, _I4, _I8 = _plain(BOOL), _plain(INT2), _plain(INT4), _plain(INT8)
_T: tuple[int, _Encode] = (ARRAY_OF[TEXT], texts)
_F: tuple[int, _Encode] = (ARRAY_OF[FLOAT8], lambda values: sparse(FLOAT8, values))
_S: tuple[int, _Encode] = (ARRAY_OF[INT4], lambda values: sparse(INT4, values) or array(INT4, ()))
_S8: tuple[int, _Encode] = (ARRAY_OF[INT8], lambda values: sparse(INT8, values) or array(INT8, ()))
_KEY = (_I8, _I4, _I8)
_GROUPS: tuple[tuple[str, tuple[tuple[int, _Encode], ...]], ...] = (
    ("settled", (*_KEY, _I4, _I2, _I2, _I4, _T, _T, _T, _T, _T, _F, _I4)),
    ("tokens", (*_KEY, _I4, _I4, _I4, _I4, _B)),
    ("opened", (*_KEY, _I4, _I4, _I4, _T, _T)),
    ("ended", (*_KEY, _I4, _I4, _I4, _I4)),
    ("over", (_I8, _I2, _T, _T)),
    ("halts", (_I8, _I2, _T)),
    ("arrived", (*_KEY, _T)),
    ("awaited", (*_KEY, _I4, _T)),
    ("released", _KEY),
    ("told", (_I2, _I8, _S, _S8, _S, _T)),
)
_HEAD_TYPES = (
    *(INT8, INT8, BOOL, BOOL),
    *(ARRAY_OF[TEXT], ARRAY_OF[INT4], ARRAY_OF[INT8], BOOL, BOOL),
    *(ARRAY_OF[INT8], ARRAY_OF[INT4], ARRAY_OF[INT8]),
)
_TYPES = (*_HEAD_TYPES, *(oid for _, group in _GROUPS for oid, _ in group))
_NAME = b"noetl_flush"
_CALL = (
    "select * from noetl.flush_1(" + ", ".join(f"${n}" for n in range(1, len(_TYPES) + 1)) + ")"
).encode()
_NOTHING = {name: [None] * len(group) for name, group in _GROUPS}


class PostgresQueue:
    """One worker's leases; its connection is used by one thread only."""

    def __init__(self, connection: Connection[TupleRow], worker: int, epoch: int) -> None:
        self.connection = connection
        self.worker = worker
        self.epoch = epoch
        for setting in PLANNER:
            connection.execute(f"set {setting}".encode())
        self._ask = connection.pgconn
        prepared = self._ask.prepare(_NAME, _CALL, _TYPES)
        if prepared.status != _COMMAND_OK:
            raise Lost(prepared.error_message.decode(errors="replace").strip())

    def flush(self, flush: Flush, wish: Wish) -> Flushed:
        """Settle, unlock and take in one call."""
        if flush.has_large:
            self._keep(flush)
        values: list[bytes | None] = [
            number(INT8, self.worker),
            number(INT8, self.epoch),
            number(BOOL, wish.beat),
            number(BOOL, wish.asleep),
            texts(wish.pools),
            array(INT4, wish.wants),
            None if wish.only is None else array(INT8, wish.only),
            number(BOOL, wish.alone),
            number(BOOL, flush.relaxed > 0 and flush.may_be_lost),
            *_noted(wish.holds),
        ]
        for name, group in _GROUPS:
            rows = getattr(flush, name)
            if not rows:
                values += _NOTHING[name]
                continue
            if name == "opened":
                rows = [(*row[:6], _listed(row.entries), _listed(row.lanes)) for row in rows]
            values += [
                encode(column)
                for (_, encode), column in zip(group, columns(rows, len(group)), strict=True)
            ]
        answer = self._ask.exec_prepared(_NAME, cast(Any, values), [1] * len(values), 1)
        if answer.status != _TUPLES_OK:
            raise _problem(answer.error_field(67), answer.error_message)
        return _read([answer.get_value(0, n) for n in range(answer.nfields)])

    def _keep(self, flush: Flush) -> None:
        """Store large results first; what the database refuses then is refused as in the flush."""
        try:
            keep_results(self.connection, flush)
        except Error as problem:
            raise _problem((problem.sqlstate or "").encode(), str(problem).encode()) from None

    def held(self) -> list[Lease]:
        """Return what this worker holds, asked when the answer of a flush was lost."""
        rows = self.connection.execute(
            "select exec, idx, item, lease, attempt, crashes, live, before, lane, e.plan_id,"
            " e.payload, true, note, answer from noetl.held_1(%s) h"
            " join noetl.execution e on e.id = h.exec",
            (self.worker,),
        ).fetchall()
        return [Lease(*row) for row in rows]


def _noted(keys: Sequence[tuple[int, int, int]] | None) -> Sequence[bytes | None]:
    if keys is None:
        return (None, None, None)
    return [
        array(oid, column) for oid, column in zip((INT8, INT4, INT8), columns(keys, 3), strict=True)
    ]


def _listed(numbers: Sequence[int]) -> str:
    return "{" + ",".join(map(str, numbers)) + "}"


def _problem(sqlstate: bytes | None, message: bytes) -> Exception:
    """Return what a failed call means for the worker."""
    state, text = (sqlstate or b"").decode(), message.decode(errors="replace").strip()
    if state == "NE001":
        return Fenced(text)
    if state == "NE002":
        return Stale(text)
    if state[:2] in ("22", "23", "54"):
        return BadValue(text)
    return Lost(f"{state} {text}")


def _read(row: list[bytes | None]) -> Flushed:
    leases: list[Lease] = []
    if row[0] is not None:
        numbers = [
            read_array(oid, raw)
            for oid, raw in zip(
                (INT8, INT4, INT8, INT4, INT4, INT4, INT4, INT2, INT4, INT4), row, strict=False
            )
        ]
        rest = (
            read_texts(row[10]),
            read_array(BOOL, row[11]),
            read_texts(row[12]),
            read_texts(row[13]),
        )
        leases = list(map(Lease._make, zip(*numbers, *rest, strict=True)))
    due = row[16]
    halted = zip(read_array(INT8, row[14]), read_array(INT2, row[15]), strict=True)
    return Flushed(
        leases,
        tuple(halted),
        None if due is None else _float(due),
        row[17] == b"\x01",
        read_array(INT8, row[18]),
        tuple(zip(read_array(INT8, row[19]), read_array(INT8, row[20]), strict=True)),
        row[21] == b"\x01",
    )


def _float(raw: bytes) -> float:
    from struct import unpack

    return float(unpack(">d", raw)[0])


__all__ = ["PLANNER", "PostgresQueue"]
