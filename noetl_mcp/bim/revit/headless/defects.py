"""What a file does wrong that opens and is no good model: it says numbers where things should be.

The library reads whatever stands there, so it is met where it is used. One element that is broken
is told of, and the others are answered.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from noetl_mcp.bim.revit.headless.frames import Entity
from noetl_mcp.bim.revit.headless.refusals import Refused
from noetl_mcp.cuts import beginning

if TYPE_CHECKING:
    from noetl_mcp.bim.revit.headless.document import Document

DEFECTS = (AttributeError, RuntimeError, TypeError, ValueError, ArithmeticError, LookupError)
"""What reading such a place raises."""
MOST_BYTES = 64 * 1024 * 1024
"""Of all rows of an answer."""
_MOST_TOLD = 20


class Broken(NamedTuple):
    """What was met where something cannot be read; it will be met there again."""

    problem: Exception


class Rows(NamedTuple):
    """The rows that could be made, and what is wrong with the others."""

    rows: list[dict[str, Any]]
    wrong: dict[str, Any]
    """Nothing, or the field `issues` of an answer."""


class Weight:
    """How large the rows of an answer are in all; a long name may stand in each of them."""

    def __init__(self) -> None:
        self._bytes = 0

    def of(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return a row of an answer; refuse the answer when it gets too large."""
        self._bytes += len(orjson.dumps(row))
        if self._bytes > MOST_BYTES:
            says = f"the rows of an answer have at most {MOST_BYTES:,} bytes; ask for less"
            raise Refused("RESULT_TOO_LARGE", says)
        return row


def rows_of(
    document: "Document",
    elements: Iterable[Entity],
    row: Callable[["Document", Entity], dict[str, Any]],
) -> Rows:
    """Return a row for each element; those that cannot be read are told in their place."""
    found, errors, weight = list[dict[str, Any]](), list[dict[str, Any]](), Weight()
    for one in elements:
        try:
            found.append(weight.of(row(document, one)))
        except DEFECTS as problem:
            errors.append({"elementId": one.id(), "msg": said(problem)})
    told = {"itemErrors": errors[:_MOST_TOLD], "itemErrorCount": len(errors)}
    return Rows(found, {"issues": told} if errors else {})


def said(problem: BaseException) -> str:
    """Return what is wrong with the file at such a place."""
    if isinstance(problem, ValueError):
        return f"the file is broken there: {beginning(str(problem), 300)}"
    return "the file is broken there: something else stands where an entity or a number must be"


__all__ = ["DEFECTS", "MOST_BYTES", "Broken", "Rows", "Weight", "rows_of", "said"]
