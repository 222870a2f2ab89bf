"""A real MCP server on the official SDK: `good.py [stdio]`, or `good.py http [json] [stateless]`.

Over HTTP it writes its URL. The folder in `NOTES` gets a line for each call of some tools.
"""

import asyncio
import os
import socket
import sys
from pathlib import Path
from typing import Any

from noetl_mcp.mcp.lean import lean

with lean():  # dozens of tests wait for one of these
    import mcp_types as types
    from mcp.server.mcpserver import Context, Image, MCPServer
    from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("good", log_level="CRITICAL")
READS = types.ToolAnnotations(read_only_hint=True)
TWICE = types.ToolAnnotations(idempotent_hint=True)


def note(text: str) -> None:
    """Leave a line where the test can read it."""
    folder = os.environ.get("NOTES")
    if folder:
        with (Path(folder) / "notes").open("a") as notes:
            notes.write(text + "\n")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    note("add")
    return a + b


@server.tool()
def door(mark: str, width: float | None = None) -> dict[str, Any]:
    """Give a door back."""
    return {"mark": mark, "width": width, "tags": [mark, None, True]}


@server.tool(structured_output=False)
def says_json() -> str:
    """Give JSON as text, as servers did before there was structured content."""
    return '{"level": 2}'


@server.tool(structured_output=False)
def says(text: str) -> str:
    """Give a text back."""
    return text


@server.tool(structured_output=False)
def picture() -> list[Any]:
    """Give a picture and a text."""
    return ["a wall", Image(data=b"\x89PNG", format="png")]


@server.tool(structured_output=False)
def large(size: int) -> str:
    """Give a text of a size."""
    return "x" * size


@server.tool()
def fail(why: str) -> str:
    """Fail with a reason."""
    raise ToolError(why)


@server.tool(structured_output=False)
def who() -> str:
    """Give the process that answers."""
    return str(os.getpid())


@server.tool(structured_output=False)
def environment() -> str:
    """Give the names of all variables, and the folder."""
    return " ".join(sorted(os.environ)) + " in " + os.getcwd()


@server.tool(structured_output=False)
async def slow(seconds: float, ctx: Context[Any]) -> str:
    """Work for a while and tell how far it is."""
    note("slow begins")
    try:
        for step in range(1, 4):
            await ctx.report_progress(step, 3, f"part {step}")
            await asyncio.sleep(seconds / 3)
    except asyncio.CancelledError:
        note("slow is cancelled")
        raise
    return "done"


@server.tool(structured_output=False)
def die() -> str:
    """End in the middle of a call."""
    note("die")
    sys.stderr.write("the roof is on fire\n")
    sys.stderr.flush()
    os._exit(3)


@server.tool(structured_output=False, annotations=READS)
def die_once() -> str:
    """End in the middle of the second call of all, and never again."""
    return _die_once("die_once")


@server.tool(structured_output=False, annotations=TWICE)
def die_once_twice_is_fine() -> str:
    """The same, for a tool that writes and may be called twice."""
    return _die_once("die_once_twice_is_fine")


@server.tool(structured_output=False)
def die_once_for_good() -> str:
    """The same, for a tool that must not be called twice."""
    return _die_once("die_once_for_good")


def _die_once(name: str) -> str:
    note(name)
    before = (Path(os.environ["NOTES"]) / "notes").read_text().count(name)
    if before == 2:
        os._exit(4)
    return f"call {before}"


@server.resource("doors://all", mime_type="application/json")
def doors() -> str:
    """All doors."""
    return '[{"mark": "D1"}]'


@server.resource("doors://{mark}")
def one_door(mark: str) -> str:
    """One door."""
    return f"door {mark}"


@server.resource("blob://it", mime_type="image/png")
def blob() -> bytes:
    """Some bytes."""
    return b"\x89PNG"


@server.prompt()
def ask(topic: str, tone: str = "plain") -> str:
    """Ask about a topic."""
    return f"Tell me about {topic}, {tone}."


def main() -> None:
    """Serve as the command line says."""
    if "http" not in sys.argv:
        server.run()
        return
    import uvicorn

    app = server.streamable_http_app(
        json_response="json" in sys.argv, stateless_http="stateless" in sys.argv
    )
    port = int(os.environ.get("PORT", "0"))
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", port))
    listening.listen(128)
    sys.stdout.write(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp\n")
    sys.stdout.flush()
    config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
