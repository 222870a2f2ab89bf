"""Rooms written relative to each other, and back: none ever moves."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noetl_mcp.bim.floorplan.edit.modify import modify
from noetl_mcp.bim.floorplan.edit.sheet import rooms_of
from noetl_mcp.bim.floorplan.reading.read import read
from noetl_mcp.bim.floorplan.resolve import understood
from tests.bim.floorplan.random_plans import plan
from tests.bim.floorplan.test_modify_rooms import refused
from tests.bim.floorplan.test_modify_scenarios import THREE, WALLS, done

Places = dict[tuple[str, str], tuple[float, float]]


def to_relative(anchor: str, **more: object) -> dict[str, object]:
    return {"action": "convert_to_relative", "params": {"anchorRoom": anchor} | more}


ABSOLUTE = {"action": "convert_to_absolute"}


def places(text: str) -> Places:
    building = understood(read(text).plan)
    return {
        (floor.id, room.name): (room.box.x, room.box.y)
        for floor in building.floors
        for room in floor.every_room()
    }


def assert_nothing_moved(before: Places, after: Places) -> None:
    assert before.keys() == after.keys()
    for name, (x, y) in before.items():
        assert after[name] == pytest.approx((x, y), abs=1e-6), name


def floor(*rooms: str, head: str = "") -> str:
    lines = "".join(f"    room {room}\n" for room in rooms)
    return f"%%{{version: 1.0}}%%\nfloorplan\n{head}  floor f {{\n{lines}  }}\n"


def test_neighbours_are_written_relative_to_each_other() -> None:
    answer = modify(THREE, [to_relative("Office")])

    assert answer["dsl"] == THREE.replace(
        f"Storage at (10,0) size (6 x 12) {WALLS}",
        f"Storage size (6 x 12) {WALLS} right-of Office align top",
    ).replace(
        "Hall at (0,12) size (16 x 4) walls [top: solid, right: door, bottom: window, left: open]",
        "Hall size (16 x 4) walls [top: solid, right: door, bottom: window, left: open] "
        "below Office align left",
    )
    assert answer["changes"][0]["message"] == "2 of 2 rooms are relative now"
    assert_nothing_moved(places(THREE), places(answer["dsl"]))


def test_a_room_that_no_clause_places_exactly_stays_and_is_told_of() -> None:
    text = floor(
        f"A at (0,0) size (10 x 10) {WALLS}",
        f"B at (12,0.5) size (4 x 4) {WALLS}",
        f"C at (16,0.5) size (4 x 4) {WALLS}",
    )

    answer = modify(text, [to_relative("A")])

    assert f"room B at (12,0.5) size (4 x 4) {WALLS}\n" in answer["dsl"]
    assert f"room C size (4 x 4) {WALLS} right-of B align top\n" in answer["dsl"]
    assert answer["changes"][0]["message"] == (
        "1 of 2 rooms are relative now; no clause is exact for B, so positions stay there"
    )


@pytest.mark.parametrize(
    ("room", "clause"),
    [
        ("at (12,3) size (4 x 7)", "right-of A gap 2 align bottom"),
        ("at (12,2.5) size (4 x 5)", "right-of A gap 2 align center"),
        ("at (2,13.25) size (6 x 2)", "below A gap 3.25 align center"),
        ("at (13,13) size (4 x 4)", "below-right-of A gap 3"),
        ("at (13.001,0) size (4 x 4)", "right-of A gap 3.001 align top"),
    ],
)
def test_gaps_and_alignments_are_exact(room: str, clause: str) -> None:
    text = floor(f"A at (0,0) size (10 x 10) {WALLS}", f"B {room} {WALLS}")

    made = done(text, to_relative("A"))

    assert f"{WALLS} {clause}\n" in made
    assert_nothing_moved(places(text), places(made))


def test_sizes_by_name_units_and_sub_rooms_are_understood() -> None:
    text = floor(
        f"A at (0m,0m) size big {WALLS}",
        f"B at (300cm, 0m) size (10ft x 2m) {WALLS} composed of [ sub-room S at (1ft,0) "
        f"size (1m x 1m) {WALLS} sub-room T at (130.48cm, 0) size (1m x 1m) {WALLS} ]",
        head="  define big (3m x 2m)\n  config { default_unit: m }\n",
    )

    made = done(text, to_relative("A"), to_relative("S"))

    assert "right-of A align top" in made
    assert "right-of S align top" in made
    assert_nothing_moved(places(text), places(made))


def test_other_floors_are_left_alone() -> None:
    text = THREE.replace(
        "  connect", "  floor up { room Loft at (5,5) size (9 x 9) walls [top: open] }\n  connect"
    )

    assert "room Loft at (5,5)" in done(text, to_relative("Office"))


def test_only_the_rooms_that_are_named_are_converted() -> None:
    made = done(THREE, to_relative("Office", targetRooms=["Hall"]))

    assert "room Storage at (10,0)" in made
    assert "below Office align left" in made


@pytest.mark.parametrize(
    ("text", "anchor", "says"),
    [
        (THREE, "Garage", 'Room "Garage" not found'),
        (
            floor(f"A at (0,0) size (9 x 9) {WALLS}", f"B at (5,5) size (9 x 9) {WALLS}"),
            "A",
            "Cannot convert to relative: Rooms 'A' and 'B' overlap",
        ),
        (
            floor(f"A at (0,0) size (9 x 9) {WALLS}", f"B size (9 x 9) {WALLS} below A"),
            "A",
            "Cannot convert to relative: Rooms without positions cannot be converted: B",
        ),
        (
            floor(f"A at (0,0) size (9 x 9) {WALLS}", f"B size (9 x 9) {WALLS} below A"),
            "B",
            "Cannot convert to relative: Anchor room 'B' has no position of its own",
        ),
    ],
)
def test_what_cannot_be_converted_is_refused(text: str, anchor: str, says: str) -> None:
    assert refused(text, to_relative(anchor)).startswith(says)


def test_rooms_that_are_relative_stay_so_and_the_others_are_converted() -> None:
    text = floor(
        f"A at (0,0) size (10 x 10) {WALLS}",
        f"B size (4 x 4) {WALLS} above A",
        f"C at (10,0) size (4 x 4) {WALLS}",
        f"D size (3 x 3) {WALLS} right-of C gap 1",
        f"E at (18,0) size (2 x 9) {WALLS}",
    )

    answer = modify(text, [to_relative("A")])

    [change] = answer["changes"]
    assert change["message"] == "2 of 2 rooms are relative now; relative already: B, D"
    assert "C size (4 x 4)" in answer["dsl"]
    assert f"E size (2 x 9) {WALLS} right-of D align top" in answer["dsl"]
    assert f"D size (3 x 3) {WALLS} right-of C gap 1\n" in answer["dsl"]
    assert_nothing_moved(places(text), places(answer["dsl"]))


def test_what_absolute_leaves_relative_is_no_dead_end() -> None:
    text = floor(
        f"A at (0,0) size (9 x 9) {WALLS}",
        f"B size (9 x 9) {WALLS} above A",
        f"C size (9 x 9) {WALLS} right-of A",
        f"D size (9 x 9) {WALLS} right-of B",
    )

    answer = modify(text, [ABSOLUTE, to_relative("A")])

    assert answer["success"]
    assert " at (9, 0)" not in answer["dsl"]
    assert_nothing_moved(places(text), places(answer["dsl"]))


@settings(max_examples=100, deadline=None)
@given(
    st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=12),
    st.randoms(use_true_random=False),
)
def test_parts_of_a_floor_may_be_converted_one_after_the_other(
    cells: set[tuple[int, int]], random: Random
) -> None:
    rooms = [
        f"R{i} at ({x * 10}, {y * 10}) size (10 x 10) {WALLS}" for i, (x, y) in enumerate(cells)
    ]
    text = floor(*rooms)
    part = random.sample(range(1, len(rooms)), random.randint(1, len(rooms) - 1))
    whole = modify(text, [to_relative("R0")])["dsl"]

    some = done(text, to_relative("R0", targetRooms=[f"R{i}" for i in part]))
    answer = modify(some, [to_relative("R0")])

    assert_nothing_moved(places(text), places(answer["dsl"]))
    if some.count(" at (") > 1:
        assert answer["success"]
    assert answer["dsl"].count(" at (") <= max(whole.count(" at ("), some.count(" at ("))


def test_a_conversion_that_would_change_the_unit_of_a_plan_is_refused() -> None:
    text = floor(f"A at (0,0) size (9 x 9) {WALLS}", f"B at (9m,0m) size (9 x 9) {WALLS}")

    assert "set default_unit to m first" in refused(text, to_relative("A"))


def test_relative_rooms_become_absolute_where_they_stand() -> None:
    made = done(THREE, to_relative("Office"), ABSOLUTE)

    assert made == THREE.replace("(10,0)", "(10, 0)").replace("(0,12)", "(0, 12)")


def test_a_room_below_zero_stays_relative_and_is_told_of() -> None:
    text = floor(f"A at (0,0) size (9 x 9) {WALLS}", f"B size (9 x 9) {WALLS} left-of A")

    answer = modify(text, [ABSOLUTE])

    assert answer["dsl"] == text
    assert "B cannot" in answer["changes"][0]["message"]


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32))
def test_no_conversion_ever_moves_a_room(seed: int) -> None:
    random = Random(seed)
    text = plan(random).text
    names = [one.name for one in rooms_of(read(text).plan)] or ["None"]

    answer = modify(
        text, [ABSOLUTE, to_relative(random.choice(names)), to_relative(names[0]), ABSOLUTE]
    )

    assert_nothing_moved(places(text), places(answer["dsl"]))
    for change in answer["changes"]:
        assert "would move" not in change.get("message", "")


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 12)] * 2, *[st.integers(1, 9)] * 2), min_size=2))
def test_rooms_on_a_grid_are_converted_wherever_a_clause_is_exact(
    boxes: list[tuple[int, int, int, int]],
) -> None:
    rooms = [
        f"R{i} at ({x * 10}, {y * 10}) size ({w} x {h}) {WALLS}"
        for i, (x, y, w, h) in enumerate({box[:2]: box for box in boxes}.values())
    ]
    text = floor(*rooms)

    made = done(text, to_relative("R0"))

    assert_nothing_moved(places(text), places(made))
    rows = {y for _, y, _, _ in boxes} | {x for x, _, _, _ in boxes}
    if len(rows) == 1 and len(rooms) > 1:
        assert " at (" not in made.replace("R0 at (", "")


def test_many_rooms_are_converted() -> None:
    rooms = [f"R{i} at ({i % 20 * 10}, {i // 20 * 12}) size (10 x 12) {WALLS}" for i in range(400)]

    answer = modify(floor(*rooms), [to_relative("R0")])

    assert answer["changes"][0]["message"] == "399 of 399 rooms are relative now"
