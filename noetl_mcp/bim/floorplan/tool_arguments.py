"""What the tools around floor plans are told. Checks it, and says what is wrong with it."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from noetl_mcp.bim.floorplan.misfits import Misfit, misfits
from noetl_mcp.bim.floorplan.one_of import OneOf
from noetl_mcp.bim.floorplan.words import AREA_UNITS, THEMES, UNITS
from noetl_mcp.diagnostics import closest

LONGEST_TEXT = 2_000_000
MOST_OPERATIONS = 1_000
WIDEST = 8_000
_MOST_TOLD = 12
_LONGEST_PLACE = 200

Arguments = TypeVar("Arguments", bound="PlanArguments")
AreaUnit = Annotated[str, OneOf(AREA_UNITS)]
LengthUnit = Annotated[str, OneOf(UNITS)]
Theme = Annotated[str, OneOf(THEMES)]


class WrongArguments(ValueError):
    """Arguments that a tool does not take, in sentences for whoever sent them."""


class PlanArguments(BaseModel):
    """What every tool is told: the plan's text."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True
    )

    dsl: str = Field(max_length=LONGEST_TEXT, description="The floor plan's text.")


class RenderArguments(PlanArguments):
    """How a plan is drawn."""

    format: Literal["png", "svg", "dxf"] = Field(
        "png", description="png is an image to look at; svg and dxf come as text."
    )
    width: int = Field(800, ge=16, le=WIDEST, description="Width of the image in pixels.")
    height: int | None = Field(
        None,
        ge=16,
        le=WIDEST,
        description="Greatest height of the image in pixels; else it follows from the plan.",
    )
    floor_index: int | None = Field(
        None, ge=0, description="Which floor is drawn, from 0; the first one when missing."
    )
    render_all_floors: bool = Field(False, description="Draw every floor.")
    multi_floor_layout: Literal["sideBySide", "stacked"] = Field(
        "sideBySide", description="How several floors stand on one drawing."
    )
    show_area: bool = Field(False, description="Write the area into each room.")
    show_dimensions: bool | None = Field(
        None, description="Draw dimension chains; what the plan's config says when missing."
    )
    show_floor_summary: bool = Field(False, description="Draw a panel with the sums of each floor.")
    area_unit: AreaUnit | None = Field(
        None, description="Unit of areas; the plan's own when missing."
    )
    length_unit: LengthUnit | None = Field(
        None, description="Unit of dimensions; the plan's own when missing."
    )
    theme: Theme | None = Field(None, description="Colours; what the plan says when missing.")
    raw: bool = Field(False, description="Take all numbers as they stand and ignore their units.")


class ValidateArguments(PlanArguments):
    """How a plan is checked."""

    raw: bool = Field(False, description="Take all numbers as they stand and ignore their units.")


class AnalyzeArguments(PlanArguments):
    """How a plan is measured."""

    area_unit: AreaUnit | None = Field(
        None, description="Unit of areas; the plan's own when missing."
    )
    include_room_details: bool = Field(True, description="List every room.")
    raw: bool = Field(False, description="Take all numbers as they stand and ignore their units.")


class ExportArguments(PlanArguments):
    """What a plan is turned into."""

    format: Literal["json", "dxf", "ifc"] = Field(
        "json",
        description="json gives the plan as data, dxf a drawing for CAD, ifc a building model.",
    )
    storey_height: float | None = Field(
        None, gt=0, le=1_000, description="Height in metres, for ifc, of floors that name none."
    )
    raw: bool = Field(False, description="Take all numbers as they stand and ignore their units.")


def checked(kind: type[Arguments], given: Mapping[str, Any] | None) -> Arguments:
    """Return the arguments as the model; raise WrongArguments with all that is wrong."""
    said = dict(given or {})
    try:
        return kind.model_validate(said)
    except ValidationError as refused:
        wrong = misfits(refused, said)
        says = [_said(kind, one) for one in wrong[:_MOST_TOLD]]
        if len(wrong) > _MOST_TOLD:
            says.append(f"and {len(wrong) - _MOST_TOLD} more")
        raise WrongArguments("; ".join(says)) from None


def _said(kind: type[BaseModel], one: Misfit) -> str:
    where = one.place.removeprefix(".")[:_LONGEST_PLACE]
    names = [field.alias or name for name, field in kind.model_fields.items()]
    if len(one.path) > 1 or where in names or one.path[0] in kind.model_fields:
        return f"'{where}': {one.says}"
    near = closest(where, names)
    more = f"; did you mean '{near}'?" if near else f"; there are {', '.join(names)}"
    return f"there is no argument '{where}'{more}"
