"""`noetl-mcp db …`, as a person uses it."""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from noetl_mcp.database import connect
from noetl_mcp.embedded.operate import stop
from noetl_mcp.embedded.places import find_places
from tests.embedded.users import removed

DB = "from noetl_mcp.cli.db import command; command(prog_name='noetl-mcp db')"


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str


def db(*arguments: str, **environment: str) -> Ran:
    """Run `noetl-mcp db`; a traceback fails the test, whatever the test is about."""
    usual = {name: value for name, value in os.environ.items() if not name.startswith("NOETL_")}
    done = subprocess.run(
        [sys.executable, "-c", DB, *arguments],
        env={**usual, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Ran(done.returncode, done.stdout.strip(), done.stderr.strip())


@contextmanager
def new_home() -> Iterator[str]:
    """Yield a home as a person would make one for a trial."""
    folder = tempfile.mkdtemp(prefix="noetl home ")
    yield folder
    stop(Path(folder))
    places = find_places(Path(folder))
    removed(places.folder)
    removed(Path(folder))


@pytest.fixture(scope="module")
def home() -> Iterator[str]:
    """A home that is used by all tests of this file."""
    with new_home() as folder:
        yield folder


def test_it_starts_stays_is_asked_about_stops_and_is_deleted(home: str) -> None:
    absent = db("status", "--json", NOETL_HOME=home)
    assert (absent.code, json.loads(absent.out)["state"]) == (3, "absent")

    started = db("start", NOETL_HOME=home)
    assert (started.code, started.err) == (0, "")
    with connect(started.out, application_name="uses") as connection:
        up = db("status", "--json", NOETL_HOME=home)
        told = json.loads(up.out)
        assert (up.code, told["state"], told["stays"], told["connections"]) == (
            0,
            "running",
            True,
            1,
        )
        said = db("status", NOETL_HOME=home).out
        assert re.search(r"(?m)^size +\d+ MB$", said)
        assert re.search(r"(?m)^stays up +until 'noetl-mcp db stop'$", said)

        refused = db("reset", "--yes", NOETL_HOME=home)
        assert refused.code == 1
        assert "somebody is connected" in refused.err
        assert connection.execute("select 1").fetchone() == (1,)

    assert db("stop", NOETL_HOME=home).out == "stopped"
    assert db("stop", NOETL_HOME=home) == Ran(0, "it was not running", "")
    assert json.loads(db("status", "--json", NOETL_HOME=home).out)["state"] == "stopped"

    assert db("reset", NOETL_HOME=home).code != 0  # nobody is there to be asked
    assert db("reset", "--yes", NOETL_HOME=home).out == "deleted"
    assert db("status", NOETL_HOME=home).out.splitlines()[1].split() == ["state", "absent"]


def test_what_dsn_prints_can_be_used_afterwards(home: str) -> None:
    found = db("dsn", NOETL_HOME=home)

    with connect(found.out, application_name="uses") as connection:
        assert connection.execute("select current_database()").fetchone() == ("noetl",)


def test_psql_takes_the_place_of_the_command(home: str) -> None:
    said = db("psql", "-Atc", "select 6 * 7", NOETL_HOME=home)
    failed = db("psql", "--", "-c", "select 1/0", NOETL_HOME=home)

    assert (said.code, said.out) == (0, "42")
    assert failed.code == 1
    assert "division by zero" in failed.err


def test_migrating_lists_what_it_did(home: str) -> None:
    first, second = (db("migrate", "--json", NOETL_HOME=home) for _ in range(2))

    assert (first.code, second.code, second.out) == (0, 0, "[]")
    assert db("migrate", NOETL_HOME=home).out == "the schema is up to date"


def test_another_server_is_used_and_left_alone(postgres: str) -> None:
    told = json.loads(db("status", "--json", NOETL_DSN=postgres).out)

    assert (told["kind"], told["state"], told["database"]) == ("external", "running", "noetl")
    assert db("dsn", NOETL_DSN=postgres).out == postgres
    assert db("psql", "-Atc", "select 1", NOETL_DSN=postgres).out == "1"
    for name in ("start", "stop", "reset"):
        refused = db(name, NOETL_DSN=postgres)
        assert refused.code == 2
        assert "NOETL_DSN names a server that is run by somebody else" in refused.err


def test_a_server_that_is_not_reachable_is_exit_code_3() -> None:
    nowhere = "postgresql://me:s3cret@127.0.0.1:1/x"

    for name in ("status", "migrate"):
        ran = db(name, NOETL_DSN=nowhere)
        assert ran.code == 3
        assert "cannot be reached" in ran.out + ran.err
        assert "s3cret" not in ran.out + ran.err


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [("NOETL_PG", "docker", "auto, wheel or system"), ("NOETL_DSN", "here", "connection string")],
)
def test_a_wrong_setting_is_wrong_usage(tmp_path: Path, name: str, value: str, says: str) -> None:
    ran = db("status", **{"NOETL_HOME": str(tmp_path), name: value})

    assert ran.code == 2
    assert ran.err.startswith(f"Error: {name} must be")
    assert says in ran.err


def test_a_postgres_that_cannot_be_had_is_exit_code_3(tmp_path: Path) -> None:
    with new_home() as home:
        ran = db("start", NOETL_HOME=home, NOETL_PG_BIN=str(tmp_path))

    assert (ran.code, ran.out) == (3, "")
    assert "has no Postgres in it" in ran.err
