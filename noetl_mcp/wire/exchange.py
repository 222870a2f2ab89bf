"""One exchange with a server: what is asked, what comes back, and the ways in which nothing does.

Plain values, without a library behind them. Decides nothing and sends nothing.
"""

from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

WHOLE_SECONDS = 300.0
CONNECT_SECONDS = 10.0
MOST_BYTES = 16_777_216


@dataclass(frozen=True, slots=True)
class Way:
    """How a server is reached: whom we trust, as whom we come, and through what."""

    verify_tls: bool = True
    ca_file: str | None = None
    client_cert: str | None = None
    client_key: str | None = None
    proxy: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a multipart body: bytes, or a file that is read while it is sent."""

    name: str
    content: bytes | Path
    filename: str | None = None
    content_type: str | None = None


def _anywhere(url: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked. It holds secrets, so it is never shown.

    `timeout` bounds everything, `connect_timeout` the way to the server (its name, its port, TLS),
    `silence` the time without a single byte of the answer. `max_bytes` bounds the body, also once
    it is unpacked. `redirects` says how many are followed; a write follows none. `reaches` is asked
    of each place that the request would go to. `heard` is given the pieces of an answer as they
    come, if its status is a success and it is not packed.
    """

    method: str
    url: str = field(repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    content: bytes = field(default=b"", repr=False)
    parts: tuple[Part, ...] = field(default=(), repr=False)
    timeout: float = WHOLE_SECONDS
    connect_timeout: float = CONNECT_SECONDS
    silence: float | None = None
    max_bytes: int = MOST_BYTES
    redirects: int = 0
    way: Way = field(default=Way(), repr=False)
    reaches: Callable[[str], bool] = _anywhere
    heard: Callable[[bytes], None] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer. Names of headers are in lower case; several values are joined by `, `."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str
    elapsed: float


class Refused(Exception):
    """The request is not sent at all, or not to where it was redirected: it is wrong itself."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Unanswered(Exception):
    """No whole answer came. `status` is there when at least that had come."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        timed_out: bool = False,
        lasting: bool = False,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.timed_out = timed_out
        self.lasting = lasting


class NotSent(Unanswered):
    """There was no connection, so nothing of the request has left; `lasting` when it is no use."""


class Lost(Unanswered):
    """The request went out, in part at least, and no whole answer came back."""


class TimedOut(Lost):
    """The request went out and there was no whole answer in time."""


class TooLarge(Unanswered):
    """The answer is larger than allowed; the rest of it was not read."""


class Garbled(Unanswered):
    """The answer came, but it is packed in a way that cannot be undone."""


def basic(user: str, password: str) -> str:
    """Return the value of a header that says who we are by name and password."""
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode()


__all__ = [
    "CONNECT_SECONDS",
    "MOST_BYTES",
    "WHOLE_SECONDS",
    "Answer",
    "Garbled",
    "Lost",
    "NotSent",
    "Part",
    "Refused",
    "Request",
    "TimedOut",
    "TooLarge",
    "Unanswered",
    "Way",
    "basic",
]
