"""The jsonrpc task against real servers: at once, queued, refused, lost, taken over."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.calls import Call, Failed, HandedBack, UnknownOutcome
from noetl_mcp.tasks.http import Http
from noetl_mcp.tasks.jsonrpc import JsonRpc, below
from noetl_mcp.tasks.specs_web import JsonRpcSettings
from tests.tasks.calling import Around
from tests.wire.servers import Line, Seen, answer, serving

QUICK = {"every": 0.01, "at_most_every": 0.02}


@dataclass
class Rpc:
    """A server of methods and jobs; each answers with the bytes that a function gives."""

    says: Callable[[Seen, int], bytes | None]
    seen: list[Seen] = field(default_factory=list)

    async def __call__(self, line: Line) -> None:
        while True:
            request = await line.request()
            self.seen.append(request)
            said = self.says(request, len(self.seen))
            if said is None:
                line.reset()
                return
            await line.say(said)

    @property
    def asked(self) -> list[str]:
        return [f"{one.method} {one.target}" for one in self.seen]


def said(request: Seen, result: Json = None, **more: Json) -> bytes:
    id_ = json.loads(request.body)["id"]
    body = {"jsonrpc": "2.0", "id": id_, **(more or {"result": result})}
    return answer(json.dumps(body).encode())


def do(rpc: Rpc, *, path: str = "/rpc", **said: Any) -> tuple[Any, Around]:
    return asyncio.run(_do(rpc, path, said))


async def _do(rpc: Rpc, path: str, said: dict[str, Any]) -> tuple[Any, Around]:
    own = {key.strip("_"): said.pop(key) for key in list(said) if key[0] == "_"}
    around = own.pop("around", Around())
    http = Http()
    async with serving(rpc) as server:
        told = {"url": server.url + path, "method": "get_walls", "poll": QUICK, **said}
        settings = JsonRpcSettings.model_validate(told)
        call = Call("jsonrpc", settings, own.pop("input", None), around, **own)
        try:
            return await JsonRpc(http=http).execute(call), around
        finally:
            await http.close()


def test_a_call_gives_its_result() -> None:
    rpc = Rpc(lambda request, n: said(request, {"walls": [1, 2]}))

    result, _ = do(rpc, params={"level": "L1"}, headers={"X-One": "1"})

    assert result == {"walls": [1, 2]}
    body = json.loads(rpc.seen[0].body)
    assert (body["method"], body["params"]) == ("get_walls", {"level": "L1"})
    assert rpc.seen[0].headers["x-one"] == "1"


def test_the_input_is_the_parameters_when_none_are_given() -> None:
    rpc = Rpc(lambda request, n: said(request, 1))

    do(rpc, _input={"a": 1})
    do(rpc)

    assert [json.loads(one.body)["params"] for one in rpc.seen] == [{"a": 1}, {}]


def test_every_call_has_an_id_of_its_own() -> None:
    rpc = Rpc(lambda request, n: said(request, 1))

    do(rpc)
    do(rpc)

    assert len({json.loads(one.body)["id"] for one in rpc.seen}) == 2


def test_a_queued_call_is_noted_and_followed() -> None:
    def says(request: Seen, n: int) -> bytes:
        if request.method == "POST":
            return said(request, {"ok": True, "queued": True, "jobId": "j/1"})
        if n < 4:
            return answer(b'{"state": "RUNNING"}')
        if n == 4:
            return answer(b"", status="202 Accepted")
        done = {"jsonrpc": "2.0", "id": "x", "result": {"ok": True, "created": 2}}
        row = {"state": "SUCCEEDED", "result_json": json.dumps(done)}
        return answer(json.dumps(row).encode())

    rpc = Rpc(says)

    result, around = do(rpc, path="/t/5210/rpc", _writes=True)

    assert result == {"ok": True, "created": 2}
    assert {"job": "j/1"} in around.notes
    assert rpc.asked[0] == "POST /t/5210/rpc"
    assert set(rpc.asked[1:]) == {"GET /t/5210/job/j%2F1"}


def test_who_takes_it_over_goes_on_following_and_sends_nothing() -> None:
    rpc = Rpc(lambda request, n: answer(b'{"state": "SUCCEEDED", "result": {"ok": true}}'))

    result, around = do(rpc, _writes=True, _remembered={"job": "j1"})

    assert result == {"ok": True}
    assert rpc.asked == ["GET /job/j1"]
    assert around.asked == 0


def test_a_ticket_is_the_result_where_it_is_not_followed() -> None:
    rpc = Rpc(lambda request, n: said(request, {"queued": True, "jobId": "j1"}))

    result, around = do(rpc, poll=False)

    assert result == {"queued": True, "jobId": "j1"}
    assert around.notes == []


def test_a_server_that_is_busy_while_a_job_is_followed_is_asked_again() -> None:
    def says(request: Seen, n: int) -> bytes | None:
        if request.method == "POST":
            return said(request, {"queued": True, "jobId": "j1"})
        later = {2: None, 3: answer(b"", status="503 Busy", headers="Retry-After: 0")}
        return later.get(n, answer(b'{"state": "SUCCEEDED", "result": 1}'))

    result, _ = do(Rpc(says))

    assert result == 1


@pytest.mark.parametrize(
    ("row", "code", "kind"),
    [
        (b'{"state": "FAILED", "error_msg": "no host"}', "job-failed", Failed),
        (b'{"state": "DEAD", "error_code": "STALE"}', "job-lost", UnknownOutcome),
        (b'{"state": "TIMEOUT"}', "job-lost", UnknownOutcome),
        (
            b'{"state": "SUCCEEDED", "result_json": {"error": {"code": 1, "message": "no"}}}',
            "rpc-error",
            Failed,
        ),
    ],
)
def test_how_a_job_ends_is_told(row: bytes, code: str, kind: type[Exception]) -> None:
    def says(request: Seen, n: int) -> bytes:
        ticket: Json = {"queued": True, "jobId": "j1"}
        return said(request, ticket) if request.method == "POST" else answer(row)

    with pytest.raises(kind) as told:
        do(Rpc(says), _writes=True)

    assert told.value.code == code  # type: ignore[attr-defined]


@pytest.mark.parametrize(("writes", "kind"), [(True, UnknownOutcome), (False, Failed)])
def test_a_job_that_is_gone_leaves_a_write_open(writes: bool, kind: type[Exception]) -> None:
    def says(request: Seen, n: int) -> bytes:
        ticket: Json = {"queued": True, "jobId": "j1"}
        gone = answer(b'{"ok": false}', status="404 Not Found")
        return said(request, ticket) if request.method == "POST" else gone

    with pytest.raises(kind, match="job j1 of get_walls is not known"):
        do(Rpc(says), _writes=writes)


def test_a_job_is_followed_only_so_long() -> None:
    def says(request: Seen, n: int) -> bytes:
        ticket: Json = {"queued": True, "jobId": "j1"}
        return (
            said(request, ticket) if request.method == "POST" else answer(b'{"state": "RUNNING"}')
        )

    with pytest.raises(UnknownOutcome, match="not over after"):
        do(Rpc(says), poll={**QUICK, "lasts": 0.1}, _writes=True)


@pytest.mark.parametrize(
    ("code", "retriable"), [(-32601, False), (-32602, False), (-32603, True), (-32000, True)]
)
def test_an_error_object_is_a_failure_and_a_wrong_request_is_not_sent_again(
    code: int, retriable: bool
) -> None:
    rpc = Rpc(lambda request, n: said(request, error={"code": code, "message": "no"}))

    with pytest.raises(Failed, match=rf"get_walls: no \({code}\)") as told:
        do(rpc, _writes=True)

    assert (told.value.code, told.value.retriable) == ("rpc-error", retriable)


def test_an_error_object_in_a_broken_status_is_a_definite_refusal() -> None:
    def says(request: Seen, n: int) -> bytes:
        id_ = json.loads(request.body)["id"]
        body = {"jsonrpc": "2.0", "id": id_, "error": {"code": -32603, "message": "no"}}
        return answer(json.dumps(body).encode(), status="500 Internal Server Error")

    with pytest.raises(Failed, match="get_walls: no"):
        do(Rpc(says), _writes=True)


@pytest.mark.parametrize(
    "body", [b"{", b"[]", b'{"jsonrpc": "2.0", "id": "other", "result": 1}', b'{"id": null}']
)
def test_what_is_no_answer_leaves_a_write_open_and_fails_a_read(body: bytes) -> None:
    with pytest.raises(UnknownOutcome):
        do(Rpc(lambda request, n: answer(body)), _writes=True)
    with pytest.raises(Failed):
        do(Rpc(lambda request, n: answer(body)))


def test_a_lost_answer_leaves_a_write_open() -> None:
    with pytest.raises(UnknownOutcome):
        do(Rpc(lambda request, n: None), _writes=True)


def test_nothing_is_sent_when_the_lease_may_be_gone() -> None:
    rpc = Rpc(lambda request, n: said(request, 1))

    with pytest.raises(HandedBack):
        do(rpc, _writes=True, _around=Around(holds=False))

    assert rpc.seen == []


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://h:1/rpc", "http://h:1/job/7"),
        ("http://h:1/t/5210/rpc?x=1", "http://h:1/t/5210/job/7"),
        ("http://h:1", "http://h:1/job/7"),
        ("http://h:1/", "http://h:1/job/7"),
    ],
)
def test_jobs_are_asked_for_beside_where_calls_are_posted(url: str, expected: str) -> None:
    assert below(url, "/job/7") == expected
