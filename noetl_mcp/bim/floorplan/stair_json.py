"""Say a stair as JSON: where it stands, its shape and its measures in the plan's unit."""

from typing import Any

from noetl_mcp.bim.floorplan import tree
from noetl_mcp.bim.floorplan.building import PlacedStair
from noetl_mcp.bim.floorplan.habits import scaled
from noetl_mcp.bim.floorplan.rooms import plain
from noetl_mcp.bim.floorplan.units import Scale

Json = dict[str, Any]


def stair_as_json(placed: PlacedStair, scale: Scale) -> Json:
    """Say a stair; what the text does not say is left out."""
    stair = placed.stair
    shown: Json = {
        "name": stair.name.text,
        "x": plain(placed.x),
        "z": plain(placed.y),
        "shape": _shape(stair.shape, scale),
    }
    for key in ("rise", "width", "riser", "tread", "nosing", "headroom"):
        number: tree.Number | None = getattr(stair, key)
        if number is not None:
            shown[key] = plain(scaled(number, scale))
    if stair.handrail is not None:
        shown["handrail"] = stair.handrail
    if stair.stringers is not None:
        shown["stringers"] = stair.stringers
    if stair.material:
        shown["material"] = dict(stair.material)
    if stair.label is not None:
        shown["label"] = stair.label.text
    if stair.style is not None:
        shown["style"] = stair.style.name.text
    return shown


def _shape(shape: tree.Shape, scale: Scale) -> Json:
    """Say a shape: only what its kind has."""
    lengths = {
        "innerRadius": shape.inner_radius,
        "outerRadius": shape.outer_radius,
        "radius": shape.radius,
    }
    shown: Json = {
        "type": shape.kind,
        "direction": shape.toward,
        "entry": shape.entry,
        "turn": shape.turn,
        "rotation": shape.rotation,
        "runs": [plain(run) for run in shape.runs] or None,
        "landing": None if shape.landing is None else _landing(shape.landing, scale),
        "arc": None if shape.arc is None else plain(shape.arc),
        "winders": None if shape.winders is None else plain(shape.winders),
        "segments": [_segment(one, scale) for one in shape.segments] or None,
    }
    for key, number in lengths.items():
        shown[key] = None if number is None else plain(scaled(number, scale))
    return _without_none(shown)


def _landing(size: tree.Size, scale: Scale) -> list[Any]:
    numbers = (size.width, size.height)
    return [plain(scaled(number, scale)) for number in numbers if number is not None]


def _segment(segment: "tree.Flight | tree.Turn", scale: Scale) -> Json:
    """Say a flight or a turn of a custom stair."""
    if isinstance(segment, tree.Turn):
        return _without_none(
            {
                "type": "turn",
                "direction": segment.direction,
                "landing": None if segment.landing is None else _landing(segment.landing, scale),
                "winders": None if segment.winders is None else plain(segment.winders),
                "angle": None if segment.angle is None else plain(segment.angle),
            }
        )
    along = segment.along
    return _without_none(
        {
            "type": "flight",
            "steps": plain(segment.steps),
            "width": None if segment.width is None else plain(scaled(segment.width, scale)),
            "wallRef": None if along is None else {"room": along.room.text, "wall": along.side},
        }
    )


def _without_none(shown: Json) -> Json:
    return {key: value for key, value in shown.items() if value is not None}
