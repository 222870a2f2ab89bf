"""Take the event of the newer dialects out of a condition: a step is done, or it failed."""

import re
from typing import Literal, NamedTuple

from noetl_mcp.playbook.dialects.conditions import bare
from noetl_mcp.playbook.dialects.reading import Reading, shown
from noetl_mcp.playbook.node import Node
from noetl_mcp.rules import dialect

DONE = frozenset(("step.done", "call.done", "loop.done", "step.exit", "step.enter", "tool.done"))
FAILED = frozenset(("step.failed", "call.error", "call.failed", "step.error", "tool.error"))
_EVENT = re.compile(
    r"""event\.name\s*==\s*(['"])([\w.]+)\1|event\.name\s+in\s*[\[(]([^][()]*)[\])]"""
)


_OUTCOME = re.compile(r"""\b(?:output|outcome)\.status\s*([!=]=)\s*(['"])(\w+)\2""")
_BAD = frozenset(("error", "failed", "failure"))
_GOOD = frozenset(("ok", "success", "succeeded", "completed", "done"))
Outcome = Literal["done", "failed"]


class Awaited(NamedTuple):
    """What a condition waits for, and what is left of it."""

    outcome: Outcome
    when: Node | None


def split_outcome(expression: str) -> tuple[Outcome | None, str]:
    """Take `output.status == 'error'` and the like out of a conjunction."""
    found = _OUTCOME.search(expression)
    if found is None or found[3] not in _BAD | _GOOD:
        return None, expression
    rest = _without(expression, found.group(0))
    if rest is None:
        return None, expression
    failed = (found[3] in _BAD) == (found[1] == "==")
    return "failed" if failed else "done", rest


def awaited(when: Node | None, reading: Reading) -> Awaited:
    """Split a condition; what cannot be split is reported and kept whole."""
    inner = bare(when)
    if when is None or inner is None:
        return Awaited("done", when)
    if "event.name" not in inner:
        outcome, left_over = split_outcome(inner)
        if outcome is None:
            return Awaited("done", when)
        return Awaited(outcome, when.become("{{ " + left_over + " }}") if left_over else None)
    inner = _as_one(inner)
    found = _EVENT.search(inner)
    rest = _without(inner, found.group(0)) if found else None
    if found is None or rest is None or "event.name" in rest:
        reading.say(dialect.EVENT_CONDITION, when, text=shown(when))
        return Awaited("done", when)
    names = {found[2]} if found[2] else set(re.findall(r"[\w.]+", found[3]))
    left = when.become("{{ " + rest + " }}") if rest else None
    unknown = sorted(names - FAILED - DONE)
    if unknown:
        near = reading.report.near(unknown[0], FAILED | DONE)
        reading.say(dialect.UNKNOWN_EVENT, when, suggestion=near, name=unknown[0])
    elif not (names <= DONE or names <= FAILED):
        reading.say(dialect.EVENT_CONDITION, when, text=shown(when))
    return Awaited("failed" if names <= FAILED else "done", left)


def _as_one(inner: str) -> str:
    """Write `event.name == 'a' or event.name == 'b'` as one question, when it is nothing more."""
    parts = [part.strip() for part in inner.split(" or ")]
    names = [found[2] for part in parts if (found := _EVENT.fullmatch(part)) and found[2]]
    if len(parts) < 2 or len(names) != len(parts):
        return inner
    return "event.name in [" + ", ".join(f"'{name}'" for name in names) + "]"


def _without(inner: str, event: str) -> str | None:
    """Take `event` out of a conjunction; None when it is not plainly one part of it."""
    if inner in (event, f"({event})"):
        return ""
    before, _, after = inner.partition(event)
    before, after = before.strip(), after.strip()
    if not before and after.startswith("and "):
        rest = after.removeprefix("and ").strip()
    elif not after and before.endswith(" and"):
        rest = before.removesuffix(" and").strip()
    else:
        return None
    outside = re.sub(r"\([^()]*\)|'[^']*'|\"[^\"]*\"", "", rest)
    return None if re.search(r"\bor\b", outside) else rest
