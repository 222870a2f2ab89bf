"""What JSON-RPC servers say, in all the forms that real ones use."""

from typing import Any

import pytest

from noetl_mcp.wire.jsonrpc import NotRpc, RpcError, fresh_id, read, request, row, ticket, unwrapped


def answer(**more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": "a", **more}


def test_a_request_has_an_id_of_its_own_and_always_parameters() -> None:
    assert len({fresh_id() for _ in range(1_000)}) == 1_000
    assert request("a", "get_walls", None)["params"] == {}
    assert request("a", "sum", [1, 2])["params"] == [1, 2]


@pytest.mark.parametrize("id_", ["a", None])
def test_a_result_is_read(id_: str | None) -> None:
    assert read(answer(result=[1], id=id_), "a") == [1]


def test_an_id_may_come_back_as_a_text() -> None:
    assert read({"jsonrpc": "2.0", "id": 7, "result": 1}, "7") == 1


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ([], "no JSON object"),
        (answer(), "neither 'result' nor 'error'"),
        (answer(result=1, id="b"), "belongs to another request, 'b'"),
        (None, "no JSON object"),
    ],
)
def test_what_is_no_answer_is_told(said: Any, why: str) -> None:
    with pytest.raises(NotRpc, match=why):
        read(said, "a")


@pytest.mark.parametrize(
    ("error", "code", "words", "may_be_cured"),
    [
        ({"code": -32601, "message": "no such method"}, -32601, "no such method", False),
        ({"code": -32000, "message": "busy", "data": {"n": 1}}, -32000, "busy", True),
        ({"code": "E_BUSY", "msg": "busy"}, "E_BUSY", "busy", True),
        ("broken", None, "broken", True),
        ({}, None, "", True),
    ],
)
def test_errors_are_read_in_whatever_form(
    error: Any, code: Any, words: str, may_be_cured: bool
) -> None:
    if error == {}:  # an empty one is none
        assert read(answer(result=1, error=error), "a") == 1
        return

    found = read(answer(error=error), "a")

    assert isinstance(found, RpcError)
    assert (found.code, found.message, found.may_be_cured) == (code, words, may_be_cured)


def test_envelopes_are_taken_off_but_never_past_an_object_that_has_ok() -> None:
    payload = {"ok": True, "result": {"n": 1}}
    twice = answer(result=answer(method="get_walls", result=payload))

    assert unwrapped(twice) == payload
    assert unwrapped(answer(result={"walls": []})) == {"walls": []}
    assert unwrapped({"result": 5}) == {"result": 5}
    assert unwrapped([1]) == [1]


@pytest.mark.parametrize(
    ("said", "job"),
    [
        ({"ok": True, "queued": True, "jobId": "j-1"}, "j-1"),
        ({"queued": True, "job_id": 12}, "12"),
        ({"queued": False, "jobId": "j-1"}, None),
        ({"ok": True, "jobId": "j-1"}, None),
        ({"queued": True, "jobId": ""}, None),
        ({"queued": True, "jobId": "a\nb"}, None),
        ([], None),
    ],
)
def test_a_ticket_is_known_by_its_words(said: Any, job: str | None) -> None:
    assert ticket(said) == job


def test_a_row_tells_how_a_queued_call_stands() -> None:
    done = '{"jsonrpc":"2.0","id":"a","result":{"jsonrpc":"2.0","result":{"ok":true,"n":3}}}'

    assert row({"state": "RUNNING"}).progress == "waits"
    assert row({"state": "SUCCEEDED", "result_json": done}).value == {"ok": True, "n": 3}
    assert row({"status": "completed", "result": {"ok": True}}).value == {"ok": True}
    assert row({"state": "FAILED", "error_code": "E1", "error_msg": "no"}).why == "E1: no"
    assert row({"state": "DEAD", "error_code": "STALE", "error_msg": {}}).why == "STALE"
    assert row({"state": "DEAD"}).progress == "unknown"
    assert row({"ok": False, "msg": "no"}).value == {"ok": False, "msg": "no"}
    assert row(None).progress == "waits"
    assert row({"state": "SOMETHING_NEW"}).progress == "waits"


def test_an_error_inside_a_row_is_an_error() -> None:
    found = row({"state": "SUCCEEDED", "result_json": {"error": {"code": 1, "message": "no"}}})

    assert found.value == RpcError(1, "no")
