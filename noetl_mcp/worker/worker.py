"""One worker: an engine, its connections, what it knows of plans and executions.

Builds nothing itself: connections and tasks are given. One life; whoever runs it begins another.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from noetl_mcp.broker.program import Program
from noetl_mcp.broker.records import Context, Key, Records
from noetl_mcp.broker.run import Run
from noetl_mcp.broker.starts import Starts
from noetl_mcp.database import Error, NotReachable
from noetl_mcp.queue.encode import LARGE, decode, encode
from noetl_mcp.queue.lease import Lease, Settled, State
from noetl_mcp.tasks.calls import HandedBack
from noetl_mcp.worker.asking import Asking
from noetl_mcp.worker.caching import Cache
from noetl_mcp.worker.child import Child
from noetl_mcp.worker.engine import BEATS, Engine
from noetl_mcp.worker.equipment import Connect, Equipment
from noetl_mcp.worker.evidence import evidence, report
from noetl_mcp.worker.iterator import Iterator, remember_items
from noetl_mcp.worker.life import Life, Watch, begin_life, end_life, give_up
from noetl_mcp.worker.line import Line
from noetl_mcp.worker.reads import Reads
from noetl_mcp.worker.settle import Fault, Kind, Settler, Work
from noetl_mcp.worker.step import Steps
from noetl_mcp.worker.tending import Tending
from noetl_mcp.worker.turn_bodies import turn_bodies

LAST_WORDS = 5.0
"""So many seconds a write may still have its answer when its worker's life is over."""
NOT_BEGUN = 2.0
"""What could not be begun is tried again after so many seconds."""
MOST_RUNS = 4_000
"""So many executions that are not at work are remembered."""
T = TypeVar("T")


class Worker:
    """One life of a worker."""

    def __init__(self, equipment: Equipment) -> None:
        self.equipment = equipment
        self.programs: dict[int, Program] = {}
        self.runs: OrderedDict[int, Run] = OrderedDict()
        self.watch = Watch(equipment.terms.lease.total_seconds() / BEATS)
        self.asking = Asking(equipment.connect, self.watch.broken)
        self._life: Life | None = None
        self._is_over = False
        self._loading: set[asyncio.Task[None]] = set()
        self.tending = Tending(self)
        self.engine: Engine = None  # type: ignore[assignment]  # made when the life begins
        self.steps: Steps = None  # type: ignore[assignment]

    # A life

    async def run(self, started: Callable[["Worker"], None] | None = None) -> None:
        """Live until stopped; raise GivenUp when others gave this worker up."""
        terms, equipment = self.equipment.terms, self.equipment
        life = await self.ask(self._begin_life)
        self._life, self.asking.is_patient = life, True
        line = Line(lambda: equipment.connect("flush"), life.id, life.epoch)
        line.start()
        self.engine = Engine(line, terms, self._begin)
        self.engine.ticked = self.tending.ticked
        self._equip()
        if started is not None:
            started(self)
        try:
            await self.engine.run()
        finally:
            await self._end(line, life)

    def _equip(self) -> None:
        settler = Settler(self.engine)
        reads = Reads(self)
        steps = Steps(
            settler,
            self.equipment.task,
            {},
            self.equipment.rules,
            reads.keep,
            reads.whole,
            self._remember,
            reads.credentials,
            self.equipment.specs,
            Cache(reads, self.equipment.rules.secret) if self.equipment.caches else None,
        )

        async def answered(work: Work, result: Any, payload: Any) -> None:
            await steps.settle(work, result, payload)

        from noetl_mcp.worker.waits import Waits

        waits = Waits(settler, reads, answered)
        steps.bodies = {
            "iterator": Iterator(settler, reads, answered),
            "playbook": Child(settler, reads, answered),
            "wait": waits.wait,
            "approve": waits.approve,
            "callback": waits.callback,
            **turn_bodies(steps, reads),
        }
        self.steps = steps

    async def _end(self, line: Line, life: Life) -> None:
        self._is_over, self.asking.is_patient = True, False
        line.shut()
        await self._wind_down()
        await asyncio.to_thread(line.stop)
        try:
            await self.ask(self._leave, life)
        except (Error, NotReachable):
            end_life(None, life)
        self.asking.close()

    async def _wind_down(self) -> None:
        """Stop what runs; a write that is under way may still have its answer."""
        held = [one for one in self.engine.held.values() if one.task is not None]
        writing = {one.task for one in held if self._writes(one.lease)}
        tasks = [one.task for one in held if one.task is not None]
        for task in tasks:
            if task not in writing:
                task.cancel()
        if writing:
            await asyncio.wait([task for task in tasks if task in writing], timeout=LAST_WORDS)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, *self._loading, return_exceptions=True)
        await self.tending.ended()

    def _writes(self, lease: Lease) -> bool:
        run = self.runs.get(lease.execution_id)
        return run is not None and run.program.nodes[lease.idx].writes

    def _begin_life(self) -> Life:
        connection = self.records().connection
        equipment = self.equipment
        return begin_life(connection, equipment.lives, equipment.terms.pools, equipment.name)

    def _leave(self, life: Life) -> None:
        """Hand back what is still held, and say what is known of it."""
        connection, engine = self.records().connection, self.engine
        settled = list(engine.outbox.flush.settled)
        settled += engine.refused.settled if engine.refused is not None else ()
        if settled or engine.held:
            give_up(connection, life.id, None)
            report(connection, life.id, evidence(settled, (h.lease for h in engine.held.values())))
        self.tending.count(connection)
        end_life(connection, life)
        self.asking.drop()

    # The second connection, used by one thread

    def records(self) -> Records:
        """Return what is read and kept beside the flushes; only from its own thread."""
        return self.asking.records()

    async def ask(self, function: Callable[..., T], *given: Any) -> T:
        """Ask in the thread of the second connection."""
        return await self.asking.ask(function, *given)

    # Leases

    def _begin(self, leases: list[Lease]) -> None:
        """Let new leases begin; what must be read first is read together."""
        later: list[Lease] = []
        for lease in leases:
            run = self._known(lease)
            if run is None or not self._enter(run, lease):
                later.append(lease)
        if later:
            task = asyncio.get_running_loop().create_task(self._load(later))
            self._loading.add(task)
            task.add_done_callback(self._loaded)

    def _loaded(self, task: asyncio.Task[None]) -> None:
        self._loading.discard(task)
        if not task.cancelled() and (problem := task.exception()) is not None:
            self.engine.broken(problem)

    def _known(self, lease: Lease) -> Run | None:
        """Return the run of a lease if it needs nothing from the database."""
        run = self.runs.get(lease.execution_id)
        if run is not None and not (lease.special and lease.before):
            return run
        if lease.plan is None or lease.special or lease.payload is None:
            return None
        program = self.programs.get(lease.plan)
        if program is None or lease.payload.startswith("@"):
            return None
        lanes = program.lanes.get(0)
        if lanes is None:
            return None
        context = Context(lease.execution_id, lease.plan, lease.payload)
        return self._add(Run(program, context, decode(lease.payload), lanes, self.equipment.world))

    def _add(self, run: Run) -> Run:
        self.runs[run.id] = run
        if len(self.runs) > MOST_RUNS:
            self._forget()
        return run

    def _forget(self) -> None:
        for number in list(self.runs)[: MOST_RUNS // 4]:
            if not self.runs[number].busy:
                del self.runs[number]

    def _enter(self, run: Run, lease: Lease) -> bool:
        """Begin a step if all it reads is known; say whether it was."""
        node = run.program.nodes[lease.idx]
        if node.others and run.missing(node.others, node, lease.item):
            return False
        if lease.item and any(key not in run.collections for key in run.outer(node, lease.item)):
            return False
        self._go(run, lease)
        return True

    def _go(self, run: Run, lease: Lease) -> None:
        node = run.program.nodes[lease.idx]
        work = Work(run, node, lease)
        if self.steps.at_once(work):
            return
        task = asyncio.get_running_loop().create_task(self._carry(work))
        self.engine.begun(lease, task, computes=node.computes, is_writing=lambda: work.is_writing)
        task.add_done_callback(lambda done: self._carried(work, done))

    def _carried(self, work: Work, task: asyncio.Task[None]) -> None:
        """See to a step that nobody settled: it was stopped before it began, or broke."""
        held = self.engine.held.get(work.lease.key)
        if held is None or held.task is not task:
            return
        try:
            self._unsettled(work, task)
        except Exception as problem:  # noqa: BLE001 - else the step would be held for ever
            self.engine.broken(problem)

    def _unsettled(self, work: Work, task: asyncio.Task[None]) -> None:
        settler = self.steps.settler
        if task.cancelled():
            self.steps.stopped(work)
            return
        told = repr(task.exception())
        told = told if work.mask is None else work.mask.text(told)
        fault = Fault("crash", told, retriable=False)
        if work.node.writes:
            error = fault.text(work.node, work.lease)
            settler.again(work, State.IN_DOUBT, Kind.IN_DOUBT, error=error)
        else:
            settler.failed(work, fault)

    async def _carry(self, work: Work) -> None:
        work.run.busy += 1
        try:
            await self.steps.do(work)
        except asyncio.CancelledError:
            raise
        except Exception as problem:  # noqa: BLE001 - a task may raise anything
            await self.steps.surprised(work, problem)
        finally:
            work.run.busy -= 1

    async def _load(self, leases: list[Lease]) -> None:
        """Read what leases need, together, and let them begin."""
        try:
            runs = await self.ask(self._read, leases)
        except Exception as problem:  # noqa: BLE001 - whatever it is, the leases are given back
            self._later(leases, f"{type(problem).__name__}: {problem}")
            return
        for lease in leases:
            run = runs.get(lease.execution_id)
            if self._is_over:
                return
            if run is None:
                self._later([lease], "it is not known any more")
            else:
                self._go(run, lease)

    def _later(self, leases: Iterable[Lease], why: str) -> None:
        """Hand back what cannot be begun here, for a while."""
        for lease in leases:
            error = encode({"code": "not-begun", "message": why[:1000]})
            settled = Settled(
                *lease.key,
                lease.lease,
                State.RETRYING,
                Kind.RETRY,
                lease.attempt - 1,
                error=error,
                note=lease.note,
                answer=lease.answer,
                delay=NOT_BEGUN,
                lane=lease.lane,
            )
            self.engine.settle(settled)

    def _read(self, leases: list[Lease]) -> dict[int, Run]:
        """Read contexts, plans, outcomes and collections; in the thread of the records.

        Returns the very runs that know it all: meanwhile others may have taken their places.
        """
        records = self.records()
        known = [(one.execution_id, self._known(one)) for one in leases]
        found, unknown = dict(known), {number for number, run in known if run is None}
        if unknown:
            for context in records.contexts(unknown).values():
                found[context.id] = self._add(self._made(records, context))
        runs = {number: run for number, run in found.items() if run is not None}
        wanted: dict[Key, tuple[Run, int, int]] = {}
        for lease in leases:
            run = runs.get(lease.execution_id)
            if run is None:
                continue
            node = run.program.nodes[lease.idx]
            keys = run.missing(node.looks, node, lease.item)
            keys += [key for key in run.outer(node, lease.item) if key not in run.collections]
            for idx, item in keys:
                wanted[run.id, idx, item] = (run, idx, item)
        for key, outcome in (records.outcomes(list(wanted)) if wanted else {}).items():
            run, idx, item = wanted[key]
            node = run.program.nodes[idx]
            if node.hands_out and outcome.note is not None:
                kept = decode(records.whole(outcome.note))
                run.collections[idx, item] = (kept["items"], kept["input"])
            whole = None if outcome.result is None else records.whole(outcome.result)
            run.learn(idx, item, outcome, whole)
        return runs

    def _made(self, records: Records, context: Context) -> Run:
        program = self.program(records, context.plan)
        lanes = program.lanes.get(context.priority)
        if lanes is None:
            lanes = Starts(records).lanes(program, context.priority)
        payload = decode(records.whole(context.payload or "{}"))
        return Run(program, context, payload, lanes, self.equipment.world)

    def program(self, records: Records, plan: int) -> Program:
        """Return a plan made ready; read once."""
        found = self.programs.get(plan)
        if found is None:
            found = Program(decode(records.plan(plan)), self.equipment.specs, plan)
            Starts(records).lanes(found, 0)
            self.programs[plan] = found
        return found

    async def _remember(self, lease: Lease, note: str) -> None:
        """Keep a step's note; durable on return."""
        await self.ask(self._noted, lease, note)

    def _noted(self, lease: Lease, note: str) -> None:
        life = self._life
        assert life is not None
        if not self.records().note(lease.key, lease.lease, life.id, note):
            raise HandedBack("the lease is gone, so nothing can be remembered")


__all__ = ["LARGE", "MOST_RUNS", "Connect", "Equipment", "Worker", "remember_items"]
