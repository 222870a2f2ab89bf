"""Show how an execution goes on: plain lines, or a moving picture where there is a terminal.

Writes to standard error only. Asks nothing and decides nothing.
"""

import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from noetl_mcp.broker.progress import Step
from noetl_mcp.broker.show import at_clock
from noetl_mcp.broker.typed import typed
from noetl_mcp.cli.columns import echo, tamed
from noetl_mcp.looking import RESOLVED, RETRY, Seen
from noetl_mcp.queue.lease import Halt, State

if TYPE_CHECKING:
    from rich.console import RenderableType

WORDS = {
    State.DONE: "done",
    State.FAILED: "failed",
    State.SKIPPED: "skipped",
    State.CANCELLED: "cancelled",
    State.DEAD: "dead",
}
_MARKS = {"done": "[green]✓[/]", "failed": "[red]✗[/]", "dead": "[red]✗[/]"}
_MOST_LIVE = 12


class Screen(Protocol):
    """Where progress goes."""

    def show(self, seen: Seen) -> None: ...
    def say(self, text: str) -> None: ...
    def close(self) -> None: ...


class Silent:
    """Shows nothing but what a person must know."""

    def show(self, seen: Seen) -> None:
        """Show nothing."""

    def say(self, text: str) -> None:
        """Write a sentence."""
        echo(text, err=True)

    def close(self) -> None:
        """Nothing is open."""


class Plain:
    """One line for each step that is over, each line that was printed, and each thing to do."""

    def __init__(self) -> None:
        self._shown: set[tuple[int, int]] = set()
        self._asked: set[str] = set()

    def show(self, seen: Seen) -> None:
        """Write what is new."""
        for line in self.news(seen):
            self.line(line)
        for text in wanted(seen):
            if text not in self._asked:
                self._asked.add(text)
                self.line(f"! {text}")

    def news(self, seen: Seen) -> Iterable[str]:
        """Return lines on what was printed, tried again and ended since the last look."""
        for told in seen.told:
            name = "noetl" if told.idx is None else seen.names.of(told.idx, told.item or 0)
            if told.kind == RETRY:
                yield f"  {name}: {_again(told.data, told.attempt)}"
            elif told.kind == RESOLVED:
                yield f"  {name}: {_settled(told.data)}"
            else:
                yield f"  {name} | {told.data.get('text', '')}"
        over = [one for one in seen.steps_now if one.is_settled and not one.item]
        for step in sorted(over, key=_when):
            key = (step.idx, step.attempt)
            if key not in self._shown and not is_behind(seen, step):
                self._shown.add(key)
                yield self.ended(seen, step)

    def ended(self, seen: Seen, step: Step) -> str:
        """Return the line of a step that is over."""
        word = WORDS[State(step.state)]
        return f"{word:<9} {seen.names.of(step.idx)}{_details(seen, step)}"

    def line(self, text: str) -> None:
        """Write a line."""
        echo(text, err=True)

    def say(self, text: str) -> None:
        """Write a sentence."""
        self.line(text)

    def close(self) -> None:
        """Nothing is open."""


class Moving(Plain):
    """The same lines, and below them what is at work now."""

    def __init__(self) -> None:
        super().__init__()
        from rich.console import Console
        from rich.live import Live

        self.console = Console(stderr=True, highlight=False)
        self._live = Live(console=self.console, refresh_per_second=12, transient=True)
        self._live.start()

    def show(self, seen: Seen) -> None:
        """Write what is new, and draw what goes on."""
        super().show(seen)
        self._live.update(self._picture(seen))

    def ended(self, seen: Seen, step: Step) -> str:
        """Return the line of a step that is over, marked."""
        word = WORDS[State(step.state)]
        mark = _MARKS.get(word, "[dim]·[/]")
        text = f"{_plain(seen.names.of(step.idx))}[dim]{_plain(_details(seen, step))}[/]"
        return f"{mark} {text if word in ('done', 'failed', 'dead') else f'[dim]{text} {word}[/]'}"

    def news(self, seen: Seen) -> Iterable[str]:
        """Return the same lines; what others wrote is no markup."""
        marked = (*_MARKS.values(), "[dim]")
        for line in super().news(seen):
            yield line if line.startswith(marked) else _plain(line)

    def line(self, text: str) -> None:
        """Write a line above the picture."""
        wanted = text.startswith("! ")
        self.console.print(f"[yellow]{_plain(text)}[/]" if wanted else text, soft_wrap=True)

    def say(self, text: str) -> None:
        """Write a sentence."""
        self.console.print(_plain(text), soft_wrap=True)

    def close(self) -> None:
        """Take the picture away."""
        self._live.stop()

    def _picture(self, seen: Seen) -> "RenderableType":
        from rich.progress_bar import ProgressBar
        from rich.spinner import Spinner
        from rich.table import Table

        now, table = datetime.now(UTC), Table.grid(padding=(0, 1))
        fans = {fan.idx: fan for fan in seen.fans}
        active = [
            one for one in seen.steps if not one.is_settled and not one.item and one.state > 0
        ]
        for step in active[:_MOST_LIVE]:
            name, fan = _plain(seen.names.of(step.idx)), fans.get(step.idx)
            if fan is not None and step.state == State.PARKED:
                bar = ProgressBar(total=fan.total, completed=fan.ended, width=30)
                failed = f" [red]{fan.failed} failed[/]" if fan.failed else ""
                table.add_row("", name, bar, f"{fan.ended}/{fan.total}{failed}")
                continue
            since = step.began_at or step.ready_at
            passed = "" if since is None else f"{max(0.0, (now - since).total_seconds()):.1f} s"
            spins = step.state == State.LEASED
            table.add_row(
                Spinner("dots") if spins else "·", name, f"[dim]{passed}[/]", _doing(step)
            )
        if len(active) > _MOST_LIVE:
            table.add_row("", f"[dim]… and {len(active) - _MOST_LIVE} more[/]", "", "")
        return table


def screen(*, as_json: bool) -> Screen:
    """Return what fits standard error."""
    if sys.stderr.isatty():
        return Moving()
    return Silent() if as_json else Plain()


def wanted(seen: Seen) -> list[str]:
    """Return what somebody must do, each with the command to type."""
    found, number = [], seen.number
    if seen.standing.halt == Halt.PAUSED:
        found.append(f"it is paused; go on with: {typed('resume', number)}")
    for step in seen.steps:
        name = seen.names.of(step.idx, step.item)
        if step.state == State.IN_DOUBT:
            why = step.fault.get("message", "nobody knows whether it was done")
            found.append(
                f"step '{name}' is in doubt ({why}); look whether it was done, then: "
                f"{typed('resolve', number, name)} --accept JSON, --retry or --abort"
            )
        elif step.state == State.PARKED and not step.is_answered:
            found += _answers(step, name, number)
    for pool in sorted(seen.unserved):
        found.append(
            f"steps wait for a worker of the pool '{pool}'; start one with: "
            f"noetl-mcp worker --pool {pool}"
        )
    return found


def _answers(step: Step, name: str, number: int) -> list[str]:
    waits = step.waits_for
    if "approve" in waits:
        said = waits["approve"] or {}
        who = " or ".join(said.get("who") or []) or "a person"
        return [
            f"step '{name}' waits for {who} to say yes or no{_told(said)}; answer with: "
            f"{typed('approve', number, name)}, or with --reject"
        ]
    if "callback" in waits:
        return [
            f"step '{name}' waits for an answer from outside{_told(waits['callback'] or {})}; "
            f"give it with: {typed('answer', number, name)} --value JSON"
        ]
    if "event" in waits:
        event = waits["event"]
        return [
            f"step '{name}' waits for the event '{event}'; "
            f"tell of it with: {typed('signal', number, event)}"
        ]
    return []


def _told(said: Mapping[str, object]) -> str:
    message = said.get("message")
    return f" ({message})" if message else ""


def _doing(step: Step) -> str:
    if step.state == State.LEASED:
        return f"attempt {step.attempt}" if step.attempt > 1 else ""
    if step.state == State.RETRYING:
        return _plain(f"again soon ({step.fault.get('message', '')})")
    if step.state == State.READY:
        return "[dim]waits for its turn[/]"
    if step.state == State.IN_DOUBT:
        return "[yellow]in doubt[/]"
    waits = step.waits_for
    if "child" in waits:
        return f"[dim]execution {waits['child']}[/]"
    for key, word in (("approve", "an approval"), ("callback", "an answer"), ("event", "an event")):
        if key in waits:
            return f"[yellow]waits for {word}[/]"
    if waits.get("until"):
        return f"[dim]waits until {at_clock(datetime.fromisoformat(waits['until']))}[/]"
    return "[dim]waits[/]"


def _details(seen: Seen, step: Step) -> str:
    parts = []
    began = began_of(seen, step)
    if began and step.ended_at:
        parts.append(f"{(step.ended_at - began).total_seconds():.2f} s")
    for fan in seen.fans:
        if fan.idx == step.idx:
            parts.append(f"{fan.ended} items" + (f", {fan.failed} failed" if fan.failed else ""))
    if step.attempt > 1:
        parts.append(f"{step.attempt} attempts")
    if step.fault:
        first, *others = str(step.fault.get("message") or "").splitlines() or [""]
        parts.append(f"{step.fault.get('code', 'error')}: {first}{' …' if others else ''}")
    return f"  {', '.join(parts)}" if parts else ""


def _again(data: object, attempt: int | None) -> str:
    said = data if isinstance(data, dict) else {}
    error = said.get("error") or {}
    delay = said.get("delay")
    when = f" in {delay:.2g} s" if isinstance(delay, (int, float)) else ""
    what = error.get("message") or error.get("code") or "it failed"
    return f"attempt {attempt} failed ({what}), again{when}"


def _settled(said: Mapping[str, object]) -> str:
    """Say how a doubt was settled, and by whom."""
    how = {"accept": "it was done", "retry": "it is done again", "abort": "it failed"}
    why = f": {said['reason']}" if said.get("reason") else ""
    return f"{said.get('by') or 'somebody'} says that {how.get(str(said.get('how')), 'so')}{why}"


def began_of(seen: Seen, step: Step) -> datetime | None:
    """When a step began; a turn begins with the first question to its model."""
    opening = f"{seen.names.of(step.idx)}.model.1"
    if opening not in seen.names.names:
        return step.began_at
    first = seen.names.names.index(opening)
    asked = next((one.began_at for one in seen.steps if one.idx == first and not one.item), None)
    return asked if asked and asked >= seen.since else step.began_at


def is_behind(seen: Seen, step: Step) -> bool:
    """Whether a step is of no interest: the compiler added it, and nothing is wrong with it."""
    return step.idx in seen.names.hidden and step.state not in (State.FAILED, State.DEAD)


def _when(step: Step) -> datetime:
    return step.ended_at or datetime.max.replace(tzinfo=UTC)


def _plain(text: str) -> str:
    """Return a text that rich and the terminal take for nothing else."""
    from rich.markup import escape

    return escape(tamed(text))


__all__ = [
    "WORDS",
    "Moving",
    "Plain",
    "Screen",
    "Silent",
    "began_of",
    "is_behind",
    "screen",
    "wanted",
]
