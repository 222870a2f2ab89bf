"""A packed answer is unpacked up to the bound, and no further."""

import asyncio
import gzip
import zlib

import pytest

from noetl_mcp.wire.client import Client
from noetl_mcp.wire.exchange import Garbled, Request, TooLarge
from noetl_mcp.wire.unpacking import TooLong, unpack
from tests.wire.servers import Line, answer, answering, serving

RAW = zlib.compressobj(wbits=-15)
BARE_DEFLATE = RAW.compress(b"hello") + RAW.flush()


@pytest.mark.parametrize(
    ("packed", "coding"),
    [
        (gzip.compress(b"hello"), "gzip"),
        (gzip.compress(b"hel") + gzip.compress(b"lo"), "x-gzip"),
        (gzip.compress(b"hello") + bytes(100), "GZIP"),
        (zlib.compress(b"hello"), "deflate"),
        (BARE_DEFLATE, "deflate"),
        (gzip.compress(zlib.compress(b"hello")), "deflate, gzip"),
        (b"hello", "identity"),
        (b"hello", ""),
    ],
    ids=range(8),
)
def test_every_coding_that_is_asked_for_is_undone(packed: bytes, coding: str) -> None:
    assert unpack(packed, coding, 20) == b"hello"


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_not_a_byte_more_than_the_bound_is_unpacked(coding: str) -> None:
    pack = gzip.compress if coding == "gzip" else zlib.compress
    bomb = pack(bytes(5_000_000))

    with pytest.raises(TooLong):
        unpack(bomb, coding, 4_999_999)


def test_many_small_members_are_bounded_together() -> None:
    with pytest.raises(TooLong):
        unpack(gzip.compress(b"x" * 100) * 20, "gzip", 1999)
    with pytest.raises(ValueError, match="too many pieces"):
        unpack(gzip.compress(b"") * 20_000, "gzip", 10)


@pytest.mark.parametrize(
    ("packed", "coding", "words"),
    [
        (gzip.compress(b"hello")[:-3], "gzip", "breaks off"),
        (b"hello", "gzip", "broken"),
        (b"\xff\xff\xff", "deflate", "broken"),
        (b"hello", "br", "'br' is not a coding that was asked for"),
    ],
    ids=range(4),
)
def test_a_broken_body_says_what_is_wrong(packed: bytes, coding: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        unpack(packed, coding, 100)


def ask(said: bytes, most: int = 1000) -> bytes:
    async def send() -> bytes:
        client = Client()
        async with serving(answering(said)) as server:
            try:
                request = Request("GET", server.url, max_bytes=most)
                return (await client.send(request, write=False)).body
            finally:
                await client.close()

    return asyncio.run(send())


def test_an_answer_is_unpacked() -> None:
    said = answer(gzip.compress(b"x" * 900), headers="Content-Encoding: gzip")

    assert ask(said) == b"x" * 900


@pytest.mark.parametrize(
    "said",
    [
        answer(b"x" * 1001),
        answer(gzip.compress(b"x" * 1001), headers="Content-Encoding: gzip"),
        answer(b"x", headers="Content-Length: 99999999999", length=False),
    ],
    ids=range(3),
)
def test_an_answer_that_is_too_large_is_left(said: bytes) -> None:
    with pytest.raises(TooLarge, match="more than 1000 bytes") as told:
        ask(said)

    assert told.value.status == 200


def test_an_answer_without_an_end_is_left_at_the_bound() -> None:
    async def floods(line: Line) -> None:
        await line.request()
        await line.say(answer(b"", length=False, headers="Transfer-Encoding: chunked"))
        while True:
            await line.say(b"1000\r\n" + b"x" * 0x1000 + b"\r\n")

    async def send() -> None:
        client = Client()
        async with serving(floods) as server:
            with pytest.raises(TooLarge):
                await client.send(Request("GET", server.url, max_bytes=100_000), write=False)
            await client.close()

    asyncio.run(send())


def test_an_answer_that_cannot_be_unpacked_keeps_its_status() -> None:
    with pytest.raises(Garbled, match="cannot be unpacked: it is broken") as told:
        ask(answer(b"hello", status="201 Created", headers="Content-Encoding: gzip"))

    assert told.value.status == 201
