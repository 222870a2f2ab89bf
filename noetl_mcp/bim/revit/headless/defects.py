"""What a file does wrong that opens and is no good model: it says numbers where things should be.

The library reads whatever stands there, so it is met where it is used. One element that is broken
is told of, and the others are answered.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from noetl_mcp.bim.revit.headless.document import Document
from noetl_mcp.bim.revit.headless.frames import Entity
from noetl_mcp.cuts import beginning

DEFECTS = (AttributeError, RuntimeError, TypeError, ValueError, ArithmeticError, LookupError)
"""What reading such a place raises."""
_MOST_TOLD = 20


class Rows(NamedTuple):
    """The rows that could be made, and what is wrong with the others."""

    rows: list[dict[str, Any]]
    wrong: dict[str, Any]
    """Nothing, or the field `issues` of an answer."""


def rows_of(
    document: Document,
    elements: Iterable[Entity],
    row: Callable[[Document, Entity], dict[str, Any]],
) -> Rows:
    """Return a row for each element; those that cannot be read are told in their place."""
    found, errors = list[dict[str, Any]](), list[dict[str, Any]]()
    for one in elements:
        try:
            found.append(row(document, one))
        except DEFECTS as problem:
            errors.append({"elementId": one.id(), "msg": said(problem)})
    told = {"itemErrors": errors[:_MOST_TOLD], "itemErrorCount": len(errors)}
    return Rows(found, {"issues": told} if errors else {})


def said(problem: BaseException) -> str:
    """Return what is wrong with the file at such a place."""
    if isinstance(problem, ValueError):
        return f"the file is broken there: {beginning(str(problem), 300)}"
    return "the file is broken there: something else stands where an entity or a number must be"


__all__ = ["DEFECTS", "Rows", "rows_of", "said"]
