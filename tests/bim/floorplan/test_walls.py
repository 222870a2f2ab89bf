"""Walls and openings: shared ones are there once, and openings stay in their walls."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noetl_mcp.bim.floorplan.building import Building
from noetl_mcp.bim.floorplan.drawing.network import Network, Opening, Wall
from noetl_mcp.bim.floorplan.drawing.walls import wall_network
from tests.bim.floorplan.by_hand import SIDES, built, connection, room, wall

ALL_SOLID = dict.fromkeys(SIDES, "solid")


def network(building: Building) -> Network:
    return wall_network(building.floors[0], building)


def only(found: Network, kind: str) -> tuple[Wall, Opening]:
    there = [(wall, opening) for wall, opening in found.openings() if opening.kind == kind]
    assert len(there) == 1
    return there[0]


def length(found: Network, solid: bool = True) -> float:
    return sum(wall.end - wall.start for wall in found.walls if wall.solid == solid)


def test_neighbours_share_one_wall() -> None:
    found = network(built(room("A", 0, 0, 4, 3), room("B", 4, 0, 5, 3)))

    assert length(found) == 9 + 9 + 3 + 3 + 3
    shared = [one for one in found.walls if not one.horizontal and one.at == 4]
    assert [(one.start, one.end) for one in shared] == [(0, 3)]
    assert shared[0].pieces[0].before == ("A",)
    assert shared[0].pieces[0].after == ("B",)


def test_rooms_that_meet_in_part_share_that_part() -> None:
    found = network(built(room("A", 0, 0, 4, 4), room("B", 4, 2, 4, 4)))

    (shared,) = [one for one in found.walls if not one.horizontal and one.at == 4]
    assert (shared.start, shared.end) == (0, 6)
    assert [(p.before, p.after) for p in shared.pieces] == [
        (("A",), ()),
        (("A",), ("B",)),
        ((), ("B",)),
    ]


def test_a_corridor_shares_one_wall_with_all_rooms_along_it() -> None:
    offices = [room(f"O{i}", i * 3, 0, 3, 4) for i in range(4)]
    found = network(built(*offices, room("Corridor", 0, 4, 12, 2)))

    (shared,) = [one for one in found.walls if one.horizontal and one.at == 4]
    assert (shared.start, shared.end, len(shared.pieces)) == (0, 12, 4)


def test_a_rooms_edge_a_little_off_its_neighbours_is_the_same_wall() -> None:
    found = network(built(room("A", 0, 0, 4, 3), room("B", 4.05, 0, 4, 3)))

    assert len([one for one in found.walls if not one.horizontal]) == 3


def test_walls_reach_to_the_far_face_of_those_they_meet() -> None:
    found = network(built(room("A", 0, 0, 4, 3)))

    for one in found.walls:
        assert one.joins == (True, True)
        assert one.reach == (one.start - 0.1, one.end + 0.1)


def test_a_wall_that_ends_at_an_open_edge_ends_there() -> None:
    found = network(built(room("A", 0, 0, 4, 3, {"top": "solid", "right": "open"})))

    (top,) = [one for one in found.walls if one.horizontal and one.at == 0]
    assert top.joins == (True, False)


def test_an_edge_is_open_only_when_everybody_says_so() -> None:
    opened = network(
        built(room("A", 0, 0, 4, 3, {"right": "open"}), room("B", 4, 0, 4, 3, {"left": "open"}))
    )
    closed = network(built(room("A", 0, 0, 4, 3, {"right": "open"}), room("B", 4, 0, 4, 3)))

    assert length(opened, solid=False) == 3
    assert length(closed, solid=False) == 0


def test_a_door_of_a_wall_has_the_width_of_a_door() -> None:
    found = network(built(room("A", 0, 0, 6, 4, {"bottom": "door"})))

    wall_, door = only(found, "door")
    assert (wall_.horizontal, wall_.at) == (True, 4)
    assert door.width == pytest.approx(0.9)
    assert (door.start + door.end) / 2 == pytest.approx(3)
    assert door.into == -1
    solid = sum(end - start for start, end in wall_.solids())
    assert solid == pytest.approx(6.2 - 0.9)


def test_two_rooms_that_both_say_door_have_one() -> None:
    found = network(
        built(room("A", 0, 0, 4, 3, {"right": "door"}), room("B", 4, 0, 4, 3, {"left": "door"}))
    )

    only(found, "door")


def test_a_door_wins_over_the_neighbours_window() -> None:
    found = network(
        built(room("A", 0, 0, 4, 3, {"right": "window"}), room("B", 4, 0, 4, 3, {"left": "door"}))
    )

    assert [opening.kind for _, opening in found.openings()] == ["door"]


def test_a_connection_is_the_door_that_the_walls_speak_of() -> None:
    found = network(
        built(
            room("A", 0, 0, 4, 3, {"right": "door"}),
            room("B", 4, 0, 4, 3, {"left": "door"}),
            connections=(connection("A.right", "B.left", "door", 25),),
        )
    )

    _, door = only(found, "door")
    assert (door.start + door.end) / 2 == pytest.approx(0.75)
    assert door.connection is not None


def test_a_percentage_counts_along_the_common_part() -> None:
    found = network(
        built(
            room("A", 0, 0, 4, 10),
            room("B", 4, 4, 4, 4),
            connections=(connection("A.right", "B.left", "opening", 50, wide=1),),
        )
    )

    _, opening = only(found, "opening")
    assert (opening.start, opening.end) == (5.5, 6.5)


@pytest.mark.parametrize(
    ("first", "swing", "opens_into", "hinge", "into"),
    [
        ("A.bottom", None, None, "start", -1),
        ("A.bottom", "left", None, "end", -1),
        ("A.bottom", None, "A", "end", -1),
        ("A.bottom", None, "B", "start", 1),
        ("A.bottom", "left", "B", "end", 1),
        ("B.top", None, None, "start", 1),
    ],
)
def test_doors_swing_as_they_are_told(
    first: str, swing: str | None, opens_into: str | None, hinge: str, into: int
) -> None:
    second = "B.top" if first == "A.bottom" else "A.bottom"
    told = connection(first, second, "door", 50, opens_into=opens_into, swing=swing)
    found = network(built(room("A", 0, 0, 4, 3), room("B", 0, 3, 4, 3), connections=(told,)))

    _, door = only(found, "door")
    assert (door.hinge, door.into) == (hinge, into)


def test_a_door_in_a_right_wall_is_held_at_its_lower_end() -> None:
    told = connection("A.right", "B.left", "door", 50)
    found = network(built(room("A", 0, 0, 4, 3), room("B", 4, 0, 4, 3), connections=(told,)))

    assert only(found, "door")[1].hinge == "end"


def test_front_doors_lead_outside() -> None:
    found = network(
        built(
            room("A", 0, 0, 4, 3),
            room("B", 4, 0, 4, 3),
            connections=(connection("A.right", "outside"), connection("B.bottom", "outside")),
        )
    )

    places = [(wall_.horizontal, wall_.at, door.into) for wall_, door in found.openings()]
    assert (True, 3, -1) in places


def test_a_connection_without_sides_finds_the_common_wall() -> None:
    found = network(
        built(room("A", 0, 0, 4, 3), room("B", 0, 3, 4, 3), connections=(connection("A", "B"),))
    )

    wall_, _ = only(found, "door")
    assert (wall_.horizontal, wall_.at) == (True, 3)


def test_rooms_apart_have_no_door_between_them() -> None:
    told = connection("A.right", "B.left")
    found = network(built(room("A", 0, 0, 4, 3), room("B", 20, 0, 4, 3), connections=(told,)))

    assert not list(found.openings())
    assert [one.connection for one in found.unplaced] == [told]


def test_a_gap_left_for_a_wall_is_gone_through() -> None:
    told = connection("A.right", "B.left", "door", 50)
    found = network(built(room("A", 0, 0, 4, 4), room("B", 4.2, 0, 4, 4), connections=(told,)))

    assert sorted(opening.kind for _, opening in found.openings()) == ["door", "opening"]


def test_a_sub_room_has_its_own_door_into_its_room() -> None:
    booth = room("Booth", 2, 2, 3, 3)
    told = connection("Hall.bottom", "Booth.top", "door", 50)
    found = network(built(room("Hall", 0, 0, 10, 10, rooms=(booth,)), connections=(told,)))

    wall_, _ = only(found, "door")
    assert (wall_.horizontal, wall_.at) == (True, 2)


def test_windows_stand_where_and_as_wide_as_written() -> None:
    walls = [wall("top", "window", 25, True, 1.2, 1.4), wall("top", "window", 6, False, 2.0)]
    found = network(built(room("A", 0, 0, 8, 4, walls)))

    windows = [opening for _, opening in found.openings()]
    assert [(round(w.start, 3), round(w.end, 3)) for w in windows] == [(1.4, 2.6), (5, 7)]
    assert windows[0].height == 1.4
    assert windows[0].sill == pytest.approx(0.9)


def test_a_window_without_a_size_takes_most_of_the_wall_that_is_outside() -> None:
    found = network(built(room("A", 0, 0, 8, 4, {"right": "window"}), room("B", 8, 2, 4, 2)))

    _, window = only(found, "window")
    assert window.end <= 2
    assert 0.6 <= window.width / 1.8 <= 0.8


def test_an_opening_too_wide_ends_at_the_faces_of_the_walls() -> None:
    found = network(built(room("A", 0, 0, 4, 3, [wall("top", "window", 50, True, 90.0)])))

    _, window = only(found, "window")
    assert (window.start, window.end) == pytest.approx((0.1, 3.9))


def test_a_door_does_not_stand_across_the_end_of_another_wall() -> None:
    rooms = (room("A", 0, 0, 3, 3), room("B", 3, 0, 3, 3), room("C", 0, 3, 6, 3, {"top": "door"}))
    _, door = only(network(built(*rooms)), "door")

    assert door.end <= 2.9 + 1e-9 or door.start >= 3.1 - 1e-9


def test_a_room_of_no_size_has_no_walls() -> None:
    assert network(built(room("A", 0, 0, 0, 3))).walls == ()


kinds = st.sampled_from(["solid", "door", "window", "open"])
sizes = st.floats(0.5, 12).map(lambda value: round(value, 2))


@st.composite
def plans(draw: st.DrawFn) -> Building:
    count = draw(st.integers(1, 7))
    rooms = []
    for index in range(count):
        walls = [
            wall(
                draw(st.sampled_from(SIDES)),
                draw(kinds),
                draw(st.none() | st.floats(0, 120)),
                draw(st.booleans()),
                draw(st.none() | sizes),
            )
            for _ in range(draw(st.integers(0, 5)))
        ]
        x, y = draw(st.integers(0, 12)), draw(st.integers(0, 12))
        rooms.append(room(f"R{index}", x, y, draw(sizes), draw(sizes), walls))
    names = st.sampled_from([f"R{index}" for index in range(count)] + ["outside"])
    told = tuple(
        connection(
            draw(names) + draw(st.sampled_from(["", ".top", ".left", ".right", ".bottom"])),
            draw(names),
            draw(st.sampled_from(["door", "double-door", "opening"])),
            draw(st.none() | st.floats(0, 200)),
            draw(st.none() | sizes),
        )
        for _ in range(draw(st.integers(0, 4)))
    )
    return built(*rooms, connections=told)


@settings(max_examples=80, deadline=None)
@given(plans())
def test_openings_never_leave_their_wall_or_cover_each_other(building: Building) -> None:
    found = network(building)

    for one in found.walls:
        ends = [one.start]
        for opening in one.openings:
            assert opening.start >= ends[-1] - 1e-9
            assert opening.end > opening.start
            ends.append(opening.end)
        assert ends[-1] <= one.end + 1e-9


@settings(max_examples=60, deadline=None)
@given(plans())
def test_every_edge_of_every_room_lies_on_a_wall(building: Building) -> None:
    found = network(building)

    lines = {(one.horizontal, round(one.at, 6)) for one in found.walls}
    for one in building.floors[0].rooms:
        for horizontal, at in ((True, one.box.y), (False, one.box.right)):
            assert any(same == horizontal and abs(at - there) <= 0.1 for same, there in lines)
