"""Add the stairs of a floor plan to a building model, with the steps that are drawn."""

from collections.abc import Iterator
from itertools import pairwise

from noetl_mcp.bim.floorplan.building import PlacedStair
from noetl_mcp.bim.floorplan.drawing.stairs import StairLines, StairPart
from noetl_mcp.bim.ifc.writer import Entity, Writer

_THICK = 0.2
"""How deep a step or a landing reaches below its top, in metres."""
_KINDS = {
    "straight": "STRAIGHT_RUN_STAIR",
    "L-shaped": "QUARTER_TURN_STAIR",
    "U-shaped": "HALF_TURN_STAIR",
    "double-L": "TWO_QUARTER_TURN_STAIR",
    "spiral": "SPIRAL_STAIR",
    "curved": "CURVED_RUN_STAIR",
    "winder": "QUARTER_WINDING_STAIR",
}


def add_stair(
    writer: Writer,
    storey: Entity,
    placement: Entity,
    stair: PlacedStair,
    lines: StairLines,
    metres: float,
    key: str,
) -> None:
    """Add a stair: its flights with a solid for each step, and its landings."""
    name = stair.stair.name.text
    climbed = list(_climbed(lines.parts, stair.rise * metres))
    if not climbed or stair.rise <= 0:
        return
    whole = writer.root(
        "IfcStair",
        f"stair/{key}/{name}",
        Name=name,
        ObjectPlacement=writer.placement((0.0, 0.0, 0.0), placement),
        PredefinedType=_KINDS.get(stair.stair.shape.kind, "NOTDEFINED"),
    )
    writer.contain(storey, whole)
    for index, (part, tops) in enumerate(climbed):
        flight = _part(writer, whole, part, tops, stair, metres, f"{key}/{name}/{index}")
        if flight is not None:
            writer.part(whole, flight)


def _climbed(
    parts: tuple[StairPart, ...], rise: float
) -> Iterator[tuple[StairPart, tuple[float, ...]]]:
    """Yield the parts with the height of each step, or of the landing.

    Every step rises alike; a landing is one step, and the last rise leads onto the floor above.
    """
    counts = [max(1, len(part.edges) - 1) for part in parts]
    one = rise / (sum(counts) + 1) if counts else 0.0
    done = 0
    for part, count in zip(parts, counts, strict=True):
        yield part, tuple(one * (done + step + 1) for step in range(count))
        done += count


def _part(
    writer: Writer,
    whole: Entity,
    part: StairPart,
    tops: tuple[float, ...],
    stair: PlacedStair,
    metres: float,
    key: str,
) -> Entity | None:
    outlines = [(*a, *reversed(b)) for a, b in pairwise(part.edges)] or [part.outline]
    solids = [
        writer.solid(corners, min(_THICK, top), foot=max(0.0, top - _THICK))
        for outline, top in zip(outlines, tops, strict=True)
        if len(corners := _corners(outline, metres)) > 2
    ]
    if not solids:
        return None
    shared = {
        "ObjectPlacement": writer.placement((0.0, 0.0, 0.0), whole.ObjectPlacement),
        "Representation": writer.shape(solids),
    }
    if not part.edges:
        return writer.root("IfcSlab", f"landing/{key}", PredefinedType="LANDING", **shared)
    return writer.root(
        "IfcStairFlight",
        f"flight/{key}",
        Name=f"Flight of {stair.stair.name.text}",
        NumberOfRisers=len(tops) + 1,
        NumberOfTreads=len(tops),
        RiserHeight=stair.riser * metres,
        TreadLength=stair.tread * metres,
        **shared,
    )


def _corners(outline: tuple[tuple[float, float], ...], metres: float) -> list[tuple[float, float]]:
    """Return an outline in metres, upwards, without corners that fall together."""
    found: list[tuple[float, float]] = []
    for x, y in outline:
        corner = (round(x * metres, 5), round(-y * metres, 5))
        if corner not in found:
            found.append(corner)
    return found
