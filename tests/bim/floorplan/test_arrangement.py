"""Floors find their places on a picture, or it is said that they do not."""

import pytest

from noetl_mcp.bim.floorplan.tools import tool

WALLS = "walls [top: solid]"


@pytest.mark.parametrize("width", [16, 100, 600])
def test_more_floors_than_a_row_has_room_for_are_refused_or_drawn(width: int) -> None:
    render = tool("render_floorplan")
    assert render is not None
    floors = [f"floor f{one} {{ room a{one} at (0,0) size (9 x 9) {WALLS} }}" for one in range(190)]
    asked = {"renderAllFloors": True, "width": width, "format": "svg"}

    answer = render.call({"dsl": "floorplan\n" + "\n".join(floors), **asked})
    wide = render.call({"dsl": "floorplan\n" + "\n".join(floors[:60]), **asked, "width": 2_000})

    assert "no room for 190 floors, 14 in a row" in answer.facts["errors"][0]["message"]
    assert wide.facts["success"]
