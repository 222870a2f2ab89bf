"""Find boxes that overlap, and boxes at a point, without comparing all with all. Knows no rooms."""

import math
from collections.abc import Iterator, Sequence
from itertools import islice

from noetl_mcp.bim.floorplan.building import Box

_Span = tuple[float, float, float, float]
_MOST_CELLS = 400
_FAR = 1e12
_EDGE = 4e-7  # boxes that touch need not share a cell


class Grid:
    """Boxes in cells about as large as they are; boxes over very many cells are kept apart."""

    def __init__(self, boxes: Sequence[Box]) -> None:
        self.boxes = boxes
        self.large: list[int] = []
        self.cells: dict[tuple[int, int], list[int]] = {}
        near = [box for box in boxes if _is_near(box)]
        self.wide = max(sum(box.width for box in near) / len(near), 1e-6) if near else 1.0
        self.high = max(sum(box.height for box in near) / len(near), 1e-6) if near else 1.0
        for index, box in enumerate(boxes):
            if len(near) < len(boxes) and not _is_near(box):
                self.large.append(index)
            else:
                self._add(index, box)

    def _add(self, index: int, box: Box) -> None:
        x, y, width, height = box
        left, top = math.floor(x / self.wide), math.floor(y / self.high)
        right = max(left, math.floor((x + width - _EDGE) / self.wide))
        bottom = max(top, math.floor((y + height - _EDGE) / self.high))
        if (right - left + 1) * (bottom - top + 1) > _MOST_CELLS:
            self.large.append(index)
            return
        if left == right and top == bottom:
            self.cells.setdefault((left, top), []).append(index)
            return
        for column in range(left, right + 1):
            for row in range(top, bottom + 1):
                self.cells.setdefault((column, row), []).append(index)

    def pairs(self, least: float, most: int = 5000) -> list[tuple[int, int]]:
        """Return the pairs of boxes that overlap both ways by more than `least` (at least 1e-6).

        When there are more than `most` it stops; which ones it returns is then not said.
        """
        found: set[tuple[int, int]] = set()
        if len(self.boxes) < 2:
            return []
        spans = [(x, y, x + width, y + height) for x, y, width, height in self.boxes]
        for inside in self.cells.values():
            if len(inside) > 1:
                _add_pairs(inside, spans, least, found, most)
            if len(found) > most:
                return sorted(found)
        for first in self.large:
            for second in range(len(self.boxes)):
                if first != second and _overlap(spans[first], spans[second], least):
                    found.add((min(first, second), max(first, second)))
        return sorted(found)

    def at(self, x: float, y: float) -> Iterator[int]:
        """Yield the boxes that hold a point, edges included."""
        candidates = set(self.large)
        if abs(x) < _FAR and abs(y) < _FAR:
            for column in {math.floor((x + by) / self.wide) for by in (-_EDGE, 0, _EDGE)}:
                for row in {math.floor((y + by) / self.high) for by in (-_EDGE, 0, _EDGE)}:
                    candidates.update(self.cells.get((column, row), ()))
        for index in sorted(candidates):
            left, top, width, height = self.boxes[index]
            if left <= x <= left + width and top <= y <= top + height:
                yield index


def _add_pairs(
    inside: Sequence[int],
    spans: Sequence[_Span],
    least: float,
    found: set[tuple[int, int]],
    most: int,
) -> None:
    """Add the pairs of one cell; sorted along the axis on which its boxes are shorter."""
    wide = sum(spans[index][2] - spans[index][0] for index in inside)
    high = sum(spans[index][3] - spans[index][1] for index in inside)
    low, far, across, beyond = (0, 2, 1, 3) if wide <= high else (1, 3, 0, 2)
    ordered = sorted(inside, key=lambda index: spans[index][low])
    for place, first in enumerate(ordered):
        if len(found) > most:
            return
        one = spans[first]
        for second in islice(ordered, place + 1, None):
            other = spans[second]
            if other[low] >= one[far] - least:
                break
            if (
                min(one[far], other[far]) - other[low] > least
                and min(one[beyond], other[beyond]) - max(one[across], other[across]) > least
            ):
                found.add((first, second) if first < second else (second, first))


def _is_near(box: Box) -> bool:
    x, y, width, height = box
    return -_FAR < x < _FAR and -_FAR < y < _FAR and width < _FAR and height < _FAR


def _overlap(a: tuple[float, ...], b: tuple[float, ...], least: float) -> bool:
    return min(a[2], b[2]) - max(a[0], b[0]) > least and min(a[3], b[3]) - max(a[1], b[1]) > least
