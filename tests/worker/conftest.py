from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.postgres import database, postgres  # noqa: F401  # fixtures of this station
from tests.worker.shop import Shop


@pytest.fixture
def shop(database: str, tmp_path: Path) -> Iterator[Shop]:  # noqa: F811  # a fixture asks for it
    made = Shop(database, tmp_path / "lives")
    yield made
    made.close()
