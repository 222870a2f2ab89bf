"""All operations on a plan, told apart by `action`: what `modify_floorplan` may be asked.

Their JSON Schema is what the tool publishes. It refuses to do anything; `modify.py` does.
"""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, TypeAdapter
from pydantic_core import PydanticCustomError

from noetl_mcp.bim.floorplan.edit.building_operations import (
    AddConnection,
    AddFloor,
    AddLift,
    AddStair,
    AddStyle,
    AddVertical,
    MoveLift,
    MoveStair,
    RemoveConnection,
    RemoveFloor,
    RemoveLift,
    RemoveStair,
    RemoveStyle,
    RemoveVertical,
    RenameFloor,
    SetConfig,
    UpdateConnection,
    UpdateStyle,
)
from noetl_mcp.bim.floorplan.edit.room_operations import (
    AddLabel,
    AddRoom,
    ConvertToAbsolute,
    ConvertToRelative,
    MoveRoom,
    RemoveLabel,
    RemoveRoom,
    RenameRoom,
    ResizeRoom,
    SetElevation,
    SetHeight,
    SetStyle,
    UpdateWalls,
)
from noetl_mcp.diagnostics import closest

OPERATIONS = (
    AddRoom,
    RemoveRoom,
    ResizeRoom,
    MoveRoom,
    RenameRoom,
    UpdateWalls,
    AddLabel,
    RemoveLabel,
    SetStyle,
    SetHeight,
    SetElevation,
    ConvertToRelative,
    ConvertToAbsolute,
    AddConnection,
    UpdateConnection,
    RemoveConnection,
    AddStyle,
    UpdateStyle,
    RemoveStyle,
    SetConfig,
    AddFloor,
    RenameFloor,
    RemoveFloor,
    AddStair,
    MoveStair,
    RemoveStair,
    AddLift,
    MoveLift,
    RemoveLift,
    AddVertical,
    RemoveVertical,
)
"""The models of all operations."""


def action_of(model: type[Any]) -> str:
    """Return the action of an operation's model."""
    (action,) = model.model_fields["action"].annotation.__args__
    return str(action)


ACTIONS = tuple(action_of(model) for model in OPERATIONS)


def _known(given: Any) -> Any:
    """Refuse an action that there is not, with the nearest that there is."""
    action = given.get("action") if isinstance(given, dict) else None
    if not isinstance(action, str) or action in ACTIONS:
        return given
    near = closest(action, ACTIONS)
    more = f"did you mean '{near}'?" if near else f"there are {', '.join(ACTIONS)}"
    raise PydanticCustomError(
        "unknown_action",
        "there is no action '{action}'; {more}",
        {"action": action[:80], "more": more},
    )


AnyOperation = (
    AddRoom
    | RemoveRoom
    | ResizeRoom
    | MoveRoom
    | RenameRoom
    | UpdateWalls
    | AddLabel
    | RemoveLabel
    | SetStyle
    | SetHeight
    | SetElevation
    | ConvertToRelative
    | ConvertToAbsolute
    | AddConnection
    | UpdateConnection
    | RemoveConnection
    | AddStyle
    | UpdateStyle
    | RemoveStyle
    | SetConfig
    | AddFloor
    | RenameFloor
    | RemoveFloor
    | AddStair
    | MoveStair
    | RemoveStair
    | AddLift
    | MoveLift
    | RemoveLift
    | AddVertical
    | RemoveVertical
)
Operation = Annotated[AnyOperation, Field(discriminator="action"), BeforeValidator(_known)]
"""One operation; the annotation of a field that holds any."""

OPERATION: TypeAdapter[AnyOperation] = TypeAdapter(Operation)

__all__ = ["ACTIONS", "OPERATION", "OPERATIONS", "AnyOperation", "Operation", "action_of"]
