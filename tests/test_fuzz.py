"""No text, however broken, gives anything but located findings or a plan."""

import json

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from noetl_mcp.cli.printing import told
from noetl_mcp.cli.validate import command as validate
from noetl_mcp.compiler.compile import compile_playbook, run_passes
from noetl_mcp.compiler.explain import explain
from noetl_mcp.playbook.load import load_bytes
from noetl_mcp.tasks.registry import BUILT_IN
from tests.strategies import everything

KINDS = everything()
QUICK = settings(
    max_examples=120,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def survives(raw: bytes) -> None:
    """Load and compile; whatever comes of it must be told properly."""
    loaded = load_bytes(raw, "fuzz.yaml")
    plan = compile_playbook(loaded, BUILT_IN)

    found = list(loaded.report)
    lines = len(loaded.source.text.splitlines()) + 1
    assert plan is not None or loaded.report.has()
    assert plan is None or not loaded.report.has()
    assert [one.place for one in found] == sorted(one.place for one in found)
    for one in found:
        place = one.place
        assert 1 <= place.line <= lines, one
        assert place.column >= 1, one
        assert (place.end_line, place.end_column) >= (place.line, place.column), one
        assert told(one, loaded.source, colour=False)
        assert " object at 0x" not in json.dumps(one.as_json())
    if plan is not None:
        assert json.loads(plan.to_json())["digest"] == plan.digest
        assert explain(plan)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_any_text_gives_findings_or_a_plan(kind: str) -> None:
    @QUICK
    @given(KINDS[kind])
    def check(raw: bytes) -> None:
        survives(raw)

    check()


@QUICK
@given(KINDS["trees"])
def test_the_same_text_is_told_the_same_twice(raw: bytes) -> None:
    once, again = load_bytes(raw, "f"), load_bytes(raw, "f")
    run_passes(once, BUILT_IN)
    run_passes(again, BUILT_IN)

    assert once.report.sorted() == again.report.sorted()


@settings(QUICK, max_examples=15)
@given(st.one_of(*KINDS.values()))
def test_validate_always_prints_json(raw: bytes) -> None:
    result = CliRunner().invoke(validate, ["-", "--format", "json"], input=raw)

    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert result.exit_code in (0, 1)
    assert isinstance(json.loads(result.stdout), list)
