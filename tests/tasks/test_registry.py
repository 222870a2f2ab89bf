import subprocess
import sys
import threading
import typing
from dataclasses import dataclass, replace
from typing import Any

import pytest
from pydantic import ConfigDict

from noetl_mcp.tasks.contract import TaskSpec
from noetl_mcp.tasks.elsewhere import ELSEWHERE, instead_of
from noetl_mcp.tasks.registry import BUILT_IN, find_tasks, installed, known_tasks
from noetl_mcp.tasks.settings_model import SettingsModel

LIBRARIES = """
httpx aiohttp psycopg duckdb networkx jinja2 dramatiq mcp starlette yaml ifcopenshell rhino3dm
importlib.metadata
"""


def test_looking_at_the_registry_imports_no_library_of_a_plugin() -> None:
    loads = "import sys, noetl_mcp.tasks.registry, noetl_mcp.tasks.save_targets"
    ask = f"{loads}; print([name for name in {LIBRARIES.split()} if name in sys.modules])"

    said = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)

    assert said.stdout.strip() == "[]"


@dataclass(frozen=True)
class Offer:
    name: str
    found: object
    value: str = "their.module:SPEC"

    def load(self) -> object:
        if isinstance(self.found, BaseException):
            raise self.found
        return self.found


THEIRS = TaskSpec(
    name="theirs",
    summary="Theirs.",
    settings=BUILT_IN["noop"].settings,
    plugin="their.module:Theirs",
)


class NoSchema(SettingsModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)

    lock: threading.Event


def test_an_installed_package_can_bring_a_task_type() -> None:
    found = find_tasks([Offer("theirs", THEIRS)])

    assert found.tasks["theirs"] is THEIRS
    assert found.tasks["http"] is BUILT_IN["http"]
    assert not found.broken


@pytest.mark.parametrize(
    ("offer", "problem"),
    [
        (Offer("x", ImportError("no such library")), "ImportError: no such library"),
        (Offer("x", ZeroDivisionError()), "ZeroDivisionError"),
        (Offer("x", "a text"), "is str, not a TaskSpec"),
        (Offer("x", THEIRS), "calls itself 'theirs'"),
        (Offer("theirs", replace(THEIRS, settings=typing.cast(Any, dict))), "no settings model"),
        (Offer("http", replace(THEIRS, name="http")), "taken already"),
        (Offer("x", SystemExit(3)), "SystemExit: 3"),
        (Offer("turn", replace(THEIRS, name="turn")), "a name that no type can have"),
        (Offer("My-Type", replace(THEIRS, name="My-Type")), "a name that no type can have"),
        (Offer("theirs", replace(THEIRS, settings=NoSchema)), "Cannot generate a JsonSchema"),
        (Offer("theirs", replace(THEIRS, writes=typing.cast(Any, True))), "cannot be asked"),
        (Offer("theirs", replace(THEIRS, plugin=None)), "names no 'plugin'"),
        (Offer("theirs", replace(THEIRS, plugin="their.module")), "is no import path"),
        (Offer("theirs", replace(THEIRS, plugin=typing.cast(Any, 7))), "has a plugin of type int"),
    ],
)
def test_a_broken_offer_is_told_of_and_stops_nobody(offer: Offer, problem: str) -> None:
    found = find_tasks([offer])

    assert dict(found.tasks) == dict(BUILT_IN)
    assert problem in found.broken[0].problem
    assert found.broken[0].comes_from == "their.module:SPEC"


def test_a_writes_that_breaks_assumes_the_worst() -> None:
    asked = typing.cast(Any, lambda settings: settings["method"] != "GET")

    spec = find_tasks([Offer("theirs", replace(THEIRS, writes=asked))]).tasks["theirs"]

    assert spec.writes({})
    assert spec.writes({"method": "PUT"})
    assert not spec.writes({"method": "GET"})


def test_of_two_packages_that_take_one_name_the_first_wins() -> None:
    found = find_tasks([Offer("theirs", THEIRS, "b:S"), Offer("theirs", THEIRS, "a:S")])

    assert [broken.comes_from for broken in found.broken] == ["b:S"]


def test_the_known_tasks_are_the_built_in_ones_and_the_installed_ones() -> None:
    assert set(BUILT_IN) <= set(known_tasks())
    assert {entry.name for entry in installed()} <= set(known_tasks()) | {
        broken.name for broken in find_tasks(installed()).broken
    }


def test_a_type_from_elsewhere_says_what_to_use_here() -> None:
    assert "type: shell" in str(instead_of("container"))
    assert instead_of("result-fetch") == ELSEWHERE["result_fetch"]
    assert instead_of("http") is None
    assert not set(ELSEWHERE) & set(BUILT_IN)
