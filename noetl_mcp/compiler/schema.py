"""The JSON Schemas that `noetl-mcp schema` prints: of playbooks, plans and diagnostics.

Writes them so that a change is a readable diff. Knows no key of any of them.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from noetl_mcp.compiler.schema_models import Schema
from noetl_mcp.compiler.schema_plan import diagnostics_schema, plan_schema
from noetl_mcp.compiler.schema_playbook import playbook_schema
from noetl_mcp.tasks.contract import TaskSpec

WIDTH = 100

SCHEMAS: Mapping[str, Callable[[Mapping[str, TaskSpec]], Schema]] = {
    "playbook": playbook_schema,
    "plan": lambda tasks: plan_schema(),
    "diagnostics": lambda tasks: diagnostics_schema(),
}


def schema_text(name: str, tasks: Mapping[str, TaskSpec]) -> bytes:
    """Return a schema as JSON text; the same types always give the same bytes."""
    return (written(SCHEMAS[name](tasks)) + "\n").encode()


def written(value: Any, depth: int = 0, before: int = 0) -> str:
    """Write a value on one line where it fits, else each entry on a line of its own."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) + before + 2 * depth < WIDTH or not isinstance(value, (dict, list)):
        return line
    space = "\n" + "  " * (depth + 1)
    if isinstance(value, list):
        parts = [written(one, depth + 1) for one in value]
        return "[" + ",".join(space + part for part in parts) + space[:-2] + "]"
    parts = []
    for key, one in value.items():
        name = json.dumps(key, ensure_ascii=False) + ": "
        parts.append(name + written(one, depth + 1, len(name)))
    return "{" + ",".join(space + part for part in parts) + space[:-2] + "}"


__all__ = ["SCHEMAS", "schema_text", "written"]
