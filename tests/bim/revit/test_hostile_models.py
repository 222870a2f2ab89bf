"""Models that were made to do harm: that repeat themselves, lead back into themselves, or lie.

Each says as much as it can in a small file; an answer must come soon, and say what is not read.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from noetl_mcp.bim.revit.headless.defects import MOST_BYTES
from noetl_mcp.bim.revit.headless.effort import Effort
from noetl_mcp.bim.revit.headless.opening import Unreadable
from noetl_mcp.bim.revit.headless.server import Headless
from tests.bim.revit.asked import refused, told
from tests.bim.revit.foreign import Entity, Foreign

_HEAD = (
    "ISO-10303-21;HEADER;FILE_DESCRIPTION((''),'2;1');FILE_NAME('','',(''),(''),'','','');"
    "FILE_SCHEMA(('IFC4'));ENDSEC;DATA;#1=IFCPROJECT('0YvctVUKr0kugbFTf53O9L',$,'p',$,$,$,$,$,#2);"
)
_METRE = "#2=IFCUNITASSIGNMENT((#3));#3=IFCSIUNIT(*,.LENGTHUNIT.,$,.METRE.);"
_WALL = "=IFCWALL('1YvctVUKr0kugbFTf53O9L',$,'W',$,$,$,$,$,$);"


def written(folder: Path, *lines: str, end: str = "ENDSEC;END-ISO-10303-21;") -> Path:
    path = folder / "hostile.ifc"
    path.write_text(_HEAD + "\n".join(lines) + end)
    return path


def served(made: Foreign, folder: Path) -> Headless:
    return Headless.opened(made.written(folder))


def wall(made: Foreign, body: Entity, name: str = "W") -> Entity:
    return made.root(
        "IfcWall",
        Name=name,
        ObjectPlacement=made.placement((0.0, 0.0, 0.0)),
        Representation=made.shape(body),
    )


def cube(made: Foreign) -> Entity:
    return made.prism([(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)], 1.0)


def copies_of_copies(made: Foreign) -> Entity:
    """Return an item of 2^24 cubes."""
    f, item = made.file, cube(made)
    at = f.create_entity("IfcCartesianPoint", Coordinates=(0.0, 0.0, 0.0))
    target = f.create_entity("IfcCartesianTransformationOperator3D", LocalOrigin=at)
    for _ in range(24):
        shape = f.create_entity(
            "IfcShapeRepresentation",
            ContextOfItems=made.context,
            RepresentationIdentifier="Body",
            Items=[item, item],
        )
        source = f.create_entity(
            "IfcRepresentationMap",
            MappingOrigin=made.axes((0.0, 0.0, 0.0)),
            MappedRepresentation=shape,
        )
        item = f.create_entity("IfcMappedItem", MappingSource=source, MappingTarget=target)
    return item


def curve_of_curves(made: Foreign) -> Entity:
    """Return a prism whose outline is 4^15 lines."""
    f, curve = made.file, made.curve((0.0, 0.0), (1.0, 0.0))
    for _ in range(15):
        piece = f.create_entity("IfcCompositeCurveSegment", "CONTINUOUS", True, curve)
        curve = f.create_entity("IfcCompositeCurve", Segments=[piece] * 4, SelfIntersect=False)
    body = cube(made)
    body.SweptArea.OuterCurve = curve
    return body


def faces_of_a_face(made: Foreign) -> Entity:
    """Return a shell that has one face of many points many times."""
    f = made.file
    at = f.create_entity("IfcCartesianPoint", Coordinates=(0.0, 0.0, 0.0))
    loop = f.create_entity("IfcPolyLoop", Polygon=[at] * 3_000)
    bound = f.create_entity("IfcFaceOuterBound", Bound=loop, Orientation=True)
    face = f.create_entity("IfcFace", Bounds=[bound])
    return f.create_entity(
        "IfcFacetedBrep", Outer=f.create_entity("IfcClosedShell", CfsFaces=[face] * 3_000)
    )


@pytest.mark.parametrize("body", [copies_of_copies, curve_of_curves, faces_of_a_face])
def test_a_shape_that_repeats_itself_without_end_is_not_read(
    body: Callable[[Foreign], Entity], tmp_path: Path
) -> None:
    made = Foreign()
    number = wall(made, body(made)).id()
    server = served(made, tmp_path)

    [row] = told(server, "get_bounding_box", elementId=number)["boxes"]

    assert (row["ok"], row["code"]) == (False, "NO_SHAPE")
    assert told(server, "get_walls")["walls"][0]["thickness"] is None


def test_a_shape_that_all_walls_share_is_read_for_as_many_as_one_call_may(tmp_path: Path) -> None:
    made = Foreign()
    f = made.file
    points = [(float(x % 7), float(x % 5), float(x % 3)) for x in range(1_000)]
    coordinates = f.create_entity("IfcCartesianPointList3D", CoordList=points)
    body = f.create_entity(
        "IfcTriangulatedFaceSet", Coordinates=coordinates, CoordIndex=[(1, 2, 3)]
    )
    ids = [wall(made, body, f"W{number}").id() for number in range(30)]
    server = served(made, tmp_path)
    server.document.effort = Effort(20_000)

    code, says = refused(server, "get_bounding_box", elementIds=ids)
    again = told(server, "get_bounding_box", elementIds=ids)

    assert code == "TOO_MUCH_TO_READ"
    assert "ask for fewer elements, or again" in says
    assert again["totalCount"] == 30


def test_parts_that_lead_back_to_their_whole_are_told_as_broken(tmp_path: Path) -> None:
    made = Foreign()
    walls = [wall(made, cube(made), f"W{number}") for number in range(20)]
    for one, other in zip(walls, [*walls[1:], walls[0]], strict=True):
        made.made_of(one, other)
        made.made_of(one, other)
    server = served(made, tmp_path)

    answer = server.answer("get_bounding_box", {"elementId": walls[0].id()})

    assert "part of itself" in answer["issues"]["itemErrors"][0]["msg"]


def test_a_whole_has_no_box_when_one_of_its_parts_is_not_read(tmp_path: Path) -> None:
    made = Foreign()
    ball = made.file.create_entity("IfcSphere", Position=made.axes((0.0, 0.0, 0.0)), Radius=1.0)
    whole, seen, unseen = (wall(made, body) for body in (cube(made), cube(made), ball))
    made.made_of(whole, seen, unseen)

    [row] = told(served(made, tmp_path), "get_bounding_box", elementId=whole.id())["boxes"]

    assert (row["ok"], row["code"]) == (False, "NO_SHAPE")


def test_what_a_set_says_of_many_elements_is_read_once(tmp_path: Path) -> None:
    made = Foreign()
    walls = [made.root("IfcWall", Name=f"W{number}") for number in range(500)]
    values: dict[str, Any] = {f"P{number}": ("IfcLabel", "x") for number in range(1_000)}
    made.said(walls, "Many", **values)
    server = served(made, tmp_path)

    found = told(server, "search_elements", keyword="W499")
    params = {"elementIds": [walls[0].id()] * 100_000, "page": {"batchSize": 100_000}}
    keys = [{"name": f"P{number}"} for number in range(200)]
    code, _ = refused(server, "get_instance_parameters_bulk", **params, paramKeys=keys)

    assert found["counts"]["candidates"] == 1
    assert code == "TOO_MUCH_TO_READ"


def test_a_long_name_that_all_share_does_not_make_an_answer_without_end(tmp_path: Path) -> None:
    made = Foreign()
    walls = [made.root("IfcWall", Name=f"W{number}") for number in range(300)]
    made.typed(made.root("IfcWallType", Name="x" * 500_000, PredefinedType="STANDARD"), *walls)
    server = served(made, tmp_path)

    code, says = refused(server, "get_walls")

    assert (code, f"{MOST_BYTES:,}" in says) == ("RESULT_TOO_LARGE", True)
    assert len(told(server, "get_walls", count=3)["walls"]) == 3


@pytest.mark.parametrize("name", ["a:b:99999999999999999999999", "a:b:" + "9" * 5_000])
def test_a_type_with_an_endless_number_is_a_name(name: str, tmp_path: Path) -> None:
    made = Foreign()
    made.root("IfcWall", Name="W", ObjectType=name)

    [row] = told(served(made, tmp_path), "get_walls")["walls"]

    assert (row["typeId"], row["typeName"]) == (None, name[2:])


def test_what_stands_for_a_name_and_is_none_breaks_only_its_row(tmp_path: Path) -> None:
    path = written(tmp_path, _METRE, f"#10{_WALL}", f"#11{_WALL.replace('1Y', '2Y')}")
    path.write_text(path.read_text().replace("'W'", "#10", 1))

    answer = Headless.opened(path).answer("get_walls", {})

    assert [row["elementId"] for row in answer["walls"]] == [11]
    assert [one["elementId"] for one in answer["issues"]["itemErrors"]] == [10]


@pytest.mark.parametrize(
    ("units", "says"),
    [
        (
            "#2=IFCUNITASSIGNMENT((#3));#3=IFCCONVERSIONBASEDUNIT(#4,.LENGTHUNIT.,'x',#5);"
            "#4=IFCDIMENSIONALEXPONENTS(1,0,0,0,0,0,0);"
            "#5=IFCMEASUREWITHUNIT(IFCRATIOMEASURE(1.),#3);",
            "#3 is told by itself",
        ),
        (
            "#2=IFCUNITASSIGNMENT((#3,#4));#3=IFCSIUNIT(*,.LENGTHUNIT.,.MILLI.,.METRE.);"
            "#4=IFCSIUNIT(*,.LENGTHUNIT.,.MILLI.,.METRE.);",
            "several units at once",
        ),
    ],
)
def test_units_that_lead_nowhere_or_are_several_are_refused(
    units: str, says: str, tmp_path: Path
) -> None:
    with pytest.raises(Unreadable, match=says):
        Headless.opened(written(tmp_path, units))


def test_a_file_that_was_cut_off_is_not_answered_for(tmp_path: Path) -> None:
    walls = [f"#{number}{_WALL}" for number in range(10, 60)]
    path = written(tmp_path, _METRE, *walls, end="")

    with pytest.raises(Unreadable, match="does not come to its end"):
        Headless.opened(path)


def test_one_number_for_two_things_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, _METRE, f"#10{_WALL}", f"#10{_WALL.replace('1Y', '2Y')}")

    with pytest.raises(Unreadable, match="#10"):
        Headless.opened(path)


def test_a_unique_id_that_two_have_is_not_one_of_them(tmp_path: Path) -> None:
    server = Headless.opened(written(tmp_path, _METRE, f"#10{_WALL}", f"#11{_WALL}"))

    code, says = refused(server, "get_element_info", uniqueId="1YvctVUKr0kugbFTf53O9L")

    assert (code, says.endswith("10, 11")) == ("AMBIGUOUS_NAME", True)


@pytest.mark.parametrize("place", ["$", "#22"])
def test_a_place_without_coordinates_is_not_the_middle_of_the_world(
    place: str, tmp_path: Path
) -> None:
    column = "IFCCOLUMN('1YvctVUKr0kugbFTf53O9L',$,'C',$,$,#20,$,$,$);"
    lines = ("#20=IFCLOCALPLACEMENT($,#21);", f"#21=IFCAXIS2PLACEMENT3D({place},$,$);")
    far = "#22=IFCCARTESIANPOINT((1.E300,0.,0.));"
    server = Headless.opened(written(tmp_path, _METRE, f"#10={column}", *lines, far))

    answer = server.answer("get_structural_columns", {})

    assert "no coordinates" in answer["issues"]["itemErrors"][0]["msg"]


def test_a_pipe_and_a_giant_are_no_models(tmp_path: Path) -> None:
    pipe, giant = tmp_path / "pipe.ifc", tmp_path / "giant.ifc"
    os.mkfifo(pipe)
    with giant.open("wb") as stream:
        stream.truncate(1 << 40)

    with pytest.raises(Unreadable, match="no file"):
        Headless.opened(pipe)
    with pytest.raises(Unreadable, match="the most"):
        Headless.opened(giant)


def test_a_class_stands_for_those_below_it_and_a_type_of_values_for_none(tmp_path: Path) -> None:
    made = Foreign()
    made.root("IfcWall", Name="W")
    server = served(made, tmp_path)

    found = told(server, "query_elements", filters={"classNames": ["ifcbuildingelement"] * 9_000})
    code, says = refused(server, "query_elements", filters={"classNames": ["IfcLabel"]})

    assert found["totalCount"] == 1
    assert (code, "'IfcLabel'" in says) == ("INVALID_PARAMS", True)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (f"#11{_WALL.replace('WALL', 'WAL')}", "left out: 1; .*IFCWAL"),
        (f"#11{_WALL.replace('$,$,$);', '#98,#99,$);')}", "left out: 2; .*#98"),
    ],
)
def test_what_the_library_left_out_is_told_with_every_answer(
    line: str, says: str, tmp_path: Path
) -> None:
    server = Headless.opened(written(tmp_path, _METRE, f"#10{_WALL}", line))
    whole = Headless.opened(written(tmp_path, _METRE, f"#10{_WALL}"))

    [warning] = told(server, "get_walls")["warnings"]

    assert re.search(says, warning)
    assert told(whole, "get_walls")["warnings"] == []


def test_values_in_values_do_not_end_the_process(tmp_path: Path) -> None:
    deep = "IFCLABEL(" * 100_000 + "'x'" + ")" * 100_000
    path = written(
        tmp_path,
        _METRE,
        f"#10{_WALL}",
        f"#11{_WALL.replace('1Y', '2Y')}".replace("'W'", deep),
        "#30=IFCRELDEFINESBYPROPERTIES('3YvctVUKr0kugbFTf53O9L',$,$,$,(#10),#31);",
        "#31=IFCPROPERTYSET('4YvctVUKr0kugbFTf53O9L',$,'P',$,(#32));",
        f"#32=IFCPROPERTYSINGLEVALUE('a',$,{deep},$);",
    )
    code = (
        "import sys; from pathlib import Path;"
        "from noetl_mcp.bim.revit.headless.server import Headless;"
        "server = Headless.opened(Path(sys.argv[1]));"
        "calls = ('search_elements', {'keyword': 'q'}), ('get_wall_parameters', {'elementId': 10});"
        "print([server.answer(*call)['ok'] for call in calls], flush=True);"
        "import os; os._exit(0)"
    )

    ran = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)

    assert (ran.returncode, ran.stdout.strip()) == (0, "[True, True]")
