import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noetl_mcp.compiler.picture.drawing import Arrow, ArrowKind, Box, Picture
from noetl_mcp.compiler.picture.layout import laid_out
from noetl_mcp.compiler.picture.places import Layout, Place
from noetl_mcp.compiler.picture.svg import RULER

KINDS: tuple[ArrowKind, ...] = ("next", "error", "need")


def chain(length: int) -> Picture:
    boxes = tuple(Box(f"step_{at}", "http") for at in range(length))
    arrows = tuple(Arrow(f"step_{at}", f"step_{at + 1}") for at in range(length - 1))
    return Picture("chain", boxes, arrows)


def fan(width: int, conditions: bool = False) -> Picture:
    middle = [f"branch_{at}" for at in range(width)]
    boxes = [Box(name, "python") for name in ("start", *middle, "join")]
    arrows = [Arrow("start", name, f"x == '{name}'" if conditions else "") for name in middle]
    arrows += [Arrow(name, "join") for name in middle]
    return Picture("fan", tuple(boxes), tuple(arrows))


@st.composite
def pictures(draw: st.DrawFn, acyclic: bool) -> Picture:
    count = draw(st.integers(0, 14))
    names = [f"s{at}" for at in range(count)]
    boxes = [
        Box(name, draw(st.sampled_from(["http", "router", ""])), draw(st.booleans()))
        for name in names
    ]
    arrows = []
    for _ in range(draw(st.integers(0, 24)) if count > 1 else 0):
        ends = draw(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)))
        low, high = sorted(ends)
        if acyclic and low == high:
            continue
        source, target = (low, high) if acyclic else ends
        label = draw(st.sampled_from(["", "", "ok", "status == 404 and retry"]))
        arrows.append(Arrow(names[source], names[target], label, draw(st.sampled_from(KINDS))))
    return Picture("some", tuple(boxes), tuple(arrows))


def overlap(one: Place, other: Place) -> bool:
    across = one.x < other.x + other.width and other.x < one.x + one.width
    return across and one.y < other.y + other.height and other.y < one.y + one.height


def crosses(line: tuple[tuple[float, float], ...], place: Place) -> bool:
    (x, top), (_, foot) = line[0], line[-1]
    beside = not place.x < x < place.x + place.width
    return not (beside or top + 0.01 > place.y + place.height or foot - 0.01 < place.y)


def assert_apart(layout: Layout) -> None:
    for at, one in enumerate(layout.places):
        assert not any(overlap(one, other) for other in layout.places[at + 1 :])
        assert one.x >= -0.01
        assert one.x + one.width <= layout.width + 0.01
        assert one.y >= -0.01
        assert one.y + one.height <= layout.height + 0.01


@given(pictures(acyclic=True))
@settings(max_examples=150, deadline=None)
def test_no_two_boxes_overlap_and_every_arrow_points_down(picture: Picture) -> None:
    layout = laid_out(picture, RULER)

    place = {one.box.name: one for one in layout.places}
    assert_apart(layout)
    assert set(place) == {box.name for box in picture.boxes}
    for arrow in picture.arrows:
        source, target = place[arrow.source], place[arrow.target]
        assert source.y + source.height <= target.y


@given(pictures(acyclic=False))
@settings(max_examples=150, deadline=None)
def test_cycles_are_drawn_and_the_same_picture_is_always_the_same_drawing(picture: Picture) -> None:
    layout = laid_out(picture, RULER)

    assert_apart(layout)
    assert laid_out(picture, RULER) == layout


@given(pictures(acyclic=True))
@settings(max_examples=150, deadline=None)
def test_no_line_crosses_a_box_and_no_label_covers_one(picture: Picture) -> None:
    layout = laid_out(picture, RULER)

    for route in layout.routes:
        uprights = [stroke.points for stroke in route.strokes if not stroke.curved]
        assert not any(crosses(line, place) for line in uprights for place in layout.places)
        if route.label:
            x, y = route.label_at
            width, height = RULER.label(route.label)
            label = Place(Box("", ""), x - width / 2, y - height / 2, width, height)
            assert not any(overlap(label, place) for place in layout.places)


@given(pictures(acyclic=True))
@settings(max_examples=100, deadline=None)
def test_every_arrow_has_its_line(picture: Picture) -> None:
    layout = laid_out(picture, RULER)

    followed = {(one.source, one.target) for one in picture.arrows if one.kind == "next"}
    drawn = {arrow for route in layout.routes if route.strokes for arrow in route.arrows}
    for arrow in picture.arrows:
        said_already = arrow.kind == "need" and (arrow.source, arrow.target) in followed
        assert arrow in drawn or said_already


def test_forty_like_branches_stand_in_a_frame_with_one_arrow_in_and_one_out() -> None:
    layout = laid_out(fan(40), RULER)

    (frame,) = layout.frames
    assert frame.steps == 40
    assert len(layout.routes) == 2
    assert layout.width < 1100


def test_forty_branches_of_a_router_show_each_its_condition() -> None:
    layout = laid_out(fan(40, conditions=True), RULER)

    (frame,) = layout.frames
    assert frame.conditioned
    assert len([route for route in layout.routes if route.label]) == 40


def test_five_branches_stay_a_plain_row() -> None:
    assert not laid_out(fan(5), RULER).frames


def test_a_chain_of_120_steps_is_set_in_columns_and_not_in_one_long_line() -> None:
    layout = laid_out(chain(120), RULER)

    assert 0.6 < layout.width / layout.height < 2.5


def test_a_chain_of_15_steps_is_one_straight_line() -> None:
    layout = laid_out(chain(15), RULER)

    assert len({place.x + place.width / 2 for place in layout.places}) == 1


def test_arrows_to_unknown_steps_loops_and_doubles_do_no_harm() -> None:
    picture = Picture(
        "odd",
        (Box("a", "http"), Box("a", "python"), Box("b", "")),
        (Arrow("a", "nowhere"), Arrow("a", "a"), Arrow("a", "b"), Arrow("a", "b")),
    )

    layout = laid_out(picture, RULER)

    assert [place.box.name for place in layout.places] == ["a", "b"]
    assert layout.places[0].loops
    assert len(layout.routes) == 1


def test_a_picture_of_nothing_is_empty() -> None:
    assert laid_out(Picture("", (), ()), RULER).places == ()


@pytest.mark.parametrize("count", [300, 5000])
def test_large_workflows_are_laid_out_in_seconds(count: int) -> None:
    arrows = [Arrow(f"step_{at}", f"step_{at + 1 + at % 3}") for at in range(count - 3)]
    arrows += [Arrow("step_0", f"step_{at}", "", "need") for at in range(5, count, 7)]
    arrows += [Arrow(f"step_{at}", f"step_{count - 1}", "", "error") for at in range(0, count, 9)]
    boxes = tuple(Box(f"step_{at}", "http") for at in range(count))
    begun = time.perf_counter()

    layout = laid_out(Picture("large", boxes, tuple(arrows)), RULER)

    assert len(layout.places) == count
    assert time.perf_counter() - begun < (3 if count == 300 else 30)
