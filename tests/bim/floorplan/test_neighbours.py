"""What is found with grids and sorted edges is what comparing all with all would find."""

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from noetl_mcp.bim.floorplan.building import Box
from noetl_mcp.bim.floorplan.checks.meetings import NEAR, SIDES, meetings
from noetl_mcp.bim.floorplan.grid import Grid

_at = st.sampled_from([-7.0, -0.3, 0.0, 0.25, 0.4, 1.0, 1.4, 1.6, 2.0, 5.0, 5.3, 9.0, 1000.0])
_long = st.sampled_from([0.0, 0.3, 1.0, 1.25, 2.0, 4.0, 6.0, 900.0])
_boxes = st.lists(st.builds(Box, _at, _at, _long, _long), max_size=14)


def both(a: Box, b: Box) -> tuple[float, float]:
    """Return by how much two boxes overlap in x and in y."""
    across = min(a.right, b.right) - max(a.x, b.x)
    along = min(a.bottom, b.bottom) - max(a.y, b.y)
    return across, along


def facing(a: Box, b: Box) -> str | None:
    """Return the first side on which a faces b."""
    across, along = both(a, b)
    gaps = {
        "right": (b.x - a.right, along),
        "left": (a.x - b.right, along),
        "bottom": (b.y - a.bottom, across),
        "top": (a.y - b.bottom, across),
    }
    for side in SIDES:
        gap, shared = gaps[side]
        if abs(gap) < NEAR and shared > 0:
            return side
    return None


@settings(max_examples=300, deadline=None)
@given(_boxes)
def test_a_grid_finds_the_boxes_that_overlap(boxes: list[Box]) -> None:
    expected = [
        (one, other)
        for one, other in combinations(range(len(boxes)), 2)
        if min(both(boxes[one], boxes[other])) > 0.01
    ]

    assert Grid(boxes).pairs(0.01) == expected


@settings(max_examples=300, deadline=None)
@given(_boxes, _at, _at)
def test_a_grid_finds_the_boxes_at_a_point(boxes: list[Box], x: float, y: float) -> None:
    expected = [
        index
        for index, box in enumerate(boxes)
        if box.x <= x <= box.right and box.y <= y <= box.bottom
    ]

    assert list(Grid(boxes).at(x, y)) == expected


@settings(max_examples=300, deadline=None)
@given(_boxes)
def test_sorted_edges_find_the_rooms_that_face_each_other(boxes: list[Box]) -> None:
    expected = [
        (one, other, side)
        for one, other in combinations(range(len(boxes)), 2)
        if (side := facing(boxes[one], boxes[other])) is not None
    ]

    assert [(one, other, SIDES[rank]) for one, other, rank in meetings(boxes)] == expected
