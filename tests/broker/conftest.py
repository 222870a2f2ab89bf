from collections.abc import Iterator

import pytest

from noetl_mcp.broker.desk import Desk
from tests.postgres import database, postgres  # noqa: F401  # fixtures of this station
from tests.worker.conftest import shop  # noqa: F401  # so are these
from tests.worker.shop import Shop


@pytest.fixture
def desk(shop: Shop) -> Iterator[Desk]:  # noqa: F811  # a fixture asks for it
    connection = shop.connect("desk")
    yield Desk(connection, world=shop.secrets)
    connection.close()
