"""Things stand where a plan says, beside each other and in each other, in its unit."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noetl_mcp.bim.floorplan.building import Building
from noetl_mcp.bim.floorplan.reading.read import read
from noetl_mcp.bim.floorplan.resolve import understood
from noetl_mcp.bim.floorplan.validate import validate

W = "walls [top: solid]"
A = f"room A at (100, 200) size (10 x 12) {W}"


def building(text: str, raw: bool = False) -> Building:
    """Return what a text means; it must be readable."""
    reading = read(text)
    assert not reading.errors, reading.errors
    return understood(reading.plan, raw)


def boxes(body: str, raw: bool = False, head: str = "") -> dict[str, tuple[float, ...]]:
    """Return the boxes of the rooms of one floor by name."""
    floor = building(f"floorplan {head} floor f {{ {body} }}", raw).floors[0]
    return {room.name: tuple(room.box) for room in floor.every_room()}


@pytest.mark.parametrize(
    ("clause", "corner"),
    [
        ("right-of A", (110, 200)),
        ("right-of A gap 1.5", (111.5, 200)),
        ("right-of A align top", (110, 200)),
        ("right-of A align bottom", (110, 206)),
        ("right-of A gap 2 align center", (112, 203)),
        ("left-of A", (96, 200)),
        ("left-of A gap 1 align bottom", (95, 206)),
        ("left-of A align center", (96, 203)),
        ("below A", (100, 212)),
        ("below A gap 3 align right", (106, 215)),
        ("below A align center", (103, 212)),
        ("above A", (100, 194)),
        ("above A gap 0.5 align right", (106, 193.5)),
        ("above A align left", (100, 194)),
        ("above-right-of A", (110, 194)),
        ("above-right-of A gap 1", (111, 193)),
        ("above-left-of A gap 1", (95, 193)),
        ("below-right-of A gap 1 align center", (111, 213)),
        ("below-left-of A gap 2", (94, 214)),
        ("right-of A align left", (110, 200)),
        ("above A align bottom", (100, 194)),
    ],
)
def test_a_room_stands_beside_another(clause: str, corner: tuple[float, float]) -> None:
    assert boxes(f"{A} room B size (4 x 6) {W} {clause}")["B"] == (*corner, 4, 6)


def test_a_position_wins_over_a_relation() -> None:
    placed = boxes(f"{A} room B at (1, 2) size (4 x 6) {W} right-of A")

    assert placed["B"] == (1, 2, 4, 6)


def test_a_room_may_stand_beside_one_that_comes_later() -> None:
    body = f"room C size (1 x 1) {W} right-of B room B size (4 x 6) {W} right-of A {A}"

    assert boxes(body)["C"] == (114, 200, 1, 1)


def test_rooms_count_as_placed_in_the_order_of_repeated_passes() -> None:
    body = (
        f"room C size (1 x 1) {W} right-of B room B size (4 x 6) {W} right-of A {A} "
        f"room D size (1 x 1) {W} below B"
    )
    floor = building(f"floorplan floor f {{ {body} }}").floors[0]

    assert [room.name for room in floor.rooms] == ["C", "B", "A", "D"]
    assert [room.name for room in floor.order] == ["A", "B", "D", "C"]


def test_sub_rooms_count_from_the_corner_of_their_room_however_deep() -> None:
    deep = f"sub-room D at (1, 1) size (2 x 2) {W}"
    inner = f"sub-room S at (3, 4) size (5 x 5) {W} composed of [ {deep} ]"
    placed = boxes(f"room A at (100, 200) size (10 x 12) {W} composed of [ {inner} ]")

    assert placed == {
        "A": (100, 200, 10, 12),
        "S": (103, 204, 5, 5),
        "D": (104, 205, 2, 2),
    }


def test_sub_rooms_move_with_their_room_and_stand_beside_each_other() -> None:
    inner = f"sub-room S at (1, 1) size (2 x 2) {W} sub-room T size (3 x 3) {W} right-of S gap 1"
    body = f"{A} room B size (20 x 20) {W} right-of A composed of [ {inner} ]"

    assert boxes(body)["T"] == (114, 201, 3, 3)


def test_nothing_stands_beside_a_sub_room_of_another_room() -> None:
    inner = f"sub-room S at (1, 1) size (2 x 2) {W}"
    body = f"room A at (0, 0) size (9 x 9) {W} composed of [ {inner} ]"
    answer = validate(f"floorplan floor f {{ {body} room B size (1 x 1) {W} right-of S }}")

    assert [one["type"] for one in answer["errors"]] == ["circular_dependency"]
    assert answer["errors"][0]["roomName"] == "B"


def test_every_room_of_a_circle_is_told_of_with_the_names_of_all() -> None:
    body = (
        f"room A size (1 x 1) {W} right-of C room B size (1 x 1) {W} right-of A "
        f"room C size (1 x 1) {W} right-of B room D at (0, 0) size (1 x 1) {W}"
    )
    answer = validate(f"floorplan floor f {{ {body} }}")
    message = "Circular dependency detected involving rooms: A, B, C"

    assert [one["message"] for one in answer["errors"]] == [message] * 3
    assert [one["roomName"] for one in answer["errors"]] == ["A", "B", "C"]


def test_a_room_behind_a_missing_one_is_told_what_it_truly_waits_for() -> None:
    body = f"room A size (1 x 1) {W} right-of Q room B size (1 x 1) {W} right-of A"
    answer = validate(f"floorplan floor f {{ {body} }}")

    assert [one["type"] for one in answer["errors"]] == [
        "missing_reference",
        "circular_dependency",
    ]
    assert any(
        "'A', which it stands beside, has no place" in w["message"] for w in answer["warnings"]
    )


def test_an_unknown_size_is_told_of_once_and_not_of_what_stands_beside_it() -> None:
    body = f"room A at (0, 0) size Q {W} room B size (1 x 1) {W} right-of A"
    answer = validate(f"floorplan floor f {{ {body} }}")

    assert answer["errors"] == [
        {
            "type": "undefined_variable",
            "message": "Room 'A' references undefined variable 'Q'",
            "line": 1,
            "column": 43,
            "roomName": "A",
            "variableName": "Q",
            "code": "undefined-variable",
        }
    ]


def test_references_do_not_cross_floors() -> None:
    answer = validate(
        f"floorplan floor f {{ {A} }} floor g {{ room B size (1 x 1) {W} right-of A }}"
    )

    assert [one["message"] for one in answer["errors"]] == ["Room 'B' references unknown room 'A'"]


def test_the_long_way_around_a_thousand_rooms_is_short() -> None:
    rooms = " ".join(f"room R{i} size (1 x 1) {W} right-of R{i + 1}" for i in range(1000))

    assert boxes(f"{rooms} room R1000 at (0, 0) size (1 x 1) {W}")["R0"] == (1000, 0, 1, 1)


@pytest.mark.parametrize(
    ("unit", "expected"),
    [("ft", (10, 0, 10, 12)), ("m", (3.048, 0, 3.048, 3.6576)), ("in", (120, 0, 120, 144))],
)
def test_all_numbers_are_read_in_the_unit_of_the_plan(
    unit: str, expected: tuple[float, ...]
) -> None:
    body = f"room A at (0, 0) size (120in x 12ft) {W} room B size (10ft x 12ft) {W} right-of A"
    placed = boxes(body, head=f"config {{ default_unit: {unit} }}")

    assert placed["B"] == pytest.approx(expected)


def test_raw_reads_numbers_without_their_units() -> None:
    body = f"room A at (0, 0) size (120in x 12ft) {W} room B size (3m x 12) {W} right-of A"

    assert boxes(body, raw=True)["B"] == (120, 0, 3, 12)
    assert boxes(body)["B"] == pytest.approx((10, 0, 9.8425197, 12))


@pytest.mark.parametrize(
    ("body", "unit"),
    [
        (f"room A at (0, 0) size (3m x 4m) {W}", "m"),
        (f"room A at (0, 0) size (300cm x 400) {W}", "cm"),
        (f"room A at (0, 0) size (3m x 40cm) {W}", "m"),
        (f"room A at (0, 0) size (3 /* metres */ m x 4) {W}", "m"),
        (f'room A at (0, 0) size (3 x 4) {W} label "30 m"', "ft"),
        (f"room A at (0, 0) size (3ft x 40in) {W}", "ft"),
        (f"room A at (0, 0) size (3m x 40ft) {W}", "ft"),
        (f"room A at (0, 0) size (3 x 4) height 270cm {W}", "m"),
        (f"room A at (0, 0) size (3 x 4) height 108in {W}", "ft"),
        (f"room A at (0, 0) size (3 x 4) {W}", "ft"),
    ],
)
def test_a_plan_without_a_unit_shows_which_one_it_means(body: str, unit: str) -> None:
    assert building(f"floorplan floor f {{ {body} }}").habits.unit == unit


def test_both_spellings_of_a_key_mean_the_same() -> None:
    snake = building("floorplan config { default_unit: m, wall_thickness: 0.3, dark_mode: true }")
    camel = building("floorplan config { defaultUnit: m, wallThickness: 0.3, darkMode: true }")

    assert snake.habits == camel.habits
    assert (snake.habits.unit, snake.habits.wall_thickness) == ("m", 0.3)
    assert snake.habits.theme == "dark"


def test_the_config_of_the_text_wins_over_that_of_the_frontmatter() -> None:
    head = "---\nconfig:\n  default_unit: m\n  wall_thickness: 0.4\n---\n"

    habits = building(f"{head}floorplan config {{ defaultUnit: ft }}").habits

    assert (habits.unit, habits.wall_thickness) == ("ft", 0.4)


def test_defaults_are_in_the_unit_of_the_plan() -> None:
    metric = building("floorplan config { default_unit: cm }").habits
    feet = building("floorplan config { default_unit: ft }").habits

    assert metric.door_width == pytest.approx(90)
    assert metric.area_unit == "sqm"
    assert (feet.door_width, feet.area_unit) == (3, "sqft")


def test_stairs_and_lifts_stand_beside_rooms_and_each_other() -> None:
    stair = "stair S shape straight toward top rise 7ft width 3ft tread 1ft riser 7in right-of A"
    lift = "lift L size (5ft x 5ft) below S gap 1ft"
    floor = building(f"floorplan floor f {{ {A} {stair} {lift} }}").floors[0]

    assert (floor.stairs[0].x, floor.stairs[0].y) == (110, 200)
    assert floor.lifts[0].box == pytest.approx((110, 213, 5, 5))


def test_floors_stand_on_each_other() -> None:
    text = f"floorplan floor f height 3m {{ {A} }} floor g height 250cm {{ {A} }} floor h {{ {A} }}"
    floors = building("floorplan config { default_unit: m } " + text[10:]).floors

    assert [floor.elevation for floor in floors] == pytest.approx([0, 3, 5.5])


def test_a_connection_belongs_to_the_floor_that_has_both_rooms() -> None:
    two = f"{A} room B size (1 x 1) {W} right-of A"
    text = f"floorplan floor f {{ {A} }} floor g {{ {two} }} connect A.right to B.left door"
    first, second = building(text).floors

    assert first.connections == ()
    assert second.connections[0].first is second.rooms[0]
    assert second.connections[0].second is second.rooms[1]


def test_a_front_door_has_a_room_on_one_side_only() -> None:
    text = f"floorplan floor f {{ {A} }} connect outside to A.top double-door size (5 x full)"
    door = building(text).floors[0].connections[0]

    assert (door.first, door.width, door.height) == (None, 5, None)
    assert door.second is not None
    assert door.second.name == "A"


_steps = st.integers(-50, 50)
_lengths = st.integers(0, 12)


@st.composite
def plans(draw: st.DrawFn) -> tuple[str, str]:
    """Return a random plan, and the same one moved elsewhere."""
    by = (draw(st.integers(0, 500)), draw(st.integers(0, 500)))
    texts = []
    count = draw(st.integers(1, 7))
    rooms = []
    for index in range(count):
        size = f"size ({draw(_lengths)} x {draw(_lengths)})"
        kind = draw(st.sampled_from(["solid", "door", "window", "open"]))
        walls = f"walls [right: {kind}, left: solid]"
        corner = (draw(st.integers(0, 30)), draw(st.integers(0, 30)))
        relation = draw(st.sampled_from(["", "right-of", "above", "below-left-of"]))
        target = f"R{draw(st.integers(0, count))}"
        rooms.append((index, size, walls, corner, relation, target))
    ends = [(draw(st.integers(0, count)), draw(st.integers(0, count))) for _ in range(3)]
    doors = " ".join(f"connect R{a}.right to R{b}.left door at 30%" for a, b in ends)
    lift = (draw(st.integers(0, 30)), draw(st.integers(0, 30)))
    for dx, dy in ((0, 0), by):
        body = ""
        for index, size, walls, (x, y), relation, target in rooms:
            at = "" if relation else f"at ({x + dx}, {y + dy})"
            beside = f"{relation} {target}" if relation else ""
            body += f"room R{index} {at} {size} {walls} {beside}\n"
        body += f"lift L at ({lift[0] + dx}, {lift[1] + dy}) size (2 x 2)\n"
        texts.append(f"floorplan floor f {{ {body} }} {doors}")
    return texts[0], texts[1]


@settings(max_examples=150, deadline=None)
@given(plans())
def test_moving_a_plan_changes_no_verdict(pair: tuple[str, str]) -> None:
    here, there = (validate(text) for text in pair)

    def kinds(answer: dict[str, Any]) -> list[tuple[Any, ...]]:
        found = [*answer["errors"], *answer.get("warnings", [])]
        return [(one["code"], one.get("rooms"), one.get("roomName")) for one in found]

    assert here["valid"] == there["valid"]
    assert kinds(here) == kinds(there)
