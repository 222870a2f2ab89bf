"""What CAD programs get to see of a plan."""

import io
import math
from pathlib import Path
from typing import Any

import pytest

from noetl_mcp.bim.floorplan.building import Box
from noetl_mcp.bim.floorplan.drawing.floor_shapes import floor_shapes
from noetl_mcp.bim.floorplan.drawing.outlines import outlines
from noetl_mcp.bim.floorplan.dxf import LAYERS, dxf_of
from noetl_mcp.bim.floorplan.reading.read import read
from noetl_mcp.bim.floorplan.resolve import understood

ezdxf = pytest.importorskip("ezdxf")

HOUSE = Path(__file__).parents[3] / "docs" / "how-to" / "house.floorplan"
SOLID = "walls [top: solid, right: solid, bottom: solid, left: solid]"
TWO = f"""floorplan
  config {{ default_unit: m, wall_thickness: 0.2, door_width: 1 }}
  floor f {{
    room A at (0,0) size (4 x 4) {SOLID}
    room B at (4,0) size (4 x 4) {SOLID} label "LABEL"
    stair S at (0.5,0.5) shape straight toward right rise 1 width 1
    lift L at (6,2) size (1 x 1)
  }}
  connect A.right to B.left door at 50%
"""


def document(text: str) -> Any:
    reading = read(text)
    assert not reading.errors
    made = ezdxf.read(io.StringIO(dxf_of(understood(reading.plan))))
    audit = made.audit()
    assert (audit.errors, audit.fixes) == ([], [])
    return made


def entities(made: Any, layer: str, kind: str) -> list[Any]:
    return [e for e in made.modelspace() if e.dxf.layer == layer and e.dxftype() == kind]


def words(made: Any) -> list[str]:
    return [one.dxf.text for one in entities(made, "LABELS", "TEXT")]


def test_a_house_stands_on_its_layers_in_its_unit() -> None:
    made = document(HOUSE.read_text())

    assert {one.dxf.layer for one in made.modelspace()} == {*LAYERS} - {"LIFTS"}
    assert made.units == 6  # metres
    assert {"ground", "first", "Living room", "26 m²", "Bedroom"} <= {*words(made)}


def test_a_lift_shows_its_doors() -> None:
    bare, doors = document(TWO), document(TWO.replace("(1 x 1)", "(1 x 1) doors (left, top)"))

    assert len(entities(bare, "LIFTS", "LWPOLYLINE")) == 3
    leaves = entities(doors, "LIFTS", "LWPOLYLINE")[3:]
    assert [one.closed for one in leaves] == [True] * 4
    assert all(6 - 0.05 <= x <= 7 and y <= -2 + 0.05 for x, y in leaves[0].get_points("xy"))


def test_a_stair_shows_its_steps_its_cut_its_rails_and_where_it_leads() -> None:
    plain, railed = document(TWO), document(TWO.replace("width 1\n", "width 1 handrail (both)\n"))

    lines = entities(plain, "STAIRS", "LWPOLYLINE")
    broken = [one for one in lines if one.dxf.linetype == "DASHED"]
    zigzag = [one for one in lines if len(one) == 6]
    assert len(broken) >= 2
    assert len(zigzag) == 1
    assert len(entities(plain, "STAIRS", "SOLID")) == 1
    assert len(entities(railed, "STAIRS", "LWPOLYLINE")) == len(lines) + 2


def test_passages_and_panels_of_garages_are_broken_lines() -> None:
    text = TWO.replace("door at 50%", "opening").replace(
        "top: solid", "top: door at 50% size (3 x 2)"
    )

    broken = entities(document(text), "DOORS", "LWPOLYLINE")

    assert sum(one.dxf.linetype == "DASHED" for one in broken) == 4


@pytest.mark.parametrize(("unit", "high"), [("m", 0.18), ("cm", 18), ("mm", 180)])
def test_the_ends_of_dimensions_are_as_large_as_their_letters(unit: str, high: float) -> None:
    made = document(TWO.replace("default_unit: m", f"default_unit: {unit}"))

    style = made.dimstyles.get("PLAN")
    assert (style.dxf.dimasz, style.dxf.dimtxt) == pytest.approx((high, high))
    [name] = {one.dxf.geometry for one in entities(made, "DIMENSIONS", "DIMENSION")[:1]}
    ticks = made.blocks.get(name).query("INSERT")
    assert [one.dxf.xscale for one in ticks] == pytest.approx([high, high])


@pytest.mark.parametrize("unit", ["m", "ft", "cm", "in", "mm"])
def test_every_unit_is_named_and_measured(unit: str) -> None:
    text = TWO.replace("default_unit: m", f"default_unit: {unit}")

    made = document(text.replace("wall_thickness: 0.2, door_width: 1 ", "show_labels: true"))

    assert made.units == {"in": 1, "ft": 2, "mm": 4, "cm": 5, "m": 6}[unit]
    lengths = {one.get_measurement() for one in entities(made, "DIMENSIONS", "DIMENSION")}
    assert {round(one, 6) for one in lengths} == {4, 8}


def test_walls_are_closed_lines_around_all_that_is_solid() -> None:
    lines = [list(one.get_points("xy")) for one in entities(document(TWO), "WALLS", "LWPOLYLINE")]

    assert [one.closed for one in entities(document(TWO), "WALLS", "LWPOLYLINE")] == [True] * 2
    total = sum(area(line) for line in lines)
    solid = 2 * 8.2 * 0.2 + 3 * 3.8 * 0.2 - 1 * 0.2  # two long walls, three between, one door
    assert abs(total) == pytest.approx(solid)


def area(points: list[tuple[float, float]]) -> float:
    """Return the area of a polygon; a hole's has the other sign."""
    pairs = zip(points, [*points[1:], points[0]], strict=True)
    return sum(a[0] * b[1] - b[0] * a[1] for a, b in pairs) / 2


def test_a_door_swings_as_on_the_other_drawings() -> None:
    building = understood(read(TWO).plan)
    [door] = floor_shapes(building.floors[0], building).doors
    [swing] = door.sign.swings

    [arc] = entities(document(TWO), "DOORS", "ARC")

    ends = {(round(p.x, 6), round(p.y, 6)) for p in (arc.start_point, arc.end_point)}
    assert ends == {(round(x, 6), round(-y, 6)) for x, y in (swing.start, swing.end)}
    assert (arc.dxf.center.x, -arc.dxf.center.y) == pytest.approx(swing.center)
    assert (arc.dxf.end_angle - arc.dxf.start_angle) % 360 == pytest.approx(90)
    assert arc.dxf.radius == pytest.approx(math.dist(swing.center, swing.start))


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("%%c %%u", "% %c % %u"),
        (r"\\U+0041 {\\fArial;X}", "/U+0041 {/fArial;X}"),
        ("^J^M", "JM"),
        (r"a\n  0\nSECTION", "a 0 SECTION"),
        ("<b>&amp;", "<b>&amp;"),
    ],
)
def test_no_label_is_an_order_to_a_program(label: str, shown: str) -> None:
    made = document(TWO.replace("LABEL", label))

    assert shown in [" ".join(one.split()) for one in words(made)]
    assert len(list(made.modelspace())) == len(list(document(TWO).modelspace()))


def test_names_stand_beside_stairs_and_doors_and_tell_what_is_too_small() -> None:
    closet = f'    room Closet at (8,0) size (0.4 x 0.5) {SOLID} label "A very long name"\n  }}'
    made = document(TWO.replace("  }\n  connect", f"{closet}\n  connect"))

    stair = Box(0.5, 0.5, 3.0, 1.0)
    for one in entities(made, "LABELS", "TEXT"):
        x, y, _ = one.dxf.align_point if one.dxf.hasattr("align_point") else one.dxf.insert
        inside = stair.x < x < stair.right and stair.y < -y < stair.bottom
        assert not inside or one.dxf.text == "UP"
    assert "1 A very long name" in words(made)


def test_the_same_plan_is_the_same_drawing() -> None:
    building = understood(read(HOUSE.read_text()).plan)

    assert dxf_of(building) == dxf_of(building)


def test_an_empty_plan_is_an_empty_drawing() -> None:
    assert list(document("floorplan").modelspace()) == []
    assert list(document("floorplan floor f { }").modelspace()) == []


def test_outlines_go_around_holes_and_corners_that_only_touch() -> None:
    ring = [Box(0, 0, 3, 1), Box(0, 2, 3, 1), Box(0, 0, 1, 3), Box(2, 0, 1, 3)]
    corners = [Box(0, 0, 1, 1), Box(1, 1, 1, 1)]

    assert sorted(len(line) for line in outlines(ring)) == [4, 4]
    assert abs(sum(area(line) for line in outlines(ring))) == 8
    assert abs(sum(area(line) for line in outlines(corners))) == 2
    assert outlines([]) == []
