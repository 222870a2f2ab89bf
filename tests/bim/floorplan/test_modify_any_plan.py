"""What holds for any plan and any operations on it."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from noetl_mcp.bim.floorplan.edit.modify import modify
from noetl_mcp.bim.floorplan.edit.operations import ACTIONS
from noetl_mcp.bim.floorplan.edit.sheet import rooms_of
from noetl_mcp.bim.floorplan.reading.read import read
from noetl_mcp.bim.floorplan.validate import validate
from tests.bim.floorplan.random_plans import actions, operations, plan
from tests.bim.floorplan.test_modify_scenarios import done, kitchen

SEEDS = st.integers(0, 2**32)
MANY = settings(max_examples=100, deadline=None)


def test_every_operation_is_tried() -> None:
    assert set(actions()) == set(ACTIONS)


@MANY
@given(SEEDS)
def test_operations_never_break_a_valid_plan_and_keep_its_comments(seed: int) -> None:
    random = Random(seed)
    written = plan(random)
    asked = operations(random, written.text, random.randrange(1, 9), removing=False)

    answer = modify(written.text, asked)

    assert validate(written.text)["valid"]
    assert validate(answer["dsl"])["valid"]
    assert [one for one in written.comments if one not in answer["dsl"]] == []
    assert answer["success"] == ("errors" not in answer)


@MANY
@given(SEEDS)
def test_removing_leaves_comments_between_things_and_nothing_that_hangs(seed: int) -> None:
    random = Random(seed)
    written = plan(random, inside=False)
    asked = operations(random, written.text, random.randrange(1, 9), removing=True)
    asked = [one for one in asked if one["action"] != "remove_floor"]

    answer = modify(written.text, asked)

    assert validate(answer["dsl"])["valid"]
    assert [one for one in written.comments if one not in answer["dsl"]] == []
    names = {one.name for one in rooms_of(read(answer["dsl"]).plan)} | {"outside"}
    for connection in read(answer["dsl"]).plan.connections:
        assert {connection.first.room.text, connection.second.room.text} <= names


@MANY
@given(SEEDS)
def test_all_or_nothing_is_all_or_nothing(seed: int) -> None:
    random = Random(seed)
    text = plan(random).text
    asked = operations(random, text, random.randrange(1, 5), removing=True)

    each, whole = modify(text, asked), modify(text, asked, atomic=True)

    assert whole["success"] == each["success"]
    assert whole["dsl"] == (each["dsl"] if each["success"] else text)
    results = {change["result"] for change in whole["changes"]}
    assert results <= ({"applied"} if each["success"] else {"error"})


@MANY
@given(SEEDS)
def test_what_is_done_and_undone_gives_the_same_bytes(seed: int) -> None:
    random = Random(seed)
    text = plan(random).text
    names = [one.name for one in rooms_of(read(text).plan)]
    if not names:
        return
    name = random.choice(names)
    there = {"action": "rename_room", "target": name, "params": {"newName": "Elsewhere"}}
    back = {"action": "rename_room", "target": "Elsewhere", "params": {"newName": name}}
    gone = {"action": "remove_room", "target": "Kitchen"}

    assert done(text, there, back) == text
    assert done(text, kitchen(position={"x": 90, "y": 90}), gone).split() == text.split()


@MANY
@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists, max_leaves=5))
def test_no_operation_however_wrong_is_more_than_refused(value: object) -> None:
    for action in ACTIONS:
        for asked in ({"action": action, "target": value, "params": value}, value):
            answer = modify("floorplan", [asked])  # type: ignore[list-item]

            assert answer["dsl"].startswith("floorplan")
            assert answer["success"] or answer["errors"]
