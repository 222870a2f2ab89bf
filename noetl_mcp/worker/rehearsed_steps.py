"""The pipe of a dry run: what reads is done, what writes meets its gates and is not sent.

A step of which something is not known is looked at as far as that goes: its gates are asked, an
iterator is gone through with one item that stands for all, a playbook with what is known of its
payload.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from noetl_mcp.broker.asked import Asked, truth
from noetl_mcp.broker.guards import guards_of
from noetl_mcp.broker.program import Node
from noetl_mcp.playbook.rendering.render import RenderError
from noetl_mcp.playbook.rendering.secret import Secret
from noetl_mcp.queue.encode import decode, encode
from noetl_mcp.queue.lease import WIDTH
from noetl_mcp.tasks.bounds import KEYS
from noetl_mcp.tasks.calls import Failed
from noetl_mcp.tasks.gates import Planned, predict
from noetl_mcp.worker.calling import gate_of, kept_settings
from noetl_mcp.worker.computed import BUILT_IN, computed
from noetl_mcp.worker.faults import fault_of
from noetl_mcp.worker.iterator import collection, settings_of_iterator
from noetl_mcp.worker.masks import Mask, secrets_of
from noetl_mcp.worker.rehearsed_partly import rendered_as_known
from noetl_mcp.worker.rehearsed_run import RehearsedRun
from noetl_mcp.worker.rehearsed_settler import RehearsedSettler
from noetl_mcp.worker.rehearsed_story import Story
from noetl_mcp.worker.rehearsed_unknown import (
    Unknown,
    holds_unknown,
    is_unknown,
    without_unknown,
)
from noetl_mcp.worker.rehearsed_writes import Deed, Write, deed_of
from noetl_mcp.worker.rendered import Rendered, secrets_in
from noetl_mcp.worker.settle import ERRORS, Fault, Work
from noetl_mcp.worker.step import Steps

_SKIPS = 2
ASSUMED: Mapping[str, str] = {
    "approve": "assumed approved",
    "wait": "not waited for",
    "callback": "assumed called back",
}


class RehearsedSteps(Steps):
    """Does steps without writing."""

    story: Story
    settler: RehearsedSettler

    def at_once(self, work: Work) -> bool:
        """Do a step that waits for nobody; say whether it was one."""
        node, lease, story = work.node, work.lease, self.story
        is_dead = lease.live == 0 and node.join != _SKIPS and node.waits
        if is_dead or story.is_stopped(work):
            self.settler.skipped(work)
            return True
        when = node.care.get("when")
        if when is None or node.type.startswith("save."):
            return node.type in BUILT_IN and self._computed(work)
        try:
            holds = truth(when.render(Asked(work.run, node, work.item, None).scope(node)))
        except ERRORS as problem:
            if not is_unknown(problem):
                return super().at_once(work)
            story.perhaps_steps.add((work.run.id, node.idx, work.item))
            holds = True
        if not holds:
            self.settler.skipped(work)
            return True
        return node.type in BUILT_IN and self._computed(work)

    def _computed(self, work: Work) -> bool:
        """Settle a step without a task, as far as its value is known; say whether that went."""
        node = work.node
        try:
            result, payload = computed(work)
        except RenderError as problem:
            if not is_unknown(problem):
                self.settler.failed(work, fault_of(problem))
                return True
            rendered, gaps = rendered_as_known(work.run, node, work.item)
            if not (isinstance(work.run, RehearsedRun) and work.run.is_behind_failure(node)):
                why = f"it needs {', '.join(gaps)}" if gaps else problem.reason
                self.story.leave_out(work, why)
            result = rendered.input
            if node.type == "set" and "values" in rendered.settings:
                result = rendered.settings["values"]
            self.settler.assumed(work, result, rendered.payload, may_fail=False)
            return True
        except (Failed, *ERRORS) as problem:
            self.settler.failed(work, fault_of(problem))
            return True
        except (ArithmeticError, LookupError, TypeError, ValueError):
            return False  # it breaks there again, where every surprise has an answer
        if holds_unknown(result):
            self.settler.assumed(work, result, payload, may_fail=False)
            return True
        kept: dict[str, str] = {}
        while large := self._answered(work, result, encode(result), payload, [], kept):
            kept[large] = large
        return True

    async def do(self, work: Work) -> None:
        """Do a step that may have to wait."""
        mask = Mask()
        try:
            if work.node.type.partition(".")[0] == "turn":
                self.settler.left_out(work, _of_turn(work))
            elif work.node.type in self.bodies:
                await self._body(work)
            elif work.node.writes:
                await self._write(work, mask)
            elif self.story.is_perhaps(work):
                self.settler.left_out(work, "it is only perhaps reached, so it was not done")
            else:
                await self._read(work)
        except asyncio.CancelledError:
            self.stopped(work)
            raise
        except (Failed, *ERRORS) as problem:
            self.fail(work, mask.fault(fault_of(problem)))

    def fail(self, work: Work, fault: Fault, *, payload: Any = None) -> None:
        """Try a read again if the step says so, but not where a write before it was not sent."""
        story = self.story
        if story.is_later(work) or story.is_perhaps(work) or is_unknown(fault.message):
            self.settler.failed(work, fault, payload=payload)
            return
        super().fail(work, fault, payload=payload)

    # What reads

    async def _read(self, work: Work) -> None:
        """Do a step that only reads, when all that it is given is known."""
        _, gaps = rendered_as_known(work.run, work.node, work.item)
        if gaps:
            self.settler.left_out(work, f"it needs {', '.join(gaps)}")
            return
        await super().do(work)

    # What writes

    async def _write(self, work: Work, mask: Mask) -> None:
        """Ask the gates about a write and take it for done, unless they refuse it."""
        run, node = work.run, work.node
        mask.add(run.secrets if run.program.secret_names else ())
        try:
            rendered, gaps = rendered_as_known(run, node, work.item)
        except (Failed, *ERRORS) as problem:
            self._note(work, _refusal(node, fault_of(problem)), Deed(""))
            raise
        mask.add(_secrets(rendered))
        if rendered.saves and not self._is_wanted(work, rendered):
            self.settler.assumed(work, {"saved": 0, "skipped": True}, may_fail=False)
            return
        planned, answer = await self._planned(work, rendered, mask, gaps)
        planned = replace(planned, why=mask.text(planned.why))
        self._note(work, planned, deed_of(node, rendered, mask), gaps)
        if planned.verdict == "refused":
            raise Failed(planned.code or "refused", planned.why, retriable=False)
        self.story.predict(work)
        if gaps:
            self.story.leave_out(work, f"it needs {', '.join(gaps)}")
        result = Unknown(f"{{{{ {node.name} }}}}") if answer is None else answer
        self.settler.assumed(work, result, rendered.payload)

    async def _planned(
        self, work: Work, rendered: Rendered, mask: Mask, gaps: tuple[str, ...]
    ) -> tuple[Planned, Any]:
        """Say what the gates would say, and what a preview answers where there is one."""
        node = work.node
        bounds = {
            key: value
            for key, value in rendered.expect.items()
            if key not in KEYS or not holds_unknown(value)
        }
        known = replace(rendered, expect=bounds) if gaps else rendered
        strict = bool(work.run.program.plan["options"].get("require_confirm"))
        strict = strict or guards_of(work.run.context.labels).require_confirm
        gate = gate_of(node, known, self.rules, strict=strict)
        answer = None
        try:
            if not gaps:
                call = await self.caller.call(work, rendered, mask)
                preview = getattr(self.task(node.type), "preview", None)
                answer = mask.value(await preview(call)) if preview is not None else None
            elif rendered.auth is not None and not holds_unknown(rendered.auth):
                for one in (await self.credentials(work.run, node, rendered.auth)).values():
                    mask.add(secrets_of(one))
        except Failed as problem:
            return _refusal(node, mask.fault(fault_of(problem))), None
        planned = predict(gate, answer)
        if planned.verdict == "allowed" and self.task(node.type) is None:
            said = f"this worker cannot do steps of type '{node.type}'"
            planned = replace(planned, verdict="refused", code="no-such-task", why=said)
        return planned, answer

    def _is_wanted(self, work: Work, rendered: Rendered) -> bool:
        """Whether the condition of a save holds; where that is open it perhaps does."""
        when = work.node.care.get("when")
        if when is None:
            return True
        try:
            return truth(when.render(rendered.scope))
        except RenderError as problem:
            if not is_unknown(problem):
                raise
        self.story.perhaps_steps.add((work.run.id, work.node.idx, work.item))
        return True

    def _note(self, work: Work, planned: Planned, deed: Deed, gaps: tuple[str, ...] = ()) -> None:
        context = work.run.context
        self.story.note(
            Write(
                planned,
                deed,
                self.story.item_of(work),
                None if context.parent_execution is None else self.story.paths[work.run.id],
                self.story.is_perhaps(work),
                gaps,
            )
        )

    # What holds other steps

    async def _body(self, work: Work) -> None:
        node = work.node
        if node.type in ASSUMED:
            rendered, gaps = rendered_as_known(work.run, node, work.item)
            if not gaps and rendered.model is not None:
                kept_settings(rendered.model, rendered)
            self.story.assumed[self.story.name(work)] = ASSUMED[node.type]
            if node.type != "approve":
                self.story.predict(work)
            self.settler.assumed(work, _assumed(node))
            return
        rendered, _ = rendered_as_known(work.run, node, work.item)
        if node.type == "iterator" and work.lease.note is None and self._opened(work, rendered):
            return
        if node.type == "playbook" and holds_unknown(rendered.settings):
            self.settler.left_out(work, "which playbook it runs is not known")
            return
        await self.bodies[node.type](work, rendered)

    def _opened(self, work: Work, rendered: Rendered) -> bool:
        """Open an iterator whose items are not all known; say whether it was one."""
        run, node = work.run, work.node
        items = self._items(work, rendered)
        if items is None:
            element = run.program.names.element(node.idx)
            items = [Unknown(f"{{{{ {element} }}}}")]
            self.story.perhaps_items.add((run.id, node.idx, work.item))
            self.story.leave_out(work, "its items are not known; one stands for all of them")
        parts = (items, rendered.settings, rendered.input)
        if not items or not any(holds_unknown(part) for part in parts):
            return False
        run.collections[node.idx, work.item] = (items, rendered.input)
        note = encode(without_unknown({"items": items, "input": rendered.input}))
        self.settler.opens(work, note, total=len(items), window=1, tolerate=0)
        return True

    def _items(self, work: Work, rendered: Rendered) -> list[Any] | None:
        """Return the items of an iterator; None when it is not known which they are."""
        settings = rendered.settings
        if any(isinstance(settings.get(key), Unknown) for key in ("collection", "limit", "chunk")):
            return None
        known = {key: one for key, one in settings.items() if not isinstance(one, Unknown)}
        try:
            said = settings_of_iterator(replace(rendered, settings=known))
            return collection(work.run, work.item, work.node, rendered, said)
        except RenderError as problem:
            if not is_unknown(problem):
                raise
        return None

    async def answered(self, work: Work, result: Any, payload: Any) -> None:
        """Settle an iterator or a playbook with what came of what it holds."""
        node = work.node
        if node.type == "iterator":
            result = self._gathered(work, result)
        else:
            result = self._given(work, result)
        if holds_unknown(result):
            self.settler.assumed(work, result, payload, may_fail=False)
            return
        await self.settle(work, result, payload)

    def _gathered(self, work: Work, result: Mapping[str, Any]) -> Any:
        """Put back what is not known of the items' results."""
        run, node = work.run, work.node
        if (run.id, node.idx, work.item) in self.story.perhaps_items:
            return Unknown(f"{{{{ {node.name} }}}}")
        last, results = run.program.result_of(node), list(result["results"])
        for number in range(len(results)):
            left = run.left.get((last, work.item * WIDTH + number + 1))
            if left is not None and holds_unknown(left.known.result):
                results[number] = left.known.result
        return {**result, "results": results}

    def _given(self, work: Work, result: Any) -> Any:
        """Return the result of a playbook, with what is not known in it."""
        child = decode(work.lease.note)["child"] if work.lease.note else None
        said = work.node.more.get("settings", {})
        if child is None or said.get("return_step") is not None:
            return result
        return self.story.results.get(child, result)


def _of_turn(work: Work) -> str:
    """Say why a step of a turn is left out, and what it might do."""
    if work.node.type != "turn.tools":
        return "a model is not asked in a dry run"
    tools = work.run.program.plan["tools"]
    allowed = work.node.more["settings"]["tools"]
    writes = [one for one in allowed if tools[one].get("writes") and tools[one].get("confirm")]
    may = f"; it may write with {', '.join(writes)}" if writes else ""
    return f"which tools a model asks for is not known{may}"


def _assumed(node: Node) -> Any:
    """Return what a person, a server or a moment is taken to answer."""
    if node.type == "approve":
        known: dict[str, Any] = {"approved": True}
        return known | {key: Unknown(f"{{{{ {node.name}.{key} }}}}") for key in ("by", "comment")}
    return Unknown(f"{{{{ {node.name} }}}}")


def _secrets(rendered: Rendered) -> list[Secret]:
    """Return what must not be seen, around what is not known."""
    values = [list(one.values) for one in rendered.sql]
    parts = (rendered.settings, rendered.input, rendered.auth, rendered.data, values)
    return [one for part in parts for one in secrets_in(without_unknown(part))]


def _refusal(node: Node, fault: Fault) -> Planned:
    """Return what is said of a write that fails before its gates are asked."""
    return Planned(
        node.name, node.type, None, "write", "refused", fault.code, fault.message, (), None
    )


__all__ = ["ASSUMED", "RehearsedSteps"]
