"""The page of the tools around floor plans, from the tools themselves."""

from generator.markdown import code, page, table
from generator.types import keys_of
from noetl_mcp.bim.floorplan.checks.registry import MOST
from noetl_mcp.bim.floorplan.drawing.counts import MOST_FLOORS, MOST_ROOMS, MOST_STAIRS, MOST_STEPS
from noetl_mcp.bim.floorplan.drawing.effort import MOST_EFFORT
from noetl_mcp.bim.floorplan.drawing.floor_layers import MOST_OVERLAPS
from noetl_mcp.bim.floorplan.drawing.floor_letters import MOST_NAMED, MOST_NUMBERS
from noetl_mcp.bim.floorplan.edit.convert import MOST_PAIRS
from noetl_mcp.bim.floorplan.edit.modify import MOST_SIGNS
from noetl_mcp.bim.floorplan.exporting import MOST_PARTS
from noetl_mcp.bim.floorplan.tool_arguments import LONGEST_TEXT, MOST_OPERATIONS, WIDEST
from noetl_mcp.bim.floorplan.tools import TOOLS, Tool
from noetl_mcp.lettering.raster import LONGEST_SIDE, MOST_PIXELS
from noetl_mcp.mcp.floorplan import AT_ONCE

_HEAD = f"""
What `noetl-mcp mcp floorplan` offers over standard input and output, and `noetl-mcp serve` at
`/mcp/floorplan`. Steps of the type [`floorplan`](task-types.md#floorplan) and
[`noetl-mcp floorplan`](cli.md#floorplan) call the same tools. All of them only read: a changed plan
comes back as text, and nothing is stored.

Every answer is JSON, twice: as the last text of the content, and as `structuredContent`. A picture
or a long text (SVG, DXF, IFC) comes before it, as an item of its own. A plan that is wrong is an
answer with `success: false` (of `validate_floorplan`: `valid: false`), and every entry of `errors`
has a `message` and, where it has a place, `line` and `column`, which count from 1. Arguments that
are wrong are an error of the call, which names each with its place: `'operations[0].params.width':
this must be a number or a length with its unit, such as "9.5ft"`.

The resource `floorplan://schema` is [the language](floorplan-language.md) in Markdown.

| bound | |
|---|---|
| length of a plan | {LONGEST_TEXT:,} signs |
| operations in a call | {MOST_OPERATIONS:,} |
| operations in a call, times the length of the plan | {MOST_SIGNS:,} signs |
| rooms that `convert_to_relative` converts, times all beside them | {MOST_PAIRS:,} |
| parts of a DXF or IFC: floors (6 each), rooms, listed walls, connections, stairs and lifts (12 \
and more each) | {MOST_PARTS:,} |
| floors on a drawing | {MOST_FLOORS:,} |
| rooms on a drawing | {MOST_ROOMS:,} |
| stairs on a drawing | {MOST_STAIRS:,} |
| steps of stairs on a drawing | {MOST_STEPS:,} |
| width and height asked of a picture | {WIDEST:,} pixels |
| height of a picture for which none is asked | {LONGEST_SIDE:,} pixels; then it is narrower |
| pixels of a picture | {MOST_PIXELS:,}; then it is smaller |
| estimated time of painting a picture | {MOST_EFFORT // 1_000_000:,} s |
| findings of one check | {MOST:,}, then it says that there are more |
| stairs and lifts of a floor that are named on a drawing | {MOST_NAMED:,}; `notes` tells of the \
others |
| rooms that are named by numbers and a legend | {MOST_NUMBERS:,}; `notes` tells of the others |
| overlaps of rooms that are hatched on a floor | {MOST_OVERLAPS:,}; `notes` tells of the others |
| calls at work at once at one MCP server | {AT_ONCE:,}; the others wait |

Whatever is beyond a bound is refused with a sentence, unless the table says otherwise. Within them
a call takes some seconds at most. One that has begun is not stopped when its client cancels it or
leaves; it comes to its end soon.
"""
_ANSWERS = {
    "render_floorplan": """
An image (`image/png`), or the SVG or DXF as text, and then:

| key | |
|---|---|
| `success` | whether there is a drawing |
| `format` | `png`, `svg` or `dxf` |
| `floorCount` | how many floors the plan has |
| `renderedFloor` | the index of the floor that was drawn, or `all` |
| `rooms` | of all floors, in the order of the text: `name`, `size`, `walls`, `position` as \
written, `resolvedPosition`, `relativePosition`, `label`, `sizeRef`, and `subRooms` with the \
same keys and `absolutePosition` |
| `summary` | `grossFloorArea`, `totalRoomCount`, `floorCount`, `areaUnit`, `lengthUnit` |
| `floorMetrics` | of each floor `id`, `index`, `roomCount`, `netArea`, `efficiency`, \
`boundingBox` |
| `notes` | what could not be drawn as the plan says, where there is something |
| `errors`, `warnings` | as `validate_floorplan` answers them |
""",
    "validate_floorplan": """
| key | |
|---|---|
| `valid` | whether there is no error |
| `errors` | `type`, `message`, `line`, `column`, `code`, and `roomName` or `variableName` where \
one is meant |
| `warnings` | the same; left out when there are none |

What is looked for stands in [Checks of floor plans](floorplan-checks.md).
""",
    "modify_floorplan": """
| key | |
|---|---|
| `success` | whether every operation was applied |
| `dsl` | the plan's text afterwards |
| `changes` | of each operation `action`, `target`, `result` (`applied` or `error`) and \
`message`, where something is to be told |
| `errors` | `message`, and `operation`, which counts from 0; left out when there are none |

What can be asked for stands in [Operations on floor plans](floorplan-operations.md).
""",
    "analyze_floorplan": """
| key | |
|---|---|
| `success` | whether the plan could be measured |
| `summary` | `floorCount`, `totalRooms`, `grossFloorArea`, `areaUnit` |
| `floors` | of each `id`, `index`, `roomCount`, `netArea`, `boundingBox`, `efficiency` |
| `rooms` | of each `name`, `floor`, `area`, `dimensions`, `volume` and `label` where it has them |
| `errors`, `warnings` | as `validate_floorplan` answers them |
""",
    "export_floorplan": """
The DXF or IFC as text, and then:

| key | |
|---|---|
| `success` | whether there is an export |
| `format` | `json`, `dxf` or `ifc` |
| `bytes` | how long the DXF or IFC is |
| `plan` | for `json`: floors, rooms, stairs, lifts, connections, styles and config, with their \
places in the text |
| `errors`, `warnings` | as `validate_floorplan` answers them |

DXF needs the extra `cad` (`pip install 'noetl-mcp[cad]'`), IFC the extra `bim`.
""",
}


def floorplan_tools_page() -> str:
    """Return the page of all tools."""
    listed = [(f"[`{one.name}`](#{one.name})", one.title) for one in TOOLS]
    return page(
        "The tools around floor plans", _HEAD, table(("tool", ""), listed), *map(_section, TOOLS)
    )


def _section(one: Tool) -> str:
    rows = [
        (key.cell, _type(key.name, key.type), key.default_text, key.description)
        for key in keys_of(one.arguments)
    ]
    return "\n\n".join(
        (
            f"## {one.name}",
            one.description,
            table(("argument", "type", "default", ""), rows),
            "It answers:",
            _ANSWERS[one.name].strip(),
        )
    )


def _type(name: str, said: str) -> str:
    if name == "operations":
        return "list of [operations](floorplan-operations.md)"
    return said or code("text")
