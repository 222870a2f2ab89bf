"""Models that are opened by the headless server, and asked."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from noetl_mcp.bim.floorplan.reading.read import read
from noetl_mcp.bim.floorplan.resolve import understood
from noetl_mcp.bim.ifc.from_floorplan import ifc_text
from noetl_mcp.bim.revit.headless.server import Headless
from tests.bim.ifc.test_from_floorplan import HOUSE as PLAIN_HOUSE

ifcopenshell: Any = pytest.importorskip("ifcopenshell", reason="IFC needs the extra 'bim'")

HOUSE = PLAIN_HOUSE.replace(
    "lift L", "stair S at (7,1) shape straight toward top rise 3 width 1\n    lift L"
)


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
