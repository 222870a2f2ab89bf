"""What scripts for a real Revit ask, and what they must be able to rely on."""

from pathlib import Path
from typing import Any

import pytest

from noetl_mcp.bim.revit.headless.server import Headless
from tests.bim.revit.asked import HOUSE, opened, refused, told
from tests.bim.revit.foreign import Foreign


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Headless:
    return opened(HOUSE, tmp_path_factory.mktemp("house"))


def test_the_context_is_told_where_clients_look_for_it(house: Headless) -> None:
    answer = told(house, "help.get_context", includeSelectionIds=True)

    found, standard = answer["data"], answer["context"]
    assert found["contextToken"] == standard["contextToken"]
    assert (found["tokenVersion"], found["revision"]) == ("ctx.v1", 0)
    assert found["activeViewId"] == standard["activeViewId"]
    assert (found["selectionCount"], found["selectionIds"]) == (0, [])
    told(house, "get_walls", expectedContextToken=found["contextToken"])
    assert "selectionIds" not in told(house, "get_context")["data"]


def test_an_agent_is_told_the_active_view_at_its_start(house: Headless) -> None:
    active = told(house, "agent_bootstrap")["environment"]["activeViewId"]

    assert active == told(house, "get_current_view")["viewId"]


def test_a_list_of_what_a_view_shows_says_which_view_and_can_be_names_alone(
    house: Headless,
) -> None:
    whole, plan, _ = told(house, "get_views")["views"]

    assert told(house, "get_elements_in_view", count=0)["viewId"] == whole["viewId"]
    shown = told(house, "get_elements_in_view", viewId=plan["viewId"], categoryNames=["Rooms"])
    assert (shown["viewId"], shown["usedActiveView"]) == (plan["viewId"], False)
    names = told(
        house,
        "get_elements_in_view",
        viewId=plan["viewId"],
        categoryNames=["Rooms"],
        namesOnly=True,
    )
    assert names["names"] == [one["name"] for one in shown["rows"]]
    assert "rows" not in names


def test_a_room_has_one_name_in_all_answers(house: Headless) -> None:
    [room] = told(house, "get_rooms", nameContains="küche")["rooms"]

    assert (room["number"], room["name"]) == ("Kitchen", "Küche")
    assert told(house, "get_rooms", nameContains="küche", namesOnly=True)["names"] == ["Küche"]
    [found] = told(house, "search_elements", keyword="küche")["elements"]
    assert found["name"] == "Küche"
    ordered = told(house, "query_elements", filters={"categories": ["Rooms"]})["elements"]
    assert "Küche" in {one["name"] for one in ordered}


def test_types_of_a_level_that_nothing_has_are_none_and_it_says_so(house: Headless) -> None:
    answer = told(house, "get_types_in_view", levelName="grund")

    assert answer["totalCount"] == 0
    assert "did you mean 'ground'" in answer["warnings"][0]
    short = told(house, "get_types_in_view", levelName="grund", summaryOnly=True)
    assert short["warnings"] == answer["warnings"]


def test_instances_are_named_by_their_own_names(house: Headless) -> None:
    rows = told(house, "get_family_instances", categoryNames=["Doors"])["instances"]

    found = told(house, "get_family_instances", categoryNames=["Doors"], namesOnly=True)
    assert found["names"] == [one["name"] for one in rows]


@pytest.mark.parametrize(
    ("method", "params", "says"),
    [
        ("get_walls", {"elementIds": [1, 2]}, "there is no element 1"),
        ("get_walls", {"uniqueId": "nobody"}, "there is no element 'nobody'"),
        ("get_doors", {"hostWallId": 1}, "there is no element 1"),
        ("get_doors", {"typeId": 1}, "there is no type 1"),
    ],
)
def test_an_id_that_nothing_has_is_told(
    method: str, params: dict[str, Any], says: str, house: Headless
) -> None:
    answer = told(house, method, **params)

    assert answer["totalCount"] == 0
    assert says in answer["warnings"][0]


def test_an_id_that_is_missing_among_others_is_told(house: Headless) -> None:
    [wall] = told(house, "get_walls", count=1)["walls"]
    door = told(house, "get_doors", count=1)["doors"][0]["elementId"]

    answer = told(house, "get_walls", elementIds=[wall["elementId"], 1, door])

    assert answer["walls"] == [wall]
    assert answer["warnings"] == [
        "there is no element 1",
        f"element {door} is not in this list: it is an IfcDoor",
    ]


@pytest.mark.parametrize(
    ("filters", "says"),
    [
        (
            {"parameters": [{"param": "IsExternl", "value": True}]},
            "nothing that was looked at has the parameter 'IsExternl'; did you mean 'IsExternal'?",
        ),
        ({"typeName": "Wall 20 mm"}, "no type 'Wall 20 mm'; did you mean 'Wall 200 mm'"),
        ({"familyName": "Wal"}, "no family 'Wal'"),
    ],
)
def test_a_query_for_what_nothing_has_says_so(
    filters: dict[str, Any], says: str, house: Headless
) -> None:
    answer = told(house, "query_elements", filters=filters)

    assert answer["totalCount"] == 0
    assert says in answer["warnings"][0]


def test_a_query_that_finds_nothing_of_what_there_is_has_nothing_to_say(house: Headless) -> None:
    rules = [{"param": "Reference", "value": "Attic"}, {"param": "Nothing", "value": 1}]

    answer = told(house, "query_elements", filters={"parameters": rules})

    assert (answer["totalCount"], answer["warnings"]) == (0, [])


def test_a_class_of_revit_is_refused_with_that_of_ifc(house: Headless) -> None:
    words = refused(house, "query_elements", filters={"classNames": ["Wall"]})[1]

    assert words == "there is no class 'Wall' in IFC4; did you mean 'IfcWall'?"


@pytest.mark.parametrize(
    ("method", "params", "says"),
    [
        (
            "get_instance_parameters_bulk",
            {"elementIds": [1], "paramKeys": [{"builtInName": "ALL_MODEL_MARK"}]},
            "'paramKeys.0.name' is missing; 'paramKeys.0.builtInName' is not known",
        ),
        (
            "get_instance_parameters_bulk",
            {"elementIds": [1], "paramKeys": ["Mark"]},
            "'paramKeys.0' must be an object",
        ),
        ("get_walls", {"_shape": {"page": {"skp": 1}}}, "'_shape.page.skp' is not known"),
        ("query_elements", {"filters": 1}, "'filters' must be an object"),
    ],
)
def test_what_is_wrong_inside_a_parameter_is_told_in_words_of_the_wire(
    method: str, params: dict[str, Any], says: str, house: Headless
) -> None:
    assert refused(house, method, **params) == ("INVALID_PARAMS", says)


def test_methods_are_found_by_some_of_the_words_when_none_has_all(house: Headless) -> None:
    items = told(house, "search_commands", query="list every door and window")["data"]["items"]

    found = [one["method"] for one in items]
    assert {"get_doors", "get_windows"} <= set(found[:4])
    assert told(house, "search_commands", query="xyzzy")["data"]["items"] == []


def test_sizes_of_doors_are_parameters_in_mm(tmp_path: Path) -> None:
    made = Foreign(unit=None)
    storey = made.storey("EG", 0.0)
    door = made.root("IfcDoor", Name="D", OverallWidth=0.9, OverallHeight=2.1)
    made.stands(storey, door)
    server = Headless.opened(made.written(tmp_path))

    [row] = told(
        server,
        "get_instance_parameters_bulk",
        categories=["Doors"],
        paramKeys=[{"name": "OverallWidth"}, {"name": "OverallHeight"}],
    )["items"]

    assert row["params"] == {"OverallWidth": 900.0, "OverallHeight": 2100.0}
    assert row["display"]["OverallWidth"] == "900.0 mm"
    wide = {"parameters": [{"param": "OverallWidth", "op": "ge", "value": 900}]}
    assert told(server, "query_elements", filters=wide)["totalCount"] == 1


def test_what_is_true_is_displayed_as_revit_does(house: Headless) -> None:
    [wall] = told(house, "get_walls", count=1)["walls"]

    [row] = told(
        house,
        "get_instance_parameters_bulk",
        elementIds=[wall["elementId"]],
        paramKeys=[{"name": "IsExternal"}],
    )["items"]

    assert (row["params"], row["display"]) == ({"IsExternal": True}, {"IsExternal": "Yes"})


def test_what_has_no_place_is_at_no_place(tmp_path: Path) -> None:
    made = Foreign()
    storey = made.storey("EG", 0.0)
    door = made.root("IfcDoor", Name="D", OverallWidth=900.0)
    column = made.root("IfcColumn", Name="C")
    made.stands(storey, door, column)
    server = Headless.opened(made.written(tmp_path))

    assert told(server, "get_doors")["doors"][0]["location"] is None
    assert told(server, "get_structural_columns")["structuralColumns"][0]["location"] is None
    info = told(server, "get_element_info", elementIds=[door.id(), column.id()])["elements"]
    assert [(one["coordinatesMm"], one["coordinates"]) for one in info] == [(None, None)] * 2


@pytest.fixture
def clad(tmp_path: Path) -> Headless:
    """A model with a curtain wall, with coverings, and with a stair."""
    made = Foreign()
    storey = made.storey("EG", 0.0)
    curtain = made.root("IfcCurtainWall", Name="Glass")
    pane = made.root(
        "IfcPlate",
        Name="Pane",
        ObjectPlacement=made.placement((0.0, 0.0, 0.0)),
        Representation=made.shape(
            made.prism([(0.0, 0.0), (2000.0, 0.0), (2000.0, 20.0), (0.0, 20.0)], 3000.0)
        ),
    )
    made.made_of(curtain, pane)
    coverings = [
        made.root("IfcCovering", Name=kind, PredefinedType=kind)
        for kind in ("FLOORING", "CEILING", "ROOFING", "CLADDING")
    ]
    others = [made.root(kind, Name=kind) for kind in ("IfcStair", "IfcRailing", "IfcFurniture")]
    made.stands(storey, curtain, *coverings, *others)
    return Headless.opened(made.written(tmp_path))


def test_a_curtain_wall_is_a_wall_wherever_walls_are_asked_for(clad: Headless) -> None:
    [row] = told(clad, "get_walls")["walls"]

    assert (row["name"], row["category"], row["start"]) == ("Glass", "OST_Walls", None)
    assert [one["typeName"] for one in told(clad, "get_wall_types")["types"]] == ["CurtainWall"]
    assert told(clad, "get_wall_parameters", elementId=row["elementId"])["totalCount"] == 1
    assert refused(clad, "get_wall_baseline", elementId=row["elementId"])[0] == "NO_LOCATION"


def test_coverings_are_floors_ceilings_and_roofs_only_where_they_say_so(clad: Headless) -> None:
    found = told(clad, "query_elements", filters={"classNames": ["IfcCovering"]})["elements"]

    assert {one["name"]: one["category"] for one in found} == {
        "FLOORING": "OST_Floors",
        "CEILING": "OST_Ceilings",
        "ROOFING": "OST_Roofs",
        "CLADDING": "OST_GenericModel",
    }
    assert told(clad, "get_floors", namesOnly=True)["names"] == ["FLOORING"]


def test_what_revit_builds_itself_is_no_instance_of_a_family(clad: Headless) -> None:
    names = told(clad, "get_family_instances")["instances"]

    assert [one["name"] for one in names] == ["Pane", "CLADDING", "IfcFurniture"]


@pytest.mark.parametrize(
    ("left", "middle"),
    [(0.0, 5450.0), (20.0, 5450.0), (-450.0, 5000.0), (-900.0, 4550.0)],
)
def test_a_door_is_where_its_body_is_whatever_its_origin(
    left: float, middle: float, tmp_path: Path
) -> None:
    made = Foreign()
    storey = made.storey("EG", 0.0)
    corners = [(left, 0.0), (left + 900.0, 0.0), (left + 900.0, 40.0), (left, 40.0)]
    door = made.root(
        "IfcDoor",
        Name="D",
        OverallWidth=900.0,
        ObjectPlacement=made.placement((5000.0, 0.0, 0.0)),
        Representation=made.shape(made.prism(corners, 2000.0)),
    )
    made.stands(storey, door)
    server = Headless.opened(made.written(tmp_path))

    [row] = told(server, "get_doors")["doors"]

    assert row["location"] == {"x": middle, "y": 0.0, "z": 0.0}
