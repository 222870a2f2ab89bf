"""What steps without a task give: it is known from what is there. Waits for nobody."""

from typing import Any

from noetl_mcp.broker.asked import Asked, plain
from noetl_mcp.worker.answers import check_expected
from noetl_mcp.worker.rendered import render_call
from noetl_mcp.worker.settle import Work

BUILT_IN = frozenset({"router", "sequence", "noop", "set"})


def computed(work: Work) -> tuple[Any, Any]:
    """Return the result of a step without a task, and its input."""
    node = work.node
    if node.bare:
        return Asked(work.run, node, work.item, None).gives(node), {}
    rendered = render_call(work.run, node, work.item, work.former)
    check_expected(node, rendered)
    values = rendered.settings.get("values") if node.type == "set" else None
    return plain(rendered.input if values is None else values), rendered.payload


__all__ = ["BUILT_IN", "computed"]
