from typing import Any

import pytest

from noetl_mcp.tasks.registry import BUILT_IN


@pytest.mark.parametrize(
    ("task", "settings", "writes"),
    [
        ("http", {}, False),
        ("http", {"method": "get"}, False),
        ("http", {"method": "HEAD"}, False),
        ("http", {"method": "Options"}, False),
        ("http", {"method": "POST"}, True),
        ("http", {"method": "delete"}, True),
        ("http", {"method": "{{ verb }}"}, True),
        ("jsonrpc", {"method": "get_walls"}, False),
        ("jsonrpc", {"method": "rhino_get_selection"}, False),
        ("jsonrpc", {"method": "create_wall"}, True),
        ("jsonrpc", {"method": "anything"}, True),
        ("jsonrpc", {"method": "{{ m }}"}, True),
        ("jsonrpc", {}, True),
        ("revit", {"method": "element.get_walls"}, False),
        ("revit", {"method": "element.create_wall"}, True),
        ("revit", {"method": "rhino_get_selection"}, True),
        ("revit", {"method": "get_{{ what }}"}, True),
        ("rhino", {"method": "rhino_get_selection"}, False),
        ("rhino", {"method": "rhino_commit_transform"}, True),
        ("rhino", {"method": "get_walls"}, True),
        ("mcp", {"tool": "t"}, True),
        ("mcp", {"resource": "a://b"}, False),
        ("mcp", {"prompt": "p"}, False),
        ("mcp", {"list": "tools"}, False),
        ("mcp", {}, True),
        ("postgres", {"sql": "DELETE FROM t"}, False),
        ("duckdb", {"sql": "DELETE FROM t", "database": "a.db"}, False),
        ("python", {}, False),
        ("floorplan", {"action": "modify"}, False),
        ("noop", {}, False),
        ("set", {}, False),
        ("file", {}, False),
        ("file", {"action": "read"}, False),
        ("file", {"action": "list"}, False),
        ("file", {"action": "write"}, True),
        ("file", {"operation": "delete"}, True),
        ("file", {"action": "{{ a }}"}, True),
        ("shell", {"command": "ls"}, True),
        ("transfer", {}, True),
        ("playbook", {}, False),
        ("wait", {}, False),
        ("approve", {}, False),
        ("callback", {}, False),
    ],
)
def test_what_writes(task: str, settings: dict[str, Any], writes: bool) -> None:
    assert BUILT_IN[task].writes(settings) is writes


@pytest.mark.parametrize(
    ("tasks", "outcome"),
    [
        ("http mcp postgres duckdb shell file transfer", "in_doubt"),
        ("jsonrpc revit rhino playbook wait approve callback", "resume"),
        ("python floorplan noop set", "run_again"),
    ],
)
def test_what_a_lost_answer_means(tasks: str, outcome: str) -> None:
    assert {BUILT_IN[task].unknown_outcome for task in tasks.split()} == {outcome}


def test_an_unconfirmed_write_is_refused_by_models_and_warned_of_elsewhere() -> None:
    refused = {name for name, spec in BUILT_IN.items() if spec.confirmation == "refused"}
    warned = {name for name, spec in BUILT_IN.items() if spec.confirmation == "warned"}

    assert refused == {"jsonrpc", "revit", "rhino"}
    assert {"http", "mcp", "postgres", "duckdb", "shell", "file", "transfer"} <= warned


def test_nobody_can_say_that_a_call_to_a_model_does_not_write() -> None:
    assert not BUILT_IN["revit"].may_say_writes
    assert not BUILT_IN["rhino"].may_say_writes
    assert BUILT_IN["http"].may_say_writes
