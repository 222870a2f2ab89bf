"""Find fans: branches that all come from and lead to the same steps. It refuses to place them.

A branch is one step or a short chain. Two branches are alike when every arrow into the first step
and out of the last has the same other end, condition and kind; only where a single arrow leads in
may its condition differ.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from noetl_mcp.compiler.picture.wiring import Wire, Wiring

_LONGEST_BRANCH = 6


@dataclass(frozen=True, slots=True)
class Fan:
    """Like branches, each a run of box numbers; `joined` when anything leads to or from them.

    `conditions` are those of the branches, one for each, when they differ.
    """

    branches: tuple[tuple[int, ...], ...]
    joined: bool
    conditions: tuple[Wire, ...] = ()


def fans(wiring: Wiring) -> tuple[Fan, ...]:
    """Group the branches by all they come from and all they lead to."""
    into: list[list[Wire]] = [[] for _ in wiring.boxes]
    out: list[list[Wire]] = [[] for _ in wiring.boxes]
    for wire in wiring.wires:
        into[wire.lower].append(wire)
        out[wire.upper].append(wire)
    alike: dict[tuple[object, ...], list[tuple[int, ...]]] = defaultdict(list)
    for chain in _chains(into, out):
        before, after = _ends(into[chain[0]], True), _ends(out[chain[-1]], False)
        length = 0 if before or after else len(chain)
        if len(chain) <= _LONGEST_BRANCH:
            alike[before, after, length].append(chain)
    return tuple(
        Fan(tuple(group), any(ends[:2]), _conditions([into[chain[0]] for chain in group]))
        for ends, group in alike.items()
        if len(group) > 1
    )


def _ends(wires: Sequence[Wire], entering: bool) -> frozenset[tuple[object, ...]]:
    if entering and len(wires) == 1:
        return frozenset({(wires[0].upper, wires[0].kind, wires[0].turned)})
    return frozenset(
        (wire.upper if entering else wire.lower, wire.label, wire.kind, wire.turned)
        for wire in wires
    )


def _conditions(entries: Sequence[Sequence[Wire]]) -> tuple[Wire, ...]:
    if len(entries[0]) != 1 or len({wires[0].label for wires in entries}) == 1:
        return ()
    return tuple(wires[0] for wires in entries)


def _chains(into: Sequence[Sequence[Wire]], out: Sequence[Sequence[Wire]]) -> list[tuple[int, ...]]:
    """Cut the graph into runs of steps that have nothing but each other above and below."""

    def goes_on(at: int) -> bool:
        return len(out[at]) == 1 and len(into[out[at][0].lower]) == 1

    chains: list[tuple[int, ...]] = []
    for at in range(len(into)):
        if len(into[at]) == 1 and goes_on(into[at][0].upper):
            continue
        chain = [at]
        while goes_on(chain[-1]):
            chain.append(out[chain[-1]][0].lower)
        chains.append(tuple(chain))
    return chains
