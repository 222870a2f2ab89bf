"""Find out which stairs lead up and which down, from what vertical connections join. Draws nothing.

A stair that is joined to a floor above leads up; one that is joined to a floor below has arrived
there and leads down. A stair that nothing joins leads up, as its rise says.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from noetl_mcp.bim.floorplan import tree
from noetl_mcp.bim.floorplan.building import PlacedFloor, PlacedStair

Place = tuple[int, str]


class _Reach(NamedTuple):
    """The lowest and the highest floor of what is joined."""

    lowest: int
    highest: int


def with_climbs(
    floors: Sequence[PlacedFloor], verticals: Sequence[tree.Vertical]
) -> tuple[PlacedFloor, ...]:
    """Return the floors with stairs that know whether they lead up and down."""
    reaches = _reaches(floors, verticals)
    if not reaches:
        return tuple(floors)
    joined = {level for level, _ in reaches}
    return tuple(
        replace(floor, stairs=tuple(_climb(stair, floor.index, reaches) for stair in floor.stairs))
        if floor.index in joined
        else floor
        for floor in floors
    )


def _climb(stair: PlacedStair, level: int, reaches: Mapping[Place, _Reach]) -> PlacedStair:
    reach = reaches.get((level, stair.stair.name.text))
    if reach is None or reach.lowest == reach.highest:
        return stair
    return replace(stair, leads_up=reach.highest > level, leads_down=reach.lowest < level)


def _reaches(
    floors: Sequence[PlacedFloor], verticals: Sequence[tree.Vertical]
) -> Mapping[Place, _Reach]:
    """Return for each thing that is joined how far down and up that goes."""
    if not verticals:
        return {}
    there, chief = _there(floors), dict[Place, Place]()
    for vertical in verticals:
        named = ((one.floor.text, one.element.text) for one in vertical.elements)
        here = [there[key] for key in named if key in there]
        for place in here:
            chief.setdefault(place, place)
            chief[_chief_of(place, chief)] = _chief_of(here[0], chief)
    reaches: dict[Place, _Reach] = {}
    for place in chief:
        of, (level, _) = _chief_of(place, chief), place
        known = reaches.get(of, _Reach(level, level))
        reaches[of] = _Reach(min(known.lowest, level), max(known.highest, level))
    return {place: reaches[_chief_of(place, chief)] for place in chief}


def _chief_of(place: Place, chief: dict[Place, Place]) -> Place:
    """Follow a place to the one that stands for all that it is joined to."""
    while chief[place] != place:
        chief[place] = chief[chief[place]]
        place = chief[place]
    return place


def _there(floors: Sequence[PlacedFloor]) -> Mapping[tuple[str, str], Place]:
    """Return the place of every stair and lift, by the names of its floor and its own."""
    there: dict[tuple[str, str], Place] = {}
    for floor in floors:
        names = [one.stair.name.text for one in floor.stairs]
        names += [one.lift.name.text for one in floor.lifts]
        for name in names:
            there.setdefault((floor.id, name), (floor.index, name))
    return there
