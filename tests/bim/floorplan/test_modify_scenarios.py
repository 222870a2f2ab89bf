"""The scenarios of the modification tool, and the exact texts that plain edits give."""

from typing import Any

import pytest

from noetl_mcp.bim.floorplan.edit.modify import modify

WALLS = "walls [top: solid, right: solid, bottom: solid, left: solid]"
KITCHEN_WALLS = {"top": "solid", "right": "door", "bottom": "solid", "left": "window"}
OFFICE = f"""%%{{version: 1.0}}%%
floorplan
  floor f1 {{
    room Office at (0,0) size (10 x 12) {WALLS}
  }}
"""
THREE = f"""%%{{version: 1.0}}%%
floorplan
  floor f1 {{
    # front
    room Office at (0,0) size (10 x 12) {WALLS} label "main"
    room Storage at (10,0) size (6 x 12) {WALLS} # dry
    room Hall at (0,12) size (16 x 4) walls [top: solid, right: door, bottom: window, left: open]
  }}
  connect Office.right to Hall.top door at 50%
"""
FLEX = f"""%%{{version: 1.0}}%%
floorplan
  floor f1 {{
    room Flex at (0,0) size (20 x 20) {WALLS} composed of [
      sub-room Booth at (2,2) size (3 x 3) {WALLS} label "quiet"
    ]
  }}
"""


def kitchen(**more: Any) -> dict[str, Any]:
    params = {"name": "Kitchen", "size": {"width": 10, "height": 8}, "walls": KITCHEN_WALLS}
    return {"action": "add_room", "params": params | more}


def done(text: str, *operations: dict[str, Any]) -> str:
    answer = modify(text, operations)
    assert answer["success"], answer
    assert all(change["result"] == "applied" for change in answer["changes"])
    return str(answer["dsl"])


def test_add_a_new_room() -> None:
    answer = modify(OFFICE, [kitchen(position={"x": 0, "y": 14}, label="break area")])

    assert answer["success"]
    assert answer["changes"] == [
        {"action": "add_room", "target": "Kitchen", "result": "applied"},
    ]
    assert (
        "\n    room Kitchen at (0, 14) size (10 x 8) walls [top: solid, right: door, "
        'bottom: solid, left: window] label "break area"\n  }' in answer["dsl"]
    )


def test_remove_an_existing_room() -> None:
    answer = modify(THREE, [{"action": "remove_room", "target": "Storage"}])

    assert answer["success"]
    assert "Storage" not in answer["dsl"]
    assert answer["dsl"] == THREE.replace(f"\n    room Storage at (10,0) size (6 x 12) {WALLS}", "")


def test_resize_a_room() -> None:
    resized = {
        "action": "resize_room",
        "target": "Office",
        "params": {"width": 15, "height": 15},
    }

    assert done(OFFICE, resized) == OFFICE.replace("(10 x 12)", "(15 x 15)")


def test_update_wall_types() -> None:
    params = {"right": "window", "bottom": "door"}

    made = done(OFFICE, {"action": "update_walls", "target": "Office", "params": params})

    assert "walls [top: solid, right: window, bottom: door, left: solid]" in made


def test_modify_a_room_that_does_not_exist_returns_an_error() -> None:
    params = {"width": 20, "height": 20}

    answer = modify(OFFICE, [{"action": "resize_room", "target": "Garage", "params": params}])

    assert answer["success"] is False
    assert answer["errors"] == [{"message": 'Room "Garage" not found', "operation": 0}]
    assert answer["dsl"] == OFFICE


@pytest.mark.parametrize(
    ("more", "clause"),
    [
        ({"direction": "right-of", "reference": "Office"}, "right-of Office"),
        (
            {"direction": "below", "reference": "Office", "gap": 0, "alignment": "left"},
            "below Office align left",
        ),
        ({"direction": "above", "reference": "Office", "gap": 1.5}, "above Office gap 1.5"),
    ],
)
def test_a_room_is_added_beside_another(more: dict[str, Any], clause: str) -> None:
    made = done(OFFICE, kitchen(relativePosition=more))

    assert f"left: window] {clause}\n  }}" in made


def test_a_room_needs_a_place() -> None:
    answer = modify(OFFICE, [kitchen()])

    assert answer["changes"][0]["message"] == (
        "Room must have either 'position' or 'relativePosition'"
    )


def test_a_room_needs_a_floor() -> None:
    answer = modify("floorplan\n", [kitchen(position={"x": 0, "y": 0})])

    assert answer["errors"] == [
        {"message": "Could not find floor block to add room", "operation": 0}
    ]


def test_a_new_room_is_indented_like_its_floor_and_ends_like_its_text() -> None:
    tabs = OFFICE.replace("    room", "\t\troom").replace("\n", "\r\n")

    made = done(tabs, kitchen(position={"x": 20, "y": 0.5}))

    assert "\r\n\t\troom Kitchen at (20, 0.5)" in made
    assert made.count("\n") == made.count("\r\n") == tabs.count("\n") + 1


def test_a_comment_with_a_brace_ends_no_floor() -> None:
    text = OFFICE.replace("  }\n", "    /* room Ghost } */ # }\n  } # end }\n")

    made = done(text, kitchen(position={"x": 0, "y": 14}))

    assert "# }\n    room Kitchen at" in made
    assert made.endswith("\n  } # end }\n")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (f"floor f {{ room A at (0,0) size (4 x 4) {WALLS} }}", f"{WALLS} room Kitchen at "),
        ("floor f { }", "floor f { room Kitchen at "),
        ("floor f {}", "floor f { room Kitchen at "),
        ("floor f {\n  }", "floor f {\n    room Kitchen at "),
        (
            "floor f {\n    lift L at (0,0) size (5 x 5)\n  }",
            "floor f {\n    room Kitchen at ",
        ),
        (
            f"floor f {{\n  room A at (0,0) size (4 x 4) {WALLS}\n  # up\n"
            "  stair S at (0,0) shape straight toward top rise 10\n}",
            f"{WALLS}\n  room Kitchen at ",
        ),
        ("floor f {\nlift L at (0,0) size (5 x 5)\n}", "floor f {\nroom Kitchen at "),
    ],
)
def test_a_room_finds_its_place_on_any_floor(text: str, wanted: str) -> None:
    made = done(f"floorplan\n{text}\n", kitchen(position={"x": 0, "y": 14}))

    assert wanted in made


def test_a_floor_may_be_chosen() -> None:
    text = OFFICE + "  floor f2 {\n    room Loft at (0,0) size (9 x 9) walls [top: open]\n  }\n"

    made = done(text, kitchen(position={"x": 0, "y": 14}, floor="f2"))

    assert "walls [top: open]\n    room Kitchen" in made
    assert modify(text, [kitchen(position={"x": 0, "y": 0}, floor="f3")])["errors"] == [
        {"message": 'Floor "f3" not found', "operation": 0}
    ]


def test_moving_keeps_the_way_in_which_numbers_are_written() -> None:
    text = OFFICE.replace("(0,0)", "(0 ft,  0ft)")

    answer = modify(
        text, [{"action": "move_room", "target": "Office", "params": {"x": 7.5, "y": 3}}]
    )

    assert "at (7.5 ft,  3ft) size" in answer["dsl"]
    assert answer["changes"][0]["message"] == "Moved to (7.5, 3)"


def test_a_room_without_a_position_gets_one() -> None:
    text = done(OFFICE, kitchen(relativePosition={"direction": "below", "reference": "Office"}))

    answer = modify(
        text, [{"action": "move_room", "target": "Kitchen", "params": {"x": 1, "y": 2}}]
    )

    assert "room Kitchen at (1,2) size" in answer["dsl"]
    assert answer["changes"][0]["message"].startswith("Added position (1, 2)")


def test_a_wall_changes_its_kind_and_keeps_its_opening() -> None:
    text = OFFICE.replace("right: solid", "right: window at 50% size (3 x 4)")

    made = done(text, {"action": "update_walls", "target": "Office", "params": {"right": "door"}})

    assert "right: door at 50% size (3 x 4)," in made


def test_a_label_stands_before_what_a_room_is_composed_of() -> None:
    label = {"action": "add_label", "target": "Flex", "params": {"label": "flex"}}

    assert done(FLEX, label) == FLEX.replace(f"{WALLS} composed", f'{WALLS} label "flex" composed')


def test_nothing_asked_is_nothing_done() -> None:
    assert modify(OFFICE, []) == {"success": True, "dsl": OFFICE, "changes": []}
    assert done(OFFICE, {"action": "update_walls", "target": "Office", "params": {}}) == OFFICE


def test_an_operation_that_fails_does_not_stop_the_others() -> None:
    remove = {"action": "remove_room", "target": "Office"}

    answer = modify(OFFICE, [remove, remove, kitchen(position={"x": 0, "y": 0})])

    assert [change["result"] for change in answer["changes"]] == ["applied", "error", "applied"]
    assert answer["errors"] == [{"message": 'Room "Office" not found', "operation": 1}]
    assert "Kitchen" in answer["dsl"]
    assert "Office" not in answer["dsl"]


def test_all_or_nothing_leaves_the_text_as_it_was_when_one_fails() -> None:
    missing = {"action": "remove_room", "target": "Garage"}

    answer = modify(OFFICE, [kitchen(position={"x": 0, "y": 14}), missing], atomic=True)

    assert answer["dsl"] == OFFICE
    assert [change["result"] for change in answer["changes"]] == ["error", "error"]
    assert "operation 1 failed" in answer["changes"][0]["message"]
    assert answer["errors"] == [{"message": 'Room "Garage" not found', "operation": 1}]


def test_a_text_that_cannot_be_read_is_told_with_its_places() -> None:
    answer = modify("floorplan\n  floor f1 {\n    room A at\n", [])

    assert answer["success"] is False
    assert answer["changes"] == []
    assert (answer["errors"][0]["line"], "column" in answer["errors"][0]) == (3, True)


def test_errors_that_were_there_before_hinder_nothing() -> None:
    text = OFFICE.replace(WALLS, f"{WALLS} style Gone")

    made = done(text, {"action": "rename_room", "target": "Office", "params": {"newName": "Den"}})

    assert "room Den" in made


def test_what_would_break_a_plan_is_refused() -> None:
    styled = kitchen(position={"x": 20, "y": 0}, style="Gone")

    answer = modify(OFFICE, [styled])

    assert answer["dsl"] == OFFICE
    assert "undefined style 'Gone'" in answer["errors"][0]["message"]
