"""Stairs say where they lead: UP from the floor below, DN from the floor at which they arrive."""

import pytest

from noetl_mcp.bim.floorplan.building import Box, PlacedStair
from noetl_mcp.bim.floorplan.drawing.look import Look
from noetl_mcp.bim.floorplan.drawing.shapes import Drawing, Stroke
from noetl_mcp.bim.floorplan.reading.read import read
from noetl_mcp.bim.floorplan.resolve import understood
from tests.bim.floorplan.drawn import HEAD, drawing, ground_of, lines, texts, within, written

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


def tower(links: str, shape: str = "straight toward top") -> str:
    stair = f"stair S at (2,2) shape {shape} rise 9ft width 4ft"
    room = "room {} at (0,0) size (40 x 40) walls [top: solid]"
    floors = "\n".join(
        f"floor {name} {{ {room.format(name.upper())} {stair} }}" for name in ("low", "mid", "high")
    )
    return f"{HEAD}{floors}\n{links}"


def said(found: Drawing) -> list[str]:
    return sorted(set(texts(found, "labels")) & {"UP", "DN"})


def led(text: str) -> list[tuple[bool, bool]]:
    building = understood(read(text).plan)
    stairs: list[PlacedStair] = [one for floor in building.floors for one in floor.stairs]
    return [(one.leads_up, one.leads_down) for one in stairs]


@pytest.mark.parametrize(
    "links",
    [
        "vertical low.S to mid.S to high.S",
        "vertical high.S to mid.S to low.S",
        "vertical low.S to mid.S\nvertical mid.S to high.S",
        "vertical mid.S to high.S\nvertical low.S to mid.S",
    ],
)
def test_a_stair_leads_up_from_below_down_from_above_and_both_ways_between(links: str) -> None:
    text = tower(links)

    assert [said(drawing(text, Look(floor=floor))) for floor in (0, 1, 2)] == [
        ["UP"],
        ["DN", "UP"],
        ["DN"],
    ]


@pytest.mark.parametrize(
    "links",
    ["", "vertical low.S to low.S", "vertical low.S to cellar.S", "vertical low.S to mid.T"],
)
def test_a_stair_that_nothing_joins_to_another_floor_leads_up(links: str) -> None:
    assert led(tower(links)) == [(True, False)] * 3


def test_a_stair_that_is_joined_to_a_lift_of_another_floor_knows_its_way() -> None:
    lift = "floor attic { lift L at (2,2) size (2 x 2) }"

    assert led(tower(f"{lift}\nvertical high.S to attic.L"))[2] == (True, False)


def test_a_floor_that_is_passed_by_is_passed_by() -> None:
    assert led(tower("vertical low.S to high.S")) == [(True, False), (True, False), (False, True)]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_stair_that_arrives_is_seen_whole_and_its_arrow_is_turned_round(shape: str) -> None:
    links = "vertical low.S to mid.S"
    below = drawing(tower(links, shape), Look(floor=0))
    above = drawing(tower(links, shape), Look(floor=1))

    assert lines(below, "break-lines")
    assert lines(below, "treads-above")
    assert not lines(above, "break-lines")
    assert not lines(above, "treads-above")
    steps = [len(lines(below, name)[0].shapes) for name in ("treads", "treads-above")]
    assert len(lines(above, "treads")[0].shapes) == sum(steps)
    (up,), (down,) = lines(below, "ways")[0].shapes, lines(above, "ways")[0].shapes
    assert isinstance(up, Stroke)
    assert isinstance(down, Stroke)
    assert up.points[0] != pytest.approx(down.points[0], abs=0.5)


@pytest.mark.parametrize("shape", SHAPES)
def test_where_a_stair_goes_on_both_ways_end_at_the_cut(shape: str) -> None:
    found = drawing(tower("vertical low.S to mid.S to high.S", shape), Look(floor=1))

    (cut,) = lines(found, "break-lines")[0].shapes
    up, down = lines(found, "ways")[0].shapes
    assert isinstance(cut, Stroke)
    assert isinstance(up, Stroke)
    assert isinstance(down, Stroke)
    across = Box(
        min(x for x, _ in cut.points),
        min(y for _, y in cut.points),
        max(x for x, _ in cut.points) - min(x for x, _ in cut.points),
        max(y for _, y in cut.points) - min(y for _, y in cut.points),
    )
    for way in (up, down):
        (x, y) = way.points[-1]
        assert within(Box(x, y, 0, 0), across, 3.0)
    marks = [one for one in written(found, "labels") if one[0].text in ("UP", "DN")]
    grounds = [ground_of(*one) for one in marks]
    assert len(grounds) == 2
    assert (
        grounds[0].right < grounds[1].x
        or grounds[0].bottom < grounds[1].y
        or (grounds[1].right < grounds[0].x or grounds[1].bottom < grounds[0].y)
    )


def rails(shape: str, hand: str) -> list[Stroke]:
    found = drawing(
        f"floor f {{ stair S at (2,2) shape {shape} rise 9ft width 4ft handrail ({hand}) }}"
    )
    drawn = [shape for one in lines(found, "handrails") for shape in one.shapes]
    assert all(isinstance(one, Stroke) for one in drawn)
    return [one for one in drawn if isinstance(one, Stroke)]


@pytest.mark.parametrize(
    ("shape", "hand", "xs"),
    [
        ("straight toward top", "left", {2.28}),
        ("straight toward top", "right", {5.72}),
        ("straight toward bottom", "left", {5.72}),
        ("straight toward top", "both", {2.28, 5.72}),
        ("straight toward top", "inner", {2.28, 5.72}),
        ("straight toward top", "none", set()),
    ],
)
def test_a_handrail_is_where_somebody_who_climbs_has_that_hand(
    shape: str, hand: str, xs: set[float]
) -> None:
    assert {round(x, 6) for one in rails(shape, hand) for x, _ in one.points} == xs


@pytest.mark.parametrize(
    ("shape", "inner"),
    [
        ("U-shaped from bottom turn left", "left"),
        ("U-shaped from bottom turn right", "right"),
        ("spiral rotation clockwise outer-radius 4", "right"),
        ("spiral rotation counterclockwise outer-radius 4", "left"),
        ("curved from bottom arc 90\N{DEGREE SIGN} radius 7ft", "right"),
        ("winder from right turn right winders 3 runs 6, 6", "right"),
        ("custom from bottom [flight 5, turn left landing (4 x 4), flight 4]", "left"),
    ],
)
def test_the_inner_hand_is_that_to_which_a_stair_turns(shape: str, inner: str) -> None:
    outer = "left" if inner == "right" else "right"

    assert rails(shape, "inner") == rails(shape, inner) != []
    assert rails(shape, "outer") == rails(shape, outer) != []
    assert len(rails(shape, "both")) == 2 * len(rails(shape, inner))


@pytest.mark.parametrize("shape", SHAPES)
def test_handrails_stay_within_their_stair(shape: str) -> None:
    found = drawing(
        f"floor f {{ stair S at (2,2) shape {shape} rise 9ft width 4ft handrail (both) }}"
    )
    outline = [
        point
        for one in lines(found, "stairs")
        for stroke in one.shapes
        if isinstance(stroke, Stroke)
        for point in stroke.points
    ]
    xs, ys = zip(*outline, strict=True)
    box = Box(min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys))

    points = [point for rail in rails(shape, "both") for point in rail.points]

    assert points
    assert all(within(Box(x, y, 0, 0), box) for x, y in points)
