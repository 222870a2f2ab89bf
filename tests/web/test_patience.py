"""Who only waits keeps nobody out: real sockets, small bounds."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from noetl_mcp.web.patience import Bounds, Crowd
from tests.web.site import HELLO, Site, serving

BOUNDS = Bounds(head_seconds=0.6, part_seconds=0.6, part_bytes=64, connections=12, of_one_address=4)
HEAD = b"POST /api/executions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


@pytest.fixture
def strict(database: str, tmp_path: Path) -> Iterator[Site]:
    with serving(database, tmp_path, bounds=BOUNDS) as made:
        yield made


def dial(site: Site) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(site.url.rpartition(":")[2])), timeout=10)


def heard(line: socket.socket) -> bytes:
    """Return all that comes until the other side closes."""
    found = b""
    try:
        while part := line.recv(65_536):
            found += part
    except ConnectionResetError:
        pass
    return found


def trickled(line: socket.socket, part: bytes) -> float:
    """Return for how long small parts are taken."""
    begun = time.monotonic()
    with suppress(ConnectionError):
        while time.monotonic() - begun < 10:
            line.sendall(part)
            time.sleep(0.05)
    return time.monotonic() - begun


def test_connections_that_say_nothing_keep_nobody_out(strict: Site) -> None:
    with ExitStack() as open_:
        for _ in range(40):
            open_.enter_context(dial(strict))

        health = strict.client.get("/health").status_code
        started = strict.client.post("/api/executions", json={"content": HELLO}).status_code

    assert (health, started) == (200, 201)


def test_bodies_that_never_come_keep_nobody_out(strict: Site) -> None:
    with ExitStack() as open_:
        for _ in range(40):
            line = open_.enter_context(dial(strict))
            line.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\n")

        assert strict.client.get("/health").status_code == 200
        assert strict.get("/api/executions") == []


def test_streams_that_are_followed_give_way_to_nobody_but_health_is_told(strict: Site) -> None:
    number = strict.start(HELLO.replace("0.01s", "60s"))
    follow = f"GET /api/executions/{number}/events HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    strict.client.close()
    with ExitStack() as open_:
        lines = [open_.enter_context(dial(strict)) for _ in range(BOUNDS.connections)]
        for line in lines:
            line.sendall(follow.encode() + b"Accept: text/event-stream\r\n\r\n")
            assert b"200 OK" in line.recv(4_096)
        answers = []
        for path in ("/api/executions", "/health"):
            with dial(strict) as late:
                late.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                answers.append(late.recv(4_096).split(b"\r\n")[0])

    assert [answer.split()[1] for answer in answers] == [b"503", b"200"]


@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"])
def test_a_head_that_does_not_come_is_waited_for_a_while(strict: Site, said: bytes) -> None:
    with dial(strict) as line:
        line.sendall(said)
        begun = time.monotonic()

        assert heard(line) == b""
        assert 0.3 < time.monotonic() - begun < 5


def test_a_head_in_small_parts_gains_no_time(strict: Site) -> None:
    with dial(strict) as line:
        line.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n")

        assert trickled(line, b"X-A: b\r\n") < 3


def test_a_head_after_an_answer_has_its_own_time(strict: Site) -> None:
    with dial(strict) as line:
        line.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert b"200 OK" in line.recv(65_536)
        line.sendall(b"GET /health HTTP/1.1\r\n")
        begun = time.monotonic()

        heard(line)

        assert 0.3 < time.monotonic() - begun < 3


@pytest.mark.parametrize("drops", [0, 1])
def test_a_body_that_does_not_come_is_told_so(strict: Site, drops: int) -> None:
    with dial(strict) as line:
        line.sendall(HEAD + b"Content-Length: 2000\r\n\r\n{")
        begun = time.monotonic()
        for _ in range(drops):
            time.sleep(0.3)
            line.sendall(b" ")

        answer = heard(line)

    assert time.monotonic() - begun < 5
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b" 408 " in head.split(b"\r\n")[0]
    assert json.loads(body)["error"]["code"] == "too-slow"


def test_a_body_that_comes_slowly_but_surely_is_taken(strict: Site) -> None:
    body = json.dumps({"content": HELLO + "#" * 2_000}).encode()
    with dial(strict) as line:
        line.sendall(HEAD + f"Content-Length: {len(body)}\r\n\r\n".encode())
        for at in range(0, len(body), 200):
            line.sendall(body[at : at + 200])
            time.sleep(0.1)

        answer = line.recv(65_536)

    assert b" 201 " in answer.split(b"\r\n")[0]


def test_the_rest_of_a_body_that_was_refused_is_not_waited_for_long(strict: Site) -> None:
    with dial(strict) as line:
        line.sendall(HEAD + b"Content-Length: 99999999999\r\n\r\n")

        assert trickled(line, b" ") < 3


def test_an_answer_that_nobody_takes_is_given_up(strict: Site) -> None:
    strict.post("/api/catalog", {"content": HELLO + "#" * 8_000_000}, 201)
    with dial(strict) as line:
        line.sendall(b"GET /api/catalog/tests/t HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        time.sleep(3)

        assert len(heard(line)) < 8_000_000


def test_an_address_from_elsewhere_may_not_have_them_all() -> None:
    crowd = Crowd(BOUNDS)

    class Line:
        """A connection that is being answered."""

        is_idle = False

    room = [crowd.enter(Line(), "192.0.2.7") for _ in range(6)]  # type: ignore[arg-type]  # enough
    others = [crowd.enter(Line(), "127.0.0.1") for _ in range(6)]  # type: ignore[arg-type]  # enough

    assert room == [True] * 4 + [False] * 2
    assert others == [True] * 6
