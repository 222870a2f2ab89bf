"""Every operation on rooms, with what it accepts and what it refuses."""

from typing import Any

import pytest

from noetl_mcp.bim.floorplan.edit.modify import modify
from noetl_mcp.bim.floorplan.reading.read import read
from noetl_mcp.bim.floorplan.validate import validate
from tests.bim.floorplan.test_modify_scenarios import FLEX, OFFICE, WALLS, done, kitchen

NEIGHBOURS = f"""%%{{version: 1.0}}%%
floorplan
  style Wood {{ roughness: 0.5 }}
  floor ground {{
    room A at (0,0) size (10 x 12) {WALLS}
    room B size (6 x 12) {WALLS} right-of A gap 2 # beside A
    room C size (6 x 6) {WALLS} below B align right label "c" style Wood
    stair Up at (1,1) shape custom from top [flight 5 along B.left, turn left winders 3] rise 10
  }}
  floor first {{
    room D at (0,0) size (9 x 9) {WALLS}
  }}
  # doors
  connect A.right to B.left door door opens into B
  connect B.bottom to C.top opening # wide
  connect A to outside door opens into B
"""


def refused(text: str, operation: dict[str, Any]) -> str:
    answer = modify(text, [operation])
    assert answer["success"] is False
    assert answer["dsl"] == text
    return str(answer["errors"][0]["message"])


def op(action: str, target: str, **params: Any) -> dict[str, Any]:
    return {"action": action, "target": target, "params": params}


def test_renaming_a_room_renames_what_refers_to_it() -> None:
    answer = modify(NEIGHBOURS, [op("rename_room", "B", newName="Bath")])

    assert answer["changes"][0]["message"] == "Renamed to Bath; 6 references renamed with it"
    assert answer["dsl"] == (
        NEIGHBOURS.replace("room B", "room Bath")
        .replace("below B", "below Bath")
        .replace("along B.", "along Bath.")
        .replace("to B.", "to Bath.")
        .replace("connect B.", "connect Bath.")
        .replace("into B", "into Bath")
    )


def test_renaming_there_and_back_gives_the_same_bytes() -> None:
    there = op("rename_room", "A", newName="Z")
    back = op("rename_room", "Z", newName="A")

    assert done(NEIGHBOURS, there, back) == NEIGHBOURS


def test_adding_and_removing_gives_the_same_bytes() -> None:
    added = kitchen(position={"x": 50, "y": 50})

    assert done(NEIGHBOURS, added, op("remove_room", "Kitchen")) == NEIGHBOURS


def test_removing_a_room_leaves_nothing_behind_that_refers_to_it() -> None:
    answer = modify(NEIGHBOURS, [op("remove_room", "B")])

    made = answer["dsl"]
    assert answer["success"]
    assert validate(made)["errors"] == []
    assert f'room C at (12, 12) size (6 x 6) {WALLS} label "c" style Wood' in made
    assert "[flight 5, turn left winders 3]" in made
    assert "connect A to outside door\n" in made
    assert "# beside A" in made
    assert "# wide" in made
    for said in (
        "connection A.right to B.left removed",
        "connection B.bottom to C.top removed",
        "connection A to outside no longer says into which room it opens",
        "C stands at (12, 12) now",
        "a flight of Up no longer runs along a wall",
    ):
        assert said in answer["changes"][0]["message"]


def test_a_room_whose_neighbour_goes_is_placed_beside_another_when_it_stands_below_zero() -> None:
    text = f"""%%{{version: 1.0}}%%
floorplan
  floor f {{
    room A at (0,0) size (4 x 4) {WALLS}
    room B size (4 x 4) {WALLS} left-of A
    room C at (0,4) size (4 x 4) {WALLS}
  }}
"""

    made = done(text, op("remove_room", "A"))

    assert f"room B size (4 x 4) {WALLS} above-left-of C" in made


def test_removing_is_refused_when_a_neighbour_could_not_be_placed() -> None:
    text = f"""%%{{version: 1.0}}%%
floorplan
  floor f {{
    room A at (0,0) size (4 x 4) {WALLS}
    room B size (4 x 4) {WALLS} left-of A
  }}
"""

    assert "no negative positions" in refused(text, op("remove_room", "A"))


def test_clauses_may_stand_in_any_order() -> None:
    text = NEIGHBOURS.replace(
        f"room B size (6 x 12) {WALLS} right-of A gap 2",
        f"room B right-of A gap 2 label 'b' {WALLS} size (6 x 12)",
    )

    assert f"room B at (12, 0) label 'b' {WALLS} size" in done(text, op("remove_room", "A"))
    assert f"room B at (1,2) right-of A gap 2 label 'b' {WALLS} size" in done(
        text, op("move_room", "B", x=1, y=2)
    )


def test_a_unit_that_would_change_what_all_other_numbers_mean_is_refused() -> None:
    in_metres = op("resize_room", "Office", width="3m", height="4m")
    set_unit = {"action": "set_config", "params": {"default_unit": "ft"}}

    assert "set default_unit to ft first" in refused(OFFICE, in_metres)
    assert "size (3m x 4m)" in done(OFFICE, set_unit, in_metres)
    text = NEIGHBOURS.replace("at (0,0) size (9 x 9)", "at (0m,0m) size (9m x 9m)")
    assert "set default_unit to m first" in refused(text, op("remove_room", "D"))


def test_the_first_room_of_a_plan_may_bring_its_unit() -> None:
    room = kitchen(position={"x": "1m", "y": 0})

    assert "at (1m, 0)" in done("floorplan floor f { }", room)


def test_units_of_a_room_are_kept_when_it_gets_a_position() -> None:
    text = f"""%%{{version: 1.0}}%%
floorplan
  config {{ default_unit: m }}
  floor f {{
    room A at (1,0) size (3.048 x 3) {WALLS}
    room B size (10ft x 10ft) {WALLS} right-of A
  }}
"""

    assert "room B at (13.280839895ft, 0ft) size" in done(text, op("remove_room", "A"))


@pytest.mark.parametrize("name", ["Office", "left", "x", "room"])
def test_a_name_that_is_taken_or_a_word_of_the_language_is_refused(name: str) -> None:
    text = done(OFFICE, kitchen(position={"x": 20, "y": 0}))

    assert f'"{name}"' in refused(text, op("rename_room", "Kitchen", newName=name))
    again = kitchen(position={"x": 50, "y": 0})
    again["params"]["name"] = name
    assert f'"{name}"' in refused(text, again)


def test_sub_rooms_are_renamed_moved_and_removed_like_rooms() -> None:
    moved = done(FLEX, op("move_room", "Booth", x=4, y=5), op("rename_room", "Booth", newName="S"))

    assert f'sub-room S at (4,5) size (3 x 3) {WALLS} label "quiet"' in moved
    assert "composed of [\n    ]" in done(moved, op("remove_room", "Flex.S"))


@pytest.mark.parametrize(
    ("text", "parent", "wanted"),
    [
        (FLEX, "Flex", '"quiet"\n      sub-room Kitchen at (1, 1)'),
        (OFFICE, "Office", f"{WALLS} composed of [\n      sub-room Kitchen at (1, 1)"),
        (
            f"floorplan floor f {{ room A at (0,0) size (9 x 9) {WALLS} style W }}"
            " style W { roughness: 1 }",
            "A",
            "composed of [ sub-room Kitchen at (1, 1)",
        ),
        (
            f"floorplan floor f {{ room A at (0,0) size (9 x 9) {WALLS} composed of [ ] }}",
            "A",
            "composed of [ sub-room Kitchen at (1, 1)",
        ),
    ],
)
def test_a_sub_room_finds_its_place_in_any_room(text: str, parent: str, wanted: str) -> None:
    made = done(text, kitchen(parent=parent, position={"x": 1, "y": 1}))

    assert wanted in made
    floor = read(made).plan.floors[0]
    assert any(inner.name.text == "Kitchen" for inner in floor.rooms[0].rooms)


def test_a_new_room_may_say_everything_that_a_room_can() -> None:
    made = done(
        NEIGHBOURS,
        {"action": "set_config", "params": {"default_unit": "ft"}},
        {
            "action": "add_room",
            "params": {
                "name": "K",
                "size": {"width": "3m", "height": "2.5 m"},
                "position": {"x": 0, "y": "40ft"},
                "walls": {
                    "top": {"kind": "window", "at": "25%", "size": {"width": 3, "height": 4}},
                    "right": [{"kind": "door", "at": 1}, {"kind": "window", "height": 9}],
                    "bottom": "open",
                    "left": "solid",
                },
                "height": "9ft",
                "elevation": -1.5,
                "style": "Wood",
                "label": "it's # }",
            },
        },
    )

    assert (
        "room K at (0, 40ft) size (3m x 2.5m) height 9ft elevation -1.5 walls "
        "[top: window at 25% size (3 x 4), right: door at 1, right: window height 9, "
        'bottom: open, left: solid] label "it\'s # }" style Wood\n' in made
    )


@pytest.mark.parametrize(
    ("label", "written"),
    [
        ('the "big" one', "'the \"big\" one'"),
        ("it's", '"it\'s"'),
        ("back\\slash\n", '"back\\\\slash\\n"'),
        ("1.0", "'1.0'"),
        ("", '""'),
        ("Küche 🍳", '"Küche 🍳"'),
    ],
)
def test_labels_are_written_so_that_they_read_back(label: str, written: str) -> None:
    made = done(OFFICE, op("add_label", "Office", label=label))

    assert f"label {written}" in made
    found = read(made).plan.floors[0].rooms[0].label
    assert found is not None
    assert found.text == label


def test_a_label_with_both_kinds_of_quotes_is_refused() -> None:
    assert "both kinds of quotes" in refused(OFFICE, op("add_label", "Office", label='"it\'s"'))


def test_a_label_is_replaced_and_removed() -> None:
    text = done(NEIGHBOURS, op("add_label", "C", label="new"), op("add_label", "Up", label="up"))

    assert 'label "new" style Wood' in text
    assert 'rise 10 label "up"' in text
    assert done(text, op("remove_label", "C"), op("remove_label", "Up")) == NEIGHBOURS.replace(
        ' label "c"', ""
    )
    assert refused(NEIGHBOURS, op("remove_label", "A")) == '"A" has no label'


def test_a_size_in_another_unit_than_the_plans_is_told() -> None:
    text = OFFICE.replace("floorplan", "floorplan config { default_unit: cm }")
    text = text.replace("(10 x 12)", "(10m x 12m)")

    bare = modify(text, [op("resize_room", "Office", width=9, height=8.5)])
    said = modify(text, [op("resize_room", "Office", width="900cm", height="850cm")])

    assert "(9m x 8.5m)" in bare["dsl"]
    assert bare["changes"][0]["message"] == "That is 9 m by 8.5 m, the unit that was there"
    assert "message" not in said["changes"][0]


def test_walls_of_which_none_is_named_stay_and_that_is_said() -> None:
    answer = modify(OFFICE, [op("update_walls", "Office")])

    assert (answer["success"], answer["dsl"]) == (True, OFFICE)
    assert answer["changes"][0]["message"] == "Nothing is changed: no wall is named"


def test_walls_that_are_not_listed_are_added() -> None:
    text = OFFICE.replace(WALLS, "walls [top: solid]")

    answer = modify(text, [op("update_walls", "Office", left="door", bottom="open", top="window")])

    assert "walls [top: window, bottom: open, left: door]" in answer["dsl"]
    assert answer["changes"][0]["message"] == "Added bottom: open, left: door"


def test_a_wall_takes_several_openings_and_gives_them_up_again() -> None:
    two = [{"kind": "door", "at": "20%"}, {"kind": "window", "at": "80%"}]

    made = done(OFFICE, op("update_walls", "Office", top=two))

    assert "[top: door at 20%, top: window at 80%, right:" in made
    assert done(made, op("update_walls", "Office", top={"kind": "solid"})) == OFFICE


def test_a_room_moves_beside_another() -> None:
    text = done(OFFICE, kitchen(position={"x": 20, "y": 0}))

    made = done(
        text,
        op("move_room", "Kitchen", relativePosition={"direction": "below", "reference": "Office"}),
    )

    assert "room Kitchen size (10 x 8)" in made
    assert "left: window] below Office\n" in made
    with_self = op(
        "move_room", "Kitchen", relativePosition={"direction": "below", "reference": "Kitchen"}
    )
    assert "cannot stand beside itself" in refused(made, with_self)


def test_rooms_never_stand_in_a_circle() -> None:
    circle = op("move_room", "A", relativePosition={"direction": "below", "reference": "B"})

    assert "Circular dependency" in refused(NEIGHBOURS, circle)


def test_a_reference_that_is_not_there_is_refused() -> None:
    nowhere = {"direction": "below", "reference": "Garage"}

    assert '"Garage"' in refused(OFFICE, kitchen(relativePosition=nowhere))
    assert '"Garage"' in refused(OFFICE, op("move_room", "Office", relativePosition=nowhere))


def test_a_size_by_name_becomes_numbers() -> None:
    text = OFFICE.replace("floorplan\n", "floorplan\n  define big (9 x 9)\n").replace(
        "size (10 x 12)", "size big"
    )

    assert "size (7 x 9.5)" in done(text, op("resize_room", "Office", width=7, height=9.5))


def test_heights_elevations_and_styles_come_and_go() -> None:
    made = done(
        NEIGHBOURS,
        op("set_elevation", "A", elevation=-1),
        op("set_height", "A", height=9),
        op("set_height", "ground", height="10ft"),
        op("set_style", "A", style="Wood"),
        op("set_style", "C", style=None),
    )

    assert f"size (10 x 12) height 9 elevation -1 {WALLS} style Wood" in made
    assert "floor ground height 10ft {" in made
    assert 'label "c"\n' in made
    changed = done(made, op("set_height", "ground", height=12), op("set_height", "A", height=8))
    assert "floor ground height 12ft {" in changed
    back = done(
        made,
        op("set_elevation", "A", elevation=None),
        op("set_height", "A", height=None),
        op("set_height", "ground", height=None),
        op("set_style", "A", style=None),
        op("set_style", "C", style="Wood"),
    )
    assert back == NEIGHBOURS


def test_a_name_that_several_bear_is_told_by_its_floor() -> None:
    text = NEIGHBOURS.replace("room D", "room A")

    made = done(text, op("resize_room", "first.A", width=1, height=2))

    assert "room A at (0,0) size (1 x 2)" in made
    assert "room A at (0,0) size (10 x 12)" in made


def test_connections_stay_with_the_other_room_of_the_same_name() -> None:
    text = NEIGHBOURS.replace("room D", "room A")

    answer = modify(text, [op("remove_room", "first.A")])

    assert answer["success"]
    assert "connect A.right to B.left" in answer["dsl"]


@pytest.mark.parametrize(
    ("operation", "says"),
    [
        ({"action": "add_rom", "params": {}}, "did you mean 'add_room'?"),
        ({"params": {}}, ".action: this is missing"),
        (op("rename_room", "A", newNam="B"), "did you mean 'newName'?"),
        (op("update_walls", "A", top="glass"), ".params.top: this must be 'solid', 'door'"),
        (op("update_walls", "A", tpo="solid"), "did you mean 'top'?"),
        (op("resize_room", "A", width=10), ".params.height: this is missing"),
        (op("resize_room", "A", width=10, height="9 yd"), ".params.height:"),
        (op("resize_room", "A", width=True, height=9), ".params.width:"),
        (op("move_room", "A", x=-1, y=0), "at least 0"),
        (op("move_room", "A", x=1), "give x and y, or relativePosition"),
        (op("rename_room", "A", newName="a b"), ".params.newName:"),
        (op("add_label", "A", label=5), ".params.label:"),
        ({"action": "resize_room", "target": "A"}, ".params: this is missing"),
        ({"action": "remove_room", "target": "A", "taget": 1}, "there is no 'taget'"),
    ],
)
def test_an_operation_that_nobody_knows_is_refused_and_nothing_done(
    operation: dict[str, Any], says: str
) -> None:
    answer = modify(NEIGHBOURS, [op("rename_room", "A", newName="Z"), operation])

    assert answer["success"] is False
    assert answer["dsl"] == NEIGHBOURS
    assert answer["changes"] == []
    assert answer["errors"][0]["operation"] == 1
    assert says in answer["errors"][0]["message"]
