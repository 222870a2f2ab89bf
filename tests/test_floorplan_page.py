"""The page about floor plans shows plans without a fault and a picture of the plan beside it."""

import re
from pathlib import Path

import pytest

from noetl_mcp.bim.floorplan.tools import tool
from tests.cli.commands import noetl

DOCS = Path(__file__).parent.parent / "docs"
PAGE = DOCS / "how-to" / "floor-plans.md"
HOUSE = PAGE.with_name("house.floorplan")
SHOWN = [
    fence
    for page in sorted((DOCS / "how-to").glob("*.md"))
    for fence in re.findall(r"```floorplan\n(.+?)```", page.read_text(), re.S)
]


def test_the_page_shows_a_plan() -> None:
    assert SHOWN


@pytest.mark.parametrize("text", [HOUSE.read_text(), *SHOWN])
def test_nothing_is_wrong_with_a_plan_that_is_shown(text: str) -> None:
    validate = tool("validate_floorplan")
    assert validate is not None

    assert validate.call({"dsl": text}).facts == {"valid": True, "errors": []}


def test_the_picture_is_what_the_command_beside_it_draws(tmp_path: Path) -> None:
    found = re.search(
        r"^noetl-mcp (floorplan render .+) -o floor-plans\.png$", PAGE.read_text(), re.M
    )
    assert found is not None
    shown = PAGE.with_name("floor-plans.png").read_bytes()
    words = found[1].replace("docs/how-to/house.floorplan", str(HOUSE)).split()

    drawn = noetl(*words, "-o", tmp_path / "drawn.png")

    assert drawn.code == 0
    assert (tmp_path / "drawn.png").read_bytes()[16:24] == shown[16:24]  # width and height
    assert len(shown) <= 80_000


def test_the_operation_on_the_page_is_applied() -> None:
    found = re.search(r"modify house\.floorplan --in-place \\\n  '(.+)'\n", PAGE.read_text())
    assert found is not None

    ran = noetl("floorplan", "modify", HOUSE, found[1])

    assert (ran.code, ran.err.strip()) == (0, "✓ resize_room Study")


def test_a_finding_looks_as_the_page_shows_it(tmp_path: Path) -> None:
    found = re.search(r"```text\n(error unexpected.+?)\n```", PAGE.read_text(), re.S)
    assert found is not None
    line = next(one[4:] for one in found[1].splitlines() if one.startswith("5 |"))
    [shown] = [one for one in SHOWN if "room Hall" in one]
    before, _, after = shown.partition("    room Hall")
    plan = tmp_path / "flat.floorplan"
    plan.write_text(f"{before}{line}\n{after.partition(chr(10))[2]}")

    told = noetl("floorplan", "validate", plan).out

    assert told.replace(str(plan), "flat.floorplan").startswith(found[1])
