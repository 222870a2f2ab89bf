"""The pages that are mostly written by hand: what stands in `reference-parts/`, with tables put in.

A line `<!-- put: NAME -->` of a part is replaced by what the function of that name returns, and
`[NP103]` by a link to that rule.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from generator.markdown import code, codes, fence, page, table
from generator.rules import link
from noetl_mcp.compiler.compile import compile_playbook
from noetl_mcp.compiler.plan import FORMAT, Plan
from noetl_mcp.compiler.schema_models import Schema
from noetl_mcp.compiler.schema_plan import plan_schema
from noetl_mcp.compiler.scope import AFTER, ALWAYS, GLOBALS, LOOP
from noetl_mcp.playbook.load import load_file
from noetl_mcp.playbook.references import FIXED_NAMES
from noetl_mcp.playbook.rendering.filters import OURS, all_filters, all_tests
from noetl_mcp.tasks.registry import BUILT_IN

PARTS = Path(__file__).parent.parent / "reference-parts"
PLAYBOOKS = Path(__file__).parent.parent.parent / "playbooks"
_PUT = re.compile(r"(?m)^<!-- put: (\S+) -->$")
_RULE = re.compile(r"\[(NP\d{3})\](?!\()")
_NOTE = re.compile(r"\A<!--.*?-->\n+", re.DOTALL)


def templates_page() -> str:
    """Return the page about templates."""
    names = (
        ("fixed everywhere", sorted(ALWAYS)),
        ("after the body has run", sorted(AFTER)),
        ("inside an iterator", sorted(LOOP)),
        ("functions of the engine", sorted(GLOBALS)),
    )
    put: dict[str, Callable[[], str]] = {
        "names": lambda: table(("where", "names"), [(one, codes(two)) for one, two in names]),
        "taken": lambda: codes(sorted(FIXED_NAMES)),
        "filters": lambda: codes(sorted({*all_filters(), "render"})),
        "tests": lambda: codes(sorted(all_tests())),
        "ours": lambda: codes(sorted({*OURS, "render"})),
    }
    return page("Templates", filled("templates.md", put))


def plan_page() -> str:
    """Return the page about the plan."""
    put: dict[str, Callable[[], str]] = {
        "format": lambda: f"The format described here is number {FORMAT}.",
        "keys": lambda: _plan_keys(plan_schema()),
        "example": lambda: fence(_shown(example_plan("hello").content), "json"),
    }
    return page("The plan", filled("plan.md", put))


def _plan_keys(schema: Schema) -> str:
    """Return a table for the top of a plan, and one for each thing in it."""
    definitions = schema["definitions"]
    things = {"plan": schema, "options": schema["properties"]["options"]}
    things |= {name: definitions[name] for name in _THINGS}
    parts = []
    for name, one in things.items():
        shapes = one.get("anyOf", [one])
        rows = {code(key): told["description"] for s in shapes for key, told in _keys(s)}
        parts.append(f"### {name}\n\n{one.get('description', _RESULT)}")
        parts.append(table(("key", ""), list(rows.items())))
    return "\n\n".join(parts)


_THINGS = ("input", "step", "edge", "arrays", "template", "tool", "result")
_RESULT = "Where the playbook's result comes from."


def _keys(schema: Schema) -> Iterable[tuple[str, Schema]]:
    found: dict[str, Schema] = schema["properties"]
    return found.items()


def filled(name: str, put: Mapping[str, Callable[[], str]]) -> str:
    """Return a part with its tables and links put in."""
    text = _NOTE.sub("", (PARTS / name).read_text(encoding="utf-8"))
    text = _RULE.sub(lambda found: link(found[1]), text)
    return _PUT.sub(lambda found: put[found[1]](), text)


def example_plan(name: str) -> Plan:
    """Return the plan of one of the examples."""
    plan = compile_playbook(load_file(PLAYBOOKS / f"{name}.yaml"), BUILT_IN)
    assert plan is not None, name
    return plan


def _shown(value: Any, depth: int = 0) -> str:
    """Write JSON with everything that fits on one line on one line."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) + 2 * depth < 98 or not isinstance(value, (dict, list)) or not value:
        return line
    space = "\n" + "  " * (depth + 1)
    if isinstance(value, list):
        inner = [_shown(one, depth + 1) for one in value]
        return "[" + ",".join(space + one for one in inner) + space[:-2] + "]"
    inner = [f"{json.dumps(key)}: {_shown(one, depth + 1)}" for key, one in value.items()]
    return "{" + ",".join(space + one for one in inner) + space[:-2] + "}"
