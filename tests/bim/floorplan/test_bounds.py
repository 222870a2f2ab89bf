"""Plans and calls that are far too large come to their end: they are quick, or refused plainly."""

import random
from typing import Any

import pytest

from noetl_mcp.bim.floorplan.answer import Answer
from noetl_mcp.bim.floorplan.drawing.counts import MOST_FLOORS, MOST_ROOMS
from noetl_mcp.bim.floorplan.edit.modify import MOST_SIGNS, modify
from noetl_mcp.bim.floorplan.tools import tool
from noetl_mcp.bim.floorplan.validate import validate

WALLS = "walls [top: solid]"


def plan(rooms: list[str], behind: str = "") -> str:
    return "floorplan\nfloor f {\n" + "\n".join(rooms) + "\n}\n" + behind


def grid(count: int) -> list[str]:
    return [
        f"room r{one} at ({one % 100 * 9}, {one // 100 * 9}) size (9 x 9) {WALLS}"
        for one in range(count)
    ]


def renamed(count: int) -> list[dict[str, Any]]:
    return [
        {"action": "rename_room", "target": f"r{one}", "params": {"newName": f"s{one}"}}
        for one in range(count)
    ]


def test_a_long_plan_takes_fewer_operations_at_once() -> None:
    text = plan(grid(1_000)) + "#" * 100_000
    most = MOST_SIGNS // len(text)

    answer = modify(text, renamed(most + 1))

    assert (answer["success"], answer["dsl"]) == (False, text)
    assert f"at most {most} operations at once" in answer["errors"][0]["message"]


def test_no_operation_makes_a_plan_that_is_too_long_to_be_read() -> None:
    text = plan(grid(1)) + "#" * 1_999_900
    label = {"action": "add_label", "target": "r0", "params": {"label": "long" * 40}}

    answer = modify(text, [label])

    assert (answer["success"], answer["dsl"]) == (False, text)
    assert "more than 2,000,000 signs" in answer["errors"][0]["message"]


def test_rooms_that_no_clause_places_exactly_keep_their_positions_however_many() -> None:
    off = random.Random(1)
    rooms = [
        f"room r{one} at ({one % 20 * 9 + off.random():.6f}, {one // 20 * 9 + off.random():.6f}) "
        f"size ({1 + off.random():.6f} x {1 + off.random():.6f}) {WALLS}"
        for one in range(400)
    ]
    convert = {"action": "convert_to_relative", "params": {"anchorRoom": "r0"}}

    answer = modify(plan(rooms), [convert])

    assert answer["success"]
    assert answer["changes"][0]["message"].startswith("0 of 399 rooms")


def test_more_rooms_than_can_be_compared_are_converted_by_parts() -> None:
    text = plan(grid(1_200))
    whole = {"action": "convert_to_relative", "params": {"anchorRoom": "r0"}}
    some = {"action": whole["action"], "params": {"anchorRoom": "r0", "targetRooms": ["r1", "r2"]}}

    refused, answer = modify(text, [whole]), modify(text, [some])

    assert "in targetRooms" in refused["errors"][0]["message"]
    assert answer["changes"][0]["message"] == "2 of 2 rooms are relative now"


def test_doors_of_a_very_long_corridor_are_all_at_their_own_spots() -> None:
    count = 4_000
    rooms = [f"room c at (0, 0) size ({9 * count} x 3) {WALLS}"]
    rooms += [f"room r{one} at ({one * 9}, 3) size (9 x 9) {WALLS}" for one in range(count)]
    doors = [f"connect c.bottom to r{one}.top door at 50%" for one in range(count)]

    found = validate(plan(rooms, "\n".join(doors)))
    with_one_more = validate(plan(rooms, "\n".join([*doors, "connect c.bottom to r7.top door"])))

    assert found["valid"]
    assert [one["code"] for one in with_one_more["errors"]] == ["connected-twice"]


def test_a_room_beside_which_thousands_stand_is_removed() -> None:
    rooms = [f"room a at (9, 9) size (9 x 9) {WALLS}"]
    rooms += [f"room r{one} size (9 x 9) {WALLS} right-of a" for one in range(5_000)]

    answer = modify(plan(rooms), [{"action": "remove_room", "target": "a"}])

    assert answer["success"]
    assert "right-of" not in answer["dsl"]


@pytest.mark.parametrize("form", ["dxf", "ifc"])
def test_a_plan_that_is_too_large_for_a_format_is_refused(form: str) -> None:
    export = tool("export_floorplan")
    assert export is not None

    answer = export.call({"dsl": plan(grid(7_000)), "format": form})

    assert answer.text is None
    assert "too large" in answer.facts["errors"][0]["message"]


def said(answer: Answer) -> str:
    return str(answer.facts["errors"][0]["message"])


def drawn(text: str, **asked: Any) -> Answer:
    render = tool("render_floorplan")
    assert render is not None
    return render.call({"dsl": text, **asked})


def test_more_floors_than_a_drawing_may_have_are_refused_before_they_are_laid_out() -> None:
    floors = "\n".join(f"floor f{one} {{ {grid(1)[0]} }}" for one in range(3_000))
    text = f"floorplan\n{floors}"

    for form in ("png", "svg"):
        answer = drawn(text, renderAllFloors=True, multiFloorLayout="stacked", format=form)
        assert said(answer) == (
            f"There are 3,000 floors to draw, and {MOST_FLOORS} are the most: draw one by its "
            "floorIndex."
        )
    assert drawn(text, floorIndex=2_999).facts["success"]


def test_as_many_floors_as_a_drawing_may_have_are_drawn() -> None:
    floors = "\n".join(f"floor f{one} {{ {grid(1)[0]} }}" for one in range(MOST_FLOORS))

    answer = drawn(f"floorplan\n{floors}", renderAllFloors=True, multiFloorLayout="stacked")

    assert answer.facts["success"]
    assert answer.picture is not None


def test_more_rooms_than_a_drawing_may_have_are_refused() -> None:
    assert f"and {MOST_ROOMS:,} are the most" in said(drawn(plan(grid(MOST_ROOMS + 1))))


def test_rooms_upon_each_other_are_refused_as_pixels_and_drawn_as_lines() -> None:
    text = plan([f"room r{one} at (0, 0) size (9 x 9) {WALLS}" for one in range(3_000)])

    assert "too dense for a picture of 4,886 by" in said(drawn(text, width=8_000))
    assert drawn(text, width=8_000, format="svg").facts["success"]
    assert drawn(text, width=200).facts["success"]


def test_lifts_upon_each_other_are_refused_as_pixels() -> None:
    lifts = [f"lift l{one} at (0,0) size (9 x 9) doors (top, left)" for one in range(6_000)]

    assert "too dense" in said(drawn(plan(lifts)))


@pytest.mark.parametrize("form", ["png", "svg", "dxf"])
def test_stairs_with_very_many_steps_are_refused(form: str) -> None:
    flights = ", ".join(["flight 400"] * 10)
    stairs = [f"stair s{n} at (1,1) shape custom from top [{flights}] rise 9" for n in range(26)]

    answer = drawn(plan(stairs), format=form)

    assert any(words in said(answer) for words in ("104,000 steps of stairs", "too large for DXF"))


@pytest.mark.parametrize("form", ["dxf", "ifc"])
def test_the_steps_of_custom_stairs_count_for_exports(form: str) -> None:
    export = tool("export_floorplan")
    assert export is not None
    flights = ", ".join(["flight 400"] * 10)
    stairs = [f"stair s{n} at (1,1) shape custom from top [{flights}] rise 9" for n in range(26)]

    assert "is too large" in said(export.call({"dsl": plan(stairs), "format": form}))


def test_things_without_a_name_on_the_drawing_are_told_of() -> None:
    lifts = [f"lift l{n} at ({n % 20 * 40}, {n // 20 * 40}) size (9 x 9)" for n in range(103)]

    notes = drawn(plan(lifts), format="svg", width=4000).facts["notes"]

    assert notes == ["3 stairs and lifts have no name on the drawing: 100 of a floor have one."]
    tight = plan([f"room a at (0, 0) size (1 x 30) {WALLS}", "lift narrow at (0,9) size (1 x 1)"])
    notes = drawn(tight, format="svg", width=40).facts["notes"]
    assert "1 stair or lift has no room for a name on the drawing." in notes


def test_overlaps_that_are_not_hatched_are_told_of() -> None:
    rooms = [f"room r{n} at ({n * 20}, 0) size (9 x 9) {WALLS}" for n in range(22)]
    rooms += [f"room s{n} at ({n * 20 + 1}, 1) size (9 x 9) {WALLS}" for n in range(22)]

    notes = drawn(plan(rooms), format="svg").facts["notes"]

    assert "Of 22 overlaps of rooms on floor 'f' 20 are hatched." in notes


def test_a_conversion_that_compares_very_much_leaves_nothing_for_others() -> None:
    convert = {"action": "convert_to_relative", "params": {"anchorRoom": "r0"}}
    label = {"action": "add_label", "target": "r0", "params": {"label": "first"}}

    answer = modify(plan(grid(880)), [convert, label])

    assert [one["result"] for one in answer["changes"]] == ["applied", "error"]
    assert "send this operation with the text that comes back" in answer["errors"][0]["message"]


def test_many_stairs_at_one_place_are_drawn_and_very_many_refused() -> None:
    render = tool("render_floorplan")
    assert render is not None
    stair = "at (1,1) shape straight toward top rise 9"
    stairs = [f"stair s{one} {stair}" for one in range(1_001)]

    many = render.call({"dsl": plan([*grid(1), *stairs[:1_000]]), "format": "svg"})
    too_many = render.call({"dsl": plan([*grid(1), *stairs]), "format": "svg"})

    assert many.facts["success"]
    assert "1,001 stairs to draw" in too_many.facts["errors"][0]["message"]
