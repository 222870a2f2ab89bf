"""What is known of one request on its way to an MCP server. Sends nothing.

The SDK passes messages from task to task and tells no more than "closed" in the end. An errand
travels beside the message in a context variable: below, the transports ask it right before the
first byte and write down what became of it; above, whoever sent the request reads that.
"""

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import MappingProxyType

from noetl_mcp.wire.exchange import Refused, Unanswered


@dataclass(slots=True, eq=False)
class Errand:
    """One request: who must agree to it, and how far it came.

    `own` asks for a connection that no other request has; `repeats` says that there are several
    requests in a row. `sent` is true as soon as a byte may have left. `in_session` says that it
    named a session to a server behind a URL.
    """

    may_send: Callable[[], None] | None = None
    own: bool = False
    repeats: bool = False
    sent: bool = False
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    body: bytes = b""
    failure: Unanswered | Refused | None = None
    in_session: bool = False
    taken: bool = False
    stop: Callable[[], object] | None = None
    """Lets go of the connection, where others than the caller wait for the answer."""
    is_dropped: bool = False

    def is_free(self) -> bool:
        """Whether the next message is the request itself: the first, or one after a redirect."""
        return self.repeats or not self.taken or self.status in (307, 308)

    @property
    def is_forgotten(self) -> bool:
        """Whether the server does not know the session any more."""
        return self.in_session and self.status == 404

    def begin(self) -> None:
        """Forget what became of a former try."""
        self.taken = True
        self.status, self.headers, self.body, self.failure = None, {}, b"", None

    def drop(self) -> None:
        """Let go of the connection: nobody waits for the answer any more."""
        self.is_dropped = True
        if self.stop is not None:
            self.stop()

    def leave(self) -> None:
        """Ask for the last time; what is raised says that nothing is sent."""
        if self.may_send is not None:
            self.may_send()
        self.sent = True


ERRAND: ContextVar[Errand | None] = ContextVar("ERRAND", default=None)

__all__ = ["ERRAND", "Errand"]
