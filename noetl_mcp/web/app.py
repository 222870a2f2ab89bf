"""All doors behind one guard, as an ASGI application."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from noetl_mcp.assembly import Home
from noetl_mcp.catalog.access import Holder, Tokens
from noetl_mcp.database import Error, NotReachable
from noetl_mcp.mcp.over_http import Mounted
from noetl_mcp.web import acts, catalogue, executions, keys, reading, taping, trying, watching
from noetl_mcp.web.desks import Desks
from noetl_mcp.web.faults import Fault, refused
from noetl_mcp.web.guard import Guard, Policy
from noetl_mcp.web.talk import Door

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

FLOORPLAN = "/mcp/floorplan"
"""Where the MCP server of floor plans answers; it keeps nothing, so whoever may look may use it."""
DOORS: tuple[Door, ...] = (
    *trying.DOORS,
    *taping.DOORS,
    *executions.DOORS,
    *acts.DOORS,
    *catalogue.DOORS,
    *reading.DOORS,
    *keys.DOORS,
    *watching.DOORS,
)


def application(
    home: Home, policy: Policy | None = None, more: Sequence[BaseRoute] = ()
) -> ASGIApp:
    """Return the application of an installation; `more` routes stand behind the same guard."""
    desks = Desks(home)
    floorplan = Mounted(FLOORPLAN, _floorplan)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await floorplan.close()
            await desks.apart.close()
            desks.close()

    async def known(token: str) -> Holder | None:
        try:
            return await desks.ask(lambda at: Tokens(at.connection).known(token), reads=True)
        except (Error, NotReachable):
            raise Fault(503, "not-reachable", "the database cannot be reached; try again") from None

    app = Starlette(
        routes=[*_routes(desks), floorplan.route, *more],
        lifespan=lifespan,
        exception_handlers={404: _not_found, 405: _not_so, Exception: _broken},
    )
    return Guard(app, policy or Policy(), known)


def _routes(desks: Desks) -> list[Route]:
    by_path: dict[str, list[Door]] = {}
    for door in DOORS:
        by_path.setdefault(door.path, []).append(door)
    return [_route(desks, path, doors) for path, doors in by_path.items()]


def _route(desks: Desks, path: str, doors: list[Door]) -> Route:
    """Return one route with all methods of a path, so that a wrong one is told so."""
    answers = {door.method: door.opened(desks) for door in doors}

    async def endpoint(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        return await answers[method](request)

    return Route(path, endpoint, methods=list(answers))


def _floorplan() -> "Server[Any]":
    from noetl_mcp.mcp.floorplan import server

    return server()


async def _not_found(request: Request, problem: Exception) -> Response:
    return refused(Fault(404, "no-such-route", "there is nothing here; see docs/reference/api.md"))


async def _not_so(request: Request, problem: Exception) -> Response:
    allowed = (getattr(problem, "headers", None) or {}).get("Allow", "")
    methods = [one.strip() for one in allowed.split(",") if one.strip()]
    return refused(Fault(405, "wrong-method", f"{request.method} is not for this", allowed=methods))


async def _broken(request: Request, problem: Exception) -> Response:
    answer = refused(Fault(500, "broken", "something went wrong here; the server's log says more"))
    answer.headers["Connection"] = "close"  # the server resets it, so nothing is to be sent on it
    return answer


__all__ = ["DOORS", "FLOORPLAN", "application"]
