"""Models of other programs: whatever they count in and however they are built, answers agree."""

import math
from pathlib import Path
from typing import Any

import pytest

from tests.bim.revit.asked import refused, told
from tests.bim.revit.foreign import SCHEMAS, Foreign, asked, wall


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_type_is_known_by_its_entity_or_by_a_name_alone(schema: str, tmp_path: Path) -> None:
    made = Foreign(schema)
    storey = made.storey("EG", 0.0)
    walls = [wall(made, (0.0, 5000.0 * index), 0.0, storey) for index in range(3)]
    kind = made.root("IfcWallType", Name="Basic Wall:RC150", PredefinedType="STANDARD")
    made.typed(kind, walls[0])
    walls[1].ObjectType = "Basic Wall:RC150:138584"
    walls[2].ObjectType = "Basic Wall:Brick: old:7"

    server = asked(made, tmp_path)
    rows = told(server, "get_walls")["walls"]
    types = told(server, "get_wall_types")["types"]

    names = [(row["familyName"], row["typeName"], row["typeId"]) for row in rows]
    assert names == [
        ("Basic Wall", "RC150", kind.id()),
        ("Basic Wall", "RC150", 138584),
        ("Basic Wall", "Brick: old", 7),
    ]
    assert told(server, "get_walls", typeName="RC150")["totalCount"] == 2
    assert told(server, "get_walls", typeId=7)["totalCount"] == 1
    assert [(one["typeName"], one["count"], one["width"]) for one in types] == [
        ("Brick: old", 1, 300.0),
        ("RC150", 1, 300.0),
        ("RC150", 1, 300.0),
    ]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_door_stands_on_the_line_of_its_wall_and_on_its_level(
    schema: str, tmp_path: Path
) -> None:
    made = Foreign(schema)
    storey = made.storey("1. OG", 3000.0)
    host = wall(made, (0.0, 0.0), 0.0, storey)
    opening = made.root(
        "IfcOpeningElement",
        ObjectPlacement=made.placement((1000.0, 0.0, 0.0), 0.0, host.ObjectPlacement),
    )
    door = made.root(
        "IfcDoor",
        Name="D",
        ObjectPlacement=made.placement((0.0, 40.0, 0.0), 0.0, opening.ObjectPlacement),
        OverallWidth=900.0,
        OverallHeight=2100.0,
    )
    made.root("IfcRelVoidsElement", RelatingBuildingElement=host, RelatedOpeningElement=opening)
    made.root("IfcRelFillsElement", RelatingOpeningElement=opening, RelatedBuildingElement=door)

    server = asked(made, tmp_path)
    [row] = told(server, "get_doors", hostWallId=host.id())["doors"]

    assert (row["levelName"], row["hostWallId"]) == ("1. OG", host.id())
    assert row["location"] == {"x": 11_450.0, "y": 150.0, "z": 3000.0}
    assert told(server, "get_doors", hostWallId=1)["totalCount"] == 0
    info = told(server, "get_element_info", elementId=host.id(), rich=True)["elements"][0]
    assert info["hostedIds"] == [door.id()]
    assert info["coordinates"]["x"] == pytest.approx(10_000 / 304.8)


def test_copied_shapes_stand_where_their_copies_do(tmp_path: Path) -> None:
    made = Foreign()
    f = made.file
    storey = made.storey("EG", 0.0)
    shared = f.create_entity(
        "IfcRepresentationMap",
        MappingOrigin=made.axes((0.0, 0.0, 0.0)),
        MappedRepresentation=made.shape(
            made.prism([(-200.0, -200.0), (200.0, -200.0), (200.0, 200.0), (-200.0, 200.0)], 3000.0)
        ).Representations[0],
    )
    for index in range(2):
        target = f.create_entity(
            "IfcCartesianTransformationOperator3D",
            LocalOrigin=f.create_entity("IfcCartesianPoint", Coordinates=(50.0, 0.0, 0.0)),
        )
        copy = f.create_entity("IfcMappedItem", MappingSource=shared, MappingTarget=target)
        column = made.root(
            "IfcColumn",
            Name=f"C{index}",
            ObjectPlacement=made.placement((6000.0 * index, 0.0, 0.0), 45.0),
            Representation=made.shape(copy, "MappedRepresentation"),
        )
        made.stands(storey, column)

    server = asked(made, tmp_path)
    columns = told(server, "get_structural_columns")["structuralColumns"]
    [_, second] = told(
        server, "get_bounding_box", elementIds=[one["elementId"] for one in columns]
    )["boxes"]

    corner = 200 * math.sqrt(2)
    aside = 50 / math.sqrt(2)
    assert second["boundingBox"]["min"]["x"] == pytest.approx(6000 + aside - corner, abs=0.001)
    assert second["boundingBox"]["max"]["z"] == 3000.0
    near = {"min": {"x": 5700, "y": -1, "z": 0}, "max": {"x": 5800, "y": 1, "z": 1}}
    found = told(server, "query_elements", filters={"bbox": near})
    assert [one["elementId"] for one in found["elements"]] == [second["elementId"]]


def test_a_shape_that_is_not_read_has_no_box_and_says_so(tmp_path: Path) -> None:
    made = Foreign()
    f = made.file
    sphere = f.create_entity("IfcSphere", Position=made.axes((0.0, 0.0, 0.0)), Radius=100.0)
    ball = made.root(
        "IfcBuildingElementProxy",
        Name="Ball",
        ObjectPlacement=made.placement((0.0, 0.0, 0.0)),
        Representation=made.shape(sphere, "CSG"),
    )

    [row] = told(asked(made, tmp_path), "get_bounding_box", elementId=ball.id())["boxes"]

    assert (row["ok"], row["code"]) == (False, "NO_SHAPE")


def test_parameters_are_told_in_the_units_of_answers(tmp_path: Path) -> None:
    made = Foreign(unit=None)  # metres
    storey = made.storey("EG", 0.0)
    found = wall(made, (0.0, 0.0), 0.0, storey)
    kind = made.root("IfcWallType", Name="RC150", PredefinedType="STANDARD")
    made.typed(kind, found)
    shared = made.said([], "Pset_WallCommon", FireRating=("IfcLabel", "REI 90"))
    kind.HasPropertySets = [shared]
    made.said(
        [found],
        "Identity",
        Mark=("IfcText", "W-7"),
        Cover=("IfcPositiveLengthMeasure", 0.025),
        Area=("IfcAreaMeasure", 12.5),
        LoadBearing=("IfcBoolean", True),
        Tilt=("IfcPlaneAngleMeasure", math.pi / 6),
    )

    server = asked(made, tmp_path)
    rows = told(server, "get_wall_parameters", wallId=found.id())["parameters"]

    by_name = {row["name"]: (row["value"], row["unit"], row["isTypeParameter"]) for row in rows}
    assert by_name["Mark"] == ("W-7", None, False)
    assert by_name["Cover"] == (25.0, "mm", False)
    assert by_name["Area"] == (12.5, "m2", False)
    assert by_name["LoadBearing"] == (True, None, False)
    assert by_name["Tilt"] == (30.0, "deg", False)
    assert by_name["FireRating"] == ("REI 90", None, True)
    assert told(server, "get_walls", mark="W-7")["totalCount"] == 1
    assert told(server, "get_walls", mark="W-8")["totalCount"] == 0
    many = told(
        server,
        "get_instance_parameters_bulk",
        elementIds=[found.id(), 1],
        paramKeys=[{"name": "identity.cover"}, {"name": "Colour"}],
    )
    assert many["items"][0]["params"] == {"identity.cover": 25.0}
    assert many["items"][0]["missing"] == ["Colour"]
    assert many["items"][1] == {"ok": False, "elementId": 1, "code": "NOT_FOUND"}
    shared_ones = told(
        server,
        "get_type_parameters_bulk",
        categories=["Walls"],
        paramKeys=[{"name": "FireRating"}, {"name": "Mark"}],
    )
    assert shared_ones["items"] == [
        {
            "ok": True,
            "typeId": kind.id(),
            "typeName": "RC150",
            "params": {"FireRating": "REI 90"},
            "display": {"FireRating": "REI 90"},
            "missing": ["Mark"],
        }
    ]
    meta = told(server, "get_param_meta", target={"value": found.id()}, filterNames=["cover"])
    assert [one["value"] for one in meta["parameters"]] == [25.0]
    of_type = told(server, "get_param_meta", target={"by": "typeId", "value": kind.id()})
    assert of_type["counts"] == {"instance": 0, "type": 1}
    assert refused(server, "get_param_meta", target={"value": kind.id()})[0] == "NOT_FOUND"


def test_many_elements_are_told_in_pages(tmp_path: Path) -> None:
    made = Foreign()
    storey = made.storey("EG", 0.0)
    ids = [wall(made, (0.0, 1000.0 * index), 0.0, storey).id() for index in range(5)]
    server = asked(made, tmp_path)
    found, start = list[int](), 0

    while start is not None:
        page = told(
            server,
            "get_instance_parameters_bulk",
            categories=["OST_Walls"],
            paramKeys=[{"name": "Name"}],
            page={"startIndex": start, "batchSize": 2},
        )
        found += [one["elementId"] for one in page["items"]]
        assert page["totalCount"] == 5
        assert page["completed"] is (page["nextIndex"] is None)
        start = page["nextIndex"]

    assert found == ids


def test_units_are_told(tmp_path: Path) -> None:
    units = told(asked(Foreign(unit="CENTI"), tmp_path), "get_project_units")["units"]

    assert [one["fileUnitIs"] for one in units][:2] == [10.0, 1.0]


@pytest.mark.parametrize(
    ("rule", "matches"),
    [
        ({"param": "Cover", "op": "ge", "value": 25}, True),
        ({"param": "Cover", "op": "gt", "value": 25}, False),
        ({"param": "Cover", "value": 25}, True),
        ({"param": "Cover", "op": "ne", "value": 25}, False),
        ({"param": "Mark", "op": "contains", "value": "w-"}, True),
        ({"param": "Mark", "value": "W-7"}, True),
        ({"param": "Mark", "value": 7}, False),
        ({"param": "Nowhere", "op": "exists"}, False),
        ({"param": "Nowhere", "op": "ne", "value": 1}, False),
        ({"param": "Mark", "op": "exists"}, True),
    ],
)
def test_elements_are_found_by_their_parameters(
    rule: dict[str, Any], matches: bool, tmp_path: Path
) -> None:
    made = Foreign()
    found = wall(made, (0.0, 0.0), 0.0, made.storey("EG", 0.0))
    made.said(
        [found], "Identity", Mark=("IfcText", "W-7"), Cover=("IfcPositiveLengthMeasure", 25.0)
    )

    answer = told(asked(made, tmp_path), "query_elements", filters={"parameters": [rule]})

    assert (answer["totalCount"] == 1) is matches


def test_levels_are_told_from_below_and_those_of_one_name_are_not_mixed_up(tmp_path: Path) -> None:
    made = Foreign()
    upper, lower = made.storey("Level", 3000.0), made.storey("Level", -500.0)
    made.storey("Roof", None)
    first, second = (wall(made, (0.0, 0.0), 0.0, one) for one in (upper, lower))

    server = asked(made, tmp_path)
    levels = told(server, "get_levels")["levels"]
    code, words = refused(server, "get_walls", level="Level")

    assert [one["elevation"] for one in levels] == [-500.0, 0.0, 3000.0]
    assert code == "AMBIGUOUS_NAME"
    assert str(upper.id()) in words
    assert str(lower.id()) in words
    assert told(server, "get_walls", levelId=upper.id())["walls"][0]["elementId"] == first.id()
    assert told(server, "get_walls", levelId=lower.id())["walls"][0]["elementId"] == second.id()


def test_beams_have_ends_and_grids_have_lines(tmp_path: Path) -> None:
    made = Foreign()
    f = made.file
    profile = f.create_entity(
        "IfcIShapeProfileDef",
        ProfileType="AREA",
        OverallWidth=100.0,
        OverallDepth=200.0,
        WebThickness=6.0,
        FlangeThickness=8.0,
    )
    beam = f.create_entity(
        "IfcExtrudedAreaSolid",
        SweptArea=profile,
        Position=f.create_entity(
            "IfcAxis2Placement3D",
            Location=f.create_entity("IfcCartesianPoint", Coordinates=(0.0, 0.0, 2800.0)),
            Axis=f.create_entity("IfcDirection", DirectionRatios=(1.0, 0.0, 0.0)),
            RefDirection=f.create_entity("IfcDirection", DirectionRatios=(0.0, 1.0, 0.0)),
        ),
        ExtrudedDirection=f.create_entity("IfcDirection", DirectionRatios=(0.0, 0.0, 1.0)),
        Depth=5000.0,
    )
    made.root(
        "IfcBeam",
        Name="B1",
        ObjectPlacement=made.placement((0.0, 0.0, 0.0)),
        Representation=made.shape(beam),
    )
    line = f.create_entity(
        "IfcGridAxis", AxisTag="A", AxisCurve=made.curve((0.0, 0.0), (0.0, 8000.0)), SameSense=True
    )
    made.root(
        "IfcGrid", ObjectPlacement=made.placement((100.0, 0.0, 0.0)), UAxes=[line], VAxes=[line]
    )

    server = asked(made, tmp_path)
    [row] = told(server, "get_structural_frames")["structuralFrames"]
    grids = told(server, "get_grids")["grids"]

    assert row["start"] == {"x": 0.0, "y": 0.0, "z": 2800.0}
    assert row["end"] == {"x": 5000.0, "y": 0.0, "z": 2800.0}
    assert grids[0]["name"] == "A"
    assert grids[0]["end"] == {"x": 100.0, "y": 8000.0, "z": 0.0}
    [box] = told(server, "get_bounding_box", elementId=row["elementId"])["boxes"]
    assert box["boundingBox"]["min"] == {"x": 0.0, "y": -50.0, "z": 2700.0}
    assert box["boundingBox"]["max"] == {"x": 5000.0, "y": 50.0, "z": 2900.0}
