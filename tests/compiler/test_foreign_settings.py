"""Settings of types that installed packages bring may break in any way."""

from pydantic import Field, field_validator

from noetl_mcp.compiler.compile import compile_playbook
from noetl_mcp.playbook.load import load
from noetl_mcp.playbook.values import Model
from noetl_mcp.tasks.contract import TaskSpec
from noetl_mcp.tasks.registry import BUILT_IN


class Breaking(Model):
    """Settings whose validator breaks."""

    size: int = Field(1, description="How large.")

    @field_validator("size")
    @classmethod
    def breaks(cls, size: int) -> int:
        raise RuntimeError("no licence was found")


def test_a_validator_that_breaks_is_told_at_the_step() -> None:
    spec = TaskSpec("vendor", "Do something.", Breaking)
    loaded = load(
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t, path: t/t}\n"
        "workflow:\n  - {step: start, type: vendor, size: 2}\n",
        "t.yaml",
    )

    assert compile_playbook(loaded, {**BUILT_IN, "vendor": spec}) is None

    (found,) = (one for one in loaded.report if one.severity == "error")
    assert (found.rule.code, found.place.line) == ("NP226", 5)
    assert "raised RuntimeError: no licence was found" in found.help
