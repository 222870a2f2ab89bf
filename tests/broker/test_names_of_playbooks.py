"""Whatever the compiler lets a template of a real playbook name, its step is given."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from noetl_mcp.broker.names import Scope
from noetl_mcp.broker.results import Known
from noetl_mcp.broker.sight import Round
from noetl_mcp.broker.variables import variables
from noetl_mcp.compiler.compile import compile_playbook
from noetl_mcp.playbook.load import load_file
from noetl_mcp.playbook.rendering.render import compile_text, environment
from noetl_mcp.playbook.template import read_template
from noetl_mcp.tasks.registry import BUILT_IN
from tests.broker.worlds import World, world_of

ROOT = Path(__file__).parent.parent.parent
BOOKS = [*sorted((ROOT / "playbooks").glob("*.yaml")), *sorted((ROOT / "tests/dialects").glob("*"))]
AFTER = {"set", "save", "repeat", "result", "assert", "retry"}
CARE = {"when", "data", "key", "timeout", "expect", "auth", "limits", "cache", "check", "priority"}


def numbers(tree: Any) -> Iterator[int]:
    """The templates in a tree."""
    if isinstance(tree, dict) and tree.keys() == {"$t"}:
        yield tree["$t"]
    elif isinstance(tree, (dict, list)):
        for child in tree.values() if isinstance(tree, dict) else tree:
            yield from numbers(child)


def scopes(world: World) -> Iterator[tuple[int, Scope]]:
    """Every template of a plan, with the scope it is rendered in."""
    steps = world.plan["steps"]
    for idx, step in enumerate(steps):
        before, within, after = (made(world, idx, when) for when in ("before", "in", "after"))
        item = made(world, idx, "in", as_item=step["type"] == "iterator")
        yield from ((n, before) for n in numbers(step.get("input")))
        for key, tree in step.get("settings", {}).items():
            yield from (
                (n, item if key in ("where", "order_by") else within) for n in numbers(tree)
            )
        for key in AFTER:
            yield from ((n, after) for n in numbers(step.get(key)))
        for key in CARE:
            yield from ((n, within) for n in numbers(step.get(key)))
        for edge in world.plan["edges"]:
            if edge["source"] == idx:
                parts = {"$t": edge.get("when")} if type(edge.get("when")) is int else None
                yield from ((n, after) for n in numbers([parts, edge.get("data"), edge.get("set")]))
    calling = next((n for n, step in enumerate(steps) if step["type"] == "turn.tools"), 0)
    for tool in world.plan["tools"].values():
        seen = world.names.tool(calling, world.sight(input={}))
        yield from ((n, seen) for n in numbers([tool["settings"], tool.get("input")]))


def made(world: World, idx: int, when: str, *, as_item: bool = False) -> Scope:
    steps = world.plan["steps"]
    seen = steps[steps[idx].get("speaks_for", idx)]
    iterator = idx if as_item else steps[idx].get("within")
    rounds = () if iterator is None else (Round(iterator, 0, "x", 1, {}),)
    arriving = {
        key: 1
        for edge in world.plan["edges"]
        if edge["target"] == seen.get("input_of", steps.index(seen)) and "data" in edge
        for key in edge["data"]
    }
    tree = seen.get("input", {})
    given = None if when == "before" else {**dict.fromkeys(tree, 1), **arriving}
    own = Known("done", {}) if when == "after" else None
    return world.names.scope(
        idx, world.sight(rounds=rounds, payload=arriving, input=given, own=own)
    )


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_every_name_in_a_playbook_is_given_to_the_step_that_uses_it(path: Path) -> None:
    plan = compile_playbook(load_file(path), BUILT_IN)
    assert plan is not None
    world = world_of(plan)
    renderers = [compile_text(row["text"]) for row in world.plan["templates"]]
    given = {one["name"]: "x" for one in world.plan["inputs"] if "default" not in one}
    world.workload = variables(world.plan, renderers, given, world.sight())
    for idx, step in enumerate(world.plan["steps"]):
        for items in ((), (0,)):
            world.outcomes[idx, items] = Known("done", {})
            world.sets[idx, None, items] = dict.fromkeys(step.get("set", ()), 1)

    checked = set()
    for number, scope in scopes(world):
        checked.add(number)
        for use in read_template(world.plan["templates"][number]["text"]).uses:
            if not use.optional and use.root not in environment().globals:
                assert scope[use.root] is not None or use.root in ("error", "item"), use

    written = set(numbers([world.plan["inputs"], world.plan["options"]]))
    result = set(numbers(world.plan["result"]))
    assert checked | written | result == set(range(len(world.plan["templates"])))
