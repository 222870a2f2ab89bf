"""Find out where things stand: by `at`, or beside others. Pure; knows no units and writes no words.

Things that stand by `at` come first, then those that wait for others, in the order in which
repeated passes over the text would place them. The work is linear in the number of things.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from noetl_mcp.bim.floorplan import tree
from noetl_mcp.bim.floorplan.building import Box

_NONE: Mapping[str, Box] = {}


class Item(NamedTuple):
    """A thing to be placed; `width` is None where its size is not known."""

    name: str
    at: tuple[float, float] | None
    relation: tree.Relation | None
    gap: float
    width: float | None
    height: float


class Reason(Enum):
    """Why a thing has no place."""

    NOWHERE = "it says neither where it stands nor beside what"
    UNKNOWN = "what it stands beside is not there"
    WAITS = "what it stands beside has no place, or waits for it"
    SIZELESS = "its size, or that of what it stands beside, is not known"


class Placement(NamedTuple):
    """Boxes of things by their index, in the order in which they were placed; and the others."""

    boxes: dict[int, Box]
    lost: dict[int, Reason]


def placed(
    items: Sequence[Item],
    anchors: Mapping[str, Box] = _NONE,
    never: frozenset[str] = frozenset(),
) -> Placement:
    """Place things beside each other and beside anchors.

    `never` are names that are known, but that nothing can be placed beside.
    """
    targets = _targets(items)
    levels: dict[int, int] = {}
    lost: dict[int, Reason] = {}
    for index, item in enumerate(items):
        if item.width is None:
            lost[index] = Reason.SIZELESS
        elif item.at is not None:
            levels[index] = 0
        elif item.relation is None:
            lost[index] = Reason.NOWHERE
    for index in range(len(items)):
        if index not in levels and index not in lost:
            _follow(index, items, targets, anchors, never, levels, lost)
    return Placement(_boxes(items, targets, anchors, levels), dict(sorted(lost.items())))


def _targets(items: Sequence[Item]) -> dict[str, int]:
    """Return the thing of each name that others may stand beside: of several, one with a place."""
    targets: dict[str, int] = {}
    for index, item in enumerate(items):
        if item.at is None:
            targets[item.name] = index
    for index, item in enumerate(items):
        if item.at is not None:
            targets[item.name] = index
    return targets


def _follow(
    first: int,
    items: Sequence[Item],
    targets: Mapping[str, int],
    anchors: Mapping[str, Box],
    never: frozenset[str],
    levels: dict[int, int],
    lost: dict[int, Reason],
) -> None:
    """Follow a chain of references until one is known, then settle all that hang on it."""
    chain: list[int] = []
    seen: set[int] = set()
    index = first
    outcome: int | Reason
    while True:
        if index in levels:
            outcome = levels[index]
            break
        if index in lost:
            outcome = Reason.SIZELESS if lost[index] is Reason.SIZELESS else Reason.WAITS
            break
        if index in seen:
            outcome = Reason.WAITS
            break
        chain.append(index)
        seen.add(index)
        relation = items[index].relation
        assert relation is not None
        name = relation.reference.text
        if name in targets:
            index = targets[name]
            continue
        index = -1
        outcome = 0 if name in anchors else Reason.WAITS if name in never else Reason.UNKNOWN
        break
    _settle(chain, index, outcome, levels, lost)


def _settle(
    chain: list[int],
    behind: int,
    outcome: "int | Reason",
    levels: dict[int, int],
    lost: dict[int, Reason],
) -> None:
    """Give everything on a chain its level (the pass that places it), from the far end on."""
    for index in reversed(chain):
        if isinstance(outcome, Reason):
            lost[index] = outcome
            outcome = Reason.WAITS if outcome is Reason.UNKNOWN else outcome
            continue
        later = outcome == 0 or behind > index
        outcome = max(outcome + 1, 1) if later else outcome
        levels[index] = outcome
        behind = index


def _boxes(
    items: Sequence[Item],
    targets: Mapping[str, int],
    anchors: Mapping[str, Box],
    levels: Mapping[int, int],
) -> dict[int, Box]:
    boxes: dict[int, Box] = {}
    for index in sorted(levels, key=lambda index: (levels[index], index)):
        item = items[index]
        assert item.width is not None
        if item.at is not None:
            boxes[index] = Box(item.at[0], item.at[1], item.width, item.height)
            continue
        assert item.relation is not None
        name = item.relation.reference.text
        target = targets.get(name)
        reference = boxes[target] if target is not None else anchors[name]
        boxes[index] = beside(item.relation, reference, item.width, item.height, item.gap)
    return boxes


def beside(relation: tree.Relation, reference: Box, width: float, height: float, gap: float) -> Box:
    """Return the box of a thing beside another.

    An alignment that makes no sense for a direction counts as none, which is top or left.
    """
    direction = relation.direction
    left, above = reference.x - width - gap, reference.y - height - gap
    right, below = reference.x + reference.width + gap, reference.y + reference.height + gap
    if direction == "right-of":
        return Box(right, _across(relation, reference, height), width, height)
    if direction == "left-of":
        return Box(left, _across(relation, reference, height), width, height)
    if direction == "below":
        return Box(_along(relation, reference, width), below, width, height)
    if direction == "above":
        return Box(_along(relation, reference, width), above, width, height)
    x = right if "right" in direction else left
    return Box(x, above if direction.startswith("above") else below, width, height)


def _across(relation: tree.Relation, reference: Box, height: float) -> float:
    if relation.align == "bottom":
        return reference.y + reference.height - height
    if relation.align == "center":
        return reference.y + (reference.height - height) / 2
    return reference.y


def _along(relation: tree.Relation, reference: Box, width: float) -> float:
    if relation.align == "right":
        return reference.x + reference.width - width
    if relation.align == "center":
        return reference.x + (reference.width - width) / 2
    return reference.x
