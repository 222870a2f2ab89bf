"""What one pass through a piece of a template costs, read off its syntax tree.

Whatever is run again and again pays for its body each time: loops before they begin, functions and
loops that call themselves on the way in. Renders nothing.
"""

from collections.abc import Iterable, Iterator

from jinja2 import Environment, nodes

ROUNDS = " rounds"  # filters no template can name; loops and functions run through them
WORK = " work"
_EIGHTHS: dict[type[nodes.Node], int] = {
    nodes.Call: 12,
    nodes.Concat: 12,
    nodes.Filter: 8,
    nodes.For: 16,
    nodes.Test: 8,
    nodes.Getattr: 3,
    nodes.Getitem: 3,
    nodes.Compare: 4,
    nodes.Add: 5,
    nodes.Sub: 5,
    nodes.Mul: 5,
    nodes.Pow: 5,
    nodes.Mod: 5,
    nodes.Macro: 16,
    nodes.CallBlock: 24,
}
"""Eighths of a step; anything else takes one."""
_APART = (nodes.For, nodes.Macro, nodes.CallBlock)


def charge(tree: nodes.Template, environment: Environment) -> None:
    """Let everything that is run again and again pay for itself."""
    for loop in list(tree.find_all(nodes.For)):
        steps = 1 + cost(_each_round(loop))
        if loop.recursive:
            loop.body.insert(0, _work(steps, environment))
            steps = 1
        loop.iter = nodes.Filter(
            loop.iter,
            ROUNDS,
            [nodes.Const(steps)],
            [],
            None,
            None,
            lineno=loop.lineno,
            environment=environment,
        )
    functions: list[nodes.Macro | nodes.CallBlock] = [*tree.find_all(nodes.Macro)]
    for one in (*functions, *tree.find_all(nodes.CallBlock)):
        one.body.insert(0, _work(1 + cost((*one.body, *one.defaults)), environment))


def cost(parts: Iterable[nodes.Node]) -> int:
    """Count the steps of one pass, without what pays for itself."""
    return sum(map(_eighths, _run(parts))) >> 3


def _run(parts: Iterable[nodes.Node]) -> Iterator[nodes.Node]:
    waiting = list(parts)
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, nodes.For):
            waiting += (node.iter, *node.else_)
        elif not isinstance(node, _APART):
            waiting += node.iter_child_nodes()
        elif isinstance(node, nodes.CallBlock):
            waiting.append(node.call)


def _eighths(node: nodes.Node) -> int:
    if isinstance(node, nodes.TemplateData):
        return 1 + (len(node.data) >> 8)
    return _EIGHTHS.get(type(node), 1)


def _each_round(loop: nodes.For) -> list[nodes.Node]:
    return [*loop.body, *([] if loop.test is None else [loop.test])]


def _work(steps: int, environment: Environment) -> nodes.ExprStmt:
    nothing = nodes.Const(None)
    paid = nodes.Filter(nothing, WORK, [nodes.Const(steps)], [], None, None, lineno=1)
    paid.environment = environment
    return nodes.ExprStmt(paid, lineno=1)


__all__ = ["ROUNDS", "WORK", "charge", "cost"]
