"""Leaves of doors: what they swing over is told, and nothing that they only come near."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noetl_mcp.bim.floorplan.building import Box
from noetl_mcp.bim.floorplan.checks.grounds import corners, overlap, swept_ground, within
from noetl_mcp.bim.floorplan.checks.leaves import MOST_ROOMS
from noetl_mcp.bim.floorplan.drawing.shapes import Arc
from noetl_mcp.bim.floorplan.examples import EXAMPLES
from noetl_mcp.bim.floorplan.validate import validate

SOLID = "walls [top: solid, right: solid, bottom: solid, left: solid]"
OPEN = "walls [top: door, left: door]"
CODES = ("door-over-stair", "doors-cross")


def told(body: str, connections: str = "", unit: str = "m") -> list[str]:
    """Return what is said about leaves in a plan with a hall of 4 x 6 m beside a room."""
    hall = f"room Hall at (0,0) size (4m x 6m) {SOLID} room Den at (4m,0) size (3m x 6m) {SOLID}"
    text = (
        f"%%{{version: 1.0}}%%\nfloorplan config {{ default_unit: {unit} }}\n"
        f"floor f {{ {hall}\n{body} }}\n{connections}"
    )
    answer = validate(text)
    assert answer["valid"], answer["errors"]
    return [one["message"] for one in answer.get("warnings", ()) if one["code"] in CODES]


STAIR = "stair S at (3m,2.4m) shape straight toward {} rise 3m width 0.9m tread 28cm riser 18cm"


def test_a_door_that_swings_over_the_lower_steps_of_a_stair_is_told() -> None:
    door = "connect Hall.right to Den.left door at 50% opens into {}"

    assert told(STAIR.format("bottom"), door.format("Hall")) == [
        "The door between 'Hall' and 'Den' swings over stair 'S' on floor 'f'. Let it open the "
        "other way, or move one of them."
    ]
    assert told(STAIR.format("bottom"), door.format("Den")) == []


@pytest.mark.parametrize("unit", ["m", "cm", "mm", "ft", "in"])
def test_steps_that_are_higher_than_a_door_are_passed_under(unit: str) -> None:
    stair = "stair S at (0.2m,0.2m) shape straight toward bottom rise 3m width 1m riser 18cm"
    high, low = (f"connect Hall.left to outside door at {at}%" for at in (80, 20))

    assert told(f"{stair} tread 28cm", high, unit) == []
    assert len(told(f"{stair} tread 28cm", low, unit)) == 1


def test_all_steps_of_a_stair_that_arrives_count_for_they_lie_below() -> None:
    stair = "stair S at (0.2,0.2) shape straight toward bottom rise 3m width 1m tread 28cm"
    door = "connect Hall.left to outside door at 80%"
    below = f"}} floor cellar {{ room C at (0,0) size (7 x 6) {SOLID} {stair}"

    assert told(f"{stair} {below}", door) == []
    upper = f"floor high {{ {stair} room H at (0,0) size (7 x 6) {SOLID} }}"
    text = f"{upper}\nvertical f.S to high.S\nconnect H.left to outside door at 80%"
    assert len(told(stair, text)) == 1


def test_the_empty_corner_of_a_stair_is_no_stair() -> None:
    turned = "stair S at (1,1) shape L-shaped from bottom turn right runs 6, 6 rise 2m width 1m"
    door = "connect Hall.right to Den.left door at {}% size (0.8 x 2) opens into Hall"

    assert told(f"{turned} tread 28cm", door.format(45)) == []
    assert len(told(f"{turned} tread 28cm", door.format(25))) == 1


def test_a_door_beside_a_stair_is_fine() -> None:
    near = "stair S at (2.99,0.2) shape straight toward bottom rise 3m width 0.9m tread 20cm"

    assert told(near, "connect Hall.bottom to outside door at 90% size (0.9 x 2)") == []


def test_a_door_over_a_lift_is_told() -> None:
    found = told("lift L at (3.2,2.6) size (0.8 x 0.8)", "connect Hall.right to Den.left door")

    assert found == [
        "The door between 'Hall' and 'Den' swings over lift 'L' on floor 'f'. Let it open the "
        "other way, or move one of them."
    ]


def test_doors_whose_leaves_cross_in_a_room_are_told_once() -> None:
    pair = "connect Hall.right to Den.left double-door at 5% opens into {}\n"
    front = "connect Den.top to outside door at 0% size (0.9 x 2)"

    assert told("", pair.format("Den") + front) == [
        "The double door between 'Hall' and 'Den' and the door from 'Den' to outside swing over "
        "the same ground in 'Den'. Let one of them open the other way, or move it."
    ]
    assert told("", pair.format("Hall") + front) == []


def test_the_doors_of_walls_are_told_with_their_wall() -> None:
    room = f"room Nook at (10,0) size (1.4 x 1.4) {OPEN}"

    [message] = told(room)

    assert "door in wall Nook.top" in message
    assert "door in wall Nook.left" in message


def test_a_leaf_ends_at_the_wall_of_its_room() -> None:
    closet = (
        f"room Closet at (7,0) size (0.5 x 2) {SOLID} room Beyond at (7.5,0) size (3 x 2) {SOLID}"
    )
    stair = "stair S at (7.6,0.2) shape straight toward right rise 3m width 1m"

    assert (
        told(f"{closet} {stair}", "connect Den.right to Closet.left door opens into Closet") == []
    )


@pytest.mark.parametrize(
    "body",
    [
        f"room N at (20,0) size (1 x 1) {OPEN} room N at (40,0) size (1 x 1) walls [top: solid]",
        f"room N at (20,0) size (0 x 0.9) {OPEN}",
        f"room N at (99999999999,0) size (1 x 0.9) {OPEN}",
        f"room N at (0,0) size (99999999999 x 0.9) {OPEN}",
        "stair S at (0,0) shape curved from left radius 99999999999 rise 1",
        "stair S at (0,0) shape custom from left [turn left winders 0 360\N{DEGREE SIGN}] rise 0",
        "stair S at (0,0) shape custom from left [turn left landing (1 x 1)] rise 1",
        "lift L at (1,1) size (0 x 1)",
    ],
)
def test_no_plan_is_too_odd_to_be_looked_at(body: str) -> None:
    assert isinstance(told(body, "connect Hall.right to Den.left door at 900%"), list)


def test_very_large_floors_are_not_looked_at() -> None:
    nook = "room N{0} at ({0},20) size (0.9 x 0.9) walls [top: door, left: door]"

    assert told(" ".join(nook.format(index) for index in range(3)))
    assert told(" ".join(nook.format(index) for index in range(MOST_ROOMS))) == []


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda one: str(one.title))
def test_nothing_is_told_about_the_examples(example: object) -> None:
    text = getattr(example, "text", "")

    assert not validate(text).get("warnings")


AWAY = st.floats(-3, 3, allow_nan=False)


@settings(max_examples=200, deadline=None)
@given(AWAY, AWAY, st.sampled_from([(1, 1), (1, -1), (-1, 1), (-1, -1)]), st.booleans())
def test_a_swing_covers_what_is_near_its_hinge_on_its_side(
    x: float, y: float, way: tuple[int, int], turned: bool
) -> None:
    ends = ((float(way[0]), 0.0), (0.0, float(way[1])))
    arc = Arc((0.0, 0.0), 1.0, *(ends[::-1] if turned else ends), clockwise=turned)
    ground = swept_ground(arc)
    dot = corners(Box(x - 0.005, y - 0.005, 0.01, 0.01))
    is_in = x * way[0] > 0.02 and y * way[1] > 0.02 and x * x + y * y < 0.9
    is_out = x * way[0] < -0.02 or y * way[1] < -0.02 or x * x + y * y > 1.1

    assert not is_in or overlap(ground, dot, 0.0)
    assert not is_out or not overlap(ground, dot, 0.0)
    assert not within(ground, Box(2, 2, 1, 1))
