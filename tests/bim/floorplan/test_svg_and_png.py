"""SVG and PNG: well-formed, escaped, readable by machines, of the size that was asked for."""

import re
import resource
import struct
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noetl_mcp.bim.floorplan.drawing.effort import effort
from noetl_mcp.bim.floorplan.drawing.look import CannotDraw, Look
from noetl_mcp.bim.floorplan.drawing.pixels import on_pixels
from noetl_mcp.bim.floorplan.drawing.plan_drawing import drawn
from noetl_mcp.bim.floorplan.png import APART, png_of
from noetl_mcp.bim.floorplan.resolve import understood
from noetl_mcp.bim.floorplan.svg import svg_of
from noetl_mcp.lettering.raster import rendered
from tests.bim.floorplan.by_hand import floor, plan, room
from tests.bim.floorplan.drawn import HEAD, drawing

SVG = "{http://www.w3.org/2000/svg}"
TWO = (
    "config { default_unit: m }\n"
    "floor f { room A at (0,0) size (4 x 3) walls [top: window, right: door] label 'One & only' "
    "room B at (4,0) size (4 x 3) walls [bottom: door] }"
)
HOSTILE = (
    "</text><script>alert(1)</script>",
    "\" onload=\"alert(1)' x='",
    "]]><!-- & &amp; &#0; %s {0}",
    "\x00\x01\x0b\ud800\ufffe",
    "\u202etxet desrever\u2066",
)


def size(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG")
    wide, high = struct.unpack(">II", png[16:24])
    return int(wide), int(high)


def test_an_svg_says_what_it_shows() -> None:
    root = ElementTree.fromstring(svg_of(drawing(TWO)))

    assert root.get("role") == "img"
    named = [root.find(f"{SVG}{tag}") for tag in ("title", "desc")]
    assert [one is not None and one.get("id") for one in named] == ["plan-title", "plan-desc"]
    assert root.get("aria-labelledby") == "plan-title plan-desc"
    assert root.findtext(f"{SVG}desc") == "Floor f: One & only, B."
    rooms = [one for one in root.iter(f"{SVG}rect") if one.get("data-room")]
    assert [one.get("data-room") for one in rooms] == ["A", "B"]
    titles = [one.findtext(f"{SVG}title") for one in rooms]
    assert titles[0] == "One & only, 4.00 \u00d7 3.00 m"


def test_all_walls_of_a_floor_are_one_path() -> None:
    root = ElementTree.fromstring(svg_of(drawing(TWO)))

    assert len([one for one in root.iter(f"{SVG}path") if one.get("class") == "walls"]) == 1


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_hostile_gets_through(text: str) -> None:
    made = plan(
        floor(room("A", 0, 0, 4, 3, label=text, style="s"), called=text),
        config={"font_family": text, "default_unit": "m"},
        styles={"s": {"floor_color": text, "wall_color": text}},
    )
    found = svg_of(drawn(understood(made), Look(show_summary=True)))

    root = ElementTree.fromstring(found)
    tags = {one.tag.removeprefix(SVG) for one in root.iter()}
    assert tags <= {"svg", "g", "rect", "path", "text", "title", "desc"}
    for one in root.iter():
        assert not [key for key in one.attrib if key.startswith("on")]
        fill = one.get("fill") or "none"
        assert fill == "none" or re.fullmatch(r"#[0-9a-f]{6}", fill)


def test_a_font_is_named_only_by_a_name() -> None:
    good = drawing('config { font_family: "Source Sans" }\nfloor f { }')
    bad = drawing("config { font_family: 'x\" onload=\"y' }\nfloor f { }")

    assert 'font-family="Source Sans, Noto Sans' in svg_of(good)
    assert 'font-family="Noto Sans,' in svg_of(bad)


@pytest.mark.parametrize("width", [16, 400, 800, 1600])
def test_a_png_is_as_wide_as_asked(width: int) -> None:
    assert size(png_of(drawing(TWO, Look(width=width)), width))[0] == width


def test_a_png_keeps_its_greatest_height() -> None:
    wide, high = size(png_of(drawing(TWO), 800, 200))

    assert high <= 201
    assert wide < 800


def test_the_same_plan_is_the_same_picture() -> None:
    assert png_of(drawing(TWO)) == png_of(drawing(TWO))


def test_an_empty_plan_is_a_picture_too() -> None:
    assert size(png_of(drawing("")))[0] == 800


labels = st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | st.sampled_from(HOSTILE)
numbers = st.floats(0, 60).map(lambda value: round(value, 2))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(numbers, numbers, numbers, numbers, labels), max_size=8),
    st.sampled_from(["default", "dark", "blueprint"]),
    st.booleans(),
)
def test_any_plan_is_well_formed(
    given_rooms: list[tuple[float, float, float, float, str]], theme: str, told: bool
) -> None:
    made = [
        room(f"R{index}", x, y, wide, high, {"top": "window", "left": "door"}, label)
        for index, (x, y, wide, high, label) in enumerate(given_rooms)
    ]
    look = Look(theme=theme, show_dimensions=told, show_area=told, show_summary=told)
    found = svg_of(drawn(understood(plan(floor(*made))), look))

    ElementTree.fromstring(found)
    assert not re.search(r"\b(nan|inf)\b", found)


spans = st.sampled_from(["0", "1", "3.5ft", "900", "0.001"])
hands = st.sampled_from(["left", "right"])
sides = st.sampled_from(["top", "right", "bottom", "left"])


@st.composite
def stairs(draw: st.DrawFn) -> str:
    side, hand, one, other = draw(sides), draw(hands), draw(spans), draw(spans)
    shape = draw(
        st.sampled_from(
            [
                f"straight toward {side}",
                f"L-shaped from {side} turn {hand} runs 3, 4 landing ({one} x {other})",
                f"U-shaped from {side} turn {hand} landing ({one} x {other})",
                f"double-L from {side} turn {hand} runs 9",
                f"spiral rotation clockwise inner-radius {one} outer-radius {other}",
                f"curved from {side} arc 400\u00b0 radius {one}",
                f"winder from {side} turn {hand} winders 5",
                f"custom from {side} [flight 2 width {one}, turn {hand} landing ({one} x {other}) "
                f"180\u00b0, flight 3, turn {hand} winders 3]",
            ]
        )
    )
    return (
        f"stair S at ({one},{other}) shape {shape} rise {draw(spans)} width {draw(spans)} "
        f"riser {draw(spans)} tread {draw(spans)}"
    )


@settings(max_examples=150, deadline=None)
@given(stairs())
def test_any_stair_is_drawn_or_refused(text: str) -> None:
    try:
        found = svg_of(drawing(f"floor f {{ {text} }}"))
    except CannotDraw:
        return
    ElementTree.fromstring(found)
    assert not re.search(r"\b(nan|inf)\b", found)


def test_a_text_that_is_not_finished_is_drawn_as_far_as_it_was_read() -> None:
    from noetl_mcp.bim.floorplan.reading.read import read

    reading = read(HEAD + "floor f { room A at (0,0) size (4 x 3) walls [top: solid] room B at (")

    assert reading.errors
    assert 'data-room="A"' in svg_of(drawn(understood(reading.plan)))


def test_a_picture_that_takes_long_is_painted_elsewhere_and_is_the_same() -> None:
    rooms = "".join(
        f"room R{n} at ({n % 50 * 9},{n // 50 * 9}) size (9 x 9) walls [top: door]\n"
        for n in range(2000)
    )
    found = drawing(f"floor f {{ {rooms} }}", Look(width=3600))
    assert effort(found, 1.0) > APART

    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    picture = png_of(found, 3600)

    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime > before
    assert picture == rendered(svg_of(on_pixels(found, 1.0)), 1.0)
