"""Where those sit who watch and decide: one connection, and the plans they have looked into.

Looks things up and tries again what was only in somebody's way. Decides nothing.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, NamedTuple, TypeVar

from noetl_mcp.broker.program import Node, Program
from noetl_mcp.broker.records import Context, Records
from noetl_mcp.broker.refusals import NotAllowed, Unknown
from noetl_mcp.broker.run import World
from noetl_mcp.broker.starts import Starts
from noetl_mcp.database import Connection, Error, TupleRow, may_be_sent_again, statements
from noetl_mcp.queue.encode import decode, encode
from noetl_mcp.queue.lease import Halt, Status
from noetl_mcp.queue.pools import pools_of

SQL = statements(__file__, "desk.sql")
_TRIES = 6
T = TypeVar("T")


class By(NamedTuple):
    """Who asks for something, and from where: the command line, the web, a tool."""

    who: str
    whence: str = "cli"


class Standing(NamedTuple):
    """How an execution stands, as far as it decides what may be done with it."""

    status: int
    outcome: int
    round: int
    halt: int | None
    ended: bool

    @property
    def word(self) -> str:
        """The one word for it."""
        return word_of(self.status, self.halt)


def word_of(status: int, halt: int | None) -> str:
    """Return the one word for how an execution stands."""
    if status == Status.RUNNING and halt == Halt.PAUSED:
        return "paused"
    return Status(status).name.lower()


@dataclass(eq=False)
class Desk:
    """One connection in autocommit mode, used by one thread."""

    connection: Connection[TupleRow]
    world: World = field(default_factory=World)
    lease: timedelta = timedelta(seconds=15)
    seal: str = ""
    """From which the tokens of callbacks are derived; the same as the workers'."""
    programs: dict[int, Program] = field(default_factory=dict)
    has_decided: bool = False
    """Whether something was decided here that there may be work for."""

    @property
    def records(self) -> Records:
        """The store behind the connection."""
        return Records(self.connection)

    def context(self, execution_id: int) -> Context:
        """Return what is known of an execution; raise Unknown when it is not there."""
        found = self.records.contexts([execution_id]) if 0 < execution_id < 2**63 else {}
        if execution_id not in found:
            raise Unknown(f"there is no execution {execution_id}")
        return found[execution_id]

    def program(self, plan: int) -> Program:
        """Return a plan made ready; read once."""
        found = self.programs.get(plan)
        if found is None:
            text = self.records.plan(plan)
            found = self.programs[plan] = Program(decode(text), {}, plan)
        return found

    def lanes(self, context: Context) -> Sequence[int]:
        """Return the number of each step's lane in an execution."""
        program = self.program(context.plan)
        return Starts(self.records, self.world).lanes(program, context.priority)

    def judging_lane(self, context: Context, node: Node) -> int:
        """Return the number of the lane for a step whose answer is there and is only judged."""
        goes_on = "repeat" in node.care  # its next round may write again
        lane = (node.lane if goes_on else node.lane.judging).moved(context.priority)
        return self.records.lanes([lane])[lane]

    def standing(self, execution_id: int, *, lock: bool = False) -> Standing:
        """Return how an execution stands; with `lock` it stays so until the transaction ends."""
        if lock:
            self.run("lock", id=execution_id)
        rows = self.run("standing", id=execution_id)
        if not rows:
            raise Unknown(f"there is no execution {execution_id}")
        return Standing(*rows[0])

    def run(self, name: str, /, **values: Any) -> list[tuple[Any, ...]]:
        """Run one of the desk's own statements."""
        return self.ask(SQL, name, **values)

    def ask(self, sql: Mapping[str, str], name: str, /, **values: Any) -> list[tuple[Any, ...]]:
        """Run a named statement and return what it gives."""
        cursor = self.connection.execute(sql[name].encode(), values)
        return cursor.fetchall() if cursor.description is not None else []

    def once(self, doing: Callable[[], T]) -> T:
        """Do something in one transaction, again when somebody was in its way."""
        for left in range(_TRIES - 1, -1, -1):
            try:
                with self.connection.transaction():
                    return doing()
            except Error as problem:
                if not (left and may_be_sent_again(problem)):
                    raise
                time.sleep(0.05 * (_TRIES - left))
        raise AssertionError("unreachable")

    def tell(
        self,
        kind: str,
        execution_id: int,
        data: Mapping[str, Any],
        *,
        idx: int | None = None,
        item: int | None = None,
        attempt: int | None = None,
    ) -> None:
        """Write an event, in the transaction of what it tells; what is None is left out."""
        said = encode({key: value for key, value in data.items() if value is not None})
        values = {"idx": idx, "item": item, "attempt": attempt, "data": said}
        self.run("tell", kind=kind, execution_id=execution_id, **values)

    def tell_halted(self, ids: Sequence[int]) -> None:
        """Tell the workers at once; a lost word costs them one beat."""
        self.run("notify", told=",".join(map(str, ids[:500])))

    def wake(self, count: int) -> None:
        """Wake workers that sleep, for so many steps."""
        if count:
            self.run("wake", count=count)

    def close(self, execution_id: int) -> str:
        """End a halted execution if nothing of it can move; say how it stands."""
        context = self.context(execution_id)
        lanes = self.lanes(context)
        finals = self.program(context.plan).finals
        return self.once(
            lambda: self.records.close(execution_id, [(idx, lanes[idx]) for idx in finals])
        )

    @contextmanager
    def audited(
        self, by: By, action: str, target: str, keys: Sequence[str] = (), reason: str | None = None
    ) -> Iterator[None]:
        """Write down who asks for what before it is done, and what came of it afterwards."""
        values = {"who": by.who, "whence": by.whence, "action": action, "target": target}
        number = self.run("audit", **values, keys=list(keys), reason=reason)[0][0]
        try:
            yield
        except (NotAllowed, Unknown) as refusal:
            self.run("audit_outcome", id=number, outcome=f"refused: {refusal}")
            raise
        except Error as problem:
            if not self.connection.closed and not self.connection.broken:
                self.run("audit_outcome", id=number, outcome=f"failed: {problem}")
            raise
        self.run("audit_outcome", id=number, outcome="done")
        self.has_decided = True

    def sleeping(self) -> set[str]:
        """Return the pools of workers that sleep, for who carries hints to them."""
        return pools_of(queue for (queues,) in self.run("sleeping") for queue in queues)


__all__ = ["By", "Desk", "Standing", "word_of"]
