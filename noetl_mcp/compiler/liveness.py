"""Judge whether a result will be there when a template reads it. Part of the pass `graph`."""

from collections.abc import Iterator
from functools import cached_property
from itertools import combinations

from noetl_mcp.compiler.draft import Draft, Edge, Ref
from noetl_mcp.compiler.order import dominators
from noetl_mcp.diagnostics import Report
from noetl_mcp.rules import flow

_ROOT = "$begin"
_MOST_PAIRS = 500
_MOST_LOOKS = 1_000_000
_MOST_ORIGINS = 100


def judge_refs(draft: Draft, report: Report) -> Draft:
    """Report results that may be missing; drop the needs that the order fulfils anyway."""
    lives = Liveness(draft)
    fulfilled = {
        (edge.source, edge.target)
        for edge in draft.edges
        if edge.kind == "need"
        and not draft.nodes[edge.source].hidden
        and lives.dominates(edge.source, edge.target)
    }
    unsure: dict[str, list[Ref]] = {}
    for ref in draft.refs:
        if ref.optional or not _is_judged(ref, draft):
            continue
        if not lives.surely(ref.used, ref.user):
            unsure.setdefault(ref.user, []).append(ref)
    for user, refs in unsure.items():
        impossible = set(_say_impossible(user, refs, lives, report))
        for ref in refs:
            if ref.used not in impossible:
                where = draft.nodes[user].told()
                report.say(flow.MAYBE_SKIPPED, ref.at, word=ref.word, name=ref.used, where=where)
    edges = tuple(
        e for e in draft.edges if (e.source, e.target) not in fulfilled or e.kind != "need"
    )
    return draft.with_(edges=edges)


def _is_judged(ref: Ref, draft: Draft) -> bool:
    """Hidden results are there when their users are; `finally` looks back on everything."""
    used, user = draft.nodes.get(ref.used), draft.nodes.get(ref.user)
    if used is None or user is None or used.hidden:
        return False
    return used.phase == user.phase


def _say_impossible(user: str, refs: list[Ref], lives: "Liveness", report: Report) -> Iterator[str]:
    for number, (one, other) in enumerate(combinations(refs, 2)):
        if number > _MOST_PAIRS or lives.looks < 0:
            return
        if lives.exclude(one.used, other.used):
            where = lives.draft.nodes[user].told()
            report.say(
                flow.IMPOSSIBLE_JOIN,
                other.at,
                word=other.word,
                where=where,
                first=one.used,
                second=other.used,
            )
            yield from (one.used, other.used)


class Liveness:
    """What is certain to have run when something else runs."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.incoming = draft.incoming()
        self.outgoing = draft.outgoing()
        self.origins: dict[str, frozenset[str]] = {}
        self.looks = _MOST_LOOKS

    @cached_property
    def ways(self) -> list[tuple[str, str]]:
        """What passes control, from one beginning."""
        ways = [(edge.source, edge.target) for edge in self.draft.edges if edge.kind != "need"]
        finals = [n.name for n in self.draft.nodes.values() if n.phase == "finally"][:1]
        return [*ways, *((_ROOT, name) for name in (*self.draft.entries, *finals))]

    @cached_property
    def parents(self) -> dict[str, str]:
        """The nearest node that all ways to a node lead through."""
        return dominators(_ROOT, (_ROOT, *self.draft.nodes), self.ways)

    @cached_property
    def spans(self) -> dict[str, tuple[int, int]]:
        """Each node's stretch in a walk over the tree of dominators."""
        children: dict[str, list[str]] = {}
        for name, parent in self.parents.items():
            if name != parent:
                children.setdefault(parent, []).append(name)
        spans: dict[str, tuple[int, int]] = {}
        clock = 0
        stack: list[tuple[str, bool]] = [(_ROOT, False)]
        begun: dict[str, int] = {}
        while stack:
            name, is_done = stack.pop()
            if is_done:
                spans[name] = (begun[name], clock)
                continue
            begun[name] = clock = clock + 1
            stack.append((name, True))
            stack += [(child, False) for child in children.get(name, ())]
        return spans

    def dominates(self, one: str, other: str) -> bool:
        """Whether every way to `other` leads through `one`."""
        if one not in self.spans or other not in self.spans:
            return False
        begin, end = self.spans[one]
        return begin <= self.spans[other][0] <= end

    def surely(self, used: str, user: str) -> bool:
        """Whether `used` has run, or will have, whenever `user` runs."""
        if self.dominates(used, user):
            return True
        origins = self._origins(used)
        return _ROOT in origins or any(self.dominates(one, user) for one in origins)

    def _origins(self, name: str) -> frozenset[str]:
        """Return what makes a node run, itself included, without what stands below another."""
        known, opened, stack = self.origins, {name}, [name]
        while stack:
            one = stack[-1]
            causes = [cause for cause in self._causes(one) if cause != one]
            open_causes = [cause for cause in causes if cause not in known and cause not in opened]
            if open_causes:
                opened.update(open_causes)
                stack += open_causes
                continue
            stack.pop()
            found = frozenset[str]().union(*(known[cause] for cause in causes if cause in known))
            if len(found) > _MOST_ORIGINS:
                found = frozenset((_ROOT,))  # too tangled to judge: nothing is claimed
            is_below = any(self.dominates(other, one) for other in found)
            known[one] = found if is_below else found | {one}
        return known[name]

    def _causes(self, name: str) -> Iterator[str]:
        """Yield nodes each of which is certain to make `name` run."""
        node = self.draft.nodes.get(name)
        if node is not None and node.type == "turn":
            yield f"{name}.model.1"
        for edge in self.incoming.get(name, ()):
            if edge.kind == "next" and self._always_fires(edge):
                yield edge.source
        parent = self.parents.get(name, _ROOT)
        if parent not in (_ROOT, name) and self._collects(name, parent):
            yield parent

    def _always_fires(self, edge: Edge) -> bool:
        if edge.when is not None and edge.when.value is not True:
            return False
        if "when" in self.draft.nodes[edge.target].care:
            return False
        route = self.draft.nodes[edge.source].route
        if route == "inclusive":
            return True
        first, is_free = self.nexts[edge.source]
        return first is edge if route == "exclusive" else is_free

    @cached_property
    def nexts(self) -> dict[str, tuple[Edge, bool]]:
        """The first way on from each node, and whether none of its ways has a condition."""
        nexts: dict[str, tuple[Edge, bool]] = {}
        for edge in self.draft.edges:
            if edge.kind == "next":
                first, is_free = nexts.get(edge.source, (edge, True))
                nexts[edge.source] = (first, is_free and edge.when is None)
        return nexts

    def _collects(self, name: str, branching: str) -> bool:
        """Whether all branches of a node that always takes one come together in `name`."""
        if len(self.incoming.get(name, ())) < 2:
            return False
        if self.after.get(branching) != name:
            return False
        ways = [way for way in self.outgoing[branching] if way.kind == "next"]
        return any(way.when is None for way in ways)

    @cached_property
    def after(self) -> dict[str, str]:
        """The nearest node that all ways from a node lead through."""
        back = [(target, source) for source, target in self.ways if source != _ROOT]
        sources = {source for source, _ in self.ways}
        back += [("$over", name) for name in self.draft.nodes if name not in sources]
        return dominators("$over", ("$over", *reversed([*self.draft.nodes])), back)

    def exclude(self, one: str, other: str) -> bool:
        """Whether two nodes stand on branches of which only one is taken."""
        mine, theirs = self._branches(one), self._branches(other)
        for source in mine.keys() & theirs.keys():
            if mine[source] is theirs[source]:
                continue
            route = self.draft.nodes[source].route
            conditions = {mine[source].when is None, theirs[source].when is None}
            if route == "exclusive" or (route == "seed" and len(conditions) == 2):
                return True
        return False

    def _branches(self, name: str) -> dict[str, Edge]:
        """Return the ways that must have been taken for a node to run, by where they part."""
        found: dict[str, Edge] = {}
        while name != _ROOT and name in self.parents:
            self.looks -= 1
            arrivals = [edge for edge in self.incoming.get(name, ()) if edge.kind == "next"]
            if len(arrivals) == 1:
                found[arrivals[0].source] = arrivals[0]
            parent = self.parents[name]
            if parent == name:
                break
            name = parent
        return found
