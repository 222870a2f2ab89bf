"""Add the stairs of a floor plan to a building model, with the steps that are drawn."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

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


class Climb(NamedTuple):
    """A flight or a landing, and how high its steps are."""

    part: StairPart
    tops: tuple[float, ...]
    riser: float
    risers: int
    """How many there are, with that onto the landing or the floor behind it."""


class Ground(NamedTuple):
    """The corner of a stair in metres; what is in the plan's unit becomes metres from there."""

    metres: float
    corner: tuple[float, float]

    def corners(self, outline: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
        """Return an outline, upwards, without corners that fall together."""
        left, top = self.corner
        found: list[tuple[float, float]] = []
        for x, y in outline:
            at = (round(x * self.metres - left, 5), round(-y * self.metres - top, 5))
            if at not in found:
                found.append(at)
        return found


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
    climbed = _climbed(lines.parts, stair.rise * metres)
    if not climbed or stair.rise <= 0:
        return
    ground = Ground(metres, (lines.box.x * metres, -lines.box.y * metres))
    whole = writer.root(
        "IfcStair",
        f"stair/{key}/{name}",
        Name=name,
        ObjectPlacement=writer.placement((*ground.corner, 0.0), placement),
        PredefinedType=_KINDS.get(stair.stair.shape.kind, "NOTDEFINED"),
    )
    writer.contain(storey, whole)
    for index, one in enumerate(climbed):
        flight = _part(writer, whole, one, stair, ground, f"{key}/{name}/{index}")
        if flight is not None:
            writer.part(whole, flight)


def _climbed(parts: Sequence[StairPart], rise: float) -> list[Climb]:
    """Return the parts with the height of each step, or of the landing.

    Every step rises alike; a landing is one step, and the last rise leads onto the floor above.
    """
    counts = [max(1, len(part.edges) - 1) for part in parts]
    one = rise / (sum(counts) + 1) if counts else 0.0
    found, done = list[Climb](), 0
    for index, (part, count) in enumerate(zip(parts, counts, strict=True)):
        tops = tuple(one * (done + step + 1) for step in range(count))
        leads_on = index + 1 < len(parts) and bool(parts[index + 1].edges)
        found.append(Climb(part, tops, one, count if leads_on else count + 1))
        done += count
    return found


def _part(
    writer: Writer, whole: Entity, climb: Climb, stair: PlacedStair, ground: Ground, key: str
) -> Entity | None:
    part, tops = climb.part, climb.tops
    outlines = [(*a, *reversed(b)) for a, b in pairwise(part.edges)] or [part.outline]
    solids = [
        writer.solid(corners, min(_THICK, top), foot=max(0.0, top - _THICK))
        for outline, top in zip(outlines, tops, strict=True)
        if len(corners := ground.corners(outline)) > 2
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
        NumberOfRisers=climb.risers,
        NumberOfTreads=len(tops),
        RiserHeight=climb.riser,
        TreadLength=stair.tread * ground.metres,
        **shared,
    )
