"""The steps of a turn that call tools: one for each call that the model asked for.

A call that must not be made, or that fails, is an answer to the model and no failure of the turn. A
tool that writes is noted before it is sent, so that a lost answer leaves its call in doubt.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from noetl_mcp.broker.guards import guards_of
from noetl_mcp.broker.program import Node
from noetl_mcp.broker.run import Run, item_name
from noetl_mcp.broker.trees import Tree
from noetl_mcp.compiler.plan import TEMPLATE_MARK
from noetl_mcp.playbook.rendering.secret import uncovered
from noetl_mcp.playbook.values import Duration
from noetl_mcp.queue.encode import NotJson, decode, encode
from noetl_mcp.queue.lease import WIDTH, State, Told
from noetl_mcp.tasks.calls import Call, Failed, UnknownOutcome
from noetl_mcp.tasks.gates import Broken, Gate, Refused, allow, judge
from noetl_mcp.tasks.models.fits import misfits
from noetl_mcp.tasks.models.talk import told
from noetl_mcp.worker.calling import key_of, within
from noetl_mcp.worker.faults import fault_of
from noetl_mcp.worker.fitting import fitted, fitted_value
from noetl_mcp.worker.iterator import Reads
from noetl_mcp.worker.masks import Mask, secrets_of
from noetl_mcp.worker.rendered import Rendered, secrets_in, settings_of
from noetl_mcp.worker.settle import ERRORS, Fault, Kind, Work
from noetl_mcp.worker.step import Steps

_SECONDS = 300.0
"""A tool that says nothing else may take so long."""


class TurnCalls:
    """Does the steps `turn.tools` and `turn.call`."""

    def __init__(self, steps: Steps, reads: Reads) -> None:
        self.steps = steps
        self.settler = steps.settler
        self.reads = reads

    async def tools(self, work: Work, rendered: Rendered) -> None:
        """Hand out the calls of a round, or gather what they gave."""
        run, node = work.run, work.node
        wanted = _wanted(run, node, work.item)
        if work.lease.note is None:
            run.collections[node.idx, work.item] = (wanted, None)
            note = await self.reads.keep(encode({"items": wanted, "input": None}))
            at_once = len(wanted) if not _may_write(run, node, wanted) else 1
            self.settler.opens(work, note, total=len(wanted), window=at_once, tolerate=len(wanted))
            return
        fan = await self.reads.fan(work.lease.key)
        if fan is None:
            raise Failed("turn", "the round's window is gone", retriable=False)
        total, handed, live, _, _, closed = fan
        if live > 0 or (not closed and handed < total):
            self.settler.again(work, State.PARKED, Kind.PARKED, note=work.lease.note)
            return
        calls = await self._gathered(work, wanted)
        await self.steps.settle(work, {"calls": calls}, rendered.payload)

    async def _gathered(self, work: Work, wanted: Sequence[Mapping[str, Any]]) -> list[Any]:
        """Return each call with what came of it."""
        run, node = work.run, work.node
        first, inner = work.item * WIDTH + 1, node.body[0]
        found = await self.reads.items(run.id, [inner], first, first + len(wanted) - 1)
        calls = []
        for index, one in enumerate(wanted):
            outcome = found.get((inner, first + index))
            call = {key: one[key] for key in ("id", "name", "arguments")}
            if outcome is None or outcome.state != State.DONE:
                error = decode(outcome.error) if outcome is not None and outcome.error else {}
                why = error.get("message") or "the call was not made"
                calls.append({**call, "error": {"code": error.get("code"), "message": why}})
                continue
            text = outcome.result
            given = None if text is None else decode(await self.reads.whole(text))
            calls.append({**call, **_in_its_form(given, one["name"], run)})
        return calls

    async def call(self, work: Work, rendered: Rendered) -> None:
        """Make one call; whatever keeps it from being made is told to the model."""
        run = work.run
        wanted = _item(run, work)
        mask = Mask()
        if run.program.secret_names:
            mask.add(run.secrets)
        tell = {"tool": wanted["name"], "arguments": wanted["arguments"]}
        self._tell(work, Kind.TOOL_CALLED, mask.value(tell))
        try:
            given = await self._called(work, wanted, mask)
        except UnknownOutcome as problem:
            if work.armed:
                self._in_doubt(work, Fault(problem.code, problem.message), mask, problem.evidence)
                return
            given = {"error": {"code": problem.code, "message": problem.message}}
        except (Failed, Refused, Broken) as problem:
            given = {"error": {"code": problem.code, "message": problem.message}}
        except ERRORS as problem:
            given = {"error": {"code": fault_of(problem).code, "message": str(problem)}}
        given = mask.value({"tool": wanted["name"], **given})
        answered = {"tool": wanted["name"]}
        if "error" in given:
            answered["error"] = given["error"]
        self._tell(work, Kind.TOOL_ANSWERED, answered)
        try:
            await self.steps.settle(work, given, rendered.payload)
        except NotJson as problem:
            error = {"code": "not-json", "message": str(problem)}
            await self.steps.settle(work, {"tool": wanted["name"], "error": error}, {})

    async def _called(self, work: Work, wanted: Mapping[str, Any], mask: Mask) -> dict[str, Any]:
        """Return what a tool gave."""
        run, name = work.run, wanted["name"]
        if wanted.get("problem") is not None:
            raise Failed("bad-call", wanted["problem"])
        allowed = run.program.nodes[_around(work)].more["settings"]["tools"]
        tool = run.program.plan["tools"].get(name)
        if name not in allowed or tool is None:
            listed = ", ".join(allowed) or "none"
            raise Failed("not-allowed", f"there is no tool '{name}' here; there is: {listed}")
        schema = tool.get("input_schema")
        wrong = misfits(wanted["arguments"], schema) if schema is not None else []
        if wrong:
            raise Failed("bad-arguments", f"the arguments do not fit: {'; '.join(wrong)}")
        writes = tool.get("writes") is True
        if writes and tool.get("confirm") is not True:
            raise Failed("unconfirmed", f"tool '{name}' writes and is not confirmed")
        gate = self._gate(work, name, tool, writes=writes)
        allow(gate)
        task = self.steps.task(tool["type"])
        if task is None:
            raise Failed("no-such-task", f"steps of type '{tool['type']}' cannot be done here")
        call = await self._made(work, name, tool, wanted["arguments"], mask, writes=writes)
        if writes and tool.get("idempotent") is not True:
            await self._arm(work, name)
        work.begun = True
        answer = mask.value(await within(task.execute(call), call))
        judge(gate, answer)
        return {"result": answer, "told": told(tool["type"], answer)}

    def _gate(self, work: Work, name: str, tool: Mapping[str, Any], *, writes: bool) -> Gate:
        spec = self.steps.specs[tool["type"]]
        guards, rules = guards_of(work.run.context.labels), self.steps.rules
        return Gate(
            tool["type"],
            name,
            writes,
            tool.get("confirm") is True,
            tool.get("idempotent") is True,
            {},
            spec.confirmation,
            rules.require_confirm or guards.require_confirm,
            rules.read_only or guards.read_only,
            work.node.name,
            guards.read_only,
        )

    async def _made(
        self,
        work: Work,
        name: str,
        tool: Mapping[str, Any],
        arguments: Mapping[str, Any],
        mask: Mask,
        *,
        writes: bool,
    ) -> Call:
        """Return the call of a tool; in its templates `input` is what the model said."""
        run, spec = work.run, self.steps.specs[tool["type"]]
        sight = run.sight(work.node, work.item, input=dict(arguments))
        scope = run.program.names.tool(work.node.idx, sight)
        renderers = run.program.renderers
        tree = Tree(tool["settings"], renderers, holds="settings")
        settings, sql = settings_of(run, tree, tool["settings"], scope, spec.sql, ())
        given: Any = dict(arguments)
        if "input" in tool:
            given = Tree(tool["input"], renderers, "input").render(scope)
        elif tool["type"] == "http" and _places_input(tool["settings"], run.program.plan):
            given = None  # else it would be the query or the body once more
        auth: Mapping[str, Mapping[str, Any]] = {}
        if "auth" in tool:
            named = Tree(tool["auth"], renderers, "auth").render(scope)
            auth = await self.steps.credentials(run, work.node, named)
            for one in auth.values():
                mask.add(secrets_of(one))
        mask.add(secrets_in(settings))
        mask.add(secrets_in(given))
        for statement in sql:
            mask.add(secrets_in(list(statement.values)))
        plain: Any = uncovered(settings)
        return Call(
            task=tool["type"],
            settings=fitted(spec.settings, plain, name, settings),
            input=uncovered(given),
            around=self.steps.caller.around(work, mask),
            auth=auth,
            execution_id=run.id,
            step=work.node.name,
            item=item_name(work.item),
            attempt=work.lease.attempt,
            key=key_of(work, self.steps.rules),
            writes=writes,
            idempotent=tool.get("idempotent") is True,
            timeout=_seconds(tool, renderers, scope, name),
            sql=sql,
        )

    # Writes

    async def _arm(self, work: Work, name: str) -> None:
        """Note durably that a write is about to be sent: a crash now leaves it in doubt."""
        await self.steps.remember(work.lease, encode({"armed": name}))
        work.armed = True
        self._tell(work, Kind.ACTION_STARTED, {"tool": name})

    def _in_doubt(self, work: Work, fault: Fault, mask: Mask, evidence: Any) -> None:
        known = mask.fault(Fault(fault.code, fault.message, details=evidence))
        error = known.text(work.node, work.lease)
        note = encode({"armed": True})
        self.settler.again(work, State.IN_DOUBT, Kind.IN_DOUBT, error=error, note=note)

    def _tell(self, work: Work, kind: int, data: Mapping[str, Any]) -> None:
        lease = work.lease
        self.settler.engine.outbox.tell(Told(kind, *lease.key, lease.attempt, encode(data)))
        self.settler.engine.soon()


def _seconds(tool: Mapping[str, Any], renderers: Any, scope: Any, name: str) -> float:
    """Return how long one call of a tool may take."""
    said = Tree(tool.get("timeout"), renderers, "timeout").render(scope)
    given: float | None = fitted_value(Duration | None, said, "timeout", name)
    return _SECONDS if given is None else given


def _wanted(run: Run, node: Node, item: int) -> list[dict[str, Any]]:
    """Return the calls that the model asked for in the round before."""
    number = node.more["settings"]["round"]
    model = run.program.find(f"{node.more['turn']}.model.{number}")
    left = (
        None if model is None else run.left.get((model.idx, run.seen_from(node, item, model.idx)))
    )
    return [] if left is None else list(left.known.result["tool_calls"])


def _item(run: Run, work: Work) -> dict[str, Any]:
    """Return the call that a step was handed out for."""
    (*_, (iterator, outer)) = run.outer(work.node, work.item)
    items, _ = run.collections[iterator, outer]
    found: dict[str, Any] = items[work.item % WIDTH - 1]
    return found


def _around(work: Work) -> int:
    assert work.node.within is not None
    return work.node.within


def _may_write(run: Run, node: Node, wanted: Sequence[Mapping[str, Any]]) -> bool:
    tools = run.program.plan["tools"]
    return any(tools.get(one["name"], {}).get("writes") is True for one in wanted)


def _places_input(settings: Any, plan: Mapping[str, Any]) -> bool:
    """Whether the settings of a tool say themselves where its arguments go."""
    if isinstance(settings, Mapping):
        if settings.keys() == {TEMPLATE_MARK}:
            names = plan["templates"][settings[TEMPLATE_MARK]].get("names", ())
            return "input" in names or "data" in names
        return any(_places_input(one, plan) for one in settings.values())
    return isinstance(settings, list) and any(_places_input(one, plan) for one in settings)


def _in_its_form(given: Any, name: str, run: Run) -> dict[str, Any]:
    """Return what a call gave; what a person accepted for it is its result as it stands."""
    if isinstance(given, dict) and given.get("tool") == name:
        return {key: given[key] for key in ("result", "told", "error") if key in given}
    return {"result": given, "told": given}


__all__ = ["TurnCalls"]
