"""What the scripts of all peers share: jobs are queued, processes work them off, lines tell of it.

Runs under the interpreter in which the peers are installed, so it imports nothing of the product.
One line of JSON is printed when the first step was done and one when nothing is left; whoever reads
them takes the CPU of the store at these moments, and closes the standard input. The workers are
killed then.
"""

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TICK = os.sysconf("SC_CLK_TCK")
_UP_SECONDS = 120.0
_STILL_SECONDS = 20.0
_LOOK = 0.01
STEPS = 10


@dataclass(frozen=True)
class Race:
    """What is to be done where, and what was done."""

    url: str
    steps: int
    """Of each job: 1, or a chain."""
    jobs: int
    number: int = 0
    counts: Any = None
    go: Any = None

    def wait(self) -> None:
        """Wait until all processes have loaded what they need."""
        self.counts[self.number] = 0
        self.go.wait()

    def done(self) -> None:
        """Count a step; called by one thread at a time, or a count may be lost."""
        self.counts[self.number] += 1


def run(
    prepare: Callable[[Race], None],
    enqueue: Callable[[Race], None],
    work: Callable[[Race], None],
    is_left: Callable[[Race], Callable[[], bool]],
) -> None:
    """Make tables by `prepare`, queue jobs by `enqueue`, have them done by `work` in processes.

    `is_left` returns what tells whether anything is queued or under way still.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--case", choices=("single", "chain"), required=True)
    parser.add_argument("--jobs", type=int, required=True)
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    steps = STEPS if asked.case == "chain" else 1
    counts = context.Array("q", [-1] * asked.processes, lock=False)
    race = Race(asked.url, steps, asked.jobs, 0, counts, context.Event())
    prepare(race)
    begun = time.perf_counter()
    enqueue(race)
    told(enqueued_per_s=round(asked.jobs / (time.perf_counter() - begun)))
    workers = [
        context.Process(
            target=work,
            args=(Race(race.url, steps, race.jobs, number, counts, race.go),),
            daemon=True,
        )
        for number in range(asked.processes)
    ]
    for worker in workers:
        worker.start()
    try:
        _until(lambda: all(count >= 0 for count in counts), workers, _UP_SECONDS)
        left, wanted = is_left(race), race.jobs * steps
        race.go.set()
        _until(lambda: sum(counts) > 0, workers, _UP_SECONDS)
        before, cpu, wall = sum(counts), _seconds(workers), time.perf_counter()
        told(begun=True)
        over = _over(lambda: wanted - sum(counts), left, workers)
        wall = over - wall
        told(steps=wanted - before, seconds=wall, python=_seconds(workers) - cpu)
        sys.stdin.readline()
    finally:
        for worker in workers:
            worker.kill()


def _over(missing: Callable[[], int], left: Callable[[], bool], workers: list[Any]) -> float:
    """Wait until all is done and the store knows it; return when that was.

    A store that still holds something long after is not waited for.
    """
    last, moved = missing(), time.perf_counter()
    while True:
        count, now = missing(), time.perf_counter()
        if count <= 0 and not left():
            return now
        if count != last:
            last, moved = count, now
        if now - moved > _STILL_SECONDS:
            if count > 0:
                sys.exit(f"not over: {count} steps are missing and nothing moves")
            return moved
        if dead := [worker.exitcode for worker in workers if not worker.is_alive()]:
            sys.exit(f"a worker ended with {dead[0]}")
        time.sleep(_LOOK)


def _until(holds: Callable[[], bool], workers: list[Any], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        if dead := [worker.exitcode for worker in workers if not worker.is_alive()]:
            sys.exit(f"a worker ended with {dead[0]}")
        if time.monotonic() > deadline:
            sys.exit("the workers do not come up")
        time.sleep(_LOOK)


def _seconds(workers: list[Any]) -> float:
    total = 0
    for worker in workers:
        fields = Path(f"/proc/{worker.pid}/stat").read_text().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / _TICK


def told(**said: Any) -> None:
    """Print a line."""
    print(json.dumps(said), flush=True)
