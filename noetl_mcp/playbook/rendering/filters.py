"""The filters and tests of templates: Jinja's own made safe, and ours.

Each one refuses names that are not there, takes secrets in the open and gives a secret back, pays
for its work beforehand, and is stopped before its result gets too large. None of them guesses a
type.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jinja2 import TemplateRuntimeError, pass_context
from jinja2.filters import FILTERS
from jinja2.runtime import Context
from jinja2.tests import TESTS
from jinja2.utils import _PassArg

from noetl_mcp.playbook.rendering.arithmetic import bounded
from noetl_mcp.playbook.rendering.efforts import LIMITED, effort_of, refuse_large
from noetl_mcp.playbook.rendering.guards import Budget, fits
from noetl_mcp.playbook.rendering.methods import FAULTS
from noetl_mcp.playbook.rendering.ordering import ORDERING
from noetl_mcp.playbook.rendering.own_filters import OURS, budget_of
from noetl_mcp.playbook.rendering.secret import (
    Secret,
    atoms_of,
    covered,
    refuse,
    shown,
    uncovered,
)
from noetl_mcp.playbook.rendering.survey import SCALARS, comparing
from noetl_mcp.playbook.rendering.wording import PLAIN, argument, holds_secret, settled, word

Function = Callable[..., Any]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_OPEN = frozenset({"default", "d", "defined", "undefined"})  # these may look at absent names
_LAZY = _OPEN | {"map", "select", "reject", "selectattr", "rejectattr", "first"}
_AWARE = _OPEN | _names("attr format join render string tojson")  # these know secrets themselves
_CARRYING = _names(  # these hand on the items they get, secret or not
    "batch count dictsort first groupby items last length list map max min random reject"
    " rejectattr select selectattr slice sort sum unique"
)
_CHOOSING = _names("select selectattr reject rejectattr")
_MEASURING = frozenset({"count", "length"})
_OF_TEXT = _names(  # these read and write text
    "b64decode b64encode capitalize center e escape forceescape fromjson ident indent lower"
    " replace safe striptags title trim truncate upper urlize wordcount wordwrap"
)
_OF_NUMBERS = frozenset({"odd", "even", "divisibleby"})
_OF_SECRETS = _OPEN | _names(  # what may be asked about a secret
    "boolean callable escaped false float integer iterable mapping none number sequence string true"
)


def guarded_filter(name: str, function: Function) -> Function:
    """Return a filter that keeps the rules of this module."""
    is_lazy, is_open, is_text = name in _LAZY, name in _OPEN, name in _OF_TEXT
    in_the_open = name in _AWARE or name in _CARRYING

    @pass_context
    def guarded(context: Context, value: Any, /, *given: Any, **named: Any) -> Any:
        budget = budget_of(context)
        if is_open:
            budget.spend(2)
            return function(value, *given, **named)
        if value.__class__ not in PLAIN:
            if isinstance(value, Iterator):
                value = paying(budget, value)
            value = value if is_lazy else argument(value, budget)
        if given:
            given = tuple([argument(item, budget) for item in given])
        if named:
            named = {key: argument(item, budget) for key, item in named.items()}
        call = _called_with(function, context)
        if isinstance(value, Secret) and name in _CARRYING:
            value = _measurable(value) if name in _MEASURING else list(value)
        if is_text:
            value = word(value, budget)
            if name == "replace":
                given = tuple([_worded(item, budget) for item in given])
        budget.spend(2 + effort_of(name, shown(value), given, named))
        if name in _CHOOSING and any(isinstance(item, Secret) for item in given):
            refuse(f"'{name}' cannot choose by a secret: what is left would tell it")
        if in_the_open or not _holds_secret(value, given, named, budget):
            return _bounded(name, call, value, given, named, budget)
        return _covered(name, call, value, given, named, budget)

    return guarded


def _worded(value: Any, budget: Budget) -> Any:
    return value if isinstance(value, int) else word(value, budget)


def _holds_secret(
    value: Any, given: tuple[Any, ...], named: Mapping[str, Any], budget: Budget
) -> bool:
    if holds_secret(value, budget):
        return True
    return any(holds_secret(item, budget) for item in (*given, *named.values()))


def paying(budget: Budget, values: Iterator[Any], steps: int = 2) -> Iterator[Any]:
    """Yield some values, each of them for some steps."""
    for value in values:
        budget.spend(steps)
        yield value


def _measurable(value: Secret) -> Secret:
    if not value.is_whole:
        refuse("only whole secrets can be measured, not parts of them or what was made of them")
    return value


def _called_with(function: Function, context: Context) -> Function:
    wants = _PassArg.from_obj(function)
    if wants is None:
        return function
    first: Any = context
    if wants is not _PassArg.context:
        first = context.eval_ctx if wants is _PassArg.eval_context else context.environment
    return lambda *given, **named: function(first, *given, **named)


def _bounded(
    name: str,
    call: Function,
    value: Any,
    given: tuple[Any, ...],
    named: Mapping[str, Any],
    budget: Budget,
) -> Any:
    if name in LIMITED:
        refuse_large(name, value, given, named)
    done = call(value, *given, **named)
    if isinstance(done, str):
        fits(len(done))
        budget.spend(len(done) >> 10)
        return str.__str__(done)
    return bounded(done)


def _covered(
    name: str,
    call: Function,
    value: Any,
    given: tuple[Any, ...],
    named: Mapping[str, Any],
    budget: Budget,
) -> Any:
    atoms = atoms_of(value, *given, *named.values())
    plain = tuple(uncovered(item) for item in given)
    plain_named = {key: uncovered(item) for key, item in named.items()}
    try:
        done = _bounded(name, call, uncovered(value), plain, plain_named, budget)
        if isinstance(done, Iterator):
            done = settled(done, budget)
        failed = False
    except FAULTS:
        failed = True
    if failed:
        raise TemplateRuntimeError(f"the filter '{name}' failed on a secret")
    if isinstance(done, (int, float)):
        refuse(f"the filter '{name}' would show a secret as a number")
    return covered(done, atoms)


def guarded_test(name: str, function: Function) -> Function:
    """Return a test that refuses absent names, and to tell more of a secret than it may."""
    is_open, tells = name in _OPEN, name not in _OF_SECRETS

    @pass_context
    def guarded(context: Context, value: Any, /, *given: Any) -> Any:
        budget = budget_of(context)
        budget.spend(2)
        if not is_open:
            if value.__class__ not in PLAIN:
                value = argument(value, budget)
            given = tuple([argument(item, budget) for item in given])
        if tells and (isinstance(value, Secret) or any(isinstance(one, Secret) for one in given)):
            refuse(f"a secret cannot be asked whether it is '{name}'")
        if name in _OF_NUMBERS and not isinstance(value, (int, float)):
            raise TypeError(f"'{name}' asks about numbers")
        return bool(_called_with(function, context)(value, *given))

    return guarded


def guarded_comparison(name: str, ask: Function) -> Function:
    """Return a test that compares two values on the budget."""

    @pass_context
    def guarded(context: Context, value: Any, other: Any, /) -> Any:
        budget = budget_of(context)
        budget.spend(2)
        value = value if value.__class__ in PLAIN else argument(value, budget)
        other = other if other.__class__ in PLAIN else argument(other, budget)
        comparing(value, other, budget)
        return bool(ask(value, other))

    return guarded


@pass_context
def _contained(context: Context, value: Any, container: Any) -> bool:
    environment: Any = context.environment
    return bool(environment.contains(context, value, container))


def _is_text(value: Any) -> bool:
    return isinstance(value, (str, Secret))


def _cased(ask: Function) -> Function:
    @pass_context
    def cased(context: Context, value: Any) -> bool:
        text = str(word(value, budget_of(context)))
        budget_of(context).spend(len(text) >> 7)
        return bool(ask(text))

    return cased


def _known(table: str) -> Function:
    @pass_context
    def known(context: Context, value: Any) -> bool:
        return value.__class__ in SCALARS and value in getattr(context.environment, table)

    return known


_OWN_TESTS: Mapping[str, Function] = {
    "filter": _known("filters"),
    "in": _contained,
    "lower": _cased(str.islower),
    "string": _is_text,
    "test": _known("tests"),
    "upper": _cased(str.isupper),
}
_COMPARING = _names("!= < <= == > >= eq equalto ge greaterthan gt le lessthan lt ne")
_NOT_OURS = frozenset({"pprint"})  # writes values as Python does


def all_filters() -> dict[str, Function]:
    """Return every filter by name."""
    return {
        name: guarded_filter(name, function)
        for name, function in {**FILTERS, **ORDERING, **OURS}.items()
        if name not in _NOT_OURS
    }


def all_tests() -> dict[str, Function]:
    """Return every test by name."""
    stock: Mapping[str, Any] = TESTS
    asked = {name: guarded_test(name, ask) for name, ask in {**stock, **_OWN_TESTS}.items()}
    return asked | {name: guarded_comparison(name, stock[name]) for name in _COMPARING}


__all__ = [
    "OURS",
    "all_filters",
    "all_tests",
    "guarded_comparison",
    "guarded_filter",
    "guarded_test",
    "paying",
]
