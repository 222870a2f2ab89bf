"""A dry run: an execution in memory, in which everything is read and nothing is written.

A write goes through its gates and is then predicted instead of sent. What depends on its answer
cannot be known, which is said; what stands behind it is looked at all the same. Keeps nothing: no
database takes part.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from noetl_mcp.broker.guards import carried
from noetl_mcp.broker.program import Program
from noetl_mcp.broker.records import Begin, Context, Key
from noetl_mcp.broker.results import Known
from noetl_mcp.broker.run import Left, Run, World
from noetl_mcp.broker.starts import Starts, WrongPayload
from noetl_mcp.compiler.payload import Problem, check_payload, templated
from noetl_mcp.queue.encode import decode, encode
from noetl_mcp.queue.lease import Lease, State, Status
from noetl_mcp.queue.memory import MemoryQueue, Store
from noetl_mcp.queue.pools import queues_behind
from noetl_mcp.tasks.calls import Failed, Task
from noetl_mcp.tasks.contract import TaskSpec
from noetl_mcp.worker.calling import Rules
from noetl_mcp.worker.child import Child
from noetl_mcp.worker.engine import Engine, Terms
from noetl_mcp.worker.in_memory import Asked, Kept, Straight, row_of
from noetl_mcp.worker.iterator import Iterator
from noetl_mcp.worker.rehearsed_run import RehearsedRun
from noetl_mcp.worker.rehearsed_settler import RehearsedSettler
from noetl_mcp.worker.rehearsed_steps import ASSUMED, RehearsedSteps
from noetl_mcp.worker.rehearsed_story import Story
from noetl_mcp.worker.rehearsed_unknown import (
    Unknown,
    holds_unknown,
    without_unknown,
)
from noetl_mcp.worker.rehearsed_writes import Write
from noetl_mcp.worker.rendered import Rendered
from noetl_mcp.worker.settle import Fault, Work

_LOOK = 0.005
_LONGEST_IDLE = 2.0
Find = Callable[[str, int | str | None], Program]
Verdict = Literal["allowed", "unknown", "refused", "failed"]


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
    writes: Sequence[Write]
    unknown: Sequence[str]
    """The steps that could not be looked at, or not wholly."""
    states: Sequence[tuple[str, int, int, str | None]]
    """(name, state, attempts, error) of each step outside of iterators that was decided."""
    result: Any
    error: Mapping[str, Any] | None
    reasons: Mapping[str, str] = field(default_factory=dict)
    """By step: why it could not be looked at."""
    assumed: Mapping[str, str] = field(default_factory=dict)
    """By step: what was taken for granted, such as an approval."""
    perhaps: frozenset[str] = frozenset()
    """The steps that are only perhaps reached."""

    @property
    def is_allowed(self) -> bool:
        """Whether nothing would be refused, as far as can be known."""
        return self.verdict in ("allowed", "unknown")

    @property
    def verdict(self) -> Verdict:
        """What is to be said of all of it; `unknown` where not everything could be looked at."""
        if any(one.verdict == "refused" for one in self.writes):
            return "refused"
        if self.status != Status.COMPLETED:
            return "failed"
        return "unknown" if self.unknown else "allowed"


class Rehearsal:
    """One dry run, with the executions that it starts."""

    def __init__(self, props: Props) -> None:
        self.props = props
        self.store = Store(clock=time.monotonic)
        self.kept = Kept(self.store)
        self.story = Story(self.store)

    async def run(self, program: Program, payload: Mapping[str, Any]) -> Rehearsed:
        """Go through a playbook; raise WrongPayload when it does not take the payload."""
        number = self.start(program, payload)
        queues = {one.lane.queue for one in program.nodes} | set(queues_behind([""]))
        pools = tuple(sorted(pool for pool in queues if not pool.startswith("=")))
        line: Any = Straight(MemoryQueue(self.store, 1))
        self.engine = Engine(line, Terms(pools=pools), self._begin)
        self.settler = RehearsedSettler(self.engine, self.story)
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
        runs = self.story.runs
        gaps = {name: one for name, one in payload.items() if holds_unknown(one)}
        begin, workload = self._begun(program, payload, gaps)
        rows = [(begun[0], row_of(begun)) for begun in begin.steps]
        number = self.store.start(len(runs), begin.payload, rows)
        context = Context(number, len(runs), begin.payload)
        if parent is not None:
            above = runs[parent[0]]
            context = context._replace(
                parent_execution=parent[0],
                parent_idx=parent[1],
                parent_item=parent[2],
                labels=carried(above.context.labels, above.program.plan["options"]),
            )
        run = RehearsedRun(program, context, workload, program.lanes[0], self.props.world)
        runs[number] = run
        self._learn(run, begin)
        if begin.over:
            execution = self.store.executions[number]
            execution.status, execution.result = Status.COMPLETED, begin.result
        return number

    def _begun(
        self, program: Program, payload: Mapping[str, Any], gaps: Mapping[str, Any]
    ) -> tuple[Begin, Mapping[str, Any]]:
        """Return how an execution begins, and its workload; some of it may not be known."""
        starts = Starts(self.kept, self.props.world)
        if not gaps:
            begin = starts.prepare(program, payload)
            return begin, decode(begin.payload)
        known = {name: one for name, one in payload.items() if name not in gaps}
        inputs = program.plan["inputs"]
        others = [one for one in inputs if one["name"] not in gaps]
        checked, problems = check_payload(others, known)
        workload: dict[str, Any] = dict(checked)
        strangers = sorted(gaps.keys() - {one["name"] for one in inputs}) if inputs else []
        problems += [
            Problem("unknown-name", (name,), "the playbook has no such variable")
            for name in strangers
        ]
        if problems:
            raise WrongPayload(problems)
        for name in templated(others, known):
            workload[name] = Unknown(f"{{{{ workload.{name} }}}}")
        lanes = starts.lanes(program, 0)
        rows = [(idx, State.READY, lanes[idx], 0, 0, 1, None, None) for idx in program.entries]
        text = encode(without_unknown({**workload, **gaps}))
        return Begin(program.plan_id, text, program.path, None, rows), {**workload, **gaps}

    def _start_child(
        self, path: str, version: int | str, payload: Mapping[str, Any], parent: Key
    ) -> int:
        story = self.story
        above = story.runs[parent[0]]
        lease = Lease(*parent, lease=0, attempt=0, crashes=0, live=1, before=State.READY, lane=0)
        work = Work(above, above.program.nodes[parent[1]], lease)
        is_perhaps = story.is_perhaps(work)
        if is_perhaps and story.calls_itself(above, path):
            raise Failed("calls-itself", f"'{path}' calls itself; it is not gone into again")
        try:
            number = self.start(self.props.find(path, version), payload, parent)
        except WrongPayload as problem:
            said = f"playbook '{path}' does not take this: {problem}"
            raise Failed("wrong-payload", said, retriable=False) from None
        story.paths[number] = path
        if is_perhaps:
            story.perhaps_runs.add(number)
        if story.is_later(work):
            story.later_runs.add(number)
        return number

    def _result_of(self, execution_id: int, step: str) -> Any:
        run = self.story.runs[execution_id]
        node = run.program.find(step)
        left = None if node is None else run.left.get((node.idx, 0))
        return None if left is None else left.known.result

    def _equip(self) -> None:
        asked = Asked(self.store, self._start_child, self._result_of)

        async def noted(lease: Lease, note: str) -> None:
            self.store.steps[lease.key].note = note

        async def assumed(work: Work, rendered: Rendered) -> None:
            raise AssertionError("whatever waits is assumed before it is done")

        steps = RehearsedSteps(
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
        steps.story = self.story
        steps.bodies = {
            "iterator": Iterator(self.settler, asked, steps.answered),
            "playbook": Child(self.settler, asked, steps.answered),
            **dict.fromkeys(ASSUMED, assumed),
        }
        self.steps = steps

    def _begin(self, leases: list[Lease]) -> None:
        for lease in leases:
            run = self.story.runs[lease.execution_id]
            work = Work(run, run.program.nodes[lease.idx], lease)
            if not self.steps.at_once(work):
                task = asyncio.get_running_loop().create_task(self._carry(work))
                task.add_done_callback(self._ended)
                self.engine.begun(lease, task, computes=work.node.computes)

    async def _carry(self, work: Work) -> None:
        try:
            await self.steps.do(work)
        except asyncio.CancelledError:
            raise
        except Exception as problem:  # noqa: BLE001 - a task may raise anything
            told = Fault("crash", f"{type(problem).__name__}: {problem}")
            self.settler.failed(work, told)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        """End the dry run over a defect, rather than wait for a step that nobody settles."""
        problem = None if task.cancelled() else task.exception()
        if problem is not None:
            self.engine.broken(problem)

    async def _until_over(self, number: int, working: "asyncio.Task[None]") -> None:
        execution, idle = self.store.executions[number], 0
        while not working.done():
            if execution.status != Status.RUNNING:
                return
            idle = 0 if self._goes_on() else idle + 1
            if idle * _LOOK > _LONGEST_IDLE:
                said = "some steps wait for what a dry run does not bring about"
                execution.status, execution.error = Status.FAILED, encode({"message": said})
                return
            await asyncio.sleep(_LOOK)
        working.result()

    def _goes_on(self) -> bool:
        """Whether a step is at work, or may yet be."""
        store, engine = self.store, self.engine
        return bool(engine.held or engine.outbox or store.timers or any(store.queues.values()))

    def _learn(self, run: Run, begin: Begin) -> None:
        for idx, state, _lane, _waits, _toward, _live, result, extra in begin.steps:
            if state in (State.DONE, State.SKIPPED):
                value = None if result is None else decode(result)
                known = Known("done" if state == State.DONE else "skipped", value)
                run.remember(idx, 0, Left(known, decode(extra) if extra else {}))

    def _told(self, number: int) -> Rehearsed:
        story = self.story
        execution, run = self.store.executions[number], story.runs[number]
        states, perhaps = [], set[str]()
        for (execution_id, idx, item), row in sorted(self.store.steps.items()):
            node = run.program.nodes[idx] if execution_id == number and item == 0 else None
            if node is None or node.hidden or row.state == State.WAITING:
                continue
            is_left_out = node.name in story.unknown and row.state == State.DONE
            state = State.SKIPPED if is_left_out else row.state
            states.append((node.name, state, row.attempt, row.error))
            if row.state != State.SKIPPED and story.perhaps_done(run, idx):
                perhaps.add(node.name)
        has_failed = execution.status == Status.FAILED
        return Rehearsed(
            execution.status,
            tuple(story.writes),
            tuple(story.unknown),
            states,
            None if execution.result is None else decode(execution.result),
            decode(execution.error) if execution.error and has_failed else None,
            story.unknown,
            story.assumed,
            frozenset(perhaps),
        )


__all__ = ["Props", "Rehearsal", "Rehearsed", "Verdict"]
