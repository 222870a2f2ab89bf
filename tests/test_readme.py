"""The README keeps its promises: its commands are there, and what it names exists."""

import re
import tomllib
from pathlib import Path

from noetl_mcp.cli.main import COMMANDS

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


def test_every_command_in_the_table_exists_and_every_command_is_in_the_table() -> None:
    named = set(re.findall(r"(?m)^\| `noetl-mcp ([a-z]+)", README))

    assert named <= set(COMMANDS)
    assert set(COMMANDS) - named == {"run"}, "run stands in the first command"


def test_the_changelog_has_a_place_for_what_comes_next() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text()

    first = re.search(r"(?m)^## (.+)$", changelog)

    assert first is not None
    assert first[1] == "[Unreleased]"


def test_every_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    lines = (ROOT / "constraints.txt").read_text().split("\n")
    pinned = {plain(line.partition("==")[0]) for line in lines if "==" in line}

    missing = {plain(re.split(r"[<>=!~\[ ;]", one)[0]) for one in wanted} - pinned

    assert missing == set()


def plain(name: str) -> str:
    """The name of a distribution as an index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower().strip()
