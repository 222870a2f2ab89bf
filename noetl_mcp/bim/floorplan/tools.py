"""The tools around floor plans: what each is for, and what it answers. Knows no protocol.

Every face (MCP over a pipe or HTTP, a step of a playbook, the command line) calls these, so all
take and refuse the same. A plan that is wrong is an answer, never an exception.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from noetl_mcp.bim.floorplan.answer import Answer
from noetl_mcp.bim.floorplan.edit.operations import Operation
from noetl_mcp.bim.floorplan.tool_arguments import (
    MOST_OPERATIONS,
    AnalyzeArguments,
    ExportArguments,
    PlanArguments,
    RenderArguments,
    ValidateArguments,
    checked,
)


class ModifyArguments(PlanArguments):
    """How a plan is changed."""

    operations: list[Operation] = Field(
        max_length=MOST_OPERATIONS, description="What to do, in order."
    )
    atomic: bool = Field(False, description="When one operation fails, apply none.")


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: its name, what it is for, what it is told and what it does."""

    name: str
    title: str
    description: str
    arguments: type[PlanArguments]
    answer: Callable[[Any], Answer]

    @property
    def input_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of its arguments."""
        return self.arguments.model_json_schema(by_alias=True)

    def call(self, given: Mapping[str, Any] | None) -> Answer:
        """Do it; raise WrongArguments for what it does not take."""
        return self.answer(checked(self.arguments, given))


def _render(asked: RenderArguments) -> Answer:
    from noetl_mcp.bim.floorplan.rendering import rendered

    return rendered(asked)


def _validate(asked: ValidateArguments) -> Answer:
    from noetl_mcp.bim.floorplan.validate import validate

    return Answer(validate(asked.dsl, raw=asked.raw))


def _modify(asked: ModifyArguments) -> Answer:
    from noetl_mcp.bim.floorplan.edit.modify import modify

    return Answer(modify(asked.dsl, asked.operations, atomic=asked.atomic))


def _analyze(asked: AnalyzeArguments) -> Answer:
    from noetl_mcp.bim.floorplan.analyze import analyze

    return Answer(analyze(asked.dsl, asked.area_unit, asked.include_room_details, raw=asked.raw))


def _export(asked: ExportArguments) -> Answer:
    from noetl_mcp.bim.floorplan.exporting import exported

    return exported(asked)


TOOLS: tuple[Tool, ...] = (
    Tool(
        "render_floorplan",
        "Draw a floor plan",
        "Draw a floor plan: a PNG to look at (or SVG or DXF as text), and the rooms with their "
        "sizes, walls and positions. A plan that cannot be read gives success: false and every "
        "error with its line and column.",
        RenderArguments,
        _render,
    ),
    Tool(
        "validate_floorplan",
        "Check a floor plan",
        "Check a floor plan without drawing it: every error and warning with its line and column. "
        "Quick enough to be called after each change.",
        ValidateArguments,
        _validate,
    ),
    Tool(
        "modify_floorplan",
        "Change a floor plan",
        "Change a floor plan's text by operations: add, remove, rename, move and resize rooms, "
        "walls, labels, connections, styles, floors, stairs and lifts. Comments and layout stay, "
        "references are repaired, and the result is checked; changes[] says what became of each "
        "operation. The text comes back as dsl; nothing is stored.",
        ModifyArguments,
        _modify,
    ),
    Tool(
        "analyze_floorplan",
        "Measure a floor plan",
        "Measure a floor plan: areas, bounding boxes and efficiency of each floor, and the rooms "
        "with their areas, in true units.",
        AnalyzeArguments,
        _analyze,
    ),
    Tool(
        "export_floorplan",
        "Export a floor plan",
        "Turn a floor plan into data (JSON), a CAD drawing (DXF) or a building model (IFC) with "
        "storeys, walls, openings, doors, windows and spaces. DXF and IFC come as text.",
        ExportArguments,
        _export,
    ),
)


def tool(name: str) -> Tool | None:
    """Return a tool by its name."""
    return next((one for one in TOOLS if one.name == name), None)
