"""Speak as much of Postgres' own protocol as it takes to know that a server lives.

Only over a local socket that asks for no password. Believes in answers, never in files: the number
of the server's process comes from the kernel, which knows who listens on the socket.
"""

import socket
import struct
import sys
from dataclasses import dataclass
from pathlib import Path

USER = "noetl"
SOCKET_NAME = ".s.PGSQL.5432"
TOO_MANY_CLIENTS = "53300"
NOT_YET = "57P03"

_PROTOCOL = 196_608  # 3.0, which every server since 2003 speaks
_LOCAL_PEERPID = 2  # macOS; the module `socket` has no name for it


class NoAnswer(Exception):
    """Nobody answers, or not in the way that Postgres does."""


@dataclass(frozen=True, slots=True)
class Greeting:
    """How a server answered: its process, and the state it gave instead of a welcome."""

    pid: int | None
    code: str = ""
    rows: tuple[str, ...] = ()

    @property
    def alive(self) -> bool:
        """Whether it takes connections; a server that is full does, only not this one."""
        return self.code in ("", TOO_MANY_CLIENTS)


def listener(folder: Path) -> int | None:
    """Return the process that listens on the socket in a folder, by the kernel's word.

    None when it listens in another namespace of processes, or the system does not tell.
    """
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(1.0)
            line.connect(str(folder / SOCKET_NAME))
            return _listener(line)
    except OSError as error:
        raise NoAnswer(str(error)) from None


def greet(
    folder: Path, query: str = "", *, database: str = "postgres", timeout: float = 5.0
) -> Greeting:
    """Connect to the socket in a folder, ask one thing, and leave.

    A statement that is refused comes back with its SQLSTATE; no answer at all is `NoAnswer`.
    """
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(timeout)
            line.connect(str(folder / SOCKET_NAME))
            pid = _listener(line)
            line.sendall(_startup(database))
            code, _ = _until_ready(line)
            rows: tuple[str, ...] = ()
            if query and not code:
                line.sendall(_message(b"Q", query.encode() + b"\0"))
                code, rows = _until_ready(line)
            line.sendall(_message(b"X", b""))
            return Greeting(pid, code, rows)
    except (OSError, ValueError, struct.error) as error:
        raise NoAnswer(str(error)) from None


def _listener(line: socket.socket) -> int | None:
    if sys.platform == "linux":
        raw = line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        pid, _, _ = struct.unpack("3i", raw)
        return int(pid) or None  # 0: it lives in another namespace of processes
    if sys.platform == "darwin":
        return line.getsockopt(0, _LOCAL_PEERPID) or None
    return None


def _startup(database: str) -> bytes:
    words = ("user", USER, "database", database, "application_name", "noetl-mcp keeper")
    body = struct.pack("!i", _PROTOCOL) + b"".join(f"{w}\0".encode() for w in words) + b"\0"
    return struct.pack("!i", len(body) + 4) + body


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def _until_ready(line: socket.socket) -> tuple[str, tuple[str, ...]]:
    """Read to the next "ready"; return the code of an error, and the first column of the rows."""
    code, rows = "", []
    while True:
        kind, body = _next(line)
        if kind == b"R" and body[:4] != b"\0\0\0\0":
            raise ValueError("the server wants a password")
        if kind == b"D":
            rows.append(_first_column(body))
        if kind == b"E":
            code = _code(body)
            if code[:2] in ("53", "57", "28", "3D"):  # the server hangs up
                return code, ()
        if kind == b"Z":
            return code, tuple(rows)


def _next(line: socket.socket) -> tuple[bytes, bytes]:
    head = _exactly(line, 5)
    return head[:1], _exactly(line, struct.unpack("!i", head[1:])[0] - 4)


def _exactly(line: socket.socket, count: int) -> bytes:
    read = b""
    while len(read) < count:
        part = line.recv(count - len(read))
        if not part:
            raise ValueError("the server hung up")
        read += part
    return read


def _first_column(body: bytes) -> str:
    (length,) = struct.unpack("!i", body[2:6])
    return "" if length < 0 else body[6 : 6 + length].decode("utf-8", "replace")


def _code(body: bytes) -> str:
    for field in body.split(b"\0"):
        if field[:1] == b"C":
            return field[1:].decode("ascii", "replace")
    return "XX000"
