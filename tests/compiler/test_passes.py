"""Each pass has a folder of cases: a playbook, and what the draft looks like behind the pass.

`NOETL_UPDATE=1 pytest tests/compiler/test_passes.py` writes the expected texts anew; read the
difference before you believe it.
"""

import os
from pathlib import Path

import pytest

from noetl_mcp.compiler.compile import PASSES
from noetl_mcp.compiler.draft import Draft
from noetl_mcp.playbook.load import load_file
from noetl_mcp.tasks.registry import BUILT_IN
from tests.compiler.drafts import written

FOLDER = Path(__file__).parent.parent / "passes"
CASES = sorted(FOLDER.glob("*/*.yaml"))


@pytest.mark.parametrize("case", CASES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_pass_does_what_its_case_shows(case: Path) -> None:
    loaded = load_file(case)
    assert loaded.playbook is not None
    draft = Draft(loaded.playbook, BUILT_IN)
    for one in PASSES:
        draft = one(draft, loaded.report)
        if one.__name__ == case.parent.name:
            break

    found = [f"{f.place.line} {f.rule.name}: {f.message}" for f in loaded.report]
    text = written(draft) + "".join(f"! {line}\n" for line in found)

    expected = case.with_suffix(".txt")
    if os.environ.get("NOETL_UPDATE"):
        expected.write_text(text)
    assert text == expected.read_text()


def test_every_pass_has_its_folder_and_tells_before_and_after() -> None:
    folders = {path.parent.name for path in CASES}

    assert {one.__name__ for one in PASSES} == folders
    for one in PASSES:
        module = __import__(one.__module__, fromlist=["__doc__"])
        assert "Before" in (module.__doc__ or ""), one.__name__
        assert "fter" in (module.__doc__ or ""), one.__name__
