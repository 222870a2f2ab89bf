"""Give a step with `cache` what it gave before, and keep what it gives now.

The same is asked when the playbook, the step and all that its task is given are the same, or the
author's own key is. Only digests of that are kept, made with a secret of the database. Nothing that
writes is ever given from here.
"""

import hmac
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from noetl_mcp.broker.asked import Asked
from noetl_mcp.broker.cache import Former
from noetl_mcp.broker.program import Node
from noetl_mcp.broker.results import Known
from noetl_mcp.compiler.plan import TEMPLATE_MARK
from noetl_mcp.playbook.rendering.render import RenderError
from noetl_mcp.playbook.rendering.secret import uncovered
from noetl_mcp.playbook.values import Duration
from noetl_mcp.queue.encode import NotJson, decode, encode
from noetl_mcp.tasks.calls import Failed
from noetl_mcp.worker.answers import check_returned
from noetl_mcp.worker.fitting import fitted_value
from noetl_mcp.worker.rendered import Rendered
from noetl_mcp.worker.settle import Work

_GIVEN = ("settings", "input", "auth")


class Store(Protocol):
    """Where former results are kept. Who cannot be asked knows nothing, and fails no step."""

    def former(self, key: str, ttl: float | None) -> Awaitable[Former | None]: ...
    def keep_result(
        self, key: str, text: str, execution_id: int, ttl: float | None
    ) -> Awaitable[None]: ...


@dataclass(frozen=True, slots=True)
class Cache:
    """Finds and keeps the results of steps."""

    store: Store
    secret: str = field(repr=False)

    def question(self, work: Work, rendered: Rendered, asked: Any = None) -> "Question | None":
        """Return what a step asks, if a former answer may do; `asked` is more than it is given."""
        node = work.node
        if node.writes or "repeat" in node.care:
            return None
        said = node.care["cache"].render(rendered.scope)
        try:
            whole = _asked(work, rendered, said)
            key = _digest(self.secret, work, whole if asked is None else [whole, asked])
        except NotJson:  # what cannot be written down cannot be the same
            return None
        ttl = fitted_value(Duration | None, said.get("ttl"), "cache.ttl", node.name)
        return Question(self.store, work, key, ttl)


@dataclass(slots=True)
class Question:
    """What one step asks."""

    store: Store
    work: Work
    key: str
    ttl: float | None
    answer: Any = None

    async def is_answered(self) -> bool:
        """Whether it was answered before; in a further round of an execution all is done anew."""
        work = self.work
        if work.run.context.round > 1:
            return False
        former = await self.store.former(self.key, self.ttl)
        if former is None:
            return False
        self.answer = decode(former.text)
        work.meta = {"cached": True, "execution_id": str(former.execution_id)}
        return True

    async def keep(self, answer: Any, text: str, payload: Any) -> None:
        """Keep an answer that the step is content with."""
        work = self.work
        if work.meta is None and _holds(work, answer, payload):
            await self.store.keep_result(self.key, text, work.run.id, self.ttl)


def _digest(secret: str, work: Work, asked: Any) -> str:
    node = work.node
    said = encode([work.run.program.path, node.name, node.type, asked])
    return hmac.digest(secret.encode(), said.encode(), "sha256").hex()


def _asked(work: Work, rendered: Rendered, said: Mapping[str, Any]) -> Any:
    """Return all that a task is given; with a key of the author's, that and the step as written."""
    if said.get("key") is not None:
        return {
            "key": uncovered(said["key"]),
            "written": _written(work.run.program.plan, work.node),
        }
    return {
        "settings": uncovered(rendered.settings),
        "input": uncovered(rendered.input),
        "auth": uncovered(rendered.auth),
        "sql": [[one.text, uncovered(one.values)] for one in rendered.sql],
    }


def _written(plan: Mapping[str, Any], node: Node) -> Any:
    """Return a step as its author wrote it: a new program does not give what the old one gave."""
    texts = [one["text"] for one in plan["templates"]]

    def written(tree: Any) -> Any:
        if isinstance(tree, dict):
            if set(tree) == {TEMPLATE_MARK} and isinstance(tree[TEMPLATE_MARK], int):
                return texts[tree[TEMPLATE_MARK]]
            return {key: written(one) for key, one in tree.items()}
        return [written(one) for one in tree] if isinstance(tree, list) else tree

    return {key: written(node.more[key]) for key in _GIVEN if key in node.more}


def _holds(work: Work, answer: Any, payload: Any) -> bool:
    """Whether the step's own assertions hold; they are asked again when it is settled."""
    if "assert" not in work.node.care:
        return True
    own = Asked(work.run, work.node, work.item, Known("done", answer), payload)
    try:
        check_returned(work.node, answer, own.scope(work.node))
    except (Failed, RenderError):
        return False
    return True


__all__ = ["Cache", "Question", "Store"]
