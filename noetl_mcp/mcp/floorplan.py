"""The MCP server of floor plans: five tools and one resource. It keeps nothing and writes nothing.

The tools themselves know no protocol and stand in `bim/floorplan/tools.py`; here they are offered,
called in a few threads so that the connection stays awake, and their answers are wrapped. A call
that has begun comes to its end, whoever has left: each is bounded to seconds.
"""

import base64
import json
from functools import cache, partial
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from noetl_mcp import __version__
from noetl_mcp.bim.floorplan.answer import Answer
from noetl_mcp.bim.floorplan.tool_arguments import WrongArguments
from noetl_mcp.bim.floorplan.tools import TOOLS, Tool, tool

NAME = "noetl-mcp-floorplan"
SCHEMA_URI = "floorplan://schema"
AT_ONCE = 4
"""So many calls are at work at once, for each needs memory; the others wait."""
INSTRUCTIONS = (
    "Floor plans as text. Read floorplan://schema for the language. A good loop: write a plan, "
    "validate_floorplan, render_floorplan and look at the picture, modify_floorplan with small "
    "operations, and render again."
)
_MARKDOWN = "text/markdown"
_ALWAYS_THE_SAME = CacheHint(ttl_ms=3_600_000, scope="public")

Context = ServerRequestContext[Any]


def server() -> Server[Any]:
    """Return a server that is ready to serve connections."""
    turns = anyio.CapacityLimiter(AT_ONCE)
    return Server(
        NAME,
        version=__version__,
        title="Floor plans",
        description="Draw, check, change and measure floor plans.",
        instructions=INSTRUCTIONS,
        cache_hints={
            "tools/list": _ALWAYS_THE_SAME,
            "resources/list": _ALWAYS_THE_SAME,
            "resources/templates/list": _ALWAYS_THE_SAME,
            "resources/read": _ALWAYS_THE_SAME,
        },
        on_list_tools=_list_tools,
        on_call_tool=partial(_call_tool, turns),
        on_list_resources=_list_resources,
        on_list_resource_templates=_list_templates,
        on_read_resource=_read_resource,
    )


async def _list_tools(
    context: Context, params: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[_offered(one) for one in TOOLS])


@cache
def _offered(one: Tool) -> types.Tool:
    return types.Tool(
        name=one.name,
        title=one.title,
        description=one.description,
        input_schema=one.input_schema,
        annotations=types.ToolAnnotations(
            title=one.title,
            read_only_hint=True,
            destructive_hint=False,
            idempotent_hint=True,
            open_world_hint=False,
        ),
    )


async def _call_tool(
    turns: anyio.CapacityLimiter, context: Context, params: types.CallToolRequestParams
) -> types.CallToolResult:
    found = tool(params.name)
    if found is None:
        names = ", ".join(one.name for one in TOOLS)
        return _refused(f"there is no tool '{params.name[:100]}'; there are {names}")
    try:
        answer = await anyio.to_thread.run_sync(found.call, params.arguments, limiter=turns)
    except WrongArguments as wrong:
        return _refused(f"{params.name} does not take this: {wrong}")
    return _answered(answer)


def _answered(answer: Answer) -> types.CallToolResult:
    content: list[types.ContentBlock] = []
    if answer.picture is not None:
        picture = base64.b64encode(answer.picture).decode()
        content.append(types.ImageContent(type="image", data=picture, mime_type="image/png"))
    if answer.text is not None:
        content.append(types.TextContent(type="text", text=answer.text))
    facts = dict(answer.facts)
    content.append(types.TextContent(type="text", text=json.dumps(facts, ensure_ascii=False)))
    return types.CallToolResult(content=content, structured_content=facts)


def _refused(says: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=says)], is_error=True)


async def _list_resources(
    context: Context, params: types.PaginatedRequestParams | None
) -> types.ListResourcesResult:
    schema = types.Resource(
        uri=SCHEMA_URI,
        name="floorplan-schema",
        title="The language of floor plans",
        description="The whole language with examples: structure, rooms, walls, connections, "
        "stairs, lifts, styles, config and units.",
        mime_type=_MARKDOWN,
    )
    return types.ListResourcesResult(resources=[schema])


async def _list_templates(
    context: Context, params: types.PaginatedRequestParams | None
) -> types.ListResourceTemplatesResult:
    return types.ListResourceTemplatesResult(resource_templates=[])


async def _read_resource(
    context: Context, params: types.ReadResourceRequestParams
) -> types.ReadResourceResult:
    if str(params.uri) != SCHEMA_URI:
        raise MCPError(
            types.INVALID_PARAMS, f"there is no resource '{params.uri}', only {SCHEMA_URI}"
        )
    from noetl_mcp.bim.floorplan.schema_text import schema_text  # only who reads it waits for it

    text = types.TextResourceContents(uri=SCHEMA_URI, mime_type=_MARKDOWN, text=schema_text())
    return types.ReadResourceResult(contents=[text])
