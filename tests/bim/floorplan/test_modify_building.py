"""Every operation on connections, styles, config, floors, stairs, lifts and verticals."""

from typing import Any

import pytest

from noetl_mcp.bim.floorplan.edit.modify import modify
from noetl_mcp.bim.floorplan.validate import validate
from tests.bim.floorplan.test_modify_rooms import NEIGHBOURS, op, refused
from tests.bim.floorplan.test_modify_scenarios import OFFICE, WALLS, done

TOWER = f"""%%{{version: 1.0}}%%
floorplan
  style Wood {{ floor_color: "#aabbcc", roughness: 0.5 }} # warm
  config {{ default_style: Wood, wallThickness: 0.3 }}
  floor ground {{
    room Hall at (0,0) size (30 x 30) {WALLS} style Wood
    stair Main at (1,1) shape straight toward top rise 10
    lift Up at (10,10) size (5 x 5)
  }}
  floor first {{
    room Landing at (0,0) size (30 x 30) {WALLS}
    stair Main at (1,1) shape straight toward top rise 10
    lift Up at (10,10) size (5 x 5)
    lift Goods right-of Up gap 1 size (5 x 5)
  }}
  floor second {{
    room Attic at (0,0) size (30 x 30) {WALLS}
    lift Up at (10,10) size (5 x 5) style Wood
  }}
  connect Hall to outside door # in
  vertical ground.Main to first.Main
  vertical ground.Up to first.Up to second.Up
"""


def new(action: str, **params: Any) -> dict[str, Any]:
    return {"action": action, "params": params}


def test_the_plan_of_these_tests_is_valid() -> None:
    assert validate(TOWER)["valid"]
    assert validate(NEIGHBOURS)["valid"]


def test_a_connection_is_added_behind_the_others() -> None:
    made = done(
        NEIGHBOURS,
        {
            "action": "add_connection",
            "params": {
                "from": "B",
                "to": "outside",
                "kind": "double-door",
                "at": 12.5,
                "size": {"width": 3, "height": "full"},
                "opensInto": "B",
                "swing": "left",
            },
        },
    )

    assert made == (
        NEIGHBOURS + "  connect B to outside double-door at 12.5% size (3 x full) "
        "opens into B swing: left\n"
    )
    assert done(made, op("remove_connection", "outside to B")) == NEIGHBOURS


def plan_of(rooms: dict[str, tuple[float, float, float, float]], more: str = "") -> str:
    lines = [f"room {n} at ({x},{y}) size ({w} x {h}) {WALLS}" for n, (x, y, w, h) in rooms.items()]
    return f"%%{{version: 1.0}}%%\nfloorplan\nfloor f {{\n{chr(10).join(lines)}\n}}\n{more}"


A_AND_THREE = plan_of({"A": (0, 0, 10, 10), "B": (10, 5, 5, 5), "C": (0, 10.05, 10, 4)})


def joined(text: str, first: str, second: str) -> str:
    """Return the line that an added door makes."""
    made = done(text, new("add_connection", **{"from": first, "to": second, "kind": "door"}))
    return made.removeprefix(text).strip()


@pytest.mark.parametrize(
    ("first", "second", "line"),
    [
        ("A", "B", "connect A.right to B.left door"),
        ("B", "A", "connect B.left to A.right door"),
        ("A.right", "B", "connect A.right to B.left door"),
        ("A", "C.top", "connect A.bottom to C.top door"),
        ("A.top", "B.bottom", "connect A.top to B.bottom door"),
        ("A", "outside", "connect A to outside door"),
    ],
)
def test_walls_that_are_not_named_are_those_that_rooms_share(
    first: str, second: str, line: str
) -> None:
    assert joined(A_AND_THREE, first, second) == line


def test_the_shared_walls_are_told_and_nothing_is_wrong_with_them() -> None:
    added = new("add_connection", **{"from": "A", "to": "B", "kind": "door"})

    answer = modify(A_AND_THREE, [added])

    [change] = answer["changes"]
    assert (change["target"], change["message"]) == (
        "A to B",
        "Connected A.right to B.left, which they share",
    )
    codes = [one["code"] for one in validate(answer["dsl"])["warnings"]]
    assert "no-shared-wall" not in codes


def test_a_gap_in_which_a_wall_stands_is_a_common_wall_too() -> None:
    text = plan_of({"A": (0, 0, 10, 10), "B": (10.5, 0, 8, 10)})

    assert joined(text, "A", "B") == "connect A.right to B.left door"


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        ("B", "C", '"B" and "C" share no wall, so nothing can connect them'),
        ("A.left", "B", "share no wall: the rooms meet at A.right and B.left"),
    ],
)
def test_rooms_that_share_no_wall_are_not_connected(first: str, second: str, says: str) -> None:
    assert says in refused(
        A_AND_THREE, new("add_connection", **{"from": first, "to": second, "kind": "door"})
    )


def test_rooms_that_meet_on_several_walls_are_asked_about() -> None:
    text = plan_of({"A": (0, 0, 10, 10), "B": (9.96, 9.96, 5, 5)})
    added = new("add_connection", **{"from": "A", "to": "B", "kind": "door"})

    assert "say A.right to B.left or A.bottom to B.top" in refused(text, added)


def test_rooms_of_two_floors_are_joined_by_stairs() -> None:
    added = new("add_connection", **{"from": "Hall", "to": "Attic", "kind": "door"})

    assert "are joined by stairs or lifts and add_vertical" in refused(TOWER, added)


def test_a_room_and_a_sub_room_of_it_need_no_walls() -> None:
    inner = f"composed of [ sub-room In at (1,1) size (2 x 2) {WALLS} ]"
    text = plan_of({"A": (0, 0, 10, 10)}).replace(WALLS, f"{WALLS} {inner}")

    assert joined(text, "A", "In") == "connect A to In door"


def test_the_first_connection_stands_behind_the_floors() -> None:
    added = {"action": "add_connection", "params": {"from": "Office", "to": "outside"}}
    added["params"] |= {"kind": "door"}  # type: ignore[operator]

    assert done(OFFICE, added) == OFFICE + "  connect Office to outside door\n"
    assert done(OFFICE.rstrip("\n"), added) == OFFICE + "  connect Office to outside door"


def test_a_connection_changes_clause_by_clause() -> None:
    target = "B.left to A.right"

    made = done(
        NEIGHBOURS,
        op("update_connection", target, kind="opening", at=25, opensInto="A", swing="right"),
    )

    assert "connect A.right to B.left opening at 25% door opens into A swing: right\n" in made
    gone = done(made, op("update_connection", target, at=None, opensInto=None, swing=None))
    assert "connect A.right to B.left opening\n" in gone
    sized = done(gone, op("update_connection", target, size={"width": 2, "height": 7}))
    assert "connect A.right to B.left opening size (2 x 7)\n" in sized


@pytest.mark.parametrize(
    ("operation", "says"),
    [
        (op("remove_connection", "A to D"), 'Connection "A to D" not found'),
        (op("update_connection", "A to B", opensInto="Z"), 'Room "Z" not found'),
        (op("update_connection", "A to B", kind=None), "cannot be without a kind"),
        (op("remove_connection", "A to B", which=2), "There is no connection 2"),
        ({"action": "add_connection", "params": {"from": "A", "to": "Z", "kind": "door"}}, '"Z"'),
        (
            {"action": "add_connection", "params": {"from": "A", "to": "A", "kind": "door"}},
            "itself",
        ),
    ],
)
def test_connections_that_make_no_sense_are_refused(operation: dict[str, Any], says: str) -> None:
    assert says in refused(NEIGHBOURS, operation)


@pytest.mark.parametrize(
    ("operation", "says"),
    [
        (op("update_connection", "Hall to outside", which=1), "kind, at, size, opensInto, swing"),
        (op("update_style", "Wood"), "floor_color, wall_color"),
        (new("set_config"), "wall_thickness, floor_thickness"),
    ],
)
def test_a_change_of_nothing_is_refused(operation: dict[str, Any], says: str) -> None:
    message = refused(TOWER, operation)

    assert message.startswith(f"Nothing to change: give one of {says}")


def test_what_the_plan_says_already_is_told() -> None:
    answer = modify(TOWER, [op("update_connection", "Hall to outside", swing=None)])

    assert answer["dsl"] == TOWER
    assert answer["changes"][0]["message"] == "Nothing is changed: the plan says so already"


def test_one_of_several_connections_is_told_by_its_number() -> None:
    text = NEIGHBOURS + "  connect B to A opening\n"

    assert "say which" in refused(text, op("remove_connection", "A to B"))
    assert done(text, op("remove_connection", "A to B", which=2)) == NEIGHBOURS


def test_a_door_on_a_door_is_refused() -> None:
    params = {"from": "A.right", "to": "B.left", "kind": "door"}

    message = refused(NEIGHBOURS, {"action": "add_connection", "params": params})

    assert "Overlapping" in message


def test_a_style_is_added_changed_and_removed() -> None:
    made = done(
        TOWER,
        new("add_style", name="Tile", wall_color="#000000", floor_texture='a "b".png'),
        op("update_style", "Tile", wall_color=None, roughness=1),
        op("update_style", "Wood", floor_color="#ffffff", metalness=0.25),
    )

    assert "\n  style Tile { floor_texture: 'a \"b\".png', roughness: 1 }\n  config" in made
    assert 'Wood { floor_color: "#ffffff", roughness: 0.5, metalness: 0.25 } # warm' in made


def test_removing_a_style_takes_it_from_what_bears_it() -> None:
    answer = modify(TOWER, [op("remove_style", "Wood")])

    made = answer["dsl"]
    assert answer["success"]
    assert "Wood" not in made
    assert "# warm" in made
    assert "config { wallThickness: 0.3 }" in made
    assert "Hall has no style now" in answer["changes"][0]["message"]
    assert "default_style is gone" in answer["changes"][0]["message"]


@pytest.mark.parametrize(
    ("operation", "says"),
    [
        (new("add_style", name="Wood", roughness=1), "already there"),
        (new("add_style", name="Tile"), "at least one of floor_color"),
        (new("add_style", name="Tile", wall_color="red"), ".params.wall_color:"),
        (new("add_style", name="Tile", roughness=2), "must be between 0 and 1"),
        (op("update_style", "Wood", floor_color=None, roughness=None), "remove it instead"),
        (op("update_style", "Tile", roughness=1), 'Style "Tile" not found'),
        (op("set_style", "Hall", style="Tile"), 'Style "Tile" not found'),
        (new("set_config", default_style="Tile"), "undefined style 'Tile'"),
        (new("set_config", wall_thicknes=1), "did you mean 'wall_thickness'?"),
        (new("set_config", theme="neon"), ".params.theme:"),
    ],
)
def test_styles_and_settings_that_make_no_sense_are_refused(
    operation: dict[str, Any], says: str
) -> None:
    assert says in refused(TOWER, operation)


def test_the_config_is_changed_in_either_spelling() -> None:
    made = done(TOWER, new("set_config", wall_thickness=0.25, dark_mode=True, theme=None))

    assert "config { default_style: Wood, wallThickness: 0.25, dark_mode: true }" in made
    gone = done(made, new("set_config", wall_thickness=None, dark_mode=None, default_style=None))
    assert "config" not in gone


def test_a_config_is_written_where_there_is_none() -> None:
    made = done(
        OFFICE,
        new("set_config", door_size={"width": 3, "height": 7}, font_family="A 'b'", theme="dark"),
    )

    assert made == OFFICE.replace(
        "floorplan\n",
        "floorplan\n  config { door_size: (3 x 7), theme: dark, font_family: \"A 'b'\" }\n",
    )
    assert done(made, new("set_config", door_size=None, font_family=None, theme=None)) == OFFICE


def test_a_frontmatter_stays_as_it_is() -> None:
    text = (
        f'---\nversion: "1.0"\nconfig:\n  theme: dark\n---\n{OFFICE[len("%%{version: 1.0}%%") :]}'
    )

    made = done(text, new("set_config", theme="blueprint"))

    assert "floorplan\n  config { theme: blueprint }\n" in made
    assert "frontmatter" in refused(text, new("set_config", theme=None))


def test_a_floor_is_added_renamed_and_removed() -> None:
    made = done(TOWER, new("add_floor", name="third", height="9ft"))

    assert "\n  }\n  floor third height 9ft {\n  }\n  connect" in made
    assert done(made, op("remove_floor", "third")) == TOWER
    renamed = done(TOWER, op("rename_floor", "ground", newName="zero"))
    assert renamed == TOWER.replace("ground", "zero")
    assert done("floorplan", new("add_floor", name="f")) == "floorplan\n  floor f {\n  }"


def test_removing_a_floor_takes_what_led_to_it() -> None:
    answer = modify(TOWER, [op("remove_floor", "first")])

    assert answer["success"]
    assert "first" not in answer["dsl"]
    assert "vertical ground.Up to second.Up" in answer["dsl"]
    assert "ground.Main to" not in answer["dsl"]
    gone = done(TOWER, op("remove_floor", "ground"))
    assert "connect" not in gone
    assert "# in" in gone
    assert "vertical first.Up to second.Up" in gone


def test_stairs_and_lifts_are_added_moved_and_removed() -> None:
    made = done(
        TOWER,
        new(
            "add_stair",
            name="Back",
            floor="first",
            position={"x": 20, "y": 1.5},
            shape={"kind": "U-shaped", "entry": "top", "turn": "left", "runs": [8, 8]}
            | {"landing": {"width": 8, "height": 4}},
            rise="10ft",
            width="40in",
            handrail="both",
            material={"tread": "oak"},
            label="back",
            style="Wood",
        ),
        new(
            "add_lift",
            name="Small",
            position={"x": 20, "y": 20},
            size={"width": 4, "height": 4},
            doors=["top", "left"],
        ),
    )

    assert (
        "rise 10\n    stair Back at (20, 1.5) shape U-shaped from top turn left runs 8, 8 "
        'landing (8 x 4) rise 10ft width 40in handrail (both) material { tread: "oak" } '
        'label "back" style Wood\n    lift Up' in made
    )
    assert "(5 x 5)\n    lift Small at (20, 20) size (4 x 4) doors (top, left)\n  }" in made
    moved = done(made, op("move_stair", "Back", x=1, y=2), op("move_lift", "Small", x=3, y=4))
    assert "stair Back at (1, 2)" in moved
    assert "lift Small at (3, 4)" in moved
    assert done(moved, op("remove_stair", "Back"), op("remove_lift", "ground.Small")) == TOWER


@pytest.mark.parametrize(
    "shape",
    [
        {"kind": "straight", "toward": "top"},
        {"kind": "L-shaped", "entry": "top", "turn": "left"},
        {"kind": "double-L", "entry": "left", "turn": "right", "runs": [3, 4, 5]},
        {"kind": "spiral", "rotation": "clockwise", "innerRadius": 1, "outerRadius": "4ft"},
        {"kind": "curved", "entry": "top", "arc": 90, "radius": 6},
        {"kind": "winder", "entry": "top", "turn": "left", "winders": 3, "runs": [4, 5]},
        {
            "kind": "custom",
            "entry": "top",
            "segments": [
                {"flight": 5, "width": 3, "along": "Hall.left"},
                {"turn": "left", "landing": {"width": 3, "height": 3}, "angle": 90},
                {"turn": "right", "winders": 3},
            ],
        },
    ],
    ids=lambda shape: str(shape["kind"]),
)
def test_every_shape_of_stair_can_be_added(shape: dict[str, Any]) -> None:
    position = {"x": 1, "y": 1}

    made = done(TOWER, new("add_stair", name="New", position=position, shape=shape, rise=9))

    assert f"stair New at (1, 1) shape {shape['kind']} " in made


def test_removing_a_lift_frees_what_stood_by_it() -> None:
    answer = modify(TOWER, [op("remove_lift", "first.Up")])

    assert answer["success"]
    assert "lift Goods at (16, 10) size (5 x 5)\n" in answer["dsl"]
    assert "vertical ground.Up to second.Up" in answer["dsl"]
    assert answer["changes"][0]["message"] == (
        "vertical ground.Up to first.Up to second.Up shortened; Goods stands at (16, 10) now"
    )


def test_removing_a_stair_removes_the_vertical_that_needs_it() -> None:
    made = done(TOWER, op("remove_stair", "ground.Main"))

    assert "vertical ground.Main" not in made
    assert made.count("stair Main") == 1


def test_verticals_are_added_and_removed() -> None:
    text = done(TOWER, op("remove_vertical", "ground.Up"))

    assert text == TOWER.replace("\n  vertical ground.Up to first.Up to second.Up", "")
    elements = ["ground.Up", "first.Up", "second.Up"]
    assert done(text, new("add_vertical", elements=elements)) == TOWER


@pytest.mark.parametrize(
    ("operation", "says"),
    [
        (new("add_vertical", elements=["ground.Main", "first.Gone"]), '"first.Gone" not found'),
        (new("add_vertical", elements=["ground.Main"]), ".params.elements:"),
        (op("remove_vertical", "first.Main to second.Main"), "not found"),
        (op("remove_vertical", "ground.Gone"), "not found"),
        (op("remove_stair", "Up"), 'Stair "Up" not found'),
        (op("move_lift", "Main", x=1, y=1), 'Lift "Main" not found'),
        (op("remove_floor", "cellar"), 'Floor "cellar" not found'),
        (op("rename_floor", "ground", newName="first"), "already there"),
        (op("rename_floor", "ground", newName="floor"), "word of the language"),
        (new("add_floor", name="ground"), "already there"),
        (
            new(
                "add_lift",
                name="Main",
                position={"x": 0, "y": 0},
                size={"width": 1, "height": 1},
            ),
            "already there",
        ),
        (
            new(
                "add_stair",
                name="S",
                position={"x": 0, "y": 0},
                shape={"kind": "straight"},
                rise=1,
            ),
            "could not be read then",
        ),
    ],
)
def test_what_makes_no_sense_in_a_building_is_refused(operation: dict[str, Any], says: str) -> None:
    assert says in refused(TOWER, operation)
