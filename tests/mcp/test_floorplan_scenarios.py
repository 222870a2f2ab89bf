"""Every scenario of the first design of the floor plan server, under its own name."""

import base64
import re
import struct

import mcp_types as types
from mcp.client import Client

from tests.mcp.floorplan_server import answered, called, facts, in_memory, over_a_pipe

MIXED = "walls [top: solid, right: window, bottom: door, left: solid]"
SOLID_WALLS = "walls [top: solid, right: solid, bottom: solid, left: solid]"
OFFICE = f"""floorplan
  floor f1 {{
    room Office at (0,0) size (10 x 12) {MIXED} label "main workspace"
  }}
"""
NESTED = """floorplan
  floor f1 {
    room FlexArea at (0,0) size (20 x 20)
      walls [top: open, right: solid, bottom: open, left: solid] composed of [
        sub-room Booth1 at (2,2) size (3 x 3)
          walls [top: solid, right: solid, bottom: door, left: solid]
      ]
  }
"""
INVALID = """floorplan
  floor f1 {
    room Office at (0,0) size (10 x 12) walls [top: invalid_type]
  }
"""
SOLID = f"""floorplan
  floor f1 {{
    room Office at (0,0) size (10 x 12) {SOLID_WALLS}
    room Storage at (10,0) size (6 x 12) {SOLID_WALLS}
  }}
"""


# Floorplan Rendering Tool


def test_successful_render_of_valid_dsl() -> None:
    result = called("render_floorplan", dsl=OFFICE)

    image = result.content[0]
    assert isinstance(image, types.ImageContent)
    assert image.mime_type == "image/png"
    picture = base64.b64decode(image.data, validate=True)
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", picture[16:24])
    assert width == 800
    assert height > 100
    shown = facts(result)
    assert shown["success"] is True
    [room] = shown["rooms"]
    assert room["name"] == "Office"
    assert room["position"] == {"x": 0, "y": 0}
    assert room["size"] == {"width": 10, "height": 12}
    assert room["label"] == "main workspace"


def test_render_with_nested_sub_rooms() -> None:
    shown = answered("render_floorplan", dsl=NESTED)

    [room] = shown["rooms"]
    assert room["name"] == "FlexArea"
    assert [inner["name"] for inner in room["subRooms"]] == ["Booth1"]


def test_render_with_invalid_dsl_returns_errors() -> None:
    result = called("render_floorplan", dsl=INVALID)

    shown = facts(result)
    assert shown["success"] is False
    assert shown["errors"][0]["message"]
    assert shown["errors"][0]["line"] == 3
    assert not [one for one in result.content if isinstance(one, types.ImageContent)]


# Floorplan Validation Tool


def test_validation_of_valid_dsl() -> None:
    shown = answered("validate_floorplan", dsl=OFFICE)

    assert shown["valid"] is True
    assert shown["errors"] == []


def test_validation_of_invalid_dsl_with_line_numbers() -> None:
    shown = answered("validate_floorplan", dsl=INVALID)

    assert shown["valid"] is False
    [error] = shown["errors"]
    assert (error["line"], error["column"]) == (3, 53)
    assert "invalid_type" in error["message"]
    assert all(kind in error["message"] for kind in ("solid", "door", "window", "open"))


# Floorplan Modification Tool


def test_add_a_new_room() -> None:
    kitchen = {
        "name": "Kitchen",
        "position": {"x": 0, "y": 14},
        "size": {"width": 10, "height": 8},
        "walls": {"top": "solid", "right": "door", "bottom": "solid", "left": "window"},
        "label": "break area",
    }

    shown = answered(
        "modify_floorplan", dsl=OFFICE, operations=[{"action": "add_room", "params": kitchen}]
    )

    assert shown["success"] is True
    assert "room Kitchen at (0, 14) size (10 x 8) walls [top: solid, right: door" in shown["dsl"]
    assert 'label "break area"' in shown["dsl"]
    [change] = shown["changes"]
    assert (change["action"], change["result"]) == ("add_room", "applied")


def test_remove_an_existing_room() -> None:
    shown = answered(
        "modify_floorplan",
        dsl=SOLID,
        operations=[{"action": "remove_room", "target": "Storage"}],
    )

    assert shown["success"] is True
    assert "Storage" not in shown["dsl"]
    assert "Office" in shown["dsl"]


def test_resize_a_room() -> None:
    resize = {"action": "resize_room", "target": "Office", "params": {"width": 15, "height": 15}}

    shown = answered("modify_floorplan", dsl=OFFICE, operations=[resize])

    assert "room Office at (0,0) size (15 x 15) walls" in shown["dsl"]


def test_update_wall_types() -> None:
    update = {
        "action": "update_walls",
        "target": "Office",
        "params": {"right": "window", "bottom": "door"},
    }

    shown = answered("modify_floorplan", dsl=SOLID, operations=[update])

    walls = "walls [top: solid, right: window, bottom: door, left: solid]"
    assert f"room Office at (0,0) size (10 x 12) {walls}" in shown["dsl"]


def test_modify_non_existent_room_returns_error() -> None:
    resize = {"action": "resize_room", "target": "Garage", "params": {"width": 20, "height": 20}}

    shown = answered("modify_floorplan", dsl=OFFICE, operations=[resize])

    assert shown["success"] is False
    assert any('Room "Garage" not found' in one["message"] for one in shown["errors"])


# DSL Schema Resource


def test_retrieve_schema_documentation() -> None:
    async def work(client: Client) -> types.ReadResourceResult:
        return await client.read_resource("floorplan://schema")

    [content] = in_memory(work).contents

    assert isinstance(content, types.TextResourceContents)
    assert content.mime_type == "text/markdown"
    for told in ("floorplan", "room", "walls", "solid", "door", "window", "open", "sub-room"):
        assert told in content.text
    complete = content.text.partition("## Complete examples")[2]
    examples = re.findall(r"```text\n(.+?)```", complete, re.S)
    assert examples
    assert all(answered("validate_floorplan", dsl=one)["valid"] for one in examples)


# MCP Server Transport


def test_server_starts_with_stdio_transport() -> None:
    async def work(client: Client) -> str:
        info = client.server_info
        assert info is not None
        return info.name

    assert over_a_pipe(work, mode="legacy") == "noetl-mcp-floorplan"


def test_server_lists_available_tools() -> None:
    async def work(client: Client) -> list[types.Tool]:
        return (await client.list_tools()).tools

    tools = {one.name: one for one in over_a_pipe(work)}

    assert {"render_floorplan", "validate_floorplan", "modify_floorplan"} <= set(tools)
    for one in tools.values():
        assert one.description
        assert "dsl" in one.input_schema["required"]


def test_server_lists_available_resources() -> None:
    async def work(client: Client) -> list[types.Resource]:
        return (await client.list_resources()).resources

    assert [str(one.uri) for one in over_a_pipe(work)] == ["floorplan://schema"]
