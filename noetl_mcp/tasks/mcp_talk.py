"""One call of an mcp step while it is carried out: what it asks, of whom, and how far it came."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import mcp_types as types

from noetl_mcp.cuts import beginning
from noetl_mcp.playbook.rendering.hiding import hidden
from noetl_mcp.tasks.calls import Call, HandedBack
from noetl_mcp.tasks.mcp_request import Server, Wanted
from noetl_mcp.wire.exchange import Refused
from noetl_mcp.wire.mcp_errand import Errand
from noetl_mcp.wire.mcp_session import Session
from noetl_mcp.wire.mcp_sessions import Lent

_SHORTEST_SECRET = 4  # a shorter one is a part of too many innocent words
_QUIET_SECONDS = 0.25


@dataclass(slots=True, eq=False)
class Talk:
    """A call, the session it got, and the request that carries it."""

    call: Call
    asked: Wanted
    server: Server
    session: Session | None = None
    is_kept: bool = False
    is_looking: bool = False
    """Whether it only looks at the server's tools; the step itself is not sent yet."""
    tools: Mapping[str, types.Tool] = field(default_factory=dict)
    errand: Errand = field(default_factory=Errand)
    handed_back: HandedBack | None = None

    def begin(self, lent: Lent) -> Session:
        """Take a session, and start from nothing."""
        self.session, self.is_kept = lent.session, lent.is_kept
        self.errand = Errand()
        self.is_looking = False
        return lent.session

    def request(self) -> Errand:
        """Return the errand of the request itself; a write has to ask before it leaves."""
        writes = self.call.writes
        is_list = self.asked.kind == "list"
        self.errand = Errand(self.leave if writes else None, own=writes, repeats=is_list)
        return self.errand

    def leave(self) -> None:
        """Ask whether the lease still holds; the transports know one kind of refusal only."""
        try:
            self.call.around.may_send()
        except HandedBack as problem:
            self.handed_back = problem
            raise Refused("handed-back", "the lease may be gone") from None

    @property
    def tool(self) -> types.Tool | None:
        """What the server says of the tool that is called; None when it does not list it."""
        return self.tools.get(self.asked.name) if self.asked.kind == "tool" else None

    @property
    def is_sent(self) -> bool:
        """Whether the step's own request may have left."""
        return self.errand.sent and not self.is_looking

    @property
    def is_harmless(self) -> bool:
        """Whether doing it twice is as good as once: it reads, or its tool says so."""
        if not self.call.writes or self.call.idempotent or not self.is_sent:
            return True
        hints = self.tool.annotations if self.tool is not None else None
        return hints is not None and (hints.read_only_hint is True or hints.idempotent_hint is True)

    def masked(self, text: str) -> str:
        """Return a text of the server without the secrets that it was given."""
        secrets = [one for one in self.server.secrets if len(one) >= _SHORTEST_SECRET]
        return hidden(text, secrets, "***")


class Telling:
    """Passes the progress of a call on to the log; a flood of it is thinned, the last is kept."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._said_at = 0.0
        self._kept = ""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """Tell how far the server is."""
        far = f"{progress:g}" if total is None else f"{progress:g} of {total:g}"
        said = beginning(self._talk.masked(message or ""), 500)
        self._kept = f"{self._talk.asked.called}: {far}{f', {said}' if said else ''}"
        if time.monotonic() - self._said_at >= _QUIET_SECONDS:
            self.end()

    def end(self) -> None:
        """Tell what was kept back."""
        if self._kept:
            self._talk.call.around.log(self._talk.masked(self._kept))
            self._kept, self._said_at = "", time.monotonic()


__all__ = ["Talk", "Telling"]
