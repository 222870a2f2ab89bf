"""Filters that compare the items of a list with each other: as Jinja's own, on the budget.

What is compared is looked at before, so that no comparison takes longer than it may. Refuses
secrets, for their place in an order would tell them.
"""

from collections.abc import Iterable, Mapping
from itertools import groupby as in_groups
from typing import Any

from jinja2 import pass_context
from jinja2.filters import _GroupTuple, make_attrgetter, make_multi_attrgetter
from jinja2.runtime import Context

from noetl_mcp.playbook.rendering.guards import Budget, fits
from noetl_mcp.playbook.rendering.secret import refuse
from noetl_mcp.playbook.rendering.survey import SCALARS, Survey

Keys = list[list[Any]]


def _keys(context: Context, found: Iterable[list[Any]], case_sensitive: bool) -> Keys:
    """Return what items are compared by, if that can be done on the budget."""
    keys = list(found)
    parts = [part for key in keys for part in key]
    budget: Budget = context.budget  # type: ignore[attr-defined] # ours has one
    kinds = set(map(type, parts))
    if not kinds <= SCALARS and Survey(parts, budget).secrets:
        refuse("secrets have no order, and cannot be grouped or told apart")
    budget.spend(len(parts) >> 2)
    if str not in kinds:
        return keys
    length = sum(len(part) for part in parts if part.__class__ is str)
    budget.spend(length >> 8)
    fits(length)
    if case_sensitive:
        return keys
    return [[part.lower() if isinstance(part, str) else part for part in key] for key in keys]


def _by(context: Context, items: list[Any], attribute: Any, case_sensitive: bool) -> Keys:
    if attribute is None:
        return _keys(context, ([item] for item in items), case_sensitive)
    getter = make_attrgetter(context.environment, attribute)
    return _keys(context, ([getter(item)] for item in items), case_sensitive)


def _sorted(items: list[Any], keys: Keys, reverse: bool = False) -> list[Any]:
    return [
        items[place] for place in sorted(range(len(items)), key=keys.__getitem__, reverse=reverse)
    ]


@pass_context
def sort(
    context: Context,
    value: Iterable[Any],
    reverse: bool = False,
    case_sensitive: bool = False,
    attribute: Any = None,
) -> list[Any]:
    """Return the items sorted, by themselves or by attributes with commas between."""
    items = list(value)
    if not isinstance(attribute, str) or "," not in attribute:
        return _sorted(items, _by(context, items, attribute, case_sensitive), reverse)
    getter = make_multi_attrgetter(context.environment, attribute)
    return _sorted(items, _keys(context, map(getter, items), case_sensitive), reverse)


@pass_context
def dictsort(
    context: Context,
    value: Mapping[Any, Any],
    case_sensitive: bool = False,
    by: str = "key",
    reverse: bool = False,
) -> list[Any]:
    """Return the pairs of a map, sorted by key or by value."""
    if by not in ("key", "value"):
        raise TypeError('You can only sort by either "key" or "value"')
    pairs = list(value.items())
    found = ([pair[by == "value"]] for pair in pairs)
    return _sorted(pairs, _keys(context, found, case_sensitive), reverse)


@pass_context
def least(
    context: Context, value: Iterable[Any], case_sensitive: bool = False, attribute: Any = None
) -> Any:
    """Return the smallest item."""
    items = list(value)
    keys = _by(context, items, attribute, case_sensitive)
    if not items:
        return context.environment.undefined("No aggregated item, sequence was empty.")
    return items[min(range(len(items)), key=keys.__getitem__)]


@pass_context
def most(
    context: Context, value: Iterable[Any], case_sensitive: bool = False, attribute: Any = None
) -> Any:
    """Return the largest item."""
    items = list(value)
    keys = _by(context, items, attribute, case_sensitive)
    if not items:
        return context.environment.undefined("No aggregated item, sequence was empty.")
    return items[max(range(len(items)), key=keys.__getitem__)]


@pass_context
def unique(
    context: Context, value: Iterable[Any], case_sensitive: bool = False, attribute: Any = None
) -> list[Any]:
    """Return the items without those that came before."""
    items = list(value)
    keys = _by(context, items, attribute, case_sensitive)
    first: dict[Any, Any] = {}
    for [key], item in zip(keys, items, strict=True):
        first.setdefault(key, item)
    return list(first.values())


@pass_context
def groupby(
    context: Context,
    value: Iterable[Any],
    attribute: Any,
    default: Any = None,
    case_sensitive: bool = False,
) -> list[Any]:
    """Return the items in groups, sorted by what they have in common."""
    items = list(value)
    getter = make_attrgetter(context.environment, attribute, default=default)
    said = [[getter(item)] for item in items]
    keys = _keys(context, said, case_sensitive)
    places = sorted(range(len(items)), key=keys.__getitem__)
    groups = [list(group) for _, group in in_groups(places, key=keys.__getitem__)]
    return [_GroupTuple(said[group[0]][0], [items[place] for place in group]) for group in groups]


ORDERING = {
    "dictsort": dictsort,
    "groupby": groupby,
    "max": most,
    "min": least,
    "sort": sort,
    "unique": unique,
}

__all__ = ["ORDERING", "dictsort", "groupby", "least", "most", "sort", "unique"]
