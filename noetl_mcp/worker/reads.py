"""What bodies read and keep of the database, asked from the loop."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from noetl_mcp.broker.cache import Former, former, keep
from noetl_mcp.broker.program import Node
from noetl_mcp.broker.records import Key, Outcome
from noetl_mcp.broker.run import Run
from noetl_mcp.broker.tokens import token
from noetl_mcp.database import Error, NotReachable
from noetl_mcp.playbook.rendering.secret import Secret
from noetl_mcp.queue.encode import LARGE, decode
from noetl_mcp.tasks.calls import Failed
from noetl_mcp.worker.settle import Work

if TYPE_CHECKING:
    from noetl_mcp.worker.worker import Worker


class Reads:
    """The records, asked in their own thread."""

    def __init__(self, worker: "Worker") -> None:
        self.worker = worker

    async def keep(self, text: str) -> str:
        """Return a text that fits into a row."""
        if len(text) < LARGE:
            return text
        return await self.worker.ask(lambda: self.worker.records().keep(text))

    async def whole(self, text: str) -> str:
        """Return the text behind what stands in a row."""
        if not text.startswith("@"):
            return text
        return await self.worker.ask(lambda: self.worker.records().whole(text))

    async def former(self, key: str, ttl: float | None) -> Former | None:
        """Return what a step gave before; nothing when it cannot be found out."""
        try:
            return await self.worker.ask(lambda: former(self.worker.records(), key, ttl))
        except (Error, NotReachable):
            return None

    async def keep_result(self, key: str, text: str, execution_id: int, ttl: float | None) -> None:
        """Keep what a step gave for others; nothing is lost when that fails."""
        with suppress(Error, NotReachable):
            await self.worker.ask(lambda: keep(self.worker.records(), key, text, execution_id, ttl))

    async def items(
        self, execution_id: int, idxs: Sequence[int], first: int, last: int
    ) -> dict[tuple[int, int], Outcome]:
        """Return the steps of an iterator's items."""
        return await self.worker.ask(
            lambda: self.worker.records().items(execution_id, idxs, first, last)
        )

    async def fan(self, key: Key) -> tuple[int, int, int, int, int, bool] | None:
        """Return an iterator's window."""
        return await self.worker.ask(lambda: self.worker.records().fan(key))

    async def signal(self, key: Key) -> tuple[str | None, str | None] | None:
        """Return what arrived for a parked step."""
        return await self.worker.ask(lambda: self.worker.records().signal(key))

    async def ended(self, execution_id: int) -> tuple[int, str | None, str | None] | None:
        """Return how an execution stands."""
        return await self.worker.ask(lambda: self.worker.records().ended(execution_id))

    def token(self, key: Key, round_number: int) -> str:
        """Return the token by which a waiting step is answered; the same every time."""
        return token(self.worker.equipment.rules.secret, *key, round_number)

    async def start_child(
        self, run: Run, work: Work, path: str, version: int | str, payload: Mapping[str, Any]
    ) -> int:
        """Start a child of a step, or find the one that was started before."""
        from noetl_mcp.broker.guards import carried
        from noetl_mcp.broker.starts import CHILD_KEY, Starts

        pins = decode(run.context.pins) if run.context.pins else {}
        number = work.lease.attempt - work.lease.crashes

        def start() -> int:
            return Starts(self.worker.records()).child(
                self.worker.program,
                path,
                pins.get(path) if version == "latest" else version,
                payload,
                parent=work.lease.key,
                key=f"{CHILD_KEY}{run.id}:{work.node.idx}:{work.item}:{run.context.round}:{number}",
                priority=run.context.priority,
                pins=run.context.pins,
                labels=carried(run.context.labels, run.program.plan["options"]),
            )

        child = await self.worker.ask(start)
        engine = self.worker.engine
        engine.wake()
        if engine.only is not None and child not in engine.only:
            engine.only.append(child)
        return child

    async def result_of(self, execution_id: int, step: str) -> Any:
        """Return the result of a step of another execution."""

        def read() -> Any:
            records = self.worker.records()
            context = records.contexts([execution_id])[execution_id]
            node = self.worker.program(records, context.plan).find(step)
            if node is None:
                raise Failed("no-such-step", f"the child has no step '{step}'", retriable=False)
            key = (execution_id, node.idx, 0)
            found = records.outcomes([key]).get(key)
            if found is None or found.result is None:
                return None
            return decode(records.whole(found.result))

        return await self.worker.ask(read)

    async def credentials(self, run: Run, node: Node, auth: Any) -> Mapping[str, Mapping[str, Any]]:
        """Return the credentials that a step names, by alias; the only one under no name."""
        if auth is None:
            return {}
        if isinstance(auth, (str, Secret)):
            return {"": await self._credential(str(auth))}
        if not isinstance(auth, Mapping):
            raise Failed("credential", "auth is a name or a map", retriable=False)
        if "type" in auth or "credential" in auth or "key" in auth:
            name = auth.get("credential") or (auth.get("key") if len(auth) <= 2 else None)
            if isinstance(name, str):
                return {"": await self._credential(name)}
            from noetl_mcp.playbook.rendering.secret import uncovered

            return {"": uncovered(dict(auth))}  # type: ignore[dict-item]
        found = {}
        for alias, one in auth.items():
            inner = await self.credentials(run, node, one)
            found[str(alias)] = inner[""]
        return found

    async def _credential(self, name: str) -> Mapping[str, Any]:
        lookup = self.worker.equipment.credentials
        if lookup is None:
            raise Failed("credential", f"there is no credential '{name}'", retriable=False)
        return await asyncio.to_thread(lookup, name)


__all__ = ["Reads"]
