"""What a step's own templates say of its result: assertions, and what is kept in the log.

Settles nothing; raises what the step fails with.
"""

from collections.abc import Mapping
from typing import Any

from noetl_mcp.broker.asked import plain, truth
from noetl_mcp.broker.program import Node
from noetl_mcp.queue.encode import LARGE, encode
from noetl_mcp.tasks.calls import Failed
from noetl_mcp.worker.rendered import Rendered


def check_expected(node: Node, rendered: Rendered) -> None:
    """Refuse a step whose input lacks what it says it expects."""
    said = node.care.get("assert")
    if said is None:
        return
    names = said.render(rendered.scope).get("expects", ()) if said.constant else _expects(said)
    given = rendered.input if isinstance(rendered.input, Mapping) else {}
    missing = [name for name in names if _at(given, name) is None]
    if missing:
        raise Failed("assert", f"the input has no {', '.join(map(repr, missing))}", retriable=False)


def _expects(said: Any) -> Any:
    part = said.part("expects")
    return part.render({}) if part is not None else ()


def check_returned(node: Node, answer: Any, scope: Mapping[str, object]) -> None:
    """Refuse a result that lacks what the step says it returns."""
    said = node.care.get("assert")
    if said is None:
        return
    wanted = said.render(scope)
    names = plain(wanted.get("returns", ()), "returns")
    missing = [name for name in names if not _has(answer, name)]
    if missing:
        told = ", ".join(map(repr, missing))
        raise Failed("assert", f"the result has no {told}", retriable=False)
    for number, holds in enumerate(wanted.get("that", ())):
        if not truth(holds):
            raise Failed("assert", f"the result breaks that[{number}]", retriable=False)


def _at(value: Any, dotted: str) -> Any:
    for key in dotted.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _has(value: Any, dotted: str) -> bool:
    for key in dotted.split("."):
        if isinstance(value, Mapping) and key in value:
            value = value[key]
        elif isinstance(value, Mapping) and isinstance(value.get("data"), Mapping):
            value = value["data"].get(key)
        elif key != "data":
            return False
    return True


def saves(
    node: Node, scope: Mapping[str, object], answer: Any, kept: Mapping[str, str]
) -> tuple[list[str], str | None]:
    """Return what a step keeps in the log by its own wish, and a text to be kept apart first.

    `kept` says of large texts what stands in their place.
    """
    tree = node.care.get("save")
    if tree is None:
        return [], None
    found = []
    for save in tree.render(scope):
        if save.get("on") == "error" or not truth(save.get("when", True)):
            continue
        data = save.get("data")
        text = encode(plain(answer if data is None else data))
        if len(text) >= LARGE and text not in kept:
            return [], text
        text = kept.get(text, text)
        part = f'"data_ref":"{text[1:]}"' if text.startswith("@") else f'"data":{text}'
        name = f',"name":{encode(str(save["name"]))}' if save.get("name") else ""
        found.append(f"{{{part}{name}}}")
    return found, None


__all__ = ["check_expected", "check_returned", "saves"]
