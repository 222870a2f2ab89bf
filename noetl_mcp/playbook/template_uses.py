"""Find the names a template uses by parsing it. Renders nothing; `template` has quicker ways."""

from dataclasses import replace

from jinja2 import TemplateAssertionError, TemplateSyntaxError, nodes

from noetl_mcp.playbook.rendering.render import parse
from noetl_mcp.playbook.rendering.syntax import lone_expression
from noetl_mcp.playbook.template import Kind, Part, Template, TemplateProblem, Use


def read_thoroughly(text: str) -> Template:
    """Parse a text and find the names it uses; raise `TemplateProblem` when it is broken."""
    try:
        tree = parse(text)
        uses = _Uses(tree).found()
    except TemplateAssertionError as error:
        cure = "the filters and tests are Jinja's own, and those the docs name"
        raise TemplateProblem(error.message or "", error.lineno, cure) from None
    except TemplateSyntaxError as error:
        raise TemplateProblem(_plainly(error, text), error.lineno) from None
    except RecursionError:
        raise TemplateProblem("it is nested too deeply") from None
    kind: Kind = "expression" if lone_expression(tree) is not None else "template"
    return Template(text, kind, uses)


def _plainly(error: TemplateSyntaxError, text: str) -> str:
    message = error.message or "it cannot be parsed"
    if text.count("{{") > text.count("}}") and "unexpected end" not in message:
        return f"a '{{{{' is not closed ({message})"
    if text.count("{{") > text.count("}}"):
        return "a '{{' is not closed"
    return message


class _Uses:
    """Walks a parsed template and collects the names it reads from outside."""

    def __init__(self, tree: nodes.Template) -> None:
        self.local = {
            node.name for node in tree.find_all(nodes.Name) if node.ctx in ("store", "param")
        }
        self.local |= {node.name for node in tree.find_all(nodes.Macro)}
        if tree.find(nodes.For) is not None:
            self.local.add("loop")
        self.uses: dict[Use, None] = {}
        self.guarded: set[tuple[Part, ...]] = set()
        self.walk(tree, optional=False)

    def found(self) -> tuple[Use, ...]:
        """Return the names; those asked for with `is defined` somewhere may be missing."""
        if not self.guarded:
            return tuple(self.uses)
        return tuple(dict.fromkeys(map(self._guard, self.uses)))

    def _guard(self, use: Use) -> Use:
        is_guarded = any(use.path[: len(path)] == path for path in self.guarded)
        return replace(use, optional=True) if is_guarded else use

    def walk(self, node: nodes.Node, *, optional: bool, called: bool = False) -> None:
        """Visit a node; `optional` when a missing value is provided for."""
        if isinstance(node, (nodes.Name, nodes.Getattr, nodes.Getitem)):
            self._name(node, optional=optional, called=called)
        elif isinstance(node, nodes.Filter) and node.node is not None:
            self.walk(node.node, optional=optional or node.name in ("default", "d"))
            self._arguments(node)
        elif isinstance(node, nodes.Test):
            asks = node.name in ("defined", "undefined")
            path = _path_of(node.node)
            if asks and path is not None:
                self.guarded.add(path)
            self.walk(node.node, optional=optional or asks)
            self._arguments(node)
        elif isinstance(node, nodes.Call):
            self.walk(node.node, optional=optional, called=True)
            self._arguments(node)
        else:
            for child in node.iter_child_nodes():
                self.walk(child, optional=optional)

    def _arguments(self, node: nodes.Call | nodes.Filter | nodes.Test) -> None:
        for child in (*node.args, *node.kwargs):
            self.walk(child, optional=False)
        for rest in (node.dyn_args, node.dyn_kwargs):
            if rest is not None:
                self.walk(rest, optional=False)

    def _name(self, node: nodes.Node, *, optional: bool, called: bool) -> None:
        path = _path_of(node)
        if path is not None:
            if str(path[0]) not in self.local:
                self.uses[Use(path, optional, called)] = None
            return
        if isinstance(node, nodes.Getitem):
            self.walk(node.arg, optional=False)
        if isinstance(node, (nodes.Getattr, nodes.Getitem)):
            self.walk(node.node, optional=optional)


def _path_of(node: nodes.Node) -> tuple[Part, ...] | None:
    """Return the path that a chain of attributes and constant items spells, down to its name."""
    parts: list[Part] = []
    while True:
        if isinstance(node, nodes.Getattr):
            parts.append(node.attr)
            node = node.node
        elif isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
            value = node.arg.value
            parts.append(value if isinstance(value, int) else str(value))
            node = node.node
        elif isinstance(node, nodes.Name) and node.ctx == "load":
            return (node.name, *reversed(parts))
        else:
            return None
