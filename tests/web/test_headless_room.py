"""What stands in memory for the clients of a headless server: bodies that come, answers that go."""

import asyncio
import socket
from contextlib import ExitStack

import pytest
from starlette.responses import Response
from starlette.types import Message

from noetl_mcp.web.headless.app import MOST_BODY
from noetl_mcp.web.headless.jobs import Full
from noetl_mcp.web.headless.room import MOST_COMING, SMALL, Coming, Room, Taken
from noetl_mcp.web.headless.shown import trace
from tests.cli.test_run import until
from tests.web.headless import Headless, serving

_HEAD = f"POST /rpc HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {MOST_BODY}\r\n\r\n".encode()


def begun(server: Headless) -> socket.socket:
    """Return a connection on which all of a large body has come but its end."""
    line = socket.create_connection(("127.0.0.1", server.client.base_url.port or 0), timeout=20)
    line.sendall(_HEAD + b'{"method": "' + b"x" * (MOST_BODY - 100))
    return line


def test_bodies_that_do_not_end_leave_room_for_small_calls_and_none_for_large_ones() -> None:
    large = {"method": "echo", "params": {"a": "x" * (MOST_BODY - 100)}}
    with serving() as server, ExitStack() as held:
        for _ in range(MOST_COMING // MOST_BODY):
            held.enter_context(begun(server))
        told = until(
            lambda: (said := server.client.post("/rpc", json=large)).status_code == 503 and said
        )
        small = server.rpc("echo", level="L1")
        held.close()
        again = until(
            lambda: (said := server.client.post("/rpc", json=large)).status_code == 200 and said
        )

    assert (told.json()["code"], told.headers["Retry-After"]) == ("E_BUSY", "1")
    assert "the bodies that are coming" in told.json()["msg"]
    assert small["result"]["ok"] is again.json()["result"]["ok"] is True


def test_a_body_takes_room_as_it_comes_and_none_when_it_is_read() -> None:
    room = Room(3 * SMALL, "bodies")

    with Coming(room) as one, Coming(room) as other:
        one.grow(SMALL)
        other.grow(2 * SMALL)
        with pytest.raises(Full, match="bodies may have"):
            one.grow(2 * SMALL)
    with Coming(room) as one:
        one.grow(3 * SMALL)


def test_answers_take_room_until_they_are_taken_or_nobody_takes_them() -> None:
    room = Room(3 * SMALL, "answers")
    sent = list[Message]()

    async def send(message: Message) -> None:
        sent.append(message)

    async def breaks(message: Message) -> None:
        raise OSError("gone")

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def both() -> None:
        scope = {"type": "http", "method": "GET"}
        one, small = (Taken(Response(b"x" * size), room) for size in (2 * SMALL, SMALL))
        with pytest.raises(Full, match="answers may have"):
            Taken(Response(b"x" * (2 * SMALL)), room)
        await one(scope, receive, send)
        await small(scope, receive, send)
        with pytest.raises(OSError, match="gone"):
            await Taken(Response(b"x" * (3 * SMALL)), room)(scope, receive, breaks)
        Taken(Response(b"x" * (3 * SMALL)), room)

    asyncio.run(both())

    assert sum(len(one.get("body", b"")) for one in sent) == 3 * SMALL


def test_where_something_went_wrong_is_told_without_signs_for_the_terminal() -> None:
    told = trace(ValueError("no storey \x1b]0;evil\x07\u202e"))

    assert told.endswith("\n")
    assert told.replace("\n", "").isprintable()
    assert "ValueError: no storey ]0;evil" in told
