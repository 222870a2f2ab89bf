"""A small model on this machine: what is missing is told, and a real one answers a real turn."""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.commands import noetl

ROOT = Path(__file__).parent.parent.parent
WEIGHTS = os.environ.get("NOETL_TEST_MODEL", "")
HAS_EXTRA = importlib.util.find_spec("xllamacpp") is not None


def test_a_model_that_was_not_fetched_is_told(tmp_path: Path) -> None:
    ran = noetl("model", "serve", NOETL_HOME=str(tmp_path))

    assert ran.code == 1
    assert "fetch one with: noetl-mcp model fetch" in ran.err


@pytest.mark.skipif(HAS_EXTRA, reason="the extra llm-local is there")
def test_an_extra_that_is_missing_is_named(tmp_path: Path) -> None:
    weights = tmp_path / "some.gguf"
    weights.write_bytes(b"GGUF")

    ran = noetl("model", "serve", "--weights", weights, NOETL_HOME=str(tmp_path))

    assert ran.code == 1
    assert "pip install 'noetl-mcp[llm-local]'" in ran.err


@pytest.mark.skipif(not HAS_EXTRA, reason="the extra llm-local is not there")
def test_weights_that_are_none_are_told(tmp_path: Path) -> None:
    weights = tmp_path / "some.gguf"
    weights.write_bytes(b"GGUF")

    ran = noetl("model", "serve", "--weights", weights, "--port", "0", NOETL_HOME=str(tmp_path))

    assert ran.code == 1
    assert "cannot be served" in ran.err


A_REAL_MODEL = pytest.mark.skipif(
    not (HAS_EXTRA and Path(WEIGHTS).is_file()),
    reason="needs the extra llm-local, and the weights that NOETL_TEST_MODEL names",
)


@contextmanager
def served(home: Path) -> Iterator[str]:
    """A real model on this machine, by its address."""
    command = [sys.executable, "-m", "noetl_mcp", "model", "serve", "--port", "0"]
    server = subprocess.Popen(
        [*command, "--weights", WEIGHTS],
        env={**os.environ, "NOETL_HOME": str(home)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    try:
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.wait(30)
        server.stdout.close()


@pytest.mark.slow
@A_REAL_MODEL
def test_a_real_model_asks_for_a_tool_and_answers(tmp_path: Path) -> None:
    home, playbook = str(tmp_path), ROOT / "playbooks" / "local_model.yaml"
    with served(tmp_path) as endpoint:
        ran = noetl("run", playbook, "--set", f"endpoint={endpoint}", NOETL_HOME=home)
        noetl("db", "stop", NOETL_HOME=home)

    assert ran.code == 0, ran.err
    result = json.loads(ran.out)
    (call,) = result["tool_calls"]
    assert call["name"] == "wall_types"
    assert call["result"]["thickness_mm"] in (150, 200)
    assert result["content"]
