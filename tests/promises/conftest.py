from collections.abc import Iterator

import pytest

from tests.broker.conftest import desk  # noqa: F401  # fixtures of this station
from tests.postgres import database, postgres  # noqa: F401
from tests.queue.world import InPostgres
from tests.worker.conftest import shop  # noqa: F401


@pytest.fixture
def world(database: str) -> Iterator[InPostgres]:  # noqa: F811  # a fixture asks for it
    made = InPostgres(database)
    yield made
    made.close()
