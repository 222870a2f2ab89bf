"""How long it takes to load, validate and compile; prints JSON.

    python benchmarks/compile.py [--steps 100 1000 5000 20000] [--shell]

Each size is measured several times in one run and the best is told, for the machine has other
things to do; CPU time stands beside wall time. The playbook is a mix of the step types that real
ones have: http and python steps, conditions, joins, an iterator now and then, every template
different from the others, so that no cache helps.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from noetl_mcp.compiler.compile import compile_playbook, run_passes
from noetl_mcp.playbook.load import load
from noetl_mcp.playbook.template import read_template
from noetl_mcp.tasks.registry import BUILT_IN

_HEAD = """apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: mix, path: bench/mix}
workload:
  base: http://localhost:1
  limit: 3
  rows: [1, 2, 3]
workflow:
  - step: start
    next: [s0]
"""


def playbook(steps: int) -> str:
    """Write a playbook of so many steps."""
    return _HEAD + "".join(map(_step, range(steps))) + f"  - step: s{steps}\n"


def _step(n: int) -> str:
    kind = n % 5
    if kind == 0:
        return f"""  - step: s{n}
    desc: ask for page {n}
    type: http
    url: "{{{{ workload.base }}}}/page/{n}?limit={{{{ workload.limit }}}}"
    headers: {{Accept: application/json, X-Step: "{n}"}}
    retry: {{max_attempts: 3, initial_delay: 0.5, retry_when: "{{{{ status_code >= 50{n} }}}}"}}
    next: [s{n + 1}]
"""
    if kind == 1:
        return f"""  - step: s{n}
    type: python
    data: {{rows: "{{{{ s{n - 1}.data }}}}", page: {n}, most: "{{{{ workload.limit }}}}"}}
    code: |
      def main(rows, page, most):
          found = [row for row in rows if row["page"] == page]
          return {{"count": len(found), "rows": found[:most]}}
    save: {{storage: event_log, data: {{count: "{{{{ this.count }}}}"}}}}
    next:
      - when: "{{{{ s{n}.count > {n} }}}}"
        step: s{n + 1}
      - step: s{n + 2}
"""
    if kind == 4:
        return f"""  - step: s{n}
    type: iterator
    collection: "{{{{ s{n - 3}.rows }}}}"
    element: row
    mode: async
    concurrency: 4
    task:
      type: http
      url: "{{{{ workload.base }}}}/rows/{{{{ row.id }}}}/{n}"
    next: [s{n + 1}]
"""
    return f"""  - step: s{n}
    type: python
    data: {{before: "{{{{ s{n - kind}.rows | length }}}}", text: "{{{{ workload.base }}}} {n}"}}
    code: "def main(before, text): return {{'n': before, 'text': text}}"
    next: [s{n + 1}]
"""


def best(work: Callable[[], object], rounds: int) -> dict[str, float]:
    """Measure work several times; the best wall time, the median, and the CPU of the best."""
    walls, cpus = [], []
    for _ in range(rounds):
        read_template.cache_clear()
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        walls.append((time.perf_counter() - wall) * 1000)
        cpus.append((time.process_time() - cpu) * 1000)
    return {
        "best_ms": round(min(walls), 2),
        "median_ms": round(statistics.median(walls), 2),
        "cpu_ms": round(min(cpus), 2),
    }


def measure(steps: int) -> dict[str, object]:
    """Measure one size: loading alone, all passes, and the frozen plan with its digest."""
    text = playbook(steps)
    rounds = 15 if steps <= 200 else 5 if steps <= 1000 else 3

    def whole() -> None:
        plan = compile_playbook(load(text), BUILT_IN)
        assert plan is not None, [found.message for found in load(text).report]
        plan.digest  # noqa: B018 - computed on first use

    return {
        "steps": steps,
        "characters": len(text),
        "load": best(lambda: load(text), rounds),
        "check": best(lambda: run_passes(load(text), BUILT_IN), rounds),
        "compile": best(whole, rounds),
    }


def shell(rounds: int = 7) -> dict[str, float]:
    """Measure `validate` of one small playbook from the shell, everything included."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "one.yaml"
        path.write_text(playbook(5))
        command = [sys.executable, "-m", "noetl_mcp", "validate", str(path)]
        return best(lambda: subprocess.run(command, check=True, capture_output=True), rounds)


def main() -> None:
    """Print the measurements as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, nargs="*", default=[100, 1000, 5000, 20000])
    parser.add_argument("--shell", action="store_true", help="only the command from the shell")
    given = parser.parse_args()
    found: dict[str, object] = {"shell_validate": shell()}
    if not given.shell:
        measure(20)  # the models are built on first use
        found["sizes"] = [measure(steps) for steps in given.steps]
    json.dump(found, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
