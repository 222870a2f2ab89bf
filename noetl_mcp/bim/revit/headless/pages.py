"""Return as much of a list as is asked for: a page of rows, of ids, of names, or its length."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from noetl_mcp.bim.revit.headless.asking import Listing, Page

T = TypeVar("T")


class Told(NamedTuple, Generic[T]):
    """How the things of a list are told."""

    id: Callable[[T], int | None]
    name: Callable[[T], str | None]
    rows: Callable[[Sequence[T]], dict[str, Any]]
    """The rows under the name of the list, and what else belongs to them."""


def cut(things: Sequence[T], asked: Listing, told: Told[T]) -> dict[str, Any]:
    """Return as much of a list as is asked for, and how long it is."""
    total = {"totalCount": len(things)}
    if asked.summary_only:
        return total
    page = paged(things, asked.window)
    if asked.ids_only:
        ids = map(told.id, page)
        return {**total, "elementIds": [one for one in ids if one is not None]}
    if asked.names_only:
        return {**total, "names": [told.name(one) or "" for one in page]}
    return {**total, **told.rows(page)}


def paged(things: Sequence[T], page: Page) -> Sequence[T]:
    """Return the things of a page."""
    last = None if page.limit is None else page.skip + page.limit
    return things[page.skip : last]


__all__ = ["Told", "cut", "paged"]
