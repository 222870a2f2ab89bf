"""Turn what became of a step into what is said of it: rows, tokens, events, ends.

Asks the router what follows and writes it into the outbox. Runs no body and waits for nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from noetl_mcp.broker.asked import Asked, SecretLeft, plain
from noetl_mcp.broker.program import Node
from noetl_mcp.broker.results import Known
from noetl_mcp.broker.route import Outcome, Passed, Routed, begin, route, settles, taken
from noetl_mcp.broker.run import Left, Run
from noetl_mcp.playbook.rendering.render import RenderError
from noetl_mcp.queue.encode import NotJson, decode, encode
from noetl_mcp.queue.lease import (
    Arrived,
    Awaited,
    Halt,
    Halted,
    Lease,
    Opened,
    Over,
    Settled,
    State,
    Status,
    Told,
)
from noetl_mcp.worker.engine import Engine
from noetl_mcp.worker.kinds import Kind
from noetl_mcp.worker.outbox import Key

if TYPE_CHECKING:
    from noetl_mcp.worker.masks import Mask

ERRORS = (RenderError, NotJson, SecretLeft)


@dataclass(slots=True, eq=False)
class Work:
    """One step at work: which, of which execution, under which lease."""

    run: Run
    node: Node
    lease: Lease
    begun: bool = False
    """Whether its task was called, so that something may have been sent."""
    doubted: bool = False
    """Whether its check was asked already."""
    armed: bool = False
    """Whether it was noted that a write is being sent, by a step that does not always write."""
    meta: dict[str, Any] | None = None
    """What there is to say about how its result came to be."""
    mask: "Mask | None" = None
    """The secrets that its task was given."""
    former: Known | None = None
    """What the round before gave, of a repeated step whose settings ask for it."""

    @property
    def kept(self) -> dict[str, Any]:
        """What a repeated step has kept of its former rounds; empty for any other."""
        note = decode(self.lease.note) if self.lease.note else None
        if not isinstance(note, dict) or "rounds" not in note:
            return {}
        return {key: note[key] for key in ("rounds", "collected", "attempt", "last") if key in note}

    @property
    def remembered(self) -> Any:
        """What the task noted in a former life of this attempt."""
        note = decode(self.lease.note) if self.lease.note else None
        return note.get("remembered") if isinstance(note, dict) else None

    @property
    def item(self) -> int:
        """For which item of the iterators around it."""
        return self.lease.item

    @property
    def is_writing(self) -> bool:
        """Whether a write may have been sent that has no answer yet."""
        writes = self.armed or (self.node.writes and self.node.more.get("idempotent") is not True)
        return self.begun and writes

    @property
    def lane(self) -> int:
        """Where it waits when it is ready again."""
        return self.run.lanes[self.node.idx]


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a step failed: a short word, a sentence, and whether another attempt may help."""

    code: str
    message: str
    retriable: bool = True
    retry_after: float | None = None
    details: Any = None

    def told(self, node: Node) -> dict[str, Any]:
        """Return the error as templates and events see it."""
        found: dict[str, Any] = {"code": self.code, "message": self.message, "step": node.name}
        if self.details is not None:
            found["details"] = self.details
        return found

    def text(self, node: Node, lease: Lease) -> str:
        """Return the error as it is kept."""
        told = {**self.told(node), "attempt": lease.attempt}
        try:
            return encode(told)
        except NotJson:
            return encode({**told, "details": repr(self.details)[:1000]})


class Settler:
    """Says what became of steps."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.called_off: set[tuple[Key, int]] = set()
        """Items that are stopped because too many others failed: which, and under which lease."""

    # Ends

    def done(self, work: Work, result: Any, *, text: str, payload: Any, told: list[Told]) -> None:
        """A step has its result; raise what its ways cannot be asked for."""
        run, node, lease = work.run, work.node, work.lease
        known = Known("done", result, meta=work.meta, attempt=lease.attempt)
        run.remember(node.idx, work.item, Left(known))
        note = None if work.meta is None else encode(work.meta)
        if node.straight is not None:
            self._settle(work, State.DONE, Kind.COMPLETED, None, result=text, note=note)
            self._tell(told)
            if run.program.nodes[node.straight].bare:
                self.finished(run, node.straight)
            else:
                self._token(run, node.straight, work.item, 1, 1)
            self._ended(work, (), failed=False)
            return
        routed = self._routed(work, "done", Asked(run, node, work.item, known, payload))
        self._settle(work, State.DONE, Kind.COMPLETED, routed, result=text, note=note)
        self._tell(told)
        self._after(work, routed, failed=False)

    def skipped(self, work: Work) -> None:
        """Control did not come to a step, or its own condition sends it on."""
        work.run.remember(work.node.idx, work.item, Left(Known("skipped")))
        routed = self._routed(work, "skipped", Asked(work.run, work.node, work.item, None))
        self._settle(work, State.SKIPPED, Kind.SKIPPED, routed)
        self._after(work, routed, failed=False)

    def failed(self, work: Work, fault: Fault, *, payload: Any = None, answer: Any = None) -> None:
        """A step failed and is not tried again; `answer` is what its body gave before."""
        run, node, lease = work.run, work.node, work.lease
        error = fault.text(node, lease)
        told = {"code": fault.code, "message": fault.message, "step": node.name}
        if fault.details is not None:
            told["details"] = fault.details
        known = Known("failed", None, told, attempt=lease.attempt)
        run.remember(node.idx, work.item, Left(known))
        asked = Asked(run, node, work.item, known, payload or {})
        try:
            live = taken(node, "failed", asked)
            is_settled = settles(node, live)
            routed = self._routed(work, "failed", asked) if live or is_settled else Routed()
        except ERRORS as problem:
            error = Fault("condition", str(problem), details=told).text(node, lease)
            is_settled, routed = False, Routed()
        if not is_settled:
            routed.tokens = {way.target: [1, 1] for way in node.ways if way.kind == "failed"}
            routed.passed, routed.reached = [], []
        kept = None if answer is None else encode(answer)
        # A retry goes on with the very items that were handed out.
        note = lease.note if node.hands_out else None
        self._settle(work, State.FAILED, Kind.FAILED, routed, error=error, answer=kept, note=note)
        self._after(work, routed, failed=not is_settled)
        if not is_settled and not work.item:
            self.engine.outbox.flush.halts.append(Halted(run.id, Halt.FAILING, error))

    # Not yet ends

    def again(
        self, work: Work, state: State, kind: int, *, delay: float | None = None, **texts: Any
    ) -> None:
        """A step is tried again, waits for something, or is in doubt."""
        lease = work.lease
        attempt = lease.attempt
        if kind == Kind.LEASE_LOST and (lease.key, lease.lease) in self.called_off:
            self._called_off(work)
            return
        if kind == Kind.LEASE_LOST:
            # Nothing was done: whoever takes it goes on from where this one began.
            attempt -= lease.before != State.PARKED
            texts = {"note": lease.note, "answer": lease.answer, **texts}
        settled = Settled(
            *lease.key, lease.lease, state, kind, attempt, delay=delay, lane=work.lane, **texts
        )
        if state != State.IN_DOUBT:  # what may still be under way keeps its permits
            self._release(work)
        self.engine.settle(settled)

    def awaits(self, work: Work, note: str, *, delay: float | None, token: str | None) -> None:
        """A step is parked until something arrives, or until the delay is over."""
        awaited = Awaited(*work.lease.key, work.lane, token)
        self.engine.outbox.flush.awaited.append(awaited)
        self.again(work, State.PARKED, Kind.PARKED, delay=delay, note=note)

    def opens(self, work: Work, note: str, *, total: int, window: int, tolerate: int) -> None:
        """An iterator hands out its first items and waits for all of them."""
        run, node = work.run, work.node
        entries = run.program.entries_of(node)
        first = min(window, total)
        opened = Opened(
            *work.lease.key,
            total,
            first,
            tolerate,
            tuple(entries),
            tuple(run.lanes[idx] for idx in entries),
        )
        self.engine.outbox.flush.opened.append(opened)
        for number in range(first):
            for idx in entries:
                self._token(run, idx, work.item * 2_097_152 + number + 1, 0, 1)
        self.again(work, State.PARKED, Kind.PARKED, note=note)

    # Inside

    def _routed(self, work: Work, outcome: Outcome, asked: Asked) -> Routed:
        """Route through steps without a body, or up to them when one of them cannot be asked."""
        try:
            return route(work.run.program, work.node, outcome, asked)
        except ERRORS:
            return route(work.run.program, work.node, outcome, asked, through=False)

    def _settle(
        self,
        work: Work,
        state: State,
        kind: int,
        routed: Routed | None,
        *,
        result: str | None = None,
        error: str | None = None,
        note: str | None = None,
        answer: str | None = None,
    ) -> None:
        extra = encode(routed.extra) if routed is not None and routed.extra else None
        lease = work.lease
        self._release(work)
        if work.node.relaxed:
            self.engine.outbox.flush.relaxed += 1
        self.engine.settle(
            Settled(
                lease.execution_id,
                lease.idx,
                lease.item,
                lease.lease,
                state,
                kind,
                lease.attempt,
                result,
                error,
                extra,
                note,
                answer,
                None,
                work.lane,
            )
        )

    def _release(self, work: Work) -> None:
        if work.node.lane.limits:
            self.engine.outbox.flush.released.append(work.lease.key)

    def _tell(self, told: list[Told]) -> None:
        for one in told:
            self.engine.outbox.tell(one)

    def _after(self, work: Work, routed: Routed, *, failed: bool) -> None:
        """Say what follows a settled step."""
        run = work.run
        self._spread(run, work.item, routed)
        for idx in routed.reached:
            self.finished(run, idx)
        self._ended(work, routed.passed, failed=failed)

    def _ended(self, work: Work, passed: Sequence[Passed], *, failed: bool) -> None:
        """See whether an execution, or an item of an iterator, has come to its end with a step."""
        run = work.run
        ends = work.node.idx in (run.program.end, run.program.finally_end)
        if ends and not failed:
            self.finished(run, work.node.idx)
        if work.item:
            self._item_over(work, passed, failed=failed)

    def _spread(self, run: Run, item: int, routed: Routed) -> None:
        for passed in routed.passed:
            is_done = passed.state == State.DONE
            known = Known("done" if is_done else "skipped", passed.result)
            run.remember(passed.node.idx, item, Left(known, passed.extra))
            if passed.node.relaxed:
                self.engine.outbox.flush.relaxed += 1
            self.engine.outbox.passes(
                Settled(
                    run.id,
                    passed.node.idx,
                    item,
                    0,
                    passed.state,
                    Kind.COMPLETED if is_done else Kind.SKIPPED,
                    0,
                    None if passed.result is None else encode(passed.result),
                    extra=encode(passed.extra) if passed.extra else None,
                    lane=run.lanes[passed.node.idx],
                )
            )
        for idx, (n, live) in routed.tokens.items():
            self._token(run, idx, item, n, live)
        for idx in routed.begun:
            self._token(run, idx, item, 0, 1)

    def _token(self, run: Run, idx: int, item: int, n: int, live: int) -> None:
        node = run.program.nodes[idx]
        mine = node.queue in self.engine.terms.pools
        self.engine.outbox.token(
            (run.id, idx, item),
            node.waits_signed,
            n,
            live,
            run.lanes[idx],
            mine=mine,
            computes=node.computes,
        )
        self.engine.soon()

    def _item_over(self, work: Work, passed: Sequence[Passed], *, failed: bool) -> None:
        """Count an item once the last step of its body is settled, or one of them failed."""
        run, node = work.run, work.node
        iterator = run.program.nodes[node.within] if node.within is not None else None
        if iterator is None or node.idx in run.program.aside:
            return
        last = run.program.last_of(iterator)
        was_passed = any(one.node.idx == last for one in passed)
        if not (failed or node.idx == last or was_passed):
            return
        self._count_item(work, iterator, failed=failed)

    def _called_off(self, work: Work) -> None:
        """An item was stopped while it read, and is over with that."""
        self.called_off.discard((work.lease.key, work.lease.lease))
        self._settle(work, State.CANCELLED, Kind.CANCELLED, None)
        if work.node.within is not None:
            self._count_item(work, work.run.program.nodes[work.node.within], failed=False)

    def _count_item(self, work: Work, iterator: Node, *, failed: bool) -> None:
        run = work.run
        computes = run.program.nodes[run.program.entries_of(iterator)[0]].computes
        key = (run.id, iterator.idx, work.item // 2_097_152)
        self.engine.outbox.tell(Told(Kind.ITERATION, run.id, iterator.idx, work.item, None, None))
        self.engine.outbox.end_item(key, run.lanes[iterator.idx], failed=failed, computes=computes)

    # Ends of executions

    def finished(self, run: Run, idx: int) -> None:
        """The body of an execution, or its `finally` steps, have come to their end."""
        program = run.program
        if idx == program.end and program.finals:
            routed = begin(program, program.finals, Asked(run, program.nodes[idx], 0, None))
            self._spread(run, 0, routed)
            for end in routed.reached:
                self.finished(run, end)
            return
        outbox = self.engine.outbox
        try:
            given = run.result()
            result, error = encode(given if program.result is None else plain(given)), None
            status = Status.COMPLETED
        except ERRORS as problem:
            result, status = None, Status.FAILED
            error = encode({"code": "result", "message": str(problem), "step": "end"})
        outbox.ends(Over(run.id, status, result, error))
        context = run.context
        if context.parent_execution is not None:
            outbox.flush.arrived.append(
                Arrived(
                    context.parent_execution,
                    context.parent_idx or 0,
                    context.parent_item or 0,
                    encode({"child": run.id}),
                )
            )
        self.engine.soon()


__all__ = ["ERRORS", "Fault", "Kind", "Settler", "Work"]
