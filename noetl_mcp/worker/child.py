"""The body of a step that runs another playbook: start it once, park, take its result.

The child is found again by its key, whatever died in between. Holds no worker while it runs.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from noetl_mcp.broker.asked import plain
from noetl_mcp.broker.run import Run
from noetl_mcp.queue.encode import decode, encode
from noetl_mcp.queue.lease import Status
from noetl_mcp.tasks.calls import Failed
from noetl_mcp.tasks.specs_flow import PlaybookSettings
from noetl_mcp.worker.calling import kept_settings
from noetl_mcp.worker.iterator import Answered
from noetl_mcp.worker.rendered import Rendered
from noetl_mcp.worker.settle import Settler, Work


class Children(Protocol):
    """What a parent asks of the database."""

    async def start_child(
        self, run: Run, work: Work, path: str, version: int | str, payload: Mapping[str, Any]
    ) -> int: ...
    async def ended(self, execution_id: int) -> tuple[int, str | None, str | None] | None: ...
    async def result_of(self, execution_id: int, step: str) -> Any: ...
    async def whole(self, text: str) -> str: ...


class Child:
    """Does steps of type `playbook`."""

    def __init__(self, settler: Settler, children: Children, answered: Answered) -> None:
        self.settler = settler
        self.children = children
        self.answered = answered

    async def __call__(self, work: Work, rendered: Rendered) -> None:
        """Start the child, or look how it stands."""
        said = kept_settings(PlaybookSettings, rendered)
        note = decode(work.lease.note) if work.lease.note else None
        if note is None:
            plain(rendered.input, "input")
            payload = rendered.input if isinstance(rendered.input, Mapping) else {}
            number = await self.children.start_child(
                work.run, work, said.path, said.version, payload
            )
            note = {"child": number}
        found = await self.children.ended(note["child"])
        if found is None:
            raise Failed("child-gone", f"execution {note['child']} is not there any more")
        status, result, error = found
        if status == Status.RUNNING:
            self.settler.awaits(work, encode(note), delay=None, token=None)
            return
        if status == Status.CANCELLED:
            raise Failed("child-cancelled", f"execution {note['child']} was cancelled")
        if status == Status.FAILED:
            raise Failed(*_story(note["child"], error), details={"child": note["child"]})
        if said.return_step is not None:
            value = await self.children.result_of(note["child"], said.return_step)
        else:
            value = None if result is None else decode(await self.children.whole(result))
        await self.answered(work, value, rendered.payload)


def _story(child: int, error: str | None) -> tuple[str, str]:
    told = decode(error) if error else {}
    where = f" at step '{told['step']}'" if told.get("step") else ""
    message = told.get("message", "no reason was given")
    return "child-failed", f"execution {child} failed{where}: {message}"


__all__ = ["Child", "Children"]
