"""Make the nodes inside a sequence or an iterator. Part of the pass `bind`."""

from dataclasses import dataclass, field

from noetl_mcp.compiler.draft import SECOND, Edge, Node, Placed
from noetl_mcp.compiler.layers import Data, Settled, Workbook, settle
from noetl_mcp.compiler.saving import save_nodes
from noetl_mcp.diagnostics import Report
from noetl_mcp.playbook.model import Action, Step
from noetl_mcp.playbook.node import Path
from noetl_mcp.rules import flow, names

Tasks = tuple[tuple[Action, Path], ...]


@dataclass(slots=True)
class Bodies:
    """Nodes and edges made so far, by whatever made them."""

    workbook: Workbook
    report: Report
    nodes: dict[str, Node] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    seconds: dict[str, int] = field(default_factory=dict)

    def add(self, node: Node) -> Node:
        """Add a node; a second one of a name is kept aside, so that its inside is checked too."""
        name = node.name
        while name in self.nodes:
            self.seconds[node.name] = number = self.seconds.get(node.name, 0) + 1
            name = f"{node.name}{SECOND}{number}"
        node = node if name == node.name else node.with_(name=name)
        self.nodes[name] = node
        return node


def chain_of(node: Node, tasks: Tasks, bodies: Bodies) -> str:
    """Make a chain of tasks before the node that gathers their results; return where it begins.

    The step's own input, and what arrives with the ways to it, is the input of every task.
    """
    if not tasks:
        where = f"step '{node.name}'"
        bodies.report.say(flow.EMPTY_SEQUENCE, (*node.at, "type"), where=where)
        return node.name
    chain = _chain(node, tasks, bodies, within=None)
    if not chain:
        return node.name
    siblings = {task.name or "": made.name for (task, _), made in zip(tasks, chain, strict=False)}
    bodies.nodes[node.name] = node.with_(siblings=siblings, data=None)
    for one, other in zip(chain, [*chain[1:], node], strict=True):
        last = save_nodes(one, bodies.nodes, bodies.edges, bodies.report)
        bodies.edges.append(Edge(last, other.name, at=one.at))
        if one.goes_on:
            bodies.edges.append(Edge(one.name, other.name, "error", at=one.at))
    return chain[0].name


def iterate(node: Node, step: Step, bodies: Bodies) -> None:
    """Make the nodes that are done for every item."""
    iterator = step.iterator
    if iterator is None:
        return
    at: Path = (*node.at, "iterator")
    fields = iterator.plain()
    owner = node.with_(
        settings={
            key: Placed(value, (*at, key))
            for key, value in fields.items()
            if key not in ("task", "calls")
        }
    )
    bodies.nodes[node.name] = owner
    if iterator.task is not None:
        body, place = iterator.task, (*at, "task")
    elif iterator.calls is not None:
        body, place = Action(type="workbook", calls=iterator.calls), at
    else:
        where = f"step '{step.step}'"
        bodies.report.say(flow.EMPTY_ITERATOR, (*node.at, "type"), where=where)
        return
    settled = settle(body, place, bodies.workbook, f"the task of step '{step.step}'")
    if settled.tasks:
        _for_each(_chain(owner, settled.tasks, bodies, within=node.name), bodies)
        return
    inner = _inner(f"{node.name}.item", settled, place, owner, body)
    _for_each([bodies.add(inner.with_(within=node.name))], bodies)


def _for_each(chain: list[Node], bodies: Bodies) -> None:
    before: str | None = None
    for node in chain:
        if before is not None:
            bodies.edges.append(Edge(before, node.name, at=node.at))
        before = save_nodes(node, bodies.nodes, bodies.edges, bodies.report)


def _chain(owner: Node, tasks: Tasks, bodies: Bodies, *, within: str | None) -> list[Node]:
    """Make a node of each task; each knows those before it by their names."""
    siblings: dict[str, str] = {}
    chain: list[Node] = []
    for task, at in tasks:
        name = task.name or ""
        if name in siblings:
            first = bodies.report.source.place(tasks[0][1], key=False, word=None).line
            place = (*at, "name")
            bodies.report.say(names.DUPLICATE_NAME, place, what="the task", name=name, first=first)
        settled = settle(task, at, bodies.workbook)
        made = _inner(f"{owner.name}.{name}", settled, at, owner, task)
        if not bodies.workbook.takes(len(siblings), (*owner.at, "type")):
            return chain
        made = made.with_(siblings=dict(siblings), within=within)
        if within is None:
            made = made.with_(data=_with_owner(owner.data, settled.data))
            made = made.with_(input_of=chain[0].name if chain else None)
        chain.append(bodies.add(made))
        siblings[name] = chain[-1].name
    return chain


def _with_owner(outer: Data, inner: Data) -> Data:
    if inner is None or isinstance(inner, Placed):
        return outer if inner is None else inner
    return {**outer, **inner} if isinstance(outer, dict) else inner


def _inner(name: str, settled: Settled, at: Path, owner: Node, action: Action) -> Node:
    """Make a node inside another; it is confirmed when the step around it is."""
    care = settled.care
    if "confirm" in owner.care and "confirm" not in care:
        care = {**care, "confirm": owner.care["confirm"]}
    return Node(
        name,
        settled.type,
        at,
        settled.settings,
        settled.data,
        care,
        phase=owner.phase,
        hidden=True,
        goes_on=action.on_error.goes_on if action.on_error is not None else False,
    )
