"""One request and what answers it: who asks, what was sent, a desk to work at. Knows no route."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from noetl_mcp.broker.desk import By
from noetl_mcp.broker.givable import wrong_set
from noetl_mcp.catalog.access import Tokens, may
from noetl_mcp.database import Error
from noetl_mcp.diagnostics import closest
from noetl_mcp.web.bodies import body_of, gone
from noetl_mcp.web.desks import Desks, Station
from noetl_mcp.web.faults import Fault, refused
from noetl_mcp.web.guard import Caller
from noetl_mcp.web.refusals import KNOWN, fault_of, fault_of_values

MOST_BODY = 16 * 1024 * 1024
MOST_BATCH = 128 * 1024 * 1024
MOST_NAME = 2_000
MOST_VERSION = 2**31 - 1
SECONDS = 60
MOST_SECONDS = 600
_LARGE = 256 * 1024
_WHOLE = re.compile(r"-?[0-9]{1,19}")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Talk:
    """A request that came past the guard."""

    request: Request
    desks: Desks
    caller: Caller

    @property
    def by(self) -> By:
        """Who asks, as it is written down."""
        return By(self.caller.who, "web")

    @property
    def number(self) -> int:
        """The execution that the path names."""
        return whole(self.request.path_params["number"], "the number of an execution")

    async def holds(self) -> bool:
        """Whether he who asks may still ask: a token may be revoked, or its time be over."""
        token = self.caller.token
        if token is None:
            return True
        return await self.desks.ask(
            lambda at: Tokens(at.connection).known(token) is not None, reads=True
        )

    async def ask(self, doing: Callable[[Station], T]) -> T:
        """Do something at a desk; what only reads may be done twice."""
        return await self.desks.ask(doing, reads=self.request.method == "GET")

    async def body(self, *keys: str, most: int = MOST_BODY) -> dict[str, Any]:
        """Return the map that was sent; refuse keys that are not among those expected."""
        value = await self.value(most=most)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise Fault(400, "not-a-map", "the body must be a JSON object")
        for key in value:
            if key not in keys:
                near = closest(key, keys)
                more = f"; did you mean '{near}'?" if near else ""
                message = f"there is no field '{key[:100]}'{more}"
                raise Fault(400, "unknown-field", message, allowed=keys)
        return value

    async def value(self, *, most: int = MOST_BODY) -> Any:
        """Return the JSON that was sent; None when nothing was."""
        raw = await self.raw(most)
        if not raw.strip():
            return None
        kind = self.request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json" and not kind.endswith("+json"):
            raise Fault(415, "not-json", "send JSON, with Content-Type: application/json")
        return _read(raw) if len(raw) < _LARGE else await asyncio.to_thread(_read, raw)

    async def gone(self) -> None:
        """Wait until the client has left; to be called when its body has come."""
        await gone(self.request)

    async def raw(self, most: int) -> bytes:
        """Return the bytes that were sent, no more than so many."""
        return await body_of(self.request, most)

    def query(self, *names: str) -> Mapping[str, str]:
        """Return what stands behind the question mark; refuse names that are not expected."""
        found = self.request.query_params
        for name in found:
            if name not in names:
                raise Fault(
                    400, "unknown-parameter", f"there is no parameter '{name[:100]}'", allowed=names
                )
            word(found[name], name, most=MOST_NAME)
        return found


def _read(raw: bytes) -> Any:
    """Return the JSON of a body; refuse what no database could keep."""
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as problem:
        raise Fault(400, "not-json", f"the body is not JSON: {problem}") from None
    place = _nul(value) if b"\\u0000" in raw else None
    if place is not None:
        raise Fault(400, "wrong-value", f"the body holds a NUL character, at '{place[:200]}'")
    return value


def _nul(value: Any) -> str | None:
    """Return the place of a NUL character; one in a key stands at its map."""
    pending = [("$", value)]
    while pending:
        place, one = pending.pop()
        if isinstance(one, str) and "\0" in one:
            return place
        if isinstance(one, list):
            pending += [(f"{place}[{number}]", child) for number, child in enumerate(one)]
        elif isinstance(one, dict):
            if any("\0" in key for key in one):
                return place
            pending += [(f"{place}.{key}", child) for key, child in one.items()]
    return None


Does = Callable[[Talk], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Door:
    """One route: method and path, which role may use it, what it does, what is said of it."""

    method: str
    path: str
    needs: str | None
    does: Does
    says: str

    def opened(self, desks: Desks) -> Callable[[Request], Awaitable[Response]]:
        """Return what answers requests."""

        async def answer(request: Request) -> Response:
            caller: Caller = request.scope["state"]["caller"]
            try:
                if self.needs is not None and not may(caller.role, self.needs):
                    raise Fault(403, "not-yours", f"this is for the role '{self.needs}'")
                for name, part in request.path_params.items():
                    word(part, name, most=MOST_NAME)
                return await self.does(Talk(request, desks, caller))
            except Fault as fault:
                return refused(fault)
            except HTTPException as problem:
                return refused(Fault(problem.status_code, "refused", problem.detail))
            except ClientDisconnect:
                return Response(status_code=408)  # nobody is there to read it
            except KNOWN as problem:
                return refused(fault_of(problem))
            except Error as problem:
                wrong = fault_of_values(problem)
                if wrong is None:
                    raise
                return refused(wrong)

        return answer


def whole(text: Any, what: str, *, least: int = 1, most: int = 2**63 - 1) -> int:
    """Return a whole number that was sent as a number or as text."""
    is_number = isinstance(text, int) and not isinstance(text, bool)
    if isinstance(text, str) and _WHOLE.fullmatch(text):
        text, is_number = int(text), True
    if not is_number or not least <= text <= most:
        raise Fault(400, "wrong-value", f"{what} must be a whole number of {least} to {most}")
    return int(text)


def version_of(given: Any, what: str = "'version'") -> int | None:
    """Return which version of a playbook is meant; None is the latest."""
    return None if given is None else whole(given, what, most=MOST_VERSION)


class Which(NamedTuple):
    """Which playbook is meant: a text, or a version of one of the catalog."""

    content: str | None
    path: str | None
    version: int | None

    @property
    def name(self) -> str:
        """What it is called where it is spoken of."""
        return self.path or "<content>"


def which_of(body: Mapping[str, Any]) -> Which:
    """Return which playbook is meant; None as version is the latest."""
    content = word(body.get("content"), "content")
    if content is None:
        return Which(None, needed(body.get("path"), "path"), version_of(body.get("version")))
    if body.get("path") is not None or body.get("version") is not None:
        raise Fault(400, "wrong-value", "'content' says which playbook; leave 'path' out")
    return Which(content, None, None)


def seconds_of(body: Mapping[str, Any]) -> int:
    """Return how long something may take."""
    return whole(body.get("seconds", SECONDS), "'seconds'", most=MOST_SECONDS)


def sets_of(given: Any) -> Sequence[str]:
    """Return values to lay over a payload, each such as `k=v`."""
    if given is None:
        return ()
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        raise Fault(400, "wrong-value", "'set' must be a list of texts such as 'k=v'")
    for number, one in enumerate(given):
        wrong = wrong_set(one)
        if wrong is not None:
            raise Fault(400, "wrong-value", f"'set[{number}]' {wrong}")
    return given


def word(value: Any, what: str, *, most: int = MOST_BODY) -> str | None:
    """Return a text that was sent, or None when it was not."""
    if isinstance(value, str) and len(value) > most:
        raise Fault(400, "wrong-value", f"'{what}' may have {most:,} characters at most")
    if value is None or isinstance(value, str):
        return value
    raise Fault(400, "wrong-value", f"'{what}' must be a text")


def needed(value: Any, what: str, *, most: int = MOST_NAME) -> str:
    """Return a text that must have been sent."""
    found = word(value, what, most=most)
    if not found:
        raise Fault(400, "missing", f"'{what}' is needed")
    return found


def yes(value: Any, what: str, *, otherwise: bool = False) -> bool:
    """Return a yes or no that was sent, in JSON or behind the question mark."""
    if value is None:
        return otherwise
    if isinstance(value, bool):
        return value
    if value in ("1", "true", "yes", "0", "false", "no"):
        return value in ("1", "true", "yes")
    raise Fault(400, "wrong-value", f"'{what}' must be true or false")


__all__ = [
    "MOST_BATCH",
    "MOST_BODY",
    "MOST_NAME",
    "Does",
    "Door",
    "Talk",
    "Which",
    "needed",
    "seconds_of",
    "sets_of",
    "version_of",
    "which_of",
    "whole",
    "word",
    "yes",
]
