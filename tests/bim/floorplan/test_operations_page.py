"""The page of operations has an example for each, and each example does what the page shows."""

from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from noetl_mcp.bim.floorplan.edit.modify import modify
from noetl_mcp.bim.floorplan.edit.operations import ACTIONS
from noetl_mcp.bim.floorplan.validate import validate

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(DOCS))
    return import_module("generator.floorplan_operations")


def test_the_plan_of_the_examples_is_valid(page: ModuleType) -> None:
    assert validate(page.PLAN)["valid"]


@pytest.mark.parametrize("action", ACTIONS)
def test_the_example_of_an_operation_works(action: str, page: ModuleType) -> None:
    before = page.plan_for(action)

    answer = modify(before, [page.asked(action)])

    assert answer["success"], answer
    assert answer["dsl"] != before
    assert validate(answer["dsl"])["valid"]
    assert f"\n## {action}\n" in page.floorplan_operations_page()
