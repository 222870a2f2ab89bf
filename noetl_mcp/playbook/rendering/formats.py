"""Fill the `%` fields of a text. Refuses what would get too large before it is made."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from jinja2 import TemplateRuntimeError, Undefined

from noetl_mcp.playbook.rendering.guards import WIDTH_LIMIT, Budget, TooMuch, fits
from noetl_mcp.playbook.rendering.secret import Secret, atoms_of, changed, shown, uncovered
from noetl_mcp.playbook.rendering.wording import Words, holds_secret, word

_FIELD = re.compile(r"[#0\-+ ]*(\*|\d+)?(?:\.(\*|\d+)?)?[hlL]?")
_PRECISION = re.compile(r"\.(\d{1,5})")
_LONGEST_NAME = 1_000
_ESCAPES = 10  # characters that `%r` and `%a` may make of one
_DIGITS = 330  # characters of a number with a fraction


def filled(pattern: Words, values: Any, budget: Budget | None = None) -> Words:
    """Return a text with its `%` fields filled; values are written as in any template."""
    if isinstance(values, (Undefined, Iterator)):
        raise TemplateRuntimeError("a text cannot be filled with this value")
    budget = budget or Budget()
    covers = isinstance(pattern, Secret) or holds_secret(values, budget)
    text: str = shown(pattern)
    given = _worded(values, "%(" in text, budget)
    budget.spend((len(text) >> 8) + text.count("%"))
    fields, width, escaped = _measured(text)
    fits(len(text) + width + _room(given, fields, escaped))
    try:
        done: str = text % given
    except (TypeError, ValueError, LookupError) as error:
        reason = type(error).__name__ if covers else str(error)
        raise TemplateRuntimeError(f"the text cannot be filled: {reason}") from None
    fits(len(done))
    budget.spend(len(done) >> 8)
    if not covers:
        return done
    return changed(done, (*atoms_of(pattern, values), *_pieces(text, given)))


def _measured(text: str) -> tuple[int, int, bool]:
    """Count the fields and their widths, and say whether one escapes; refuse wide ones."""
    fields = width = 0
    escaped = False
    at = text.find("%")
    while at >= 0:
        at = _behind_name(text, at + 1)
        found = _FIELD.match(text, at)
        if found is None:
            break
        fields += 1
        for said in found.groups(default=""):
            if said == "*" or len(said) > 5 or int(said or 0) > WIDTH_LIMIT:
                raise TooMuch("a field of the text is too wide")
            width += int(said or 0)
        escaped = escaped or text.startswith(("r", "a"), found.end())
        at = text.find("%", found.end() + 1)
    return fields, width, escaped


def _behind_name(text: str, at: int) -> int:
    """Return the place behind a name in parentheses, which may hold further ones."""
    if not text.startswith("(", at):
        return at
    depth = 0
    for place, sign in enumerate(text[at : at + _LONGEST_NAME], at + 1):
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if not depth:
            return place
    raise TooMuch("a field of the text has a name that is too long or never ends")


def _pieces(text: str, given: Any) -> Iterator[str]:
    """Yield what fields such as `%.8s` leave of the values."""
    values = given.values() if isinstance(given, dict) else given
    for length in {int(found) for found in _PRECISION.findall(text)}:
        for value in values if isinstance(given, (dict, tuple)) else (given,):
            if isinstance(value, str):
                yield value[:length]


def _worded(values: Any, named: bool, budget: Budget) -> Any:
    if named and isinstance(values, Mapping):
        return {key: _field(item, budget) for key, item in values.items()}
    if isinstance(values, tuple):
        return tuple(_field(item, budget) for item in values)
    return _field(values, budget)


def _field(value: object, budget: Budget) -> object:
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        return value
    return uncovered(word(value, budget))


def _room(given: Any, fields: int, escaped: bool) -> int:
    """Return how many characters the values may take: names can be used again and again."""
    parts = given.values() if isinstance(given, dict) else given
    lengths = [_length(one) for one in (parts if isinstance(given, (dict, tuple)) else (given,))]
    room = max(lengths, default=0) * fields if isinstance(given, dict) else sum(lengths)
    return room * (_ESCAPES if escaped else 1)


def _length(value: object) -> int:
    if isinstance(value, str):
        return len(value)
    return _DIGITS + (value.bit_length() // 3 if isinstance(value, int) else 0)


__all__ = ["filled"]
