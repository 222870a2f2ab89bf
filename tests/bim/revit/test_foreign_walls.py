"""Walls of other programs: however they are built, their line, thickness and height agree."""

import math
from pathlib import Path

import pytest

from tests.bim.revit.asked import told
from tests.bim.revit.foreign import SCHEMAS, Foreign, asked, wall


@pytest.mark.parametrize("schema", SCHEMAS)
def test_the_line_of_a_turned_wall_runs_through_its_middle(schema: str, tmp_path: Path) -> None:
    made = Foreign(schema)
    storey = made.storey("EG", 0.0)
    wall(made, (1000.0, 2000.0), 90.0, storey)

    [row] = told(asked(made, tmp_path), "get_walls")["walls"]

    assert (row["thickness"], row["height"]) == (300.0, 2500.0)
    # 10 m east is the building's own place; the wall turns left, so its body is west of its line
    assert row["start"] == {"x": 10_850.0, "y": 2000.0, "z": 0.0}
    assert row["end"] == {"x": 10_850.0, "y": 6000.0, "z": 0.0}


@pytest.mark.parametrize(
    ("offset", "sense", "middle"),
    [(0.0, "POSITIVE", 150.0), (0.0, "NEGATIVE", -150.0), (-150.0, "POSITIVE", 0.0)],
)
def test_layers_say_on_which_side_of_its_line_a_wall_lies(
    offset: float, sense: str, middle: float, tmp_path: Path
) -> None:
    made = Foreign()
    storey = made.storey("EG", 0.0)
    found = made.root(
        "IfcWall",
        Name="W",
        ObjectPlacement=made.placement((0.0, 0.0, 0.0)),
        Representation=made.shape(
            made.prism([(0.0, -150.0), (9.0, -150.0), (9.0, 150.0), (0.0, 150.0)], 2.0),
            line=made.curve((5000.0, 0.0), (0.0, 0.0)),  # drawn backwards
        ),
    )
    made.layers(found, offset, sense, 300.0)
    made.stands(storey, found)

    [row] = told(asked(made, tmp_path), "get_walls")["walls"]

    assert row["start"]["y"] == row["end"]["y"] == middle
    assert (row["start"]["x"], row["end"]["x"]) == (5000.0, 0.0)


def test_a_wall_without_a_line_or_layers_is_measured_by_its_body(tmp_path: Path) -> None:
    made = Foreign(unit=None)  # metres
    storey = made.storey("EG", 0.0)
    found = made.root(
        "IfcWall",
        Name="W",
        ObjectPlacement=made.placement((0.0, 0.0, 0.0)),
        Representation=made.shape(made.prism([(0, 0), (0.3, 0), (0.3, 6), (0, 6)], 2.75)),
    )
    made.stands(storey, found)

    [row] = told(asked(made, tmp_path), "get_walls")["walls"]

    assert (row["thickness"], row["height"]) == (300.0, 2750.0)
    assert row["start"] == {"x": 150.0, "y": 0.0, "z": 0.0}
    assert row["end"] == {"x": 150.0, "y": 6000.0, "z": 0.0}


def test_layers_of_the_type_say_how_thick_a_wall_is(tmp_path: Path) -> None:
    made = Foreign()
    f = made.file
    found = made.root("IfcWall", Name="W", ObjectPlacement=made.placement((0.0, 0.0, 0.0)))
    kind = made.root("IfcWallType", Name="RC150", PredefinedType="STANDARD")
    made.typed(kind, found)
    material = f.create_entity("IfcMaterial", Name="Concrete")
    sizes = [
        f.create_entity("IfcMaterialLayer", Material=material, LayerThickness=size)
        for size in (120.0, 30.0)
    ]
    layers = f.create_entity("IfcMaterialLayerSet", MaterialLayers=sizes)
    made.root("IfcRelAssociatesMaterial", RelatedObjects=[kind], RelatingMaterial=layers)

    [row] = told(asked(made, tmp_path), "get_walls")["walls"]

    assert row["thickness"] == 150.0
    assert row["start"] is row["height"] is None


def test_a_place_that_is_told_in_a_way_that_is_not_read_is_not_guessed(tmp_path: Path) -> None:
    made = Foreign()
    walls = [
        made.root("IfcWall", Name=f"W{index}", ObjectPlacement=made.placement((0.0, 0.0, 0.0)))
        for index in range(2)
    ]
    walls[0].ObjectPlacement = made.file.create_entity("IfcGridPlacement")

    answer = asked(made, tmp_path).answer("get_walls", {})

    assert [row["name"] for row in answer["walls"]] == ["W1"]
    [wrong] = answer["issues"]["itemErrors"]
    assert wrong["elementId"] == walls[0].id()
    assert "IfcGridPlacement, which is not read" in wrong["msg"]


def test_a_round_wall_is_a_line_of_points(tmp_path: Path) -> None:
    made = Foreign()
    f = made.file
    circle = f.create_entity(
        "IfcCircle",
        Position=f.create_entity(
            "IfcAxis2Placement2D",
            Location=f.create_entity("IfcCartesianPoint", Coordinates=(0.0, 0.0)),
        ),
        Radius=2000.0,
    )
    ends = [
        (f.create_entity("IfcCartesianPoint", Coordinates=at),)
        for at in ((2000.0, 0.0), (0.0, 2000.0))
    ]
    arc = f.create_entity(
        "IfcTrimmedCurve",
        BasisCurve=circle,
        Trim1=ends[0],
        Trim2=ends[1],
        SenseAgreement=True,
        MasterRepresentation="CARTESIAN",
    )
    found = made.root(
        "IfcWall",
        Name="W",
        ObjectPlacement=made.placement((0.0, 0.0, 0.0)),
        Representation=made.shape(made.prism([(0, 0), (1, 0), (1, 1)], 1.0), line=arc),
    )

    server = asked(made, tmp_path)
    baseline = told(server, "get_wall_baseline", elementId=found.id())["baseline"]

    assert baseline["kind"] == "points"
    away = [math.hypot(at["x"], at["y"]) for at in baseline["points"]]
    assert away == pytest.approx([2000.0] * len(away), abs=0.001)
    assert baseline["points"][0]["x"] == 2000.0
    assert baseline["points"][-1]["y"] == 2000.0
