"""The http task: one request, and the answer as JSON. Tries nothing again by itself.

    {status_code, headers, url, elapsed, data}

A write is sent on a connection of its own, when `may_send` has agreed with the connection standing.
"""

from datetime import UTC, datetime

from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.calls import Call
from noetl_mcp.tasks.credentials import known_by
from noetl_mcp.tasks.http_answer import Unreadable, data_of
from noetl_mcp.tasks.http_outcome import failure_of, failure_without, refusal, shown, unreadable
from noetl_mcp.tasks.http_request import Allowed, request_of
from noetl_mcp.wire.client import Client
from noetl_mcp.wire.exchange import Refused, Unanswered

_ANYTHING = Allowed()


class Http:
    """Sends the requests of http steps; a client that it was given is somebody else's to close."""

    def __init__(self, *, client: Client | None = None, allowed: Allowed = _ANYTHING) -> None:
        self._client = Client() if client is None else client
        self._closes = client is None
        self._allowed = allowed

    async def execute(self, call: Call) -> Json:
        """Send the request of a step and return the answer; a status can be a failure."""
        known = known_by(call.auth)
        request = request_of(call, known, self._allowed)
        may_send = call.around.may_send if call.writes else None
        try:
            answer = await self._client.send(request, write=call.writes, may_send=may_send)
        except Refused as refused:
            raise refusal(refused) from None
        except Unanswered as lost:
            now = datetime.now(UTC)
            raise failure_without(call, lost, request.url, known.secrets, now) from None
        failure = failure_of(call, answer, known.secrets, datetime.now(UTC))
        if failure is not None:
            raise failure
        try:
            data = data_of(answer, call.settings.response)
        except Unreadable as broken:
            raise unreadable(call, answer, str(broken), known.secrets) from None
        return {
            "status_code": answer.status,
            "headers": dict(answer.headers),
            "url": shown(answer.url, known.secrets),
            "elapsed": answer.elapsed,
            "data": data,
        }

    async def close(self) -> None:
        """Close the connections, unless they belong to others too."""
        if self._closes:
            await self._client.close()


__all__ = ["Http"]
