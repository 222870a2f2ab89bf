"""The http task end to end: results, failures, and what nobody knows."""

import asyncio
import json
from pathlib import Path

import pytest

from noetl_mcp.tasks.calls import Failed, HandedBack, UnknownOutcome
from noetl_mcp.tasks.http import Http
from noetl_mcp.tasks.http_request import Allowed
from noetl_mcp.wire.client import Client
from tests.tasks.http_calls import Around, call, do
from tests.wire.servers import (
    Line,
    Server,
    answer,
    answering,
    certificate,
    free_port,
    hangs_up,
    resets,
    serving,
    silent,
)

OK = answering(answer(b'{"id": 7}', headers="X-Trace: abc"))


def test_a_result_has_the_body_and_how_it_came() -> None:
    result, server = do(OK, "/doors?x=1")

    elapsed = result.pop("elapsed")
    assert 0 < elapsed < 60
    assert result == {
        "status_code": 200,
        "headers": {"content-type": "application/json", "content-length": "9", "x-trace": "abc"},
        "url": server.url + "/doors?x=1",
        "data": {"id": 7},
    }


def test_a_result_is_plain_json() -> None:
    result, _ = do(answering(answer(b"\x89PNG\0", headers="Content-Type: image/png")))

    assert json.loads(json.dumps(result)) == result
    assert result["data"] == "iVBORwA="


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_write_carries_the_key_of_the_step_on_every_attempt(method: str) -> None:
    async def twice() -> Server:
        task = Http()
        async with serving(OK) as server:
            for attempt in (1, 2):
                await task.execute(call(server.url, method=method, _attempt=attempt))
            await task.close()
        return server

    server = asyncio.run(twice())

    assert [one.headers["idempotency-key"] for one in server.seen] == ["key-1", "key-1"]
    assert server.connections == 2


def test_a_read_carries_no_key_and_shares_its_connection() -> None:
    async def twice() -> Server:
        task = Http()
        async with serving(OK) as server:
            for _ in range(2):
                await task.execute(call(server.url))
            await task.close()
        return server

    server = asyncio.run(twice())

    assert "idempotency-key" not in server.seen[0].headers
    assert server.connections == 1


def test_a_post_that_only_reads_is_treated_as_a_read() -> None:
    around = Around()

    result, server = do(OK, method="POST", json={"q": 1}, _writes=False, _around=around)

    assert result["data"] == {"id": 7}
    assert "idempotency-key" not in server.seen[0].headers
    assert "connection" not in server.seen[0].headers
    assert around.asked == 0


def test_without_the_lease_nothing_is_sent() -> None:
    arrived = []

    async def listens(line: Line) -> None:
        arrived.append(await line.reader.read(100))

    with pytest.raises(HandedBack):
        do(listens, method="POST", _around=Around(lease_is_gone=True))

    assert arrived == [b""]


def test_the_lease_is_looked_at_once_before_a_write() -> None:
    around = Around()

    do(OK, method="POST", _around=around)

    assert around.asked == 1


@pytest.mark.parametrize("talk", [hangs_up, resets])
def test_a_write_that_was_taken_and_not_answered_is_unknown(talk: object) -> None:
    with pytest.raises(UnknownOutcome) as told:
        do(talk, "/made?token=s3cret", method="PUT", json={})  # type: ignore[arg-type]

    assert told.value.code == "connection"
    assert told.value.evidence["idempotency_key"] == "key-1"  # type: ignore[index,call-overload]
    assert "s3cret" not in str(told.value.evidence) + told.value.message


@pytest.mark.parametrize("talk", [hangs_up, resets])
def test_a_read_that_was_not_answered_failed_and_may_be_tried_again(talk: object) -> None:
    with pytest.raises(Failed) as told:
        do(talk)  # type: ignore[arg-type]

    assert (told.value.code, told.value.retriable) == ("connection", True)


def test_a_write_that_is_not_answered_in_time_is_unknown_and_a_read_failed() -> None:
    with pytest.raises(UnknownOutcome) as unknown:
        do(silent, method="POST", _timeout=0.1)
    with pytest.raises(Failed) as failed:
        do(silent, _timeout=0.1)

    assert unknown.value.code == "timeout"
    assert (failed.value.code, failed.value.retriable) == ("timeout", True)


@pytest.mark.parametrize(("method", "code"), [("POST", "not-sent"), ("GET", "connection")])
def test_where_nobody_listens_a_step_failed_for_certain(method: str, code: str) -> None:
    async def send() -> None:
        task = Http()
        try:
            await task.execute(call(f"http://127.0.0.1:{free_port()}", method=method))
        finally:
            await task.close()

    with pytest.raises(Failed) as told:
        asyncio.run(send())

    assert (told.value.code, told.value.retriable) == (code, True)


def test_a_certificate_that_is_not_trusted_is_no_reason_to_try_again(tmp_path: Path) -> None:
    async def send() -> None:
        task = Http()
        async with serving(OK, certificate(tmp_path).server()) as server:
            try:
                await task.execute(call(server.url, method="POST"))
            finally:
                await task.close()

    with pytest.raises(Failed, match="self-signed certificate") as told:
        asyncio.run(send())

    assert (told.value.code, told.value.retriable) == ("not-sent", False)


@pytest.mark.parametrize("status", ["404 Not Found", "409 Conflict", "429 Slow", "503 Busy"])
def test_a_refusal_is_a_failure_also_of_a_write(status: str) -> None:
    said = answer(b'{"detail": "no such door"}', status=status)

    with pytest.raises(Failed) as told:
        do(answering(said), method="POST")

    number = int(status[:3])
    assert told.value.code == "http-status"
    assert told.value.message.startswith(str(number))
    assert told.value.retriable == (number in (429, 503))
    details = told.value.details
    assert isinstance(details, dict)
    assert details["status_code"] == number
    assert details["body"] == {"detail": "no such door"}


@pytest.mark.parametrize("status", [500, 502, 504])
def test_a_broken_server_leaves_a_write_unknown_and_fails_a_read(status: int) -> None:
    said = answering(answer(b"oops", status=f"{status} X", headers="Content-Type: text/plain"))

    with pytest.raises(UnknownOutcome) as unknown:
        do(said, method="POST")
    with pytest.raises(Failed) as failed:
        do(said)

    assert unknown.value.code == "http-status"
    assert unknown.value.evidence["status_code"] == status  # type: ignore[index,call-overload]
    assert unknown.value.evidence["body"] == "oops"  # type: ignore[index,call-overload]
    assert failed.value.retriable


def test_a_refusal_counts_even_when_its_body_is_lost() -> None:
    async def half(line: Line) -> None:
        await line.request()
        await line.say(answer(b"no", status="403 No", headers="Content-Length: 9", length=False))

    with pytest.raises(Failed, match="403 Forbidden") as told:
        do(half, method="POST")

    assert not told.value.retriable


def test_a_write_whose_answer_cannot_be_held_is_unknown_and_a_read_failed() -> None:
    large = answering(answer(b"x" * 100))

    with pytest.raises(UnknownOutcome) as unknown:
        do(large, method="POST", max_response_bytes=99)
    with pytest.raises(Failed) as failed:
        do(large, max_response_bytes=99)

    assert unknown.value.code == "too-large"
    assert unknown.value.evidence["status_code"] == 200  # type: ignore[index,call-overload]
    assert (failed.value.code, failed.value.retriable) == ("too-large", False)


def test_an_answer_that_is_no_json_fails_a_read_and_leaves_a_write_unknown() -> None:
    said = answering(answer(b"<html>"))

    with pytest.raises(Failed, match="not JSON") as failed:
        do(said, response="json")
    with pytest.raises(UnknownOutcome, match="200 OK from POST") as unknown:
        do(said, method="POST", response="json")

    assert failed.value.code == unknown.value.code == "bad-json"


def test_a_server_that_asks_for_patience_gets_it() -> None:
    said = answer(b"", status="429 Slow", headers="Retry-After: 7")

    with pytest.raises(Failed) as patient:
        do(answering(said), method="POST")
    with pytest.raises(Failed, match="asks to wait 7 s") as impatient:
        do(answering(said), max_retry_after=5)

    assert (patient.value.retriable, patient.value.retry_after) == (True, 7.0)
    assert (impatient.value.retriable, impatient.value.retry_after) == (False, None)


def test_how_long_a_broken_server_asks_to_wait_stands_with_the_doubt() -> None:
    said = answer(b"", status="502 Bad Gateway", headers="Retry-After: 7")

    with pytest.raises(UnknownOutcome) as told:
        do(answering(said), method="POST", _idempotent=True)

    assert told.value.evidence["retry_after"] == 7.0  # type: ignore[index,call-overload]


def test_a_read_follows_redirects_unless_told_otherwise() -> None:
    async def moves(line: Line) -> None:
        while True:
            seen = await line.request()
            place = "/b?token=s3cret"
            said = answer(b"", status="302 Found", headers=f"Location: {place}")
            await line.say(answer() if seen.target == place else said)

    result, server = do(moves, "/a")
    with pytest.raises(Failed, match="302 Found") as told:
        do(moves, "/a", follow_redirects=False)

    assert result["url"] == server.url + "/b?token=***"
    assert told.value.details["location"] == "/b?token=***"  # type: ignore[index,call-overload]


@pytest.mark.parametrize(
    ("status", "outcome"), [(301, UnknownOutcome), (303, UnknownOutcome), (307, Failed)]
)
def test_a_redirected_write_stays_where_it_is(status: int, outcome: type[Exception]) -> None:
    said = answer(b"", status=f"{status} Moved", headers="Location: /elsewhere")

    with pytest.raises(outcome) as told:
        do(answering(said), method="POST", follow_redirects=True)

    assert told.value.args[0].startswith(f"{status} ")


def test_a_status_can_be_declared_a_success() -> None:
    said = answer(b"", status="303 See Other", headers="Location: /made/1")

    result, server = do(answering(said), method="POST", ok_statuses=[303])

    assert (result["status_code"], result["headers"]["location"]) == (303, "/made/1")
    assert len(server.seen) == 1


def test_a_credential_is_used_and_never_shown() -> None:
    said = answer(b'{"you sent": "Bearer s3cret-token"}', status="403 Forbidden")
    auth = {"": {"type": "bearer", "token": "s3cret-token"}}

    with pytest.raises(Failed) as told:
        do(answering(said), "/s3cret-token", _auth=auth)
    _, server = do(OK, _auth=auth)

    assert server.seen[0].headers["authorization"] == "Bearer s3cret-token"
    assert "s3cret" not in told.value.message + str(told.value.details)


def test_a_key_in_the_query_is_not_shown_in_the_result() -> None:
    auth = {"api": {"type": "api_key", "key": "s3cret/1", "query": "k"}}

    result, server = do(OK, "/?a=1", _auth=auth)

    assert server.targets == ["/?a=1&k=s3cret%2F1"]
    assert result["url"] == server.url + "/?a=1&k=***"


def test_only_allowed_servers_are_asked() -> None:
    async def send(allowed: Allowed) -> Server:
        task = Http(allowed=allowed)
        async with serving(OK) as server:
            try:
                await task.execute(call(server.url))
            finally:
                await task.close()
        return server

    with pytest.raises(Failed) as told:
        asyncio.run(send(Allowed(servers=("*.example",))))
    assert len(asyncio.run(send(Allowed(servers=("127.0.0.1",)))).seen) == 1

    assert (told.value.code, told.value.retriable) == ("not-allowed", False)


def test_a_client_of_others_is_left_open() -> None:
    async def send() -> None:
        client = Client()
        first = Http(client=client)
        async with serving(OK) as server:
            await first.execute(call(server.url))
            await first.close()
            await Http(client=client).execute(call(server.url))
            assert server.connections == 1
            await client.close()

    asyncio.run(send())


def test_many_calls_run_side_by_side() -> None:
    together = asyncio.Barrier(20)

    async def waits(line: Line) -> None:
        await line.request()
        await together.wait()
        await line.say(answer())

    async def send() -> int:
        task = Http()
        async with serving(waits) as server:
            calls = [call(server.url, method="POST") for _ in range(20)]
            results = await asyncio.gather(*map(task.execute, calls))
            await task.close()
        return len(results)

    assert asyncio.run(send()) == 20
