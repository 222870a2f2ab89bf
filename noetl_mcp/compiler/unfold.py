"""Pass: turns become model and tool steps, resources hidden steps before their first use.

Before: a draft in which a step of type `turn` is one node. After: `t.model.1`, `t.tools.1`,
`t.model.2` … and `t`, which holds the answer; every tool a node beside the graph.
"""

from dataclasses import dataclass, field, replace

from noetl_mcp.compiler.draft import Draft, Edge, EdgeKind, Node, Placed
from noetl_mcp.compiler.resources import place_resources
from noetl_mcp.compiler.saving import save_nodes
from noetl_mcp.compiler.settings import check_settings
from noetl_mcp.diagnostics import Report
from noetl_mcp.playbook.mcp_section import McpSection, Tool, Turn
from noetl_mcp.playbook.model import UNSAID
from noetl_mcp.playbook.node import Path
from noetl_mcp.playbook.references import read_reference
from noetl_mcp.rules import effects, reading

WANTS_TOOLS = "{{ result.tool_calls }}"
_OF_CALLS, _OF_ANSWERS = ("cache", "timeout"), ("save",)
_MOST_TURN_STEPS = 100_000


@dataclass(slots=True)
class _Made:
    """What came of the turns so far, and which steps and turns now begin and end elsewhere."""

    nodes: dict[str, Node]
    edges: list[Edge] = field(default_factory=list)
    firsts: dict[str, str] = field(default_factory=dict)
    lasts: dict[str, str] = field(default_factory=dict)
    room: int = _MOST_TURN_STEPS

    def into(self, draft: Draft) -> Draft:
        """Return the draft with the turns in it."""
        first, last = self.firsts, self.lasts
        ways = [
            replace(
                edge,
                source=last.get(edge.source, edge.source),
                target=first.get(edge.target, edge.target),
            )
            for edge in draft.edges
        ]
        return draft.with_(
            nodes=self.nodes,
            edges=(*ways, *self.edges),
            entries=tuple(first.get(name, name) for name in draft.entries),
        )


def unfold(draft: Draft, report: Report) -> Draft:
    """Unfold the `mcp:` section."""
    mcp = draft.playbook.mcp
    if mcp is None:
        return draft
    draft = draft.with_(tools=_tools(mcp, draft, report))
    placed = {node.turn: name for name, node in draft.nodes.items() if node.turn is not None}
    alone = not draft.playbook.workflow
    nameless = {turn.name for turn in mcp.turns if turn.name.startswith(UNSAID)}
    turns: list[tuple[Turn, Path]] = [
        (turn, ("mcp", "turns", index))
        for index, turn in enumerate(mcp.turns)
        if (alone or turn.name in placed) and turn.name not in nameless
    ]
    made = _Made(dict(draft.nodes))
    for turn, at in turns:
        _turn(turn, at, placed.get(turn.name), made, report)
    draft = _order(turns, made.into(draft), chained=alone)
    return place_resources(draft, report)


def _tools(mcp: McpSection, draft: Draft, report: Report) -> dict[str, Node]:
    found: dict[str, Node] = {}
    for index, tool in enumerate(mcp.tools):
        node = _tool(tool, ("mcp", "tools", index), draft, report)
        found.setdefault(tool.name, node)
        if node.writes and not tool.confirm:
            report.say(effects.TOOL_WRITES, (*node.at, "name"), name=tool.name)
    return found


def _tool(tool: Tool, at: Path, draft: Draft, report: Report) -> Node:
    given = {key: Placed(value, (*at, "spec", key)) for key, value in tool.spec.items()}
    spec = draft.tasks.get(tool.type)
    where = f"tool '{tool.name}'"
    settings = check_settings(spec, given, where, (*at, "spec"), report) if spec else given
    keys = ("auth", "timeout", "input_schema", "description", "confirm", "idempotent", "writes")
    care = {
        key: Placed(getattr(tool, key), (*at, key))
        for key in keys
        if getattr(tool, key) is not None
    }
    data = Placed(tool.data, (*at, "data")) if tool.data is not None else None
    values = {key: placed.value for key, placed in settings.items()}
    writes = tool.writes if tool.writes is not None else bool(spec and spec.writes(values))
    kind = tool.type if spec else "unknown"
    return Node(tool.name, kind, at, settings, data, care, hidden=True, writes=writes)


def _turn(turn: Turn, at: Path, step: str | None, made: _Made, report: Report) -> None:
    """Make the nodes and edges of one turn, in the place of the step that places it."""
    nodes, edges = made.nodes, made.edges
    rounds = turn.max_tool_rounds if turn.tools_allowed else 0
    if made.room < 0:
        return
    made.room -= 3 * rounds + 2
    if made.room < 0:
        report.say(reading.TOO_MANY_VALUES, (*at, "max_tool_rounds"), most=_MOST_TURN_STEPS)
        return
    chain: list[Node] = []
    for number in range(1, rounds + 2):
        chain.append(_model(turn, at, number))
        if number <= rounds:
            chain.append(_round(turn, at, number))
            chain.append(_call(turn, at, number))
    for node in chain:
        nodes[node.name] = node
    first, answer = chain[0].name, _answer(turn, at)
    if step is not None:
        placing = nodes[step]
        nodes[first] = nodes[first].with_(data=placing.data, join=placing.join)
        made.firsts[step] = first
        answer = answer.with_(phase=placing.phase)
        for node in chain:
            nodes[node.name] = nodes[node.name].with_(phase=placing.phase)
        if step == turn.name:
            answer = answer.with_(care={**placing.care, **answer.care}, route=placing.route)
    nodes[turn.name] = answer
    for number in range(1, rounds + 2):
        model, tools = f"{turn.name}.model.{number}", f"{turn.name}.tools.{number}"
        if number <= rounds:
            edges.append(Edge(model, tools, when=Placed(WANTS_TOOLS, at), at=at))
            edges.append(Edge(tools, f"{turn.name}.model.{number + 1}", at=at))
        edges.append(Edge(model, turn.name, at=at))
    last = save_nodes(answer, nodes, edges, report)
    made.lasts[turn.name] = last
    if step is not None and step != turn.name:
        nodes[step] = nodes[step].with_(type="turn.result", data=None, join="all")
        edges.append(Edge(last, step, at=nodes[step].at))


def _model(turn: Turn, at: Path, number: int) -> Node:
    settings = {"round": Placed(number, at)}
    if number == 1:
        left_out = {*_OF_CALLS, *_OF_ANSWERS, "needs"}
        settings |= {
            key: Placed(value, (*at, key))
            for key, value in turn.plain().items()
            if key not in left_out
        }
    name = f"{turn.name}.model.{number}"
    return Node(
        name,
        "turn.model",
        at,
        settings,
        care=_care(turn, at, _OF_CALLS),
        hidden=True,
        turn=turn.name,
        round=number,
        speaks_for=None if number == 1 else f"{turn.name}.model.1",
    )


def _round(turn: Turn, at: Path, number: int) -> Node:
    settings = {
        "round": Placed(number, at),
        "tools": Placed(list(turn.tools_allowed), (*at, "tools_allowed")),
    }
    name = f"{turn.name}.tools.{number}"
    return Node(name, "turn.tools", at, settings, hidden=True, turn=turn.name, round=number)


def _call(turn: Turn, at: Path, number: int) -> Node:
    """Return what is done for each call that the model asks for in a round."""
    tools = f"{turn.name}.tools.{number}"
    return Node(f"{tools}.item", "turn.call", at, hidden=True, turn=turn.name, within=tools)


def _answer(turn: Turn, at: Path) -> Node:
    return Node(turn.name, "turn", at, care=_care(turn, at, _OF_ANSWERS), turn=turn.name)


def _care(turn: Turn, at: Path, keys: tuple[str, ...]) -> dict[str, Placed]:
    written = turn.plain()

    def said(key: str) -> bool:
        return written.get(key) not in (None, [])

    return {key: Placed(written[key], (*at, key)) for key in keys if said(key)}


def _order(turns: list[tuple[Turn, Path]], draft: Draft, *, chained: bool) -> Draft:
    """Let turns follow each other: by `needs`, by what they use, else in list order."""
    edges, former = list(draft.edges), None
    entries: list[str] = []
    for turn, at in turns:
        first = f"{turn.name}.model.1"
        if first not in draft.nodes:
            continue
        needs: list[tuple[str, Path]] = [
            (_bare(need), (*at, "needs", n)) for n, need in enumerate(turn.needs or ())
        ]
        if chained and turn.needs is None and former is not None:
            needs = [(former, at)]
        for name, place in needs:
            if name in draft.nodes and name != turn.name:
                kind: EdgeKind = "next" if chained else "need"
                edges.append(Edge(name, first, kind, at=place))
        if chained and not needs:
            entries.append(first)
        former = turn.name
    return draft.with_(edges=tuple(edges), entries=(*draft.entries, *entries))


def _bare(need: str) -> str:
    reference = read_reference(need)
    return reference.name if reference is not None else need
