"""The example on the page about MCP servers runs as it is written there."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.postgres import database, postgres  # noqa: F401  # fixtures of this station

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "call-mcp-servers.md"
BIN = Path(sys.executable).parent


@pytest.mark.parametrize("more", [[], ["--dry-run"]], ids=["run", "dry run"])
def test_the_example_runs(database: str, tmp_path: Path, more: list[str]) -> None:  # noqa: F811  # asked for
    for name, text in re.findall(r"`([\w.]+)`:\n\n```\w+\n(.+?)\n```", PAGE.read_text(), re.S):
        (tmp_path / name).write_text(text + "\n")
    env = {
        **os.environ,
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "NOETL_HOME": str(tmp_path / "home"),
        "NOETL_DSN": database,
        "NOETL_ALLOW_SHELL": "1",
    }

    done = subprocess.run(
        [BIN / "noetl-mcp", "run", "rooms.yaml", "--json", *more],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["result"] == {"area": 10.0}
