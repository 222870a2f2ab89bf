"""A read follows redirects when asked; credentials stay where they belong; a write never moves."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from noetl_mcp.wire.client import Client
from noetl_mcp.wire.exchange import Answer, Refused, Request
from noetl_mcp.wire.redirects import next_request
from tests.wire.servers import Line, Server, answer, answering, serving

SECRETS = (("Authorization", "Bearer s3cret"), ("X-Token", "s3cret"), ("Accept", "text/csv"))


@asynccontextmanager
async def two(status: int, to: str = "") -> AsyncIterator[tuple[Client, Server, Server]]:
    """A server that sends everybody on to another one, or to `to` at itself, and that other one."""

    async def sends_on(line: Line) -> None:
        while True:
            seen = await line.request()
            if seen.target == "/there":
                await line.say(answer(b"" if seen.method == "HEAD" else b"[]"))
                continue
            place = to or there.url + "/there?q=1"
            await line.say(answer(b"", status=f"{status} Moved", headers=f"Location: {place}"))

    client = Client()
    async with serving(answering(answer())) as there, serving(sends_on) as here:
        try:
            yield client, here, there
        finally:
            await client.close()


def test_a_redirect_is_an_answer_when_none_are_followed() -> None:
    async def ask() -> tuple[int, str]:
        async with two(302, "/there") as (client, here, _):
            got = await client.send(Request("GET", here.url), write=False)
            return got.status, got.headers["location"]

    assert asyncio.run(ask()) == (302, "/there")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_write_follows_no_redirect(status: int) -> None:
    async def ask() -> tuple[int, int]:
        async with two(status) as (client, here, there):
            got = await client.send(Request("POST", here.url, redirects=5), write=True)
            return got.status, len(there.seen)

    assert asyncio.run(ask()) == (status, 0)


@pytest.mark.parametrize("place", ["/there", "there", "?x=1"])
def test_a_read_is_led_on_at_the_same_server_with_all_its_headers(place: str) -> None:
    async def ask() -> tuple[Answer, Server]:
        async with two(302, place) as (client, here, _):
            request = Request("GET", here.url + "/a", headers=SECRETS, redirects=1)
            if place == "?x=1":
                with pytest.raises(Refused, match="more than 1 redirects"):
                    await client.send(request, write=False)
            else:
                assert (await client.send(request, write=False)).url == here.url + "/there"
            return Answer(0, {}, b"", "", 0), here

    _, here = asyncio.run(ask())

    assert [one.headers["authorization"] for one in here.seen] == ["Bearer s3cret"] * 2
    assert here.connections == 1


def test_at_another_server_a_read_arrives_without_credentials() -> None:
    async def ask() -> tuple[Answer, Server]:
        async with two(302) as (client, here, there):
            url = here.url.replace("http://", "http://me:s3cret@")
            request = Request("GET", url, headers=SECRETS[1:], redirects=5)
            return await client.send(request, write=False), there

    got, there = asyncio.run(ask())

    assert got.url == there.url + "/there?q=1"
    assert there.targets == ["/there?q=1"]
    assert "s3cret" not in str(there.seen[0].headers)
    assert there.seen[0].headers["accept"] == "text/csv"


@pytest.mark.parametrize(
    ("status", "method", "arrives"),
    [
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (303, "POST", "GET"),
        (303, "PUT", "GET"),
        (303, "HEAD", "HEAD"),
        (302, "OPTIONS", "OPTIONS"),
        (307, "POST", "POST"),
        (308, "POST", "POST"),
    ],
)
def test_a_status_says_how_to_ask_at_the_other_place(
    status: int, method: str, arrives: str
) -> None:
    async def ask() -> Server:
        async with two(status, "/there") as (client, here, _):
            content = b"{}" if method in ("POST", "PUT") else b""
            headers = (("Content-Type", "application/json"),)
            request = Request(method, here.url, headers, content, redirects=1)
            await client.send(request, write=False)
            return here

    last = asyncio.run(ask()).seen[-1]

    assert last.method == arrives
    assert last.body == (b"{}" if arrives == "POST" else b"")
    assert ("content-type" in last.headers) == (arrives == method)


def test_a_body_is_not_carried_to_another_server() -> None:
    async def ask() -> Server:
        async with two(307) as (client, here, there):
            request = Request("POST", here.url, content=b"s3cret", redirects=5)
            with pytest.raises(Refused, match="would carry the body to another server"):
                await client.send(request, write=False)
            return there

    assert asyncio.run(ask()).connections == 0


@pytest.mark.parametrize("place", ["file:///etc/passwd", "ftp://a/", "https://", "http://[::1"])
def test_a_redirect_that_leads_to_no_server_is_refused(place: str) -> None:
    async def ask() -> str:
        async with two(302, place) as (client, here, _):
            with pytest.raises(Refused) as told:
                await client.send(Request("GET", here.url, redirects=5), write=False)
            return told.value.code

    assert asyncio.run(ask()) == "redirect-refused"


def test_a_redirect_leads_only_where_we_may_go() -> None:
    async def ask() -> tuple[str, int]:
        async with two(302) as (client, here, there):
            request = Request(
                "GET", here.url, redirects=5, reaches=lambda url: url.startswith(here.url)
            )
            with pytest.raises(Refused) as told:
                await client.send(request, write=False)
            return told.value.code, there.connections

    assert asyncio.run(ask()) == ("not-allowed", 0)


@pytest.mark.parametrize(
    ("here", "there", "kept"),
    [
        ("http://a/", "http://a:80/x", True),
        ("http://a/", "https://a/x", True),
        ("http://A/", "http://a/x", True),
        ("https://a/", "http://a/x", False),
        ("http://a:8080/", "https://a/x", False),
        ("http://a/", "http://a.b/x", False),
        ("http://a/", "http://a@evil/x", False),
        ("http://a/", "//evil/x", False),
    ],
)
def test_a_server_is_the_same_by_scheme_host_and_port(here: str, there: str, kept: bool) -> None:
    request = Request("GET", here, headers=SECRETS)
    said = Answer(302, {"location": there}, b"", here, 0.0)

    after = next_request(request, said)

    assert (("X-Token", "s3cret") in after.headers) is kept
    assert "@" not in after.url


def test_a_secret_of_the_first_place_is_not_added_to_the_next() -> None:
    request = Request("GET", "http://a/x?key=s3cret")

    after = next_request(request, Answer(302, {"location": "/y"}, b"", request.url, 0.0))

    assert after == replace(request, url="http://a/y")
