"""The routes of a headless Revit server, behind the guard. Knows no method but its own status.

What goes wrong is told as real servers do: `ok: false` with a code and a sentence.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TypeVar

import orjson
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from noetl_mcp.catalog.access import Holder
from noetl_mcp.web.bodies import body_of, gone
from noetl_mcp.web.faults import Fault, told
from noetl_mcp.web.guard import Guard, Policy
from noetl_mcp.web.headless.calls import Call, Order, WrongCall, answer_to, call_in, order_in
from noetl_mcp.web.headless.jobs import STATES, Full, Job, KeyTaken
from noetl_mcp.web.headless.model_thread import Gone, Leaving, ModelThread
from noetl_mcp.web.headless.room import MOST_COMING, MOST_LEAVING, Coming, Room, Taken
from noetl_mcp.web.headless.shown import Server, asks_status, health, line, row, status

MOST_BODY = 10_000_000
MOST_LISTED = 1_000
LISTED = 100
SOON = "1"
"""So many seconds later it is worth to ask again."""
_LARGE = 256 * 1024
T = TypeVar("T")
Does = Callable[[Request], Awaitable[Response]]


class Wire:
    """What answers requests about one open document."""

    def __init__(self, model: ModelThread, server: Server) -> None:
        self._model = model
        self._server = server
        self._coming = Room(MOST_COMING, "the bodies that are coming")
        self._leaving = Room(MOST_LEAVING, "the answers that are being taken")
        self._reads = asyncio.Semaphore(1)

    def routes(self) -> list[Route]:
        """Return every route."""
        return [
            Route("/", _told(self.health), methods=["GET"]),
            Route("/health", _told(self.health), methods=["GET"]),
            Route("/rpc", _told(self.rpc), methods=["POST"]),
            Route("/rpc/{method}", _told(self.rpc), methods=["POST"]),
            Route("/enqueue", _told(self.enqueue), methods=["POST"]),
            Route("/job/{id}", _told(self.job), methods=["GET"]),
            Route("/jobs", _told(self.jobs), methods=["GET"]),
            Route("/get_result", _told(self.result), methods=["GET"]),
        ]

    async def health(self, request: Request) -> Response:
        """Say who answers here."""
        return told(health(self._server))

    async def rpc(self, request: Request) -> Response:
        """Answer a call with its result."""
        path = request.path_params.get("method")
        call: Call = await self._read(request, partial(call_in, path=path))
        if asks_status(call):
            return _json(answer_to(call, self._status()))
        payload = await self._model.answer(call, partial(gone, request))
        return Taken(_json(answer_to(call, payload)), self._leaving)

    async def enqueue(self, request: Request) -> Response:
        """Give a ticket for a call."""
        order: Order = await self._read(request, order_in)
        if asks_status(order.call):
            return _json(self._status())
        who = health(self._server)
        ticket = {name: who[name] for name in ("ok", "serverPid", "serverPort")}
        return told({**ticket, "queued": True, "jobId": self._model.enqueue(order).id})

    async def job(self, request: Request) -> Response:
        """Tell how a job stands."""
        id_ = str(request.path_params["id"])
        found = self._model.jobs.job(id_)
        if found is None:
            raise Fault(404, "E_NOT_FOUND", "there is no such job; the oldest ones are forgotten")
        tag = f'"{found.state.lower()}"'
        headers = {"ETag": tag, "Cache-Control": "no-cache"}
        if not found.is_over:
            headers["Retry-After"] = SOON
        if _is_known(request.headers.get("if-none-match", ""), tag):
            return Response(status_code=304, headers=headers)
        is_large = found.size >= _LARGE
        if is_large:
            self._leaving.demand(found.size)
        answer = await asyncio.to_thread(_row, found) if is_large else _row(found)
        answer.headers.update(headers)
        return Taken(answer, self._leaving)

    async def jobs(self, request: Request) -> Response:
        """List jobs, the newest first."""
        asked = request.query_params.get("state", "").upper()
        state = next((one for one in STATES if one == asked), None)
        if asked and state is None:
            raise Fault(400, "E_BAD_STATE", f"'state' is one of {', '.join(STATES)}")
        most = _most(request.query_params.get("limit", ""))
        found = [line(job) for job in self._model.jobs.listed(state, most)]
        return told({"ok": True, "count": len(found), "jobs": found})

    async def result(self, request: Request) -> Response:
        """Return the result of a job; nothing while there is none."""
        found = self._model.jobs.job(request.query_params.get("jobId", ""))
        if found is None or found.outcome is None:
            return Response(status_code=204, headers={"Cache-Control": "no-store"})
        self._leaving.demand(found.size)
        return Taken(_json(answer_to(found.order.call, found.outcome.payload)), self._leaving)

    async def _read(self, request: Request, reads: Callable[[bytes], T]) -> T:
        """Return what a body says; nothing of the body itself is kept."""
        with Coming(self._coming) as coming:
            raw = await body_of(request, MOST_BODY, coming.grow)
            if len(raw) < _LARGE:
                return reads(raw)
            async with self._reads:  # what is read takes many times what its text has
                return await asyncio.to_thread(reads, raw)

    def _status(self) -> bytes:
        return status(self._server, self._model.jobs, self._model.clock())


def application(model: ModelThread, server: Server, policy: Policy | None = None) -> ASGIApp:
    """Return the application that answers for a document."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        running = asyncio.create_task(model.run())
        try:
            yield
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running

    async def known(token: str) -> Holder | None:
        return None

    app = Starlette(
        routes=Wire(model, server).routes(),
        lifespan=lifespan,
        exception_handlers={404: _not_found, 405: _not_so, Exception: _broken},
    )
    return Guard(app, policy or Policy(), known, _fault)


def _told(does: Does) -> Does:
    """Return what answers with `ok: false` where something is refused."""

    async def answer(request: Request) -> Response:
        try:
            return await does(request)
        except WrongCall as problem:
            return _refused(400, problem.code, str(problem))
        except KeyTaken as problem:
            return _refused(422, "E_IDEMPOTENCY_KEY_TAKEN", str(problem))
        except Full as problem:
            return _refused(503, "E_BUSY", f"{problem}; try again soon", **{"Retry-After": SOON})
        except Leaving:
            return _refused(503, "E_LEAVING", "the server is being stopped")
        except Fault as fault:
            return _fault(fault)
        except (ClientDisconnect, Gone):
            return Response(status_code=408)  # nobody is there to read it

    return answer


def _row(job: Job) -> Response:
    return told(row(job))


def _is_known(header: str, tag: str) -> bool:
    """Whether a client has what a tag stands for."""
    tags = [one.strip().removeprefix("W/") for one in header.split(",")]
    return "*" in tags or tag in tags


def _most(said: str) -> int:
    if not said:
        return LISTED
    if not (said.isascii() and said.isdigit() and 0 < int(said[:9]) <= MOST_LISTED):
        raise Fault(400, "E_BAD_LIMIT", f"'limit' is a whole number of 1 to {MOST_LISTED:,}")
    return int(said)


def _json(text: bytes) -> Response:
    return told(orjson.Fragment(text))


def _fault(fault: Fault) -> Response:
    return _refused(fault.status, fault.code.upper().replace("-", "_"), fault.message)


def _refused(status_code: int, code: str, says: str, **headers: str) -> Response:
    return told({"ok": False, "code": code, "msg": says}, status_code, **headers)


async def _not_found(request: Request, problem: Exception) -> Response:
    says = "there is nothing here; calls are posted to /rpc or /enqueue"
    return _refused(404, "E_NO_ROUTE", says)


async def _not_so(request: Request, problem: Exception) -> Response:
    allowed = (getattr(problem, "headers", None) or {}).get("Allow", "")
    says = f"{request.method} is not for this; take {allowed}"
    return _refused(405, "E_WRONG_METHOD", says, Allow=allowed)


async def _broken(request: Request, problem: Exception) -> Response:
    says = "something went wrong here; what the server prints says more"
    return _refused(500, "E_BROKEN", says, Connection="close")


__all__ = ["MOST_BODY", "MOST_LISTED", "Wire", "application"]
