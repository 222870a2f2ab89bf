"""Who works along on the embedded server tells how the own execution ended, and leaves no doubt."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.embedded.test_commands import new_home
from tests.faults.judge import Judge

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\n"
QUICK = HEAD + (
    "metadata: {name: q, path: tests/q}\nworkflow:\n  - {step: start, next: [a]}\n"
    "  - {step: a, type: wait, wait: {for: 2s}, next: [end]}\n  - {step: end, result: {n: 1}}\n"
)
SLOW = HEAD + (
    "metadata: {name: s, path: tests/s}\nworkflow:\n  - {step: start, next: [w]}\n"
    "  - {step: w, type: http, method: POST, url: 'URL/w/1/w/?wait=16000', confirm: true}\n"
)


@pytest.mark.slow
def test_a_write_of_another_execution_is_brought_to_its_end(tmp_path: Path) -> None:
    quick, slow = tmp_path / "quick.yaml", tmp_path / "slow.yaml"
    quick.write_text(QUICK)
    with Judge() as judge, new_home() as home:
        slow.write_text(SLOW.replace("URL", judge.url))
        said = {name: one for name, one in os.environ.items() if not name.startswith("NOETL_")}
        said["NOETL_HOME"] = home
        command = [sys.executable, "-m", "noetl_mcp", "run"]
        subprocess.run([*command, str(slow), "--detach"], env=said, check=True, timeout=60)

        with subprocess.Popen(
            [*command, str(quick)],
            env=said,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as running:
            assert running.stdout is not None
            assert running.stderr is not None
            line = running.stdout.readline() + running.stdout.readline() + running.stdout.readline()
            told = time.monotonic()
            code = running.wait(30)
            left = time.monotonic() - told
            errors = running.stderr.read()
        shown = subprocess.run(
            [sys.executable, "-m", "noetl_mcp", "show", "1", "--json"],
            env=said,
            check=True,
            timeout=60,
            stdout=subprocess.PIPE,
        )

    other = json.loads(shown.stdout)
    assert (json.loads(line), code) == ({"n": 1}, 0)
    assert "finishing what is being written here for other executions" in errors
    assert left > 10
    assert [one["state"] for one in other["steps"] if one["name"] == "w"] == ["done"]
    assert other["attention"] == []


def test_a_read_of_another_execution_is_handed_back_without_a_word(tmp_path: Path) -> None:
    quick, long = tmp_path / "quick.yaml", tmp_path / "long.yaml"
    quick.write_text(QUICK.replace("2s", "1s"))
    long.write_text(
        HEAD + "metadata: {name: l, path: tests/l}\nworkflow:\n  - {step: start, next: [r]}\n"
        "  - step: r\n    type: python\n    code: |\n      import time\n"
        "      def main():\n          time.sleep(60)\n"
    )
    with new_home() as home:
        said = {name: one for name, one in os.environ.items() if not name.startswith("NOETL_")}
        said["NOETL_HOME"] = home
        command = [sys.executable, "-m", "noetl_mcp"]
        subprocess.run([*command, "run", str(long), "--detach"], env=said, check=True, timeout=60)

        ran = subprocess.run(
            [*command, "run", str(quick)], env=said, timeout=55, capture_output=True, text=True
        )
        shown = subprocess.run(
            [*command, "show", "1", "--json"], env=said, timeout=60, capture_output=True, text=True
        )

    other = json.loads(shown.stdout)
    assert (ran.returncode, json.loads(ran.stdout)) == (0, {"n": 1})
    assert "other executions" not in ran.stderr
    assert [one["state"] for one in other["steps"] if one["name"] == "r"] == ["ready"]
    assert other["steps"][-1]["worker"] is not None
