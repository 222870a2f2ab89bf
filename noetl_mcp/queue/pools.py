"""How queues are named: the pool that people name, then the form of the plan, then whether a step
computes. Decides nothing.

A worker takes from the queues of its pools up to the form it knows, so that steps of newer plans
are never handed to it.
"""

from collections.abc import Iterable

FIRST_FORM = 1
POOL = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
"""What people may call a pool; every other character may be a mark."""
_FORM, _COMPUTES = "^", "~"
_LIMITED, _ALONE, _ASIDE = "=", "!", "%"
ASIDE_POOL = f"{_ASIDE}aside"
"""Where steps wait that only who started their execution may do: no other worker serves it."""


def queue_name(pool: str, form: int = FIRST_FORM, *, computes: bool = False) -> str:
    """Return the name of a queue."""
    marked = pool if form <= FIRST_FORM else f"{pool}{_FORM}{form}"
    return f"{marked}{_COMPUTES}" if computes else marked


def queues_behind(pools: Iterable[str], form: int = FIRST_FORM) -> tuple[str, ...]:
    """Return every queue of these pools that whoever knows plans up to a form may take from."""
    return tuple(
        queue_name(pool, one, computes=computes)
        for pool in pools
        for one in range(FIRST_FORM, form + 1)
        for computes in (False, True)
    )


def aside(queue: str) -> str:
    """Return the queue in which a step waits for the one worker that may do it."""
    return f"{ASIDE_POOL}{_COMPUTES}" if is_computing(queue) else ASIDE_POOL


def is_computing(queue: str) -> bool:
    """Whether the steps in a queue keep a processor busy."""
    return queue.endswith(_COMPUTES)


def pool_of(queue: str) -> str:
    """Return the pool that people name, of a queue."""
    return queue.removesuffix(_COMPUTES).partition(_FORM)[0]


def form_of(queue: str) -> int:
    """Return the form of the plans whose steps wait in a queue."""
    return int(queue.removesuffix(_COMPUTES).partition(_FORM)[2] or FIRST_FORM)


def pools_of(queues: Iterable[str]) -> set[str]:
    """Return the pools that people name, but for queues that are served without being named."""
    return {pool_of(queue) for queue in queues if not queue.startswith((_LIMITED, _ALONE, _ASIDE))}


__all__ = [
    "ASIDE_POOL",
    "FIRST_FORM",
    "POOL",
    "aside",
    "form_of",
    "is_computing",
    "pool_of",
    "pools_of",
    "queue_name",
    "queues_behind",
]
