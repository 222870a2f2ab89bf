"""The wire of a headless Revit server, as clients see it: real sockets, a small model."""

import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from noetl_mcp.web.headless.app import MOST_BODY
from noetl_mcp.web.headless.jobs import Bounds
from noetl_mcp.web.headless.model_thread import MOST_RESULT
from tests.cli.test_run import until
from tests.web.headless import Headless, serving


@pytest.fixture
def server() -> Iterator[Headless]:
    with serving() as made:
        yield made


@pytest.mark.parametrize("id_", [0, "a", None, 1.5, 2**53 + 1])
def test_a_call_is_answered_with_its_result_and_the_id_it_had(server: Headless, id_: Any) -> None:
    answer = server.rpc("echo", id_, level="L1")

    result = {"ok": True, "code": "OK", "params": {"level": "L1"}}
    assert answer == {"jsonrpc": "2.0", "id": id_, "result": result}
    assert type(answer["id"]) is type(id_)


def test_the_method_may_stand_in_the_address(server: Headless) -> None:
    bare = server.client.post("/rpc/element.get_walls")
    told = server.client.post("/rpc/echo", json={"id": 7, "params": {"a": [1]}})

    assert bare.json()["id"] is None
    assert bare.json()["result"]["msg"] == "no 'element.get_walls'"
    assert told.json()["id"] == 7
    assert server.model.asked[1] == ("echo", {"a": [1]})


def test_a_command_that_failed_is_an_answer_with_ok_false(server: Headless) -> None:
    assert server.rpc("nothing")["result"]["code"] == "UNKNOWN_COMMAND"

    row = server.over(server.enqueue("nothing"))

    assert (row["state"], row["error_code"]) == ("SUCCEEDED", None)
    assert json.loads(row["result_json"])["result"]["code"] == "UNKNOWN_COMMAND"


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("/rpc", b"{", "INVALID_JSON"),
        ("/rpc", b"", "INVALID_JSON"),
        ("/rpc", b'{"method":"echo","params":{"a":NaN}}', "INVALID_JSON"),
        ("/rpc", b"[" * 1_000_000, "INVALID_JSON"),
        ("/rpc", b'{"method":"echo","params":' + b'{"a":' * 999 + b"1" + b"}" * 1_000, ""),
        ("/rpc", b"{}", "INVALID_JSONRPC"),
        ("/rpc", b'[{"method":"echo"}]', "INVALID_JSONRPC"),
        ("/rpc", b'{"method":"echo","params":[]}', "INVALID_JSONRPC"),
        ("/rpc/echo", b'{"method":"hold"}', "INVALID_JSONRPC"),
        ("/enqueue", b"nothing", "INVALID_JSON"),
        ("/enqueue", b"{}", "E_NO_METHOD"),
        ("/enqueue", b'{"method":"echo","priority":"high"}', "INVALID_JSONRPC"),
    ],
)
def test_what_is_no_call_is_refused_and_reaches_no_model(
    server: Headless, path: str, body: bytes, code: str
) -> None:
    answer = server.client.post(path, content=body)

    assert answer.status_code == 400
    assert answer.json()["ok"] is False
    assert answer.json()["code"] == (code or "INVALID_JSON")
    assert answer.json()["msg"]
    assert server.model.asked == []


@pytest.mark.parametrize("path", ["/rpc", "/enqueue"])
def test_a_body_that_is_too_large_is_refused(server: Headless, path: str) -> None:
    text = "x" * MOST_BODY
    said = server.client.post(path, json={"method": "echo", "params": {"a": text}})
    parts = server.client.post(path, content=iter([b'{"a":"', text.encode(), b'"}']))
    most = server.client.post("/rpc", json={"method": "long", "params": {"bytes": MOST_BODY}})

    assert {one.status_code for one in (said, parts)} == {413}
    assert (said.json()["ok"], said.json()["code"]) == (False, "TOO_LARGE")
    assert len(most.json()["result"]["text"]) == MOST_BODY


def test_a_route_or_a_method_that_is_not_there_is_told(server: Headless) -> None:
    nowhere, wrong = server.client.get("/docs"), server.client.get("/rpc")

    assert (nowhere.status_code, nowhere.json()["code"]) == (404, "E_NO_ROUTE")
    assert (wrong.status_code, wrong.json()["code"]) == (405, "E_WRONG_METHOD")
    assert wrong.headers["allow"] == "POST"


def test_two_clients_with_the_same_id_get_their_own_answers(server: Headless) -> None:
    def ask(number: int) -> Any:
        with httpx.Client(base_url=server.url, timeout=20) as client:
            body = {"jsonrpc": "2.0", "id": 1, "method": "echo", "params": {"n": number}}
            return client.post("/rpc", json=body).json()["result"]["params"]["n"]

    with ThreadPoolExecutor(8) as clients:
        found = list(clients.map(ask, range(64)))

    assert found == list(range(64))
    assert len(server.model.threads) == 1


def test_a_ticket_leads_to_the_result(server: Headless) -> None:
    more = {"jsonrpc": "2.0", "id": "a", "priority": 7, "timeoutSec": 30, "idempotencyKey": "k"}
    answer = server.client.post("/enqueue", json={"method": "echo", "params": {"n": 1}, **more})

    ticket = answer.json()
    row = server.over(ticket["jobId"])

    assert ticket["ok"] is True
    assert str(ticket["serverPort"]) == server.url.rpartition(":")[2]
    assert ticket["serverPid"] > 0
    times = [row.pop(name) for name in ("enqueue_ts", "start_ts", "finish_ts")]
    assert all(len(time) == len("2026-01-02 03:04:05") for time in times)
    result = {"ok": True, "code": "OK", "params": {"n": 1}}
    assert json.loads(row.pop("result_json")) == {"jsonrpc": "2.0", "id": "a", "result": result}
    assert row == {
        "job_id": ticket["jobId"],
        "method": "echo",
        "params_json": '{"n":1}',
        "rpc_id": "a",
        "idempotency_key": "k",
        "priority": 7,
        "state": "SUCCEEDED",
        "timeout_sec": 30,
        "attempts": 1,
        "error_code": None,
        "error_msg": None,
    }


def test_a_slow_job_is_304_until_it_changes(server: Headless) -> None:
    job = server.held()
    first = server.client.get(f"/job/{job}")
    known = {"If-None-Match": f'"other", W/{first.headers["etag"]}'}

    same = [server.client.get(f"/job/{job}", headers=known) for _ in range(3)]
    server.model.gate.set()
    row = server.over(job)
    changed = server.client.get(f"/job/{job}", headers=known)

    assert (first.json()["state"], first.json()["result_json"]) == ("RUNNING", None)
    assert [(one.status_code, one.content) for one in same] == [(304, b"")] * 3
    assert {one.headers["retry-after"] for one in (first, *same)} == {"1"}
    assert (changed.status_code, changed.json()) == (200, row)
    assert "retry-after" not in changed.headers
    assert changed.headers["etag"] != first.headers["etag"]


def test_a_job_that_nobody_knows_is_told(server: Headless) -> None:
    answer = server.client.get("/job/1234")

    assert (answer.status_code, answer.json()["code"]) == (404, "E_NOT_FOUND")


def test_a_result_is_nothing_while_there_is_none(server: Headless) -> None:
    job = server.held()
    without = [
        server.client.get("/get_result", params=params)
        for params in ({"jobId": job}, {"jobId": "1234"}, {})
    ]

    server.model.gate.set()
    server.over(job)
    found = server.client.get("/get_result", params={"jobId": job})

    assert [(one.status_code, one.content) for one in without] == [(204, b"")] * 3
    assert found.json()["result"]["ok"] is True


def test_the_lowest_priority_is_done_first(server: Headless) -> None:
    server.held()
    for number, priority in enumerate((100, 5, 100, -5)):
        last = server.enqueue("echo", {"priority": priority}, n=number)
    server.model.gate.set()
    for job in [last, *(one["job_id"] for one in server.client.get("/jobs").json()["jobs"])]:
        server.over(job)

    assert [params.get("n") for _, params in server.model.asked] == [None, 3, 1, 0, 2]


def test_jobs_are_listed_without_what_may_be_long(server: Headless) -> None:
    server.held()
    waiting = server.enqueue("echo", text="x" * 1_000)

    every = server.client.get("/jobs").json()
    one = server.client.get("/jobs", params={"state": "enqueued", "limit": 1}).json()
    wrong = [server.client.get("/jobs", params=p) for p in ({"state": "GONE"}, {"limit": "0"})]

    assert [job["method"] for job in every["jobs"]] == ["echo", "hold"]
    assert [job["job_id"] for job in one["jobs"]] == [waiting]
    assert "params_json" not in one["jobs"][0]
    assert [(it.status_code, it.json()["code"]) for it in wrong] == [
        (400, "E_BAD_STATE"),
        (400, "E_BAD_LIMIT"),
    ]


def test_a_key_gives_the_same_job_and_another_call_under_it_is_refused(server: Headless) -> None:
    key = {"idempotencyKey": "k"}
    first = server.enqueue("echo", key, n=1)
    server.over(first)

    again = server.enqueue("echo", key, n=1)
    other = server.client.post("/enqueue", json={"method": "echo", "params": {"n": 2}, **key})

    assert again == first
    assert server.model.asked == [("echo", {"n": 1})]
    assert (other.status_code, other.json()["code"]) == (422, "E_IDEMPOTENCY_KEY_TAKEN")


@pytest.mark.parametrize("name", ["revit.status", "status", "revit_status"])
def test_the_status_is_told_while_the_model_is_at_work(server: Headless, name: str) -> None:
    held = server.held()
    server.enqueue("echo")

    found = server.rpc(name, "s")
    queued = server.client.post("/enqueue", json={"method": name}).json()

    status = found["result"]
    assert (found["id"], status["ok"], status["document"]) == ("s", True, "A house")
    assert (status["activeJob"]["job_id"], status["activeJob"]["method"]) == (held, "hold")
    assert status["queue"]["queuedCount"] == status["queue"]["runningCount"] == 1
    counts = {"ENQUEUED": 1, "RUNNING": 1, "SUCCEEDED": 0, "FAILED": 0}
    assert status["queue"]["countsByState"] == queued["queue"]["countsByState"] == counts
    assert {"serverPid", "serverPort", "nowUtc", "startedAtUtc", "uptimeSec"} <= set(status)
    assert "jobId" not in queued
    assert server.model.methods == ["hold"]


@pytest.mark.parametrize("path", ["/", "/health"])
def test_who_answers_here_is_told(server: Headless, path: str) -> None:
    found = server.client.get(path).json()

    assert (found["ok"], found["name"]) == (True, "noetl-mcp headless Revit")
    assert found["document"] == "A house"


@pytest.mark.parametrize(("method", "says"), [("break", "no more walls"), ("odd", "set")])
def test_a_model_that_breaks_is_told_and_goes_on(server: Headless, method: str, says: str) -> None:
    told = server.rpc(method)["result"]
    row = server.over(server.enqueue(method))

    assert (told["ok"], told["code"]) == (False, "UNHANDLED_EXCEPTION")
    assert says in told["msg"]
    assert (row["state"], row["error_code"]) == ("FAILED", "UNHANDLED_EXCEPTION")
    assert says in row["error_msg"]
    assert json.loads(row["result_json"])["result"] == told
    assert server.rpc("echo")["result"]["ok"] is True


def test_a_large_result_comes_whole_by_either_way(server: Headless) -> None:
    asked = server.rpc("long", bytes=1_000_000)["result"]
    row = server.over(server.enqueue("long", bytes=1_000_000))

    assert len(asked["text"]) == 1_000_000
    assert json.loads(row["result_json"])["result"] == asked


def test_a_result_that_is_too_large_is_told_and_not_sent(server: Headless) -> None:
    told = server.rpc("long", bytes=MOST_RESULT)["result"]

    assert (told["ok"], told["code"]) == (False, "RESULT_TOO_LARGE")
    assert "ask for less" in told["msg"]


def test_one_call_too_many_is_told_when_to_come_again() -> None:
    with serving(Bounds(waiting=2)) as server:
        server.held()
        server.enqueue("echo")
        server.enqueue("echo")

        late = [server.client.post(path, json={"method": "echo"}) for path in ("/rpc", "/enqueue")]
        status = server.rpc("status")["result"]

    assert [(one.status_code, one.json()["code"]) for one in late] == [(503, "E_BUSY")] * 2
    assert {one.headers["retry-after"] for one in late} == {"1"}
    assert status["queue"]["queuedCount"] == 2


def hung_up(server: Headless, method: str) -> socket.socket:
    """Send a call whose answer nobody takes."""
    body = json.dumps({"method": method}).encode()
    line = socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=10)
    head = f"POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    line.sendall(head.encode() + body)
    return line


def waiting(server: Headless) -> int:
    return int(server.rpc("status")["result"]["queue"]["queuedCount"])


def test_who_hangs_up_takes_his_call_along_if_it_has_not_begun(server: Headless) -> None:
    server.held()
    lines = [hung_up(server, "nothing") for _ in range(5)]
    until(lambda: waiting(server) == 5)

    for line in lines:
        line.close()
    until(lambda: waiting(server) == 0)
    server.model.gate.set()

    assert server.rpc("echo")["result"]["ok"] is True
    assert server.model.methods == ["hold", "echo"]


def test_who_hangs_up_while_his_call_runs_leaves_the_thread_to_others(server: Headless) -> None:
    with hung_up(server, "hold"):
        assert server.model.begun.wait(10)
    server.model.gate.set()

    assert server.rpc("echo")["result"]["ok"] is True
    assert server.client.get("/jobs").json()["jobs"] == []


def test_a_host_or_an_origin_that_is_not_ours_is_refused(server: Headless) -> None:
    body = {"method": "echo"}
    for path in ("/rpc", "/enqueue", "/rpc/echo"):
        host = server.client.post(path, json=body, headers={"Host": "evil.example"})
        origin = server.client.post(path, json=body, headers={"Origin": "http://evil.example"})
        assert (host.status_code, origin.status_code) == (421, 403)
        for answer, code in ((host, "WRONG_HOST"), (origin, "WRONG_ORIGIN")):
            told = answer.json()
            assert (told["ok"], told["code"]) == (False, code)
            assert told["msg"]
    for path in ("/", "/health", "/jobs", "/job/1", "/get_result"):
        assert server.client.get(path, headers={"Host": "evil.example"}).status_code == 421

    own = server.client.post("/rpc", json=body, headers={"Origin": server.url})

    assert own.status_code == 200
    assert server.model.methods == ["echo"]


def test_who_waits_when_the_server_leaves_is_told_and_what_runs_is_answered() -> None:
    with serving() as server, ThreadPoolExecutor(2) as clients:
        asked = [
            clients.submit(httpx.post, f"{server.url}/rpc", json={"method": method}, timeout=20)
            for method in ("hold", "echo")
            if method == "hold" or server.model.begun.wait(10)
        ]
        server.enqueue("nothing")
        until(lambda: server.jobs.counts()["ENQUEUED"] == 2)
        threading.Timer(0.3, server.model.gate.set).start()

        server.stop()
        runs, waits = (one.result(20) for one in asked)

    assert (runs.status_code, runs.json()["result"]["ok"]) == (200, True)
    assert (waits.status_code, waits.json()["code"]) == (503, "E_LEAVING")
    assert server.model.methods == ["hold"]


def test_a_call_that_outlasts_the_leaving_is_told_so() -> None:
    with serving() as server, ThreadPoolExecutor(1) as clients:
        asked = clients.submit(httpx.post, f"{server.url}/rpc", json={"method": "hold"}, timeout=20)
        assert server.model.begun.wait(10)

        server.stop()
        answer = asked.result(20)

    assert (answer.status_code, answer.json()["code"]) == (503, "E_LEAVING")
