"""Settle steps in a dry run: go on behind what is not known, and never past what certainly fails.

An execution is not halted by a failure, so that what runs beside it and its `finally` steps are
still looked at; only what stands behind the failure is left out.
"""

from typing import Any

from noetl_mcp.broker.asked import Asked
from noetl_mcp.broker.results import Known
from noetl_mcp.broker.route import Routed, begin, settles, taken
from noetl_mcp.broker.run import Left, Run
from noetl_mcp.queue.encode import encode
from noetl_mcp.queue.lease import Over, State, Status, Told
from noetl_mcp.tasks.gates import CODES
from noetl_mcp.worker.computed import BUILT_IN
from noetl_mcp.worker.engine import Engine
from noetl_mcp.worker.faults import fault_of
from noetl_mcp.worker.rehearsed_story import Story
from noetl_mcp.worker.rehearsed_unknown import (
    Unknown,
    holds_unknown,
    is_unknown,
    render_partly,
    without_unknown,
)
from noetl_mcp.worker.rehearsed_ways import routed_as_known
from noetl_mcp.worker.settle import ERRORS, Fault, Kind, Settler, Work

_CERTAIN = {
    *CODES,
    "bad-settings",
    "child-failed",
    "credential",
    "items-failed",
    "no-such-playbook",
    "no-such-task",
    "not-given",
    "secret",
    "template",
    "wrong-payload",
}
"""Failures that no write before them could mend."""


class RehearsedSettler(Settler):
    """Says what became of steps that nobody really did."""

    def __init__(self, engine: Engine, story: Story) -> None:
        super().__init__(engine)
        self.story = story

    def assumed(
        self, work: Work, result: Any, payload: Any = None, *, may_fail: bool = True
    ) -> None:
        """Take a step for done, with a result that may not be known."""
        run, node, lease = work.run, work.node, work.lease
        known = Known("done", result, attempt=lease.attempt)
        left = Left(known)
        run.remember(node.idx, work.item, left)
        routed, ways, extra = routed_as_known(work, known, payload or {}, may_fail=may_fail)
        left.extra = extra
        self.story.perhaps_ways |= {(run.id, number, work.item) for number in ways.perhaps}
        text = encode(without_unknown(result))
        self._settle(work, State.DONE, Kind.COMPLETED, routed, result=text)
        self._after(work, routed, failed=False)

    def left_out(self, work: Work, why: str, *, answer: Any = None, payload: Any = None) -> None:
        """Go on behind a step that could not be looked at."""
        self.story.leave_out(work, why)
        known = Unknown(f"{{{{ {work.node.name} }}}}") if answer is None else answer
        may_fail = work.node.type not in BUILT_IN and answer is None
        try:
            self.assumed(work, known, payload, may_fail=may_fail)
        except ERRORS as problem:
            self._failed(work, fault_of(problem), payload, is_perhaps=self.story.is_perhaps(work))

    # What the worker's settler does otherwise

    def done(self, work: Work, result: Any, *, text: str, payload: Any, told: list[Told]) -> None:
        """A step has its result; what its ways cannot be asked for is left open."""
        try:
            super().done(work, result, text=text, payload=payload, told=told)
        except ERRORS:
            self.assumed(work, result, payload, may_fail=False)

    def failed(self, work: Work, fault: Fault, *, payload: Any = None, answer: Any = None) -> None:
        """Fail a step, unless only the real run can tell what comes of it."""
        story = self.story
        if is_unknown(fault.message) or fault.code == "calls-itself":
            self.left_out(work, fault.message, answer=answer, payload=payload)
            return
        is_perhaps, is_certain = story.is_perhaps(work), fault.code in _CERTAIN or work.node.writes
        if is_perhaps and not work.node.writes:
            self.left_out(work, f"it would fail if it is reached: {fault.message}")
        elif not is_certain and story.is_later(work):
            said = "it fails now, before what comes in front of it is done"
            self.left_out(work, f"{said}: {fault.message}")
        else:
            self._failed(work, fault, payload, is_perhaps=is_perhaps)

    def _failed(self, work: Work, fault: Fault, payload: Any, *, is_perhaps: bool) -> None:
        run, node = work.run, work.node
        told = {"code": fault.code, "message": fault.message, "step": node.name}
        known = Known("failed", None, told, attempt=work.lease.attempt)
        try:
            is_mended = settles(node, taken(node, "failed", Asked(run, node, work.item, known)))
        except ERRORS:
            is_mended = False
        if is_mended or (work.item and not is_perhaps):
            super().failed(work, fault, payload=payload)
            return
        key = (run.id, node.idx, work.item)
        error = fault.text(node, work.lease)
        if not is_perhaps:
            self.story.stops.add(key)
            self.story.failures.setdefault(run.id, error)
        run.remember(node.idx, work.item, Left(known))
        routed = self._routed(work, "skipped", Asked(run, node, work.item, None))
        self._settle(work, State.FAILED, Kind.FAILED, routed, error=error)
        self._after(work, routed, failed=False)

    def again(
        self, work: Work, state: State, kind: int, *, delay: float | None = None, **texts: Any
    ) -> None:
        """Do a step again, unless it waits for what a write behind it would bring about."""
        if kind == Kind.ITERATION and self.story.is_later(work):
            self.left_out(work, "it was asked once; what it is repeated for comes from a write")
            return
        super().again(work, state, kind, delay=delay, **texts)

    def _spread(self, run: Run, item: int, routed: Routed) -> None:
        """Pass steps without a body, some of which give what is not known."""
        gaps = {}
        for number, passed in enumerate(routed.passed):
            if holds_unknown(passed.result):
                gaps[passed.node.idx] = (passed.result, passed.extra)
                plain = without_unknown(passed.result)
                routed.passed[number] = type(passed)(passed.node, passed.state, plain, passed.extra)
        super()._spread(run, item, routed)
        for idx, (result, extra) in gaps.items():
            run.remember(idx, item, Left(Known("done", result), extra))

    def finished(self, run: Run, idx: int) -> None:
        """End an execution after its `finally` steps; its result may not be known."""
        program = run.program
        if idx == program.end and program.finals:
            try:
                routed = begin(program, program.finals, Asked(run, program.nodes[idx], 0, None))
            except ERRORS:
                routed = Routed(begun=list(program.finals))
            self._spread(run, 0, routed)
            for end in routed.reached:
                self.finished(run, end)
            return
        failure = self.story.failures.get(run.id)
        if failure is None:
            try:
                value = _result_of(run)
            except ERRORS as problem:
                told = {"code": "result", "message": str(problem), "step": "end"}
                failure = encode(told)
        if failure is not None:
            self._over(run, Over(run.id, Status.FAILED, None, failure))
            return
        self.story.results[run.id] = value
        is_known = not holds_unknown(value)
        is_asked_for = program.result is not None and run.context.parent_execution is None
        if not is_known and is_asked_for:
            self.story.unknown["the result"] = "it needs what a step before it gives"
        result = encode(value) if is_known else None
        self._over(run, Over(run.id, Status.COMPLETED, result, None))

    def _over(self, run: Run, over: Over) -> None:
        self.engine.outbox.flush.over.append(over)
        context = run.context
        if context.parent_execution is not None:
            key = (context.parent_execution, context.parent_idx or 0, context.parent_item or 0)
            self.story.store.arrive(key, encode({"child": run.id}))
            self.engine.wake()
        self.engine.soon()


def _result_of(run: Run) -> Any:
    """Return what a playbook gives, as far as it is known."""
    program = run.program
    if program.result is None:
        return run.result()
    node = program.nodes[program.plan["result"]["step"]]
    left = run.left.get((node.idx, 0))
    if left is None or left.known.state != "done":
        return None
    scope = program.names.scope(node.idx, run.sight(node, 0, own=left.known))
    return render_partly(program.plan["result"]["value"], program.renderers, scope)


__all__ = ["RehearsedSettler"]
