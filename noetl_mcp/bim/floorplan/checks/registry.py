"""All checks in the order in which they speak, and all rules that they can find broken."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from noetl_mcp.bim.floorplan import places
from noetl_mcp.bim.floorplan.checks import (
    connections,
    heights,
    leaves,
    names,
    passage,
    rooms,
    stairs,
    values,
    version,
    verticals,
    walls,
)
from noetl_mcp.bim.floorplan.checks.subject import Subject
from noetl_mcp.bim.floorplan.findings import Finding
from noetl_mcp.bim.floorplan.rules import ERROR, Rule, hint

Check = Callable[[Subject], Iterator[Finding]]

MOST = 1000
MORE = hint(
    "more-of-the-same",
    f"There are more findings like the last; only {MOST} are shown.",
    f"one check has found more than {MOST} things",
)


def unplaced(subject: Subject) -> Iterator[Finding]:
    """Tell of everything that has no place, as found when places were sought."""
    return iter(subject.building.findings)


CHECKS: tuple[Check, ...] = (
    version.version,
    connections.overlapping,
    connections.wall_kinds,
    connections.rooms,
    names.undefined_styles,
    names.duplicate_styles,
    walls.neighbours,
    heights.mixed_units,
    heights.clipping,
    connections.fit,
    values.redundant,
    stairs.measures,
    verticals.verticals,
    stairs.alignment,
    stairs.code,
    stairs.places,
    stairs.landings,
    values.style_values,
    values.config_values,
    names.duplicate_sizes,
    names.undefined_sizes,
    unplaced,
    rooms.overlaps,
    rooms.inner,
    rooms.empty,
    names.undefined_styles_of_others,
    names.duplicates,
    connections.places,
    connections.front_doors,
    walls.listed,
    passage.passage,
    leaves.leaves,
)
MAY_FIND_ERRORS: frozenset[Check] = frozenset(
    (
        version.version,
        connections.overlapping,
        names.undefined_styles,
        names.duplicate_styles,
        verticals.verticals,
        stairs.alignment,
        values.style_values,
        values.config_values,
        names.duplicate_sizes,
        names.undefined_sizes,
        unplaced,
    )
)
"""The checks that find more than warnings."""
FAMILIES: tuple[tuple[str, tuple[Rule, ...]], ...] = (
    ("The version", version.RULES),
    ("Positions", places.RULES),
    ("Rooms", rooms.RULES),
    ("Names", names.RULES),
    ("Walls", walls.RULES),
    ("Connections", connections.RULES),
    ("Leaves of doors", leaves.RULES),
    ("Ways", passage.RULES),
    ("Heights and units", heights.RULES),
    ("Stairs and lifts", stairs.RULES),
    ("Vertical connections", verticals.RULES),
    ("Styles and config", values.RULES),
    ("All checks", (MORE,)),
)


def findings(subject: Subject) -> Iterator[Finding]:
    """Yield what all checks find, check by check."""
    return _found(subject, CHECKS)


def errors(subject: Subject) -> Iterator[Finding]:
    """Yield the errors that all checks find; checks that only warn are not made."""
    found = _found(subject, (check for check in CHECKS if check in MAY_FIND_ERRORS))
    return (one for one in found if one.severity == ERROR)


def _found(subject: Subject, checks: Iterable[Check]) -> Iterator[Finding]:
    for check in checks:
        found = check(subject)
        yield from islice(found, MOST)
        more = next(found, None)
        if more is not None:
            yield MORE.found(more.start or 0, more.end or 0)
