"""How one step of one execution is written: `mark`, `each[3]`, `each.second[3]`. Pure.

An item of an iterator is named by the iterator where it is one step, else by that step of its body.
"""

import re
from collections.abc import Iterator

from noetl_mcp.broker.program import Node, Program
from noetl_mcp.broker.refusals import Unknown
from noetl_mcp.broker.run import item_name
from noetl_mcp.diagnostics import closest
from noetl_mcp.queue.lease import WIDTH

_DIGITS = 20
_WRITTEN = re.compile(r"(?P<name>.+?)(?:\[(?P<items>\d+(?:\.\d+)*)\])?\Z", re.DOTALL)


def written(program: Program, idx: int, item: int) -> str:
    """Return how a step is written; of an item with its number."""
    node = program.nodes[idx]
    if not item:
        return node.name
    return f"{shown_name(program, node)}[{item_name(item)}]"


def shown_name(program: Program, node: Node) -> str:
    """Return a step's name; that of its iterator where it is all that is done for an item."""
    if node.within is None:
        return node.name
    iterator = program.nodes[node.within]
    return iterator.name if _only(program, iterator) is node else node.name


def place(program: Program, text: str) -> tuple[Node, int]:
    """Return the step and the item that are meant; raise Unknown with the nearest name."""
    found = _WRITTEN.match(text)
    name, items = (found["name"], found["items"]) if found else (text, None)
    node = program.find(name)
    if node is None or name.startswith("$"):
        names = [node.name for node in program.nodes if not node.name.startswith("$")]
        near = closest(name, names)
        more = f"; did you mean '{near}'?" if near else ""
        raise Unknown(f"the playbook has no step '{name}'{more}")
    if items is None:
        if node.depth:
            raise Unknown(f"'{name}' is done for items; say which one: {name}[0]")
        return node, 0
    parts = items.split(".")
    if any(len(part) > _DIGITS for part in parts):
        raise Unknown(f"'{name[:80]}' names no item: its number is too long")
    numbers = [int(part) for part in parts]
    if node.hands_out and node.depth == len(numbers) - 1:
        node = _inner(program, node, numbers)
    if node.depth != len(numbers):
        raise Unknown(f"'{name}' is not done for items")
    return node, _folded(numbers)


def inside(item: int, depth: int) -> tuple[int, int]:
    """Return the first and the last number that items so deep inside an item can have."""
    first = last = item
    for _ in range(depth):
        first, last = first * WIDTH + 1, last * WIDTH + WIDTH - 1
    return first, last


def body_of(program: Program, iterator: Node) -> Iterator[tuple[Node, int]]:
    """Return the steps inside an iterator at any depth, each with its depth below it."""
    for idx in iterator.body:
        node = program.nodes[idx]
        if node.within == iterator.idx:
            yield node, 1
            if node.hands_out:
                yield from ((one, depth + 1) for one, depth in body_of(program, node))


def _only(program: Program, iterator: Node) -> Node | None:
    """Return the step that is all an iterator does for an item, if it is one step."""
    own = [
        program.nodes[idx]
        for idx in iterator.body
        if program.nodes[idx].within == iterator.idx and "speaks_for" not in program.nodes[idx].more
    ]
    return own[0] if len(own) == 1 else None


def _inner(program: Program, iterator: Node, numbers: list[int]) -> Node:
    only = _only(program, iterator)
    if only is not None:
        return only
    names = [program.nodes[idx].name for idx in iterator.body]
    number = ".".join(map(str, numbers))
    listed = ", ".join(f"{name}[{number}]" for name in names)
    raise Unknown(f"'{iterator.name}' does several steps for an item; name one: {listed}")


def _folded(numbers: list[int]) -> int:
    item = 0
    for number in numbers:
        if number >= WIDTH - 1:
            raise Unknown(f"there is no item {number}")
        item = item * WIDTH + number + 1
    return item


__all__ = ["body_of", "inside", "place", "shown_name", "written"]
