"""Credentials are stored, listed and deleted from the command line, and never shown."""

from pathlib import Path

import pytest

from noetl_mcp.cli.main import COMMANDS
from tests.cli.commands import Ran, noetl
from tests.postgres import database, postgres  # noqa: F401 - fixtures

pytestmark = pytest.mark.skipif(
    "credential" not in COMMANDS, reason="the command is not among the others yet"
)


class Here:
    """A database and a home of its own."""

    def __init__(self, dsn: str, home: Path) -> None:
        self.environment = {"NOETL_DSN": dsn, "NOETL_HOME": str(home), "NOETL_CREDENTIAL_KEY": ""}

    def __call__(self, *arguments: str | Path, stdin: str = "") -> Ran:
        return noetl("credential", *arguments, stdin=stdin.encode(), **self.environment)


@pytest.fixture
def here(database: str, tmp_path: Path) -> Here:  # noqa: F811 - a fixture
    return Here(database, tmp_path / "home")


def test_a_credential_is_set_listed_and_deleted(here: Here) -> None:
    stored = here("set", "wiki", "--type", "bearer", "--field", "token=hush-hush")
    listed = here("list", "--json")
    deleted = here("delete", "wiki")

    assert (stored.code, stored.out, stored.err) == (0, "stored 'wiki'\n", "")
    (one,) = listed.json()
    assert set(one) == {"name", "type", "key_id", "updated_at"}
    assert (one["name"], one["type"]) == ("wiki", "bearer")
    assert "hush" not in listed.out
    assert (deleted.code, deleted.out) == (0, "deleted 'wiki'\n")
    assert here("list", "--json").json() == []


def test_values_come_from_standard_input_and_are_not_echoed(here: Here) -> None:
    asked = here(
        *("set", "db", "--type", "basic", "--field", "username=ann", "--field", "password"),
        stdin="hush-hush\n",
    )
    mapped = here("set", "wiki", "--from", "-", stdin="type: bearer\ntoken: hush-hush\n")
    listed = here("list")

    assert (asked.code, mapped.code, listed.code) == (0, 0, 0)
    assert "hush" not in asked.out + asked.err + mapped.out + mapped.err + listed.out
    assert [line.split()[:2] for line in listed.out.splitlines()] == [
        ["NAME", "TYPE"],
        ["db", "basic"],
        ["wiki", "bearer"],
    ]


def test_a_map_comes_from_a_file(here: Here, tmp_path: Path) -> None:
    path = tmp_path / "wiki.json"
    path.write_text('{"token": "hush-hush"}')

    assert here("set", "wiki", "--type", "bearer", "--from", path).code == 0
    assert here("set", "wiki", "--type", "bearer", "--from", tmp_path / "none").code == 1


@pytest.mark.parametrize(
    ("kind", "field", "says"),
    [
        ("bearr", "token=hush", "did you mean 'bearer'?"),
        ("bearer", "tokn=hush", "did you mean 'token'?"),
        ("postgres", "hst=hush", "did you mean 'host'?"),
    ],
)
def test_a_type_or_a_field_that_is_misspelt_is_refused_with_the_nearest(
    here: Here, kind: str, field: str, says: str
) -> None:
    ran = here("set", "wiki", "--type", kind, "--field", field)

    assert ran.code == 1
    assert says in ran.err
    assert "hush" not in ran.err
    assert here("list", "--json").json() == []


def test_a_type_that_no_task_knows_is_stored_and_told(here: Here) -> None:
    ran = here("set", "lake", "--type", "snowflake", "--field", "account=x")

    assert (ran.code, ran.out) == (0, "stored 'lake'\n")
    assert "only 'python' steps take a credential of type 'snowflake'" in ran.err


def test_settings_that_cannot_be_meant_are_a_sentence(here: Here) -> None:
    here.environment["NOETL_READ_ONLY"] = "maybe"

    ran = here("list")

    assert ran.code == 2
    assert ran.err == "Error: NOETL_READ_ONLY must be yes or no\n"


def test_a_map_that_cannot_be_read_is_refused_without_showing_it(here: Here) -> None:
    ran = here("set", "wiki", "--from", "-", stdin="token: [hush-hush")

    assert ran.code == 1
    assert "no map in JSON or YAML" in ran.err
    assert "hush" not in ran.out + ran.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["set", "wiki", "--type", "bearer"],
        ["set", "wiki", "--field", "token=x"],
        ["set", "wiki", "--type", "bearer", "--field", "token", "--from", "-"],
        ["set", "wiki", "--type", "bearer", "--field", "token"],
        ["get", "wiki"],
    ],
)
def test_wrong_usage_is_two(here: Here, arguments: list[str]) -> None:
    assert here(*arguments).code == 2


def test_deleting_what_is_not_there_is_one_and_names_the_nearest(here: Here) -> None:
    here("set", "wiki", "--type", "bearer", "--field", "token=x")

    ran = here("delete", "wikki")

    assert ran.code == 1
    assert "did you mean 'wiki'?" in ran.err


def test_a_key_file_that_others_may_read_stops_it_with_a_sentence(
    here: Here, tmp_path: Path
) -> None:
    here("set", "wiki", "--type", "bearer", "--field", "token=x")
    (tmp_path / "home" / "credential.key").chmod(0o644)

    ran = here("set", "wiki", "--type", "bearer", "--field", "token=y")

    assert ran.code == 1
    assert "chmod 600" in ran.err
