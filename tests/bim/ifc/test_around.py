"""The rooms around a place are found by looking at few of them, and are those of all."""

import random

import pytest

from noetl_mcp.bim.floorplan.building import PlacedFloor
from noetl_mcp.bim.floorplan.reading.read import read
from noetl_mcp.bim.floorplan.resolve import understood
from noetl_mcp.bim.ifc.around import Rooms


def floor(rooms: list[str]) -> PlacedFloor:
    return understood(read("floorplan\nfloor f {\n" + "\n".join(rooms) + "\n}\n").plan).floors[0]


def room(number: int, x: float, y: float, size: float) -> str:
    return f"room r{number} at ({x:g}, {y:g}) size ({size:g} x {size:g}) walls [top: solid]"


@pytest.mark.parametrize("seed", range(5))
def test_the_innermost_room_is_that_of_all(seed: int) -> None:
    chance = random.Random(seed)
    sizes = (1, 2, 5, 40)
    made = floor(
        [
            room(one, chance.randrange(50), chance.randrange(50), chance.choice(sizes))
            for one in range(chance.choice((1, 3, 60, 150)))
        ]
    )
    rooms = Rooms(made.every_room())

    for _ in range(500):
        x, y = chance.randrange(-2, 180) / 2, chance.randrange(-2, 180) / 2
        around = [
            one
            for one in made.every_room()
            if one.box.x < x < one.box.right and one.box.y < y < one.box.bottom
        ]
        least = min(around, key=lambda one: one.box.width * one.box.height, default=None)
        assert rooms.around(x, y) == (None if least is None else least.name)


def test_of_many_rooms_few_are_looked_at_wherever_they_crowd() -> None:
    crowd = [room(one, one % 50 * 20, one // 50 * 20, 9) for one in range(2_000)]
    made = floor([*crowd, room(9_999, 9_000_000, 9_000_000, 9)])

    rooms = Rooms(made.every_room())

    assert max(len(rooms.near(x, y)) for x in range(0, 1_000, 7) for y in range(0, 800, 7)) < 40
