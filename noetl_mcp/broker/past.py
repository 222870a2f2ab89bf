"""Read how the steps of an execution stood when it ended. Decides nothing about them."""

from typing import Any

from noetl_mcp.broker.desk import Desk
from noetl_mcp.broker.places import body_of, written
from noetl_mcp.broker.program import Program
from noetl_mcp.broker.recount import stand_of
from noetl_mcp.broker.refusals import NotAllowed
from noetl_mcp.broker.reset import Fan, Key, Past, Row
from noetl_mcp.database import statements
from noetl_mcp.queue.encode import decode
from noetl_mcp.queue.lease import State

SQL = statements(__file__, "retry.sql")
_NOTE = '{"note":'
_ENDED_BADLY = (State.FAILED, State.DEAD, State.CANCELLED)


def past_of(desk: Desk, execution_id: int, program: Program) -> Past:
    """Return the steps of an execution; the items of those iterators that may be begun again."""
    rows = _read(desk.ask(SQL, "rows", id=execution_id))
    fans = {
        (idx, item): Fan(total, handed)
        for idx, item, total, handed in desk.ask(SQL, "fans", id=execution_id)
    }
    bodies: list[int] = []
    for (idx, item), row in list(rows.items()):
        node = program.nodes[idx]
        if not node.hands_out or row.stand.state not in _ENDED_BADLY:
            continue
        bodies += [inner.idx for inner, _ in body_of(program, node)]
        rows[idx, item] = _with_note(desk, execution_id, program, (idx, item), row, fans)
    if bodies:
        found = _read(desk.ask(SQL, "items", id=execution_id, idxs=bodies))
        for key, row in found.items():
            if program.nodes[key[0]].hands_out and row.stand.state in _ENDED_BADLY:
                row = _with_note(desk, execution_id, program, key, row, fans)
            rows[key] = row
    return Past(program, rows, fans)


def _read(rows: list[tuple[Any, ...]]) -> dict[Key, Row]:
    return {
        (idx, item): Row(stand_of(state, extra, error), note, is_answered, error)
        for idx, item, state, note, is_answered, error, extra in rows
    }


def _with_note(
    desk: Desk, execution_id: int, program: Program, key: Key, row: Row, fans: dict[Key, Fan]
) -> Row:
    """Return an iterator's row with what its items are, from the log when the row forgot it."""
    if row.note is not None or row.is_answered or key not in fans:
        return row
    found = desk.ask(SQL, "parked_note", id=execution_id, idx=key[0], item=key[1])
    note = _noted(found[0][0]) if found else None
    if note is None:
        name = written(program, *key)
        raise NotAllowed(
            f"what the items of '{name}' were is not known any more; 'rerun' starts all anew"
        )
    return row._replace(note=note)


def _noted(data: str) -> str | None:
    """Return the note that an event tells; a large one is named by its digest."""
    if data.startswith(_NOTE + "@"):
        return data[len(_NOTE) : -1]
    told = decode(data)
    if "note_ref" in told:
        return f"@{told['note_ref']}"
    return data[len(_NOTE) : -1] if set(told) == {"note"} else None


__all__ = ["past_of"]
