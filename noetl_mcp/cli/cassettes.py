"""`run --record-to F` and `run --play-back F`: find the cassette, and tell what came of it."""

from pathlib import Path

import click

from noetl_mcp.cli.at_desk import by
from noetl_mcp.cli.columns import say
from noetl_mcp.cli.drifting import lines_of
from noetl_mcp.decks import Deck, Playing, Recording
from noetl_mcp.worker.cassette import NoCassette, demand_writable, read_tape

DRIFTED = 1


def deck_of(record_to: str | None, play_back: str | None) -> Deck | None:
    """Return what the calls go through; None when that is nothing."""
    try:
        if record_to is not None:
            demand_writable(Path(record_to))
            return Recording(Path(record_to), by())
        if play_back is not None:
            return Playing(Path(play_back), read_tape(Path(play_back)), by())
    except NoCassette as problem:
        raise click.ClickException(f"{problem}; nothing was started") from None
    return None


def tell(deck: Deck, code: int, *, as_json: bool) -> int:
    """Tell what a person should know of the cassette; return the exit code."""
    if isinstance(deck, Recording):
        return _tell_recorded(deck, code, as_json)
    return _tell_played(deck, code, as_json) if isinstance(deck, Playing) else code


def _tell_recorded(deck: Recording, code: int, as_json: bool) -> int:
    """Tell how much was recorded, or that it was not."""
    if deck.writer.trouble is not None:
        say(f"the cassette '{deck.path}' is not whole: {deck.writer.trouble}", err=True)
        return code or DRIFTED
    if not as_json:
        say(f"recorded {_calls(deck.writer.calls)} to {deck.path}", err=True)
    return code


def _tell_played(deck: Playing, code: int, as_json: bool) -> int:
    """Tell what is not as it was recorded; that is a failure."""
    if not as_json:
        if deck.tape.end is None:
            say(f"{deck.path} is a recording that broke off", err=True)
        for line in lines_of(deck.drift):
            say(line, err=True)
        if not deck.drift:
            say(f"played back {_calls(deck.calls)} from {deck.path}, all as recorded", err=True)
    return DRIFTED if deck.drift else code


def _calls(count: int) -> str:
    return "1 call" if count == 1 else f"{count} calls"


__all__ = ["deck_of", "tell"]
