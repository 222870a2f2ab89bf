"""What must hold when everything has come to rest, asked of the tables, the log and the judge."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from noetl_mcp.database import Connection, TupleRow
from noetl_mcp.events.event import Event, item_name
from noetl_mcp.events.fold import Kept, fold
from noetl_mcp.events.log import Log
from noetl_mcp.queue.lease import State, Status
from tests.faults.judge import Judge, Place
from tests.faults.plans import Expected

ENDS = ("execution_completed", "execution_failed", "execution_cancelled")
WORDS = {state.value: state.name.lower() for state in State}
SETTLE_WRITES = (
    *("step_completed", "step_failed", "step_cancelled", "step_skipped"),
    *("action_retry", "step_resolved", "lease_lost"),
)
CLEAN = ("waiting", "halt", "ready", "permit", "held")


@dataclass
class Case:
    """One execution, and what must have become of it."""

    id: int
    expected: Expected
    is_cancelled: bool = False
    """Somebody cancelled it, or whoever started it: how far it came is anybody's guess."""
    accepted: set[Place] = field(default_factory=set)


@dataclass
class Finding:
    """Everything that was asked, and what did not hold."""

    connection: Connection[TupleRow]
    judge: Judge
    broken: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    buried: set[int] = field(default_factory=set)

    def look(self, cases: list[Case]) -> list[str]:
        """Return the broken promises."""
        self.broken = list(self.judge.strange)
        for case in reversed(cases):  # children before those who wait for them
            self._execution(case)
        self._nothing_is_left()
        return self.broken

    def _says(self, holds: bool, text: str) -> None:
        if not holds:
            self.broken.append(text)

    def _rows(self, question: str, *values: Any) -> list[tuple[Any, ...]]:
        return self.connection.execute(question.encode(), values).fetchall()

    # One execution

    def _execution(self, case: Case) -> None:
        where = f"execution {case.id} ({case.expected.path})"
        row = self._rows(
            "select status, round, result, error from noetl.execution where id = %s", case.id
        )[0]
        events = list(Log(self.connection).events(case.id))
        steps = self._rows(
            "select p.name, s.idx, s.item, s.state, s.attempt, s.result, s.error, p.type"
            " from noetl.step s"
            " join noetl.execution e on e.id = s.execution_id"
            " join noetl.plan_step p on p.plan_id = e.plan_id and p.idx = s.idx"
            " where s.execution_id = %s order by s.idx, s.item",
            case.id,
        )
        self.counts[Status(row[0]).name.lower()] += 1
        self.counts["steps"] += len(steps)
        kinds = Counter(event.kind for event in events)
        self._says(row[0] != Status.RUNNING, f"{where} is not over")
        ends = sum(kinds[kind] for kind in ENDS)
        self._says(ends == row[1], f"{where} has {ends} ends in {row[1]} rounds")
        status = Status(row[0]).name.lower()
        is_buried = status == "failed" and self._is_buried(case.id, read(row[3]))
        fits = status == case.expected.status or (case.is_cancelled and status == "cancelled")
        self._says(fits or is_buried, f"{where} is {status}: {row[3]}")
        self._states(case, where, steps, is_whole=status == "completed", is_buried=is_buried)
        self._effects(case, where, steps, rounds=row[1])
        self._over(where, events)
        asks = case.expected.writes - case.expected.idempotent - case.expected.checked
        writes = {s[1] for s in steps if s[0].partition(".")[0] in asks and s[7] == "http"}
        self._begun_again(where, [event for event in events if event.idx in writes])
        self._told(where, events, row, steps)

    def _is_buried(self, execution: int, error: Any) -> bool:
        """Whether a step took three workers with it, the last of them alone, or a child's did.

        Who kills at random cannot be told from such a step.
        """
        details = error.get("details") if isinstance(error, dict) else None
        child = details.get("child") if isinstance(details, dict) else None
        is_poison = isinstance(error, dict) and error.get("code") == "poison"
        if not (is_poison or child in self.buried):
            return False
        self.buried.add(execution)
        self.counts["buried"] += 1
        return True

    def _states(
        self,
        case: Case,
        where: str,
        steps: list[tuple[Any, ...]],
        *,
        is_whole: bool,
        is_buried: bool,
    ) -> None:
        """Every step is as the plan says; of one that did not run to its end, none is beyond it."""
        found = {name: WORDS[state] for name, _, item, state, *_ in steps if not item}
        for name, wanted in case.expected.states.items():
            state = found.get(name, "absent")
            unless_whole = ["absent", "waiting", "cancelled"]
            unless_whole += ["dead", "failed"] if is_buried else []
            fits = state == wanted or (not is_whole and state in unless_whole)
            self._says(fits, f"{where}: {name} is {state}, not {wanted}")
        alive = [s[:4] for s in steps if s[3] in (1, 2, 8, 9, 10) or (s[3] == 0 and is_whole)]
        self._says(not alive, f"{where}: still at work {alive}")
        if is_whole:
            for name, count in case.expected.items.items():
                items = {s[2] for s in steps if s[2] and s[0].startswith(f"{name}.")}
                most = count if found.get(name) == "done" else 0
                self._says(len(items) == most, f"{where}: {name} has {len(items)} items")

    def _effects(
        self, case: Case, where: str, steps: list[tuple[Any, ...]], *, rounds: int
    ) -> None:
        """No write was done twice; one that is done was, unless somebody said so."""
        states = {
            Place(case.id, name.partition(".")[0], item_name(item) or ""): state
            for name, _, item, state, *_, kind in steps
            if name.partition(".")[0] in case.expected.writes and kind == "http"
        }
        for place, state in states.items():
            count = self.judge.done(place)
            self.counts["writes"] += count
            # A further round does the steps at the end again, and sends what a server may do once
            # for each key under a key of its own.
            again = place.step in case.expected.finals | case.expected.idempotent
            most = rounds if again else 1
            self._says(count <= most, f"{where}: {place} was written {count} times")
            if state == State.DONE and place not in case.accepted:
                self._says(count >= 1, f"{where}: {place} is done and was not written")
            if state == State.SKIPPED:
                self._says(count == 0, f"{where}: {place} was skipped and was written")

    def _over(self, where: str, events: list[Event]) -> None:
        """Nothing of an execution moves between its end and a further round."""
        is_over = False
        for event in events:
            moves = event.kind.startswith(("step_", "action_", "loop_"))
            self._says(
                not (is_over and moves), f"{where}: {event.kind} {event.where} after its end"
            )
            is_over = event.kind in ENDS or (is_over and event.kind != "execution_retried")

    def _begun_again(self, where: str, events: list[Event]) -> None:
        """A write is begun again only by who knows what came of it: its worker, or somebody asked.

        Not because its worker is gone: then it is in doubt first.
        """
        unknown: set[tuple[int | None, str | None]] = set()
        answered: set[tuple[int | None, str | None]] = set()
        for event in events:
            key = (event.idx, event.item)
            is_lost = event.kind == "lease_lost" and bool(event.data.get("lost"))
            self.counts["doubts"] += event.kind == "step_in_doubt"
            if event.kind == "action_started":
                is_blind = key in unknown and key not in answered
                self._says(not is_blind, f"{where}: {event.where} was begun again blindly")
                unknown.add(key)
            elif event.kind in SETTLE_WRITES and not is_lost:
                unknown.discard(key)
                answered.discard(key)
            if event.data.keys() & {"answer", "answer_ref"}:  # it is settled with it, not sent
                answered.add(key)

    def _told(
        self, where: str, events: list[Event], row: tuple[Any, ...], steps: list[tuple[Any, ...]]
    ) -> None:
        """The log alone tells how everything stands, and tells every end once."""
        done = Counter((e.idx, e.item) for e in events if e.kind == "step_completed")
        twice = [key for key, count in done.items() if count > row[1]]
        self._says(not twice, f"{where}: completed more than once {twice}")
        folded = fold(events)
        told = (folded.status, folded.result, folded.error)
        kept = (Status(row[0]).name.lower(), read(row[2]), read(row[3]))
        self._says(told == kept, f"{where}: the log says {told}, the table {kept}")
        tables = {
            (idx, item_name(item)): (WORDS[state], attempt, read(result), read(error))
            for _, idx, item, state, attempt, result, error, _ in steps
            if state != State.WAITING
        }
        log = {
            key: (step.state, step.attempt, step.result, step.error)
            for key, step in folded.steps.items()
            if step.state != "waiting"
        }
        for key in tables.keys() | log.keys():
            if log.get(key) == tables.get(key):
                continue
            self._says(
                False, f"{where}: of {key} the log says {log.get(key)}, not {tables.get(key)}"
            )

    # The rest

    def _nothing_is_left(self) -> None:
        for table in CLEAN:
            rows = self._rows(f"select * from noetl.{table} limit 5")
            self._says(not rows, f"{table} holds {rows}")
        owned = self._rows("select execution_id, idx, item, owner from noetl.step where state = 2")
        self._says(not owned, f"leased for ever: {owned[:5]}")
        ghosts = self._rows("select execution_id, idx, item from noetl.step where state > 10")
        self._says(not ghosts, f"rows of nothing: {ghosts[:5]}")


def read(text: str | None) -> Any:
    """Read a value as a row keeps it."""
    if text is None:
        return None
    return Kept(text[1:]) if text.startswith("@") else orjson.loads(text)


def tail(connection: Connection[TupleRow], number: int) -> Iterator[str]:
    """Yield how an execution stands, for whoever looks for a reason."""
    for name in ("execution", "step", "ready", "timer", "fan", "signal", "halt", "permit"):
        key = "id" if name == "execution" else "execution_id"
        rows = connection.execute(
            f"select row_to_json(t) from noetl.{name} t where {key} = %s".encode(), (number,)
        ).fetchall()
        for (row,) in rows:
            yield f"{name} {compact(row)}"
    events = list(Log(connection).events(number))
    for event in events:
        yield f"{event.id} {event.kind} {event.where} {event.attempt} {event.worker} {event.data}"


def compact(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a row says, without what it leaves open."""
    return {key: str(value)[:120] for key, value in row.items() if value not in (None, "", [])}


def cases(
    connection: Connection[TupleRow],
    books: Mapping[str, Expected],
    cancelled: set[int],
    accepted: set[Place],
) -> list[Case]:
    """Return all executions there are, with what must have become of each."""
    rows = connection.execute("select id, path, parent_execution from noetl.execution order by id")
    parents: dict[int, int | None] = {}
    by_execution = defaultdict(set)
    for place in accepted:
        by_execution[place.execution].add(place)
    found = []
    for number, path, parent in rows.fetchall():
        parents[number] = parent
        above: int | None = number
        is_cancelled = False
        while above is not None:
            is_cancelled = is_cancelled or above in cancelled
            above = parents.get(above)
        found.append(Case(number, books[path], is_cancelled, by_execution[number]))
    return found


__all__ = ["Case", "Finding", "cases", "compact", "read", "tail"]
