"""Steps that ask a server: many quick ones, and a thousand that wait at once."""

from typing import Any

from speed import processes
from speed.answering import answering, peak
from speed.books import begin, chain
from speed.rates import rate
from speed.server import Server
from speed.working import per_step, worked_off

_FLIGHT, _WORKERS = 64, 2
_WAITING = 1_000
_WAITS_MS = 4_000


def calls(server: Server, size: float) -> dict[str, Any]:
    """HTTP steps with 64 in flight, by two workers: reads, and writes that are confirmed."""
    found: dict[str, Any] = {"in_flight": _FLIGHT}
    count = max(_FLIGHT, int(20_000 * size))
    with answering() as (address, pid):
        read = f", url: '{address}/doors?page=2'"
        write = f", url: '{address}/doors', method: POST, json: {{id: 7}}, confirm: true"
        for name, more in (("read", read), ("write", write)):
            before = processes.seconds(pid)
            one = rate(server, chain(1, "http", more), count, _WORKERS, slots=_FLIGHT // _WORKERS)
            one["answering_us"] = round((processes.seconds(pid) - before) / one["steps"] * 1e6, 1)
            found[name] = one
    return found


def waiting(server: Server, size: float) -> dict[str, Any]:
    """Steps that wait for a slow server, all at once in one process."""
    count = _WAITING if size >= 0.1 else int(_WAITING * size * 10) or 1
    with answering() as (address, _):
        begin(server, chain(1, "http", f", url: '{address}/wait/{_WAITS_MS}'"), count)
        spent, of_server = worked_off(server, workers=1, slots=_WAITING, seconds=120)
        at_once = peak(address)
    found = per_step(spent, of_server)
    server.clear()
    return {
        "waiting_at_once": at_once,
        "of": count,
        "each_waits_ms": _WAITS_MS,
        "rss_mb": found["rss_mb"],
        **{name: found[name] for name in ("steps", "seconds", "python_us", "postgres_us")},
    }


__all__ = ["calls", "waiting"]
