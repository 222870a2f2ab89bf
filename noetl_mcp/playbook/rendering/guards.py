"""How much one template may do: the limits, the budget of a render, and the refusal.

Counts work instead of time, so that the same template and values always end the same way.
"""

from jinja2 import TemplateRuntimeError

SOURCE_LIMIT = 1024 * 1024  # characters of one template
PLACE_LIMIT = 10_000  # tags in one template
TEXT_LIMIT = 16 * 1024 * 1024  # characters of one rendered text
ITEM_LIMIT = 1_000_000  # items of one list made by an operator
WIDTH_LIMIT = 10_000  # columns asked for by padding
BIT_LIMIT = 10_000  # size of a whole number made by an operator
DEPTH_LIMIT = 200  # nesting of a value
STEP_LIMIT = 1_000_000  # loop rounds, calls and items looked at in one render
NESTED_LIMIT = 8  # templates rendered inside templates
HEAVY_LIMIT = 256 * 1024  # characters for filters that are slow on long texts


class TooMuch(TemplateRuntimeError):
    """A template asks for more time or memory than one render may take."""


class Budget:
    """What is left of the work that one render may do."""

    __slots__ = ("left",)

    def __init__(self, left: int = STEP_LIMIT) -> None:
        self.left = left

    def spend(self, steps: int) -> None:
        """Take some steps, or refuse."""
        self.left -= steps
        if self.left < 0:
            raise TooMuch(f"the template does too much work: more than {STEP_LIMIT:,} steps")


def weight(value: object) -> int:
    """Say how many steps it takes to look at a value once."""
    if isinstance(value, str):
        return len(value) >> 13
    return len(value) if isinstance(value, (list, tuple, dict, range)) else 0


def within(amount: float, limit: int, what: str) -> None:
    """Refuse an amount above its limit."""
    if amount > limit:
        raise TooMuch(f"{what}: more than {limit:,}")


def fits(length: float) -> None:
    """Refuse a text that would be too long."""
    within(length, TEXT_LIMIT, "the text gets too long")


__all__ = [
    "BIT_LIMIT",
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
    "weight",
    "within",
]
