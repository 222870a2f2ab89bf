"""Run the command as a user does, in a process of its own."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """What it printed, read as JSON."""
        return json.loads(self.out)


def noetl(*arguments: str | Path, stdin: bytes = b"", **environment: str) -> Ran:
    """Run `noetl-mcp`; a traceback fails the test, whatever the test is about."""
    done = subprocess.run(
        [sys.executable, "-m", "noetl_mcp", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        env={**os.environ, "NO_COLOR": "1", **environment},
        timeout=60,
    )
    ran = Ran(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode())
    assert "Traceback" not in ran.err, ran.err
    return ran
