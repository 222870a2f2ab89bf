"""Write the Python of a template: native values are kept, secrets covered, paths of names known.

Runs nothing; what the code calls stands in the sandbox.
"""

from io import StringIO

from jinja2 import Environment, nodes
from jinja2.compiler import CodeGenerator, Frame

from noetl_mcp.playbook.rendering.spelling import spelled

_SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "lteq": "<=", "gt": ">", "gteq": ">="}
_FUNCTIONS = {"eq": "eq", "ne": "ne", "lt": "lt", "lteq": "le", "gt": "gt", "gteq": "ge"}
_LONG = 4096  # characters that are worth counting


class Code(CodeGenerator):
    """Writes code that keeps native values, covers secrets and knows the paths of names."""

    def __init__(self, environment: Environment, native: str | None) -> None:
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
        self.write(f"environment.{function}(context, ")
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
        is_whole = self._begin(node, "attribute(", frame)
        self.write(f", {node.attr!r}, {spelled(node)!r})" + ")" * is_whole)

    def visit_Getitem(self, node: nodes.Getitem, frame: Frame) -> None:
        """Look up by our rules, slices too."""
        is_slice = isinstance(node.arg, nodes.Slice)
        is_whole = self._begin(node, "sliced(context, " if is_slice else "item(", frame)
        self.write(", ")
        if isinstance(node.arg, nodes.Slice):
            self._slice(node.arg, frame)
        else:
            self.visit(node.arg, frame)
        self.write(f", {spelled(node)!r})" + ")" * is_whole)

    def _begin(self, node: nodes.Getattr | nodes.Getitem, function: str, frame: Frame) -> bool:
        """Write a lookup up to its key; say whether it ends a path."""
        is_whole = not self.is_inside
        self.write("environment.bare(" * is_whole + f"environment.{function}")
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
        """Compare on the budget; with a constant there is nothing to pay for."""
        self.write("(")
        left: nodes.Expr | str = node.expr
        for number, operand in enumerate(node.ops):
            is_last = number + 1 == len(node.ops)
            self.write(" and " if number else "")
            keeps = "" if is_last else self.temporary_identifier()
            self._compare(operand, left, keeps, frame)
            left = keeps
        self.write(")")

    def _compare(
        self, operand: nodes.Operand, left: nodes.Expr | str, keeps: str, frame: Frame
    ) -> None:
        """Write one comparison; its right side is kept under a name for the next one."""
        sign = _SIGNS.get(operand.op)
        is_plain = sign is not None and (_is_small(left) or _is_small(operand.expr))
        if is_plain:
            before, between, after = "(", f" {sign} ", ")"
        elif sign is not None:
            function = f"environment.operator.{_FUNCTIONS[operand.op]}"
            before = f"environment.compare(context, {function}, "
            between, after = ", ", ")"
        else:
            before = "(not " if operand.op == "notin" else "("
            before += "environment.contains(context, "
            between, after = ", ", "))"
        self.write(before)
        if isinstance(left, str):
            self.write(left)
        else:
            self.visit(left, frame)
        self.write(between + (f"({keeps} := " if keeps else ""))
        self.visit(operand.expr, frame)
        self.write((")" if keeps else "") + after)

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


def _is_small(node: nodes.Expr | str) -> bool:
    """Whether a comparison with it takes no time worth counting."""
    if not isinstance(node, nodes.Const):
        return False
    return not isinstance(node.value, str) or len(node.value) <= _LONG


__all__ = ["Code"]
