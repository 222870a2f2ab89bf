"""Tell how an execution ended: its result, a timeline of its steps, or the story of its failure."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from noetl_mcp.broker.progress import Progress, Step
from noetl_mcp.broker.records import Records
from noetl_mcp.broker.typed import typed
from noetl_mcp.cli.columns import echo
from noetl_mcp.cli.failing import details_of, first_item, next_of, next_of_cancelled
from noetl_mcp.cli.screen import WORDS, began_of, is_behind
from noetl_mcp.looking import Seen
from noetl_mcp.queue.encode import decode
from noetl_mcp.queue.lease import State, Status

if TYPE_CHECKING:
    from noetl_mcp.assembly import Home

OPERATION_FAILED = 1
_BAR = 32
_MOST_ROWS = 60
_LAST_LINES = 10


def tell_end(
    home: "Home",
    execution_id: int,
    seen: Seen,
    *,
    as_json: bool,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> int:
    """Tell how an execution ended, and return the exit code: 0 when it completed.

    `more` is printed with the rest of the JSON.
    """
    with home.connect("run") as connection:
        if as_json:
            from noetl_mcp.broker.show import shown

            _print_json({**shown(connection, execution_id), **more})
        else:
            _tell(Progress(connection, execution_id), Records(connection), seen)
    return 0 if seen.standing.status == Status.COMPLETED else OPERATION_FAILED


def _tell(progress: Progress, records: Records, seen: Seen) -> None:
    for line in timeline(_as_begun(seen, progress.began())):
        echo(line, err=True)
    found = records.ended(progress.id)
    status, result, error = found or (Status.FAILED, None, None)
    took = ""
    if seen.standing.ended is not None:
        took = f" in {(seen.standing.ended - seen.since).total_seconds():.2f} s"
    word = Status(status).name.lower()
    echo(f"execution {progress.id} {word}{took}", err=True)
    if status == Status.COMPLETED:
        if result is not None and result != "null":
            _print_json(decode(records.whole(result)))
        return
    for line in story(progress, seen, decode(error) if error else {}):
        echo(line, err=True)


def _as_begun(seen: Seen, began: Mapping[int, datetime]) -> Seen:
    """Return it with the times that `show` tells: from the first attempt, not the last lease."""
    steps = [
        one._replace(began_at=began[one.idx]) if not one.item and one.idx in began else one
        for one in seen.steps
    ]
    return replace(seen, steps=steps)


def timeline(seen: Seen) -> list[str]:
    """Return a line for each step that ran: name, state, attempts, and when it ran as a bar.

    What was over before the present round is left out, and so is what the compiler added, unless it
    failed.
    """
    ran = [
        one._replace(began_at=began_of(seen, one))
        for one in seen.steps_now
        if one.began_at and one.ended_at and not one.item and not is_behind(seen, one)
    ]
    ran.sort(key=lambda one: (one.began_at, one.idx))
    if not ran:
        return []
    names = [seen.names.of(one.idx) for one in ran[:_MOST_ROWS]]
    width = max(map(len, names))
    begin, end = seen.since, max(one.ended_at for one in ran if one.ended_at)
    lines = [""]
    for name, step in zip(names, ran, strict=False):
        word = WORDS.get(State(step.state), "")
        times = f"x{step.attempt}" if step.attempt > 1 else ""
        took = _seconds(step)
        lines.append(
            f"  {name:<{width}}  {word:<9} {times:>4} {took:>8.2f} s  {_bar(step, begin, end)}"
        )
    if len(ran) > _MOST_ROWS:
        lines.append(f"  … and {len(ran) - _MOST_ROWS} more")
    return lines


def story(progress: Progress, seen: Seen, error: Mapping[str, Any]) -> list[str]:
    """Return what is known of a failure, and what to do about it."""
    number = progress.id
    if seen.standing.status == Status.CANCELLED:
        return next_of_cancelled(number)
    name = error.get("step")
    step = next((one for one in seen.steps if _is_named(seen, one, name)), None)
    attempt = error.get("attempt") or (step.attempt if step is not None else None)
    where = f"step '{name}' " if name else ""
    times = f" (attempt {attempt})" if attempt and attempt > 1 else ""
    first, *others = str(error.get("message") or "no reason was given").splitlines()
    lines = [
        f"{where}failed{times}: {first} [{error.get('code', 'error')}]",
        *(f"  {line}" for line in others),
        *(f"  {line}" for line in details_of(error)),
    ]
    if step is not None:
        words = progress.last_words(step.idx, step.item, _LAST_LINES)
        lines += ["it printed last:", *(f"  | {word}" for word in words)] if words else []
    details = error.get("details")
    if isinstance(details, dict) and details.get("child"):
        lines.append(f"more: {typed('show', details['child'])}")
    elif name:
        item = first_item(error)
        is_alone = step is not None and step.idx in seen.names.iterators.values()
        which = f"{name}[{item}]" if item is not None and is_alone else name
        lines.append(f"more: {typed('show', number, which)}")
    return lines + next_of(number, error)


def _is_named(seen: Seen, step: Step, name: object) -> bool:
    return step.state in (State.FAILED, State.DEAD) and seen.names.of(step.idx) == name


def _seconds(step: Step) -> float:
    assert step.began_at is not None
    assert step.ended_at is not None
    return max(0.0, (step.ended_at - step.began_at).total_seconds())


def _bar(step: Step, begin: datetime, end: datetime) -> str:
    whole = max((end - begin).total_seconds(), 1e-6)
    assert step.began_at is not None
    at = int((step.began_at - begin).total_seconds() / whole * _BAR)
    at = min(max(at, 0), _BAR - 1)
    long = min(max(1, round(_seconds(step) / whole * _BAR)), _BAR - at)
    return f"|{' ' * at}{'=' * long}{' ' * (_BAR - at - long)}|"


def _print_json(value: Any) -> None:
    import orjson  # only here: every other use of the command does without it

    echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())


__all__ = ["story", "tell_end", "timeline"]
