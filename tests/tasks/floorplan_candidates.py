"""The floorplan type as a candidate of the exam: in this process, and at a server. One exam."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette

from noetl_mcp.mcp.floorplan import server
from noetl_mcp.mcp.over_http import Mounted
from noetl_mcp.tasks.exam import Candidate, Case
from noetl_mcp.tasks.floorplan import Floorplan
from noetl_mcp.tasks.mcp import Mcp
from noetl_mcp.tasks.registry import BUILT_IN
from noetl_mcp.web.serving import serve
from noetl_mcp.wire.addresses import bound

WALLS = "walls [top: solid, right: solid, bottom: door, left: window]"
PLAN = f"floorplan\n  floor f1 {{\n    room Office at (0,0) size (10 x 12) {WALLS}\n  }}\n"
BROKEN = PLAN.replace("solid", "glass", 1)
RESIZE = {"action": "resize_room", "target": "Office", "params": {"width": 15, "height": 15}}
NOBODY = {**RESIZE, "target": "Garage"}


def cases(where: Mapping[str, Any]) -> list[Case]:
    """Return calls of every action; `where` is added to the settings."""
    here = {"dsl": PLAN, **where}
    return [
        Case("a drawing", {"action": "render", "width": 200, **here}),
        Case("an SVG", {"action": "render", "format": "svg", **here}),
        Case("a check", {**where}, {"dsl": BROKEN}),
        Case("a file", {"action": "validate", "path": "plan.floorplan", **where}),
        Case("a change", {"action": "modify", "operations": [RESIZE], **here}),
        Case("measures", {"action": "analyze", "area_unit": "sqm", **here}),
        Case("data", {"action": "to_json", **here}),
        Case("a broken plan", {"action": "render", "dsl": BROKEN, **where}, ends="failed"),
        Case("no such room", {"action": "modify", "operations": [NOBODY], **here}, ends="failed"),
        Case("no such floor", {"action": "render", "floor": 7, **here}, ends="failed"),
        Case("no plan", {"action": "render", **where}, ends="failed"),
        Case("no file", {"action": "analyze", "path": "no.floorplan", **where}, ends="failed"),
        Case("a way out", {"action": "analyze", "path": "../a.floorplan", **where}, ends="failed"),
    ]


@asynccontextmanager
async def floorplan_server() -> AsyncIterator[str]:
    """Yield the address of a floor plan server."""
    mounted = Mounted("/mcp/floorplan", server)
    listening, left = bound("127.0.0.1", 0), asyncio.Event()
    port = listening.getsockname()[1]
    serving = asyncio.create_task(serve(Starlette(routes=[mounted.route]), listening, left))
    try:
        yield f"http://127.0.0.1:{port}/mcp/floorplan"
    finally:
        await mounted.close()
        left.set()
        await serving


@asynccontextmanager
async def floorplan(folder: Path, dsn: Callable[[], str]) -> AsyncIterator[Candidate]:
    (folder / "plan.floorplan").write_text(PLAN)
    asks = Mcp()
    yield Candidate(
        BUILT_IN["floorplan"], lambda: Floorplan(folders=[folder], mcp=lambda: asks), cases({})
    )
    await asks.close()


@asynccontextmanager
async def floorplan_elsewhere(folder: Path, dsn: Callable[[], str]) -> AsyncIterator[Candidate]:
    (folder / "plan.floorplan").write_text(PLAN)
    asks = Mcp()
    async with floorplan_server() as url:
        nowhere = {"dsl": PLAN, "endpoint": "http://127.0.0.1:1/mcp", "connect_timeout": 2}
        yield Candidate(
            BUILT_IN["floorplan"],
            lambda: Floorplan(folders=[folder], mcp=lambda: asks),
            [*cases({"endpoint": url}), Case("no server", nowhere, ends="failed")],
        )
        await asks.close()
