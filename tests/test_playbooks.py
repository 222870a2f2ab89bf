"""The examples are lessons: each compiles without a word, and runs if it needs nothing outside."""

from collections.abc import Mapping
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from noetl_mcp.cli.main import commands
from noetl_mcp.compiler.compile import compile_playbook
from noetl_mcp.playbook.load import load, load_file
from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.registry import BUILT_IN
from tests.postgres import database, postgres  # noqa: F401 - fixtures

FOLDER = Path(__file__).parent.parent / "playbooks"
PLAYBOOKS = sorted(FOLDER.glob("*.yaml"))
LESSONS = (
    "hello",
    "branch_and_join",
    "iterate_with_tolerance",
    "retry",
    "sub_playbook",
    "seed_turn",
    "approve_before_write",
    "bounded_polling",
)
RESULTS: Mapping[str, Json] = {
    "hello": {"greeting": "Hello, world!"},
    "branch_and_join": ["W-101 is 50 mm too thin", "W-101 is 200 mm too tall"],
    "iterate_with_tolerance": {
        "rooms": 3,
        "m2": 32.75,
        "failed": [
            {
                "index": 2,
                "code": "value-error",
                "message": "ValueError: not enough values to unpack (expected 3, got 1)",
            }
        ],
    },
    "pipeline_and_saves": {"floors": 2},
    "floorplan": {"valid": True, "changes": 2, "m2": 45, "picture": "flat.png"},
    "sub_playbook": ["Hello, Ada!", "Hello, Grace!", "Hello, Mary!"],
}
"""What each example gives that needs nothing outside."""
OUTSIDE: Mapping[str, str] = {
    "approve_before_write": "a Revit, whose steps do not run yet",
    "ask_a_model": "a model",
    "seed_turn": "a model",
    "local_model": "a model; tests/cli/test_model.py runs it where one is there",
    "bounded_polling": "a server that takes jobs",
    "retry": "a server that is busy now and then",
}
"""What the others need, which is why they are only compiled."""


@pytest.fixture
def noetl(
    database: str,  # noqa: F811 - a fixture
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> CliRunner:
    """The command, with a database and a home of its own."""
    monkeypatch.setenv("NOETL_DSN", database)
    monkeypatch.setenv("NOETL_HOME", str(tmp_path))
    monkeypatch.setenv("NOETL_FILES", str(tmp_path))
    return CliRunner()


@pytest.mark.parametrize("path", PLAYBOOKS, ids=lambda path: path.stem)
def test_an_example_compiles_and_nothing_is_wrong_with_it(path: Path) -> None:
    loaded = load_file(path)

    plan = compile_playbook(loaded, BUILT_IN)

    found = [f"{one.place.line} {one.rule.name}" for one in loaded.report if one.severity != "hint"]
    assert plan is not None, found
    assert found == []


@pytest.mark.parametrize("name", RESULTS)
def test_an_example_that_needs_nothing_outside_runs_to_its_result(
    name: str, noetl: CliRunner
) -> None:
    if name == "sub_playbook":
        noetl.invoke(commands, ["run", str(FOLDER / "hello.yaml"), "--detach"])

    done = noetl.invoke(commands, ["run", str(FOLDER / f"{name}.yaml"), "--json"])

    told = orjson.loads(done.stdout)
    assert told["error"] is None
    assert told["status"] == "completed"
    assert told["result"] == RESULTS[name]
    assert done.exit_code == 0


def test_every_example_is_run_or_has_a_reason_why_not() -> None:
    assert {*RESULTS, *OUTSIDE} == {path.stem for path in PLAYBOOKS}
    assert not {*RESULTS} & {*OUTSIDE}


@pytest.mark.parametrize("path", PLAYBOOKS, ids=lambda path: path.stem)
def test_an_example_opens_with_its_lesson(path: Path) -> None:
    assert path.read_text().startswith("# ")


def test_every_lesson_is_there() -> None:
    assert {*LESSONS} <= {path.stem for path in PLAYBOOKS}


def test_the_digest_of_a_plan_does_not_depend_on_how_the_text_is_laid_out() -> None:
    path = PLAYBOOKS[0]
    text = path.read_text()

    one = compile_playbook(load_file(path), BUILT_IN)
    moved = path.read_text().replace("workflow:", "\n\n# another comment\n\nworkflow:")

    other = compile_playbook(load(moved), BUILT_IN)
    assert text != moved
    assert one is not None
    assert other is not None
    assert one.digest == other.digest
