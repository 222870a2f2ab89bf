"""Whatever stands in a text, reading it ends well, and every place is inside and in order."""

import re
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from noetl_mcp.bim.floorplan.reading.read import Reading, read
from noetl_mcp.bim.floorplan.scanner import is_whole, scanner_of
from noetl_mcp.bim.floorplan.words import WORDS

WHOLE = """---
version: "1.0"
title: My "Home"
config:
  theme: dark
---
floorplan
define small (8 x 8ft)
style wood { floor_color: "#aabbcc", roughness: 0.5 }
config { wall_thickness: 0.3, door_size: (3 x 7), default_unit: ft, show_labels: true }
floor ground height 10ft {
  room A at (0, 0) size (10 x 12) height 9 elevation -1 walls [top: solid, right: door] label "a\\"
  room B size small walls [top: window at 20% size (3 x 4) height 2, left: open] right-of A gap 2
    align center composed of [ sub-room C at (1,1) size (2 x 2) walls [top: solid] style wood ]
  stair S at (1, 1) shape straight toward top rise 10ft width 4ft material { tread: 'oak' }
  stair T shape custom from top [flight 5 along A.left, turn left winders 3 90°] rise 3m
  stair U shape L-shaped from left turn right runs 5, 6 landing (4 x 4) rise 3 handrail (both)
  lift L at (5, 5) size (5 x 5) doors (top, bottom) # no comment
}
connect A.right to B.left double-door at 50% size (3ft x full) opens into A swing: left
connect A to outside door door opens into outside
vertical ground.S to ground.L to ground.T
"""
SIGNS = scanner_of(WORDS).scanned(WHOLE).texts


def nodes(value: Any) -> Iterator[tuple[Any, list[Any]]]:
    """Yield every node of a tree that has a place, each with those in it."""
    if not isinstance(value, tuple):
        return
    if not hasattr(value, "end"):
        for one in value:
            yield from nodes(one)
        return
    inner = [pair for one in value for pair in nodes(one)]
    yield value, [node for node, _ in inner]
    yield from inner


def check(text: str) -> Reading:
    """Read a text and look at all places."""
    reading = read(text)
    for error in reading.errors:
        assert error.start is not None
        assert error.end is not None
        assert 0 <= error.start <= error.end <= len(text)
        line, column = reading.lines.place(error.start)
        assert line >= 1
        assert column >= 1
    plan = reading.plan
    assert 0 <= plan.start <= len(text)
    own_config = plan.config if plan.config and plan.config.start >= plan.start else None
    parts = (plan.version, plan.frontmatter, plan.defines, plan.styles, plan.floors)
    for part in (*parts, plan.connections, plan.verticals):
        for node, inside in nodes(part):
            assert 0 <= node.start <= node.end <= len(text)
            for one in inside:
                assert node.start <= one.start <= one.end <= node.end
    if own_config:
        assert own_config.start <= own_config.end <= len(text)
    return reading


def test_the_whole_language_reads_without_an_error() -> None:
    assert not check(WHOLE).errors


@settings(max_examples=300, deadline=None)
@given(st.text())
def test_any_text_is_read(text: str) -> None:
    check(text)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from([*SIGNS, *WORDS.keywords, "1", "x", "é", "\n", "'", '"', "/*"])))
def test_any_signs_are_read(signs: list[str]) -> None:
    check("floorplan floor f { " + " ".join(signs))


@settings(max_examples=500, deadline=None)
@given(
    st.integers(0, len(WHOLE)),
    st.integers(0, 40),
    st.one_of(st.text(max_size=8), st.sampled_from(SIGNS)),
    st.integers(0, len(WHOLE)),
    st.integers(0, 3),
)
def test_any_change_of_a_plan_is_read(at: int, cut: int, put: str, second: int, less: int) -> None:
    once = WHOLE[:at] + put + WHOLE[at + cut :]

    check(once[:second] + once[second + less :])


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab:- #'\"|>\n\r \t1.{}config:theme", max_size=80))
def test_any_frontmatter_is_read(text: str) -> None:
    check(f"---\n{text}\n---\nfloorplan")


BLANKS = st.sampled_from([" ", "  ", "\n", "\r\n  ", "\t"])
NUMBERS = st.sampled_from(
    ["0", "1", "12.50", "007", "123456789", "1234567890", "1.5ft", "3m", "2ftx", "2."]
)
NAMES = st.sampled_from(["A", "room_1", "_x", "sized", "at", "size", "outside", "door", "left"])
PIECES = {
    "at": "at ({n},{b}{n})",
    "size": "size{b}({n} x {n})",
    "walls": "walls [top:{b}solid , left: door]",
    "relation": "right-of{b}{name} gap {n} align top",
    "beside": "below {name}",
    "label": 'label{b}"a [ ] floor B"',
    "word": "label{b}'it\\'",
    "style": "style {name}",
    "height": "height{b}{n}",
    "comment": "# a\n",
}
ROOMS = st.tuples(
    st.sampled_from(["room", "sub-room"]),
    st.one_of(
        st.just(["at", "size", "walls"]),
        st.just(["size", "walls", "relation", "label"]),
        st.just(["at", "size", "height", "walls", "label", "style", "comment"]),
        st.lists(st.sampled_from(list(PIECES)), max_size=5),
    ),
)
ENDS = ["door", "opening", "double-door{b}at{b}{n}%", "door at 5% swing: left", "window", ""]
ENDS += ["door{b}size ({n} x {n}) opens{b}into {name}", "opening at {n}% size (1 x full)"]
ENDS += ["door door opens into outside # a", "door at 5% size (1 x 2){b}swing :{b}right"]


@settings(max_examples=500, deadline=None)
@given(st.data())
def test_plain_rooms_and_connections_are_read_as_all_others_are(data: st.DataObject) -> None:
    def written(piece: str) -> str:
        while match := re.search(r"\{(b|n|name)\}", piece):
            drawn = data.draw({"b": BLANKS, "n": NUMBERS, "name": NAMES}[match[1]])
            piece = piece[: match.start()] + drawn + piece[match.end() :]
        return piece

    rooms = [
        written(f"{kind} {{name}}{{b}}" + "{b}".join(PIECES[name] for name in names))
        for kind, names in data.draw(st.lists(ROOMS, max_size=3))
    ]
    ends = data.draw(st.lists(st.sampled_from(ENDS), max_size=3))
    joined = [written(f"connect {{name}}.top{{b}}to {{name}} {end}") for end in ends]
    text = f"floorplan floor f {{ {' '.join(rooms)} }} {' '.join(joined)}"
    slow = re.sub(r"(?<=room|nect) ", "\t", text)

    quick, careful = check(text), check(slow)

    assert quick.plan._replace(text="") == careful.plan._replace(text="")
    assert [one.start for one in quick.errors] == [one.start for one in careful.errors]


PLAIN = """floorplan floor f {
  room A at (0, 2ft) size (10ft x 12) height 9ft walls [top: solid, left:door] label "a" style s #c
  sub-room B size (1 x 2m) walls [top: solid] above-left-of A gap 2ft align center /* c */
  room C size ( 1x 2 ) walls [ top : open ] right-of A
}
connect A.top to outside door at 5% size (3ft x 7) opens into outside swing: left
connect A to B.left double-door size (3 x 7)
connect C to A opening
"""


def test_what_is_plain_is_one_sign_and_reads_as_sign_by_sign() -> None:
    slow = re.sub(r"(?<=room|nect) ", "\t", PLAIN)

    whole = [sign for sign in scanner_of(WORDS).scanned(PLAIN).texts if is_whole(sign)]

    assert len(whole) == 6
    assert not any(is_whole(sign) for sign in scanner_of(WORDS).scanned(slow).texts)
    assert not read(PLAIN).errors
    assert read(PLAIN).plan._replace(text="") == read(slow).plan._replace(text="")


def test_the_text_of_every_room_stair_and_connection_reads_to_the_same_again() -> None:
    plan = read(WHOLE).plan
    floor = plan.floors[0]
    things: list[Any] = [*floor.rooms, *floor.stairs, *floor.lifts]
    for thing in things:
        before = "floorplan floor f { "
        again = read(before + WHOLE[thing.start : thing.end] + " }")
        assert not again.errors
        other = again.plan.floors[0]
        found = (*other.rooms, *other.stairs, *other.lifts)[0]
        assert _moved(found, thing.start - len(before)) == thing
    for connection in plan.connections:
        again = read("floorplan " + WHOLE[connection.start : connection.end])
        assert _moved(again.plan.connections[0], connection.start - len("floorplan ")) == connection


def _moved(value: Any, by: int) -> Any:
    """Return a node with all its places moved."""
    if not isinstance(value, tuple):
        return value
    if not hasattr(value, "_fields"):
        return tuple(_moved(one, by) for one in value)
    return type(value)(
        *(
            part + by
            if name in ("start", "end") or name.endswith(("_start", "_end"))
            else _moved(part, by)
            for name, part in zip(value._fields, value, strict=True)
        )
    )
