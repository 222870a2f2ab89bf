"""The examples are lessons, so each of them compiles without a word."""

from pathlib import Path

import pytest

from noetl_mcp.compiler.compile import compile_playbook
from noetl_mcp.playbook.load import load_file
from noetl_mcp.tasks.registry import BUILT_IN

PLAYBOOKS = sorted((Path(__file__).parent.parent / "playbooks").glob("*.yaml"))
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


@pytest.mark.parametrize("path", PLAYBOOKS, ids=lambda path: path.stem)
def test_an_example_compiles_and_nothing_is_wrong_with_it(path: Path) -> None:
    loaded = load_file(path)

    plan = compile_playbook(loaded, BUILT_IN)

    found = [f"{one.place.line} {one.rule.name}" for one in loaded.report if one.severity != "hint"]
    assert plan is not None, found
    assert found == []


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

    from noetl_mcp.playbook.load import load

    other = compile_playbook(load(moved), BUILT_IN)
    assert text != moved
    assert one is not None
    assert other is not None
    assert one.digest == other.digest
