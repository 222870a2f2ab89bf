"""Tell what a dry run found: one line for each step, what each write would send, and the verdict.

Lines fit the terminal; long bodies are cut where everybody sees it. Decides nothing.
"""

import re
import shutil
import textwrap
from collections import Counter
from collections.abc import Iterator

from noetl_mcp.cli.columns import echo
from noetl_mcp.queue.encode import decode
from noetl_mcp.queue.lease import State
from noetl_mcp.worker.rehearsal import Rehearsed
from noetl_mcp.worker.rehearsed_summary import called, place, summary_of
from noetl_mcp.worker.rehearsed_writes import Write

_WORDS = 11
_LONGEST_NAME = 24
_MOST_LINES = 3
_MOST_ITEMS = 3
_LEAST_WIDTH = 40
_TAG = re.compile(r"\{\{.*?\}\}")
_TIED = "\x00"  # a blank at which no line is broken


def tell(found: Rehearsed) -> None:
    """Print what was found: steps and verdict on standard error, writes on standard output."""
    width = max(_LEAST_WIDTH, shutil.get_terminal_size((80, 24)).columns)
    labels = [called(one) for one in found.writes]
    labels += [state[0] for state in found.states]
    labels += [name for name in found.unknown if name != "the result"]
    column = min(_LONGEST_NAME, max(map(len, labels), default=0))
    for word, name, text in _steps(found):
        _print(_row(word, name, [text], column, width), err=True)
    for line in _writes(found, column, width):
        echo(line)
    for line in textwrap.wrap(f"dry run: {summary_of(found)}", width, subsequent_indent="  "):
        echo(line, err=True)


def _steps(found: Rehearsed) -> Iterator[tuple[str, str, str]]:
    """Return a word, the name and what there is to say of each step that is no write."""
    writes = {place(one) for one in found.writes}
    told = set()
    for name, state, _, error in found.states:
        told.add(name)
        if name in writes:
            continue
        if name in found.unknown:
            yield "unknown", name, found.reasons.get(name, "")
            continue
        message = str(decode(error).get("message", "")) if error else ""
        word = State(state).name.lower()
        if name in found.perhaps and state == State.DONE:
            word = "perhaps"
        yield word, name, message or found.assumed.get(name, "")
    for name in found.unknown:
        if name not in told and name not in writes and name != "the result":
            yield "unknown", name, found.reasons.get(name, "")


def _writes(found: Rehearsed, column: int, width: int) -> Iterator[str]:
    """Return the lines of all writes; of many items alike the first ones stand for the rest."""
    totals = Counter(map(_alike, found.writes))
    shown: Counter[tuple[object, ...]] = Counter()
    for one in found.writes:
        alike = _alike(one)
        shown[alike] += 1
        if shown[alike] <= _MOST_ITEMS:
            yield from _row(_word(one), called(one), _said(one), column, width)
        elif shown[alike] == _MOST_ITEMS + 1:
            rest = f"{totals[alike] - _MOST_ITEMS} more of these; --json shows all"
            yield from _row(_word(one), "…", [rest], column, width)


def _alike(one: Write) -> tuple[object, ...]:
    """Return what writes have in common that need not all be shown."""
    return (place(one), one.verdict, one.perhaps, one.planned.code)


def _word(one: Write) -> str:
    if one.verdict != "allowed":
        return one.verdict
    return "might write" if one.perhaps else "would write"


def _said(one: Write) -> list[str]:
    """Return the parts of what is said of a write; each begins on a line of its own if it must."""
    kind = "" if one.task == "http" else f"{one.task}: "
    parts = [f"{kind}{one.deed.head}".removesuffix(": "), one.deed.body]
    if one.why:
        parts.append(f"{one.planned.code}: {one.why}")
    if one.unknown:
        parts.append(f"not known before it runs: {', '.join(one.unknown)}")
    if one.perhaps and one.verdict != "allowed":
        parts.append("reached only perhaps")
    for bound in one.bounds:
        parts.append(f"{bound.bound} {bound.expected}: {_held(bound.held)}")
    return parts


def _held(held: object) -> str:
    return {True: "holds", False: "does not hold"}.get(held, str(held))  # type: ignore[call-overload,no-any-return]


def _row(word: str, name: str, parts: list[str], column: int, width: int) -> list[str]:
    """Return the lines of one step: the word, the name, and beside them what is said of it."""
    begin = f"{word:<{_WORDS}}  {name:<{column}}"
    indent = _WORDS + column + 4
    if indent > width // 2:
        indent = 4
    told = [part for part in parts if part]
    lines = [line for part in _joined(told, width - indent) for line in _cut(part, width - indent)]
    if len(name) > column or indent == 4:
        return [begin.rstrip(), *(" " * indent + line for line in lines)]
    first, *rest = lines or [""]
    return [f"{begin}  {first}".rstrip(), *(" " * indent + line for line in rest)]


def _joined(parts: list[str], room: int) -> list[str]:
    """Put the first two parts on one line where there is room for both."""
    if len(parts) > 1 and len(parts[0]) + 1 + len(parts[1]) <= room:
        return [f"{parts[0]} {parts[1]}", *parts[2:]]
    return parts


def _cut(text: str, room: int) -> list[str]:
    """Break a text into lines; say of a long one how long it is and where the whole stands."""
    plain = _TAG.sub(lambda found: found[0].replace(" ", _TIED), " ".join(text.split()))
    lines = textwrap.wrap(plain, room, break_on_hyphens=False) or [""]
    lines = [line.replace(_TIED, " ") for line in lines]
    if len(lines) <= _MOST_LINES:
        return lines
    return [*lines[:_MOST_LINES], f"… {len(text):,} characters; --json shows all"]


def _print(lines: list[str], *, err: bool) -> None:
    for line in lines:
        echo(line, err=err)


__all__ = ["tell"]
