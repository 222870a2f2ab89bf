"""How much broken text the compiler survives in some minutes; prints JSON.

    python benchmarks/fuzz.py --minutes 10 --seed 1 [--kind trees]

It feeds the texts of `tests/strategies.py` to the same check as `tests/test_fuzz.py`. A failure
is told with the smallest text that still shows it; `slowest` and `largest` with the time and the
growth of the process that one text took.
"""

import argparse
import json
import resource
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))  # the tests are no installed package

from hypothesis import HealthCheck, given, seed, settings

from tests.strategies import everything
from tests.test_fuzz import survives

_A_ROUND = 200
_SHOWN = 4_000


@dataclass
class Run:
    """What has come of all texts so far."""

    cases: dict[str, int] = field(default_factory=dict)
    failures: list[dict[str, str]] = field(default_factory=list)
    slowest: dict[str, Any] = field(default_factory=lambda: {"seconds": 0.0})
    largest: dict[str, Any] = field(default_factory=lambda: {"megabytes": 0.0})

    def take(self, kind: str, raw: bytes) -> None:
        """Check one text and note what it took."""
        before, start = _peak(), time.perf_counter()
        survives(raw)
        seconds, grown = time.perf_counter() - start, (_peak() - before) / 1024
        self.cases[kind] = self.cases.get(kind, 0) + 1
        if seconds > self.slowest["seconds"]:
            self.slowest = {"seconds": round(seconds, 3), "kind": kind, "text": _text(raw)}
        if grown > self.largest["megabytes"]:
            self.largest = {"megabytes": round(grown, 1), "kind": kind, "text": _text(raw)}


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _text(raw: bytes) -> str:
    return raw[:_SHOWN].decode("utf-8", "backslashreplace")


def fuzz(minutes: float, first_seed: int, only: str | None) -> Run:
    """Feed texts until the time is over."""
    run, end, number = Run(), time.monotonic() + minutes * 60, first_seed
    kinds = {name: one for name, one in everything().items() if only in (None, name)}
    while time.monotonic() < end:
        for kind, texts in kinds.items():
            _round(kind, texts, number, run)
        number += 1
    return run


def _round(kind: str, texts: Any, number: int, run: Run) -> None:
    last = b""

    @seed(number)
    @settings(
        max_examples=_A_ROUND,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @given(texts)
    def check(raw: bytes) -> None:
        nonlocal last
        last = raw
        run.take(kind, raw)

    try:
        check()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what we are looking for
        why = f"{type(error).__name__}: {error}".splitlines()[0][:300]
        failure = {"kind": kind, "why": why, "text": _text(last)}
        if all(known["why"] != why for known in run.failures):
            run.failures.append(failure)
            print(json.dumps(failure), file=sys.stderr, flush=True)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", choices=sorted(everything()))
    asked = parser.parse_args()
    run = fuzz(asked.minutes, asked.seed, asked.kind)
    done = {"cases": run.cases, "failures": run.failures}
    print(json.dumps({**done, "slowest": run.slowest, "largest": run.largest}, indent=2))
    sys.exit(1 if run.failures else 0)


if __name__ == "__main__":
    main()
