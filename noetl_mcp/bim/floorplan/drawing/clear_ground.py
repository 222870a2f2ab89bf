"""Find room for a block of text among things that it must not cover. It refuses to shrink it."""

import math
from collections.abc import Iterator, Sequence

from noetl_mcp.bim.floorplan.building import Box

_MOST_THINGS = 24


def clear_center(
    width: float, height: float, ground: Box, things: Sequence[Box]
) -> tuple[float, float] | None:
    """Return where the block's middle may be: the ground's own, else the nearest that is clear."""
    x, y = ground.x + ground.width / 2, ground.y + ground.height / 2
    if not _covers(x, y, width, height, things):
        return x, y
    if ground.width < width or ground.height < height:
        return None
    near = things[:_MOST_THINGS]
    rows = list(_places(y, ground.y, ground.bottom, height, [(b.y, b.bottom) for b in near]))
    columns = list(_places(x, ground.x, ground.right, width, [(b.x, b.right) for b in near]))
    straight = [(x, row) for row in rows] + [(column, y) for column in columns]
    first = _first((x, y), straight, width, height, things)
    if first is not None or len(things) > _MOST_THINGS:
        return first
    rest = [(column, row) for column in columns for row in rows]
    return _first((x, y), rest, width, height, things)


def _first(
    middle: tuple[float, float],
    places: Sequence[tuple[float, float]],
    width: float,
    height: float,
    things: Sequence[Box],
) -> tuple[float, float] | None:
    """The place nearest to the middle that covers nothing."""
    x, y = middle
    # Rounded, so that of two places as far away the upper left one is taken in every room alike.
    for place in sorted(
        places, key=lambda at: (round(math.hypot(at[0] - x, at[1] - y), 1), at[1], at[0])
    ):
        if not _covers(place[0], place[1], width, height, things):
            return place
    return None


def _places(
    middle: float, low: float, high: float, size: float, taken: Sequence[tuple[float, float]]
) -> Iterator[float]:
    half = size / 2
    if high - low < size:
        return
    yield middle
    for start, end in taken:
        for place in (start - half, end + half):
            if low + half <= place <= high - half:
                yield place
    for low_end, high_end in (*taken, (low, low), (high, high)):
        for a, b in ((low, low_end), (high_end, high)):
            place = (a + b) / 2
            if b - a >= size and low + half <= place <= high - half:
                yield place


def _covers(x: float, y: float, width: float, height: float, things: Sequence[Box]) -> bool:
    left, right = x - width / 2 + 1e-9, x + width / 2 - 1e-9
    top, bottom = y - height / 2 + 1e-9, y + height / 2 - 1e-9
    for thing_x, thing_y, wide, high in things:
        if thing_x < right and left < thing_x + wide and thing_y < bottom and top < thing_y + high:
            return True
    return False
