"""Say what to do with a key that stands where no setting can. Part of the pass `bind`."""

from collections.abc import Mapping

from noetl_mcp.compiler.draft import Placed
from noetl_mcp.diagnostics import Report, closest
from noetl_mcp.playbook.dialects.loops import ITERATOR_KEYS
from noetl_mcp.playbook.dialects.steps import STEP_KEYS
from noetl_mcp.rules import shape

_INTERNAL = {"settings", "calls", "route", "iterator"}
_WRITTEN = {"name", "tool", "input", "desc", *ITERATOR_KEYS}
_GUESSES = {
    "code": "python",
    "script": "python",
    "url": "http",
    "endpoint": "http",
    "sql": "postgres",
    "command": "postgres",
    "query": "postgres",
    "path": "playbook",
}


def say_no_settings(kind: str, settings: Mapping[str, Placed], where: str, report: Report) -> None:
    """Report the settings of a step that takes none; one that lacks its type says so once."""
    guess = next((key for key in settings if kind == "router" and key in _GUESSES), None)
    if guess is not None:
        report.say(
            shape.SETTINGS_WITHOUT_TYPE,
            settings[guess].at,
            at_key=True,
            where=where,
            key=guess,
            guess=_GUESSES[guess],
        )
        return
    names = sorted((STEP_KEYS | _WRITTEN) - _INTERNAL)
    for key, placed in settings.items():
        report.say(
            shape.UNKNOWN_KEY,
            placed.at,
            at_key=True,
            suggestion=closest(key, names),
            where=where,
            key=key,
            known=", ".join(names),
        )
