"""The call that starts executions: prepared once a connection, its columns as binary arrays.

What no execution of a call has is not sent, and costs the database nothing. Decides nothing.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakSet

from noetl_mcp.database import Connection, TupleRow, refused
from noetl_mcp.queue.binary import (
    ARRAY_OF,
    BOOL,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    TEXT,
    array,
    read_array,
    sparse,
    texts,
)

if TYPE_CHECKING:
    from noetl_mcp.broker.records import Begin

_Encode = Callable[[Sequence[Any]], bytes | None]


def _all(oid: int) -> tuple[int, _Encode]:
    return ARRAY_OF[oid], lambda values: array(oid, values)


def _some(oid: int) -> tuple[int, _Encode]:
    return ARRAY_OF[oid], lambda values: sparse(oid, values)


def _set(oid: int) -> tuple[int, _Encode]:
    return ARRAY_OF[oid], lambda values: array(oid, values) if any(values) else None


_I4, _N4, _N8, _TEXTS = _all(INT4), _some(INT4), _some(INT8), (ARRAY_OF[TEXT], texts)
_BEGINS = (
    *(_I4, _TEXTS, _TEXTS, _set(INT2), _TEXTS, _N4, _TEXTS, _TEXTS),
    *(_N8, _N4, _N8, _N8, _TEXTS, _some(FLOAT8), _set(BOOL), _TEXTS, _TEXTS),
)
_STEPS = (_I4, _I4, _all(INT2), _I4, _I4, _I4, _I4, _TEXTS, _TEXTS)
_TYPES = [oid for oid, _ in (*_BEGINS, *_STEPS)]
_NAME = b"noetl_start"
_CALL = (
    "select ids, fresh, case when $9 is not null then noetl.follow_1($9, ids, fresh) end"
    " from noetl.start_1(" + ", ".join(f"${n}" for n in range(1, len(_TYPES) + 1)) + ")"
).encode()
_COMMAND_OK, _TUPLES_OK = 1, 2
_prepared: WeakSet[Connection[TupleRow]] = WeakSet()
"""The connections that know the call."""


class StartCall:
    """One connection's way to start executions."""

    def __init__(self, connection: Connection[TupleRow]) -> None:
        self._connection = connection

    def __call__(self, begins: Sequence["Begin"]) -> list[tuple[int, bool]]:
        """Start executions; return the number of each, and whether it is a new one."""
        session = self._connection.pgconn
        if self._connection not in _prepared:
            prepared = session.prepare(_NAME, _CALL, _TYPES)
            if prepared.status != _COMMAND_OK:
                raise refused(prepared)
            _prepared.add(self._connection)
        of_begins = [_row(one) for one in begins]
        of_steps = [(n, *step) for n, one in enumerate(begins, 1) for step in one.steps]
        values = _encoded(_BEGINS, of_begins) + _encoded(_STEPS, of_steps)
        answer = session.exec_prepared(_NAME, cast(Any, values), [1] * len(values), 1)
        if answer.status != _TUPLES_OK:
            raise refused(answer)
        ids = read_array(INT8, answer.get_value(0, 0))
        return list(zip(ids, read_array(BOOL, answer.get_value(0, 1)), strict=True))


def _row(one: "Begin") -> tuple[Any, ...]:
    parent = one.parent or (None, None, None)
    return (
        *(one.plan, one.payload, one.key, one.priority, one.path, one.version, one.labels),
        *(one.pins, *parent, one.rerun_of, one.on_end, one.timeout, one.over, one.result),
        one.told,
    )


def _encoded(
    group: Sequence[tuple[int, _Encode]], rows: Sequence[tuple[Any, ...]]
) -> list[bytes | None]:
    columns: Sequence[Sequence[Any]] = list(zip(*rows, strict=True)) or [()] * len(group)
    return [encode(column) for (_, encode), column in zip(group, columns, strict=True)]


__all__ = ["StartCall"]
