"""The pipe a step goes through: render, allow, execute, judge, settle.

Every way out ends in the settler. A task's answer is masked before anything keeps it. A body that
has answered never runs again: what fails after it fails the step with the answer kept.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, Protocol

from noetl_mcp.broker.asked import Asked, SecretLeft, truth
from noetl_mcp.broker.program import Node
from noetl_mcp.broker.results import Known
from noetl_mcp.broker.run import Run
from noetl_mcp.broker.verdict import verdict_in
from noetl_mcp.queue.encode import LARGE, NotJson, decode, encode
from noetl_mcp.queue.lease import Lease, State, Told
from noetl_mcp.tasks.calls import Failed, HandedBack, Task, UnknownOutcome
from noetl_mcp.tasks.contract import TaskSpec
from noetl_mcp.tasks.gates import Broken, Gate, Refused, allow, judge
from noetl_mcp.worker.again import check_again
from noetl_mcp.worker.answers import check_expected, check_returned, saves
from noetl_mcp.worker.caching import Cache, Question
from noetl_mcp.worker.calling import Caller, Rules, within
from noetl_mcp.worker.checks import check_call
from noetl_mcp.worker.computed import BUILT_IN, computed
from noetl_mcp.worker.faults import fault_of
from noetl_mcp.worker.masks import Mask
from noetl_mcp.worker.rendered import Rendered, render_call, render_judged, secrets_in
from noetl_mcp.worker.retries import policy_of
from noetl_mcp.worker.rounds import NotReached, collected, repeats
from noetl_mcp.worker.settle import ERRORS, Fault, Kind, Settler, Work


class Body(Protocol):
    """A step type that the worker itself knows how to do: it settles the work on its own."""

    async def __call__(self, work: Work, rendered: Rendered) -> None: ...


@dataclass(eq=False)
class Steps:
    """Does steps, one by one, side by side."""

    settler: Settler
    task: Callable[[str], Task | None]
    bodies: Mapping[str, Body]
    rules: Rules
    keep: Callable[[str], Awaitable[str]]
    whole: Callable[[str], Awaitable[str]]
    remember: Callable[[Lease, str], Awaitable[None]]
    credentials: Callable[[Run, Node, Any], Awaitable[Mapping[str, Mapping[str, Any]]]]
    specs: Mapping[str, TaskSpec]
    cache: Cache | None = None

    def __post_init__(self) -> None:
        self.caller = Caller(self.settler.engine, self.rules, self.remember, self.credentials)

    def at_once(self, work: Work) -> bool:
        """Do a step that waits for nobody; say whether it was one."""
        run, node, lease = work.run, work.node, work.lease
        try:
            if lease.live == 0 and node.join != 2 and node.waits:
                self.settler.skipped(work)
                return True
            when = node.care.get("when")
            if when is not None and not node.type.startswith("save."):
                scope = Asked(run, node, work.item, None).scope(node)
                if not truth(when.render(scope)):
                    self.settler.skipped(work)
                    return True
            if node.type not in BUILT_IN or lease.answer is not None:
                return False
            if "repeat" in node.care and "last" in work.kept:
                return False
            result, payload = computed(work)
            text = encode(result)
            return len(text) < LARGE and self._answered(work, result, text, payload, []) is None
        except (Failed, *ERRORS) as problem:
            self.settler.failed(work, fault_of(problem))
        except (ArithmeticError, LookupError, TypeError, ValueError):
            return False  # it breaks there again, where every surprise has an answer
        return True

    async def do(self, work: Work) -> None:
        """Do a step that may have to wait."""
        node, lease = work.node, work.lease
        payload: Any = {}
        mask = work.mask = Mask()
        if work.run.program.secret_names:
            mask.add(work.run.secrets)
        try:
            if lease.answer is not None:
                await self._answer_kept(work, lease.answer)
                return
            if "repeat" in node.care and (last := work.kept.get("last")) is not None:
                work.former = Known("done", decode(await self.whole(last)))
            if node.type in BUILT_IN:
                await self.settle(work, *computed(work))
                return
            rendered = render_call(work.run, node, work.item, work.former)
            payload = rendered.payload
            check_expected(node, rendered)
            check_again(work, rendered)
            body = self.bodies.get(node.type)
            if body is not None:
                await body(work, rendered)
                return
            await self._execute(work, rendered, mask)
        except asyncio.CancelledError:
            self.stopped(work)
            raise
        except HandedBack as problem:
            note = encode({"handed_back": str(problem)})
            self.settler.again(work, State.READY, Kind.LEASE_LOST, error=note)
        except UnknownOutcome as problem:
            await self._unknown(work, problem, payload, mask)
        except (Failed, Refused, *ERRORS) as problem:
            fault = mask.fault(fault_of(problem))
            if isinstance(problem, Refused):
                self._tell(work, Kind.REFUSED, encode(fault.told(node)))
            elif work.begun and node.writes:
                self._tell(work, Kind.ACTION_ERROR, encode({"error": fault.told(node)}))
            self.fail(work, fault, payload=payload)

    async def _answer_kept(self, work: Work, text: str) -> None:
        """Settle a step whose body has answered: it never runs again."""
        answer = decode(await self.whole(text))
        said = verdict_in(answer)
        if said is not None:
            fault = Fault(said["code"], said["message"], retriable=False)
            self.settler.failed(work, fault)
            return
        try:
            rendered = render_judged(work.run, work.node, work.item)
            gate = self.caller.gate(work, rendered)
            if gate is not None:
                judge(gate, answer)
        except Broken as broken:
            self.settler.failed(work, fault_of(broken.as_failed()), answer=answer)
            return
        except ERRORS as problem:
            self.settler.failed(work, fault_of(problem), answer=answer)
            return
        await self._settle(work, answer, rendered.payload, Mask())

    async def _execute(self, work: Work, rendered: Rendered, mask: Mask) -> None:
        """Give the step to its task, between the gates."""
        node, lease = work.node, work.lease
        call = await self.caller.call(work, rendered, mask)
        gate = self.caller.gate(work, rendered)
        if gate is not None:
            allow(gate)
        task = self.task(node.type)
        if task is None:
            raise Failed(
                "no-such-task",
                f"this worker cannot do steps of type '{node.type}'",
                retriable=False,
            )
        when = node.care.get("when")
        if when is not None and not truth(when.render(rendered.scope)):
            await self._settle(work, {"saved": 0, "skipped": True}, rendered.payload, mask)
            return
        if lease.crashes and node.writes and "check" in node.care:
            said = await self._checked(work, rendered, mask)
            if said == "unknown":
                raise UnknownOutcome(
                    "worker-lost", "its worker is gone, and the check tells nothing"
                )
            if said == "done":
                return
        asks = None
        if self.cache is not None and "cache" in node.care:
            asks = self.cache.question(work, rendered)
        if asks is not None and await asks.is_answered():
            answer = mask.value(asks.answer)
        else:
            work.begun = True
            answer = mask.value(await within(task.execute(call), call))
        await self._settle(work, answer, rendered.payload, mask, gate, asks)

    # After the body

    async def settle(self, work: Work, answer: Any, payload: Any) -> None:
        """Settle a step whose body the worker itself did."""
        await self._settle(work, answer, payload, Mask())

    async def _settle(
        self,
        work: Work,
        answer: Any,
        payload: Any,
        mask: Mask,
        gate: Gate | None = None,
        asks: Question | None = None,
    ) -> None:
        """Judge an answer and settle the step with it."""
        try:
            text = encode(answer)
        except NotJson as problem:
            self.settler.failed(work, Fault("not-json", str(problem), retriable=False))
            return
        try:
            if gate is not None:
                judge(gate, answer)
        except Broken as broken:
            fault = mask.fault(fault_of(broken.as_failed()))
            if fault.retriable:
                self.fail(work, fault, payload=payload)
            else:
                self.settler.failed(work, fault, payload=payload, answer=answer)
            return
        if len(text) >= LARGE:
            text = await self.keep(text)
        if asks is not None:
            await asks.keep(answer, text, payload)
        told = []
        if work.node.writes:
            told.append(self._told(work, Kind.ACTION_COMPLETED, None))
        kept: dict[str, str] = {}
        while (large := self._answered(work, answer, text, payload, told, kept)) is not None:
            kept[large] = await self.keep(large)

    def _answered(
        self,
        work: Work,
        answer: Any,
        text: str,
        payload: Any,
        told: list[Told],
        kept: Mapping[str, str] = MappingProxyType({}),
    ) -> str | None:
        """Everything that asks templates about a result; what cannot be asked fails the step.

        A text that comes back is to be kept apart first; nothing was settled then.
        """
        node, run = work.node, work.run
        try:
            if not node.care:
                self.settler.done(work, answer, text=text, payload=payload, told=told)
                return None
            own = Asked(run, node, work.item, Known("done", answer), payload)
            scope = own.scope(node)
            check_returned(node, answer, scope)
            again = repeats(work, answer, scope, text)
            if again is not None:
                delay, note = again
                state = State.READY if not delay else State.RETRYING
                self.settler.again(
                    work, state, Kind.ITERATION, delay=delay or None, note=note, result=text
                )
                return None
            if "repeat" in node.care:
                answer, text = collected(work, answer, text)
                if len(text) >= LARGE and text not in kept:
                    return text
                text = kept.get(text, text)
            said, large = saves(node, scope, answer, kept)
            if large is not None:
                return large
            told += [self._told(work, Kind.SAVED, one) for one in said]
            self.settler.done(work, answer, text=text, payload=payload, told=told)
        except (Failed, *ERRORS) as problem:
            # Rounds that only read begin anew when somebody retries; a write is not done again.
            begins_anew = isinstance(problem, NotReached) and not node.writes
            kept_answer = None if begins_anew else answer
            self.settler.failed(work, fault_of(problem), payload=payload, answer=kept_answer)
        return None

    # When it did not work

    def fail(self, work: Work, fault: Fault, *, payload: Any = None) -> None:
        """Try again if the step says so, else fail."""
        node, lease, run = work.node, work.lease, work.run
        policy = policy_of(node, run, work.item, payload or {})
        told = {"code": fault.code, "message": fault.message, "step": node.name}
        if fault.details is not None:
            told["details"] = fault.details
        known = Known("failed", None, told, attempt=lease.attempt)
        try:
            again = policy.asks(Asked(run, node, work.item, known, payload or {}), lease, fault)
        except (Failed, *ERRORS) as problem:
            again = None
            code = fault_of(problem).code if isinstance(problem, (Failed, SecretLeft)) else "retry"
            after = "" if str(problem) == fault.message else f" (after: {fault.message})"
            fault = Fault(code, f"{problem}{after}", retriable=False)
        if again is None:
            self.settler.failed(work, fault, payload=payload)
            return
        error = fault.text(node, lease)
        self.settler.again(
            work,
            State.RETRYING,
            Kind.RETRY,
            delay=again.delay,
            error=error,
            note=None if node.type in self.bodies else lease.note,
        )

    async def surprised(self, work: Work, problem: Exception) -> None:
        """A task broke its word and raised something else: of a write nobody knows what came."""
        mask = work.mask or Mask()
        told = mask.text(f"{type(problem).__name__}: {problem}")
        if not work.begun:
            self.fail(work, Fault("crash", told))
            return
        await self._unknown(work, UnknownOutcome("crash", told), {}, mask)

    async def _unknown(self, work: Work, problem: UnknownOutcome, payload: Any, mask: Mask) -> None:
        """Nobody knows what came of a request: read again, ask, or leave it in doubt."""
        node = work.node
        fault = mask.fault(Fault(problem.code, problem.message, details=problem.evidence))
        if not node.writes or node.more.get("idempotent") is True:
            self.fail(work, fault, payload=payload)
            return
        if node.more.get("on_failure") == "warn":
            # Whoever wrote it can do without this save: nobody is asked, and it is not sent again.
            self.settler.failed(work, fault)
            return
        if "check" in node.care:
            rendered = render_call(work.run, node, work.item, work.former)
            said = "unknown" if work.doubted else await self._checked(work, rendered, mask)
            if said == "not-done":
                told = Fault("not-done", f"the check says that it was not done ({fault.message})")
                self.fail(work, told, payload=payload)
            if said != "unknown":
                return
        error = fault.text(node, work.lease)
        self.settler.again(work, State.IN_DOUBT, Kind.IN_DOUBT, error=error, note=work.lease.note)

    async def _checked(
        self, work: Work, rendered: Rendered, mask: Mask
    ) -> Literal["done", "not-done", "unknown"]:
        """Ask a step's `check` what became of a write, and settle the step when it was done."""
        work.doubted = True
        node = work.node
        tree = node.care["check"].render(rendered.scope)
        kind = tree.get("type", "http")
        task = self.task(kind)
        if task is None:
            return "unknown"
        try:
            mask.add(secrets_in(tree))
            call = check_call(tree, self.specs.get(kind), work, self.caller.around(work, mask))
            answer = mask.value(await within(task.execute(call), call))
        except (Failed, UnknownOutcome, HandedBack):
            return "unknown"
        said = answer.get("data", answer) if isinstance(answer, dict) else {}
        if not isinstance(said, dict) or not isinstance(said.get("done"), bool):
            return "unknown"
        if not said["done"]:
            return "not-done"
        gate = self.caller.gate(work, rendered)
        await self._settle(work, said.get("result"), rendered.payload, mask, gate)
        return "done"

    def stopped(self, work: Work) -> None:
        """A running body was stopped from outside: by a cancel, or because the worker leaves."""
        held = self.settler.engine.held.get(work.lease.key)
        if held is None or held.lease.lease != work.lease.lease:
            return  # it had come to its end before it heard of it
        if work.is_writing:
            error = Fault("stopped", "it was stopped while it wrote").text(work.node, work.lease)
            note = work.lease.note
            self.settler.again(work, State.IN_DOUBT, Kind.IN_DOUBT, error=error, note=note)
        elif held.is_cancelled:
            self.settler.again(work, State.CANCELLED, Kind.CANCELLED)
        else:
            self.settler.again(work, State.READY, Kind.LEASE_LOST)

    def _tell(self, work: Work, kind: int, data: str) -> None:
        self.settler.engine.outbox.tell(self._told(work, kind, data))

    def _told(self, work: Work, kind: int, data: str | None) -> Told:
        return Told(kind, work.run.id, work.node.idx, work.item, work.lease.attempt, data)


__all__ = ["Body", "Steps"]
