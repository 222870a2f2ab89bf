"""The wire: a request goes out once, and what became of it is told truly."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from noetl_mcp.wire.client import Client
from noetl_mcp.wire.exchange import Answer, Lost, NotSent, Part, Refused, Request, TimedOut
from tests.wire.servers import (
    Line,
    Server,
    Talk,
    answer,
    answering,
    free_port,
    hangs_up,
    resets,
    serving,
    silent,
)

OK = answering(answer())
Got = TypeVar("Got")


@asynccontextmanager
async def client() -> AsyncIterator[Client]:
    made = Client()
    try:
        yield made
    finally:
        await made.close()


def run(talk: Talk, test: Callable[[Client, Server], Awaitable[Got]]) -> tuple[Got, Server]:
    """Run a test against a server; return what it returned, and what the server saw."""

    async def both() -> tuple[Got, Server]:
        async with serving(talk) as server, client() as made:
            return await test(made, server), server

    return asyncio.run(both())


def ask(
    talk: Talk, method: str = "GET", path: str = "/", *, write: bool = False, **more: object
) -> tuple[Answer, Server]:
    """Send one request."""

    def send(made: Client, server: Server) -> Awaitable[Answer]:
        request = Request(method, server.url + path, **more)  # type: ignore[arg-type]
        return made.send(request, write=write)

    return run(talk, send)


def test_an_answer_has_its_status_its_headers_and_its_body() -> None:
    said = answer(b"[1]", status="201 Created", headers="X-One: a\nX-One: b\nLocation: /there")

    got, server = ask(answering(said), "POST", "/things?a=1", content=b"{}", write=True)

    assert (got.status, got.body) == (201, b"[1]")
    assert got.headers["x-one"] == "a, b"
    assert got.headers["location"] == "/there"
    assert got.url == server.url + "/things?a=1"
    assert got.elapsed > 0


def test_a_status_is_never_an_error_here() -> None:
    got, _ = ask(answering(answer(b"gone", status="410 Gone")))

    assert (got.status, got.body) == (410, b"gone")


def test_reads_share_a_connection_and_each_write_has_its_own() -> None:
    async def five(made: Client, server: Server) -> int:
        for _ in range(3):
            await made.send(Request("GET", server.url), write=False)
        shared = server.connections
        for _ in range(2):
            await made.send(Request("POST", server.url), write=True)
        return shared

    shared, server = run(OK, five)

    assert shared == 1
    assert server.connections == 3
    assert [one.headers.get("connection") for one in server.seen] == [None] * 3 + ["close"] * 2


def test_a_cookie_is_not_kept() -> None:
    async def two(made: Client, server: Server) -> None:
        for _ in range(2):
            await made.send(Request("GET", server.url), write=False)

    _, server = run(answering(answer(headers="Set-Cookie: a=b; Path=/")), two)

    assert ["cookie" in one.headers for one in server.seen] == [False, False]


def test_a_url_arrives_as_it_was_written() -> None:
    path = "/a%2Fb/%7Eme?sig=a%2Fb%3D&x[]=1&plus=a+b&t=%C3%BC"

    _, server = ask(OK, path=path + "#part")

    assert server.targets == [path]


def test_what_every_request_has_can_be_said_otherwise() -> None:
    _, plain = ask(OK)
    _, told = ask(OK, headers=(("accept", "text/csv"), ("USER-AGENT", "me"), ("X-A", "ü")))

    assert plain.seen[0].headers["accept"] == "*/*"
    assert plain.seen[0].headers["user-agent"].startswith("noetl-mcp/")
    assert told.seen[0].headers["accept"] == "text/csv"
    assert told.seen[0].headers["user-agent"] == "me"
    assert told.seen[0].headers["x-a"].encode("latin-1").decode() == "ü"


def test_we_are_asked_for_the_last_time_when_the_connection_stands() -> None:
    moments = []

    async def send(made: Client, server: Server) -> None:
        def may_send() -> None:
            moments.append(len(server.seen))

        await made.send(Request("POST", server.url), write=True, may_send=may_send)

    _, server = run(OK, send)

    assert moments == [0]
    assert len(server.seen) == 1


def test_when_we_may_not_send_not_a_byte_goes_out() -> None:
    class TooLate(Exception):
        pass

    def may_send() -> None:
        raise TooLate

    received = []

    async def listen(line: Line) -> None:
        received.append(await line.reader.read(1000))

    async def send(made: Client, server: Server) -> None:
        with pytest.raises(TooLate):
            await made.send(Request("POST", server.url), write=True, may_send=may_send)

    run(listen, send)

    assert received == [b""]


@pytest.mark.parametrize("write", [False, True])
def test_where_nobody_listens_nothing_was_sent(write: bool) -> None:
    async def send() -> None:
        async with client() as made:
            await made.send(Request("POST", f"http://127.0.0.1:{free_port()}"), write=write)

    with pytest.raises(NotSent, match="no connection: Connection refused") as told:
        asyncio.run(send())

    assert not told.value.timed_out


def test_to_a_name_that_nobody_knows_nothing_was_sent() -> None:
    async def send() -> None:
        async with client() as made:
            await made.send(Request("POST", "http://nowhere.invalid/?token=1"), write=True)

    with pytest.raises(NotSent, match=r"the name 'nowhere.invalid' is not known") as told:
        asyncio.run(send())

    assert "token" not in told.value.message


@pytest.mark.parametrize("bound", [{"connect_timeout": 0.2}, {"timeout": 0.2}])
def test_when_connecting_takes_too_long_nothing_was_sent(bound: dict[str, float]) -> None:
    async def send(port: int) -> None:
        async with client() as made:
            request = Request("POST", f"http://127.0.0.1:{port}", **bound)  # type: ignore[arg-type]
            await made.send(request, write=True)

    with socket.create_server(("127.0.0.1", 0), backlog=0) as deaf:
        port = deaf.getsockname()[1]
        waiting = [socket.socket() for _ in range(3)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        with pytest.raises(NotSent) as told:
            asyncio.run(send(port))
        for one in waiting:
            one.close()

    assert told.value.timed_out


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("talk", [hangs_up, resets])
def test_a_write_that_the_server_took_without_an_answer_is_lost_and_not_sent_again(
    method: str, talk: Talk
) -> None:
    async def send(made: Client, server: Server) -> None:
        with pytest.raises(Lost, match="connection") as told:
            await made.send(Request(method, server.url, content=b"x"), write=True)
        assert not isinstance(told.value, TimedOut)

    _, server = run(talk, send)

    assert len(server.seen) == 1
    assert server.connections == 1


def test_a_connection_that_breaks_before_the_request_is_read_leaves_it_open() -> None:
    async def breaks(line: Line) -> None:
        line.reset()

    async def send(made: Client, server: Server) -> None:
        with pytest.raises(Lost):
            await made.send(Request("POST", server.url, content=b"x" * 9), write=True)

    _, server = run(breaks, send)

    assert server.connections == 1


def test_a_server_that_never_answers_is_left_after_the_timeout() -> None:
    async def send(made: Client, server: Server) -> None:
        with pytest.raises(TimedOut, match=r"no whole answer within 0.2 s"):
            await made.send(Request("POST", server.url, timeout=0.2), write=True)

    _, server = run(silent, send)

    assert len(server.seen) == 1
    assert server.ended == 1


def test_a_server_that_falls_silent_is_left_before_the_timeout() -> None:
    async def stalls(line: Line) -> None:
        await line.request()
        await line.say(answer(b"half", length=False, headers="Content-Length: 8"))
        await line.closed_by_client()

    async def send(made: Client, server: Server) -> TimedOut:
        with pytest.raises(TimedOut, match="silent") as told:
            await made.send(Request("GET", server.url, silence=0.1), write=False)
        return told.value

    told, _ = run(stalls, send)

    assert told.status == 200


def test_half_an_answer_is_none_but_its_status_is_known() -> None:
    async def half(line: Line) -> None:
        await line.request()
        await line.say(answer(b"half", length=False, headers="Content-Length: 8"))

    async def send(made: Client, server: Server) -> Lost:
        with pytest.raises(Lost, match="broke off") as told:
            await made.send(Request("POST", server.url), write=True)
        return told.value

    told, _ = run(half, send)

    assert told.status == 200


@pytest.mark.parametrize("said", [b"SSH-2.0-x\r\n\r\n", b"HTTP/1.1 banana\r\n\r\n", b"\0" * 99])
def test_what_is_not_http_is_lost(said: bytes) -> None:
    async def send(made: Client, server: Server) -> None:
        with pytest.raises(Lost):
            await made.send(Request("POST", server.url), write=True)

    async def talk(line: Line) -> None:
        await line.request()
        await line.say(said)

    run(talk, send)


@pytest.mark.parametrize("write", [False, True])
def test_a_cancelled_request_closes_its_connection(write: bool) -> None:
    async def send(made: Client, server: Server) -> None:
        task = asyncio.ensure_future(made.send(Request("POST", server.url), write=write))
        while not server.seen:
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        while not server.ended:
            await asyncio.sleep(0.001)

    run(silent, send)


def test_a_read_on_a_kept_connection_that_is_gone_is_sent_again() -> None:
    async def closes_on_the_second(line: Line) -> None:
        await line.request()
        await line.say(answer())
        await line.request()

    async def send(made: Client, server: Server) -> list[int]:
        said = [await made.send(Request("POST", server.url), write=False) for _ in range(2)]
        return [one.status for one in said]

    statuses, server = run(closes_on_the_second, send)

    assert statuses == [200, 200]
    assert server.connections == 2
    assert len(server.seen) == 3


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_read_on_a_fresh_connection_is_not_sent_again(method: str) -> None:
    async def send(made: Client, server: Server) -> None:
        with pytest.raises(Lost):
            await made.send(Request(method, server.url), write=False)

    _, server = run(hangs_up, send)

    assert len(server.seen) == 1


def test_early_words_of_the_server_are_no_answer() -> None:
    got, _ = ask(answering(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + answer()))

    assert got.status == 200


def test_an_answer_before_the_body_was_read_counts() -> None:
    async def refuses(line: Line) -> None:
        await line.reader.readuntil(b"\r\n\r\n")
        await line.say(answer(status="413 Content Too Large"))
        await line.closed_by_client()

    got, _ = ask(refuses, "POST", content=b"x" * 8_000_000, write=True)

    assert got.status == 413


@pytest.mark.parametrize("method", ["HEAD", "GET"])
def test_an_answer_without_a_body_is_whole(method: str) -> None:
    said = "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n"
    if method == "GET":
        said = "HTTP/1.1 204 No Content\r\n\r\n"

    got, _ = ask(answering(said.encode()), method, max_bytes=10)

    assert got.body == b""


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("ftp://127.0.0.1/", "bad-url"),
        ("file:///etc/passwd", "bad-url"),
        ("http://", "bad-url"),
        ("127.0.0.1", "bad-url"),
        ("http://[::1", "bad-url"),
        ("http://a@[::1", "bad-url"),
        ("http://127.0.0.1:99999/", "bad-url"),
        ("http://127.0.0.1/a\nb", "bad-url"),
    ],
)
def test_a_url_that_leads_nowhere_is_refused(url: str, code: str) -> None:
    async def send() -> None:
        async with client() as made:
            await made.send(Request("GET", url), write=False)

    with pytest.raises(Refused) as told:
        asyncio.run(send())

    assert told.value.code == code


@pytest.mark.parametrize(
    "header",
    [("X-A", "b\r\nX-C: d"), ("X A", "b"), ("X\n", "b"), ("Content-Length", "3"), ("", "b")],
)
def test_a_header_that_breaks_the_protocol_is_refused(header: tuple[str, str]) -> None:
    async def send(made: Client, server: Server) -> None:
        with pytest.raises(Refused) as told:
            await made.send(Request("GET", server.url, headers=(header,)), write=False)
        assert told.value.code == "bad-header"

    _, server = run(OK, send)

    assert server.connections == 0


def test_user_and_password_of_a_url_become_a_header() -> None:
    async def send(made: Client, server: Server) -> Answer:
        url = server.url.replace("http://", "http://me:p%40ss@")
        return await made.send(Request("GET", url), write=False)

    got, server = run(OK, send)

    assert server.seen[0].headers["authorization"] == "Basic bWU6cEBzcw=="
    assert got.url == server.url + "/"


def test_a_server_that_may_not_be_reached_is_not_asked() -> None:
    async def send(made: Client, server: Server) -> None:
        with pytest.raises(Refused) as told:
            await made.send(Request("GET", server.url, reaches=lambda url: False), write=False)
        assert told.value.code == "not-allowed"

    _, server = run(OK, send)

    assert server.connections == 0


def test_a_multipart_body_holds_fields_and_files(tmp_path: Path) -> None:
    drawing = tmp_path / "plan.ifc"
    drawing.write_bytes(b"ISO-10303-21;" * 20_000)
    parts = (
        Part("note", "für".encode()),
        Part("model", drawing, filename="plan.ifc", content_type="application/x-step"),
    )

    _, server = ask(OK, "POST", parts=parts, write=True)

    seen = server.seen[0]
    assert seen.headers["content-type"].startswith("multipart/form-data; boundary=")
    assert "transfer-encoding" not in seen.headers
    assert b'name="note"\r\n\r\nf\xc3\xbcr\r\n' in seen.body
    assert b'name="model"; filename="plan.ifc"\r\nContent-Type: application/x-step' in seen.body
    assert drawing.read_bytes() in seen.body


@pytest.mark.parametrize("size", [0, 10, 2_000_000])
def test_a_body_of_any_size_arrives_with_its_length(size: int) -> None:
    _, server = ask(OK, "PUT", content=b"x" * size, write=True)

    seen = server.seen[0]
    assert seen.body == b"x" * size
    assert seen.headers["content-length"] == str(size)
    assert "transfer-encoding" not in seen.headers
    assert "content-type" not in seen.headers


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    async def send(made: Client, server: Server) -> None:
        parts = (Part("a", tmp_path / "none"),)
        with pytest.raises(Refused, match="cannot read"):
            await made.send(Request("POST", server.url, parts=parts), write=True)

    _, server = run(OK, send)

    assert server.connections == 0


def test_many_at_once_each_get_their_own_answer() -> None:
    async def echo(line: Line) -> None:
        while True:
            seen = await line.request()
            await line.say(answer(seen.target.encode()))

    async def send(made: Client, server: Server) -> list[bytes]:
        asked = [Request("GET", f"{server.url}/{n}") for n in range(50)]
        got = [made.send(one, write=n % 3 == 0) for n, one in enumerate(asked)]
        return [one.body for one in await asyncio.gather(*got)]

    bodies, _ = run(echo, send)

    assert bodies == [f"/{n}".encode() for n in range(50)]
