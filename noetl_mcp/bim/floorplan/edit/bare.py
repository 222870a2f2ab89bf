"""Tell whether a plan has numbers that do not say their unit: such that place or size something."""

from collections.abc import Iterator

from noetl_mcp.bim.floorplan import tree
from noetl_mcp.bim.floorplan.edit.sheet import elements_of
from noetl_mcp.bim.floorplan.units import every_room


def has_bare_numbers(plan: tree.Plan) -> bool:
    """Say whether a position or a size has no unit."""
    return any(number.unit is None for number in _numbers(plan))


def _numbers(plan: tree.Plan) -> Iterator[tree.Number]:
    for define in plan.defines:
        yield from _of_size(define.size)
    for room in every_room(plan):
        yield from _of_point(room.at)
        yield from _of_size(room.size)
    for found in elements_of(plan):
        yield from _of_point(found.element.at)
        if isinstance(found.element, tree.Lift):
            yield from _of_size(found.element.size)


def _of_point(at: tree.Point | None) -> Iterator[tree.Number]:
    if at is not None:
        yield at.x
        yield at.y


def _of_size(size: tree.Size | tree.SizeName) -> Iterator[tree.Number]:
    if isinstance(size, tree.Size):
        yield size.width
        if size.height is not None:
            yield size.height
