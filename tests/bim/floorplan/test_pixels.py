"""Pictures of pixels: what stands on their grid."""

import pytest

from noetl_mcp.bim.floorplan.building import Box
from noetl_mcp.bim.floorplan.drawing.pixels import on_pixels
from noetl_mcp.bim.floorplan.drawing.shapes import Drawing, Letters, Lines
from tests.bim.floorplan.drawn import drawing

_ALL = "walls [top: solid, right: solid, bottom: window, left: solid]"
_ROW = "".join(f"  room R{n} at ({n * 3.37}, 0) size (3.37 x 4.21) {_ALL}\n" for n in range(11))
_PLAN = f"floor f1 {{\n{_ROW}}}\n"
_ZOOMS = (1.0, 0.73, 2.5)


def boxes(found: Drawing, name: str, zoom: float) -> list[Box]:
    return [
        Box(
            (sheet.origin[0] + shape.x * sheet.scale) * zoom,
            (sheet.origin[1] + shape.y * sheet.scale) * zoom,
            shape.width * sheet.scale * zoom,
            shape.height * sheet.scale * zoom,
        )
        for sheet in found.sheets
        for layer in sheet.layers
        if layer.name == name and isinstance(layer, Lines)
        for shape in layer.shapes
        if isinstance(shape, Box)
    ]


@pytest.mark.parametrize("zoom", _ZOOMS)
def test_in_pixels_walls_are_as_thick_everywhere_and_end_on_whole_ones(zoom: float) -> None:
    walls = boxes(on_pixels(drawing(_PLAN), zoom), "walls", zoom)

    assert len({round(min(box.width, box.height), 6) for box in walls}) == 1
    for box in walls:
        assert tuple(box) == pytest.approx([round(number) for number in box], abs=1e-6)


@pytest.mark.parametrize("zoom", _ZOOMS)
@pytest.mark.parametrize(("name", "most"), [("walls", 1.0), ("windows", 1.5)])
def test_in_pixels_no_wall_moves_by_one_and_a_window_by_its_line_too(
    name: str, most: float, zoom: float
) -> None:
    before = drawing(_PLAN)
    after = on_pixels(before, zoom)

    found = list(zip(boxes(before, name, zoom), boxes(after, name, zoom), strict=True))

    assert found
    for was, now in found:
        assert (now.x, now.y) == pytest.approx((was.x, was.y), abs=most)
        assert (now.right, now.bottom) == pytest.approx((was.right, was.bottom), abs=most)


@pytest.mark.parametrize("zoom", _ZOOMS)
def test_in_pixels_walls_fill_their_corners(zoom: float) -> None:
    walls = boxes(on_pixels(drawing(_PLAN), zoom), "walls", zoom)
    left = min(box.x for box in walls)
    upper = min(box.y for box in walls)
    lower = max(box.bottom for box in walls)
    flat = [box for box in walls if box.width > box.height]
    upright = [box for box in walls if box.width < box.height]

    assert min(box.x for box in flat) == pytest.approx(left)
    assert {round(box.y, 6) for box in upright} == {round(upper, 6)}
    assert {round(box.bottom, 6) for box in upright} == {round(lower, 6)}


def test_in_pixels_letters_stand_on_whole_ones() -> None:
    found = on_pixels(drawing(_PLAN), 1.0)

    for sheet in found.sheets:
        for layer in sheet.layers:
            if isinstance(layer, Letters):
                for label in layer.labels:
                    x = sheet.origin[0] + label.x * sheet.scale
                    y = sheet.origin[1] + label.y * sheet.scale
                    assert (x, y) == pytest.approx((round(x), round(y)), abs=1e-6)
