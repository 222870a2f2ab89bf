"""Errors of reading: each where it is, with what was expected, as many as there are."""

import pytest

from noetl_mcp.bim.floorplan.reading.cursor import DEEPEST, MOST_ERRORS
from noetl_mcp.bim.floorplan.reading.read import read

ROOM = "room A at (0,0) size (10 x 12) walls [top: solid]"


def told(text: str) -> list[str]:
    """Return the errors of a text as `line:column message`."""
    reading = read(text)
    shown = [error.as_json(reading.lines) for error in reading.errors]
    return [f"{one['line']}:{one['column']} {one['message']}" for one in shown]


def first(text: str) -> str:
    """Return the first error of a text."""
    return told(text)[0]


def in_room(clauses: str) -> list[str]:
    """Return the errors of one room."""
    return told(f"floorplan floor f {{\nroom A {clauses}\n}}")


def test_a_wall_type_that_there_is_not_is_answered_with_those_that_there_are() -> None:
    assert in_room("size (1 x 1) walls [top: opne]") == [
        "2:33 Expected a wall type: solid, door, window or open, but found 'opne'. "
        "Did you mean 'open'?"
    ]


@pytest.mark.parametrize(
    ("clauses", "where"),
    [
        ("at (0,0) walls [top: solid]", "2:17 Expected 'size'"),
        ("at (0,0) size (1 x 1)", "3:1 Expected 'walls'"),
        ('size (1 x 1) label "x"', "2:21 Expected 'walls'"),
        ("size (10yd x 12) walls [top: solid]", "2:16 Expected 'x', but found 'yd'."),
        ("size (10x12) walls [top: solid]", "2:16 Expected 'x', but found 'x12'."),
        ("size (10, 12) walls [top: solid]", "2:16 Expected 'x', but found ','."),
        ("size (1 x 1) walls []", "2:28 Expected a side"),
        ("size (1 x 1) walls [top: solid,]", "2:39 Expected a side"),
        ("size (1 x 1) walls [north: solid]", "2:28 Expected a side: top, right"),
        ("size (1 x 1) walls [top: solid] right-of B gap -2", "2:55 Expected a number"),
        ("size (1 x 1) walls [top: solid] right-of B align middle", "2:57 Expected an alignment"),
        ("size (1 x 1) walls [top: solid] label Hall", "2:46 Expected a label in quotes"),
        ("size (1 x 1) size (2 x 2) walls [top: solid]", "2:21 A room says 'size' twice."),
        ("size (1 x 1) walls [top: solid] colour red", "2:40 Expected something that a room can"),
        ("size (.5 x 1) walls [top: solid]", "2:14 Expected a number"),
        ("size (1e3 x 1) walls [top: solid]", "2:15 Expected 'x', but found 'e3'."),
        ("size (99999999999999 x 1) walls [top: solid]", "2:14 Expected a number below"),
    ],
)
def test_what_is_wrong_with_a_room_is_told_where_it_is(clauses: str, where: str) -> None:
    assert in_room(clauses)[0].startswith(where)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", "1:1 Expected 'floorplan', but the text ends here."),
        ("floor f { }", "1:1 Expected 'floorplan', but found 'floor'."),
        ("floorplan\nfloorplan", "2:1 Expected something that a plan can have"),
        ("floorplan // hi", "1:11 Expected something that a plan can have"),
        ("floorplan floor f {", "1:20 Expected '}' or something on the floor"),
        ("floorplan floor { }", "1:17 Expected a name for the floor"),
        ("floorplan vertical a.S", "1:23 Expected 'to', but the text ends here."),
        ("floorplan connect A to B", "1:25 Expected a kind of connection"),
        ("floorplan connect A to B window", "1:26 Expected a kind of connection"),
        ("floorplan connect A to B door at 50", "1:36 Expected '%'"),
        ("floorplan connect A to B door swing left", "1:37 Expected ':', but found 'left'."),
        ("floorplan config { }", "1:20 Expected a key of the config"),
        ("floorplan config { wall_thicknes: 1 }", "1:20 Expected a key of the config"),
        ("floorplan config { theme: dark, }", "1:33 Expected a key of the config"),
        ("floorplan config { theme: dark } config { theme: dark }", "1:34 A plan has one config."),
        ("floorplan style s { color: 1 }", "1:21 Expected a key of a style"),
        ("floorplan style s { floor_color: red }", "1:34 Expected a text in quotes"),
        ('%%{version: "abc"}%%\nfloorplan', "1:13 Expected a version"),
        ("%%{version: 1.0}%%\n%%{version: 1.0}%%\nfloorplan", "2:1 Expected 'floorplan'"),
        ("floorplan floor f { stair S shape straight rise 3m }", "1:44 Expected 'toward'"),
        (
            "floorplan floor f { stair S shape straight toward north rise 3m }",
            "1:51 Expected a side",
        ),
        ("floorplan floor f { stair S shape L-shaped from top turn left runs 5 rise 3m }", "1:70"),
        ("floorplan floor f { stair S shape straight toward top }", "1:55 Expected 'rise'"),
        ("floorplan floor f { stair S rise 3m shape round }", "1:43 Expected a shape"),
        ("floorplan floor f { lift L doors (top) }", "1:28 Expected 'size'"),
        (
            "floorplan floor f { furniture [ sofa ] }",
            "1:21 Expected '}' or something on the floor",
        ),
    ],
)
def test_what_is_wrong_with_a_plan_is_told_where_it_is(text: str, where: str) -> None:
    assert first(text).startswith(where)


def test_several_errors_are_told_at_once_and_the_rest_is_read() -> None:
    text = f"""floorplan
floor f {{
  room 12 size (1 x 1) walls [top: solid]
  room B at (0;0) size (10 x 12) walls [top: solid, north: solid, left: nope]
  {ROOM}
  stair S shape straight toward up rise 3m material {{ foo: "x" }}
}}
connect A to outside door at half
connect A.top to outside door
"""

    reading = read(text)

    assert [reading.lines.place(error.start or 0)[0] for error in reading.errors] == [
        3, 4, 4, 4, 6, 6, 8
    ]  # fmt: skip
    assert [room.name.text for room in reading.plan.floors[0].rooms] == ["B", "A"]
    assert len(reading.plan.connections) == 2


def test_a_floor_that_is_not_closed_ends_where_the_next_one_begins() -> None:
    reading = read(f"floorplan floor a {{ {ROOM}\nfloor b {{ {ROOM} }}")

    assert [floor.name.text for floor in reading.plan.floors] == ["a", "b"]
    assert len(reading.errors) == 1


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("floorplan // hi", "Comments begin with '#'"),
        ("floorplan /* hi", "This comment never ends."),
        (f'floorplan floor f {{ {ROOM} label "x }}', "This string never ends."),
        ("floorplan floor f { room A size (10 x12) }", "Put a space behind the 'x'."),
        ("floorplan floor f { room A at (-1, 0) }", "Numbers have no sign."),
        ("floorplan floor f { room Küche size (1 x 1) }", "Names have letters from a to z"),
        ("floorplan floor f { room A-B size (1 x 1) }", "Names have letters from a to z"),
        ("floorplan config { themes: dark }", "Did you mean 'theme'?"),
    ],
)
def test_frequent_mistakes_are_answered_with_advice(text: str, advice: str) -> None:
    assert advice in first(text)


def test_columns_count_as_editors_do() -> None:
    assert first("floorplan /* 😀 */ x").startswith("1:20 ")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_as_they_do_anywhere(end: str) -> None:
    assert first(f"floorplan{end}floor f {{{end} {ROOM} label x{end}}}").startswith("3:58 ")


def test_rooms_cannot_be_nested_without_end() -> None:
    deep = "room A size (1 x 1) walls [top: solid] composed of [ " * 5_000
    reading = read(f"floorplan floor f {{ {deep}")

    assert any(error.code == "too-deep" for error in reading.errors)

    level = reading.plan.floors[0].rooms
    levels = 0
    while level:
        level, levels = level[0].rooms, levels + 1
    assert levels == DEEPEST + 1


def test_no_more_errors_are_kept_than_anybody_reads() -> None:
    assert len(read("floorplan floor f { " + "room 1 " * 1_000).errors) == MOST_ERRORS


@pytest.mark.parametrize(
    "piece",
    [
        "(",
        "[",
        "{",
        '"',
        "'",
        "\"'",
        "/*",
        "/**",
        "*/",
        "#",
        " ",
        "-",
        "1.",
        "room A ",
        "room A size (1 x 1) walls [",
        "room A size (1 x 1) composed of [",
        "[top: solid, ",
        'room A size (1 x 1) walls [top: solid] label "',
        "room A size (1 x 1) walls [top: solid] /* ",
        "room A size (1 x 1) walls [top: solid] # ",
        "room room ",
        "connect A.top to B.left door ",
        "connect A to /* */ ",
        "]",
        "}",
        "floor f {",
        "config { theme: ",
        "shape custom from top [ turn ",
        "material { ",
        "connect ",
        "é",
        "---\n",
        "---\na: 'b\n",
        "%%{",
    ],
)
def test_hostile_texts_come_to_their_end(piece: str) -> None:
    for head in ("", "---\n", "floorplan floor f { "):
        text = head + piece * 20_000

        errors = read(text).errors

        assert all(error.start is not None and error.start <= len(text) for error in errors)
        assert len(errors) <= 101
