"""How often a step may be done again, and with which waits: read before it is done, and after.

What a condition says is not judged here: any value is true or false.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from noetl_mcp.broker.asked import openly
from noetl_mcp.broker.names import AFTERWARDS
from noetl_mcp.broker.trees import Tree
from noetl_mcp.compiler.plan import TEMPLATE_MARK
from noetl_mcp.playbook.care import Retry
from noetl_mcp.playbook.model import Repeat
from noetl_mcp.playbook.rendering.render import RenderError
from noetl_mcp.worker.fitting import fitted
from noetl_mcp.worker.rendered import Rendered
from noetl_mcp.worker.settle import Work

_RETRY = ("max_attempts", "initial_delay", "max_delay", "backoff_multiplier", "jitter")
_REPEAT = ("max", "delay", "on_max")


def fitted_retry(said: Mapping[str, Any], step: str) -> Retry:
    """Return rendered `retry` as its model, without its conditions."""
    openly(said, _RETRY)
    given = {key: said[key] for key in _RETRY if key in said}
    return fitted(Retry, given, step, under="retry")


def fitted_repeat(said: Mapping[str, Any], step: str) -> Repeat:
    """Return rendered `repeat` as its model, without its conditions and what it gathers."""
    openly(said, _REPEAT)
    given = {key: said[key] for key in _REPEAT if key in said}
    return fitted(Repeat, given, step, under="repeat")


def check_again(work: Work, rendered: Rendered) -> None:
    """Refuse a step before it is done, if what is known of its `retry` or `repeat` is wrong."""
    for key, parts, least in (("retry", _RETRY, {}), ("repeat", _REPEAT, {"max": 1})):
        tree = work.node.care.get(key)
        if tree is None or tree.constant:
            continue
        said = {**least, **_known(work, rendered, tree, key, parts)}
        if key == "retry":
            fitted_retry(said, work.node.name)
        else:
            fitted_repeat(said, work.node.name)


def _known(
    work: Work, rendered: Rendered, tree: Tree, key: str, parts: tuple[str, ...]
) -> dict[str, Any]:
    """Render the parts that ask for nothing which is known only when the step was done."""
    found: dict[str, Any] = {}
    for name in parts:
        part = tree.part(name)
        asks = names_in(work.node.more[key].get(name), work.run.program.plan)
        if part is None or asks & (AFTERWARDS | {work.node.name, work.node.more.get("alias")}):
            continue
        try:
            found[name] = part.render(rendered.scope)
        except RenderError:
            continue  # it is told where it is needed
    return found


def names_in(written: Any, plan: Mapping[str, Any]) -> frozenset[str]:
    """Return the names that the templates in a part of a plan ask for."""
    templates = plan["templates"]
    return frozenset(
        name for number in _templates(written) for name in templates[number].get("names", ())
    )


def _templates(written: Any) -> Iterator[int]:
    if isinstance(written, Mapping):
        if written.keys() == {TEMPLATE_MARK}:
            yield written[TEMPLATE_MARK]
        for one in written.values():
            yield from _templates(one)
    elif isinstance(written, list):
        for one in written:
            yield from _templates(one)


__all__ = ["check_again", "fitted_repeat", "fitted_retry", "names_in"]
