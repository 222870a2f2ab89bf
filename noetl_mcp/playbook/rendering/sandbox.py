"""The Jinja environment of playbooks: what generated code may look up, call and write.

Refuses attributes that Python has but JSON has not, calls of anything a template was not given,
and runaway operators. Knows nothing of caching and of how errors are told.
"""

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jinja2 import TemplateRuntimeError, Undefined, pass_context
from jinja2.nodes import EvalContext
from jinja2.runtime import Context, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment, safe_range
from jinja2.utils import Cycler, Joiner, Namespace, missing

from noetl_mcp.playbook.rendering.absent import Absent
from noetl_mcp.playbook.rendering.arithmetic import OPERATORS
from noetl_mcp.playbook.rendering.costs import ROUNDS, WORK
from noetl_mcp.playbook.rendering.filters import all_filters, all_tests, paying
from noetl_mcp.playbook.rendering.guards import Budget, searching, weight
from noetl_mcp.playbook.rendering.methods import (
    Bound,
    attribute_of,
    calling,
    may_be_called,
    method_of_map,
    refuse_as_key,
)
from noetl_mcp.playbook.rendering.secret import Secret, refuse
from noetl_mcp.playbook.rendering.survey import SCALARS, comparing, hashing, looking
from noetl_mcp.playbook.rendering.views import ITSELF, Items, View, bare
from noetl_mcp.playbook.rendering.wording import (
    PLAIN,
    Words,
    checked,
    handed,
    joined,
    settled,
    word,
)

_NUMBERS = frozenset({int, float})
_LONG = 4096  # characters that are worth counting


class Scope(Context):
    """The names one render can see: looked up one by one, never copied."""

    def __init__(
        self,
        environment: "Sandbox",
        names: Mapping[str, object],
        budget: Budget,
        depth: int = 0,
    ) -> None:
        self.parent = names  # type: ignore[assignment] # only ever read
        self.vars = {}
        self.environment = environment
        self.eval_ctx = environment.eval_ctx
        self.exported_vars = set()
        self.name = None
        self.blocks = {}
        self.budget = budget
        self.depth = depth

    def resolve_or_missing(self, key: str) -> Any:
        """Return what a bare name stands for."""
        if key in self.vars:
            return self.vars[key]
        try:
            return self.parent[key]
        except KeyError:
            return self.environment.globals.get(key, missing)


class Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox with the lookups, calls and operators of playbooks."""

    intercepted_binops = frozenset(OPERATORS)
    context_class = Scope
    bare = staticmethod(bare)
    operator = operator
    concat = staticmethod(joined)  # type: ignore[assignment] # a secret may come out

    def __init__(self) -> None:
        super().__init__(
            undefined=Absent,
            optimized=False,
            keep_trailing_newline=True,
            autoescape=False,
            cache_size=0,
            auto_reload=False,
        )
        self.eval_ctx = EvalContext(self)
        self.filters.clear()
        self.filters.update({**all_filters(), ROUNDS: rounds, WORK: work})
        self.tests.clear()
        self.tests.update(all_tests())
        self.globals: dict[str, Any] = {
            "range": safe_range,
            "dict": dict,
            "cycler": Cycler,
            "joiner": Joiner,
            "namespace": Namespace,
        }

    def attribute(self, value: Any, name: str, path: str) -> Any:
        """Return `value.name`: on a map the key and nothing else."""
        if value.__class__ is View:
            return self._around(value, name, path)
        if isinstance(value, Mapping):
            try:
                return value[name]
            except KeyError:
                return Absent(obj=value, name=name, path=path)
        if isinstance(value, Undefined):
            return value.further(path) if isinstance(value, Absent) else value
        try:
            return attribute_of(value, name)
        except LookupError:
            return Absent(obj=value, name=name, path=path)

    def _around(self, view: View, name: str, path: str) -> Any:
        """Return what stands under a name of a view: its first ones, its own, the fallbacks."""
        own = view.value
        found: Any = view.first.get(name, missing)
        if found is missing:
            is_map = isinstance(own, dict)
            found = own.get(name, missing) if is_map else self.attribute(own, name, path)
            if found is missing or isinstance(found, Absent):
                found = missing
                for more in view.fallbacks:
                    if name in more:
                        found = more[name]
                        break
        if found is missing:
            return Absent(obj=own, name=name, path=path)
        return view if found is ITSELF else found

    def item(self, value: Any, key: Any, path: str) -> Any:
        """Return `value[key]`, also for slices."""
        if value.__class__ is View:
            if isinstance(key, str):
                return self._around(value, key, path)
            value = value.value
        for part in (value, key):
            if isinstance(part, Undefined):
                return part.further(path) if part is value and isinstance(part, Absent) else part
        if isinstance(key, str) and not isinstance(value, Mapping):
            return self.attribute(value, key, path)
        if isinstance(key, (Secret, tuple)):
            refuse_as_key(key)
            return Absent(obj=value, name=key, path=path)
        try:
            return value[key]
        except (LookupError, TypeError):
            if isinstance(key, slice):
                raise
            return Absent(obj=value, name=key, path=path)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Look up an attribute for Jinja's own filters."""
        return self.attribute(obj, _name(attribute), _name(attribute))

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Look up an item for Jinja's own filters."""
        return self.item(obj, argument, _name(argument))

    def word(self, context: Scope, value: Any) -> Words:
        """Return the text of what is printed."""
        if value.__class__ is str:
            if len(value) > _LONG:
                context.budget.spend(len(value) >> 11)
            return value
        return word(value, context.budget)

    def settled(self, context: Scope, value: Any) -> object:
        """Return the value that leaves an expression."""
        return value if value.__class__ in PLAIN else settled(value, context.budget)

    def checked(self, context: Scope, value: Any) -> object:
        """Return the value that leaves an expression, which built it."""
        return checked(value, context.budget)

    def sliced(self, context: Scope, value: Any, part: slice, path: str) -> Any:
        """Return `value[start:stop:step]`."""
        found = self.item(value, part, path)
        context.budget.spend(weight(found))
        return found

    def compare(self, context: Scope, ask: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
        """Return what a comparison of two values gives."""
        if left.__class__ not in SCALARS or right.__class__ not in SCALARS or left.__class__ is str:
            comparing(left, right, context.budget)
        return ask(left, right)

    def contains(self, context: Scope, item: Any, container: Any) -> bool:
        """Return `item in container`."""
        for part in (item, container):
            if isinstance(part, Undefined):
                part._fail_with_undefined_error()
        if container.__class__ is list and item.__class__ in SCALARS:
            looking(item, container, context.budget)
            return item in container
        if isinstance(container, Iterator):
            container = settled(container, context.budget)
        if isinstance(container, Items):
            container = container.results
        if isinstance(container, str):
            if isinstance(item, Secret):
                refuse("a secret cannot be looked for in a text: that would tell it")
            context.budget.spend(searching(container, item))
        elif isinstance(container, (list, tuple, range)):
            looking(item, container, context.budget)
        else:
            hashing(item, context.budget)
        return item in container

    def chained(self, context: Scope, parts: tuple[object, ...]) -> Words:
        """Return `a ~ b`."""
        text = joined(parts, context.budget)
        context.budget.spend(len(text) >> 10)
        return text

    def call_filter(
        self,
        name: Any,
        value: Any,
        args: Any = (),
        kwargs: Any = None,
        context: Any = None,
        eval_ctx: Any = None,
    ) -> Any:
        """Call a filter for one of Jinja's own, which was told its name."""
        return _named("filter", name, self.filters)(context, value, *args, **(kwargs or {}))

    def call_test(
        self,
        name: Any,
        value: Any,
        args: Any = (),
        kwargs: Any = None,
        context: Any = None,
        eval_ctx: Any = None,
    ) -> Any:
        """Call a test for one of Jinja's filters, which was told its name."""
        return _named("test", name, self.tests)(context, value, *args, **(kwargs or {}))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Run one of the operators that could run away."""
        for part in (left, right):
            if isinstance(part, Undefined):
                part._fail_with_undefined_error()
        budget: Budget = context.budget  # type: ignore[attr-defined] # ours has one
        done = OPERATORS[operator](left, right, budget)
        if done.__class__ not in _NUMBERS:
            budget.spend(weight(done))
        return done

    def call(self, context: Context, function: Any, /, *given: Any, **named: Any) -> Any:
        """Call what a template may call."""
        named.pop("_loop_vars", None)
        named.pop("_block_vars", None)
        budget: Budget = context.budget  # type: ignore[attr-defined]
        budget.spend(1 + ((len(given) + len(named)) >> 1))
        if isinstance(function, Absent):
            method = method_of_map(function.owner, function.name)
            function = method or function._fail_with_undefined_error()
        elif not may_be_called(function, self.globals):
            raise TemplateRuntimeError("only functions can be called, this is a value")
        if isinstance(function, Macro):
            return function(*given, **named)
        budget.spend(sum(weight(value) for value in (*given, *named.values())))
        named = {key: handed(value, budget) for key, value in named.items()}
        given = tuple(handed(value, budget) for value in given)
        if isinstance(function, Bound):
            return function.on_budget(budget, given, named)
        calling(function, given, budget)
        return function(*given, **named)


@pass_context
def rounds(context: Scope, values: Any, steps: int) -> Any:
    """Return what a loop runs over, paying for its rounds."""
    if isinstance(values, Iterator):
        return paying(context.budget, values, steps)
    context.budget.spend(steps * len(values) if hasattr(values, "__len__") else 0)
    return values


@pass_context
def work(context: Scope, nothing: None, steps: int) -> None:
    """Pay for one pass through a function."""
    context.budget.spend(steps)


def _name(part: object) -> str:
    if part.__class__ is str:
        return part
    return str(part) if isinstance(part, (str, int)) else "(…)"


def _named(kind: str, name: object, known: Mapping[str, Any]) -> Callable[..., Any]:
    """Return a filter or a test by a name that a template may say."""
    found: Callable[..., Any] | None = known.get(name) if isinstance(name, str) else None
    if found is None or name in (ROUNDS, WORK):
        said = f" named '{name[:100]}'" if isinstance(name, str) else " for this: a name is needed"
        raise TemplateRuntimeError(f"no {kind}{said}")
    return found


__all__ = ["Sandbox", "Scope", "rounds", "work"]
