"""Numbers are read from what servers really answer, and each names the place it was read at."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl_mcp.bim.counters import NAMES, changes, count, layers, refusal

HTTP: dict[str, Any] = {"status_code": 200, "headers": {}, "url": "http://x/", "elapsed": 0.1}


def numbers(answer: Any, method: str | None = None) -> dict[str, int]:
    return {name: counted.number for name, counted in count(answer, method).items()}


def test_a_plain_body_is_read_as_it_stands() -> None:
    assert count({"ok": True, "created": 8}, None) == {"created": (8, "$.created")}


def test_the_body_of_an_http_result_is_looked_into() -> None:
    answer: Any = {**HTTP, "data": {"ok": True, "created": 8}}

    assert count(answer, None) == {"created": (8, "$.data.created")}


def test_a_json_rpc_result_is_unwrapped_four_times_and_no_more() -> None:
    answer: Any = {"ok": True, "updatedCount": 3}
    for _ in range(4):
        answer = {"jsonrpc": "2.0", "id": "1", "result": answer}

    assert count(answer)["updated"] == (3, "$.result.result.result.result.updatedCount")
    assert count({"jsonrpc": "2.0", "id": 1, "result": answer}) == {}


def test_nothing_is_unwrapped_past_an_ok() -> None:
    assert count({"ok": True, "queued": True, "result": {"created": 8}}) == {}


def test_nothing_is_unwrapped_past_a_counter() -> None:
    answer: Any = {"updated": 1, "result": {"created": 8}}

    assert numbers(answer) == {"updated": 1}


@pytest.mark.parametrize("inner", ["data", "structuredContent"])
def test_a_payload_may_keep_its_numbers_one_level_deeper(inner: str) -> None:
    assert count({"ok": True, inner: {"deletedCount": 2}})["deleted"] == (
        2,
        f"$.{inner}.deletedCount",
    )


@pytest.mark.parametrize(
    ("answer", "method", "expected"),
    [
        ({"ok": True, "updatedCount": 7, "failedCount": 1}, "update_parameters_batch", 7),
        ({"ok": True, "updatedRebarIds": [1, 2], "skipped": []}, "rebar_layout_update", 2),
        ({"ok": True, "elementId": 4711, "resolvedBy": "name"}, "update_wall_parameter", 1),
        ({"ok": True, "elementId": 1, "oldTypeId": 2, "newTypeId": 3}, "change_wall_type", 1),
        ({"ok": True}, "element.set_room_param", 1),
        ({"ok": True, "movedCount": 4, "movedRebarElementIds": [1]}, "move_rebars", 4),
        ({"ok": True, "items": [{"ok": True}, {"ok": False}]}, "rename_types_bulk", 1),
        ({"ok": True, "applied": ["move", "rotate"]}, "apply_transform_delta", 1),
        ({"ok": True, "applied": []}, "apply_transform_delta", 0),
        ({"ok": True, "appliedCount": 0, "errors": []}, "rhino_commit_transform", 0),
        ({"ok": True, "count": 5}, "rhino_lock_objects", 5),
        ({"ok": True, "count": 5, "skipped": 1}, "set_visual_override", 5),
        ({"updated_count": 6}, None, 6),
        ({"counts": {"updated": 6}}, None, 6),
    ],
)
def test_what_was_updated_is_found_where_the_method_says_it(
    answer: Any, method: str | None, expected: int
) -> None:
    assert numbers(answer, method)["updated"] == expected


@pytest.mark.parametrize(
    ("answer", "method", "expected"),
    [
        ({"ok": True, "createdRebarIds": [1, 2, 3], "hosts": [{}]}, "rebar_apply_plan", 3),
        ({"created": 5, "createdRebarIds": [1, 2, 3]}, "create_rebar_linear", 5),
        ({"ok": True, "elementId": 7, "mode": "auto"}, "element.create_wall", 1),
        ({"ok": True, "levelId": 7, "elevation": 0}, "create_level", 1),
        ({"ok": True, "grids": [{}, {}]}, "create_grids", 2),
        ({"ok": True, "newTypeId": 9}, "duplicate_wall_type", 1),
        ({"ok": True, "imported": 2, "errors": []}, "import_by_ids", None),
        ({"ok": True, "imported": 2, "errors": []}, "rhino_import_by_ids", 2),
        ({"ok": True, "objectCount": 12}, "import_3dm", 12),
        ({"createdWallIds": [1, 2], "createdDoorIds": [3]}, None, 3),
        ({"createdIds": [1, 2], "createdElementIds": [1, 2]}, None, 2),
        ({"created": ["a", "b"]}, None, 2),
        ({"ok": True, "id": 9}, "createThing", None),
        ({"ok": True, "elementId": 9}, "createThing", 1),
        ({"rows": [], "row_count": 3, "columns": []}, "insert", 3),
        ({"rows": [], "row_count": 3, "columns": []}, "INSERT", 3),
    ],
)
def test_what_was_created_is_found_where_the_method_says_it(
    answer: Any, method: str | None, expected: int | None
) -> None:
    assert numbers(answer, method).get("created") == expected


@pytest.mark.parametrize(
    ("answer", "method", "expected"),
    [
        ({"ok": True, "deletedCount": 4, "deletedElementIds": [1, 2]}, "delete_walls", 4),
        ({"ok": True, "deletedElementIds": [1, 2]}, "delete_walls", 2),
        ({"ok": True}, "delete_wall", 1),
        ({"ok": True}, "delete_walls", None),
        ({"ok": True, "deletedTargetCount": 2, "targetCount": 3}, "delete_rebars", 2),
        ({"deleted": 0}, None, 0),
    ],
)
def test_what_was_deleted_is_found_where_the_method_says_it(
    answer: Any, method: str | None, expected: int | None
) -> None:
    assert numbers(answer, method).get("deleted") == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"counts": {"candidates": 9, "returned": 5}, "elements": [1] * 5}, 9),
        ({"candidates": 3, "hosts": [{}]}, 3),
        ({"totalCount": 40, "walls": [{}] * 10}, 40),
        ({"count": 4}, 4),
        ({"elementIds": [1, 2]}, 2),
        ({"items": [{"ok": False}, {"ok": True}]}, 2),
        ({"items": [{}], "nextIndex": 1, "completed": False}, None),
        ({"items": [{}], "nextIndex": None, "completed": True}, 1),
        ({"rows": [{}, {}], "row_count": 2, "columns": []}, 2),
        ([1, 2, 3], 3),
        ({**HTTP, "data": [1, 2]}, 2),
    ],
)
def test_candidates_are_counted_unless_only_a_page_of_them_is_there(
    answer: Any, expected: int | None
) -> None:
    assert numbers(answer).get("candidates") == expected


def test_targets_are_the_candidates_where_the_answer_tells_them_not_apart() -> None:
    assert numbers({"candidates": 3}) == {"candidates": 3, "targets": 3}
    assert numbers({"targetCount": 3}) == {"candidates": 3, "targets": 3}
    assert numbers({"candidates": 9, "targetIds": [1, 2]}) == {"candidates": 9, "targets": 2}


@pytest.mark.parametrize("value", [-1, True, "8", 2.5, None, float("nan"), float("inf"), {}])
def test_what_is_no_count_is_absent(value: Any) -> None:
    assert "created" not in count({"created": value})


def test_a_count_may_be_written_as_a_number_with_a_point() -> None:
    assert numbers({"created": 8.0}) == {"created": 8}


def test_an_element_without_an_ok_is_not_counted() -> None:
    assert count({"elementId": 4711}, "create_wall") == {}
    assert count({"ok": True, "elementId": 0}, "create_wall") == {}
    assert count({"ok": True, "elementId": 4711}, None) == {}
    assert count({"ok": True, "elementId": 4711}, "get_element_info") == {}


def test_a_batch_is_the_sum_of_its_operations() -> None:
    results: list[Any] = [
        {"opId": "a", "method": "create_wall", "ok": True, "result": {"ok": True, "elementId": 1}},
        {"opId": "b", "method": "create_wall", "ok": True, "result": {"ok": True, "elementId": 2}},
        {"opId": "c", "method": "delete_walls", "ok": True, "deletedCount": 5},
        {"opId": "d", "method": "delete_walls", "ok": False, "deletedCount": 9},
        {"opId": "e", "method": "get_walls", "ok": True, "totalCount": 3},
    ]
    answer: Any = {"ok": True, "data": {"okCount": 4, "failCount": 1, "results": results}}

    assert numbers(answer, "revit.batch") == {"created": 2, "deleted": 5}
    assert count(answer, "revit.batch")["created"].source == "sum of $.data.results"


def test_a_batch_that_hides_what_one_operation_changed_hides_the_sum() -> None:
    results: list[Any] = [{"method": "create_wall", "ok": True, "elementId": 1}, {"ok": True}]
    answer: Any = {"ok": True, "data": {"okCount": 2, "failCount": 0, "results": results}}

    assert count(answer, "revit.batch") == {}


def test_a_batch_that_was_rolled_back_changed_nothing_but_its_dry_run_counts() -> None:
    results: list[Any] = [
        {"method": "create_wall", "ok": True, "result": {"ok": True, "elementId": 1}}
    ]
    data: dict[str, Any] = {"okCount": 1, "failCount": 1, "results": results, "rolledBack": True}

    real = count({"ok": True, "data": data}, "batch")
    dry = count({"ok": True, "data": {**data, "dryRun": True}}, "batch")

    assert real["created"] == (0, "$.data.rolledBack")
    assert dry["created"].number == 1


@pytest.mark.parametrize(
    ("method", "counter"),
    [
        ("element.create_wall", "created"),
        ("update_wall_parameter", "updated"),
        ("revit.move_rebars", "updated"),
        ("rhino_commit_transform", "updated"),
        ("delete_walls", "deleted"),
        ("removeThing", "deleted"),
        ("get_walls", None),
        ("rebar_plan_auto", None),
        ("revit_batch", None),
        ("creates", None),
        (None, None),
    ],
)
def test_the_name_of_a_method_tells_which_counter_it_moves(
    method: str | None, counter: str | None
) -> None:
    assert changes(method) == counter


@pytest.mark.parametrize(
    ("answer", "words", "source"),
    [
        ({"ok": False}, "ok: false", "$.ok"),
        ({"ok": False, "code": "NO_DOC", "msg": "open one"}, "NO_DOC: open one", "$.ok"),
        ({"result": {"ok": False, "message": "no"}}, "no", "$.result.ok"),
        ({**HTTP, "data": {"ok": False, "error": "gone"}}, "gone", "$.data.ok"),
        ({"ok": False, "error": {"code": 7, "message": "x"}}, "7: x", "$.ok"),
        ({"ok": True, "data": {"ok": False}}, "ok: false", "$.data.ok"),
        (
            {**HTTP, "data": {"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "m"}}},
            "-1: m",
            "$.data.error",
        ),
        ({"isError": True, "content": []}, "isError: true", "$.isError"),
    ],
)
def test_a_failure_in_the_dress_of_a_success_is_seen(answer: Any, words: str, source: str) -> None:
    found = refusal(answer)

    assert found is not None
    assert words in found.words
    assert found.source == source


@pytest.mark.parametrize("answer", [{"ok": True}, {"ok": None}, {}, [], "no", None, {"error": {}}])
def test_a_success_is_not_taken_for_a_failure(answer: Any) -> None:
    assert refusal(answer) is None


KEYS = """
ok data result results okCount created createdIds items count counts targets status_code headers
elementId method
"""
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(KEYS.split()), inner, max_size=6)
    ),
    max_leaves=30,
)


@given(json_values, st.sampled_from([None, "create_wall", "revit.batch", "update_x", "get_walls"]))
def test_any_answer_gives_counts_from_zero_on_or_none_at_all(
    answer: Any, method: str | None
) -> None:
    counters = count(answer, method)
    refusal(answer)

    assert set(counters) <= set(NAMES)
    assert all(counted.number >= 0 and counted.source for counted in counters.values())
    assert len(layers(answer)) < 10
