"""A dry run: an execution in memory, in which everything is read and nothing is written.

A write goes through its gates and is then predicted instead of sent. What depends on its answer
cannot be known and is left out, which is said. Keeps nothing: no database takes part.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from noetl_mcp.broker.program import Program
from noetl_mcp.broker.records import Begin, Context, Key
from noetl_mcp.broker.results import Known
from noetl_mcp.broker.run import Left, Run, World
from noetl_mcp.broker.starts import Starts
from noetl_mcp.queue.encode import decode, encode
from noetl_mcp.queue.lease import Lease, Over, State, Status
from noetl_mcp.queue.memory import MemoryQueue, Row, Store
from noetl_mcp.queue.pools import queues_behind
from noetl_mcp.tasks.calls import Failed, Task
from noetl_mcp.tasks.contract import TaskSpec
from noetl_mcp.tasks.gates import Planned, predict
from noetl_mcp.worker.calling import Rules, gate_of
from noetl_mcp.worker.child import Child
from noetl_mcp.worker.engine import Engine, Terms
from noetl_mcp.worker.in_memory import Asked, Kept, Straight, row_of
from noetl_mcp.worker.iterator import Iterator
from noetl_mcp.worker.masks import Mask
from noetl_mcp.worker.rendered import Rendered
from noetl_mcp.worker.settle import ERRORS, Fault, Settler, Work
from noetl_mcp.worker.step import Steps

_UNKNOWABLE = frozenset({"template", "condition", "result", "assert", "error", "retry"})
_LOOK = 0.005
Find = Callable[[str, int | str | None], Program]
Credentials = Callable[[str], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Props:
    """What a dry run is given."""

    specs: Mapping[str, TaskSpec]
    task: Callable[[str], Task | None]
    find: Find
    """Returns the playbook that a step names; raises Failed when there is none."""
    credentials: Callable[[Run, Any, Any], Awaitable[Mapping[str, Mapping[str, Any]]]]
    world: World = field(default_factory=World)
    rules: Rules = field(default_factory=Rules)


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """What a dry run found: each write it would have made, and how it ended."""

    status: int
    writes: Sequence[Planned]
    unknown: Sequence[str]
    """The steps that depend on the answer of a write."""
    states: Sequence[tuple[str, int, int, str | None]]
    """(name, state, attempts, error) of each step outside of iterators that was decided."""
    result: Any
    error: Mapping[str, Any] | None

    @property
    def is_allowed(self) -> bool:
        """Whether everything would be let through, as far as can be known."""
        refused = any(one.verdict == "refused" for one in self.writes)
        return self.status == Status.COMPLETED and not refused


class _Settler(Settler):
    """Leaves out what cannot be known, instead of failing over it."""

    def __init__(self, engine: Engine, rehearsal: "Rehearsal") -> None:
        super().__init__(engine)
        self.rehearsal = rehearsal

    def failed(self, work: Work, fault: Fault, *, payload: Any = None, answer: Any = None) -> None:
        """Fail a step, unless it is about the answer of a write that was not sent."""
        if fault.code in _UNKNOWABLE and self.rehearsal.depends(work):
            self.rehearsal.unknown.append(work.node.name)
            self.skipped(work)
            return
        super().failed(work, fault, payload=payload, answer=answer)

    def finished(self, run: Run, idx: int) -> None:
        """End an execution; a result that hangs on a write is not known."""
        if self.rehearsal.predicted.get(run.id):
            try:
                encode(run.result())
            except ERRORS:
                over = Over(run.id, Status.COMPLETED, None, None)
                self.engine.outbox.flush.over.append(over)
                self.rehearsal.unknown.append("the result")
                self.rehearsal.tell_parent(run)
                return
        super().finished(run, idx)


class _Steps(Steps):
    """Predicts what writes."""

    rehearsal: "Rehearsal"

    async def _execute(self, work: Work, rendered: Rendered, mask: Mask) -> None:
        node = work.node
        if not node.writes:
            await super()._execute(work, rendered, mask)
            return
        call = await self._call(work, rendered, mask)
        strict = bool(work.run.program.plan["options"].get("require_confirm"))
        gate = gate_of(node, rendered, self.rules, strict=strict)
        task = self.task(node.type)
        preview = getattr(task, "preview", None)
        answer = mask.value(await preview(call)) if preview is not None else None
        planned = predict(gate, answer)
        self.rehearsal.writes.append(planned)
        if planned.verdict == "refused":
            code = planned.code or "refused"
            raise Failed(code, mask.text(planned.why), retriable=False)
        self.rehearsal.predicted.setdefault(work.run.id, set()).add(node.idx)
        self._answered(work, answer, encode(answer), rendered.payload, [])


class Rehearsal:
    """One dry run, with the executions that it starts."""

    def __init__(self, props: Props) -> None:
        self.props = props
        self.store = Store(clock=time.monotonic)
        self.kept = Kept(self.store)
        self.runs: dict[int, Run] = {}
        self.plans: dict[int, Program] = {}
        self.writes: list[Planned] = []
        self.unknown: list[str] = []
        self.predicted: dict[int, set[int]] = {}
        self._finals: set[int] = set()
        self._failures: dict[int, str] = {}

    async def run(self, program: Program, payload: Mapping[str, Any]) -> Rehearsed:
        """Go through a playbook; raise WrongPayload when it does not take the payload."""
        number = self.start(program, payload)
        queues = {one.lane.queue for one in program.nodes} | set(queues_behind([""]))
        pools = tuple(sorted(pool for pool in queues if not pool.startswith("=")))
        line: Any = Straight(MemoryQueue(self.store, 1))
        self.engine = Engine(line, Terms(pools=pools), self._begin)
        self.settler = _Settler(self.engine, self)
        self._equip()
        working = asyncio.create_task(self.engine.run())
        try:
            await self._until_over(number, working)
        finally:
            self.engine.stop()
            for held in list(self.engine.held.values()):
                if held.task is not None:
                    held.task.cancel()
            await working
        return self._told(number)

    def start(self, program: Program, payload: Mapping[str, Any], parent: Key | None = None) -> int:
        """Start an execution in memory."""
        begin = Starts(self.kept, self.props.world).prepare(program, payload)
        rows = [(begun[0], row_of(begun)) for begun in begin.steps]
        number = self.store.start(len(self.plans), begin.payload, rows)
        context = Context(number, len(self.plans), begin.payload)
        if parent is not None:
            context = context._replace(
                parent_execution=parent[0], parent_idx=parent[1], parent_item=parent[2]
            )
        lanes = program.lanes[0]
        run = Run(program, context, decode(begin.payload), lanes, self.props.world)
        self.runs[number], self.plans[number] = run, program
        self._learn(run, begin)
        if begin.over:
            execution = self.store.executions[number]
            execution.status, execution.result = Status.COMPLETED, begin.result
        return number

    def _start_child(
        self, path: str, version: int | str, payload: Mapping[str, Any], parent: Key
    ) -> int:
        return self.start(self.props.find(path, version), payload, parent)

    def _result_of(self, execution_id: int, step: str) -> Any:
        node = self.runs[execution_id].program.find(step)
        row = self.store.steps.get((execution_id, node.idx, 0)) if node is not None else None
        return decode(row.result) if row is not None and row.result else None

    def depends(self, work: Work) -> bool:
        """Whether a step may read the answer of a write that was not sent."""
        run, seen = work.run, set[int]()
        pending = [work.node.idx]
        predicted = self.predicted.get(run.id, set())
        while pending:
            idx = pending.pop()
            if idx in predicted:
                return True
            if idx not in seen:
                seen.add(idx)
                pending += run.program.nodes[idx].looks
        return False

    def tell_parent(self, run: Run) -> None:
        """Let the parent of an execution know that it is over."""
        context = run.context
        if context.parent_execution is not None:
            key = (context.parent_execution, context.parent_idx or 0, context.parent_item or 0)
            self.store.arrive(key, encode({"child": run.id}))

    def _equip(self) -> None:
        asked = Asked(self.store, self._start_child, self._result_of)

        async def noted(lease: Lease, note: str) -> None:
            self.store.steps[lease.key].note = note

        steps = _Steps(
            self.settler,
            self.props.task,
            {},
            self.props.rules,
            asked.keep,
            asked.whole,
            noted,
            self.props.credentials,
            self.props.specs,
        )
        steps.rehearsal = self

        async def answered(work: Work, result: Any, payload: Any) -> None:
            await steps.settle(work, result, payload)

        async def assumed(work: Work, rendered: Rendered) -> None:
            self.predicted.setdefault(work.run.id, set()).add(work.node.idx)
            await steps.settle(work, _ASSUMED.get(work.node.type), rendered.payload)

        steps.bodies = {
            "iterator": Iterator(self.settler, asked, answered),
            "playbook": Child(self.settler, asked, answered),
            "wait": assumed,
            "approve": assumed,
            "callback": assumed,
        }
        self.steps = steps

    def _begin(self, leases: list[Lease]) -> None:
        for lease in leases:
            run = self.runs[lease.execution_id]
            work = Work(run, run.program.nodes[lease.idx], lease)
            if not self.steps.at_once(work):
                task = asyncio.get_running_loop().create_task(self._carry(work))
                self.engine.begun(lease, task, computes=work.node.computes)

    async def _carry(self, work: Work) -> None:
        try:
            await self.steps.do(work)
        except asyncio.CancelledError:
            raise
        except Exception as problem:  # noqa: BLE001 - a task may raise anything
            told = Fault("crash", f"{type(problem).__name__}: {problem}")
            self.settler.failed(work, told)

    async def _until_over(self, number: int, working: "asyncio.Task[None]") -> None:
        while not working.done():
            self._close()
            if self.store.executions[number].status != Status.RUNNING:
                return
            await asyncio.sleep(_LOOK)
        working.result()

    def _close(self) -> None:
        """End executions that failed, after their `finally` steps."""
        held = {key[0] for key in self.engine.held}
        for number in [n for n in self.store.halts if n not in held]:
            run, execution = self.runs[number], self.store.executions[number]
            error = execution.error or encode({"message": "it failed"})
            del self.store.halts[number]
            self.engine.halted.pop(number, None)
            if run.program.finals and number not in self._finals:
                self._finals.add(number)
                self._failures[number] = error
                for idx in run.program.finals:
                    self.store.steps[number, idx, 0] = row = Row(State.READY, run.lanes[idx])
                    row.live = 1
                    self.store.queue((number, idx, 0), row.lane)
                self.engine.wake()
                continue
            execution.status, execution.error = Status.FAILED, error
            self.tell_parent(run)
            self.engine.wake()

    def _learn(self, run: Run, begin: Begin) -> None:
        for idx, state, _lane, _waits, _toward, _live, result, extra in begin.steps:
            if state in (State.DONE, State.SKIPPED):
                value = None if result is None else decode(result)
                known = Known("done" if state == State.DONE else "skipped", value)
                run.remember(idx, 0, Left(known, decode(extra) if extra else {}))

    def _told(self, number: int) -> Rehearsed:
        execution, run = self.store.executions[number], self.runs[number]
        failure = self._failures.get(number)
        status = Status.FAILED if failure else Status(execution.status)
        error = failure or execution.error
        states = [
            (run.program.nodes[idx].name, row.state, row.attempt, row.error)
            for (execution_id, idx, item), row in sorted(self.store.steps.items())
            if execution_id == number
            and item == 0
            and not run.program.nodes[idx].hidden
            and row.state != State.WAITING
        ]
        return Rehearsed(
            status,
            tuple(self.writes),
            tuple(dict.fromkeys(self.unknown)),
            states,
            None if execution.result is None else decode(execution.result),
            decode(error) if error and status == Status.FAILED else None,
        )


_ASSUMED: Mapping[str, Any] = {
    "approve": {"approved": True, "by": None, "comment": "assumed by a dry run"},
    "wait": {"assumed": True},
    "callback": None,
}


__all__ = ["Props", "Rehearsal", "Rehearsed"]
