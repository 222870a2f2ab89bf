"""How fast the runtime is and what it costs: rates with CPU per step beside them; prints JSON.

    python benchmarks/engine.py [CASE ...] [--size 1] [--dsn DSN]
                                [--peers] [--peers-python PYTHON]

A durable embedded server of its own is used and removed; a DSN should name an empty database,
which is emptied again; one in which there are executions is filled. `--size` scales what is done.
Without a case all are measured but `growth` and `peers`, which take minutes. A case that fails, or
takes too long, ends the benchmark at once with 1; what was found until then is printed. How to read
the numbers stands in docs/how-to/measure-speed.md.
"""

import argparse
import json
import os
import platform
import signal
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

from speed import calls, growth, peers, quiet, rates, submit
from speed.books import NOTHING
from speed.crew import within
from speed.server import Server, server


class Case(NamedTuple):
    """What is measured, and how many seconds it may take."""

    measure: Callable[[Server, float], Any]
    seconds: float
    is_usual: bool = True


CASES = {
    "chain": Case(rates.chains, 600),
    "single": Case(rates.singles, 600),
    "chain-of-tasks": Case(partial(rates.chains, kind=NOTHING), 600),
    "single-task": Case(partial(rates.singles, kind=NOTHING), 600),
    "lone": Case(rates.lone, 120),
    "python": Case(rates.programs, 300),
    "http": Case(calls.calls, 300),
    "waiting": Case(calls.waiting, 180),
    "latency": Case(quiet.latency, 300),
    "idle": Case(quiet.idle, 120),
    "submit": Case(submit.submit, 300),
    "growth": Case(growth.growth, 3600, is_usual=False),
}
PEERS = "peers"
_PEERS_SECONDS = 3600


def main() -> int:
    """Measure what was asked for and print it."""
    asked = arguments()
    cases = chosen(asked)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was begun is ended in order
    found: dict[str, Any] = {"at": datetime.now(UTC).isoformat(timespec="seconds"), **machine()}
    with server(asked.dsn) as made:
        found["postgres"] = made.about()
        for name, case in cases.items():
            print(name, file=sys.stderr, flush=True)
            try:
                with within(case.seconds, name):
                    found[name] = case.measure(made, asked.size)
            except Exception as problem:  # noqa: BLE001 - whatever it is, it is told and ends the run
                found[name] = {"error": f"{type(problem).__name__}: {problem}"}
                break
    print(json.dumps(found, indent=2))
    return 1 if any("error" in found.get(name, ()) for name in cases) else 0


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0],
        epilog=f"Cases: {', '.join((*CASES, PEERS))}.",
    )
    parser.add_argument("cases", nargs="*", metavar="CASE", help="what to measure")
    parser.add_argument("--size", type=float, default=1.0, help="1 is minutes, 0.01 a glance")
    parser.add_argument("--dsn", help="an empty database; one of its own when missing")
    parser.add_argument("--peers", action="store_true", help="other engines next to us")
    parser.add_argument("--peer", action="append", choices=peers.PEERS, help="only this one")
    parser.add_argument("--peers-python", default=sys.executable, help="where they are installed")
    parser.add_argument("--rounds", type=int, default=2, help="how often ours and theirs alternate")
    asked = parser.parse_args()
    for name in asked.cases:
        if name not in (*CASES, PEERS):
            parser.error(f"there is no case '{name}'; there are: {', '.join((*CASES, PEERS))}")
    return asked


def chosen(asked: argparse.Namespace) -> dict[str, Case]:
    """Return the cases that were asked for, in their order."""
    wants_peers = asked.peers or asked.peer is not None or PEERS in asked.cases
    names = asked.cases or ([] if wants_peers else [n for n, one in CASES.items() if one.is_usual])
    found = {name: CASES[name] for name in names if name != PEERS}
    if wants_peers:
        setting = peers.Setting(asked.peers_python, tuple(asked.peer or peers.PEERS), asked.rounds)
        found[PEERS] = Case(partial(peers.peers, setting=setting), _PEERS_SECONDS)
    return found


def machine() -> dict[str, Any]:
    """Say on what was measured, and what else it was doing."""
    return {
        "interpreter": platform.python_version(),
        "cpus": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
    }


if __name__ == "__main__":
    sys.exit(main())
