"""A small model on this machine: what is missing is told, and a real one answers a real turn."""

import importlib.util
import json
import os
import subprocess
import sys
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


@pytest.mark.slow
@pytest.mark.skipif(
    not (HAS_EXTRA and Path(WEIGHTS).is_file()),
    reason="needs the extra llm-local, and the weights that NOETL_TEST_MODEL names",
)
def test_a_real_model_asks_for_a_tool_and_answers(tmp_path: Path) -> None:
    home = str(tmp_path)
    command = [sys.executable, "-m", "noetl_mcp", "model", "serve", "--port", "0"]
    server = subprocess.Popen(
        [*command, "--weights", WEIGHTS],
        env={**os.environ, "NOETL_HOME": home},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    try:
        endpoint = server.stdout.readline().strip()
        playbook = ROOT / "playbooks" / "local_model.yaml"
        ran = noetl("run", playbook, "--set", f"endpoint={endpoint}", NOETL_HOME=home)
    finally:
        server.terminate()
        server.wait(30)
        server.stdout.close()
        noetl("db", "stop", NOETL_HOME=home)

    assert ran.code == 0, ran.err
    result = json.loads(ran.out)
    (call,) = result["tool_calls"]
    assert call["name"] == "wall_types"
    assert call["result"]["thickness_mm"] in (150, 200)
    assert result["content"]
