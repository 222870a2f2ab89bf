"""Find the innermost room around a place without looking at every room. Moves none."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from noetl_mcp.bim.floorplan.building import PlacedRoom

_CELLS = 24
"""So many cells each way; more would cost more for rooms that lie in all of them."""


class Rooms:
    """The rooms of a floor by where they are: cells are small where many rooms are."""

    def __init__(self, rooms: Iterable[PlacedRoom]) -> None:
        inner_first = sorted(rooms, key=lambda room: room.box.width * room.box.height)
        boxes = [room.box for room in inner_first]
        self._xs = _cuts([edge for box in boxes for edge in (box.x, box.right)])
        self._ys = _cuts([edge for box in boxes for edge in (box.y, box.bottom)])
        self._cells: dict[tuple[int, int], list[PlacedRoom]] = {}
        for room, box in zip(inner_first, boxes, strict=True):
            for across in _between(self._xs, box.x, box.right):
                for down in _between(self._ys, box.y, box.bottom):
                    self._cells.setdefault((across, down), []).append(room)

    def near(self, x: float, y: float) -> Sequence[PlacedRoom]:
        """Return the rooms of the cell of a place, the inner ones first."""
        return self._cells.get((bisect_right(self._xs, x), bisect_right(self._ys, y)), ())

    def around(self, x: float, y: float) -> str | None:
        """Return the name of the innermost room around a place."""
        for room in self.near(x, y):
            if room.box.x < x < room.box.right and room.box.y < y < room.box.bottom:
                return room.name
        return None


def _cuts(edges: list[float]) -> list[float]:
    """Return where cells end: as many edges lie in each."""
    edges.sort()
    return sorted({edges[len(edges) * one // _CELLS] for one in range(1, _CELLS) if edges})


def _between(cuts: Sequence[float], start: float, end: float) -> range:
    """Return the cells in which something lies."""
    return range(bisect_right(cuts, start), bisect_left(cuts, end) + 1)


__all__ = ["Rooms"]
