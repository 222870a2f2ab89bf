"""The mcp task against MCP servers behind a URL: real ones, and some that misbehave."""

import asyncio
import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from noetl_mcp.tasks.calls import Failed, HandedBack, UnknownOutcome
from noetl_mcp.tasks.mcp import Mcp
from tests.tasks.calling import Around
from tests.tasks.mcp_calls import ask, do, http_server, run
from tests.wire.servers import Line, Seen, answer, certificate, serving

ADD: dict[str, Any] = {"tool": "add", "arguments": {"a": 1, "b": 2}}
TOKEN = {"": {"type": "bearer", "token": "hush-hush-hush"}}
TOOL = {"name": "t", "inputSchema": {"type": "object"}}
Says = Callable[[Seen, dict[str, Any]], bytes | None]


def result(asked: dict[str, Any], said: Any) -> bytes:
    return answer(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": said}).encode())


def events(*messages: dict[str, Any], ids: bool = False) -> bytes:
    told = [f"event: message\ndata: {json.dumps(one)}\n\n" for one in messages]
    told = [f"id: {n}\n{one}" for n, one in enumerate(told)] if ids else told
    return answer("".join(told).encode(), headers="Content-Type: text/event-stream", length=False)


def fine(asked: dict[str, Any]) -> bytes:
    return result(asked, {"content": [{"type": "text", "text": "fine"}]})


@dataclass
class Web:
    """A server of 2025 over raw HTTP, whose calls are answered by a function."""

    called: Says
    session: str | None = "s1"
    seen: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    other: Says | None = None
    left: int = 0

    async def __call__(self, line: Line) -> None:
        while True:
            request = await line.request()
            asked = json.loads(request.body) if request.body else {}
            self.seen.append(asked.get("method", request.method))
            self.headers.append(request.headers)
            said = self._said(request, asked)
            if said is None:
                line.reset()
                return
            await line.say(said)
            if b"event-stream" in said:
                return

    def _said(self, request: Seen, asked: dict[str, Any]) -> bytes | None:
        if self.other is not None and (said := self.other(request, asked)) is not None:
            return said
        method = asked.get("method")
        if method == "initialize":
            info = {"name": "web", "version": "1"}
            told = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info}
            body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": told}).encode()
            return answer(body, headers=f"Mcp-Session-Id: {self.session}" if self.session else "")
        if method == "tools/list":
            return result(asked, {"tools": [TOOL]})
        if method == "tools/call":
            return self.called(request, asked)
        if request.method == "GET":
            return answer(b"", status="405 Method Not Allowed")
        return answer(b"", status="202 Accepted" if "id" not in asked else "400 Bad Request")

    @property
    def calls(self) -> int:
        return self.seen.count("tools/call")


def with_web(web: Web, work: Callable[[Mcp, dict[str, Any]], Any], tls: Any = None) -> Any:
    async def whole(mcp: Mcp) -> Any:
        async with serving(web, tls) as server:
            try:
                return await work(mcp, {"url": server.url + "/mcp"})
            finally:
                await mcp.close()

    return run(whole)


def call_web(web: Web, said: dict[str, Any] | None = None, **more: Any) -> Any:
    async def work(mcp: Mcp, there: dict[str, Any]) -> Any:
        return await ask(mcp, {**there, "tool": "t", **(said or {})}, **{"timeout": 20, **more})

    return with_web(web, work)


@pytest.mark.parametrize("modes", [(), ("json",), ("stateless",), ("json", "stateless")])
@pytest.mark.parametrize("version", [None, "2025-11-25"])
def test_every_kind_of_server_answers(modes: tuple[str, ...], version: str | None) -> None:
    async def work(mcp: Mcp, url: str) -> list[Any]:
        here = {"url": url, "protocol_version": version}
        around = Around()
        return [
            (await ask(mcp, {**here, **ADD}, writes=True, around=around))["data"],
            (await ask(mcp, {**here, "resource": "doors://D7"}))["text"],
            (await ask(mcp, {**here, "prompt": "ask", "arguments": {"topic": "x"}}))["text"],
            around.asked,
        ]

    with http_server(*modes) as url:
        got = run(lambda mcp: work(mcp, url))

    assert got == [{"result": 3}, "door D7", "Tell me about x, plain.", 1]


def test_progress_comes_over_http_too() -> None:
    around = Around()

    with http_server() as url:
        do({"url": url, "tool": "slow", "arguments": {"seconds": 0.9}}, around=around)

    assert around.notes == [f"tool 'slow': {n} of 3, part {n}" for n in (1, 2, 3)]


def test_a_cancelled_call_is_cancelled_at_the_server(tmp_path: Path) -> None:
    async def work(mcp: Mcp, url: str) -> None:
        slow = {"url": url, "tool": "slow", "arguments": {"seconds": 30}}
        calling = asyncio.create_task(ask(mcp, slow))
        while not (tmp_path / "notes").exists():
            await asyncio.sleep(0.02)
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        for _ in range(500):
            if "slow is cancelled" in (tmp_path / "notes").read_text():
                return
            await asyncio.sleep(0.02)

    with http_server(notes=tmp_path) as url:
        run(lambda mcp: work(mcp, url))

    assert (tmp_path / "notes").read_text() == "slow begins\nslow is cancelled\n"


def test_a_session_is_opened_once_and_closed_in_the_end() -> None:
    web = Web(lambda request, asked: fine(asked))

    async def work(mcp: Mcp, there: dict[str, Any]) -> None:
        for _ in range(3):
            await ask(mcp, {**there, "tool": "t"}, writes=True)

    with_web(web, work)

    assert web.seen.count("initialize") == 1
    assert web.seen.count("tools/list") == 1
    assert web.seen[-1] == "DELETE"
    assert {one.get("mcp-session-id") for one in web.headers[3:]} == {"s1"}


def test_credentials_and_headers_are_sent_and_never_told() -> None:
    def refuses(request: Seen, asked: dict[str, Any]) -> bytes:
        said = f"no: {request.headers['authorization']}".encode()
        return answer(said, status="403 Forbidden", headers="Content-Type: text/plain")

    web = Web(refuses)

    with pytest.raises(Failed, match="403 Forbidden") as told:
        call_web(web, {"headers": {"X-Project": "P7"}}, auth=TOKEN, writes=True)

    assert {one["authorization"] for one in web.headers} == {"Bearer hush-hush-hush"}
    assert {one["x-project"] for one in web.headers} == {"P7"}
    assert "hush" not in f"{told.value.message} {told.value.details}"
    assert told.value.details == {"status_code": 403, "body": "no: Bearer ***"}


def test_a_key_in_the_query_and_a_login_in_the_url_are_sent() -> None:
    seen = list[str]()

    def fine_there(request: Seen, asked: dict[str, Any]) -> bytes:
        seen.append(request.target)
        return fine(asked)

    web = Web(fine_there)

    async def work(mcp: Mcp, there: dict[str, Any]) -> None:
        url = there["url"].replace("http://", "http://me:word@") + "?a=1"
        auth = {"": {"type": "api_key", "key": "k/1", "query": "key"}}
        await ask(mcp, {"url": url, "tool": "t"}, auth=auth)

    with_web(web, work)

    assert seen == ["/mcp?a=1&key=k%2F1"]
    assert web.headers[0]["authorization"].startswith("Basic ")


@pytest.mark.parametrize(
    ("headers", "auth", "words"),
    [
        ({"Authorization": "x"}, TOKEN, "'Authorization' is set by 'auth' already"),
        ({"Mcp-Session-Id": "x"}, {}, "'Mcp-Session-Id' is set by the protocol"),
        ({"X": "a\r\nY: b"}, {}, "holds what no header may hold"),
    ],
)
def test_a_header_that_cannot_be_sent_is_refused(
    headers: dict[str, str], auth: dict[str, Any], words: str
) -> None:
    web = Web(lambda request, asked: fine(asked))

    with pytest.raises(Failed, match=words):
        call_web(web, {"headers": headers}, auth=auth)

    assert web.seen == []


def test_calls_with_other_credentials_have_a_session_of_their_own() -> None:
    web = Web(lambda request, asked: fine(asked))

    async def work(mcp: Mcp, there: dict[str, Any]) -> None:
        for token in ("one", "two", "one"):
            auth = {"": {"type": "bearer", "token": token}}
            await ask(mcp, {**there, "tool": "t"}, auth=auth)

    with_web(web, work)

    assert web.seen.count("initialize") == 2


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ("401 Unauthorized", Failed),
        ("429 Too Many Requests", Failed),
        ("503 Service Unavailable", Failed),
        ("500 Internal Server Error", UnknownOutcome),
        ("502 Bad Gateway", UnknownOutcome),
    ],
)
def test_a_status_says_whether_a_write_was_done(status: str, kind: type[Exception]) -> None:
    said = answer(b"no", status=status, headers="Content-Type: text/plain\nRetry-After: 7")

    with pytest.raises(kind, match=rf"{status} from http://127\.0\.0\.1:.* for tool 't'") as told:
        call_web(Web(lambda request, asked: said), writes=True)
    with pytest.raises(Failed, match=status) as read:
        call_web(Web(lambda request, asked: said))

    assert read.value.retry_after == 7
    assert told.value.code == "http-status"  # type: ignore[attr-defined]


def test_an_error_object_in_a_broken_status_is_a_definite_refusal() -> None:
    def says(request: Seen, asked: dict[str, Any]) -> bytes:
        error = {"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32603, "message": "no"}}
        return answer(json.dumps(error).encode(), status="500 Internal Server Error")

    with pytest.raises(Failed, match=r"tool 't': no \(-32603\)"):
        call_web(Web(says), writes=True)


def test_nobody_there_is_a_failure_for_writes_too() -> None:
    with pytest.raises(Failed, match="no connection: Connection refused") as told:
        do({"url": "http://127.0.0.1:9/mcp", **ADD}, writes=True)

    assert (told.value.code, told.value.retriable) == ("connection", True)


@pytest.mark.parametrize(
    "url", ["http://[::1/mcp", "http://\u2100.example/mcp", "http://host:99999/mcp"]
)
def test_a_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(Failed) as told:
        do({"url": url, **ADD})

    assert (told.value.code, told.value.retriable) == ("bad-url", False)


def test_a_lost_answer_leaves_a_write_open_and_a_read_is_asked_again() -> None:
    async def work(mcp: Mcp, there: dict[str, Any]) -> None:
        with pytest.raises(UnknownOutcome) as told:
            await ask(mcp, {**there, "tool": "t"}, writes=True)
        assert told.value.code == "connection"

    lost = Web(lambda request, asked: None)
    with_web(lost, work)
    assert lost.calls == 1

    answers = iter([None, True])
    again = Web(lambda request, asked: fine(asked) if next(answers) else None)
    assert call_web(again)["text"] == "fine"


def test_a_lost_stream_is_taken_up_where_the_server_can() -> None:
    def called(request: Seen, asked: dict[str, Any]) -> bytes:
        told = {"jsonrpc": "2.0", "method": "notifications/message"}
        return events({**told, "params": {"level": "info", "data": asked["id"]}}, ids=True)

    def resumed(request: Seen, asked: dict[str, Any]) -> bytes | None:
        if request.method != "GET" or "last-event-id" not in request.headers:
            return None
        content = [{"type": "text", "text": "late"}]
        return events({"jsonrpc": "2.0", "id": 0, "result": {"content": content}})

    web = Web(called, other=resumed)

    assert call_web(web, writes=True)["text"] == "late"
    assert web.calls == 1


def test_a_stream_that_ends_without_an_answer_leaves_a_write_open() -> None:
    web = Web(lambda request, asked: events())

    with pytest.raises(UnknownOutcome, match="the answer was lost"):
        call_web(web, writes=True)


@pytest.mark.parametrize("as_events", [True, False])
def test_a_large_answer_is_not_read_to_its_end(as_events: bool) -> None:
    def called(request: Seen, asked: dict[str, Any]) -> bytes:
        content = [{"type": "text", "text": "x" * 200_000}]
        said = {"jsonrpc": "2.0", "id": asked["id"], "result": {"content": content}}
        return events(said) if as_events else answer(json.dumps(said).encode())

    with pytest.raises(UnknownOutcome, match="more than 100000 bytes") as told:
        call_web(Web(called), {"max_response_bytes": 100_000}, writes=True)

    assert told.value.code == "too-large"


@pytest.mark.parametrize(
    "said",
    [
        answer(b"{"),
        answer(b'{"hello": 1}'),
        answer(b"<html>", headers="Content-Type: text/html"),
        answer(b"x", headers="Content-Encoding: gzip"),
        events({"no": "message"}),
    ],
)
def test_what_is_no_answer_leaves_a_write_open_and_fails_a_read(said: bytes) -> None:
    with pytest.raises(UnknownOutcome) as told:
        call_web(Web(lambda request, asked: said), writes=True)
    with pytest.raises(Failed):
        call_web(Web(lambda request, asked: said))

    assert told.value.code == "bad-answer"


def test_who_is_no_mcp_server_is_told_of() -> None:
    def nothing(request: Seen, asked: dict[str, Any]) -> bytes:
        return answer(b"<html>", status="404 Not Found", headers="Content-Type: text/html")

    with pytest.raises(Failed, match=r"404 Not Found from .* when a session was opened"):
        call_web(Web(nothing, other=nothing), writes=True)


def test_a_server_that_never_answers_is_given_up() -> None:
    async def talk(line: Line) -> None:
        await line.request()
        await line.server.over.wait()

    async def work(mcp: Mcp) -> None:
        async with serving(talk) as server:
            said = {"url": server.url + "/mcp", "connect_timeout": 0.5, **ADD}
            with pytest.raises(Failed, match=r"did not open a session within 0\.5 s"):
                await ask(mcp, said, writes=True)

    run(work)


def test_a_forgotten_session_is_opened_anew_for_a_read() -> None:
    answers = iter([True, False, True])

    def called(request: Seen, asked: dict[str, Any]) -> bytes:
        return fine(asked) if next(answers) else answer(b"", status="404 Not Found")

    web = Web(called)

    async def work(mcp: Mcp, there: dict[str, Any]) -> list[str]:
        return [(await ask(mcp, {**there, "tool": "t"}))["text"] for _ in range(2)]

    assert with_web(web, work) == ["fine", "fine"]
    assert web.seen.count("initialize") == 2


def test_a_forgotten_session_fails_a_write_and_the_next_one_gets_a_new_one() -> None:
    answers = iter([False, True])

    def called(request: Seen, asked: dict[str, Any]) -> bytes:
        return fine(asked) if next(answers) else answer(b"", status="404 Not Found")

    web = Web(called)

    async def work(mcp: Mcp, there: dict[str, Any]) -> str:
        with pytest.raises(Failed, match="does not know its session") as told:
            await ask(mcp, {**there, "tool": "t"}, writes=True)
        assert told.value.retriable
        text: str = (await ask(mcp, {**there, "tool": "t"}, writes=True))["text"]
        return text

    assert with_web(web, work) == "fine"
    assert web.seen.count("initialize") == 2


@pytest.mark.parametrize("writes", [False, True])
def test_a_server_that_was_started_anew_is_found_again(writes: bool) -> None:
    async def work(mcp: Mcp, servers: ExitStack, url: str) -> str:
        port = int(url.split(":")[2].split("/")[0])
        said = {"url": url, "protocol_version": "2025-11-25", **ADD}
        await ask(mcp, said, writes=writes)
        servers.close()
        servers.enter_context(http_server("json", port=port))
        if writes:
            with pytest.raises(Failed, match="does not know its session"):
                await ask(mcp, said, writes=True)
        text: str = (await ask(mcp, said, writes=writes))["text"]
        return text

    with ExitStack() as servers:
        url = servers.enter_context(http_server("json"))
        assert run(lambda mcp: work(mcp, servers, url)) == "3"


def test_one_lost_call_does_not_break_the_others_of_its_session() -> None:
    slow = asyncio.Event()

    class Slow(Web):
        async def __call__(self, line: Line) -> None:
            while True:
                request = await line.request()
                asked = json.loads(request.body) if request.body else {}
                self.seen.append(asked.get("method", request.method))
                if asked.get("params", {}).get("arguments") == {"slow": True}:
                    await slow.wait()
                    await line.say(fine(asked))
                    continue
                said = self._said(request, asked)
                if said is None:
                    line.reset()
                    slow.set()
                    return
                await line.say(said)

    async def work(mcp: Mcp, there: dict[str, Any]) -> str:
        first = {**there, "tool": "t", "arguments": {"slow": True}}
        waiting = asyncio.create_task(ask(mcp, first, writes=True))
        while web.calls == 0:
            await asyncio.sleep(0.01)
        with pytest.raises(UnknownOutcome):
            await ask(mcp, {**there, "tool": "t"}, writes=True)
        text: str = (await waiting)["text"]
        return text

    web = Slow(lambda request, asked: None)

    assert with_web(web, work) == "fine"


def test_nothing_is_sent_when_the_lease_may_be_gone() -> None:
    web = Web(lambda request, asked: fine(asked))

    with pytest.raises(HandedBack):
        call_web(web, writes=True, around=Around(holds=False))

    assert web.calls == 0


def test_a_call_ends_in_time_and_lets_go_of_its_connection() -> None:
    async def talk(line: Line) -> None:
        while True:
            request = await line.request()
            asked = json.loads(request.body) if request.body else {}
            if asked.get("method") == "tools/call":
                await line.closed_by_client()
                web.left += 1
                return
            await line.say(web._said(request, asked) or b"")

    async def work(mcp: Mcp) -> None:
        async with serving(talk) as server:
            said = {"url": server.url + "/mcp", "tool": "t"}
            with pytest.raises(UnknownOutcome, match="no answer within 1 s"):
                await ask(mcp, said, writes=True, timeout=1.0)
            with pytest.raises(Failed, match="no answer within 1 s"):
                await ask(mcp, said, timeout=1.0)
            while web.left < 2:
                await asyncio.sleep(0.01)
            await mcp.close()

    web = Web(lambda request, asked: fine(asked))
    run(work)


def test_a_redirect_within_the_server_is_followed_and_one_to_another_is_not() -> None:
    def moved(where: str) -> Says:
        def says(request: Seen, asked: dict[str, Any]) -> bytes | None:
            if request.target == "/mcp":
                head = f"Location: {where}"
                return answer(b"", status="307 Temporary Redirect", headers=head)
            return None

        return says

    web = Web(lambda request, asked: fine(asked), other=moved("/mcp/"))
    around = Around()
    assert call_web(web, writes=True, around=around)["text"] == "fine"

    web = Web(lambda request, asked: fine(asked), other=moved("http://127.0.0.2:1/mcp/"))
    with pytest.raises(Failed):
        call_web(web, writes=True)


def test_certificates_are_checked_and_can_be_given(tmp_path: Path) -> None:
    ours = certificate(tmp_path)
    web = Web(lambda request, asked: fine(asked))

    async def work(mcp: Mcp, there: dict[str, Any]) -> Any:
        with pytest.raises(Failed, match="no TLS"):
            await ask(mcp, {**there, "tool": "t"}, writes=True)
        unchecked = {**there, "tool": "t", "verify_tls": False}
        assert (await ask(mcp, unchecked))["text"] == "fine"
        return await ask(mcp, {**there, "tool": "t", "ca_file": str(ours.cert)}, writes=True)

    assert with_web(web, work, ours.server())["text"] == "fine"


def test_the_same_server_may_be_reached_by_many_calls_at_once() -> None:
    async def work(mcp: Mcp, url: str) -> list[Any]:
        calls = [
            ask(mcp, {"url": url, "tool": "add", "arguments": {"a": n, "b": 1}}, writes=n % 2 == 0)
            for n in range(40)
        ]
        return await asyncio.gather(*calls)

    with http_server("json") as url:
        got = run(lambda mcp: work(mcp, url))

    assert [one["data"]["result"] for one in got] == [n + 1 for n in range(40)]
