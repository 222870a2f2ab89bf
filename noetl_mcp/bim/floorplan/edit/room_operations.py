"""The operations on rooms. Only what may be asked; it refuses to do anything."""

from typing import Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from noetl_mcp.bim.floorplan.edit import fields
from noetl_mcp.bim.floorplan.edit.fields import (
    Asked,
    Bare,
    Length,
    Name,
    PositionAsked,
    RelativeAsked,
    SignedLength,
    SizeAsked,
    String,
    Target,
    WallsOfSide,
)
from noetl_mcp.bim.floorplan.words import SIDES

_MOST_ROOMS = 10_000


class Nothing(Asked):
    """No parameters."""


class NewRoom(Asked):
    """A new room."""

    name: Name = Field(description="A name that no room bears yet.")
    size: SizeAsked | Name = Field(description="Width and height, or the name of a define.")
    walls: fields.WallsAsked = Field(  # type: ignore[valid-type]  # made from the table of sides
        description="All four."
    )
    position: PositionAsked | None = Field(
        None, description="Where it stands; position or relativePosition is needed."
    )
    relative_position: RelativeAsked | None = Field(
        None, description="Beside which room it stands."
    )
    label: String | None = Field(None, description="What is written into it.")
    floor: Name | None = Field(None, description="The floor; the first one when missing.")
    parent: Target | None = Field(None, description="The room of which it becomes a sub-room.")
    height: Length | None = Field(None, description="How high it is.")
    elevation: SignedLength | None = Field(None, description="How far above its floor it lies.")
    style: Name | None = Field(None, description="A style of the plan.")


class AddRoom(Asked):
    """Add a room, or with `parent` a sub-room."""

    action: Literal["add_room"]
    params: NewRoom


class RemoveRoom(Asked):
    """Remove a room with its sub-rooms and connections; rooms beside it keep their places."""

    action: Literal["remove_room"]
    target: Target
    params: Nothing | None = Field(None, description="Nothing more is asked.")


class ResizeRoom(Asked):
    """Give a room another size; units stay where none is given."""

    action: Literal["resize_room"]
    target: Target
    params: SizeAsked


class NewPlace(Asked):
    """x and y, or relativePosition."""

    x: Length | None = Field(None, description="From the left; a sub-room counts from its room.")
    y: Length | None = Field(None, description="From the top; a sub-room counts from its room.")
    relative_position: RelativeAsked | None = Field(
        None, description="Beside which room it stands, in the place of x and y."
    )

    @model_validator(mode="after")
    def _is_one_place(self) -> "NewPlace":
        absolute = [self.x is not None, self.y is not None]
        if any(absolute) == (self.relative_position is not None) or any(absolute) != all(absolute):
            raise PydanticCustomError("place", "give x and y, or relativePosition")
        return self


class MoveRoom(Asked):
    """Move a room to a place, or beside another room."""

    action: Literal["move_room"]
    target: Target
    params: NewPlace


class NewName(Asked):
    """Another name."""

    new_name: Name = Field(description="A name that none of its kind bears yet.")


class RenameRoom(Asked):
    """Rename a room, and everything that refers to it."""

    action: Literal["rename_room"]
    target: Target
    params: NewName


SomeWalls = fields.made_of(
    "SomeWalls", "The walls that change.", SIDES, WallsOfSide, fields.OF_SIDE, needed=False
)


class UpdateWalls(Asked):
    """Change walls. A kind alone leaves the place and size of openings as they are."""

    action: Literal["update_walls"]
    target: Target
    params: SomeWalls  # type: ignore[valid-type]  # made from the table of sides


class NewLabel(Asked):
    """A label."""

    label: String = Field(description="What is written into it.")


class AddLabel(Asked):
    """Label a room, a stair or a lift, or change its label."""

    action: Literal["add_label"]
    target: Target
    params: NewLabel


class RemoveLabel(Asked):
    """Remove the label of a room, a stair or a lift."""

    action: Literal["remove_label"]
    target: Target
    params: Nothing | None = Field(None, description="Nothing more is asked.")


class StyleOf(Asked):
    """The style; null takes it away."""

    style: Name | None = Field(description="A style of the plan, or null.")


class SetStyle(Asked):
    """Give a room, a stair or a lift a style."""

    action: Literal["set_style"]
    target: Target
    params: StyleOf


class HeightOf(Asked):
    """The height; null takes it away."""

    height: Length | None = Field(description="A length, or null.")


class SetHeight(Asked):
    """Say how high a room or a floor is."""

    action: Literal["set_height"]
    target: Target
    params: HeightOf


class ElevationOf(Asked):
    """The elevation above the floor, negative below it; null takes it away."""

    elevation: SignedLength | None = Field(description="A length that may be negative, or null.")


class SetElevation(Asked):
    """Say how far above its floor a room lies."""

    action: Literal["set_elevation"]
    target: Target
    params: ElevationOf


class ToRelative(Asked):
    """What is converted, and from where."""

    anchor_room: Target = Field(description="The room that keeps its position.")
    alignment_tolerance: Bare = Field(
        1.0,
        description="How far off rooms may lie to count as neighbours when a clause is chosen. "
        "No room moves, whatever it is.",
    )
    target_rooms: list[Target] | None = Field(
        None, max_length=_MOST_ROOMS, description="Only these; all of the floor when missing."
    )


class ConvertToRelative(Asked):
    """Write rooms of the anchor's floor relative to each other; those that are stay. None moves."""

    action: Literal["convert_to_relative"]
    target: Target | None = Field(None, description="Not needed; it comes back in changes.")
    params: ToRelative


class ToAbsolute(Asked):
    """What is converted."""

    target_rooms: list[Target] | None = Field(
        None, max_length=_MOST_ROOMS, description="Only these; all when missing."
    )
    floor: Name | None = Field(None, description="Only rooms of this floor.")


class ConvertToAbsolute(Asked):
    """Write rooms that stand beside others by their positions. No room moves."""

    action: Literal["convert_to_absolute"]
    target: Target | None = Field(None, description="Not needed; it comes back in changes.")
    params: ToAbsolute | None = Field(None, description="What is converted; all when missing.")
