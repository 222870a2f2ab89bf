"""What a method is: its name, what it may be asked, what answers it."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from noetl_mcp.bim.revit.headless.asking import Asked, Page
from noetl_mcp.bim.revit.headless.document import Document

Answer = dict[str, Any]


class Method(NamedTuple):
    """A method that reads a model."""

    name: str
    says: str
    asks: type[Asked]
    does: Callable[[Document, Any], Answer]


def paged(rows: Sequence[Any], page: Page) -> Sequence[Any]:
    """Return the rows of a page."""
    last = None if page.limit is None else page.skip + page.limit
    return rows[page.skip : last]


__all__ = ["Answer", "Method", "paged"]
