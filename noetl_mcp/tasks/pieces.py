"""Texts whose values never become a part of them: cut into what was written and what is rendered.

A command line or a query in which `{{ }}` stands is read as a map of literals and templates, so
that each value arrives by itself, with its type. Renders nothing and knows neither shell nor SQL.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import PydanticCustomError

from noetl_mcp.playbook.values import is_template

AROUND, VALUES = "around", "values"
_RAW = re.compile(r"\{%[-+]?\s*(?:end)?raw\s*[-+]?%\}")
_HIDDEN = "\ue000"


@dataclass(frozen=True, slots=True)
class Pieces:
    """Literals, and between any two of them a value."""

    literals: tuple[str, ...]
    values: tuple[Any, ...] = ()


Problem = Callable[[Pieces], str | None]


def pieces_of(given: object) -> Pieces:
    """Return the pieces of a text as it was read; a text without templates is one literal."""
    if isinstance(given, dict):
        literals = tuple("".join(fragments) for fragments in given[AROUND])
        return Pieces(literals, tuple(given[VALUES]))
    return Pieces((str(given),))


def in_pieces(wanted: str, problem: Problem) -> Callable[[object], object]:
    """Return what reads a text that is kept in pieces where templates stand in it.

    `wanted` says what it is, and `problem` what keeps values from standing where they stand.
    """

    def read(value: object) -> object:
        if isinstance(value, dict) and _is_cut(value):
            return value
        if not isinstance(value, str):
            raise PydanticCustomError("shape", wanted)
        if not is_template(value):
            return value
        cut = _cut(value)
        refused = cut if isinstance(cut, str) else problem(cut)
        if isinstance(cut, str) or refused is not None:
            words = f"{wanted}: {refused}"
            raise PydanticCustomError("shape", words)
        return {AROUND: [_fragments(one) for one in cut.literals], VALUES: list(cut.values)}

    return read


def _is_cut(value: dict[Any, Any]) -> bool:
    around, values = value.get(AROUND), value.get(VALUES)
    if set(value) != {AROUND, VALUES} or not isinstance(values, list):
        return False
    return isinstance(around, list) and len(around) == len(values) + 1


def _cut(text: str) -> Pieces | str:
    """Return the pieces of a text, or what is wrong with it."""
    from noetl_mcp.playbook.rendering.spelling import sections  # brings a template library along

    literals, values, done = list[str](), list[str](), 0
    for start, end in sections(text.replace("{#", "{" + _HIDDEN)):
        if text.startswith("{%", start):
            return f"'{text[start:end]}' cannot stand in it, only values in {{{{ }}}} can"
        literals.append(text[done:start])
        values.append(text[start:end])
        done = end
    literals.append(text[done:])
    bare = tuple(_RAW.sub("", one) for one in literals)
    if any("{{" in _without_raw(one) for one in literals):
        return "'{{' is never closed"
    return Pieces(bare, tuple(values))


def _without_raw(literal: str) -> str:
    """Return the text outside of `{% raw %}` blocks."""
    return "".join(_RAW.split(literal)[::2])


def _fragments(literal: str) -> list[str]:
    """Return a literal so cut that no fragment can be taken for a template."""
    return re.findall(r"[^{]*\{|[^{]+", literal)


def as_text(given: object, spoken: Callable[[object], str]) -> str:
    """Return a text with its values in it; only for texts that nobody reads as code."""
    pieces = pieces_of(given)
    return _woven(pieces.literals, [spoken(value) for value in pieces.values])


def _woven(literals: Sequence[str], between: Sequence[str]) -> str:
    first, *rest = literals
    return first + "".join(word + literal for word, literal in zip(between, rest, strict=True))


__all__ = ["AROUND", "VALUES", "Pieces", "Problem", "as_text", "in_pieces", "pieces_of"]
