"""Checks of vertical connections: what they join, and whether it stands above each other."""

from collections.abc import Iterator, Mapping
from itertools import pairwise

from noetl_mcp.bim.floorplan import tree
from noetl_mcp.bim.floorplan.checks.subject import Subject
from noetl_mcp.bim.floorplan.findings import Finding
from noetl_mcp.bim.floorplan.rules import ERROR, WARNING, hint, of_language
from noetl_mcp.bim.floorplan.units import shown

_APART = 0.5
Place = tuple[float, float]

NO_SUCH_ELEMENT = of_language(
    "vertical-unknown-element",
    ERROR,
    "Vertical connection references non-existent element '{floor}.{element}'. Ensure the element "
    "exists on the specified floor.",
    "a vertical connection names a floor, stair or lift that is not there",
)
MISPLACED = of_language(
    "vertical-misplaced",
    WARNING,
    "Vertical connection between '{first}' and '{second}' has position mismatch. Element at "
    "({x}, {y}) connects to element at ({other_x}, {other_y}). Consider aligning positions for "
    "realistic 3D rendering.",
    "two elements of a vertical connection stand more than 0.5 apart",
)
SKIPS = of_language(
    "vertical-skips-floors",
    WARNING,
    "Vertical connection skips {count} floor(s) between '{first}' and '{second}'. This may cause "
    "rendering issues in 3D view.",
    "a vertical connection passes floors by",
)
SAME_FLOOR = hint(
    "vertical-on-one-floor",
    "Vertical connection joins '{first}' and '{second}', which are on one floor.",
    "two elements of a vertical connection that follow each other are on one floor",
    "connection",
)
RULES = (NO_SUCH_ELEMENT, MISPLACED, SKIPS, SAME_FLOOR)


def verticals(subject: Subject) -> Iterator[Finding]:
    """Look at all vertical connections, element by element."""
    places = _places(subject)
    levels: dict[str, int] = {}
    for level, floor in enumerate(subject.plan.floors):
        levels.setdefault(floor.name.text, level)
    for vertical in subject.plan.verticals:
        for element in vertical.elements:
            if _key(element) not in places:
                yield NO_SUCH_ELEMENT.found(
                    element.start,
                    element.end,
                    floor=element.floor.text,
                    element=element.element.text,
                )
        for first, second in pairwise(vertical.elements):
            if _key(first) in places and _key(second) in places:
                yield from _pair(first, second, places, levels)


def _key(element: tree.Element) -> tuple[str, str]:
    return element.floor.text, element.element.text


def _places(subject: Subject) -> Mapping[tuple[str, str], Place]:
    """Return where each stair and lift stands, by floor and name."""
    places: dict[tuple[str, str], Place] = {}
    for floor in subject.building.floors:
        for stair in floor.stairs:
            places.setdefault((floor.id, stair.stair.name.text), (stair.x, stair.y))
        for lift in floor.lifts:
            places.setdefault((floor.id, lift.lift.name.text), (lift.box.x, lift.box.y))
    return places


def _pair(
    first: tree.Element,
    second: tree.Element,
    places: Mapping[tuple[str, str], Place],
    levels: Mapping[str, int],
) -> Iterator[Finding]:
    """Look at two elements that follow each other."""
    place = (first.start, second.end)
    (x, y), (other_x, other_y) = places[_key(first)], places[_key(second)]
    names = ("{}.{}".format(*_key(first)), "{}.{}".format(*_key(second)))
    if abs(x - other_x) > _APART or abs(y - other_y) > _APART:
        yield MISPLACED.found(
            *place,
            first=names[0],
            second=names[1],
            x=shown(round(x, 6)),
            y=shown(round(y, 6)),
            other_x=shown(round(other_x, 6)),
            other_y=shown(round(other_y, 6)),
        )
    apart = abs(levels[first.floor.text] - levels[second.floor.text])
    if apart > 1:
        yield SKIPS.found(*place, count=apart - 1, first=first.floor.text, second=second.floor.text)
    if apart == 0:
        yield SAME_FLOOR.found(*place, first=names[0], second=names[1])
