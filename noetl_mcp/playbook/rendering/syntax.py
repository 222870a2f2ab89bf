"""Read the text of a template into a syntax tree, or say why it is none.

Refuses tags that reach for other templates, unknown filters and tests, and what is too large.
"""

import math
import re
from difflib import get_close_matches

from jinja2 import Environment, TemplateAssertionError, TemplateSyntaxError, nodes

from noetl_mcp.playbook.rendering.guards import CODE_LIMIT, PLACE_LIMIT, SOURCE_LIMIT
from noetl_mcp.playbook.rendering.spelling import (
    keep_returns,
    name_bare_keys,
    name_moments,
    prepare,
    restore_returns,
    sections,
)

Step = nodes.Getattr | nodes.Getitem
_TAGS: dict[type[nodes.Node], str] = {
    nodes.Include: "include",
    nodes.Import: "import",
    nodes.FromImport: "import",
    nodes.Extends: "extends",
    nodes.Block: "block",
}
_BUILDING = (
    nodes.List,
    nodes.Tuple,
    nodes.Dict,
    nodes.Add,
    nodes.Mul,
    nodes.Call,
)
_PAIRING = frozenset({"batch", "dictsort", "groupby", "items", "map", "slice"})
"""These may give pairs, or the same value many times."""
_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\"""", re.DOTALL)


def read(environment: Environment, text: str) -> nodes.Template:
    """Return the syntax tree of a template."""
    _refuse_large(text)
    source, mark = keep_returns(prepare(text))
    try:
        tree = environment.parse(source)
        restore_returns(tree, mark)
        name_bare_keys(tree)
        name_moments(tree)
        _refuse_tags(tree)
        _refuse_unknown(tree, environment)
    except RecursionError:
        raise TemplateSyntaxError("the template is nested too deeply", 1) from None
    except ValueError:
        raise TemplateSyntaxError("a number is too long", 1) from None
    return tree


def _refuse_large(text: str) -> None:
    if len(text) > SOURCE_LIMIT:
        raise TemplateSyntaxError(f"the template is longer than {SOURCE_LIMIT:,} characters", 1)
    if text.count("{{") + text.count("{%") > PLACE_LIMIT:
        raise TemplateSyntaxError(f"the template has more than {PLACE_LIMIT:,} tags", 1)
    if len(text) > CODE_LIMIT and code_in(text) > CODE_LIMIT:
        raise TemplateSyntaxError(
            f"the template has more than {CODE_LIMIT:,} characters of code", 1
        )


def code_in(text: str) -> int:
    """Count the characters inside the tags of a template, without those of quoted texts."""
    tags = (text[start:end] for start, end in sections(text))
    return sum(len(_QUOTED.sub("''", tag)) for tag in tags)


def _refuse_tags(tree: nodes.Template) -> None:
    for node in tree.find_all(nodes.Node):
        if type(node) in _TAGS:
            reason = f"'{_TAGS[type(node)]}' cannot be used: a template stands alone"
            raise TemplateSyntaxError(reason, node.lineno)
        if isinstance(node, nodes.Name) and node.name == "self":
            raise TemplateSyntaxError("'self' means nothing here", node.lineno)
        number = node.value if isinstance(node, nodes.Const) else None
        if isinstance(number, float) and not math.isfinite(number):
            raise TemplateSyntaxError("a number is too large", node.lineno)


def _refuse_unknown(tree: nodes.Template, environment: Environment) -> None:
    for node in tree.find_all((nodes.Filter, nodes.Test)):
        kind = "filter" if isinstance(node, nodes.Filter) else "test"
        known = environment.filters if isinstance(node, nodes.Filter) else environment.tests
        if node.name in known:
            continue
        close = get_close_matches(node.name, known, n=1)
        hint = f", did you mean '{close[0]}'?" if close else ""
        raise TemplateAssertionError(f"no {kind} named '{node.name}'{hint}", node.lineno)


def lone_expression(tree: nodes.Template) -> nodes.Expr | None:
    """Return the expression when a template is nothing but one `{{ }}`."""
    if len(tree.body) != 1 or not isinstance(tree.body[0], nodes.Output):
        return None
    pieces = tree.body[0].nodes
    return None if len(pieces) != 1 or isinstance(pieces[0], nodes.TemplateData) else pieces[0]


def path_of(node: nodes.Expr | None) -> tuple[nodes.Name, list[Step]] | None:
    """Return the name and the steps of a path such as `a.b['c'][0]`; anything else is none."""
    steps: list[Step] = []
    while isinstance(node, (nodes.Getattr, nodes.Getitem)):
        if isinstance(node, nodes.Getitem) and not _is_key(node.arg):
            return None
        steps.append(node)
        node = node.node
    return (node, steps[::-1]) if isinstance(node, nodes.Name) else None


def _is_key(node: nodes.Expr) -> bool:
    return isinstance(node, nodes.Const) and type(node.value) in (str, int)


def builds(node: nodes.Expr) -> bool:
    """Say whether an expression makes lists or maps of its own."""
    if isinstance(node, _BUILDING) or any(node.find_all(_BUILDING)):
        return True
    filters = [node, *node.find_all(nodes.Filter)] if isinstance(node, nodes.Filter) else []
    return any(one.name in _PAIRING for one in filters or node.find_all(nodes.Filter))


__all__ = ["Step", "builds", "code_in", "lone_expression", "path_of", "read"]
