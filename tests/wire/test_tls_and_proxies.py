"""Whom we trust, as whom we come, and through what we go."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from noetl_mcp.wire.client import Client
from noetl_mcp.wire.exchange import Answer, Lost, NotSent, Refused, Request, Way
from tests.wire.servers import (
    Certificate,
    Line,
    Server,
    Talk,
    answer,
    answering,
    certificate,
    free_port,
    hangs_up,
    serving,
)

OK = answering(answer())


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return certificate(tmp_path_factory.mktemp("ours"))


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return certificate(tmp_path_factory.mktemp("theirs"))


@asynccontextmanager
async def client(*, env_proxies: bool = False) -> AsyncIterator[Client]:
    made = Client(env_proxies=env_proxies)
    try:
        yield made
    finally:
        await made.close()


def ask(
    server_side: Certificate, way: Way, *, talk: Talk = OK, wants_client: bool = False
) -> Server:
    """Send one write to a server with TLS."""

    async def send() -> Server:
        tls = server_side.server(wants_client=wants_client)
        async with serving(talk, tls) as server, client() as made:
            await made.send(Request("POST", server.url, content=b"x", way=way), write=True)
        return server

    return asyncio.run(send())


def test_a_certificate_that_we_do_not_know_ends_it_before_anything_is_sent(
    ours: Certificate, theirs: Certificate
) -> None:
    for way in (Way(), Way(ca_file=str(theirs.cert))):
        with pytest.raises(NotSent, match="no TLS: self-signed certificate") as told:
            ask(ours, way)
        assert told.value.lasting


def test_a_file_of_certificates_is_trusted(ours: Certificate) -> None:
    assert len(ask(ours, Way(ca_file=str(ours.cert))).seen) == 1


def test_checking_can_be_turned_off(ours: Certificate) -> None:
    assert len(ask(ours, Way(verify_tls=False)).seen) == 1


def test_we_identify_ourselves_with_a_certificate(ours: Certificate) -> None:
    way = Way(ca_file=str(ours.cert), client_cert=str(ours.cert), client_key=str(ours.key))

    assert len(ask(ours, way, wants_client=True).seen) == 1


def test_without_the_certificate_that_is_asked_for_the_outcome_is_open(ours: Certificate) -> None:
    with pytest.raises(Lost):  # TLS 1.3 refuses it only after we have begun to send
        ask(ours, Way(ca_file=str(ours.cert)), wants_client=True)


def test_a_write_over_tls_that_is_not_answered_is_lost(ours: Certificate) -> None:
    with pytest.raises(Lost):
        ask(ours, Way(ca_file=str(ours.cert)), talk=hangs_up)


def test_to_a_port_without_tls_nothing_was_sent() -> None:
    async def nonsense(line: Line) -> None:
        await line.reader.read(10)
        await line.say(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async def send() -> None:
        async with serving(nonsense) as server, client() as made:
            url = server.url.replace("http:", "https:")
            await made.send(Request("POST", url), write=True)

    with pytest.raises(NotSent, match="no TLS"):
        asyncio.run(send())


def test_a_handshake_that_is_not_answered_ends_with_the_time_to_connect() -> None:
    async def mute(line: Line) -> None:
        await line.closed_by_client()

    async def send() -> None:
        async with serving(mute) as server, client() as made:
            url = server.url.replace("http:", "https:")
            await made.send(Request("POST", url, connect_timeout=0.2), write=True)

    with pytest.raises(NotSent, match="no connection in time") as told:
        asyncio.run(send())

    assert told.value.timed_out


def test_tls_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("")
    for path in (tmp_path / "none.pem", empty):
        for way in (Way(ca_file=str(path)), Way(client_cert=str(path))):
            with pytest.raises(Refused, match=path.name) as told:
                asyncio.run(one_request(way))
            assert told.value.code == "tls-files"


def test_a_key_with_a_password_is_refused_and_nobody_is_asked_for_it(
    ours: Certificate, tmp_path: Path
) -> None:
    locked = tmp_path / "locked.pem"
    key = serialization.load_pem_private_key(ours.key.read_bytes(), None)
    locked.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"s3cret"),
        )
    )

    with pytest.raises(Refused, match=r"locked\.pem"):
        asyncio.run(one_request(Way(client_cert=str(ours.cert), client_key=str(locked))))


async def one_request(way: Way) -> Answer:
    async with client() as made:
        return await made.send(Request("GET", "https://127.0.0.1", way=way), write=False)


async def relays(line: Line) -> None:
    """A proxy: answers plain requests itself, and connects through for the others."""
    seen = await line.request()
    if seen.method != "CONNECT":
        await line.say(answer(b'"from the proxy"'))
        return
    host, _, port = seen.target.partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    await line.say(b"HTTP/1.1 200 Connection established\r\n\r\n")
    await asyncio.gather(pump(line.reader, writer), pump(reader, line.writer))


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while said := await reader.read(65_536):
            writer.write(said)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


def through(
    proxy: Talk, target: Talk, tls: Certificate | None, *, user: str = "me:s3cret@"
) -> tuple[Answer | Exception, Server, Server]:
    """Send one write through a proxy; return what came of it, the proxy and the target."""

    async def send() -> tuple[Answer | Exception, Server, Server]:
        async with (
            serving(target, tls.server() if tls else None) as there,
            serving(proxy) as between,
            client() as made,
        ):
            way = Way(
                ca_file=str(tls.cert) if tls else None,
                proxy=between.url.replace("http://", f"http://{user}"),
            )
            try:
                got = await made.send(Request("POST", there.url, way=way), write=True)
            except (NotSent, Lost) as lost:
                return lost, between, there
            return got, between, there

    return asyncio.run(send())


def test_a_plain_request_goes_to_the_proxy_as_a_whole() -> None:
    got, proxy, there = through(relays, OK, None)

    assert isinstance(got, Answer)
    assert got.body == b'"from the proxy"'
    assert proxy.targets == [there.url + "/"]
    assert proxy.seen[0].headers["proxy-authorization"] == "Basic bWU6czNjcmV0"
    assert there.connections == 0


def test_a_request_with_tls_goes_through_the_proxy_unseen(ours: Certificate) -> None:
    got, proxy, there = through(relays, OK, ours)

    assert isinstance(got, Answer)
    assert proxy.seen[0].method == "CONNECT"
    assert proxy.seen[0].headers["proxy-authorization"] == "Basic bWU6czNjcmV0"
    assert not [name for name in there.seen[0].headers if "auth" in name]


def test_when_the_proxy_refuses_to_connect_nothing_was_sent(ours: Certificate) -> None:
    refuses = answering(answer(b"no", status="407 Proxy Authentication Required"))

    got, _, there = through(refuses, OK, ours, user="")

    assert isinstance(got, NotSent)
    assert got.message.endswith("the proxy refused with 407")
    assert there.connections == 0


def test_when_the_target_behind_the_proxy_does_not_answer_it_is_lost(ours: Certificate) -> None:
    got, _, there = through(relays, hangs_up, ours)

    assert isinstance(got, Lost)
    assert len(there.seen) == 1


def test_without_the_proxy_nothing_was_sent() -> None:
    async def send() -> None:
        async with client() as made:
            way = Way(proxy=f"http://me:s3cret@127.0.0.1:{free_port()}")
            await made.send(Request("POST", "http://127.0.0.1:1/", way=way), write=True)

    with pytest.raises(NotSent, match="no connection to the proxy") as told:
        asyncio.run(send())

    assert "s3cret" not in str(told.value)


@pytest.mark.parametrize(
    ("asked", "no_proxy", "arrives"),
    [(False, "", "there"), (True, "", "proxy"), (True, "127.0.0.1", "there")],
)
def test_proxies_of_the_environment_are_used_only_when_asked(
    asked: bool, no_proxy: str, arrives: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def send() -> dict[str, int]:
        async with (
            serving(OK) as there,
            serving(relays) as proxy,
            client(env_proxies=asked) as made,
        ):
            monkeypatch.setenv("http_proxy", proxy.url)
            monkeypatch.setenv("no_proxy", no_proxy)
            await made.send(Request("GET", there.url), write=False)
            return {"there": len(there.seen), "proxy": len(proxy.seen)}

    assert asyncio.run(send())[arrives] == 1
