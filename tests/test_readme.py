"""The README keeps its promises: its commands are there, and what it names exists."""

import re
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from noetl_mcp.cli.main import COMMANDS, commands
from tests.postgres import database, postgres  # noqa: F401 - fixtures
from tests.test_docs import steady

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
FIRST = (
    "python3 -m venv .venv && .venv/bin/pip install -q -c constraints.txt -e . "
    "&& .venv/bin/noetl-mcp run playbooks/hello.yaml"
)
TESTS = (
    "python3 -m venv .venv && .venv/bin/pip install -q -c constraints.txt -e '.[dev]' "
    "&& .venv/bin/pytest -q"
)


def test_the_two_commands_stand_there_to_be_copied() -> None:
    lines = README.split("\n")

    assert FIRST in lines
    assert TESTS in lines


def test_the_table_names_every_command_and_no_other() -> None:
    table = [line for line in README.split("\n") if line.startswith("| ")]

    named = re.findall(r"\[`([\w-]+)`\]\(docs/reference/cli\.md#\1\)", "\n".join(table))

    assert sorted(named) == sorted(COMMANDS)


def test_the_first_command_prints_what_stands_behind_it(
    tmp_path: Path,
    database: str,  # noqa: F811 - a fixture
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NOETL_HOME", str(tmp_path))
    monkeypatch.setenv("NOETL_DSN", database)
    shown = re.search(r"```text\n(✓ .+?)```", README, re.DOTALL)
    assert shown is not None

    done = CliRunner().invoke(commands, ["run", str(ROOT / "playbooks" / "hello.yaml")])

    assert done.exit_code == 0
    assert steady(done.output).strip() == steady(shown[1]).strip()


def test_the_changelog_has_a_place_for_what_comes_next() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text()

    first = re.search(r"(?m)^## (.+)$", changelog)

    assert first is not None
    assert first[1] == "[Unreleased]"


def test_every_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    wanted = [*project["dependencies"], *(one for extra in extras for one in extra)]
    lines = (ROOT / "constraints.txt").read_text().split("\n")
    pinned = {plain(line.partition("==")[0]) for line in lines if "==" in line}

    missing = {plain(re.split(r"[<>=!~\[ ;]", one)[0]) for one in wanted} - pinned

    assert missing - {plain(project["name"])} == set(), "its own extras pin nothing"


def plain(name: str) -> str:
    """The name of a distribution as an index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower().strip()
