"""Every clause of the language is read, in any order, and every node knows where it stands."""

from typing import Any

import pytest

from noetl_mcp.bim.floorplan import tree
from noetl_mcp.bim.floorplan.reading.read import read
from noetl_mcp.bim.floorplan.words import WORDS

WALLS = "walls [top: solid, right: door, bottom: window, left: open]"


def plan_of(text: str) -> tree.Plan:
    """Read a text that must be right."""
    reading = read(text)
    assert not reading.errors, reading.errors
    return reading.plan


def room_of(clauses: str) -> tree.Room:
    """Read the clauses of one room."""
    return plan_of(f"floorplan floor f {{ room A {clauses} }}").floors[0].rooms[0]


def stair_of(clauses: str) -> tree.Stair:
    """Read the clauses of one stair."""
    return plan_of(f"floorplan floor f {{ stair S {clauses} }}").floors[0].stairs[0]


def connection_of(clauses: str) -> tree.Connection:
    """Read what follows the word connect."""
    return plan_of(f"floorplan connect {clauses}").connections[0]


def test_the_word_floorplan_alone_is_a_plan() -> None:
    assert plan_of("floorplan").floors == ()


def test_a_room_says_where_it_stands_how_large_it_is_and_what_its_walls_are() -> None:
    room = room_of(f"at (1, 2ft) size (10 x 12.5m) height 9ft elevation -1.5m {WALLS}")

    assert room.at is not None
    assert room.height is not None
    assert room.elevation is not None
    assert isinstance(room.size, tree.Size)
    assert (room.at.x.value, room.at.y.value, room.at.y.unit) == (1, 2, "ft")
    assert (room.size.width.value, room.size.width.unit) == (10, None)
    assert room.size.height is not None
    assert (room.size.height.value, room.size.height.unit) == (12.5, "m")
    assert (room.height.value, room.height.unit) == (9, "ft")
    assert (room.elevation.value, room.elevation.unit) == (-1.5, "m")
    assert [(wall.side, wall.kind) for wall in room.walls] == [
        ("top", "solid"),
        ("right", "door"),
        ("bottom", "window"),
        ("left", "open"),
    ]


@pytest.mark.parametrize(
    "entries",
    ["top:solid,left:door", "top : solid ,\n left: door", "top: solid, /* a */ left: door"],
)
def test_walls_are_read_alike_however_they_are_written(entries: str) -> None:
    text = f"floorplan floor f {{ room A size (1 x 1) walls [{entries}] }}"

    walls = plan_of(text).floors[0].rooms[0].walls

    assert [(wall.side, wall.kind) for wall in walls] == [("top", "solid"), ("left", "door")]
    assert [text[wall.kind_start : wall.kind_end] for wall in walls] == ["solid", "door"]
    assert [text[wall.start : wall.end].split(":")[0].strip() for wall in walls] == ["top", "left"]


def test_an_opening_in_a_wall_has_a_place_a_size_and_a_height() -> None:
    first, second = room_of(
        "size (9 x 9) walls [top: window at 20% size (3 x 4ft) height 9, left: door at 2]"
    ).walls

    assert (first.at, first.percent, first.height) == (20, True, 9)
    assert first.size is not None
    assert first.size.width.value == 3
    assert (second.at, second.percent, second.size) == (2, False, None)


@pytest.mark.parametrize(
    "size", ["(10 x 12)", "(10x 12)", "( 10 x 12 )", "(10 x /* wide */ 12)", "(010 x 12.00)"]
)
def test_a_size_is_read_alike_however_it_is_written(size: str) -> None:
    found = room_of(f"size {size} {WALLS}").size

    assert isinstance(found, tree.Size)
    assert found.height is not None
    assert (found.width.value, found.height.value) == (10, 12)


def test_a_size_may_be_a_name() -> None:
    plan = plan_of(f"floorplan define small (8 x 8) floor f {{ room A size small {WALLS} }}")

    assert plan.defines[0].name.text == "small"
    assert isinstance(plan.floors[0].rooms[0].size, tree.SizeName)


@pytest.mark.parametrize("clause", ["gap 2ft align bottom", "align bottom gap 2ft"])
def test_a_relation_has_a_gap_and_an_alignment_in_any_order(clause: str) -> None:
    relation = room_of(f"size (1 x 1) {WALLS} above-left-of B {clause}").relation

    assert relation is not None
    assert (relation.direction, relation.reference.text, relation.align) == (
        "above-left-of",
        "B",
        "bottom",
    )
    assert relation.gap is not None
    assert (relation.gap.value, relation.gap.unit) == (2, "ft")


def test_the_clauses_of_a_room_stand_in_any_order() -> None:
    room = room_of(f'style wood label "a" right-of B {WALLS} height 3 size (1 x 2) at (0, 0)')

    assert room.style is not None
    assert room.label is not None
    assert room.relation is not None
    assert room.height is not None
    assert room.at is not None
    assert len(room.walls) == 4


def test_rooms_stand_in_rooms() -> None:
    outer = room_of(
        f"size (9 x 9) {WALLS} composed of [ sub-room B at (1,1) size (2 x 2) {WALLS} "
        f"composed of [ room C at (0,0) size (1 x 1) {WALLS} ] ] label 'x'"
    )

    assert outer.rooms[0].sub
    assert outer.rooms[0].rooms[0].name.text == "C"
    assert not outer.rooms[0].rooms[0].sub
    assert outer.label is not None


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ('"Living Room"', "Living Room"),
        ("'Bob\"s'", 'Bob"s'),
        ('"1.0"', "1.0"),
        ('"a # b"', "a # b"),
        (r'"a\nb\qc\\"', "a\nbqc\\"),
        ('"two\nlines"', "two\nlines"),
        ('""', ""),
    ],
)
def test_a_label_is_any_text_in_quotes(written: str, text: str) -> None:
    source = f"floorplan floor f {{ room A size (1 x 1) {WALLS} label {written} }}"

    label = plan_of(source).floors[0].rooms[0].label

    assert label is not None
    assert label.text == text
    assert source[label.text_start : label.text_end] == written


def test_names_may_be_nearly_words_of_the_language() -> None:
    plan = plan_of(
        f"floorplan floor top_ {{ room Door size (1 x 1) {WALLS} room in_ size (1 x 1) {WALLS} "
        "right-of Door align left } connect Door.left to in_ door opens into Door"
    )

    assert plan.floors[0].name.text == "top_"
    assert [room.name.text for room in plan.floors[0].rooms] == ["Door", "in_"]


@pytest.mark.parametrize("name", WORDS.keywords)
def test_no_word_of_the_language_is_a_name(name: str) -> None:
    reading = read(f"floorplan floor f {{ room {name} size (1 x 1) {WALLS} }}")

    assert reading.errors
    assert reading.errors[0].start == len("floorplan floor f { room ")


@pytest.mark.parametrize(
    ("clauses", "slot", "value"),
    [
        ("shape straight toward top", "toward", "top"),
        ("shape L-shaped from left turn right runs 5, 6, 7", "runs", (5, 6, 7)),
        ("shape U-shaped from left turn right landing (4 x 4)", "kind", "U-shaped"),
        ("shape double-L from left turn right runs 5", "runs", (5,)),
        ("shape spiral rotation clockwise outer-radius 4ft", "rotation", "clockwise"),
        ("shape spiral rotation clockwise inner-radius 1 outer-radius 4", "kind", "spiral"),
        ("shape curved from top arc 90° radius 5", "arc", 90),
        ("shape curved from top radius 5", "arc", None),
        ("shape winder from top turn left winders 3 runs 4, 4", "winders", 3),
    ],
)
def test_stairs_have_shapes(clauses: str, slot: str, value: Any) -> None:
    assert getattr(stair_of(f"at (0,0) {clauses} rise 10ft").shape, slot) == value


def test_a_custom_stair_is_made_of_flights_and_turns() -> None:
    shape = stair_of(
        "shape custom from bottom [flight 5 width 4ft along Hall.left, turn left landing (4 x 4), "
        "flight 3, turn right winders 3 90°] rise 3m"
    ).shape

    first, second, third, fourth = shape.segments
    assert isinstance(first, tree.Flight)
    assert first.along is not None
    assert (first.steps, first.along.room.text, first.along.side) == (5, "Hall", "left")
    assert isinstance(second, tree.Turn)
    assert second.landing is not None
    assert isinstance(third, tree.Flight)
    assert isinstance(fourth, tree.Turn)
    assert (fourth.winders, fourth.angle) == (3, 90)


def test_a_stair_has_measures_rails_and_materials_in_any_order() -> None:
    stair = stair_of(
        'style s label "x" right-of A gap 1 material { tread: "oak", handrail: \'steel\' } '
        "stringers glass handrail (both) headroom 80in nosing 1in tread 11in riser 7in width 4ft "
        "rise 10ft shape straight toward top at (1, 1)"
    )

    assert stair.material == (("tread", "oak"), ("handrail", "steel"))
    assert (stair.stringers, stair.handrail) == ("glass", "both")
    assert stair.tread is not None
    assert stair.tread.unit == "in"


def test_a_lift_has_doors() -> None:
    lift = (
        plan_of('floorplan floor f { lift L size (5 x 5) at (1,1) label "x" doors (top, bottom) }')
        .floors[0]
        .lifts[0]
    )

    assert lift.doors == ("top", "bottom")


def test_a_floor_holds_rooms_stairs_and_lifts_in_any_order() -> None:
    floor = plan_of(
        "floorplan floor f height 3m { lift L size (1 x 1) stair S shape straight toward top "
        f"rise 3m room A size (1 x 1) {WALLS} }}"
    ).floors[0]

    assert (len(floor.rooms), len(floor.stairs), len(floor.lifts)) == (1, 1, 1)
    assert floor.height is not None


def test_a_connection_says_what_is_between_two_rooms() -> None:
    connection = connection_of(
        "A.right to outside double-door at 50% size (3ft x full) opens into A swing: left"
    )

    assert (connection.first.room.text, connection.first.side) == ("A", "right")
    assert (connection.second.room.text, connection.second.side) == ("outside", None)
    assert (connection.kind, connection.at, connection.swing) == ("double-door", 50, "left")
    assert connection.size is not None
    assert connection.size.height is None
    assert connection.opens_into is not None


@pytest.mark.parametrize(
    "clauses", ["A to B door door opens into A", "A to B door opens into A", "A to B opening"]
)
def test_a_connection_may_be_short(clauses: str) -> None:
    assert connection_of(clauses).second.room.text == "B"


def test_verticals_join_as_many_floors_as_there_are() -> None:
    (vertical,) = plan_of("floorplan vertical a.S to b.S to c.S").verticals

    assert [one.floor.text for one in vertical.elements] == ["a", "b", "c"]


def test_styles_and_the_config_hold_values_of_many_kinds() -> None:
    plan = plan_of(
        'floorplan style s { floor_color: "#fff", roughness: 0.5 } config { wallThickness: 0.5, '
        "door_size: (3 x 7ft), default_unit: ft, theme: dark, show_labels: false, "
        'default_style: s, font_family: "Noto", default_height: 9ft, area_unit: sqm }'
    )

    assert plan.config is not None
    kinds = {found.key: found.kind for found in plan.config.properties}
    assert kinds == {
        "wallThickness": "number",
        "door_size": "size",
        "default_unit": "unit",
        "theme": "name",
        "show_labels": "flag",
        "default_style": "name",
        "font_family": "string",
        "default_height": "number",
        "area_unit": "name",
    }
    assert [found.value for found in plan.styles[0].properties] == ["#fff", 0.5]


@pytest.mark.parametrize(
    ("written", "version"), [("1.0", "1.0"), ('"1.0.0"', "1.0.0"), ("1", "1"), ("1.2.3", "1.2.3")]
)
def test_a_directive_declares_a_version(written: str, version: str) -> None:
    text = f"# plan\n%%{{version: {written}}}%%\nfloorplan"

    found = plan_of(text).version

    assert found is not None
    assert (found.text, text[found.start : found.end]) == (version, written)


def test_comments_and_spaces_of_every_kind_stand_anywhere() -> None:
    text = "\ufeff/* a\n* b **/ floorplan # c\rfloor\u00a0f\u3000{ /**/ }# end"

    assert plan_of(text).floors[0].name.text == "f"


def test_every_node_stands_where_its_text_stands() -> None:
    text = (
        f'floorplan\r\nfloor f {{\r\n room A at (1, 2) size (3 x 4) {WALLS} label "Ä" # c\r\n}}\r\n'
        "connect A.top to outside door at 50%\r\n"
    )

    plan = plan_of(text)
    floor = plan.floors[0]
    room = floor.rooms[0]

    assert text[plan.start :].startswith("floorplan")
    assert text[floor.open] == "{"
    assert text[floor.close] == "}"
    assert text[floor.start : floor.end].endswith("}")
    assert text[room.start : room.end].endswith('label "Ä"')
    assert text[room.walls_start : room.walls_end] == WALLS
    assert room.at is not None
    assert text[room.at.start : room.at.end] == "at (1, 2)"
    assert text[room.at.y.start : room.at.y.end] == "2"
    assert text[room.size.start : room.size.end] == "size (3 x 4)"
    connection = plan.connections[0]
    assert text[connection.start : connection.end] == "connect A.top to outside door at 50%"
    assert text[connection.first.start : connection.first.end] == "A.top"
