"""The Jinja environment of playbooks: what generated code may look up, call and write.

Refuses attributes that Python has but JSON has not, calls of anything a template was not given,
and runaway operators. Knows nothing of caching and of how errors are told.
"""

from collections.abc import Iterator, Mapping
from io import StringIO
from typing import Any

from jinja2 import TemplateRuntimeError, Undefined, nodes, pass_context
from jinja2.compiler import CodeGenerator, Frame
from jinja2.nodes import EvalContext
from jinja2.runtime import Context, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment, safe_range
from jinja2.utils import Cycler, Joiner, Namespace, missing

from noetl_mcp.playbook.rendering.absent import Absent
from noetl_mcp.playbook.rendering.arithmetic import OPERATORS
from noetl_mcp.playbook.rendering.filters import all_filters, all_tests
from noetl_mcp.playbook.rendering.guards import Budget, weight
from noetl_mcp.playbook.rendering.methods import attribute_of, may_be_called, method_of_map
from noetl_mcp.playbook.rendering.secret import Secret, shown
from noetl_mcp.playbook.rendering.spelling import spelled
from noetl_mcp.playbook.rendering.views import ITSELF, View, bare
from noetl_mcp.playbook.rendering.wording import Words, checked, handed, joined, settled, word

ROUNDS = " rounds"  # a filter no template can name; loops run through it


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
    word = staticmethod(word)
    settled = staticmethod(settled)
    checked = staticmethod(checked)
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
        self.filters.update({**all_filters(), ROUNDS: rounds})
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
        hidden = isinstance(key, Secret)
        try:
            return value[shown(key) if hidden else key]
        except (LookupError, TypeError):
            if isinstance(key, slice):
                raise
            return Absent(obj=value, name=key, path=path)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Look up an attribute for Jinja's own filters."""
        return self.attribute(obj, str(attribute), str(attribute))

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Look up an item for Jinja's own filters."""
        return self.item(obj, argument, str(argument))

    def contains(self, context: Scope, item: Any, container: Any) -> bool:
        """Return `item in container`."""
        for part in (item, container):
            if isinstance(part, Undefined):
                part._fail_with_undefined_error()
        context.budget.spend(0 if container.__class__ is dict else weight(container))
        if isinstance(item, Secret) and isinstance(container, str):
            item = shown(item)
        return item in container

    def chained(self, context: Scope, parts: tuple[object, ...]) -> Words:
        """Return `a ~ b`."""
        text = joined(parts)
        context.budget.spend(len(text) >> 13)
        return text

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Run one of the operators that could run away."""
        for part in (left, right):
            if isinstance(part, Undefined):
                part._fail_with_undefined_error()
        done = OPERATORS[operator](left, right)
        context.budget.spend(weight(done))  # type: ignore[attr-defined] # ours has one
        return done

    def call(self, context: Context, function: Any, /, *given: Any, **named: Any) -> Any:
        """Call what a template may call."""
        named.pop("_loop_vars", None)
        named.pop("_block_vars", None)
        work = 1 + sum(weight(value) for value in (*given, *named.values()))
        context.budget.spend(work)  # type: ignore[attr-defined] # ours has one
        if isinstance(function, Absent):
            method = method_of_map(function.owner, function.name)
            function = method or function._fail_with_undefined_error()
        elif not may_be_called(function, self.globals):
            raise TemplateRuntimeError("only functions can be called, this is a value")
        if isinstance(function, Macro):
            return function(*given, **named)
        named = {key: handed(value) for key, value in named.items()}
        return function(*(handed(value) for value in given), **named)


@pass_context
def rounds(context: Scope, values: Any) -> Any:
    """Return what a loop runs over, counting its rounds."""
    if isinstance(values, Iterator):
        return _counted(context.budget, values)
    context.budget.spend(len(values) if hasattr(values, "__len__") else 0)
    return values


def _counted(budget: Budget, values: Iterator[Any]) -> Iterator[Any]:
    for value in values:
        budget.spend(1)
        yield value


class Code(CodeGenerator):
    """Writes code that keeps native values, covers secrets and knows the paths of names."""

    def __init__(self, environment: Sandbox, native: str | None) -> None:
        super().__init__(environment, None, None, optimized=False)
        self.native = native  # what a lone expression goes through, instead of `word`
        self.places: list[int] = []  # the line of code of each `{{ }}`, in order
        self.is_inside = False  # of a path, whose beginning may be a view
        self.stream: StringIO = StringIO()

    def written(self) -> str:
        """Return the program."""
        return self.stream.getvalue()

    def visit_Output(self, node: nodes.Output, frame: Frame) -> None:
        """Write each piece on a line of its own."""
        for child in node.nodes:
            self.start_write(frame, child)
            if isinstance(child, nodes.TemplateData):
                self.write(repr(child.data))
            else:
                self.places.append(self.code_lineno)
                self._through(self.native or "word", child, frame)
            self.end_write(frame)

    def _through(self, function: str, node: nodes.Expr, frame: Frame) -> None:
        self.write(f"environment.{function}(")
        self.visit(node, frame)
        self.write(")")

    def visit_Name(self, node: nodes.Name, frame: Frame) -> None:
        """Read a name; what has names around it is only looked into by a path."""
        is_whole = node.ctx == "load" and not self.is_inside
        self.write("environment.bare(" if is_whole else "")
        super().visit_Name(node, frame)
        self.write(")" if is_whole else "")

    def visit_Getattr(self, node: nodes.Getattr, frame: Frame) -> None:
        """Look up by our rules, telling the path."""
        is_whole = self._begin(node, "attribute", frame)
        self.write(f", {node.attr!r}, {spelled(node)!r})" + ")" * is_whole)

    def visit_Getitem(self, node: nodes.Getitem, frame: Frame) -> None:
        """Look up by our rules, slices too."""
        is_whole = self._begin(node, "item", frame)
        self.write(", ")
        if isinstance(node.arg, nodes.Slice):
            self._slice(node.arg, frame)
        else:
            self.visit(node.arg, frame)
        self.write(f", {spelled(node)!r})" + ")" * is_whole)

    def _begin(self, node: nodes.Getattr | nodes.Getitem, function: str, frame: Frame) -> bool:
        """Write a lookup up to its key; say whether it ends a path."""
        is_whole = not self.is_inside
        self.write("environment.bare(" * is_whole + f"environment.{function}(")
        self.is_inside = isinstance(node.node, (nodes.Name, nodes.Getattr, nodes.Getitem))
        self.visit(node.node, frame)
        self.is_inside = False
        return is_whole

    def _slice(self, node: nodes.Slice, frame: Frame) -> None:
        self.write("slice(")
        for part in (node.start, node.stop, node.step):
            if part is None:
                self.write("None, ")
            else:
                self.visit(part, frame)
                self.write(", ")
        self.write(")")

    def visit_Tuple(self, node: nodes.Tuple, frame: Frame) -> None:
        """Settle each item, unless this is what a value is assigned to."""
        if node.ctx == "store":
            super().visit_Tuple(node, frame)
            return
        self._items("(", node.items, ",)" if node.items else ")", frame)

    def visit_List(self, node: nodes.List, frame: Frame) -> None:
        """Settle each item."""
        self._items("[", node.items, "]", frame)

    def _items(self, begin: str, items: list[nodes.Expr], end: str, frame: Frame) -> None:
        self.write(begin)
        for number, item in enumerate(items):
            self.write(", " if number else "")
            self._through("settled", item, frame)
        self.write(end)

    def visit_Pair(self, node: nodes.Pair, frame: Frame) -> None:
        """Settle key and value."""
        self._through("settled", node.key, frame)
        self.write(": ")
        self._through("settled", node.value, frame)

    def visit_Dict(self, node: nodes.Dict, frame: Frame) -> None:
        """Write the pairs."""
        self.write("{")
        for pair in node.items:
            self.visit(pair, frame)
            self.write(", ")
        self.write("}")

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:
        """Join as the text of a template is joined."""
        self.write("environment.chained(context, (")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")

    def visit_Compare(self, node: nodes.Compare, frame: Frame) -> None:
        """Let `in` look into secrets."""
        if len(node.ops) != 1 or node.ops[0].op not in ("in", "notin"):
            super().visit_Compare(node, frame)
            return
        self.write("(not " if node.ops[0].op == "notin" else "(")
        self.write("environment.contains(context, ")
        self.visit(node.expr, frame)
        self.write(", ")
        self.visit(node.ops[0].expr, frame)
        self.write("))")

    def visit_CondExpr(self, node: nodes.CondExpr, frame: Frame) -> None:
        """Make a false condition without `else` an error, as any missing value."""
        if node.expr2 is not None:
            super().visit_CondExpr(node, frame)
            return
        soft = frame.soft()
        self.write("(")
        self.visit(node.expr1, soft)
        self.write(" if ")
        self.visit(node.test, soft)
        self.write(" else undefined('the condition is false and there is no else'))")


__all__ = ["ROUNDS", "Code", "Sandbox", "Scope", "rounds"]
