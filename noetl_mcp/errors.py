"""What a rule is. Knows no rule by name; the catalogue stands in `rules/`."""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "hint"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that can be wrong, and how it is told.

    `message` and `help` are filled with `str.format`; a code is never used for anything else.
    Why it matters, and how it looks wrong and right, stands in `rules/pages/NAME.md`.
    """

    code: str
    name: str
    severity: Severity
    message: str
    help: str


class NotReadable(Exception):
    """A file cannot be opened or read at all; its text says which and why."""
