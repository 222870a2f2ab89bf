"""Walk a graph that should have no circles, in plain lists. Names no circle; `circles` does."""

from collections.abc import Iterable, Mapping
from heapq import heapify, heappop, heappush

Ways = Iterable[tuple[str, str]]


def sort(names: Iterable[str], ways: Ways) -> tuple[list[str], set[str]]:
    """Return the names so that everything stands behind its sources, and what a circle holds up.

    Ties keep the order in which the names came.
    """
    listed = list(names)
    rank = {name: number for number, name in enumerate(listed)}
    targets: list[list[int]] = [[] for _ in listed]
    waits = [0] * len(listed)
    for source, target in ways:
        targets[rank[source]].append(rank[target])
        waits[rank[target]] += 1
    ready = [number for number, count in enumerate(waits) if not count]
    heapify(ready)
    done: list[str] = []
    while ready:
        number = heappop(ready)
        done.append(listed[number])
        for after in targets[number]:
            waits[after] -= 1
            if not waits[after]:
                heappush(ready, after)
    return done, set(listed) - set(done)


def reached(
    starts: Iterable[str], after: Mapping[str, Iterable[str]], found: set[str] | None = None
) -> set[str]:
    """Return everything that ways lead to, the starts included, beside what was found before."""
    found = set() if found is None else found
    stack = [name for name in starts if name not in found]
    found.update(stack)
    while stack:
        for name in after.get(stack.pop(), ()):
            if name not in found:
                found.add(name)
                stack.append(name)
    return found


def dominators(root: str, names: Iterable[str], ways: Ways) -> dict[str, str]:
    """Return for each name reached from `root` the nearest one that all ways to it lead through."""
    before: dict[str, list[str]] = {}
    for source, target in ways:
        before.setdefault(target, []).append(source)
    order, _ = sort(names, [(s, t) for t, sources in before.items() for s in sources])
    tree = _Tree(root)
    for name in order:
        sources = [one for one in before.get(name, ()) if one in tree.parent]
        if name == root or not sources:
            continue
        meet = sources[0]
        for other in sources[1:]:
            meet = tree.meeting(meet, other)
        tree.add(name, meet)
    return tree.parent


class _Tree:
    """A tree that grows at its leaves; a jump to some ancestor beside the parent saves steps."""

    def __init__(self, root: str) -> None:
        self.parent = {root: root}
        self.jump = {root: root}
        self.depth = {root: 0}

    def add(self, name: str, parent: str) -> None:
        """Hang a name below a parent."""
        depth, jump = self.depth, self.jump
        far = jump[parent]
        is_even = depth[parent] - depth[far] == depth[far] - depth[jump[far]]
        self.parent[name], depth[name] = parent, depth[parent] + 1
        jump[name] = jump[far] if is_even else parent

    def meeting(self, one: str, other: str) -> str:
        """Return the nearest name above both."""
        depth, jump, parent = self.depth, self.jump, self.parent
        if depth[one] < depth[other]:
            one, other = other, one
        while depth[one] > depth[other]:
            one = jump[one] if depth[jump[one]] >= depth[other] else parent[one]
        while one != other:
            if jump[one] == jump[other]:
                one, other = parent[one], parent[other]
            else:
                one, other = jump[one], jump[other]
        return one
