"""Name the steps of turns to a worker; what does them is loaded when the first one comes."""

from noetl_mcp.worker.iterator import Reads
from noetl_mcp.worker.rendered import Rendered
from noetl_mcp.worker.settle import Work
from noetl_mcp.worker.step import Body, Steps

_TYPES = ("turn.model", "turn", "turn.result", "turn.tools", "turn.call")


def turn_bodies(steps: Steps, reads: Reads) -> dict[str, Body]:
    """Return what does each step of a turn."""
    found: dict[str, Body] = {}

    async def does(work: Work, rendered: Rendered) -> None:
        if not found:
            found.update(_loaded(steps, reads))
        await found[work.node.type](work, rendered)

    return dict.fromkeys(_TYPES, does)


def _loaded(steps: Steps, reads: Reads) -> dict[str, Body]:
    from noetl_mcp.worker.turn_calls import TurnCalls
    from noetl_mcp.worker.turns import Turns

    turns, calls = Turns(steps), TurnCalls(steps, reads)
    return {
        "turn.model": turns.model,
        "turn": turns.answer,
        "turn.result": turns.placed,
        "turn.tools": calls.tools,
        "turn.call": calls.call,
    }


__all__ = ["turn_bodies"]
