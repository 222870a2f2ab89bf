"""How much one template may do: the limits, the budget of a render, and the refusal.

Counts work instead of time, so that the same template and values always end the same way.
"""

from typing import Any

from jinja2 import TemplateRuntimeError

SOURCE_LIMIT = 1024 * 1024  # characters of one template
CODE_LIMIT = 50_000  # characters of one template inside its tags, quoted texts left out
PLACE_LIMIT = 10_000  # tags in one template
TEXT_LIMIT = 16 * 1024 * 1024  # characters of one rendered text
ITEM_LIMIT = 1_000_000  # items of one list made by an operator
WIDTH_LIMIT = 10_000  # columns asked for by padding
BIT_LIMIT = 10_000  # size of a whole number that a template makes
DEPTH_LIMIT = 200  # nesting of a value
STEP_LIMIT = 1_000_000  # work of one render; a step takes about a millionth of a second
NESTED_LIMIT = 8  # templates rendered inside templates
HEAVY_LIMIT = 256 * 1024  # characters for filters that are slow on long texts


class TooMuch(TemplateRuntimeError):
    """A template asks for more time or memory than one render may take."""


class Budget:
    """What is left of the work that one render may do, and the templates that it has made."""

    __slots__ = ("left", "made")

    def __init__(self, left: int = STEP_LIMIT) -> None:
        self.left = left
        self.made: dict[str, Any] = {}

    def spend(self, steps: int) -> None:
        """Take some steps, or refuse."""
        self.left -= steps
        if self.left < 0:
            raise TooMuch(f"the template does too much work: more than {STEP_LIMIT:,} steps")


def weight(value: object) -> int:
    """Say how many steps it takes to copy a value, or to look at each of its items once."""
    if isinstance(value, str):
        return len(value) >> 10
    return len(value) if isinstance(value, (list, tuple, dict, range)) else 0


def searching(text: str, part: object, *, backwards: bool = False) -> int:
    """Say how many steps it may take to search a text: short and backward searches are naive."""
    size = len(text)
    tries = min(len(part), size) if isinstance(part, str) else 1
    is_naive = backwards or size < 30_000
    return (size >> 8) + (size * tries >> 10 if is_naive else 0)


def within(amount: float, limit: int, what: str) -> None:
    """Refuse an amount above its limit."""
    if amount > limit:
        raise TooMuch(f"{what}: more than {limit:,}")


def fits(length: float) -> None:
    """Refuse a text that would be too long."""
    within(length, TEXT_LIMIT, "the text gets too long")


__all__ = [
    "BIT_LIMIT",
    "CODE_LIMIT",
    "DEPTH_LIMIT",
    "HEAVY_LIMIT",
    "ITEM_LIMIT",
    "NESTED_LIMIT",
    "PLACE_LIMIT",
    "SOURCE_LIMIT",
    "STEP_LIMIT",
    "TEXT_LIMIT",
    "WIDTH_LIMIT",
    "Budget",
    "TooMuch",
    "fits",
    "searching",
    "weight",
    "within",
]
