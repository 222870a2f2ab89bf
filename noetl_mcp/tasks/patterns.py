"""Match an author's patterns within bounded work. It may say neither yes nor no, but never hangs.

A pattern is searched for by a matcher that takes time in proportion to the text. What that one does
not know (looking around, going back to a group) is left to the other, where it is surely quick.
"""

import re
import warnings
from functools import lru_cache

from pydantic_core import SchemaError, SchemaValidator, core_schema

MOST_WORK = 200_000_000  # about three seconds of the slowest patterns there are
_MOST_STATES = 10_000
_A_TRY = 10  # what one try of the other matcher costs
_MANY = 20
_COUNTED = re.compile(r"\{(\d{0,9}),?(\d{0,9})\}")
_REPEATED_GROUP = re.compile(r"\)[*+{]")
_BACK_TO_A_GROUP = re.compile(r"\\[1-9]|\(\?P=")
_SPELT_OTHERWISE = re.compile(r"\\[<>]|\[\[|&&|--|~~|\|\||\\b\{")  # the two read these differently


class Patterns:
    """Matches the texts of one payload, as long as all that together is a matter of moments."""

    def __init__(self, work: int = MOST_WORK) -> None:
        self._left = work

    def matches(self, pattern: str, text: str) -> bool | None:
        """Whether a pattern is found in a text; None where it would take too long to say."""
        linear = _linear(pattern)
        work = _work(pattern, text) if linear is not None else _tries(pattern, text) * _A_TRY
        if work > self._left:
            return None
        self._left -= work
        if linear is not None:
            return linear.isinstance_python(text)
        return compiled(pattern).search(text) is not None


def compiled(pattern: object) -> "re.Pattern[str]":
    """Return a pattern made ready, without a word about what Python merely finds odd."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return re.compile(str(pattern))


@lru_cache(maxsize=256)
def _linear(pattern: str) -> SchemaValidator | None:
    if _SPELT_OTHERWISE.search(pattern):
        return None
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))
    except SchemaError:
        return None


def _work(pattern: str, text: str) -> int:
    """Estimate the work of the matcher that is in proportion to the text."""
    counts = [max(map(int, filter(None, found))) for found in _found(pattern)]
    states = len(pattern) + sum(counts)
    if _REPEATED_GROUP.search(pattern):
        for one in counts:
            states = min(states * max(one, 1), _MOST_STATES)
    return len(text) * min(states, _MOST_STATES)


def _found(pattern: str) -> list[tuple[str, ...]]:
    return [found.groups() for found in _COUNTED.finditer(pattern) if any(found.groups())]


def _tries(pattern: str, text: str) -> int:
    """Estimate the tries of the matcher that goes back; where groups repeat there is no bound."""
    choices = sum(map(pattern.count, "*+?{|")) + len(_BACK_TO_A_GROUP.findall(pattern))
    if choices >= _MANY or _REPEATED_GROUP.search(pattern):
        return MOST_WORK + 1
    return int(min(float(len(text) + 1) ** (choices + 1), MOST_WORK + 1))


__all__ = ["MOST_WORK", "Patterns", "compiled"]
