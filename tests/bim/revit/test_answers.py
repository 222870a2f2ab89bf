"""What answers look like, whatever is asked: a payload that says `ok`, or a code and why not."""

from pathlib import Path
from typing import Any

import pytest

from noetl_mcp.bim.counters import count
from noetl_mcp.bim.revit.headless.server import Headless
from noetl_mcp.bim.revit.methods import DESTROYS, METHODS, WRITES
from tests.bim.revit.asked import HOUSE, opened, refused, told


def test_every_answer_tells_the_document_and_its_state(house: Headless) -> None:
    answer = told(house, "get_levels")

    assert (answer["code"], answer["msg"], answer["warnings"]) == ("OK", "", [])
    assert answer["timings"]["totalMs"] >= 0
    context = answer["context"]
    assert context["docTitle"] == "house"
    assert context["docGuid"] == context["docKey"] == house.document.guid
    assert context["contextTokenVersion"] == "ctx.v1"
    assert context["contextToken"] == told(house, "ping_server")["context"]["contextToken"]


def test_another_model_has_another_state(house: Headless, tmp_path: Path) -> None:
    other = opened(HOUSE.replace("Küche", "Galley"), tmp_path)

    assert other.token != house.token


def test_a_name_with_dots_goes_by_its_last_part(house: Headless) -> None:
    assert told(house, "element.get_walls")["totalCount"] == told(house, "get_walls")["totalCount"]
    assert told(house, "help.get_context")["data"]["docTitle"] == "house"


@pytest.mark.parametrize("method", sorted((WRITES + DESTROYS).split()))
def test_what_writes_is_not_offered(method: str, house: Headless) -> None:
    code, words = refused(house, method)

    assert code == "UNSUPPORTED_ON_HEADLESS"
    assert method in words


def test_what_nobody_knows_is_told_with_the_nearest(house: Headless) -> None:
    code, words = refused(house, "element.get_wals")

    assert code == "UNKNOWN_COMMAND"
    assert "did you mean 'get_walls'" in words


def test_all_that_is_offered_reads_and_describes_itself(
    house: Headless, offered: list[str]
) -> None:
    for name in offered:
        described = told(house, "describe_command", method=name)["data"]
        assert METHODS.reads(name), name
        assert described["kind"] == "read"
        assert described["paramsSchema"]["additionalProperties"] is False
        for key, one in described["paramsSchema"].get("properties", {}).items():
            assert one.get("description") or "$ref" in one, (name, key)


def test_what_is_not_offered_is_described_as_such(house: Headless) -> None:
    described = told(house, "describe_command", method="delete_wall")["data"]

    assert described == {
        "method": "delete_wall",
        "kind": "write",
        "risk": "high",
        "isSupported": False,
    }


def test_methods_are_found_by_words(house: Headless) -> None:
    items = told(house, "search_commands", query="WALL line")["data"]["items"]

    assert [one["method"] for one in items] == ["get_wall_baseline", "get_walls"]


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"levl": "ground"}, "no parameter 'levl'; did you mean 'level'"),
        ({"skip": -1}, "'skip'"),
        ({"count": "3"}, "'count'"),
        ({"levelId": True}, "'levelId'"),
        ({"elementIds": ["1"]}, "'elementIds.0'"),
        ({"_shape": {"page": {"limit": -2}}}, "'_shape.page.limit'"),
        ({"_shape": {"idOnly": True}}, "'_shape.idOnly'"),
        ({"elementId": 10**30}, "'elementId'"),
    ],
)
def test_wrong_parameters_are_refused_with_their_place(
    params: dict[str, Any], says: str, house: Headless
) -> None:
    code, words = refused(house, "get_walls", **params)

    assert code == "INVALID_PARAMS"
    assert says in words


def test_a_call_can_be_tried_without_being_made(house: Headless) -> None:
    told(house, "smoke_test", method="element.get_walls", params={"level": "ground"})

    assert refused(house, "smoke_test", method="get_walls", params={"x": 1})[0] == "INVALID_PARAMS"
    assert refused(house, "smoke_test", method="create_wall")[0] == "UNSUPPORTED_ON_HEADLESS"
    assert refused(house, "smoke_test", method="nothing")[0] == "UNKNOWN_COMMAND"


def test_lists_come_in_pages_with_their_total(house: Headless) -> None:
    every = told(house, "get_walls")["walls"]

    def page(**params: Any) -> Any:
        answer = told(house, "get_walls", **params)
        assert answer["totalCount"] == len(every)
        return answer

    assert page(skip=2, count=3)["walls"] == every[2:5]
    assert page(count=0)["walls"] == []
    assert page(skip=1_000)["walls"] == []
    assert page(skip=9, _shape={"page": {"limit": 1}})["walls"] == every[:1]
    ids = [one["elementId"] for one in every]
    assert page(_shape={"idsOnly": True, "page": {"skip": 1, "limit": 2}})["elementIds"] == ids[1:3]
    assert page(namesOnly=True, count=1)["names"] == [every[0]["name"]]
    assert "walls" not in page(summaryOnly=True)
    assert page(count=1)["wallsById"] == {str(ids[0]): every[0]}


def test_the_total_is_counted_by_the_rules_of_bounds(house: Headless) -> None:
    counted = count(dict(told(house, "get_walls", level="ground")), "get_walls")

    assert counted["candidates"].number == 5


def test_elements_are_chosen_by_everything_that_is_said(house: Headless) -> None:
    ground = told(house, "get_levels")["levels"][0]

    def rooms(**params: Any) -> set[str]:
        return {one["number"] for one in told(house, "get_rooms", **params)["rooms"]}

    assert rooms(level="ground") == rooms(levelName="ground") == {"Living", "Kitchen"}
    assert rooms(levelId=ground["levelId"], nameContains="KÜCH") == {"Kitchen"}
    assert rooms(level="ground", levelName="first") == set()
    plan = next(one for one in told(house, "get_views")["views"] if one["levelName"] == "first")
    assert rooms(viewId=plan["viewId"]) == {"Bed", "Bath"}
    assert rooms(typeName="Space") == {"Living", "Kitchen", "Bed", "Bath"}


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"level": "grund"}, "no level 'grund'; did you mean 'ground'"),
        ({"typeName": "Wall 20 mm"}, "no type 'Wall 20 mm'; did you mean 'Wall 200 mm'"),
        ({"familyName": "Wal"}, "no family 'Wal'"),
        ({"levelId": 1}, "no level 1"),
    ],
)
def test_a_name_that_nothing_has_chooses_nothing_and_says_so(
    params: dict[str, Any], says: str, house: Headless
) -> None:
    answer = told(house, "get_walls", **params)

    assert answer["totalCount"] == 0
    assert says in answer["warnings"][0]


def test_what_a_view_shows_is_what_stands_on_its_level(house: Headless) -> None:
    whole, *plans = told(house, "get_views")["views"]
    counts = [
        told(house, "get_elements_in_view", viewId=one["viewId"], summaryOnly=True)["totalCount"]
        for one in plans
    ]

    assert told(house, "get_current_view")["viewId"] == whole["viewId"]
    assert told(house, "get_elements_in_view")["totalCount"] == sum(counts)
    windows = told(house, "get_elements_in_view", categoryNames=["Windows"], levelName="ground")
    assert [row["category"] for row in windows["rows"]] == ["OST_Windows"]
    contains = told(house, "get_elements_in_view", categoryNameContains="vertical")
    assert [row["name"] for row in contains["rows"]] == ["L"]
    assert refused(house, "get_elements_in_view", viewId=5)[0] == "NOT_FOUND"


def test_words_are_looked_for_in_names_types_and_numbers(house: Headless) -> None:
    def found(**params: Any) -> list[str]:
        return [one["name"] for one in told(house, "search_elements", **params)["elements"]]

    assert found(keyword="küche") == ["Küche"]
    assert found(keyword="küche", caseSensitive=True) == []
    assert found(keyword="double door") == ["Door Living - outside"]
    answer = told(house, "search_elements", keyword="wall", maxResults=2, categories=["OST_Walls"])
    assert answer["counts"]["returned"] == 2 < answer["counts"]["candidates"]
    assert refused(house, "search_elements", keyword="a", categories=["Wals"])[1].endswith(
        "did you mean 'OST_Walls'?"
    )


def test_a_query_demands_all_that_it_says(house: Headless) -> None:
    def query(filters: dict[str, Any], **options: Any) -> Any:
        return told(house, "query_elements", filters=filters, options=options)

    outer = query({"categories": ["Walls"], "parameters": [{"param": "IsExternal", "value": True}]})
    inner = query(
        {"classNames": ["IfcWall"], "parameters": [{"param": "IsExternal", "value": False}]}
    )
    assert (outer["totalCount"], inner["totalCount"]) == (8, 3)
    named = query({"name": {"mode": "startsWith", "value": "door living"}, "levelName": "ground"})
    assert {one["category"] for one in named["elements"]} == {"OST_Doors"}
    ordered = query(
        {"categories": ["Rooms"]}, orderBy="name", includeBoundingBox=True, maxResults=1
    )
    assert ordered["elements"][0]["name"] == "Bath"
    assert ordered["elements"][0]["bboxMm"]["min"]["z"] == 3000.0
    assert ordered["diagnostics"]["counts"]["candidates"] == 4
    told_too = query(
        {"categories": ["Rooms"]}, includeParameters=["Reference"], includeElementType=False
    )
    assert told_too["elements"][0]["parameters"] == {"Reference": "Living"}
    assert "typeName" not in told_too["elements"][0]


@pytest.mark.parametrize(
    ("filters", "says"),
    [
        ({"levelName": "grund"}, "did you mean 'ground'"),
        ({"classNames": ["IfcWal"]}, "no class 'IfcWal'"),
        ({"parameters": [{"param": "a", "op": "gt", "value": "x"}]}, "compares numbers"),
        ({"parameters": [{"param": "a", "op": "contains", "value": 1}]}, "wants a text"),
        ({"name": {"mode": "like", "value": "x"}}, "'filters.name.mode'"),
        (
            {"bbox": {"min": {"x": 1, "y": 0, "z": 0}, "max": {"x": 0, "y": 0, "z": 0}}},
            "'min' must not be greater",
        ),
    ],
)
def test_a_query_that_cannot_be_meant_is_refused(
    filters: dict[str, Any], says: str, house: Headless
) -> None:
    code, words = refused(house, "query_elements", filters=filters)

    assert code == "INVALID_PARAMS"
    assert says in words


def test_one_element_must_be_there_and_be_what_is_asked_for(house: Headless) -> None:
    wall = told(house, "get_walls")["walls"][0]
    room = told(house, "get_rooms")["rooms"][0]

    assert refused(house, "get_wall_baseline")[0] == "INVALID_PARAMS"
    assert refused(house, "get_wall_baseline", elementId=1)[0] == "NOT_FOUND"
    assert "is no wall" in refused(house, "get_wall_baseline", elementId=room["elementId"])[1]
    assert "is no room" in refused(house, "get_room_params", roomId=wall["elementId"])[1]
    both = {"elementId": wall["elementId"], "uniqueId": room["uniqueId"]}
    assert "different elements" in refused(house, "get_wall_parameters", **both)[1]
    by_name = told(house, "get_wall_parameters", uniqueId=wall["uniqueId"], count=0)
    assert (by_name["elementId"], by_name["parameters"]) == (wall["elementId"], [])
    found = told(house, "get_element_info", elementIds=[wall["elementId"], 1, 1])
    assert (found["count"], found["missing"]) == (1, [1, 1])


@pytest.mark.parametrize(
    ("guard", "code"),
    [
        ({"expectedContextToken": "x"}, "PRECONDITION_FAILED"),
        ({"__expectProjectGuid": "x"}, "EXPECT_PROJECT_GUID_MISMATCH"),
        ({"__expectProjectTitle": "tower"}, "EXPECT_PROJECT_TITLE_MISMATCH"),
        ({"docTitle": "tower"}, "NO_DOC"),
        ({"documentPath": "/tmp/other.ifc"}, "NO_DOC"),
    ],
)
def test_a_call_for_another_document_is_refused(
    guard: dict[str, str], code: str, house: Headless
) -> None:
    assert refused(house, "get_walls", **guard)[0] == code


def test_a_call_for_this_document_is_done(house: Headless) -> None:
    guards = {
        "expectedContextToken": house.token,
        "__expectProjectGuid": house.document.guid,
        "__expectProjectTitle": "house",
        "docGuid": house.document.guid,
        "documentPath": str(house.document.path),
    }

    assert told(house, "get_walls", **guards)["totalCount"] == 11


def test_what_clients_send_along_with_any_call_is_taken(house: Headless) -> None:
    extras = {"__smoke_ok": True, "dryRun": True, "failureHandling": {"enabled": False}}

    assert told(house, "get_rooms", **extras)["totalCount"] == 4
