"""The page of the limits, with numbers imported from where they are kept."""

from collections.abc import Iterable
from typing import Any

from annotated_types import Ge, Le, MaxLen
from pydantic import BaseModel

from generator.markdown import number, page, table
from generator.rules import link
from noetl_mcp import diagnostics
from noetl_mcp.compiler.picture import png
from noetl_mcp.playbook import source
from noetl_mcp.playbook.mcp_section import ModelPreset, Turn
from noetl_mcp.playbook.model import Metadata, Step
from noetl_mcp.playbook.rendering import guards

_HEAD = """
What is beyond a limit is refused and told; nothing is cut unseen. Limits of a run (how long a step
may take, how large a result may be) come with the runtime. Limits of a single task type, such as
`max_rows`, stand with its settings in [task types](task-types.md).
"""


def limits_page() -> str:
    """Return the page of every limit."""
    name, path = _most(Step, "step", MaxLen), _most(Metadata, "path", MaxLen)
    mcp_name = _most(ModelPreset, "name", MaxLen)
    rounds = _most(Turn, "max_tool_rounds", Le)
    least, most = _most(Step, "priority", Ge), _most(Step, "priority", Le)
    reading = (
        ("characters of one file", source.MOST_BYTES, link("NP102")),
        ("levels inside each other", source.MOST_DEPTH, link("NP106")),
        ("values of one file", source.MOST_NODES, link("NP107")),
        ("values that aliases stand for", source.MOST_ALIASED, link("NP108")),
        ("characters of a step's or action's name", name, link("NP122")),
        ("characters of a name under `mcp`", mcp_name, link("NP122")),
        ("characters of `metadata.path`", path, link("NP122")),
        ("rounds of tool calls in a turn (`max_tool_rounds`)", rounds, link("NP122")),
        (f"`priority` of a step, from {least}", most, link("NP122")),
        ("findings of one file that are kept", diagnostics.MOST_DIAGNOSTICS, "the rest is counted"),
        ("names searched for the closest one", diagnostics.MOST_CANDIDATES, "no suggestion"),
    )
    rendering = (
        ("characters of one template", guards.SOURCE_LIMIT),
        ("`{{ }}` and `{% %}` in one template", guards.PLACE_LIMIT),
        ("characters of one rendered text", guards.TEXT_LIMIT),
        ("items of a list made by an operator", guards.ITEM_LIMIT),
        ("columns of padding", guards.WIDTH_LIMIT),
        ("bits of a whole number made by an operator", guards.BIT_LIMIT),
        ("nesting of a value", guards.DEPTH_LIMIT),
        ("steps of work in one render (rounds, calls, items)", guards.STEP_LIMIT),
        ("templates rendered inside templates", guards.NESTED_LIMIT),
        ("characters for `striptags`, `urlize`, `wordwrap`", guards.HEAVY_LIMIT),
    )
    pictures = (("pixels of a PNG", png.MOST_PIXELS), ("pixels on a side", png.LONGEST_SIDE))
    return page(
        "Limits",
        _HEAD,
        "## Reading and compiling",
        table(("what", "most", "beyond it"), [(a, number(b), c) for a, b, c in reading]),
        "## Templates",
        table(("what", "most"), _numbered(rendering)),
        "## Pictures",
        "A larger picture is scaled down to this.",
        table(("what", "most"), _numbered(pictures)),
    )


def _numbered(rows: Iterable[tuple[str, int]]) -> list[tuple[str, str]]:
    return [(what, number(most)) for what, most in rows]


def _most(model: type[BaseModel], field: str, kind: type[Any]) -> int:
    """Return the bound of a kind that a field of a model has."""
    found = next(one for one in model.model_fields[field].metadata if isinstance(one, kind))
    bound: int = next(
        getattr(found, key) for key in ("max_length", "le", "ge") if hasattr(found, key)
    )
    return bound
