"""Whether a step with `repeat` is done again, and what its rounds gathered.

Settles nothing; raises what the step fails with.
"""

from collections.abc import Mapping
from typing import Any

from noetl_mcp.broker.asked import Asked, openly, plain, truth
from noetl_mcp.broker.results import Known
from noetl_mcp.diagnostics import shorten
from noetl_mcp.queue.encode import encode
from noetl_mcp.tasks.calls import Failed
from noetl_mcp.worker.again import fitted_repeat, names_in
from noetl_mcp.worker.settle import Work

_MOST_KEPT = 10_000


class NotReached(Failed):
    """A step was done as often as it may be, and what it was repeated for is not so."""

    def __init__(self, rounds: int, condition: str, answer: Any) -> None:
        still = '"until" was still false' if condition == "until" else '"while" was still true'
        times = "1 round" if rounds == 1 else f"{rounds} rounds"
        details = {"rounds": rounds, "result": answer}
        if len(encode(answer)) > _MOST_KEPT:
            details["result"] = f"{shorten(encode(answer))} (too large to be kept here)"
        super().__init__("not-reached", f"after {times} {still}", retriable=False, details=details)


def repeats(
    work: Work, answer: Any, scope: Mapping[str, object], text: str
) -> tuple[float, str] | None:
    """Return the wait before another round and what is kept till then, or None when it is over.

    `text` is the answer as it is stored; the next round reads it where its settings name `result`.

    Raises NotReached after the last round, unless the step says that it may go on so.
    """
    tree = work.node.care.get("repeat")
    if tree is None:
        return None
    said = tree.render(scope)
    openly(said, ("collect",))
    bounds = fitted_repeat(said, work.node.name)
    kept = work.kept
    rounds = kept.get("rounds", 0) + 1
    until, goes_on = said.get("until"), said.get("while")
    over = truth(until) if until is not None else not truth(goes_on)
    if over:
        return None
    if rounds >= bounds.max:
        if bounds.on_max == "continue":
            return None
        raise NotReached(rounds, "while" if until is None else "until", answer)
    gathered = kept.get("collected", [])
    if said.get("collect"):
        gathered = [*gathered, *_gathered(said["collect"], answer)]
    note = {"rounds": rounds, "collected": gathered, "attempt": work.lease.attempt}
    if _looks_back(work):
        note["last"] = text
    return bounds.delay or 0.0, encode(note)


def _looks_back(work: Work) -> bool:
    """Whether what a round is given depends on what the one before gave."""
    more, plan = work.node.more, work.run.program.plan
    return any("result" in names_in(more.get(key), plan) for key in ("settings", "input", "auth"))


def collected(work: Work, answer: Any, text: str) -> tuple[Any, str]:
    """Return the result of a step that was repeated: what was gathered, if it gathers."""
    tree = work.node.care["repeat"]
    part = tree.part("collect")
    if part is None:
        return answer, text
    own = Asked(work.run, work.node, work.item, Known("done", answer))
    said = plain(part.render(own.scope(work.node)), "collect")
    if not said:
        return answer, text
    kept = work.kept
    everything = [*kept.get("collected", []), *_gathered(said, answer)]
    return everything, encode(everything)


def _gathered(said: Any, answer: Any) -> list[Any]:
    """Return what a round adds: a list adds its items, anything else itself."""
    value = answer if said is True else said
    return list(value) if isinstance(value, list) else [value]


__all__ = ["NotReached", "collected", "repeats"]
