"""The house that many tests ask."""

import pytest

from noetl_mcp.bim.revit.headless.server import Headless
from tests.bim.revit.asked import HOUSE, opened, told


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Headless:
    return opened(HOUSE, tmp_path_factory.mktemp("house"))


@pytest.fixture(scope="module")
def offered(house: Headless) -> list[str]:
    names: list[str] = told(house, "list_commands", namesOnly=True)["commands"]
    return names
