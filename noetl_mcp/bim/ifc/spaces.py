"""Find the space inside a room: up to its walls, and to its very edge where no wall stands."""

import bisect
from collections.abc import Iterable

from noetl_mcp.bim.floorplan.building import Box
from noetl_mcp.bim.floorplan.drawing.network import Wall


class Lines:
    """The walls of a floor by the lines on which they stand."""

    def __init__(self, walls: Iterable[Wall]) -> None:
        self._lines: dict[bool, list[Wall]] = {True: [], False: []}
        for wall in walls:
            self._lines[wall.horizontal].append(wall)
        for found in self._lines.values():
            found.sort(key=_at)

    def inside(self, box: Box) -> Box:
        """Return a room without the halves of its walls that stand in it."""
        most = min(box.width, box.height) / 4
        top, bottom = (
            min(most, self._half(True, at, box.x, box.right)) for at in (box.y, box.bottom)
        )
        left, right = (
            min(most, self._half(False, at, box.y, box.bottom)) for at in (box.x, box.right)
        )
        return Box(box.x + left, box.y + top, box.width - left - right, box.height - top - bottom)

    def _half(self, horizontal: bool, at: float, start: float, end: float) -> float:
        """Return how thick a half of the wall along an edge is; 0 when there is none.

        Walls of neighbours that almost meet are one, so it stands within its own half of the edge.
        """
        lines = self._lines[horizontal]
        if not lines:
            return 0.0
        half = lines[0].thickness / 2
        first = bisect.bisect_left(lines, at - half, key=_at)
        last = bisect.bisect_right(lines, at + half, key=_at)
        least = (end - start) * _TOUCHES
        along = (min(end, one.end) - max(start, one.start) for one in lines[first:last])
        return half if any(reach > least for reach in along) else 0.0


_TOUCHES = 1e-6
"""A wall that reaches less along an edge, as a share of it, only touches its corner."""


def _at(wall: Wall) -> float:
    return wall.at


__all__ = ["Lines"]
