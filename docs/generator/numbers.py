"""The page of the limits, with numbers imported from where they are kept."""

from collections.abc import Iterable
from typing import Any

from annotated_types import Ge, Le, MaxLen
from pydantic import BaseModel

from generator.markdown import number, page, table
from generator.rules import link
from noetl_mcp import diagnostics
from noetl_mcp.bim.revit.headless import effort, opening
from noetl_mcp.bim.revit.headless.shapes import MOST_POINTS
from noetl_mcp.broker.show import MOST_SHOWN
from noetl_mcp.catalog import credentials
from noetl_mcp.compiler import fitting
from noetl_mcp.lettering import raster
from noetl_mcp.playbook import source
from noetl_mcp.playbook.mcp_section import ModelPreset, Turn
from noetl_mcp.playbook.model import Metadata, Step
from noetl_mcp.playbook.rendering import guards
from noetl_mcp.queue.encode import LARGE
from noetl_mcp.settings import _LONGEST_LEASE
from noetl_mcp.tasks.file_storage import MOST_LISTED, MOST_PATTERN
from noetl_mcp.tasks.models import said
from noetl_mcp.tasks.python.pool import Habits
from noetl_mcp.web.headless.app import MOST_BODY
from noetl_mcp.web.headless.calls import MOST_NAME
from noetl_mcp.web.headless.jobs import Bounds
from noetl_mcp.web.headless.model_thread import MOST_RESULT
from noetl_mcp.web.headless.room import MOST_COMING, MOST_LEAVING
from noetl_mcp.wire import exchange
from noetl_mcp.worker import iterator
from noetl_mcp.worker.engine import Terms
from noetl_mcp.worker.waits import LONGEST

_HEAD = """
What is beyond a limit is refused and told; nothing is cut unseen. Limits of a single task type,
such as `max_rows`, stand with its settings in [task types](task-types.md), those of floor plans
with [their tools](floorplan-tools.md).
"""
_RUNNING = """
Texts are counted in characters, and every result, error and workload is kept as one text of JSON.
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
        ("characters inside its tags, without quoted texts", guards.CODE_LIMIT),
        ("`{{ }}` and `{% %}` in one template", guards.PLACE_LIMIT),
        ("characters of one rendered text", guards.TEXT_LIMIT),
        ("items of a list made by an operator", guards.ITEM_LIMIT),
        ("columns of padding", guards.WIDTH_LIMIT),
        ("bits of a whole number that is computed", guards.BIT_LIMIT),
        ("nesting of a value", guards.DEPTH_LIMIT),
        ("steps of work in one render (rounds, calls, items, comparisons)", guards.STEP_LIMIT),
        ("templates rendered inside templates", guards.NESTED_LIMIT),
        ("characters for `striptags`, `urlize`, `wordwrap`", guards.HEAVY_LIMIT),
    )
    pictures = (("pixels of a PNG", raster.MOST_PIXELS), ("pixels on a side", raster.LONGEST_SIDE))
    return page(
        "Limits",
        _HEAD,
        "## Reading and compiling",
        table(("what", "most", "beyond it"), [(a, number(b), c) for a, b, c in reading]),
        "## Running",
        _RUNNING,
        table(("what", "most", "beyond it"), _running()),
        "## Templates",
        table(("what", "most"), _numbered(rendering)),
        "## Pictures",
        "A larger picture is scaled down to this.",
        table(("what", "most"), _numbered(pictures)),
        "## The headless Revit server",
        "What waits and what is over stands in memory; see [how to](../how-to/headless-revit.md).",
        table(("what", "most", "beyond it"), _headless()),
    )


def _running() -> list[tuple[str, str, str]]:
    """Return what bounds executions, workers, and what they keep."""
    lease = f"{_LONGEST_LEASE:g}"
    rows = (
        ("bytes of a payload, or of an answer from outside", fitting.MOST_BYTES, "refused"),
        ("levels inside each other in a payload", fitting.MOST_DEPTH, "refused"),
        ("problems of a payload that are told at once", fitting.MOST_PROBLEMS, "the rest is not"),
        ("characters of a text in a row", LARGE - 1, "kept apart, once, by its digest"),
        ("levels inside each other in a result", 254, "the step fails with `not-json`"),
        ("whole numbers in a result", "64 bits", "the step fails with `not-json`"),
        ("items of one iterator", iterator.MOST, "the step fails with `too-many-items`"),
        ("names below a folder that is listed", MOST_LISTED, "`too-many-files`"),
        ("characters of a `pattern` of `list`", MOST_PATTERN, "`wrong-pattern`"),
        (
            "calls of tools in one answer of a model",
            said.MOST_CALLS,
            "`too-many-calls`; none is made",
        ),
        ("bytes of what a Python function returns", Habits().most_result_bytes, "it fails"),
        ("bytes of an answer over HTTP, by default", exchange.MOST_BYTES, "`too-large`"),
        ("seconds of an attempt over HTTP without `timeout`", exchange.WHOLE_SECONDS, "`timeout`"),
        ("bytes of a credential", credentials.MOST_BYTES, "refused"),
        ("steps that a worker process holds at once", Terms().waiting, "they stay in the queue"),
        ("seconds of a lease (`NOETL_LEASE_SECONDS`), from 0.1", lease, "refused"),
        ("seconds of a `wait`", f"{LONGEST:,.0f}", "ten years it is then"),
        ("workers that a step may take with it", 2, "it is done alone, then a dead letter"),
        ("characters of a result that is shown", MOST_SHOWN, "its size and beginning are shown"),
    )
    return [(what, _said(most), beyond) for what, most, beyond in rows]


def _headless() -> list[tuple[str, str, str]]:
    """Return what bounds the calls of a headless server, and what it keeps."""
    bounds = Bounds()
    rows = (
        ("bytes of a request", MOST_BODY, "413, `TOO_LARGE`"),
        ("bytes of a model's file", opening.MOST_BYTES, "it is not opened"),
        ("bytes of a result", MOST_RESULT, "`RESULT_TOO_LARGE`; ask for a page"),
        ("points and parameters that a call reads", effort.MOST, "`TOO_MUCH_TO_READ`; ask again"),
        ("points of the shape of one element", MOST_POINTS, "it has no box and no measures"),
        ("bytes of all bodies that are coming", MOST_COMING, "503, `E_BUSY`; small ones are taken"),
        ("bytes of all answers that are being taken", MOST_LEAVING, "503, `E_BUSY`"),
        ("characters of a method, an id, a key", MOST_NAME, "400, `INVALID_JSONRPC`"),
        ("calls that wait", bounds.waiting, "503, `E_BUSY`"),
        ("bytes of the parameters of all calls that wait", bounds.waiting_bytes, "503, `E_BUSY`"),
        ("jobs that are kept when they are over", bounds.kept, "the oldest are forgotten"),
        ("bytes that these have in all", bounds.kept_bytes, "the oldest are forgotten"),
    )
    return [(what, _said(most), beyond) for what, most, beyond in rows]


def _said(most: int | float | str) -> str:
    return most if isinstance(most, str) else f"{most:,.0f}"


def _numbered(rows: Iterable[tuple[str, int]]) -> list[tuple[str, str]]:
    return [(what, number(most)) for what, most in rows]


def _most(model: type[BaseModel], field: str, kind: type[Any]) -> int:
    """Return the bound of a kind that a field of a model has."""
    found = next(one for one in model.model_fields[field].metadata if isinstance(one, kind))
    bound: int = next(
        getattr(found, key) for key in ("max_length", "le", "ge") if hasattr(found, key)
    )
    return bound
