"""What the operations on a plan are made of: lengths, names, places, walls, shapes.

Words come from `words.py`. A key that nothing knows is refused with the nearest one that is known.
It refuses to know any plan.
"""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from noetl_mcp.bim.floorplan.one_of import OneOf
from noetl_mcp.bim.floorplan.words import (
    ALIGNMENTS,
    CONNECTION_KINDS,
    DIRECTIONS,
    HANDRAILS,
    HANDS,
    MATERIAL_PARTS,
    ROTATIONS,
    SIDES,
    STAIR_SHAPES,
    STRINGERS,
    UNITS,
    WALL_KINDS,
)
from noetl_mcp.diagnostics import closest

GREATEST = 1e9
LONGEST_NAME = 200
LONGEST_STRING = 2_000
MOST_ENTRIES = 100

_UNIT = "|".join(UNITS)
_NAME = "[A-Za-z_][A-Za-z0-9_]*"
_DIGITS = r"[0-9]+(\.[0-9]+)?"
_SIDE = "|".join(SIDES)

Name = Annotated[str, Field(pattern=rf"^{_NAME}$", max_length=LONGEST_NAME)]
Target = Annotated[
    str,
    Field(
        max_length=LONGEST_NAME,
        description="Its name; where several bear it, with its floor or room: `first.Bath`.",
    ),
]
WallName = Annotated[
    str,
    Field(
        pattern=rf"^{_NAME}(\.({_SIDE}))?$",
        max_length=LONGEST_NAME,
        description="A room's wall such as `Kitchen.top`, a room, or `outside`.",
    ),
]
ElementName = Annotated[
    str,
    Field(
        pattern=rf"^{_NAME}\.{_NAME}$",
        max_length=LONGEST_NAME,
        description="A stair or lift with its floor: `ground.MainStair`.",
    ),
]
Bare = Annotated[float, Field(ge=0, le=GREATEST, allow_inf_nan=False)]
Measured = Annotated[str, Field(pattern=rf"^{_DIGITS} ?({_UNIT})$", max_length=40)]
Length = Annotated[
    Bare | Measured,
    Field(description='A number in the unit of the plan, or with its own: 9.5 or "9.5ft".'),
]
SignedLength = Annotated[
    Annotated[float, Field(ge=-GREATEST, le=GREATEST, allow_inf_nan=False)]
    | Annotated[str, Field(pattern=rf"^-?{_DIGITS} ?({_UNIT})$", max_length=40)],
    Field(description='A number in the unit of the plan, or with its own: -1 or "-1ft".'),
]
Share = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]
String = Annotated[str, Field(max_length=LONGEST_STRING)]
WallKind = Annotated[str, OneOf(WALL_KINDS)]
Side = Annotated[str, OneOf(SIDES)]
Hand = Annotated[str, OneOf(HANDS)]


def _untitled(schema: dict[str, Any]) -> None:
    """Leave titles out of a JSON Schema: they repeat the keys, and clients pay for each word."""
    schema.pop("title", None)
    for part in schema.get("properties", {}).values():
        part.pop("title", None)


class Asked(BaseModel):
    """A closed, frozen part of an operation."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        strict=True,
        json_schema_extra=_untitled,
    )

    @model_validator(mode="before")
    @classmethod
    def _knows_all_keys(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        names = [field.alias or name for name, field in cls.model_fields.items()]
        refuse_strangers(given, {*names, *cls.model_fields}, names)
        return given


class AsWritten(Asked):
    """A part whose keys stand in it as they do in the language."""

    model_config = ConfigDict(alias_generator=None)


def refuse_strangers(given: dict[Any, Any], known: set[str], told: Iterable[str]) -> None:
    """Raise for the first key that is not known, with the nearest one that is."""
    stranger = next((str(key) for key in given if key not in known), None)
    if stranger is None:
        return
    names = [name for name in told if name != "action"]
    near = closest(stranger, names)
    more = f"did you mean '{near}'?" if near else f"there are {', '.join(names) or 'no keys here'}"
    raise PydanticCustomError(
        "unknown_key", "there is no '{key}' here; {more}", {"key": stranger[:80], "more": more}
    )


class SizeAsked(Asked):
    """Width and height of a rectangle."""

    width: Length
    height: Length


class PositionAsked(Asked):
    """The corner at the top left; y grows downwards. A sub-room's counts from its room's corner."""

    x: Length
    y: Length


class RelativeAsked(Asked):
    """A place beside another room of the same floor."""

    direction: Annotated[str, OneOf(DIRECTIONS)] = Field(description="Where from the reference.")
    reference: Name = Field(description="The room from which this one is placed.")
    gap: Length | None = Field(None, description="Free space between the two.")
    alignment: Annotated[str, OneOf(ALIGNMENTS)] | None = Field(
        None, description="Which edges lie in line; top or left when missing."
    )


class WallAsked(Asked):
    """A wall with the place and the size of its opening."""

    kind: WallKind = Field(description="What the wall is.")
    at: Bare | Annotated[str, Field(pattern=rf"^{_DIGITS}%$", max_length=40)] | None = Field(
        None, description='Where the opening is along the wall: 3, or "25%".'
    )
    size: SizeAsked | None = Field(None, description="Width and height of the opening.")
    height: Bare | None = Field(None, description="Height of the wall.")


WallsOfSide = (
    WallKind | WallAsked | Annotated[list[WallAsked], Field(min_length=1, max_length=MOST_ENTRIES)]
)


def made_of(
    name: str, says: str, keys: Iterable[str], kind: Any, meaning: str, *, needed: bool
) -> type[Asked]:
    """Return a model with one field for each word of a table."""
    default = Field(description=meaning) if needed else Field(None, description=meaning)
    fields: dict[str, Any] = dict.fromkeys(keys, (kind if needed else kind | None, default))
    return create_model(name, __base__=AsWritten, __doc__=says, **fields)


def entries(part: Asked) -> dict[str, Any]:
    """Return what was given in a part with the keys of a table, in the order of the table."""
    return {key: getattr(part, key) for key in type(part).model_fields if key in given_in(part)}


def choices(part: Asked, *besides: str) -> str:
    """Return a sentence that asks for one of the keys of a part that was given none."""
    keys = [field.alias or name for name, field in type(part).model_fields.items()]
    return f"Nothing to change: give one of {', '.join(key for key in keys if key not in besides)}"


def given_in(part: Asked) -> set[str]:
    """Return the names of what was given, and not left to its default."""
    return part.model_fields_set


OF_SIDE = "Its kind, or kind, place and size of one opening or of several."
WallsAsked = made_of("WallsAsked", "All four walls.", SIDES, WallsOfSide, OF_SIDE, needed=True)
MaterialAsked = made_of(
    "MaterialAsked",
    "What parts are made of.",
    MATERIAL_PARTS,
    String,
    "Its material.",
    needed=False,
)


class WidthAndHeight(Asked):
    """Width and height of an opening; `full` is as high as the room."""

    width: Length
    height: Length | Literal["full"] = Field(description="A length, or `full`.")


class FlightAsked(Asked):
    """A run of steps in a custom stair."""

    flight: Bare = Field(description="How many steps.")
    width: Length | None = Field(None, description="Its width; the stair's when missing.")
    along: (
        Annotated[str, Field(pattern=rf"^{_NAME}\.({_SIDE})$", max_length=LONGEST_NAME)] | None
    ) = Field(None, description="The wall it runs along: `Hall.left`.")


class TurnAsked(Asked):
    """A turn in a custom stair: on a landing, or with winders."""

    turn: Hand = Field(description="To which hand it turns.")
    landing: SizeAsked | None = Field(None, description="The landing on which it turns.")
    winders: Bare | None = Field(None, description="How many winders, where there is no landing.")
    angle: Bare | None = Field(None, description="In degrees.")

    @model_validator(mode="after")
    def _has_one(self) -> "TurnAsked":
        if (self.landing is None) == (self.winders is None):
            raise PydanticCustomError("turn", "a turn has a landing or winders")
        return self


class ShapeAsked(Asked):
    """The shape of a stair."""

    kind: Annotated[str, OneOf(STAIR_SHAPES)] = Field(description="What it looks like from above.")
    toward: Side | None = Field(None, description="Where a straight stair climbs to.")
    entry: Side | None = Field(None, description="The side from which other shapes are entered.")
    turn: Hand | None = Field(None, description="To which hand L, U and winder stairs turn.")
    runs: list[Bare] | None = Field(
        None, min_length=1, max_length=MOST_ENTRIES, description="Steps of each run."
    )
    landing: SizeAsked | None = Field(None, description="The landing between two runs.")
    rotation: Annotated[str, OneOf(ROTATIONS)] | None = Field(None, description="Of a spiral.")
    inner_radius: Length | None = Field(None, description="Of a spiral.")
    outer_radius: Length | None = Field(None, description="Of a spiral.")
    arc: Bare | None = Field(None, description="Of a curved stair, in degrees.")
    radius: Length | None = Field(None, description="Of a curved stair.")
    winders: Bare | None = Field(None, description="How many winders a winder stair has.")
    segments: list[FlightAsked | TurnAsked] | None = Field(
        None, min_length=1, max_length=MOST_ENTRIES, description="Of a custom stair."
    )


ConnectionKind = Annotated[str, OneOf(CONNECTION_KINDS)]
Handrail = Annotated[str, OneOf(HANDRAILS)]
Stringers = Annotated[str, OneOf(STRINGERS)]
