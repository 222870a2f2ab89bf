"""The models of floor plans open, and what is asked of them is what was drawn."""

from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import pytest

from noetl_mcp.bim.floorplan.building import Building, PlacedRoom
from noetl_mcp.bim.floorplan.drawing.walls import wall_network
from noetl_mcp.bim.floorplan.reading.read import read
from noetl_mcp.bim.floorplan.resolve import understood
from noetl_mcp.bim.floorplan.units import factor
from noetl_mcp.bim.revit.headless.server import Headless
from tests.bim.floorplan.random_plans import plan
from tests.bim.revit.asked import HOUSE, opened, told

_DOCUMENTED = Path(__file__).parents[3] / "docs/how-to/house.floorplan"
PLANS = {
    "documented": _DOCUMENTED.read_text(encoding="utf-8"),
    "house": HOUSE,
    "feet": HOUSE.replace("default_unit: m", "default_unit: ft"),
}


def all_rooms(rooms: tuple[PlacedRoom, ...]) -> list[PlacedRoom]:
    return [one for room in rooms for one in (room, *all_rooms(room.rooms))]


def meshed(server: Headless) -> dict[int, tuple[list[float], list[float]]]:
    """Return the boxes around all elements as a meshing kernel sees them, in mm."""
    kernel: Any = import_module("ifcopenshell.geom")
    settings = kernel.settings()
    settings.set("use-world-coords", True)
    found = {}
    for one in server.document.elements.values():
        if getattr(one, "Representation", None) is not None:
            flat = kernel.create_shape(settings, one).geometry.verts
            points = [flat[at : at + 3] for at in range(0, len(flat), 3)]
            axes = list(zip(*points, strict=True))
            found[one.id()] = ([min(a) * 1000 for a in axes], [max(a) * 1000 for a in axes])
    return found


@pytest.mark.parametrize("name", PLANS)
def test_what_a_plan_says_is_what_the_model_answers(name: str, tmp_path: Path) -> None:
    building = understood(read(PLANS[name]).plan)

    server = opened(PLANS[name], tmp_path)

    compare(server, building)


@pytest.mark.parametrize("seed", range(12))
def test_any_plan_opens_and_answers_alike(seed: int, tmp_path: Path) -> None:
    text = (
        plan(Random(seed)).text if hasattr(plan(Random(seed)), "text") else str(plan(Random(seed)))
    )
    building = understood(read(text).plan)

    server = opened(text, tmp_path)

    compare(server, building)


def compare(server: Headless, building: Building) -> None:
    metres = factor(building.habits.unit, "m")
    levels = told(server, "get_levels")["levels"]
    assert [one["name"] for one in levels] == [floor.id for floor in building.floors]
    for floor, level in zip(building.floors, levels, strict=True):
        on_it = {"levelId": level["levelId"]}
        rooms = told(server, "get_rooms", **on_it)["rooms"]
        drawn = all_rooms(floor.rooms)
        real = [one for one in drawn if min(one.box.width, one.box.height, one.height) > 0]
        assert sorted(one["number"] for one in rooms) == sorted(one.name for one in real)
        walls = [one for one in wall_network(floor, building).walls if one.solid]
        openings = [hole for wall in walls for hole in wall.openings]
        found = told(server, "get_walls", **on_it)["walls"]
        assert len(found) == len(walls)
        for row, wall in zip(found, walls, strict=True):
            assert row["thickness"] == pytest.approx(wall.thickness * metres * 1000, abs=0.02)
            assert row["height"] == pytest.approx(wall.height * metres * 1000, abs=0.02)
            length = abs(row["end"]["x"] - row["start"]["x"] + row["end"]["y"] - row["start"]["y"])
            start, end = wall.reach
            assert length == pytest.approx((end - start) * metres * 1000, abs=0.05)
        windows = [one for one in openings if one.kind == "window"]
        doors = [one for one in openings if one.kind in ("door", "double-door")]
        assert told(server, "get_windows", **on_it)["totalCount"] == len(windows)
        assert told(server, "get_doors", **on_it)["totalCount"] == len(doors)
        for kind in ("doors", "windows"):
            for row in told(server, f"get_{kind}", **on_it)[kind]:
                assert row["hostWallId"] in {one["elementId"] for one in found}


@pytest.mark.parametrize("name", PLANS)
def test_boxes_are_those_that_a_meshing_kernel_finds(name: str, tmp_path: Path) -> None:
    server = opened(PLANS[name], tmp_path)
    expected = meshed(server)

    boxes = told(server, "get_bounding_box", elementIds=list(expected))["boxes"]

    assert len(boxes) == len(expected) > 10
    for row in boxes:
        least, most = expected[row["elementId"]]
        assert list(row["boundingBox"]["min"].values()) == pytest.approx(least, abs=0.01)
        assert list(row["boundingBox"]["max"].values()) == pytest.approx(most, abs=0.01)


def test_a_house_is_told_in_millimetres_and_square_metres(tmp_path: Path) -> None:
    server = opened(HOUSE, tmp_path)

    rooms = {one["number"]: one for one in told(server, "get_rooms")["rooms"]}
    [window] = told(server, "get_windows")["windows"]
    doors = {one["name"]: one for one in told(server, "get_doors")["doors"]}
    [between] = [one for name, one in doors.items() if "Kitchen" in name]

    assert rooms["Kitchen"]["name"] == "Küche"
    assert rooms["Kitchen"]["level"] == "ground"
    assert rooms["Living"]["area"] == pytest.approx(5.8 * 4.8)
    assert rooms["Living"]["center"] == {"x": 3000.0, "y": -2500.0, "z": 0.0}
    assert (window["width"], window["height"]) == (2000.0, 1500.0)
    assert window["location"] == {"x": 3000.0, "y": 0.0, "z": 900.0}
    assert (between["width"], between["height"]) == (1000.0, 2000.0)
    assert between["location"] == {"x": 6000.0, "y": -2500.0, "z": 0.0}
    assert told(server, "get_levels")["levels"][1]["elevation"] == 3000.0
    assert told(server, "get_floors")["floors"][0]["thickness"] == 300.0
