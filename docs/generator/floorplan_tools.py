"""The page of the tools around floor plans, from the tools themselves."""

from generator.markdown import code, page, table
from generator.types import keys_of
from noetl_mcp.bim.floorplan.edit.convert import MOST_PAIRS
from noetl_mcp.bim.floorplan.edit.modify import MOST_SIGNS
from noetl_mcp.bim.floorplan.exporting import MOST_PARTS
from noetl_mcp.bim.floorplan.rendering import MOST_STAIRS
from noetl_mcp.bim.floorplan.tool_arguments import LONGEST_TEXT, MOST_OPERATIONS, WIDEST
from noetl_mcp.bim.floorplan.tools import TOOLS, Tool

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
| floors, rooms, listed walls, connections, stairs and lifts (12 and more each) of a DXF or IFC | \
{MOST_PARTS:,} |
| stairs on a drawing | {MOST_STAIRS:,} |
| width and height of a picture | {WIDEST:,} pixels |
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
