"""The page of the headless server tells every field that rows have."""

import re
from pathlib import Path
from typing import Any

import pytest

from noetl_mcp.bim.revit.headless.server import Headless
from tests.bim.revit.asked import HOUSE, opened, told

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "headless-revit.md"
ROWS = {
    "walls": ("get_walls", "walls"),
    "rooms": ("get_rooms", "rooms"),
    "doors": ("get_doors", "doors"),
    "windows": ("get_windows", "windows"),
    "floors": ("get_floors", "floors"),
    "levels": ("get_levels", "levels"),
    "views": ("get_views", "views"),
    "types": ("get_wall_types", "types"),
}
OF_ALL = ("walls", "rooms", "doors", "windows", "floors")


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Headless:
    return opened(HOUSE, tmp_path_factory.mktemp("house"))


def on_page(name: str) -> set[str]:
    """Return the fields that the page tells of something."""
    section = PAGE.read_text().partition("## What rows hold")[2].partition("\n## ")[0]
    lines = re.findall(r"(?m)^\| (.+?) \| (.+) \|$", section)
    return {word for of, fields in lines if name in of for word in re.findall(r"`(\w+)`", fields)}


@pytest.mark.parametrize("name", ROWS)
def test_every_field_of_a_row_is_told(name: str, house: Headless) -> None:
    method, key = ROWS[name]
    [row, *_] = told(house, method)[key]

    known = on_page(f"`{name}`") | (on_page("every element") if name in OF_ALL else set())
    assert set(row) <= known


def test_every_field_of_an_element_at_length_is_told(house: Headless) -> None:
    [wall, *_] = told(house, "get_walls")["walls"]
    ids: dict[str, Any] = {"elementIds": [wall["elementId"]]}

    [row] = told(house, "get_element_info", rich=True, **ids)["elements"]
    [box] = told(house, "get_bounding_box", **ids)["boxes"]
    [said, *_] = told(house, "get_wall_parameters", elementId=wall["elementId"])["parameters"]
    keys = {"paramKeys": [{"name": "Length"}, {"name": "None"}]}
    [item] = told(house, "get_instance_parameters_bulk", **ids, **keys)["items"]

    assert set(row) <= on_page("get_element_info") | set(wall)
    assert set(box) <= on_page("`boxes`")
    assert set(said) <= on_page("`parameters`")
    assert set(item) <= on_page("bulk reads")
