"""Floor plans as building models: what is in them, and that the same plan gives the same model."""

import math
from importlib import import_module
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from noetl_mcp.bim.floorplan.reading.read import read
from noetl_mcp.bim.floorplan.resolve import understood
from noetl_mcp.bim.floorplan.tools import tool
from noetl_mcp.bim.ifc.from_floorplan import ifc_text
from tests.bim.floorplan.random_plans import plan

ifcopenshell: Any = pytest.importorskip("ifcopenshell", reason="IFC needs the extra 'bim'")
# The validator leaves the file with its rules open.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

HOUSE = """
floorplan
  config { default_unit: m, wall_thickness: 0.2 }
  floor ground height 3 {
    room Living at (0,0) size (6 x 5) height 3
      walls [top: window at 50% size (2 x 1.5), right: solid, bottom: solid, left: solid]
    room Kitchen at (6,0) size (4 x 5) height 3
      walls [top: solid, right: solid, bottom: solid, left: solid] label "Küche"
    lift L at (8,3) size (1.5 x 1.5) doors (left)
  }
  floor first height 2.8 {
    room Bed at (0,0) size (6 x 5) height 2.8
      walls [top: solid, right: solid, bottom: solid, left: solid]
      composed of [ sub-room Bath at (3,0) size (3 x 3) walls [left: door, bottom: solid] ]
  }
  connect Living.right to Kitchen.left door at 50% size (1 x 2)
  connect Living.left to outside double-door at 50% size (2 x 2)
"""
STAIRS = """
floorplan
  config {{ default_unit: m }}
  floor f height 3 {{
    room Hall at (0,0) size (14 x 14) walls [top: solid, right: solid, bottom: solid, left: solid]
    stair S at (1,1) shape {} rise 3 width 1
  }}
"""
SHAPES = (
    "straight toward top",
    "L-shaped from bottom turn left runs 6, 8 landing (1 x 1)",
    "U-shaped from bottom turn right runs 7, 7",
    "double-L from bottom turn left runs 4, 4, 4",
    "spiral rotation clockwise outer-radius 1",
    "curved from bottom arc 90° radius 2",
    "winder from bottom turn right winders 3 runs 5, 6",
    "custom from bottom [flight 5, turn left landing (1 x 1), flight 5]",
)


def written(text: str, **more: Any) -> str:
    reading = read(text)
    assert not reading.errors, reading.errors
    return ifc_text(understood(reading.plan), **more)


def model(text: str, **more: Any) -> Any:
    return ifcopenshell.file.from_string(written(text, **more))


def wrong_in(made: Any, *, rules: bool = False) -> list[Any]:
    """Return what the validator finds; asking the rules of the standard takes seconds."""
    validator: Any = import_module("ifcopenshell.validate")
    log = validator.json_logger()
    validator.validate(made, log, express_rules=rules)
    found: list[Any] = log.statements
    return found


def volume(element: Any) -> float:
    kernel: Any = import_module("ifcopenshell.geom")
    measuring: Any = import_module("ifcopenshell.util.shape")
    shape = kernel.create_shape(kernel.settings(), element)
    return float(measuring.get_volume(shape.geometry))


def test_the_validator_finds_nothing() -> None:
    stairs = "".join(
        f"stair S{index} at ({1 + 4 * index},8) shape {shape} rise 3 width 1\n"
        for index, shape in enumerate(SHAPES)
    )

    made = model(HOUSE.replace("lift L", f"{stairs} lift L"))

    assert len(made.by_type("IfcStair")) == len(SHAPES)
    assert wrong_in(made, rules=True) == []


def test_storeys_stand_one_on_another_with_their_rooms() -> None:
    made = model(HOUSE)

    storeys = {one.Name: one for one in made.by_type("IfcBuildingStorey")}
    assert {name: one.Elevation for name, one in storeys.items()} == {"ground": 0.0, "first": 3.0}
    rooms = {one.Name: one for one in made.by_type("IfcSpace")}
    assert set(rooms) == {"Living", "Kitchen", "Bed", "Bath"}
    assert rooms["Kitchen"].LongName == "Küche"
    assert rooms["Bath"].Decomposes[0].RelatingObject.Name == "Bed"
    assert rooms["Bed"].Decomposes[0].RelatingObject.Name == "first"


def test_a_storey_height_that_is_asked_for_serves_floors_that_name_none() -> None:
    text = HOUSE.replace("floor ground height 3", "floor ground")

    made = model(text, storey_height=4.5)

    assert [one.Elevation for one in made.by_type("IfcBuildingStorey")] == [0.0, 4.5]


def test_neighbours_share_one_wall_with_the_door_between_them() -> None:
    made = model(HOUSE)

    [door] = [one for one in made.by_type("IfcDoor") if "Kitchen" in one.Name]
    opening = door.FillsVoids[0].RelatingOpeningElement
    wall = opening.VoidsElements[0].RelatingBuildingElement
    assert (door.OverallWidth, door.OverallHeight) == (1.0, 2.0)
    assert len(wall.HasOpenings) == 1
    # 5 m and half a wall at each end, 0.2 m thick, 3 m high, without the hole of 1 m by 2 m
    assert volume(wall) == pytest.approx((5.2 * 3 - 2) * 0.2, abs=1e-6)


def test_a_window_is_where_and_as_large_as_written() -> None:
    made = model(HOUSE)

    [window] = made.by_type("IfcWindow")
    placing: Any = import_module("ifcopenshell.util.placement")
    place = placing.get_local_placement(window.ObjectPlacement)
    assert (window.OverallWidth, window.OverallHeight) == (2.0, 1.5)
    assert place[0][3] == pytest.approx(2.0)
    assert place[1][3] == pytest.approx(0.0)
    assert place[2][3] > 0.5


def test_a_window_too_high_for_its_sill_stands_lower_and_keeps_its_height() -> None:
    made = model(HOUSE.replace("size (2 x 1.5)", "size (2 x 2.8)"))

    [window] = made.by_type("IfcWindow")
    placing: Any = import_module("ifcopenshell.util.placement")
    place = placing.get_local_placement(window.ObjectPlacement)
    assert window.OverallHeight == 2.8
    assert place[2][3] == pytest.approx(3 - 2.8)


def test_a_window_in_a_wall_no_higher_than_its_sill_is_there() -> None:
    made = model(HOUSE.replace("default_unit: m", "default_unit: ft"))  # a sill of 3 ft by default

    [window] = made.by_type("IfcWindow")
    assert window.OverallHeight == pytest.approx(1.5 * 0.3048, abs=1e-5)


def test_walls_of_a_sub_room_are_inside_and_its_door_leads_into_the_room_around_it() -> None:
    made = model(HOUSE)

    [door] = [one for one in made.by_type("IfcDoor") if "Bath" in one.Name]
    [front] = [one for one in made.by_type("IfcDoor") if "outside" in one.Name]
    external: Any = import_module("ifcopenshell.util.element")
    wall = door.FillsVoids[0].RelatingOpeningElement.VoidsElements[0].RelatingBuildingElement
    outer = front.FillsVoids[0].RelatingOpeningElement.VoidsElements[0].RelatingBuildingElement
    assert door.Name == "Door Bath - Bed"
    assert external.get_pset(wall, "Pset_WallCommon", "IsExternal") is False
    assert external.get_pset(outer, "Pset_WallCommon", "IsExternal") is True


def test_areas_are_those_between_the_walls() -> None:
    made = model(HOUSE)

    [space] = [one for one in made.by_type("IfcSpace") if one.Name == "Living"]
    found = {
        quantity.Name: quantity[3]
        for rel in space.IsDefinedBy
        if rel.RelatingPropertyDefinition.is_a("IfcElementQuantity")
        for quantity in rel.RelatingPropertyDefinition.Quantities
    }
    assert found["GrossFloorArea"] == pytest.approx(30.0)
    assert found["NetFloorArea"] == pytest.approx(5.8 * 4.8)
    assert found["Height"] == pytest.approx(3.0)


def test_plans_in_feet_become_metres() -> None:
    text = HOUSE.replace("default_unit: m", "default_unit: ft")

    made = model(text)

    [space] = [one for one in made.by_type("IfcSpace") if one.Name == "Living"]
    assert volume(space) == pytest.approx(5.8 * 4.8 * 3 * 0.3048**3, rel=1e-4)


def test_the_same_plan_gives_the_same_bytes_and_elements_keep_their_ids() -> None:
    first, second = model(HOUSE), model(HOUSE.replace("Küche", "Kitchen"))

    assert written(HOUSE) == written(HOUSE)
    assert {one.GlobalId for one in first.by_type("IfcWall")} == {
        one.GlobalId for one in second.by_type("IfcWall")
    }
    every = [one.GlobalId for one in first.by_type("IfcRoot")]
    assert len(every) == len(set(every))


@pytest.mark.parametrize("shape", SHAPES)
def test_every_stair_climbs_to_the_floor_above(shape: str) -> None:
    made = model(STAIRS.format(shape))

    [stair] = made.by_type("IfcStair")
    flights = [one for rel in stair.IsDecomposedBy for one in rel.RelatedObjects]
    treads = sum(one.NumberOfTreads for one in flights if one.is_a("IfcStairFlight"))
    tops = [
        item.Position.Location.Coordinates[2] + item.Depth
        for one in flights
        for item in one.Representation.Representations[0].Items
    ]
    assert wrong_in(made) == []
    assert treads >= 5
    assert tops == sorted(tops)
    assert 2.5 < tops[-1] < 3.0
    assert all(volume(one) > 0 for one in flights)


def test_a_stair_through_floors_is_built_once_for_each_storey_that_it_climbs() -> None:
    stair = STAIRS.format("straight toward top").removeprefix("\nfloorplan")
    floors = [stair.replace("floor f", f"floor {name}") for name in ("low", "mid", "high")]
    bare = [floor.replace("config { default_unit: m }", "") for floor in floors[1:]]

    alone = model("floorplan" + floors[0] + "".join(bare))
    joined = model("floorplan" + floors[0] + "".join(bare) + "vertical low.S to mid.S to high.S")

    assert len(alone.by_type("IfcStair")) == 3
    assert len(joined.by_type("IfcStair")) == 2


def test_names_that_would_break_a_file_are_only_names() -> None:
    nasty = "a'); DROP\\\\X2\\\\ \\u202e 家 <b>"
    text = HOUSE.replace('"Küche"', f'"{nasty}"')

    made = model(text)

    [space] = [one for one in made.by_type("IfcSpace") if one.Name == "Kitchen"]
    assert space.LongName == read(text).plan.floors[0].rooms[1].label.text  # type: ignore[union-attr]
    assert wrong_in(made) == []


def test_the_tool_gives_the_model_as_text() -> None:
    export = tool("export_floorplan")
    assert export is not None

    answer = export.call({"dsl": HOUSE, "format": "ifc"})

    assert answer.facts["success"] is True
    assert answer.text is not None
    assert answer.text.startswith("ISO-10303-21;")
    assert answer.facts["bytes"] == len(answer.text.encode())


def test_a_plan_without_rooms_is_a_model_without_elements() -> None:
    made = model("floorplan floor f { }")

    assert len(made.by_type("IfcBuildingStorey")) == 1
    assert not made.by_type("IfcElement")
    assert wrong_in(made) == []


@settings(max_examples=20, deadline=None)
@given(st.randoms(use_true_random=False))
def test_whatever_the_plan_its_model_is_valid(random: Random) -> None:
    reading = read(plan(random).text)
    assume(not reading.errors)
    made = ifcopenshell.file.from_string(ifc_text(understood(reading.plan)))

    assert wrong_in(made) == []
    for wall in made.by_type("IfcWall"):
        assert math.isfinite(wall.Representation.Representations[1].Items[0].Depth)


OPEN = """
floorplan
  config { default_unit: m, wall_thickness: 0.2 }
  floor f height 3 {
    room A at (0,0) size (4 x 4) walls [top: solid, right: open, bottom: solid, left: solid]
    room B at (4,0) size (3 x 4) walls [top: solid, right: solid, bottom: solid, left: open]
    room C at (0,4) size (5 x 3) walls [top: open, right: open, bottom: open, left: open]
  }
"""


def test_a_room_reaches_to_its_edge_where_there_is_no_wall() -> None:
    made = model(OPEN)

    external: Any = import_module("ifcopenshell.util.element")
    areas = {
        one.Name: external.get_pset(one, "Qto_SpaceBaseQuantities", "NetFloorArea")
        for one in made.by_type("IfcSpace")
    }
    # A and B meet without a wall; all of C's edges are open but for the wall that A and B say
    assert areas == pytest.approx({"A": 3.9 * 3.8, "B": 2.9 * 3.8, "C": 5.0 * 2.9})
    for one in made.by_type("IfcSpace"):
        assert volume(one) == pytest.approx(areas[one.Name] * 3)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_risers_of_a_stair_are_as_high_as_it_is_built(shape: str) -> None:
    made = model(STAIRS.format(shape))

    flights = made.by_type("IfcStairFlight")
    risers = sum(one.NumberOfRisers for one in flights)
    assert {round(one.RiserHeight, 9) for one in flights} == {round(3.0 / risers, 9)}


def test_lifts_and_stairs_are_placed_where_they_stand() -> None:
    text = HOUSE.replace("lift L", "stair S at (7,1) shape straight toward top rise 3\nlift L")

    made = model(text)

    placing: Any = import_module("ifcopenshell.util.placement")
    [lift], [stair] = made.by_type("IfcTransportElement"), made.by_type("IfcStair")
    at = [placing.get_local_placement(one.ObjectPlacement)[:3, 3] for one in (lift, stair)]
    assert tuple(at[0]) == pytest.approx((8.75, -3.75, 0.0))
    assert tuple(at[1]) == pytest.approx((7.0, -1.0, 0.0))
    assert volume(lift) == pytest.approx(1.5 * 1.5 * 3)


def test_walls_tell_their_measures() -> None:
    made = model(HOUSE)

    external: Any = import_module("ifcopenshell.util.element")
    sizes = [external.get_pset(one, "Qto_WallBaseQuantities") for one in made.by_type("IfcWall")]
    wanted = {"Length": 10.2, "Width": 0.2, "Height": 3.0}
    assert any({key: one[key] for key in wanted} == pytest.approx(wanted) for one in sizes)
    assert wrong_in(made) == []
