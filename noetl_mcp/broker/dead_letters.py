"""Dead letters: steps that ended every worker that ran them. List them, retry them, let them go."""

from typing import Any

from noetl_mcp.broker.desk import By, Desk
from noetl_mcp.broker.places import written
from noetl_mcp.broker.refusals import NotAllowed
from noetl_mcp.broker.retry import Retried, retry
from noetl_mcp.broker.show import moment
from noetl_mcp.database import statements
from noetl_mcp.queue.encode import decode
from noetl_mcp.queue.lease import State, Status

SQL = statements(__file__, "dead_letters.sql")
MOST = 1_000


def dead_letters(
    desk: Desk, execution_id: int | None = None, *, most: int = 100
) -> list[dict[str, Any]]:
    """Return the dead letters, the newest first."""
    rows = desk.ask(SQL, "letters", id=execution_id, most=max(1, min(most, MOST)))
    return [
        {
            "execution_id": str(number),
            "playbook": path,
            "step": written(desk.program(plan), idx, item),
            "attempts": attempt,
            "crashes": crashes,
            "error": decode(error) if error else None,
            "ended": moment(ended_at),
        }
        for number, path, idx, item, attempt, crashes, error, ended_at, plan in rows
    ]


def requeue(desk: Desk, execution_id: int, *, by: By, reason: str | None = None) -> Retried:
    """Run the dead steps of an execution again, as a further round of it."""
    _demand_letters(desk, execution_id)
    return retry(desk, execution_id, by=by, reason=reason)


def drop(desk: Desk, execution_id: int, *, by: By, reason: str | None = None) -> list[str]:
    """Let the dead letters of an execution go; it stays failed. Returns their steps."""
    with desk.audited(by, "drop", str(execution_id), (), reason):
        return desk.once(lambda: _drop(desk, execution_id, by, reason))


def _drop(desk: Desk, execution_id: int, by: By, reason: str | None) -> list[str]:
    if desk.standing(execution_id, lock=True).status == Status.RUNNING:
        raise NotAllowed(f"execution {execution_id} is not over yet")
    _demand_letters(desk, execution_id)
    program = desk.program(desk.context(execution_id).plan)
    dropped = []
    for idx, item, attempt in desk.ask(SQL, "drop", id=execution_id):
        said = {"how": "drop", "state": int(State.FAILED), "by": by.who, "reason": reason}
        desk.tell("step_resolved", execution_id, said, idx=idx, item=item, attempt=attempt)
        dropped.append(written(program, idx, item))
    return dropped


def _demand_letters(desk: Desk, execution_id: int) -> None:
    desk.context(execution_id)
    if not dead_letters(desk, execution_id, most=1):
        raise NotAllowed(f"execution {execution_id} has no dead letters")


__all__ = ["dead_letters", "drop", "requeue"]
