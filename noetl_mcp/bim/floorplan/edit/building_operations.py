"""The operations on connections, styles, config, floors, stairs and lifts.

Only what may be asked; it refuses to do anything.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, create_model

from noetl_mcp.bim.floorplan.edit import fields
from noetl_mcp.bim.floorplan.edit.fields import (
    Asked,
    AsWritten,
    Bare,
    ConnectionKind,
    ElementName,
    Hand,
    Handrail,
    Length,
    MaterialAsked,
    Name,
    PositionAsked,
    ShapeAsked,
    Share,
    Side,
    SizeAsked,
    String,
    Stringers,
    Target,
    WallName,
    WidthAndHeight,
)
from noetl_mcp.bim.floorplan.edit.room_operations import NewName, Nothing
from noetl_mcp.bim.floorplan.one_of import OneOf
from noetl_mcp.bim.floorplan.words import AREA_UNITS, CODES, CONFIG_KEYS, STYLE_KEYS, THEMES, UNITS

Between = Annotated[
    str,
    Field(
        pattern=r"^\s*[\w.]+ to [\w.]+\s*$",
        max_length=fields.LONGEST_NAME * 2,
        description="Its two ends, with or without walls: `Hall to Kitchen`, "
        "`Hall.right to Kitchen.left`.",
    ),
]


class NewConnection(Asked):
    """A new connection."""

    from_: WallName = Field(alias="from")
    to: WallName
    kind: ConnectionKind = Field(description="What leads through the wall.")
    at: Share | None = Field(None, description="Per cent along the shared wall; 50 when missing.")
    size: WidthAndHeight | None = Field(None, description="Width and height of the opening.")
    opens_into: Name | None = Field(None, description="The room into which its leaf opens.")
    swing: Hand | None = Field(None, description="The side of its hinge.")


class AddConnection(Asked):
    """Connect two rooms, or one and the outside; walls not named are those that the rooms share."""

    action: Literal["add_connection"]
    params: NewConnection


class ConnectionChange(Asked):
    """What changes; null takes a clause away."""

    kind: ConnectionKind | None = Field(None, description="What leads through the wall.")
    at: Share | None = Field(None, description="Per cent along the shared wall.")
    size: WidthAndHeight | None = Field(None, description="Width and height of the opening.")
    opens_into: Name | None = Field(None, description="The room into which its leaf opens.")
    swing: Hand | None = Field(None, description="The side of its hinge.")
    which: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Which one, where several connect the two: 1 is the first in the text."
    )


class UpdateConnection(Asked):
    """Change a connection."""

    action: Literal["update_connection"]
    target: Between
    params: ConnectionChange


class Which(Asked):
    """Which one of several."""

    which: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Which one, where several connect the two: 1 is the first in the text."
    )


class RemoveConnection(Asked):
    """Remove a connection."""

    action: Literal["remove_connection"]
    target: Between
    params: Which | None = Field(None, description="Which one of several.")


_VALUES: dict[str, Any] = {
    "number": Bare,
    "size": SizeAsked,
    "style": Name,
    "unit": Annotated[str, OneOf(UNITS)],
    "area_unit": Annotated[str, OneOf(AREA_UNITS)],
    "theme": Annotated[str, OneOf(THEMES)],
    "code": Annotated[str, OneOf(CODES)],
    "flag": bool,
    "string": String,
    "color": Annotated[str, Field(pattern=r"^#[0-9A-Fa-f]{6}$")],
}


def _settings(name: str, says: str, keys: Any, *, base: type[AsWritten] = AsWritten) -> Any:
    """Return a model with a field for each key; null takes a key away."""
    made: dict[str, Any] = {
        key.name: (_VALUES[key.kind] | None, Field(None, description=key.meaning)) for key in keys
    }
    return create_model(name, __base__=base, __doc__=says, **made)


class _Named(AsWritten):
    """A style with its name."""

    name: Name = Field(description="A name that no style bears yet.")


NewStyle = _settings("NewStyle", "A new style.", STYLE_KEYS, base=_Named)
StyleChange = _settings("StyleChange", "What changes; null takes a key away.", STYLE_KEYS)
ConfigChange = _settings("ConfigChange", "What changes; null takes a key away.", CONFIG_KEYS)


class AddStyle(Asked):
    """Add a style."""

    action: Literal["add_style"]
    params: NewStyle  # type: ignore[valid-type]  # made from the table of keys


class UpdateStyle(Asked):
    """Change a style."""

    action: Literal["update_style"]
    target: Target
    params: StyleChange  # type: ignore[valid-type]  # made from the table of keys


class RemoveStyle(Asked):
    """Remove a style; what bears it bears none then."""

    action: Literal["remove_style"]
    target: Target
    params: Nothing | None = Field(None, description="Nothing more is asked.")


class SetConfig(Asked):
    """Change the config."""

    action: Literal["set_config"]
    target: Target | None = Field(None, description="Not needed; it comes back in changes.")
    params: ConfigChange  # type: ignore[valid-type]  # made from the table of keys


class NewFloor(Asked):
    """A new floor."""

    name: Name = Field(description="A name that no floor bears yet.")
    height: Length | None = Field(None, description="How high it is.")


class AddFloor(Asked):
    """Add an empty floor above all others."""

    action: Literal["add_floor"]
    params: NewFloor


class RenameFloor(Asked):
    """Rename a floor, and the verticals that refer to it."""

    action: Literal["rename_floor"]
    target: Target
    params: NewName


class RemoveFloor(Asked):
    """Remove a floor with all that is on it, and the connections to it."""

    action: Literal["remove_floor"]
    target: Target
    params: Nothing | None = Field(None, description="Nothing more is asked.")


class NewStair(Asked):
    """A new stair."""

    name: Name = Field(description="A name that nothing like it bears on its floor.")
    position: PositionAsked = Field(description="Its corner at the top left.")
    shape: ShapeAsked = Field(description="How it climbs.")
    rise: Length = Field(description="How high it climbs.")
    floor: Name | None = Field(None, description="The floor; the first one when missing.")
    width: Length | None = Field(None, description="Width of a step.")
    riser: Length | None = Field(None, description="Height of a step.")
    tread: Length | None = Field(None, description="Depth of a step.")
    nosing: Length | None = Field(None, description="How far a step stands out.")
    headroom: Length | None = Field(None, description="Free height above the steps.")
    handrail: Handrail | None = Field(None, description="Where its handrails are.")
    stringers: Stringers | None = Field(None, description="What its sides look like.")
    material: MaterialAsked | None = Field(  # type: ignore[valid-type]  # made from a table
        None, description="What its parts are made of."
    )
    label: String | None = Field(None, description="What is written beside it.")
    style: Name | None = Field(None, description="A style of the plan.")


class AddStair(Asked):
    """Add a stair."""

    action: Literal["add_stair"]
    params: NewStair


class MoveStair(Asked):
    """Move a stair."""

    action: Literal["move_stair"]
    target: Target
    params: PositionAsked


class RemoveStair(Asked):
    """Remove a stair, and its part in verticals."""

    action: Literal["remove_stair"]
    target: Target
    params: Nothing | None = Field(None, description="Nothing more is asked.")


class NewLift(Asked):
    """A new lift."""

    name: Name = Field(description="A name that nothing like it bears on its floor.")
    position: PositionAsked = Field(description="Its corner at the top left.")
    size: SizeAsked = Field(description="Width and depth of its shaft.")
    floor: Name | None = Field(None, description="The floor; the first one when missing.")
    doors: list[Side] | None = Field(
        None, min_length=1, max_length=16, description="The sides on which it opens."
    )
    label: String | None = Field(None, description="What is written beside it.")
    style: Name | None = Field(None, description="A style of the plan.")


class AddLift(Asked):
    """Add a lift."""

    action: Literal["add_lift"]
    params: NewLift


class MoveLift(Asked):
    """Move a lift."""

    action: Literal["move_lift"]
    target: Target
    params: PositionAsked


class RemoveLift(Asked):
    """Remove a lift, and its part in verticals."""

    action: Literal["remove_lift"]
    target: Target
    params: Nothing | None = Field(None, description="Nothing more is asked.")


class NewVertical(Asked):
    """A new vertical connection."""

    elements: list[ElementName] = Field(
        min_length=2, max_length=fields.MOST_ENTRIES, description="From the bottom to the top."
    )


class AddVertical(Asked):
    """Connect stairs or lifts of several floors."""

    action: Literal["add_vertical"]
    params: NewVertical


class RemoveVertical(Asked):
    """Remove a vertical connection."""

    action: Literal["remove_vertical"]
    target: Annotated[
        str,
        Field(
            max_length=2_000,
            description="Its elements: `ground.Main to first.Main`; one is enough where it is "
            "the only one with it.",
        ),
    ]
    params: Nothing | None = Field(None, description="Nothing more is asked.")
