"""What scripts for a real Revit ask, and what they must be able to rely on."""

import pytest

from noetl_mcp.bim.revit.headless.server import Headless
from tests.bim.revit.asked import HOUSE, opened, told


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Headless:
    return opened(HOUSE, tmp_path_factory.mktemp("house"))


def test_the_context_is_told_where_clients_look_for_it(house: Headless) -> None:
    answer = told(house, "help.get_context", includeSelectionIds=True)

    found, standard = answer["data"], answer["context"]
    assert found["contextToken"] == standard["contextToken"]
    assert (found["tokenVersion"], found["revision"]) == ("ctx.v1", 0)
    assert found["activeViewId"] == standard["activeViewId"]
    assert (found["selectionCount"], found["selectionIds"]) == (0, [])
    told(house, "get_walls", expectedContextToken=found["contextToken"])
    assert "selectionIds" not in told(house, "get_context")["data"]


def test_an_agent_is_told_the_active_view_at_its_start(house: Headless) -> None:
    active = told(house, "agent_bootstrap")["environment"]["activeViewId"]

    assert active == told(house, "get_current_view")["viewId"]
