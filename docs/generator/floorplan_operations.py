"""The page of all operations on floor plans, each with an example that is run."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import unified_diff
from typing import Any

from generator.markdown import code, fence, page, table
from generator.types import part_of, rows
from noetl_mcp.bim.floorplan.edit import fields
from noetl_mcp.bim.floorplan.edit.modify import modify
from noetl_mcp.bim.floorplan.edit.operations import OPERATIONS, action_of

PLAN = """%%{version: 1.0}%%
floorplan
  style Wood { floor_color: "#c8a26a" }
  floor ground {
    # the way in
    room Hall at (0, 0) size (10 x 12) walls [top: solid, right: solid, bottom: door, left: solid]
    room Store at (10, 0) size (6 x 12) walls [top: solid, right: solid, bottom: solid, left: solid]
    stair Main at (1, 1) shape straight toward top rise 9
    lift Up at (11, 1) size (4 x 4)
  }
  floor first {
    room Attic at (0, 0) size (16 x 12) walls [top: solid, right: solid, bottom: solid, left: solid]
    stair Main at (1, 1) shape straight toward top rise 9
    lift Up at (11, 1) size (4 x 4)
  }
  connect Hall.right to Store.left door at 50%
  vertical ground.Main to first.Main
"""

_BED = {
    "name": "Kitchen",
    "position": {"x": 0, "y": 14},
    "size": {"width": 10, "height": 8},
    "walls": {"top": "solid", "right": "door", "bottom": "solid", "left": "window"},
    "label": "break area",
}
_BELOW = {"direction": "below", "reference": "Hall", "gap": 1, "alignment": "right"}
EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "add_room": {"params": _BED},
    "remove_room": {"target": "Store"},
    "resize_room": {"target": "Hall", "params": {"width": 10, "height": 12.5}},
    "move_room": {"target": "Store", "params": {"relativePosition": _BELOW}},
    "rename_room": {"target": "Store", "params": {"newName": "Pantry"}},
    "update_walls": {
        "target": "Hall",
        "params": {
            "bottom": "open",
            "top": {"kind": "window", "at": "50%", "size": {"width": 3, "height": 4}},
        },
    },
    "add_label": {"target": "Hall", "params": {"label": "welcome"}},
    "remove_label": {"target": "Hall"},
    "set_style": {"target": "Hall", "params": {"style": "Wood"}},
    "set_height": {"target": "ground", "params": {"height": "9ft"}},
    "set_elevation": {"target": "Store", "params": {"elevation": -0.5}},
    "convert_to_relative": {"params": {"anchorRoom": "Hall"}},
    "convert_to_absolute": {"params": {"floor": "ground"}},
    "add_connection": {
        "params": {"from": "Hall.bottom", "to": "outside", "kind": "double-door", "swing": "left"}
    },
    "update_connection": {
        "target": "Hall to Store",
        "params": {"at": None, "opensInto": "Store", "size": {"width": 3, "height": "full"}},
    },
    "remove_connection": {"target": "Hall to Store"},
    "add_style": {"params": {"name": "Tile", "floor_color": "#eeeeee", "roughness": 0.3}},
    "update_style": {"target": "Wood", "params": {"floor_color": "#b58a50"}},
    "remove_style": {"target": "Wood"},
    "set_config": {"params": {"default_unit": "ft", "wall_thickness": 0.5}},
    "add_floor": {"params": {"name": "second", "height": 9}},
    "rename_floor": {"target": "first", "params": {"newName": "upper"}},
    "remove_floor": {"target": "first"},
    "add_stair": {
        "params": {
            "name": "Back",
            "position": {"x": 11, "y": 6},
            "shape": {"kind": "L-shaped", "entry": "top", "turn": "left"},
            "rise": 9,
        }
    },
    "move_stair": {"target": "first.Main", "params": {"x": 2, "y": 1}},
    "remove_stair": {"target": "ground.Main"},
    "add_lift": {
        "params": {
            "name": "Goods",
            "floor": "first",
            "position": {"x": 11, "y": 6},
            "size": {"width": 4, "height": 5},
            "doors": ["left"],
        }
    },
    "move_lift": {"target": "first.Up", "params": {"x": 11, "y": 2}},
    "remove_lift": {"target": "first.Up"},
    "add_vertical": {"params": {"elements": ["ground.Up", "first.Up"]}},
    "remove_vertical": {"target": "ground.Main to first.Main"},
}
"""What is asked for in the example of each action, on `PLAN`."""
BEFORE: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "remove_label": ({"action": "add_label", **EXAMPLES["add_label"]},),
    "convert_to_absolute": ({"action": "convert_to_relative", **EXAMPLES["convert_to_relative"]},),
}
"""What is done to `PLAN` before an example, where it needs that."""

_WIDE = 90
_LENGTH = {
    "number from 0 to 1000000000.0 or text": "length",
    "number from -1000000000.0 to 1000000000.0 or text": "length, also negative",
    "number from 0 to 1000000000.0": "number from 0",
}
_LENGTHS = re.compile("|".join(map(re.escape, _LENGTH)))
_PARTS = {
    fields.SizeAsked: "size",
    fields.PositionAsked: "position",
    fields.RelativeAsked: "relativePosition",
    fields.WallsAsked: "walls",
    fields.WallAsked: "a wall with an opening",
    fields.WidthAndHeight: "size of a connection",
    fields.ShapeAsked: "shape",
    fields.FlightAsked: "a flight of a custom stair",
    fields.TurnAsked: "a turn of a custom stair",
    fields.MaterialAsked: "material",
}

_HEAD = """
What the tool `modify_floorplan`, steps of the type `floorplan` and `noetl-mcp floorplan modify` can
be asked to do to a plan's text. Operations are carried out in their order.

- Only what an operation means to change is changed: comments, layout and line ends stay.
- What refers to something that is renamed or removed is repaired, and `changes[].message` says how.
- An operation that cannot be done, or after which the plan would have an error that it did not
  have, is an `error` in `changes` and in `errors`, leaves the text as it was, and the others go on.
  With `atomic` one that fails undoes all.
- An action or a key that there is not is refused with the nearest that there is, before anything is
  done.
- A length is a number in the unit of the plan, or a text with a unit: `9.5` or `"9.5ft"`. A number
  that takes the place of another keeps its unit. What would change the unit that all other bare
  numbers mean is refused; `set_config` with `default_unit` settles it.
- A `target` is a name; where several bear it, the first one is meant. `first.Bath` and
  `Flex.Booth` tell them apart by floor and by room.

What is not there: the language has no negative positions and no text with both kinds of quotes, so
neither can be asked for. Frontmatters are never written into; `set_config` writes a `config` that
wins over them. Comments inside of what is removed go with it.

The answer is `{success, dsl, changes: [{action, target, result, message?}], errors?: [{message,
operation?, line?, column?}]}`; `result` is `applied` or `error`, `operation` counts from 0.

## The plan of the examples
"""


def floorplan_operations_page() -> str:
    """Return the page of all operations."""
    listed = [
        (f"[`{action_of(model)}`](#{action_of(model)})", (model.__doc__ or "").strip())
        for model in OPERATIONS
    ]
    return page(
        "Operations on floor plans",
        _HEAD,
        fence(PLAN, "text"),
        "## All",
        table(("action", "does"), listed),
        *map(_section, OPERATIONS),
        "## What operations are made of",
        *map(_part, _PARTS),
    )


def plan_for(action: str) -> str:
    """Return the plan on which the example of an action is run."""
    return str(modify(PLAN, BEFORE.get(action, ()))["dsl"])


def asked(action: str) -> Mapping[str, Any]:
    """Return the operation of an example."""
    return {"action": action, **EXAMPLES[action]}


def _section(model: Any) -> str:
    action = action_of(model)
    before = plan_for(action)
    answer = modify(before, [asked(action)])
    (change,) = answer["changes"]
    said = f"\n\nIt says: {code(change['message'])}" if "message" in change else ""
    lines = unified_diff(before.splitlines(), answer["dsl"].splitlines(), lineterm="", n=0)
    diff = "\n".join(line for line in list(lines)[2:] if not line.startswith("@@"))
    parts = [f"## {action}", (model.__doc__ or "").strip(), _keys(model)]
    example = _json(asked(action))
    return "\n\n".join([*filter(None, parts), fence(example, "json"), fence(diff, "diff") + said])


def _json(given: Any, indent: str = "") -> str:
    """Return JSON with as much on a line as fits."""
    line = json.dumps(given, ensure_ascii=False)
    if len(indent) + len(line) <= _WIDE or not isinstance(given, Mapping):
        return line
    deeper = indent + "  "
    inner = ",\n".join(f'{deeper}"{key}": {_json(one, deeper)}' for key, one in given.items())
    return f"{{\n{inner}\n{indent}}}"


def _keys(model: Any) -> str:
    """Return the table of an operation's keys."""
    found = [row for row in rows(model) if row[0] not in ("`action`", "`params`")]
    params = part_of(model.model_fields["params"].annotation)
    inner = rows(params) if params is not None else ()
    found += [("`params." + name.lstrip("`"), *more) for name, *more in inner]
    return _table(found)


def _part(model: Any) -> str:
    """Return the section of a part, such as a size."""
    name = _PARTS[model]
    return f"### {name}\n\n{(model.__doc__ or '').strip()}\n\n{_table(rows(model))}"


def _table(found: Iterable[Sequence[str]]) -> str:
    shown = [
        tuple(_LENGTHS.sub(lambda one: _LENGTH[one[0]], cell) for cell in row) for row in found
    ]
    return table(("key", "type", "default", "meaning"), shown) if shown else ""
