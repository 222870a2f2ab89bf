"""What scripts for a real Revit ask, and what they must be able to rely on."""

from typing import Any

import pytest

from noetl_mcp.bim.revit.headless.server import Headless
from tests.bim.revit.asked import HOUSE, opened, refused, told


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
