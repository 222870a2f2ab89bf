"""Bring any picture into the form a layout can trust: known names, no cycle. It places nothing.

Arrows to unknown steps and repeated ones are left out, a box named twice counts once, arrows of a
step to itself become a mark, and arrows that close a cycle are turned round for the layout only.
A need beside a `next` arrow between the same two steps says nothing new and is left out.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from noetl_mcp.compiler.picture.drawing import Arrow, Box, Picture

_ORDER = {"next": 0, "error": 1, "need": 2}


@dataclass(frozen=True, slots=True)
class Wire:
    """One line from an upper to a lower knot; `turned` when its arrows point upwards."""

    upper: int
    lower: int
    arrows: tuple[Arrow, ...]
    turned: bool = False
    label: str = ""

    @property
    def kind(self) -> str:
        """What it means to follow it."""
        return self.arrows[0].kind


@dataclass(frozen=True, slots=True)
class Wiring:
    """Boxes by number, acyclic wires between them, and the boxes that point at themselves."""

    boxes: tuple[Box, ...]
    wires: tuple[Wire, ...]
    loops: frozenset[int]


def wired(picture: Picture) -> Wiring:
    """Number the boxes and keep the arrows that can be drawn, all pointing down."""
    boxes = tuple(
        {box.name: box for box in reversed(picture.boxes)}[name] for name in _names(picture)
    )
    number = {box.name: at for at, box in enumerate(boxes)}
    known = [a for a in dict.fromkeys(picture.arrows) if a.source in number and a.target in number]
    followed = {(a.source, a.target) for a in known if a.kind == "next"}
    told = [a for a in known if a.kind != "need" or (a.source, a.target) not in followed]
    ends = [(number[a.source], number[a.target]) for a in told]
    back = _closing(len(boxes), ends, [_ORDER[a.kind] for a in told])
    wires = [
        Wire(target, source, (arrow,), True, arrow.label)
        if at in back
        else Wire(source, target, (arrow,), False, arrow.label)
        for at, (arrow, (source, target)) in enumerate(zip(told, ends, strict=True))
        if source != target
    ]
    loops = frozenset(source for source, target in ends if source == target)
    return Wiring(boxes, tuple(wires), loops)


def _names(picture: Picture) -> Iterable[str]:
    return dict.fromkeys(box.name for box in picture.boxes)


def _closing(count: int, ends: Sequence[tuple[int, int]], order: Sequence[int]) -> set[int]:
    """Find the arrows that lead back to a step still being walked from."""
    out: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    entered = [0] * count
    for at in sorted(range(len(ends)), key=lambda at: (order[at], at)):
        source, target = ends[at]
        if source != target:
            out[source].append((target, at))
            entered[target] += 1
    state = [0] * count
    back: set[int] = set()
    starts = [at for at in range(count) if not entered[at]] + list(range(count))
    for start in starts:
        if not state[start]:
            _walk(start, out, state, back)
    return back


def _walk(
    start: int, out: Sequence[Sequence[tuple[int, int]]], state: list[int], back: set[int]
) -> None:
    state[start] = 1
    path = [(start, iter(out[start]))]
    while path:
        knot, rest = path[-1]
        for target, at in rest:
            if state[target] == 1:
                back.add(at)
            elif not state[target]:
                state[target] = 1
                path.append((target, iter(out[target])))
                break
        else:
            state[knot] = 2
            path.pop()


def components(count: int, wires: Sequence[Wire]) -> tuple[tuple[int, ...], ...]:
    """Split into parts without a wire between them, in the order of their first members."""
    near: list[list[int]] = [[] for _ in range(count)]
    for wire in wires:
        near[wire.upper].append(wire.lower)
        near[wire.lower].append(wire.upper)
    seen = [False] * count
    parts: list[tuple[int, ...]] = []
    for start in range(count):
        if seen[start]:
            continue
        seen[start] = True
        part = [start]
        for knot in part:
            for other in near[knot]:
                if not seen[other]:
                    seen[other] = True
                    part.append(other)
        parts.append(tuple(sorted(part)))
    return tuple(parts)
