"""Real servers for tests: they speak raw bytes, so that they can misbehave in every way."""

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Seen:
    """A request as it arrived."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Server:
    """A server at work: where it is, and what has reached it."""

    url: str
    connections: int = 0
    seen: list[Seen] = field(default_factory=list)
    ended: int = 0
    over: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def targets(self) -> list[str]:
        return [one.target for one in self.seen]


@dataclass(frozen=True)
class Line:
    """One connection, seen from the server."""

    server: Server
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def request(self) -> Seen:
        """Read one request; raises IncompleteReadError when there is none."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.strip().split("\r\n")
        headers = {
            name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)
        }
        body = await self.reader.readexactly(int(headers.get("content-length", 0)))
        method, target, _ = first.split(" ", 2)
        self.server.seen.append(Seen(method, target, headers, body))
        return self.server.seen[-1]

    async def say(self, said: bytes) -> None:
        self.writer.write(said)
        await self.writer.drain()

    def reset(self) -> None:
        """Break the connection off, as a crash does."""
        handle = self.writer.get_extra_info("socket")
        handle.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def closed_by_client(self) -> None:
        """Wait until the other side has closed."""
        while await self.reader.read(65_536):
            pass


Talk = Callable[[Line], Awaitable[None]]


@asynccontextmanager
async def serving(talk: Talk, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    """Serve every connection with `talk`, until the test is over."""
    server = Server("")

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.connections += 1
        try:
            await talk(Line(server, reader, writer))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            server.ended += 1
            writer.close()

    listening = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls)
    port = listening.sockets[0].getsockname()[1]
    server.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    try:
        yield server
    finally:
        server.over.set()
        listening.close()
        await listening.wait_closed()
        while server.ended < server.connections:
            await asyncio.sleep(0.001)


def answer(
    body: bytes = b'{"ok": true}', *, status: str = "200 OK", headers: str = "", length: bool = True
) -> bytes:
    """Return the bytes of an answer; JSON unless the headers say otherwise."""
    lines = [f"HTTP/1.1 {status}", *headers.splitlines()]
    if "content-type" not in headers.lower():
        lines.append("Content-Type: application/json")
    if length:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def answering(said: bytes) -> Talk:
    """Answer every request with the same bytes, and keep the connection."""

    async def talk(line: Line) -> None:
        while True:
            await line.request()
            await line.say(said)

    return talk


async def silent(line: Line) -> None:
    """Take the request and never answer; end when the client does."""
    await line.request()
    await line.closed_by_client()


async def hangs_up(line: Line) -> None:
    """Take the whole request and close without a word."""
    await line.request()


async def resets(line: Line) -> None:
    """Take the whole request and break off."""
    await line.request()
    line.reset()


def free_port() -> int:
    """Return a port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


@dataclass(frozen=True)
class Certificate:
    """A certificate that vouches for itself, good for servers and clients on this machine."""

    cert: Path
    key: Path

    def server(self, *, wants_client: bool = False) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.cert, self.key)
        if wants_client:
            context.load_verify_locations(self.cert)
            context.verify_mode = ssl.CERT_REQUIRED
        return context


def certificate(folder: Path) -> Certificate:
    """Write a fresh certificate for 127.0.0.1 and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    found = Certificate(folder / "cert.pem", folder / "key.pem")
    found.cert.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    found.key.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return found
