"""How long a floor plan takes to be read, checked, measured, changed and drawn; prints JSON.

    python benchmarks/floorplan.py [--rooms 3 100 1000] [--calls 10000] [--only parse validate]

Plans are made here: rooms in rows, with positions or each beside another, with labels, several
kinds of walls, and doors between neighbours. Each case is measured several times, in turn with the
others, and the best is told, for the machine has other things to do; CPU time stands beside wall
time, both in milliseconds. `--calls` checks a plan so often in one process and tells how the memory
grows; 0 leaves that out.
"""

import argparse
import gc
import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

from noetl_mcp.bim.floorplan.analyze import analyze
from noetl_mcp.bim.floorplan.drawing.plan_drawing import drawn
from noetl_mcp.bim.floorplan.edit.modify import modify
from noetl_mcp.bim.floorplan.png import png_of
from noetl_mcp.bim.floorplan.reading.read import read
from noetl_mcp.bim.floorplan.resolve import understood
from noetl_mcp.bim.floorplan.svg import svg_of
from noetl_mcp.bim.floorplan.validate import validate

_WALLS = (
    "walls [top: solid, right: solid, bottom: solid, left: solid]",
    "walls [top: window, right: solid, bottom: solid, left: solid]",
    "walls [top: solid, right: solid, bottom: open, left: solid]",
    "walls [top: solid, right: solid, bottom: solid, left: window]",
)
_RENAMED = {"action": "rename_room", "target": "Room1", "params": {"newName": "Hall"}}
# What 1,000 rooms may take, in milliseconds; 100 rooms to a picture may take 60.
BUDGETS = {"parse": 30, "validate": 60, "svg": 25, "png": 300}


def plan(rooms: int, relative: bool = False) -> str:
    """Write a plan of so many rooms, in a square of rows, with doors between neighbours."""
    row = max(1, round(rooms**0.5))
    lines = ["%%{version: 1.0}%%", "floorplan", "  config { default_unit: ft }", "  floor f1 {"]
    for n in range(rooms):
        place = f"at ({n % row * 12}, {n // row * 10}) "
        beside = ""
        if relative and n:
            beside = f" right-of Room{n - 1}" if n % row else f" below Room{n - row}"
            place = ""
        lines.append(
            f'    room Room{n} {place}size (12 x 10) {_WALLS[n % 4]}{beside} label "Number {n}"'
        )
    lines.append("  }")
    lines += [
        f"  connect Room{n}.right to Room{n + 1}.left door at 50%"
        for n in range(rooms - 1)
        if (n + 1) % row
    ]
    return "\n".join(lines) + "\n"


def cases(text: str) -> dict[str, Callable[[], object]]:
    """Return what is measured of one plan; drawing cases begin with what stands before them."""
    building = understood(read(text).plan)
    picture = drawn(building)
    return {
        "parse": lambda: read(text),
        "places": lambda: understood(read(text).plan),
        "validate": lambda: validate(text),
        "analyze": lambda: analyze(text),
        "svg": lambda: svg_of(drawn(building)),
        "text to svg": lambda: svg_of(drawn(understood(read(text).plan))),
        "png": lambda: png_of(picture),
        "text to png": lambda: png_of(drawn(understood(read(text).plan))),
        "rename": lambda: modify(text, [_RENAMED]),
        "remove": lambda: modify(text, [{"action": "remove_room", "target": "Room0"}]),
        "to absolute": lambda: modify(text, [{"action": "convert_to_absolute"}]),
    }


def measured(sizes: list[int], only: list[str], rounds: int) -> dict[str, dict[str, float]]:
    """Measure all cases in turn, so that a slow moment does not fall on one alone."""
    todo: dict[str, Callable[[], object]] = {}
    for rooms in sizes:
        for relative in (False, True):
            kind = " relative" if relative else ""
            for name, run in cases(plan(rooms, relative)).items():
                if not only or name in only:
                    todo[f"{name}, {rooms}{kind}"] = run
    best: dict[str, dict[str, float]] = {}
    for _ in range(rounds):
        for name, run in todo.items():
            gc.collect()
            wall, cpu = time.perf_counter(), time.process_time()
            run()
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            before = best.get(name, {"wall_ms": float("inf"), "cpu_ms": float("inf")})
            best[name] = {
                "wall_ms": round(min(before["wall_ms"], wall * 1000), 2),
                "cpu_ms": round(min(before["cpu_ms"], cpu * 1000), 2),
            }
    return best


def kept(calls: int) -> dict[str, float]:
    """Check plans over and over and tell what the process keeps, in MB: early, at last, grown."""
    texts = [plan(100).replace("Room", f"R{n}_") for n in range(10)]
    early = 0.0
    for n in range(calls):
        validate(texts[n % 10])
        if n == calls // 10:
            early = _resident()
    last = _resident()
    return {"calls": calls, "early_mb": early, "last_mb": last, "grown_mb": round(last - early, 1)}


def _resident() -> float:
    """Return what the process holds now; where nobody tells, the most it ever held."""
    gc.collect()
    statm = Path("/proc/self/statm")
    if statm.exists():
        pages = int(statm.read_text(encoding="ascii").split()[1])
        return round(pages * resource.getpagesize() / 2**20, 1)
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10, 1)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_Raw)
    parser.add_argument("--rooms", type=int, nargs="+", default=[3, 100, 1000])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--only", nargs="+", default=[])
    asked = parser.parse_args()
    best = measured(asked.rooms, asked.only, asked.rounds)
    over = {
        name: {"cpu_ms": best[f"{name}, 1000"]["cpu_ms"], "budget_ms": budget}
        for name, budget in BUDGETS.items()
        if best.get(f"{name}, 1000", {"cpu_ms": 0})["cpu_ms"] > budget
    }
    answer: dict[str, object] = {"milliseconds": best, "over_budget": over}
    if asked.calls:
        answer["memory"] = kept(asked.calls)
    json.dump(answer, sys.stdout, indent=2)
    sys.stdout.write("\n")


_Raw = argparse.RawDescriptionHelpFormatter

if __name__ == "__main__":
    main()
