"""A real Postgres for tests: one server for all of them, a fresh database for each.

A station's `conftest.py` takes the fixtures it needs:

    from tests.postgres import database, empty_database, postgres  # noqa: F401

`NOETL_TEST_DSN` names another server to use; its user must be allowed to create databases.
Without it an embedded one is shared by every test process of this checkout and this user. It does
not wait for the disk, which matters only when the machine itself goes down.
"""

import hashlib
import itertools
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from psycopg.conninfo import make_conninfo

from noetl_mcp.database import connect, migrate, migrations, migrations_folder
from noetl_mcp.embedded.launcher import start
from noetl_mcp.embedded.places import make_places
from noetl_mcp.settings import Settings

CHECKOUT = Path(__file__).parent.parent
LINGER_SECONDS = 30.0
TEMPLATE_LOCK = 0x74656D706C617465
MOST_TEMPLATES = 4
ROOMY = 4 * 2**30
SPEED = "fsync = off\nfull_page_writes = off\nsynchronous_commit = off\nmax_connections = 300\n"
_numbers = itertools.count(1)


def test_home() -> Path:
    """Return the home folder that all test processes of this checkout and user share."""
    key = hashlib.sha256(str(CHECKOUT).encode()).hexdigest()[:8]
    return quick_folder() / f"noetl-tests-{os.geteuid()}-{key}"


def quick_folder() -> Path:
    """Return a temp folder in memory where there is a large one, else the usual one."""
    memory = Path("/dev/shm")
    large = os.access(memory, os.W_OK) and shutil.disk_usage(memory).total > ROOMY
    return memory if large else Path(tempfile.gettempdir())


@contextmanager
def shared_server() -> Iterator[str]:
    """Yield the connection string of the server that all tests share."""
    given = os.environ.get("NOETL_TEST_DSN")
    if given:
        yield given
        return
    home = test_home()
    home.mkdir(mode=0o755, exist_ok=True)
    system = home / "system"
    settings = Settings.load({"NOETL_HOME": str(home)})
    (make_places(home, system=system).folder / "own.conf").write_text(SPEED)
    with start(settings, linger=LINGER_SECONDS, patience=120, system=system) as server:
        yield server.dsn


@contextmanager
def fresh_database(server: str, *, migrated: bool = True) -> Iterator[str]:
    """Yield the connection string of a database that nobody else uses, and drop it afterwards."""
    name = f"t_{os.getpid()}_{next(_numbers)}"
    template = _template(server) if migrated else "template0"
    with connect(server, application_name="tests") as connection:
        # Copying files is quicker than logging them where nobody waits for the disk.
        strategy = "strategy file_copy" if connection.info.server_version >= 150_000 else ""
        connection.execute(f'create database "{name}" template "{template}" {strategy}')
    try:
        yield _named(server, name)
    finally:
        with connect(server, application_name="tests") as connection:
            connection.execute(f'drop database if exists "{name}" with (force)')


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The connection string of the shared server."""
    with shared_server() as server:
        _drop_what_dead_tests_left(server)
        yield server


@pytest.fixture
def database(postgres: str) -> Iterator[str]:
    """The connection string of a database of this test's own, with the schema in it."""
    with fresh_database(postgres) as dsn:
        yield dsn


@pytest.fixture
def empty_database(postgres: str) -> Iterator[str]:
    """The connection string of a database of this test's own, with nothing in it."""
    with fresh_database(postgres, migrated=False) as dsn:
        yield dsn


def _template(server: str) -> str:
    """Return the name of the database that has every migration, making it when it is missing."""
    text = "".join(one.digest for one in migrations(migrations_folder()))
    name = f"template_{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    with connect(
        server, application_name="tests", statement_timeout=None, lock_timeout=None
    ) as connection:
        there = "select 1 from pg_database where datname = %s"
        if connection.execute(there, [name]).fetchone():
            return name
        connection.execute("select pg_advisory_lock(%s)", [TEMPLATE_LOCK])
        if connection.execute(there, [name]).fetchone():
            return name
        connection.execute("drop database if exists template_new with (force)")
        connection.execute("create database template_new template template0")
        migrate(_named(server, "template_new"))
        connection.execute("alter database template_new with allow_connections false")
        connection.execute(f'alter database template_new rename to "{name}"')
        old = connection.execute(
            "select datname from pg_database where datname ~ '^template_[0-9a-f]{12}$'"
            " order by oid desc offset %s",
            [MOST_TEMPLATES],
        ).fetchall()
        for (stale,) in old:
            connection.execute(f'drop database if exists "{stale}" with (force)')
    return name


def _drop_what_dead_tests_left(server: str) -> None:
    with connect(server, application_name="tests") as connection:
        names = connection.execute("select datname from pg_database where datname ~ '^t_'")
        for (name,) in names.fetchall():
            maker = re.fullmatch(r"t_(\d+)_\d+", name)
            if maker and not _lives(int(maker[1])):
                connection.execute(f'drop database if exists "{name}" with (force)')


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _named(server: str, name: str) -> str:
    """Return the connection string with another database in it."""
    if "://" in server:
        head, mark, options = server.partition("?")
        return f"{head.rsplit('/', 1)[0]}/{name}{mark}{options}"
    return make_conninfo(server, dbname=name)
