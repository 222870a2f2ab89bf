"""The rules about places: rooms, sub-rooms, stairs and lifts that nothing tells where to stand."""

from noetl_mcp.bim.floorplan.rules import ERROR, Rule, hint

NOWHERE = Rule(
    "no-position",
    ERROR,
    "no_position",
    "Room '{room}' has no position specified (use 'at (x,y)' or relative positioning like "
    "'right-of RoomA')",
    "a room has neither `at` nor a relative position",
)
UNKNOWN_ROOM = Rule(
    "unknown-reference",
    ERROR,
    "missing_reference",
    "Room '{room}' references unknown room '{reference}'",
    "a room stands beside one that its floor does not have",
)
CIRCLE = Rule(
    "circular-position",
    ERROR,
    "circular_dependency",
    "Circular dependency detected involving rooms: {rooms}",
    "rooms wait for each other, or for one that has no place, or for a sub-room",
)
WAITS = hint(
    "waits-for-unplaced",
    "Room '{room}' cannot be placed because '{reference}', which it stands beside, has no place "
    "of its own on the floor.",
    "a room is told of as circular, but truly waits for one without a place, or for a sub-room",
    "circular_dependency",
)
INNER_NOWHERE = hint(
    "sub-room-without-position",
    "Sub-room '{room}' of '{parent}' has no position and is left out. Add 'at (x, y)', counted "
    "from the corner of '{parent}', or a relative position.",
    "a sub-room has neither `at` nor a relative position",
    "no_position",
)
INNER_UNKNOWN = hint(
    "sub-room-unknown-reference",
    "Sub-room '{room}' is left out: it stands beside '{reference}', which is not a sub-room of "
    "'{parent}'.",
    "a sub-room stands beside something that is not a sub-room of the same room",
    "missing_reference",
)
INNER_WAITS = hint(
    "sub-room-circular-position",
    "Sub-room '{room}' is left out: '{reference}', which it stands beside, has no place.",
    "sub-rooms wait for each other, or for one that has no place",
    "circular_dependency",
)
THING_UNKNOWN = hint(
    "stair-unknown-reference",
    "{kind} '{name}' stands at (0, 0), because '{reference}', which it stands beside, is not on "
    "its floor.",
    "a stair or lift stands beside something that its floor does not have",
    "missing_reference",
)
THING_WAITS = hint(
    "stair-circular-position",
    "{kind} '{name}' stands at (0, 0), because '{reference}', which it stands beside, has no "
    "place.",
    "stairs and lifts wait for each other",
    "circular_dependency",
)

RULES = (
    NOWHERE,
    UNKNOWN_ROOM,
    CIRCLE,
    WAITS,
    INNER_NOWHERE,
    INNER_UNKNOWN,
    INNER_WAITS,
    THING_UNKNOWN,
    THING_WAITS,
)
