"""What a call of a Python step costs; prints JSON.

    python benchmarks/python_calls.py [--calls 20000] [--flights 1 4 16]

*warm*: the same program again and again, in processes that are kept. *isolate*: a process of its
own for every call. *fresh*: every call is another program, so a place must be found for it too.
CPU time of the worker and of the programs stands beside the rate; starting is part of both but
for *warm*, where it is done before.
"""

import argparse
import asyncio
import json
import os
import platform
import resource
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.calls import Call
from noetl_mcp.tasks.python.pool import Habits
from noetl_mcp.tasks.python.task import Python
from noetl_mcp.tasks.specs_compute import PythonSettings

CODE = "def main(rows, most):\n    return {'count': len(rows), 'rows': rows[:most]}"
INPUT = {"rows": [{"id": number, "mark": f"D-{number}"} for number in range(10)], "most": 3}
SLOW = 50  # how many times fewer calls where each starts a process


class Silent:
    """Surroundings that keep nothing."""

    def may_send(self) -> None: ...
    async def remember(self, note: Json) -> None: ...
    def log(self, text: str, *, stream: str = "stdout") -> None: ...


def step(code: str = CODE, **settings: Any) -> Call:
    """Make a call of a step."""
    chosen = PythonSettings.model_validate({"code": code, **settings})
    return Call(task="python", settings=chosen, input=INPUT, around=Silent())


def cpu(who: int) -> float:
    """Return the seconds of CPU that this process, or its ended children, have used."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


async def warmed(python: Python, one: Call, flights: int) -> None:
    """Have the processes started that the calls will find."""
    for _ in range(3):
        await asyncio.gather(*(python.execute(one) for _ in range(flights)))


async def measure(how: str, make: Callable[[int], Call], calls: int, flights: int) -> Json:
    """Carry out calls, so many side by side, and say what they cost."""
    numbers = iter(range(calls))
    python = Python(habits=Habits(most_calls=sys.maxsize))
    before = cpu(resource.RUSAGE_CHILDREN)
    if how == "warm":
        await warmed(python, make(0), flights)

    async def work(left: Iterator[int]) -> None:
        for number in left:
            await python.execute(make(number))

    began, own = time.perf_counter(), cpu(resource.RUSAGE_SELF)
    await asyncio.gather(*(work(numbers) for _ in range(flights)))
    seconds, own = time.perf_counter() - began, cpu(resource.RUSAGE_SELF) - own
    await python.close()
    programs = cpu(resource.RUSAGE_CHILDREN) - before
    return {
        "how": how,
        "calls": calls,
        "in_flight": flights,
        "calls_per_second": round(calls / seconds),
        "worker_cpu_us_per_call": round(own / calls * 1e6, 1),
        "program_cpu_us_per_call": round(programs / calls * 1e6, 1),
    }


async def measure_all(calls: int, flights: list[int]) -> Json:
    """Measure every way to run, one after another."""
    warm, isolated = step(), step(isolate=True)
    found = [await measure("warm", lambda _: warm, calls, each) for each in flights]
    few = max(calls // SLOW, 10)
    found.append(await measure("isolate", lambda _: isolated, few, 4))
    found.append(await measure("fresh", lambda number: step(f"{CODE}\n# {number}"), few, 4))
    return list(found)


def main() -> None:
    """Read the arguments, measure and print."""
    parser = argparse.ArgumentParser(description="Measure what calls of Python steps cost.")
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--flights", type=int, nargs="+", default=[1, 4, 16])
    chosen = parser.parse_args()
    measured = asyncio.run(measure_all(chosen.calls, chosen.flights))
    print(
        json.dumps(
            {
                "python": platform.python_version(),
                "cpus": os.cpu_count(),
                "load": os.getloadavg()[0],
                "measured": measured,
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
