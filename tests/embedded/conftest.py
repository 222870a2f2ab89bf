import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from noetl_mcp.embedded.operate import stop
from noetl_mcp.embedded.places import make_places
from tests.embedded.users import QUICK, Home, copied, make_home, removed
from tests.postgres import postgres, quick_folder  # noqa: F401 - a fixture


@pytest.fixture(scope="session")
def seed() -> Iterator[Path]:
    """The data folder of a new cluster with the database in it."""
    folder = Path(tempfile.mkdtemp(prefix="noetl-seed-", dir=quick_folder()))
    home = make_home(folder)
    (make_places(home.path, system=home.system).folder / "own.conf").write_text(QUICK)
    home.start().close()
    stop(home.path, system=home.system)
    yield home.places.data
    removed(folder)


@pytest.fixture
def bare() -> Iterator[Home]:
    """A home that was never used."""
    folder = Path(tempfile.mkdtemp(prefix="noetl-bare-", dir=quick_folder()))
    home = make_home(folder)
    yield home
    stop(home.path, system=home.system)
    removed(folder)


@pytest.fixture
def home(seed: Path, bare: Home) -> Home:
    """A home whose cluster is there and whose server does not run."""
    places = make_places(bare.path, system=bare.system)
    copied(seed, places.data)
    (places.folder / "own.conf").write_text(QUICK)
    return bare


@pytest.fixture
def as_root() -> None:
    """Only where the tests run as root."""
    if os.geteuid() != 0:
        pytest.skip("only root lends the server to another account")
