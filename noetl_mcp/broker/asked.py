"""Answer what routing asks of templates: conditions, names that are set, input sent along.

Reads only what the run knows already; decides nothing itself.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from noetl_mcp.broker.program import Node, Way
from noetl_mcp.broker.results import Known
from noetl_mcp.broker.run import Left, Run
from noetl_mcp.broker.sight import Later
from noetl_mcp.playbook.rendering.secret import Secret
from noetl_mcp.queue.encode import encode

_FALSE = frozenset(("", "false", "0", "none", "null", "no", "off"))


@dataclass(slots=True, eq=False)
class Asked:
    """The templates around one step that has come to its end, and of those it passes through."""

    run: Run
    node: Node
    item: int
    own: Known | None
    payload: Mapping[str, Any] = field(default_factory=dict)
    """What the ways to the step brought."""
    _scopes: dict[int, Mapping[str, object]] = field(default_factory=dict)

    def scope(self, node: Node) -> Mapping[str, object]:
        """Return the names that a step sees."""
        found = self._scopes.get(node.idx)
        if found is None:
            is_own = node is self.node
            payload = self.payload if is_own else {}
            own = self.own if is_own else None
            sight = self.run.sight(
                node,
                self.item,
                payload=payload,
                own=own,
                input=given_to(self.run, node, self.item, payload),
            )
            found = self._scopes[node.idx] = self.run.program.names.scope(node.idx, sight)
        return found

    def holds(self, node: Node, way: Way) -> bool:
        """Whether the condition of a way holds."""
        if way.when is None or isinstance(way.when, bool):
            return way.when is not False
        return truth(way.when(self.scope(node)))

    def runs(self, node: Node) -> bool:
        """Whether a step's own condition lets it run."""
        when = node.care.get("when")
        return when is None or truth(when.render(self.scope(node)))

    def gives(self, node: Node) -> Any:
        """Return the result of a step without a body: the last task's for a sequence."""
        result = None
        if node.type == "sequence":
            for idx in node.more.get("siblings", {}).values():
                left = self.run.left.get((idx, self.run.seen_from(node, self.item, idx)))
                if left is not None and left.known.state == "done":
                    result = left.known.result
        if node is not self.node:
            self.run.remember(node.idx, self.item, Left(Known("done", result)))
        return result

    def leaves(self, node: Node, taken: Sequence[Way]) -> dict[str, Any]:
        """Return what a step leaves behind for those after it."""
        found: dict[str, Any] = {}
        tree = node.care.get("set")
        if tree is not None:
            found["set"] = plain(tree.render(self.scope(node)))
        for way in taken:
            if way.data is not None:
                sent = found.setdefault("data", {})
                sent[str(way.number)] = plain(way.data.render(self.scope(node)))
            if way.set is not None:
                put = found.setdefault("ways", {})
                put[str(way.number)] = plain(way.set.render(self.scope(node)))
        if found:
            encode(found)
            left = self.run.left.get((node.idx, self.item))
            if left is not None:
                left.extra = found
        return found


def given_to(run: Run, node: Node, item: int, payload: Mapping[str, Any]) -> Later | None:
    """Return a step's input, rendered when a template asks for it; None when it has none."""
    tree = node.input
    if tree is None:
        return None

    def make() -> Any:
        scope = run.program.names.scope(node.idx, run.sight(node, item, payload=payload))
        given = tree.render(scope)
        return {**given, **payload} if payload and isinstance(given, dict) else given

    return Later(make)


class SecretLeft(Exception):
    """A secret would be kept where everybody can read it."""


def plain(value: Any, where: str = "") -> Any:
    """Return a rendered value, refusing secrets: what is kept can be read by everybody.

    `where` names it in the message, as somebody has written it.
    """
    if isinstance(value, Secret):
        what = f"'{where}' is a secret or made of one, which" if where else "a secret"
        raise SecretLeft(f"{what} cannot be kept in the log; use secrets.NAME where it is needed")
    if isinstance(value, dict):
        for key, one in value.items():
            plain(one, f"{where}.{key}" if where else "")
    elif isinstance(value, (list, tuple)):
        for number, one in enumerate(value):
            plain(one, f"{where}[{number}]" if where else "")
    return value


def openly(settings: Mapping[str, Any], keys: Collection[str] | None = None) -> None:
    """Refuse secrets in settings that are kept or steer what is kept; in some of them, if told."""
    for key, value in settings.items():
        if keys is None or key in keys:
            plain(value, key)


def truth(value: object) -> bool:
    """Return what a condition comes to; texts that mean no are false."""
    if isinstance(value, str):
        return value.strip().lower() not in _FALSE
    return bool(value)


__all__ = ["Asked", "SecretLeft", "openly", "plain", "truth"]
