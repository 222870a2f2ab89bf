"""Whether a step costs the same however much there is: in the queue, in the log, in one fan.

The load is the same each time; only what lies beside it grows. CPU is compared, not rates.
"""

from collections.abc import Callable, Sequence
from typing import Any

from speed.books import begin, chain, clone, fan
from speed.server import Server
from speed.working import per_step, worked_off

QUEUED = (1, 10_000, 100_000, 1_000_000)
LOGGED = (0, 1_000_000, 10_000_000)
WIDTHS = (100, 1_000, 10_000)
_LOAD = 20_000
_ITEMS = 20_000
_FLAT = 1.3
_WINDOW = 100
_WORKERS = 2


def growth(server: Server, size: float) -> dict[str, Any]:
    """Measure the three ways to grow."""
    server.demand_ours("growth")
    load = max(500, int(_LOAD * min(1.0, size * 4)))

    def scaled(counts: Sequence[int]) -> list[int]:
        return sorted({max(min(one, 1), int(one * min(1.0, size))) for one in counts})

    return {
        "load": load,
        "queued": _each(scaled(QUEUED), lambda count: queued(server, count, load)),
        "logged": _each(scaled(LOGGED), lambda count: logged(server, count, load)),
        "fan_in_windows": _each(_widths(size), lambda width: fanned(server, width, _WINDOW, size)),
        "fan_wide_open": _each(_widths(size), lambda width: fanned(server, width, width, size)),
    }


def _widths(size: float) -> list[int]:
    """Return the widths; a small size leaves the widest out, for widths are what is measured."""
    return [one for one in WIDTHS if one <= 10_000 * min(1.0, size * 10)] or [WIDTHS[0]]


def _each(counts: Sequence[int], measure: Callable[[int], dict[str, Any]]) -> dict[str, Any]:
    """Measure each size, and say whether the largest costs what the smallest does."""
    found = {str(count): measure(count) for count in counts}
    costs = [one["python_us"] + one["postgres_us"] for one in found.values()]
    ratio = round(costs[-1] / costs[0], 2)
    return {"by_size": found, "largest_to_smallest": ratio, "is_flat": ratio <= _FLAT}


def queued(server: Server, count: int, load: int) -> dict[str, Any]:
    """Work off as many single steps while so many more of them wait."""
    server.clear()
    (original,), _ = begin(server, chain(1), 1)
    clone(server, original, count + load - 1, ("execution", "step", "event", "ready"))
    return _cost(server, load)


def logged(server: Server, count: int, load: int) -> dict[str, Any]:
    """Work off chains beside a history of so many events, with its executions and steps."""
    server.clear()
    if count:
        (original,), _ = begin(server, chain(10), 1)
        worked_off(server, workers=1, slots=10, seconds=60)
        with server.connect("count") as connection:
            row = connection.execute(
                "select count(*) from noetl.event where execution_id = %s", (original,)
            ).fetchone()
        clone(server, original, count // (row[0] if row else 1), ("execution", "step", "event"))
    begin(server, chain(10), load // 10)
    return _cost(server, None)


def fanned(server: Server, width: int, window: int, size: float) -> dict[str, Any]:
    """Go over as many items in all, in fans of a width, so many side by side in each."""
    server.clear()
    items = max(width, int(_ITEMS * min(1.0, size * 4)))
    rows = {"rows": list(range(width))}
    begin(server, fan(window), max(1, items // width), rows)
    return _cost(server, None)


def _cost(server: Server, most: int | None) -> dict[str, Any]:
    spent, of_server = worked_off(server, workers=_WORKERS, slots=500, seconds=600, most=most)
    server.clear()
    found = per_step(spent, of_server)
    names = ("steps", "steps_per_s", "python_us", "postgres_us", "whole_server_us", "rss_mb")
    return {name: found[name] for name in names}


__all__ = ["growth"]
