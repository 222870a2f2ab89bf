"""The body of an iterator: prepare its items, hand them out by windows, gather what they gave.

The collection is kept with the step when it opens, so every worker hands out the same items. The
queue counts the items; nothing here waits for one.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from noetl_mcp.broker.asked import openly, plain, truth
from noetl_mcp.broker.program import Node
from noetl_mcp.broker.records import Key, Outcome
from noetl_mcp.broker.route import settles
from noetl_mcp.broker.run import Run
from noetl_mcp.broker.sight import Round
from noetl_mcp.playbook.model import Iterator as Written
from noetl_mcp.queue.encode import decode, encode
from noetl_mcp.queue.lease import WIDTH, State, Told
from noetl_mcp.tasks.calls import Failed
from noetl_mcp.worker.fitting import fitted, fitted_value
from noetl_mcp.worker.rendered import Rendered
from noetl_mcp.worker.settle import Fault, Kind, Settler, Work

MOST = WIDTH - 2
_SIDE_BY_SIDE = 8
_RESULT = frozenset(("items", "results", "count", "errors"))
Answered = Callable[[Work, Any, Any], Awaitable[None]]
"""Settles a step with its result, after asking the step's own templates."""


class Window(NamedTuple):
    """How the items of an iterator stand when no more of them begin."""

    total: int
    handed: int
    failed: int
    tolerate: int


class Reads(Protocol):
    """What an iterator reads of the database."""

    async def items(
        self, execution_id: int, idxs: Sequence[int], first: int, last: int
    ) -> dict[tuple[int, int], Outcome]: ...
    async def fan(self, key: Key) -> tuple[int, int, int, int, int, bool] | None: ...
    async def keep(self, text: str) -> str: ...
    async def whole(self, text: str) -> str: ...


class Iterator:
    """Does steps of type `iterator`."""

    def __init__(self, settler: Settler, reads: Reads, answered: Answered) -> None:
        self.settler = settler
        self.reads = reads
        self.answered = answered

    async def __call__(self, work: Work, rendered: Rendered) -> None:
        """Open the window, or gather when all items are over."""
        if work.lease.note is None:
            await self._open(work, rendered)
            return
        note = work.lease.note
        await remember_items(work.run, work.node, work.item, note, self.reads)
        fan = await self.reads.fan(work.lease.key)
        if fan is None:
            raise Failed("iterator", "its window is gone", retriable=False)
        total, handed, live, failed, tolerate, closed = fan
        if live > 0 or (not closed and handed < total):
            self.settler.again(work, State.PARKED, Kind.PARKED, note=note)
            return
        await self._gather(work, rendered, Window(total, handed, failed, tolerate))

    async def _open(self, work: Work, rendered: Rendered) -> None:
        node, run = work.node, work.run
        openly(rendered.settings)
        said = settings_of_iterator(rendered)
        items = collection(run, work.item, node, rendered, said)
        run.collections[node.idx, work.item] = (items, rendered.input)
        if not items:
            await self._finish(work, rendered, [], [])
            return
        if len(items) > MOST:
            raise Failed("too-many-items", f"{len(items)} items; {MOST} at most", retriable=False)
        window = 1
        if said.mode != "sequential":
            window = said.concurrency or _SIDE_BY_SIDE
        tolerate = _tolerated(said.tolerate, len(items))
        text = encode({"items": plain(items), "input": plain(rendered.input)})
        note = await self.reads.keep(text)
        self.settler.opens(work, note, total=len(items), window=window, tolerate=tolerate)

    async def _gather(self, work: Work, rendered: Rendered, window: Window) -> None:
        run, node = work.run, work.node
        handed, failed, done = window.handed, window.failed, 0
        program = run.program
        first = work.item * WIDTH + 1
        inner = [idx for idx in node.body if program.nodes[idx].within == node.idx]
        found = await self.reads.items(run.id, inner, first, first + handed - 1)
        last = program.result_of(node)
        results: list[Any] = []
        errors: list[dict[str, Any]] = []
        for index in range(handed):
            here = {
                idx: outcome
                for idx in inner
                if (outcome := found.get((idx, first + index))) is not None
            }
            broken = _broken(here, program.nodes)
            if broken is not None:
                error = decode(broken.error) if broken.error else {}
                told = {"code": error.get("code"), "message": error.get("message")}
                results.append({"error": told})
                errors.append({"index": index, **told})
                continue
            done += bool(here) and all(one.state != State.CANCELLED for one in here.values())
            text = here[last].result if last in here else None
            results.append(None if text is None else decode(await self.reads.whole(text)))
        if failed > window.tolerate:
            worst = errors[0] if errors else {"message": "an item failed"}
            said = _counted(window, done)
            fault = Fault(
                "items-failed",
                f"{said}; the first one (item {worst.get('index')}): {worst['message']}",
                retriable=False,
                details={"errors": errors[:100]},
            )
            self._tell_end(work, window.total, done, failed)
            self.settler.failed(work, fault, payload=rendered.payload)
            return
        await self._finish(work, rendered, results, errors)

    async def _finish(
        self, work: Work, rendered: Rendered, results: list[Any], errors: list[Any]
    ) -> None:
        result = {
            "items": len(results),
            "results": results,
            "count": len(results) - len(errors),
            "errors": errors,
        }
        self._tell_end(work, len(results), len(results) - len(errors), len(errors))
        await self.answered(work, result, rendered.payload)

    def _tell_end(self, work: Work, items: int, done: int, failed: int) -> None:
        told = encode({"items": items, "count": done, "failed": failed})
        lease = work.lease
        self.settler.engine.outbox.tell(Told(Kind.LOOP_COMPLETED, *lease.key, lease.attempt, told))


def settings_of_iterator(rendered: Rendered) -> Written:
    """Return the settings of an iterator as its model has them, but for its items."""
    given = {**rendered.settings, "collection": []}
    return fitted(Written, given, rendered.node.name)


def collection(run: Run, item: int, node: Node, rendered: Rendered, said: Written) -> list[Any]:
    """Return the items of an iterator: filtered, sorted, cut and chunked, in this order."""
    items = _listed(rendered)
    settings = node.more["settings"]
    if "where" in settings:
        items = [one for one, asked in _asked(run, item, rendered, items, "where") if truth(asked)]
    if "order_by" in settings:
        asked = _asked(run, item, rendered, items, "order_by")
        try:
            items = [one for one, _ in sorted(asked, key=lambda pair: pair[1])]
        except TypeError as problem:
            raise Failed(
                "order-by", f"the items cannot be sorted: {problem}", retriable=False
            ) from None
    if said.limit is not None:
        items = items[: said.limit]
    if (size := said.chunk) is not None:
        items = [items[at : at + size] for at in range(0, len(items), size)]
    return items


def _asked(
    run: Run, item: int, rendered: Rendered, items: list[Any], key: str
) -> list[tuple[Any, Any]]:
    """Return each item with what a template gives for it."""
    node, given = rendered.node, rendered.input
    tree = node.settings.part(key) if node.settings is not None else None
    if tree is None:
        return [(one, None) for one in items]
    sight = run.sight(node, item, input=given)
    found = []
    for number, one in enumerate(items):
        inside = Round(node.idx, number, one, len(items), given)
        seen = replace(sight, rounds=(*sight.rounds, inside))
        found.append((one, tree.render(run.program.names.scope(node.idx, seen))))
    return found


def _listed(rendered: Rendered) -> list[Any]:
    """Return a collection, which is a list; what another iterator gave stands for its results."""
    value = rendered.settings.get("collection")
    if isinstance(value, list):
        return value
    if isinstance(value, dict) and value.keys() == _RESULT and isinstance(value["results"], list):
        return list(value["results"])
    found: list[Any] = fitted_value(list[Any], value, "collection", rendered.node.name)
    return found


def _tolerated(said: int | str, total: int) -> int:
    """Return how many items may fail."""
    if isinstance(said, str):
        return int(total * float(said.removesuffix("%")) / 100)
    return said


def _broken(here: Mapping[int, Outcome], nodes: Sequence[Node]) -> Outcome | None:
    """Return the step of an item that failed without anything that made up for it."""
    return next(
        (
            outcome
            for idx, outcome in here.items()
            if outcome.state in (State.FAILED, State.DEAD) and not _made_up(nodes[idx], outcome)
        ),
        None,
    )


def _counted(window: Window, done: int) -> str:
    """Say how many items failed, and what became of the others."""
    left = window.total - window.failed - done
    more = f", {left} not done" if left > 0 else ""
    return f"{window.failed} of {window.total} items failed, {done} done{more}"


def _made_up(node: Node, outcome: Outcome) -> bool:
    """Whether the ways that followed a failure inside an item made up for it."""
    took = decode(outcome.extra).get("took", ()) if outcome.extra else ()
    return settles(node, [way for way in node.ways if way.number in took]) and bool(took)


async def remember_items(run: Run, node: Node, item: int, note: str, reads: Reads) -> None:
    """Make an iterator's items known to a run that did not open it."""
    if (node.idx, item) in run.collections:
        return
    kept = decode(await reads.whole(note))
    run.collections[node.idx, item] = (kept["items"], kept["input"])


__all__ = [
    "Answered",
    "Iterator",
    "Reads",
    "collection",
    "remember_items",
    "settings_of_iterator",
]
