"""Addresses that are to be called when an execution has ended: which are due, and what came of it.

Rows come with the start of an execution and become due with its end, in the same transactions.
Sends nothing itself.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from noetl_mcp.broker.show import moment
from noetl_mcp.broker.tokens import signature
from noetl_mcp.database import Connection, TupleRow, statements
from noetl_mcp.queue.encode import decode, encode
from noetl_mcp.queue.lease import Status

SQL = statements(__file__, "end_calls.sql")
DELAYS = (10, 30, 90, 270, 810, 2430, 7290, 18_000, 18_000, 18_000, 18_000)
"""So many seconds after a failed call comes the next one, and after the last none: a day in all."""
TRIES = len(DELAYS) + 1
CLAIMED = 60.0
"""Who claimed a call has so many seconds to make it and to say what came of it."""
SIGNATURE = "X-Noetl-Signature"
_LONGEST = 2_000


class EndCall(NamedTuple):
    """One call that was claimed: of which round of which execution, and what it tells."""

    execution_id: int
    round: int
    url: str
    tries: int
    status: int
    result: str | None
    error: str | None
    ended_at: datetime
    path: str | None
    version: int | None

    def body(self) -> bytes:
        """Return what is told; the same for every try."""
        told: dict[str, Any] = {
            "execution_id": str(self.execution_id),
            "round": self.round,
            "path": self.path,
            "version": self.version,
            "status": Status(self.status).name.lower(),
        }
        if self.result is not None and self.result.startswith("@"):
            told["result_ref"] = self.result[1:]
        else:
            told["result"] = None if self.result is None else decode(self.result)
        told["error"] = None if self.error is None else decode(self.error)
        told["ended_at"] = moment(self.ended_at)
        return encode(told).encode()

    def headers(self, body: bytes, seal: str, secret: str) -> tuple[tuple[str, str], ...]:
        """Return what comes with it: the same key for every try of a round, and the signature."""
        return (
            ("Content-Type", "application/json"),
            ("Idempotency-Key", f"{seal}{self.execution_id}-end-{self.round}"),
            (SIGNATURE, f"sha256={signature(secret, body)}"),
        )


def wrong_address(url: str) -> str | None:
    """Return why an address cannot be called; None when it can."""
    try:
        place = urlsplit(url)
        is_one = place.scheme in ("http", "https") and bool(place.hostname)
        is_one = is_one and (place.port is None or place.port > 0)
    except ValueError:
        is_one = False
    if not is_one or len(url) > _LONGEST or any(one.isspace() for one in url):
        return "the address to be called at the end begins with http:// or https:// and a server"
    return None


def place_of(url: str) -> str:
    """Return whose address it is; what else stands in it may be secret."""
    try:
        place = urlsplit(url)
        port = f":{place.port}" if place.port else ""
    except ValueError:
        return "the address"
    return f"{place.scheme}://{place.hostname}{port}"


def next_in(connection: Connection[TupleRow], only: Sequence[int] | None) -> float | None:
    """Return in how many seconds a call is due; None when there is none."""
    row = connection.execute(SQL["next"].encode(), {"only": _listed(only)}).fetchone()
    return None if row is None else row[0]


def claim(connection: Connection[TupleRow], only: Sequence[int] | None, most: int) -> list[EndCall]:
    """Take calls that are due, so that nobody else makes them now."""
    values = {"only": _listed(only), "most": most, "lease": CLAIMED}
    return [EndCall(*row) for row in connection.execute(SQL["claim"].encode(), values).fetchall()]


def called(connection: Connection[TupleRow], call: EndCall) -> None:
    """Say that an address was called."""
    _over(connection, call, f"{place_of(call.url)} was called at the end (try {call.tries})")


def not_called(
    connection: Connection[TupleRow], call: EndCall, why: str, *, lasting: bool = False
) -> None:
    """Say that a call failed: it is made again later, or given up when that is no use any more."""
    if lasting or call.tries >= TRIES:
        said = f"{place_of(call.url)} could not be called at the end"
        _over(connection, call, f"{said}; given up after try {call.tries}: {why}")
        return
    values = {"delay": DELAYS[call.tries - 1], "said": why, "tries": call.tries}
    connection.execute(
        SQL["later"].encode(), {"id": call.execution_id, "round": call.round, **values}
    )


def _over(connection: Connection[TupleRow], call: EndCall, text: str) -> None:
    data = encode({"text": text, "stream": "noetl"})
    values = {"id": call.execution_id, "round": call.round, "data": data}
    connection.execute(SQL["over"].encode(), values)


def _listed(only: Sequence[int] | None) -> list[int] | None:
    return None if only is None else list(only)


__all__ = [
    "SIGNATURE",
    "SQL",
    "TRIES",
    "EndCall",
    "called",
    "claim",
    "next_in",
    "not_called",
    "place_of",
    "wrong_address",
]
