"""Make the call of a step: validated settings, gates, what the task may do beside its work."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from noetl_mcp.broker.asked import openly
from noetl_mcp.broker.guards import guards_of
from noetl_mcp.broker.program import Node
from noetl_mcp.broker.run import Run, item_name
from noetl_mcp.playbook.rendering.secret import uncovered
from noetl_mcp.playbook.values import Model
from noetl_mcp.queue.encode import encode
from noetl_mcp.queue.lease import Lease, Told
from noetl_mcp.tasks.calls import Call, Failed, HandedBack, UnknownOutcome
from noetl_mcp.tasks.gates import Gate
from noetl_mcp.worker.engine import Engine
from noetl_mcp.worker.fitting import fitted
from noetl_mcp.worker.masks import Mask, secrets_of
from noetl_mcp.worker.rendered import SPEAKS_OK, Rendered
from noetl_mcp.worker.settle import Kind, Work

Kept = TypeVar("Kept", bound=Model)
MAY_SEND = 0.6
"""A write goes out only while so much of the lease is not yet gone."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds for every step here."""

    require_confirm: bool = False
    read_only: bool = False
    lease_seconds: float = 15.0
    seal: str = ""
    """What every idempotency key of this installation begins with; others see it."""
    secret: str = ""
    """What tokens of callbacks and approvals are derived from; nobody sees it."""


@dataclass(slots=True, eq=False)
class Around:
    """What a task may do beside its work."""

    engine: Engine
    rules: Rules
    keep_note: Callable[[Any, str], Awaitable[None]]
    work: Work
    mask: Mask

    def may_send(self) -> None:
        """Raise HandedBack when the lease may be gone."""
        silent = self.engine.line.silent_for()
        if silent >= MAY_SEND * self.rules.lease_seconds:
            raise HandedBack(f"the database was not heard for {silent:.1f} s, so nothing was sent")

    async def remember(self, note: Any) -> None:
        """Keep a note that outlives this process."""
        kept = self.work.kept
        await self.keep_note(self.work.lease, encode({"remembered": self.mask.value(note), **kept}))

    def log(self, text: str, *, stream: str = "stdout") -> None:
        """Write a line into the execution's log."""
        data = encode({"text": self.mask.text(text), "stream": stream})
        lease = self.work.lease
        self.engine.outbox.tell(Told(Kind.LOG, *lease.key, lease.attempt, data))
        self.engine.soon()


@dataclass(frozen=True, slots=True, eq=False)
class Caller:
    """Makes the calls of one worker."""

    engine: Engine
    rules: Rules
    remember: Callable[[Lease, str], Awaitable[None]]
    credentials: Callable[[Run, Node, Any], Awaitable[Mapping[str, Mapping[str, Any]]]]

    def gate(self, work: Work, rendered: Rendered) -> Gate | None:
        """Return what is to be allowed and judged; None where nothing is."""
        if not is_gated(work.node, rendered):
            return None
        guards = guards_of(work.run.context.labels)
        strict = bool(work.run.program.plan["options"].get("require_confirm"))
        return gate_of(
            work.node,
            rendered,
            self.rules,
            strict=strict or guards.require_confirm,
            read_only=guards.read_only,
        )

    async def call(self, work: Work, rendered: Rendered, mask: Mask) -> Call:
        """Return the call of a step; what its credentials hold is masked from here on."""
        node, lease, run = work.node, work.lease, work.run
        auth: Mapping[str, Mapping[str, Any]] = {}
        if rendered.auth is not None:
            auth = await self.credentials(run, node, rendered.auth)
            for one in auth.values():
                mask.add(secrets_of(one))
        given = rendered.data if rendered.saves else rendered.input
        if not node.is_constant:
            mask.add(rendered.secrets)
            given = uncovered(given)
        settings = validated(node, rendered)
        item = item_name(work.item) if work.item else None
        return Call(
            task=node.type,
            settings=settings,
            input=given,
            around=self.around(work, mask),
            auth=auth,
            execution_id=run.id,
            step=node.name,
            item=item,
            attempt=lease.attempt,
            key=key_of(work, self.rules),
            writes=node.writes,
            idempotent=node.more.get("idempotent") is True,
            timeout=rendered.timeout,
            sql=rendered.sql,
            remembered=work.remembered,
        )

    def around(self, work: Work, mask: Mask) -> Around:
        """Return what a task may do beside its work."""
        return Around(self.engine, self.rules, self.remember, work, mask)


async def within(doing: Awaitable[Any], call: Call) -> Any:
    """Wait for a task no longer than an attempt may take."""
    if call.timeout is None:
        return await doing
    try:
        async with asyncio.timeout(call.timeout + 1.0):
            return await doing
    except TimeoutError:
        message = f"no answer within {call.timeout:g} s"
        if call.writes:
            raise UnknownOutcome("timeout", message) from None
        raise Failed("timeout", message) from None


def is_gated(node: Node, rendered: Rendered) -> bool:
    """Whether there is anything that gates could ask of a step."""
    return node.writes or bool(rendered.expect) or node.type in SPEAKS_OK


def gate_of(
    node: Node, rendered: Rendered, rules: Rules, *, strict: bool = False, read_only: bool = False
) -> Gate:
    """Return what a step declares of itself to the gates, with what its execution adds."""
    spec = node.spec
    method = rendered.settings.get("method")
    return Gate(
        node.type,
        method if isinstance(method, str) and node.type != "http" else None,
        node.writes,
        node.more.get("confirm") is True,
        node.more.get("idempotent") is True,
        rendered.expect,
        spec.confirmation if spec is not None else "never",
        rules.require_confirm or strict,
        rules.read_only or read_only,
        node.name,
        read_only,
    )


def key_of(work: Work, rules: Rules) -> str:
    """Return the idempotency key: the same for every automatic attempt of one write."""
    run, item = work.run, item_name(work.item) if work.item else 0
    parts = (run.id, work.node.idx, item, run.context.round, *_times(work))
    return rules.seal + "-".join(map(str, parts))


def _times(work: Work) -> tuple[int, ...]:
    """Return how often a repeated step was done before: each time is a write of its own."""
    rounds = work.kept.get("rounds", 0) if "repeat" in work.node.care else 0
    return (rounds,) if rounds else ()


def validated(node: Node, rendered: Rendered) -> Any:
    """Return the settings model of a step, built once where nothing in it is a template."""
    if node.made is not None:
        return node.made
    if rendered.model is None:
        return uncovered(rendered.settings)
    given: Any = uncovered(rendered.settings)
    made = fitted(rendered.model, given, node.name, rendered.settings)
    if node.is_constant:
        node.made = made
    return made


def kept_settings(model: type[Kept], rendered: Rendered) -> Kept:
    """Return the settings of a step that waits: they are kept, so none may be a secret."""
    openly(rendered.settings)
    return fitted(model, dict(rendered.settings), rendered.node.name)


__all__ = [
    "MAY_SEND",
    "Around",
    "Caller",
    "Rules",
    "gate_of",
    "is_gated",
    "kept_settings",
    "key_of",
    "validated",
    "within",
]
