"""Write a picture as an indented list of numbered steps. It refuses to draw lines.

Steps that follow each other stand under each other; what only one way of several leads to is
indented under it. Every step names what else it comes from, by number.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from noetl_mcp.compiler.picture.canvas import cells, plain
from noetl_mcp.compiler.picture.conditions import condition
from noetl_mcp.compiler.picture.drawing import Picture
from noetl_mcp.compiler.picture.ranks import topological
from noetl_mcp.compiler.picture.wiring import Wire, Wiring, wired
from noetl_mcp.lettering.fitted import printable, shortened, squeezed

_DEEPEST = 6
_WORDS = {"next": "", "error": "on error", "need": "needs"}


def outline_of(picture: Picture, width: int = 100, ascii_only: bool = False) -> str:
    """List the steps in the order in which they can run."""
    wiring = wired(picture)
    into: list[list[Wire]] = [[] for _ in wiring.boxes]
    for wire in wiring.wires:
        into[wire.lower].append(wire)
    order = _told_order(wiring, into)
    number = {at: place + 1 for place, (at, _) in enumerate(order)}
    lines = [shortened(printable(picture.title), width, cells)] if picture.title else []
    before: int | None = None
    digits, columns = len(str(len(order))), _columns(wiring, width)
    for at, depth in order:
        start = f"{number[at]:>{digits}}  {_line(at, depth, wiring, columns)}"
        reasons = _reasons(into[at], number, before)
        lines.append(f"{start}  {shortened(reasons, width - cells(start) - 2, cells)}")
        before = at
    back = [_back(wire, number) for wire in wiring.wires if wire.turned]
    whole = "\n".join(line.rstrip() for line in (*lines, *back))
    return plain(whole) if ascii_only else whole


def _told_order(wiring: Wiring, into: Sequence[Sequence[Wire]]) -> list[tuple[int, int]]:
    """Order the steps with their depth: a fork's branches one deeper, what joins them not."""
    parent = _dominators(wiring, into)
    children: dict[int, list[int]] = defaultdict(list)
    place = {at: n for n, at in enumerate(topological(len(wiring.boxes), wiring.wires))}
    for at, above in enumerate(parent):
        children[above].append(at)
    told: list[tuple[int, int]] = []
    waiting = [(at, 0) for at in sorted(children[-1], key=place.__getitem__, reverse=True)]
    while waiting:
        at, depth = waiting.pop()
        told.append((at, depth))
        branches = [c for c in children[at] if len({w.upper for w in into[c]}) == 1]
        deeper = min(depth + (len(children[at]) > 1), _DEEPEST)
        nexts = sorted(children[at], key=lambda c: (c not in branches, place[c]), reverse=True)
        waiting += [(c, deeper if c in branches else depth) for c in nexts]
    return told


def _dominators(wiring: Wiring, into: Sequence[Sequence[Wire]]) -> list[int]:
    """Find for every step the nearest one that all ways to it pass; -1 when there is none."""
    parent = [-1] * len(wiring.boxes)
    depth = [0] * len(wiring.boxes)
    for at in topological(len(wiring.boxes), wiring.wires):
        ways = [wire.upper for wire in into[at]]
        if not ways:
            continue
        meet = ways[0]
        for way in ways[1:]:
            while meet != way and meet >= 0 and way >= 0:
                if depth[meet] >= depth[way]:
                    meet = parent[meet]
                else:
                    way = parent[way]
            meet = meet if meet == way else -1
        parent[at] = meet
        depth[at] = depth[meet] + 1 if meet >= 0 else 0
    return parent


def _line(at: int, depth: int, wiring: Wiring, columns: tuple[int, int]) -> str:
    indent = "  " * depth
    name = indent + squeezed(printable(wiring.boxes[at].name), columns[0] - len(indent), cells)
    what = shortened(_what(at, wiring), columns[1], cells)
    return f"{_filled(name, columns[0])}  {_filled(what, columns[1])}"


def _what(at: int, wiring: Wiring) -> str:
    box = wiring.boxes[at]
    marks = ["writes"] * box.writes + ["hidden"] * box.hidden + ["repeats"] * (at in wiring.loops)
    return " ".join(filter(None, (printable(box.kind), *(f"[{mark}]" for mark in marks))))


def _columns(wiring: Wiring, width: int) -> tuple[int, int]:
    """Say how wide the names and the types may be."""
    names = max((cells(printable(box.name)) for box in wiring.boxes), default=0)
    kinds = max((cells(_what(at, wiring)) for at in range(len(wiring.boxes))), default=0)
    return min(names + 8, width * 2 // 5), min(kinds, width // 4)


def _filled(text: str, width: int) -> str:
    return text + " " * (width - cells(text))


def _reasons(into: Sequence[Wire], number: Mapping[int, int], before: int | None) -> str:
    """Say why a step runs: after which, when; nothing when it simply follows the line above."""
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for wire in into:
        if not wire.turned:
            found[wire.kind, condition(wire.label)].append(number[wire.upper])
    if list(found) == [("next", "")] and len(into) == 1 and into[0].upper == before:
        return ""
    parts = []
    for (kind, label), sources in found.items():
        steps = ", ".join(map(str, sorted(sources)))
        words = "after" if kind == "next" else _WORDS[kind]
        words += " of" * (kind == "error")
        parts.append(f"{words} {steps}" + (f" when {label}" if label else ""))
    return "; ".join(parts)


def _back(wire: Wire, number: Mapping[int, int]) -> str:
    label = f" when {condition(wire.label)}" if wire.label else ""
    return f"back from {number[wire.lower]} to {number[wire.upper]}{label}"
