"""Models that are opened by the headless server, and asked."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from noetl_mcp.bim.floorplan.reading.read import read
from noetl_mcp.bim.floorplan.resolve import understood
from noetl_mcp.bim.ifc.from_floorplan import ifc_text
from noetl_mcp.bim.revit.headless.server import Headless

ifcopenshell: Any = pytest.importorskip("ifcopenshell", reason="IFC needs the extra 'bim'")

HOUSE = """
floorplan
  config { default_unit: m, wall_thickness: 0.2 }
  floor ground height 3 {
    room Living at (0,0) size (6 x 5) height 3
      walls [top: window at 50% size (2 x 1.5), right: solid, bottom: solid, left: solid]
    room Kitchen at (6,0) size (4 x 5) height 3
      walls [top: solid, right: solid, bottom: solid, left: solid] label "Küche"
    stair S at (7,1) shape straight toward top rise 3 width 1
    lift L at (8,3) size (1.5 x 1.5) doors (left)
  }
  floor first height 2.8 {
    room Bed at (0,0) size (6 x 5) height 2.8
      walls [top: solid, right: solid, bottom: solid, left: solid]
      composed of [ sub-room Bath at (3,0) size (3 x 3) walls [left: door, bottom: solid] ]
  }
  connect Living.right to Kitchen.left door at 50% size (1 x 2)
  connect Living.left to outside double-door at 50% size (2 x 2)
"""


def opened(text: str, folder: Path, name: str = "house") -> Headless:
    """Return the server of a floor plan that was exported."""
    path = folder / f"{name}.ifc"
    path.write_text(ifc_text(understood(read(text).plan)), encoding="utf-8")
    return Headless.opened(path)


def told(server: Headless, method: str, /, **params: Any) -> Mapping[str, Any]:
    """Return the answer to a call that must go well."""
    answer = server.answer(method, params)
    assert answer["ok"] is True, answer
    assert not answer.get("issues"), answer
    return answer


def refused(server: Headless, method: str, /, **params: Any) -> tuple[str, str]:
    """Return why a call is refused."""
    answer = server.answer(method, params)
    assert answer["ok"] is False, answer
    assert answer["errorCode"] == answer["code"]
    return answer["code"], answer["msg"]
