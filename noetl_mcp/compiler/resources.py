"""Place resources: hidden steps that run once, before their first use. Part of `unfold`."""

from collections.abc import Iterable

from noetl_mcp.compiler.draft import Draft, Edge, EdgeKind, Node, Placed, strings
from noetl_mcp.compiler.order import reached, sort
from noetl_mcp.compiler.settings import check_settings
from noetl_mcp.diagnostics import Report
from noetl_mcp.playbook.mcp_section import Resource
from noetl_mcp.playbook.node import Path
from noetl_mcp.playbook.references import read_reference
from noetl_mcp.playbook.template import TemplateProblem, read_template
from noetl_mcp.rules import effects, reading

_MOST_LOOKED_AT = 20_000_000


def place_resources(draft: Draft, report: Report) -> Draft:
    """Add a node for every resource that something uses."""
    mcp = draft.playbook.mcp
    users = _users(draft)
    known = {resource.name for resource in mcp.resources} if mcp is not None else set()
    places = _Places(draft, known)
    for index, resource in enumerate(mcp.resources if mcp is not None else ()):
        at: Path = ("mcp", "resources", index)
        node = _node(resource, at, draft, report)
        used_by = users.get(resource.name, [])
        if not used_by or resource.name in places.nodes:
            continue
        groups = [[user] for user in used_by] if resource.refresh == "each_use" else [used_by]
        for number, group in enumerate(groups, start=1):
            name = resource.name if number == 1 else f"{resource.name}.{number}"
            if not places.add(node.with_(name=name), tuple(group)):
                report.say(reading.TOO_MANY_VALUES, (*at, "name"), most=_MOST_LOOKED_AT)
                return places.draft_now()
    return places.draft_now()


def _users(draft: Draft) -> dict[str, list[str]]:
    """Return the nodes that use each resource, by reference or in a template."""
    mcp = draft.playbook.mcp
    known = {resource.name for resource in mcp.resources} if mcp is not None else set()
    users: dict[str, list[str]] = {}
    for node in draft.nodes.values():
        roots = {name for name in _roots(node) if name in known}
        said = node.settings.get("user") if node.type == "turn.model" else None
        for message in said.value if said is not None else ():
            reference = read_reference(message.get("use") or "")
            if reference is not None and reference.kind == "resource":
                roots.add(reference.name)
        for name in sorted(roots):
            users.setdefault(name, []).append(node.name)
    return users


def _roots(node: Node) -> Iterable[str]:
    fields = [*node.settings.values(), *node.care.values()]
    if isinstance(node.data, Placed):
        fields.append(node.data)
    elif node.data is not None:
        fields += node.data.values()
    for placed in fields:
        for text, _ in strings(placed):
            if "{{" in text or "{%" in text:
                try:
                    uses = read_template(text).uses
                except TemplateProblem:
                    continue
                yield from (use.root for use in uses)


def _node(resource: Resource, at: Path, draft: Draft, report: Report) -> Node:
    given = {key: Placed(value, (*at, "spec", key)) for key, value in resource.spec.items()}
    spec, where = draft.tasks.get(resource.type), f"resource '{resource.name}'"
    settings = check_settings(spec, given, where, (*at, "spec"), report) if spec else given
    if spec and spec.writes({key: placed.value for key, placed in settings.items()}):
        report.say(effects.RESOURCE_WRITES, (*at, "name"), name=resource.name)
    care = {
        key: Placed(getattr(resource, key), (*at, key))
        for key in ("auth", "timeout", "max_chars")
        if getattr(resource, key) is not None
    }
    data = Placed(resource.data, (*at, "data")) if resource.data is not None else None
    kind = resource.type if spec else "unknown"
    return Node(resource.name, kind, at, settings, data, care, hidden=True, join="any")


class _Places:
    """Puts resources before their users.

    A resource becomes live with the first of them: it gets a copy of each way that leads from
    outside to a user, or to something behind one user from which another can be reached. A user
    that begins the execution begins it no longer; the resource does instead.
    """

    def __init__(self, draft: Draft, resources: set[str]) -> None:
        self.draft = draft
        self.resources = resources
        self.first = frozenset(draft.entries)
        self.nodes = dict(draft.nodes)
        self.edges = list(draft.edges)
        self.entries = draft.entries
        self.incoming = draft.incoming()
        self.after = {name: [e.target for e in ways] for name, ways in draft.outgoing().items()}
        self.before = {name: [e.source for e in ways] for name, ways in self.incoming.items()}
        ways = [
            (edge.source, edge.target)
            for edge in draft.edges
            if {edge.source, edge.target} <= draft.nodes.keys()
        ]
        self.has_circles = bool(sort(draft.nodes, ways)[1])
        self.arrivals: dict[tuple[str, ...], list[Edge]] = {}
        self.room = _MOST_LOOKED_AT

    def add(self, resource: Node, users: tuple[str, ...]) -> bool:
        """Put one resource before its users; False when it would take too long to see where."""
        if users not in self.arrivals:
            is_plain = len(users) == 1 and not self.has_circles
            self.room -= 1 if is_plain else len(self.draft.nodes) + len(self.draft.edges)
            self.arrivals[users] = self._arriving(users, is_plain=is_plain)
        if self.room < 0:
            return False
        copies = [
            Edge(edge.source, resource.name, edge.kind, edge.when, at=edge.at, copies=True)
            for edge in self.arrivals[users]
        ]
        self.edges += _each_once(copies)
        is_first = self.first & set(users)
        for user in users:
            kind: EdgeKind = "next" if user in is_first else "need"
            self.edges.append(Edge(resource.name, user, kind, at=resource.at))
        if is_first:
            rest = (name for name in self.entries if name not in is_first)
            self.entries = (resource.name, *rest)
        self.nodes[resource.name] = resource
        return True

    def _arriving(self, users: tuple[str, ...], *, is_plain: bool) -> list[Edge]:
        """Return the ways from outside; without circles nothing leads back to a single user."""
        behind = set(users) if is_plain else reached(users, self.after)
        region = behind if is_plain else behind & reached(users, self.before)
        return [
            edge
            for name in self.draft.nodes
            if name in region
            for edge in self.incoming[name]
            if edge.kind in ("next", "error")
            and edge.source not in behind
            and edge.source not in self.resources
        ]

    def draft_now(self) -> Draft:
        """Return the draft with the resources in it."""
        return self.draft.with_(
            nodes=self.nodes, edges=tuple(self.edges), entries=tuple(self.entries)
        )


def _each_once(edges: list[Edge]) -> list[Edge]:
    seen: set[tuple[str, str, str, Path]] = set()
    once = []
    for edge in edges:
        key = (edge.source, edge.target, edge.kind, edge.at)
        if key not in seen:
            seen.add(key)
            once.append(edge)
    return once
