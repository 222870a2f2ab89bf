"""Operations that nobody could carry out are refused in short sentences, each at its place."""

from typing import Any

import pytest

from noetl_mcp.bim.floorplan.tool_arguments import WrongArguments
from noetl_mcp.bim.floorplan.tools import tool

SOLID = {"top": "solid", "right": "solid", "bottom": "solid", "left": "solid"}
ROOM = {"name": "C", "size": {"width": 1, "height": 2}, "walls": SOLID}


def resize(**params: Any) -> dict[str, Any]:
    return {"action": "resize_room", "target": "A", "params": {"width": 1, "height": 2, **params}}


def add(**params: Any) -> dict[str, Any]:
    return {"action": "add_room", "params": {**ROOM, "position": {"x": 0, "y": 9}, **params}}


def does(action: str, **params: Any) -> dict[str, Any]:
    return {"action": action, "params": params}


def refusal(operations: Any) -> str:
    found = tool("modify_floorplan")
    assert found is not None
    with pytest.raises(WrongArguments) as refused:
        found.call({"dsl": "floorplan", "operations": operations})
    return str(refused.value)


@pytest.mark.parametrize(
    ("operations", "told"),
    [
        ("x", "'operations': this must be a list"),
        (add(), "'operations': this must be a list"),
        ([7], "'operations[0]': this must be a map"),
        ([{}], "'operations[0].action': this is missing"),
        ([{"action": 7}], "'operations[0].action': this must be a text"),
        (
            [does("add_rom")],
            "'operations[0]': there is no action 'add_rom'; did you mean 'add_room'?",
        ),
        ([resize(width=-1)], "'operations[0].params.width': this must be at least 0"),
        (
            [resize(width="wide")],
            "'operations[0].params.width': this must be a number or a length with its unit, "
            'such as "9.5ft"',
        ),
        (
            [resize(widht=1)],
            "'operations[0].params': there is no 'widht' here; did you mean 'width'?",
        ),
        ([{"action": "remove_room"}], "'operations[0].target': this is missing"),
        (
            [{**resize(), "param": {}}],
            "'operations[0]': there is no 'param' here; did you mean 'params'?",
        ),
        (
            [add(walls={**SOLID, "top": "windw"})],
            "'operations[0].params.walls.top': this must be 'solid', 'door', 'window' or 'open'; "
            "did you mean 'window'?",
        ),
        (
            [add(walls={"top": "solid", "left": "door"})],
            "'operations[0].params.walls.right': this is missing; "
            "'operations[0].params.walls.bottom': this is missing",
        ),
        (
            [add(name="C D")],
            "'operations[0].params.name': this must be a name: letters, digits and _, "
            "with no digit first",
        ),
        ([add(name="C" * 500)], "'operations[0].params.name': this may have at most 200 signs"),
        ([add(size=[1, 2])], "'operations[0].params.size': this must be a map or a text"),
        (
            [add(position={"x": 0, "z": 1})],
            "'operations[0].params.position': there is no 'z' here; there are x, y",
        ),
        (
            [does("set_config", theme="neon")],
            "'operations[0].params.theme': this must be 'default', 'dark' or 'blueprint'",
        ),
        (
            [does("add_style", name="S", floor_color="red")],
            "'operations[0].params.floor_color': this must be a colour, such as \"#E8F4FD\"",
        ),
        (
            [resize(), resize(hight=3)],
            "'operations[1].params': there is no 'hight' here; did you mean 'height'?",
        ),
        ([resize()] * 1001, "'operations': this may have at most 1000 entries"),
    ],
)
def test_a_wrong_operation_is_told_with_its_place(operations: Any, told: str) -> None:
    assert refusal(operations) == told


def test_an_action_unlike_any_is_told_which_there_are() -> None:
    told = refusal([does("paint" * 1000)])

    assert "there are add_room, remove_room" in told
    assert len(told) < 900


def test_thirty_wrong_operations_are_not_told_thirty_times() -> None:
    told = refusal([resize(hight=3)] * 30)

    assert told.count("did you mean 'height'?") == 12
    assert told.endswith("and 18 more")
