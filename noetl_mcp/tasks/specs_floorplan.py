"""The task type of floor plans. Describes it; reads no plan."""

from typing import Annotated, ClassVar, Literal

from pydantic import AliasChoices, Field

from noetl_mcp.bim.floorplan.one_of import OneOf
from noetl_mcp.bim.floorplan.words import AREA_UNITS, THEMES, UNITS
from noetl_mcp.playbook.values import Duration, Flag, Items, Number, OrTemplate, Text
from noetl_mcp.tasks.contract import TaskSpec
from noetl_mcp.tasks.setting_types import Natural, Positive, Url, Words
from noetl_mcp.tasks.settings_model import Group, SettingsModel


class FloorplanSettings(SettingsModel):
    """Draw, check, change, measure or export a floor plan."""

    at_most_one_of: ClassVar[tuple[Group, ...]] = (
        frozenset(("dsl", "path")),
        frozenset(("floor", "all_floors")),
    )

    action: Annotated[
        Literal["render", "validate", "modify", "analyze", "to_json", "to_dxf", "to_ifc"],
        OrTemplate(),
    ] = Field("validate", description="What to do with the plan.")
    dsl: Text | None = Field(
        None, description="The plan's text; `dsl` of the step's input when neither stands here."
    )
    path: Text | None = Field(None, description="The file the plan stands in.")
    operations: Items | None = Field(None, description="What `modify` does, in order.")
    atomic: Flag = Field(False, description="When one operation fails, none is applied.")
    format: Annotated[Literal["png", "svg"], OrTemplate()] = Field(
        "png", description="What `render` gives; a PNG comes in base64."
    )
    width: Positive = Field(800, description="The width of the picture in pixels.")
    height: Positive | None = Field(
        None, description="The greatest height of the picture in pixels; else as the plan is."
    )
    floor: Natural | None = Field(
        None,
        validation_alias=AliasChoices("floor", "floorIndex", "floor_index"),
        description="Which floor is drawn, from 0.",
    )
    all_floors: Flag = Field(
        False,
        validation_alias=AliasChoices("all_floors", "renderAllFloors"),
        description="Draw every floor.",
    )
    layout: Annotated[Literal["sideBySide", "stacked"], OrTemplate()] = Field(
        "sideBySide",
        validation_alias=AliasChoices("layout", "multiFloorLayout"),
        description="How several floors are put on one picture.",
    )
    show_area: Flag = Field(
        False,
        validation_alias=AliasChoices("show_area", "showArea"),
        description="Write the area into each room.",
    )
    show_dimensions: Flag | None = Field(
        None,
        validation_alias=AliasChoices("show_dimensions", "showDimensions"),
        description="Draw the dimensions; as the plan's config says when missing.",
    )
    show_summary: Flag = Field(
        False,
        validation_alias=AliasChoices("show_summary", "showFloorSummary"),
        description="Draw a panel with the sums of each floor.",
    )
    theme: Annotated[str, OneOf(THEMES), OrTemplate()] | None = Field(
        None, description="The colours; as the plan's config says when missing."
    )
    area_unit: Annotated[str, OneOf(AREA_UNITS), OrTemplate()] | None = Field(
        None,
        validation_alias=AliasChoices("area_unit", "areaUnit"),
        description="The unit of areas; the plan's own when missing.",
    )
    length_unit: Annotated[str, OneOf(UNITS), OrTemplate()] | None = Field(
        None,
        validation_alias=AliasChoices("length_unit", "lengthUnit"),
        description="The unit of lengths; the plan's own when missing.",
    )
    room_details: Flag = Field(
        True,
        validation_alias=AliasChoices("room_details", "includeRoomDetails"),
        description="Whether `analyze` lists every room.",
    )
    storey_height: Number | None = Field(
        None,
        validation_alias=AliasChoices("storey_height", "storeyHeight"),
        description="The height in metres, for `to_ifc`, of floors that name none.",
    )
    raw: Flag = Field(False, description="Take all numbers as they stand and ignore their units.")
    endpoint: Url | None = Field(
        None,
        validation_alias=AliasChoices("endpoint", "url"),
        description="The MCP server that does it; in this process when missing.",
    )
    headers: Words = Field(default_factory=dict, description="Headers for the server, by name.")
    connect_timeout: Duration = Field(30.0, description="How long reaching the server may take.")


SPECS = (
    TaskSpec(
        name="floorplan",
        summary="Draw, check, change, measure or export a floor plan.",
        settings=FloorplanSettings,
    ),
)

__all__ = ["SPECS", "FloorplanSettings"]
