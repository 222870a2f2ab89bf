"""Other engines on the same server in the same minutes: each round ours, then each of theirs.

Each is a script of `benchmarks/peers/` under an interpreter that has it; what is not installed is
said to be absent. Theirs are counted from the first finished step on, ours from before the worker
connects. None of them writes a log of events.
"""

import json
import re
import select
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import Any

from speed import processes
from speed.books import chain
from speed.crew import Died, TooLong
from speed.rates import rate
from speed.server import Server

_ERROR = re.compile(r"[\w.]*(Error|Exception|Deadlock\w*|DETAIL)\b|a worker|not over")
_SCRIPTS = Path(__file__).parent.parent / "peers"
_SECONDS = 200.0
_STEPS = 10
_CASES = ("single", "chain")


@dataclass(frozen=True, slots=True)
class Peer:
    """A peer: what it is imported as, and how much of each case it does in some seconds."""

    module: str
    singles: int
    chains: int
    store: str = "postgres"


PEERS = {
    "pgqueuer": Peer("pgqueuer", 60_000, 2_000),
    "procrastinate": Peer("procrastinate", 4_000, 400),
    "dbos": Peer("dbos", 2_000, 300),
    "dramatiq": Peer("dramatiq", 20_000, 2_000, "redis"),
}
_OURS = Peer("noetl_mcp", 60_000, 10_000)


@dataclass(frozen=True, slots=True)
class Setting:
    """Which peers take part, by which interpreter, and in how many rounds."""

    python: str
    names: tuple[str, ...] = tuple(PEERS)
    rounds: int = 2


def peers(server: Server, size: float, setting: Setting) -> dict[str, Any]:
    """Have everybody do the same in turns."""
    absent = {name: why for name in setting.names if (why := _missing(setting.python, PEERS[name]))}
    present = [name for name in setting.names if name not in absent]
    found: dict[str, Any] = {"rounds": setting.rounds, "absent": absent}
    failed: dict[str, dict[str, list[str]]] = {}
    for case in _CASES:
        rounds: dict[str, list[dict[str, Any]]] = {name: [] for name in ("noetl-mcp", *present)}
        for _ in range(setting.rounds):
            rounds["noetl-mcp"].append(_ours(server, case, size))
            for name in present:
                try:
                    rounds[name].append(_theirs(server, setting.python, name, case, size))
                except (Died, TooLong) as problem:  # it is not ours that broke
                    failed.setdefault(case, {}).setdefault(name, []).append(str(problem))
        found[case] = _compared(rounds)
    found["failed"] = failed
    return found


def _ours(server: Server, case: str, size: float) -> dict[str, Any]:
    steps, jobs = _amount(_OURS, case, size)
    found = rate(server, chain(steps), jobs, 2)
    return {
        "steps_per_s": found["steps_per_s"],
        "worker_us": found["python_us"],
        "store_us": found["whole_server_us"],
        "queued_per_s": found["submitted_per_s"],
    }


def _theirs(server: Server, python: str, name: str, case: str, size: float) -> dict[str, Any]:
    peer = PEERS[name]
    _, jobs = _amount(peer, case, size)
    with _store(server, peer) as (url, cpu):
        command = [python, str(_SCRIPTS / f"{name}_jobs.py")]
        command += ["--url", url, "--case", case, "--jobs", str(jobs)]
        with tempfile.TemporaryFile() as errors:
            script = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
            )
            try:
                said, of_store = _heard(script, cpu)
            except Died as problem:
                errors.seek(0)
                raise Died(f"{problem}: {_cause(errors.read())}") from None
            finally:
                script.terminate()
                script.wait(10)
    return {
        "steps_per_s": round(said["steps"] / said["seconds"]),
        "worker_us": round(said["python"] / said["steps"] * 1e6, 1),
        "store_us": round(of_store / said["steps"] * 1e6, 1),
        "queued_per_s": said["enqueued_per_s"],
    }


def _cause(said: bytes) -> str:
    """Return the lines of a trace that name errors: the first one is often the cause."""
    lines = said.decode(errors="replace").splitlines()
    named = [line for line in lines if _ERROR.match(line)]
    return " / ".join(dict.fromkeys(named or lines[-5:]))[:2000]


def _amount(peer: Peer, case: str, size: float) -> tuple[int, int]:
    """Return how many steps a job has, and how many jobs there are."""
    steps, jobs = (_STEPS, peer.chains) if case == "chain" else (1, peer.singles)
    return steps, max(20, int(jobs * size))


def _heard(
    script: "subprocess.Popen[bytes]", cpu: Callable[[], float]
) -> tuple[dict[str, Any], float]:
    """Read what a script says, and take the CPU of its store when it begins and ends."""
    assert script.stdout is not None
    said: dict[str, Any] = {}
    before = 0.0
    deadline = time.monotonic() + _SECONDS
    while "seconds" not in said:
        if not select.select([script.stdout], [], [], max(0.0, deadline - time.monotonic()))[0]:
            raise TooLong(f"{script.args!r} took more than {_SECONDS:.0f} s")
        line = script.stdout.readline()
        if not line:
            raise Died(f"it ended with {script.wait(10)}")
        said |= json.loads(line)
        if line.startswith(b'{"begun"'):
            before = cpu()
    return said, cpu() - before


def _compared(rounds: Mapping[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Return the medians of each, and how many times as fast we are."""
    found: dict[str, Any] = {}
    for name, many in rounds.items():
        if not many:
            continue
        found[name] = {
            key: round(statistics.median(one[key] for one in many), 1) for key in many[0]
        }
        found[name]["each_round"] = [one["steps_per_s"] for one in many]
    ours = found["noetl-mcp"]
    for name, one in found.items():
        if name != "noetl-mcp":
            one["we_are_times_as_fast"] = round(ours["steps_per_s"] / one["steps_per_s"], 2)
            spent = one["worker_us"] + one["store_us"]
            one["its_cpu_in_ours"] = round(spent / (ours["worker_us"] + ours["store_us"]), 2)
    return found


def _missing(python: str, peer: Peer) -> str | None:
    """Return why a peer cannot take part."""
    asked = [python, "-c", f"import {peer.module}"]
    if subprocess.run(asked, capture_output=True, check=False).returncode:
        return f"{peer.module} is not installed for {python}"
    if peer.store == "redis" and which("redis-server") is None:
        return "there is no redis-server"
    return None


@contextmanager
def _store(server: Server, peer: Peer) -> Iterator[tuple[str, Callable[[], float]]]:
    """Yield the address of an empty store of a peer, and what tells the CPU it has used."""
    if peer.store == "redis":
        with _redis() as (url, pid):
            yield url, lambda: processes.seconds_of_all(pid)
        return
    name = f"bench_{peer.module}"
    with server.connect("peer", database="postgres") as connection:
        drop = f"drop database if exists {name} with (force)".encode()
        connection.execute(drop)
        connection.execute(f"create database {name}".encode())
        try:
            yield server.beside(name, as_url=True), server.cpu
        finally:
            connection.execute(drop)


@contextmanager
def _redis() -> Iterator[tuple[str, int]]:
    """Have a Redis that keeps nothing, as those who want it fast run it."""
    with tempfile.TemporaryDirectory(prefix="noetl-bench-redis-") as folder:
        socket = f"{folder}/socket"
        options = ["--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no"]
        process = subprocess.Popen(
            ["redis-server", *options, "--dir", folder], stdout=subprocess.DEVNULL
        )
        try:
            deadline = time.monotonic() + 10
            while not Path(socket).exists():
                if process.poll() is not None or time.monotonic() > deadline:
                    raise Died("redis-server does not come up")
                time.sleep(0.02)
            yield f"unix://{socket}", process.pid
        finally:
            process.terminate()
            process.wait(10)


__all__ = ["PEERS", "Peer", "Setting", "peers"]
