"""Drawings: what an architect looks for is there, in its place, and nothing covers anything."""

import itertools
import math

import pytest

from noetl_mcp.bim.floorplan.building import Box
from noetl_mcp.bim.floorplan.drawing.colors import THEMES, contrast, on
from noetl_mcp.bim.floorplan.drawing.labels import wordings
from noetl_mcp.bim.floorplan.drawing.look import STACKED, CannotDraw, Look
from noetl_mcp.bim.floorplan.drawing.shapes import Arc, Areas, Drawing, Letters, Lines, Stroke
from tests.bim.floorplan.drawn import (
    arcs,
    covers,
    drawing,
    ground_of,
    layers,
    lines,
    rooms,
    texts,
    walls,
    within,
    written,
)

FLAT = """---
title: "Garden flat"
version: "1.0"
---
floorplan
style wood { floor_color: "#e3c9a0" }
config { default_unit: m, wall_thickness: 0.2, show_dimensions: true }
floor ground {
  room Living at (0,0) size (6 x 5) walls [top: window, left: window] style wood
  room Bed at (6,0) size (4 x 3.6) walls [top: window, right: window] style wood
  room Hall at (0,5) size (6 x 1.8) walls [left: solid]
}
connect Living.bottom to Hall.top double-door at 40%
connect Living.right to Bed.left door at 30% opens into Bed
connect Hall.left to outside door at 50%
"""

OFFICE = """
config { default_unit: ft }
floor f1 {
  room One at (0,0) size (11 x 12) walls [top: window, bottom: door]
  room Two at (11,0) size (11 x 12) walls [top: window, bottom: door]
  room Corridor at (0,12) size (22 x 6) walls [right: door] label "Main corridor"
  room Store at (0,18) size (3 x 3) walls [top: door] label "Cleaning equipment"
  room Shaft at (3,18) size (2 x 16) walls [top: solid] label "Ventilation shaft"
  room Lab at (5,18) size (17 x 16) walls [bottom: window] label "Laboratory" composed of [
    sub-room Booth at (6,5) size (6 x 6) walls [bottom: door]
  ]
}
"""

HOUSE = """
config { default_unit: m }
floor ground {
  room Hall at (0,0) size (6 x 8) walls [bottom: door]
  stair Main at (1,1) shape U-shaped from bottom turn left rise 2.8m width 1m label "Stair"
  lift Car at (4,5) size (1.5 x 1.8) doors (left) label "Lift"
}
floor first { room Landing at (0,0) size (6 x 8) walls [top: window] }
"""

SHAPES = (
    "straight toward top",
    "straight toward left",
    "L-shaped from bottom turn left runs 7, 7 landing (4 x 4)",
    "U-shaped from left turn right",
    "double-L from top turn right runs 5",
    "spiral rotation counterclockwise outer-radius 4",
    "curved from bottom arc 120\N{DEGREE SIGN} radius 7ft",
    "winder from right turn right winders 3 runs 6, 6",
    "custom from bottom [flight 5 width 4ft, turn left landing (4 x 4), flight 4]",
)
ODD_SHAPES = (
    "custom from left [turn left landing (4 x 4)]",
    "custom from left [turn left landing (4 x 4) 180°, turn right landing (4 x 4)]",
    "custom from left [turn right winders 0]",
    "custom from left [flight 0]",
)


def sweeps(arc: Arc, ground: Box) -> bool:
    """Whether a door's leaf passes over a ground."""
    xs, ys = zip(arc.center, arc.start, arc.end, strict=True)
    left, right = max(min(xs), ground.x), min(max(xs), ground.right)
    top, bottom = max(min(ys), ground.y), min(max(ys), ground.bottom)
    if left >= right or top >= bottom:
        return False
    near = min(max(arc.center[0], left), right), min(max(arc.center[1], top), bottom)
    return math.dist(near, arc.center) < arc.radius - 1e-9


def no_label_covers(found: Drawing, names: tuple[str, ...]) -> None:
    """No label leaves its room, covers another, or lies on the ground that a door sweeps."""
    grounds = [ground_of(*one) for one in written(found, "labels")]
    for index, one in enumerate(grounds):
        for other in grounds[:index]:
            assert not covers(one, other)
        assert any(within(one, box) for name, box in rooms(found).items() if name in names)
        for arc in arcs(found):
            assert not sweeps(arc, one)


def test_a_flat_shows_its_doors_windows_and_names() -> None:
    found = drawing(FLAT)

    assert len(lines(found, "walls")) == 1
    assert len(arcs(found)) == 4
    assert len(lines(found, "windows")[0].shapes) == 4
    assert len(lines(found, "entrances")[0].shapes) == 1
    assert {"Living", "Bed", "Hall"} <= set(texts(found, "labels"))
    assert texts(found, "title") == ["Garden flat"]
    no_label_covers(found, ("Living", "Bed", "Hall"))


def test_a_door_is_a_gap_of_its_width_in_the_wall() -> None:
    found = drawing(FLAT)

    shared = sorted((one.y, one.bottom) for one in walls(found) if one.x == pytest.approx(5.9))
    gaps = [after[0] - before[1] for before, after in itertools.pairwise(shared)]
    assert [round(gap, 6) for gap in gaps if gap > 0.01] == [0.9]


def test_nothing_of_a_wall_stands_in_an_opening() -> None:
    found = drawing(FLAT)

    for arc in arcs(found):
        x, y = arc.center
        middle = ((x + arc.end[0]) / 2, (y + arc.end[1]) / 2)
        spot = Box(middle[0] - 0.01, middle[1] - 0.01, 0.02, 0.02)
        assert not any(covers(spot, one) for one in walls(found))


def test_a_leaf_is_as_long_as_its_opening_and_swings_a_quarter() -> None:
    found = drawing(FLAT)

    for arc in arcs(found):
        assert math.dist(arc.center, arc.start) == pytest.approx(arc.radius)
        assert math.dist(arc.center, arc.end) == pytest.approx(arc.radius)
        assert math.dist(arc.start, arc.end) == pytest.approx(arc.radius * math.sqrt(2))
        assert not arc.large


def test_dimension_chains_are_outside_and_end_with_the_whole() -> None:
    found = drawing(FLAT)

    told = texts(found, "dimension-texts")
    assert {"6.00", "4.00", "10.00", "5.00", "1.80", "6.80"} <= set(told)
    outline = Box(-0.1, -0.1, 10.2, 7.0)
    for label in written(found, "dimension-texts"):
        ground = ground_of(*label)
        assert ground.bottom <= -0.1 or ground.right <= -0.1 or not within(ground, outline)


def test_chains_are_in_feet_and_inches_where_the_plan_is() -> None:
    text = (
        "config { default_unit: ft }\nfloor f { room A at (0,0) size (12.5 x 8) walls [top: door] }"
    )
    found = drawing(text, Look(show_dimensions=True))

    assert {"12\u2032-6\u2033", "8\u2032-0\u2033"} == set(texts(found, "dimension-texts"))


def test_lengths_and_areas_are_shown_in_the_unit_that_is_asked_for() -> None:
    text = "config { default_unit: m }\nfloor f { room A at (0,0) size (3 x 4) walls [top: door] }"
    look = Look(show_dimensions=True, show_area=True, area_unit="sqft", length_unit="cm")

    found = drawing(text, look)

    assert set(texts(found, "dimension-texts")) == {"300", "400"}
    assert "129.2 sq ft" in texts(found, "labels")


def test_an_office_fits_every_name() -> None:
    found = drawing(OFFICE)

    said = " ".join(texts(found, "labels"))
    for word in ("One", "Two", "corridor", "Ventilation", "Laboratory", "Booth"):
        assert word in said
    assert texts(found, "legend") == ["1  Cleaning equipment"]
    assert any(label.turned for label, _, _ in written(found, "labels"))
    no_label_covers(found, tuple(rooms(found)))


def test_the_name_of_a_room_keeps_off_its_sub_rooms() -> None:
    found = drawing(OFFICE)

    booth = rooms(found)["Booth"]
    for label in written(found, "labels"):
        if label[0].text == "Laboratory":
            assert not covers(ground_of(*label), booth)


def test_a_house_shows_stairs_and_lifts_by_convention() -> None:
    found = drawing(HOUSE, Look(floor=0))

    for name in ("stairs", "treads", "treads-above", "break-lines", "ways", "arrows", "lifts"):
        assert lines(found, name), name
    assert len(lines(found, "lift-crosses")[0].shapes) == 2
    assert {"UP", "Stair", "Lift", "Hall"} <= set(texts(found, "labels"))
    assert texts(found, "captions") == ["ground"]


@pytest.mark.parametrize(
    ("title", "broken"),
    [
        ("Walk-in closet", ("Walk-in", "closet")),
        ("Files & x-rays", ("Files &", "x-rays")),
        ("Bath/WC large", ("Bath/WC", "large")),
        ("LivingRoom", ("Living", "Room")),
    ],
)
def test_words_are_broken_as_they_are_written(title: str, broken: tuple[str, str]) -> None:
    assert wordings(title)[1].lines == broken
    assert all(
        "- " not in line and "/ " not in line for one in wordings(title) for line in one.lines
    )


def test_the_style_of_a_stair_or_lift_colours_it() -> None:
    styles = """style Oak { floor_color: "#d2a66b", wall_color: "#7a3b00" }
    style Night { floor_color: "#102030", wall_color: "#112131" }
    """
    plain, styled, night = (
        drawing(
            f"{styles} floor f {{ stair S at (0,0) shape straight toward top rise 9ft {style} "
            f"lift L at (9,0) size (4 x 4) doors (top) {style} }}"
        )
        for style in ("", "style Oak", "style Night")
    )

    for name in ("stairs", "lifts"):
        [colours] = [(one.fill, one.ink) for one in lines(styled, name)]
        assert colours == ("#d2a66b", "#7a3b00")
        assert lines(plain, name)[0].fill == THEMES["default"].stair
    for name in ("stairs", "treads", "treads-above", "ways", "lifts", "lift-crosses"):
        [ink] = [one.ink for one in lines(night, name)]
        assert ink is not None
        assert contrast("#102030", ink) >= 2.2


def test_several_floors_stand_beside_each_other_or_one_over_the_other() -> None:
    beside = drawing(HOUSE)
    stacked = drawing(HOUSE, Look(layout=STACKED))

    (ground, first) = [sheet.origin for sheet in beside.sheets if sheet.floor]
    assert ground[0] < first[0]
    (ground, first) = [sheet.origin for sheet in stacked.sheets if sheet.floor]
    assert first[1] < ground[1]
    assert texts(stacked, "captions") == ["ground", "first"]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_stair_of_any_shape_begins_at_its_corner_and_goes_up(shape: str) -> None:
    found = drawing(f"floor f {{ stair S at (10,20) shape {shape} rise 9ft width 4ft }}")

    outline = [
        point
        for one in lines(found, "stairs")
        for stroke in one.shapes
        if isinstance(stroke, Stroke)
        for point in stroke.points
    ]
    assert min(x for x, _ in outline) == pytest.approx(10, abs=0.05)
    assert min(y for _, y in outline) == pytest.approx(20, abs=0.05)
    (way,) = lines(found, "ways")[0].shapes
    assert isinstance(way, Stroke)
    box = Box(10, 20, max(x for x, _ in outline) - 10, max(y for _, y in outline) - 20)
    assert all(within(Box(x, y, 0, 0), box, 0.01) for x, y in way.points)
    assert len(lines(found, "treads")[0].shapes) >= 3


@pytest.mark.parametrize("shape", ODD_SHAPES)
def test_a_stair_of_landings_alone_is_drawn_without_steps(shape: str) -> None:
    for links in ("", "vertical f.S to g.S", "vertical e.S to f.S to g.S"):
        floors = " ".join(
            f"floor {name} {{ stair S at (1,2) shape {shape} rise 9ft width 4ft }}"
            for name in "efg"
        )

        assert lines(drawing(f"{floors} {links}"), "stairs")


def test_a_straight_stair_has_as_many_steps_as_its_rise_needs() -> None:
    found = drawing(
        "floor f { stair S at (0,0) shape straight toward top rise 10ft riser 6in tread 1ft }"
    )

    drawn_steps = sum(
        len(one.shapes) for name in ("treads", "treads-above") for one in lines(found, name)
    )
    assert drawn_steps == 21


def test_a_stair_along_a_wall_stands_at_that_wall() -> None:
    found = drawing(
        "config { default_unit: ft, wall_thickness: 0.5 }\n"
        "floor f { room Hall at (10,10) size (20 x 20) walls [top: solid] "
        "stair S shape custom from bottom [flight 8 along Hall.right] rise 9ft width 4ft }"
    )

    (stroke,) = lines(found, "stairs")[0].shapes
    assert isinstance(stroke, Stroke)
    assert max(x for x, _ in stroke.points) == pytest.approx(29.75)
    assert min(y for _, y in stroke.points) == pytest.approx(10.25)


def test_open_edges_are_dashed_and_no_wall_is_there() -> None:
    text = (
        "floor f { room A at (0,0) size (9 x 9) walls [right: open] "
        "room B at (9,0) size (9 x 9) walls [left: open] }"
    )
    found = drawing(text)

    (edge,) = lines(found, "open-edges")
    assert edge.dash
    assert not any(one.x < 9 < one.right and one.y < 4 < one.bottom for one in walls(found))


def test_a_garage_door_is_a_panel_and_not_a_leaf_over_the_room() -> None:
    found = drawing(
        "config { default_unit: ft }\n"
        "floor f { room Garage at (0,0) size (20 x 20) walls [bottom: door size (16 x 7)] }"
    )

    assert not arcs(found)
    assert lines(found, "doors-above")


def test_walls_have_the_colour_of_their_style_unless_it_could_not_be_seen() -> None:
    text = (
        'style red { wall_color: "#aa2222" }\nstyle white { wall_color: "#ffffff" }\n'
        "floor f { room A at (0,0) size (9 x 9) walls [top: solid] style red "
        "room B at (30,0) size (9 x 9) walls [top: solid] style white }"
    )
    fills = {one.fill for one in lines(drawing(text), "walls")}

    assert "#aa2222" in fills
    assert all(fill and contrast(fill, "#ffffff") > 2 for fill in fills)


def test_rooms_on_the_same_ground_are_hatched() -> None:
    text = (
        "floor f { room A at (0,0) size (9 x 9) walls [top: solid] "
        "room B at (5,5) size (9 x 9) walls [top: solid] }"
    )

    assert lines(drawing(text), "overlaps")
    assert not lines(drawing(OFFICE), "overlaps")


@pytest.mark.parametrize("theme", sorted(THEMES))
@pytest.mark.parametrize("floor", ["#000000", "#ffffff", "#808080", "#c04040", "#2255aa"])
def test_every_text_can_be_read_in_every_theme(theme: str, floor: str) -> None:
    text = FLAT.replace("#e3c9a0", floor)
    found = drawing(text, Look(theme=theme, show_summary=True, show_area=True))

    fills = {
        area.room: area.fill
        for _, one in layers(found, "rooms")
        if isinstance(one, Areas)
        for area in one.areas
    }
    for label, letters, sheet in written(found, "labels"):
        box = ground_of(label, letters, sheet)
        under = [fills[name] for name, room in rooms(found).items() if within(box, room)]
        assert contrast(under[-1], letters.ink) >= 4.5
    for sheet in found.sheets:
        for one in sheet.layers:
            if isinstance(one, Letters) and one.name not in ("labels", "summary"):
                assert contrast(found.paper, one.ink) >= 4.5


@pytest.mark.parametrize("theme", sorted(THEMES))
def test_a_themes_own_colours_can_be_told_apart(theme: str) -> None:
    palette = THEMES[theme]

    for ink in (palette.text, palette.faint):
        for ground in (palette.paper, palette.room, palette.stair):
            assert contrast(ink, ground) >= 4.5
    assert contrast(palette.dimension, palette.paper) >= 4.5
    assert contrast(palette.wall, palette.room) >= 4.5
    assert contrast(palette.symbol, palette.room) >= 3
    assert contrast(palette.wrong, palette.room) >= 3


@pytest.mark.parametrize("channel", range(0, 256, 15))
def test_an_ink_is_found_for_every_ground(channel: int) -> None:
    ground = f"#{channel:02x}{255 - channel:02x}{(channel * 7) % 256:02x}"

    assert contrast(ground, on(ground, "#1c1c1c")) >= 4.5


def test_letters_have_one_size_however_large_the_plan_is() -> None:
    small = drawing(
        "config { default_unit: m }\nfloor f { room A at (0,0) size (8 x 6) walls [top: door] }"
    )
    large = drawing(
        "config { default_unit: m }\nfloor f { room A at (0,0) size (80 x 60) walls [top: door] }"
    )

    sizes = [sorted({one[1].size for one in written(found, "labels")}) for found in (small, large)]
    assert sizes[0] == sizes[1]
    assert small.width == large.width == 800


def test_a_plan_without_rooms_says_so() -> None:
    for text in ("floor f { }", ""):
        found = drawing(text)
        assert texts(found, "empty") == ["This plan has no rooms yet."]


def test_a_plan_with_only_stairs_and_lifts_is_drawn() -> None:
    found = drawing("floor f { lift L at (0,0) size (5 x 5) doors (top) }")

    assert lines(found, "lifts")


def test_a_floor_that_is_not_there_is_refused() -> None:
    with pytest.raises(CannotDraw, match="no floor 2: the plan has floors 0 to 1"):
        drawing(HOUSE, Look(floor=2))
    with pytest.raises(CannotDraw, match="no floor -1"):
        drawing(HOUSE, Look(floor=-1))


@pytest.mark.parametrize(
    ("at", "size", "also_at", "also_size"),
    [
        ("0,0", "5 x 5", "1000000000,0", "5 x 5"),
        ("0,0", "5 x 5", "1000000000,1000000000", "5 x 5"),
        ("0,0", "1000000000 x 5", "0,5", "5 x 5"),
        ("0,0", "2 x 2", "500000,0", "2 x 2"),
    ],
)
def test_absurd_numbers_are_told_of_and_not_drawn(
    at: str, size: str, also_at: str, also_size: str
) -> None:
    with pytest.raises(CannotDraw, match="Floor 'f' cannot be drawn"):
        drawing(
            f"floor f {{ room A at ({at}) size ({size}) walls [top: door] "
            f"room B at ({also_at}) size ({also_size}) walls [top: door] }}"
        )


def test_a_room_without_an_area_is_noted() -> None:
    found = drawing(
        "floor f { room A at (0,0) size (0 x 5) walls [top: door] "
        "room B at (1,0) size (5 x 5) walls [top: door] }"
    )

    assert found.notes == ("Room 'A' is not drawn: it has no area.",)


def test_stairs_and_lifts_without_an_area_are_noted() -> None:
    found = drawing(
        "floor f { stair S at (0,0) shape straight toward top rise 10ft width 0 "
        "stair T at (0,0) shape spiral rotation clockwise outer-radius 0 rise 9ft "
        "stair U at (0,0) shape winder from top turn left winders 3 rise 9ft tread 0 "
        "lift L at (0,0) size (0 x 5) }"
    )

    assert [note.split(" is ")[0] for note in found.notes] == [
        "Stair 'S'",
        "Stair 'T'",
        "Stair 'U'",
        "Lift 'L'",
    ]
    assert texts(found, "empty")


def test_a_connection_that_meets_no_wall_is_noted() -> None:
    found = drawing(
        "floor f { room A at (0,0) size (5 x 5) walls [top: solid] "
        "room B at (50,0) size (5 x 5) walls [top: solid] }\n"
        "connect A.right to B.left door"
    )

    assert "door between 'A' and 'B'" in found.notes[0]


def test_the_summary_has_a_line_for_each_floor() -> None:
    found = drawing(HOUSE, Look(show_summary=True))

    assert {"ground", "first", "48 m\N{SUPERSCRIPT TWO}"} <= set(texts(found, "summary"))


def test_a_height_bounds_the_picture() -> None:
    text = "floor f { room A at (0,0) size (5 x 90) walls [top: door] }"

    assert drawing(text, Look(height=500)).height <= 520
    assert drawing(text).height <= 1300


def test_names_are_left_out_where_the_plan_says_so() -> None:
    found = drawing(
        "config { show_labels: false }\n" + OFFICE.replace("config { default_unit: ft }", "")
    )

    assert not texts(found, "labels")
    assert lines(found, "walls")


def test_line_layers_have_an_ink_or_a_fill() -> None:
    for sheet in drawing(HOUSE).sheets:
        for one in sheet.layers:
            if isinstance(one, Lines):
                assert one.ink or one.fill
