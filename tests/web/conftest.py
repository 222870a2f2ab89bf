from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.postgres import database, postgres  # noqa: F401  # fixtures of this station
from tests.web.site import Site, serving


@pytest.fixture
def site(database: str, tmp_path: Path) -> Iterator[Site]:  # noqa: F811  # a fixture asks for it
    with serving(database, tmp_path) as made:
        yield made
