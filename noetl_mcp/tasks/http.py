"""The http task: one request, and the answer as JSON. Tries nothing again by itself.

    {status_code, headers, url, elapsed, data}

A read whose kept token is refused is sent once more, with a fresh one. A write is sent on a
connection of its own, when `may_send` has agreed with the connection standing.
"""

from datetime import UTC, datetime

from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.calls import Call, Failed
from noetl_mcp.tasks.credentials import Known, known_by
from noetl_mcp.tasks.http_answer import Unreadable, data_of
from noetl_mcp.tasks.http_outcome import failure_of, failure_without, refusal, shown, unreadable
from noetl_mcp.tasks.http_request import Allowed, request_of
from noetl_mcp.tasks.http_tokens import Tokens, without
from noetl_mcp.wire.client import Client
from noetl_mcp.wire.exchange import Answer, Refused, Unanswered

_ANYTHING = Allowed()
_UNAUTHORIZED = 401


class Http:
    """Sends the requests of http steps; a client that it was given is somebody else's to close."""

    def __init__(self, *, client: Client | None = None, allowed: Allowed = _ANYTHING) -> None:
        self._client = Client() if client is None else client
        self._closes = client is None
        self._allowed = allowed
        self._tokens = Tokens(self._client, allowed)

    async def execute(self, call: Call) -> Json:
        """Send the request of a step and return the answer; a status can be a failure."""
        lent = await self._tokens.lend(call)
        known = known_by(lent.auth)
        answer = await self._answer(call, known)
        is_old = answer.status == _UNAUTHORIZED and lent.were_kept
        if answer.status == _UNAUTHORIZED:
            self._tokens.forget(lent)
        if is_old and not call.writes:
            lent = await self._tokens.lend(call)
            known = known_by(lent.auth)
            answer = await self._answer(call, known)
        failure = failure_of(call, answer, known.secrets, datetime.now(UTC))
        if failure is not None:
            if isinstance(failure, Failed) and is_old and call.writes:
                failure.retriable = True  # the next attempt has a fresh token
            raise failure
        try:
            data = data_of(answer, call.settings.response)
        except Unreadable as broken:
            raise unreadable(call, answer, str(broken), known.secrets) from None
        return {
            "status_code": answer.status,
            "headers": without(dict(answer.headers), lent.tokens),
            "url": shown(answer.url, known.secrets),
            "elapsed": answer.elapsed,
            "data": without(data, lent.tokens),
        }

    async def _answer(self, call: Call, known: Known) -> Answer:
        """Send the request once and return the whole answer."""
        request = request_of(call, known, self._allowed)
        may_send = call.around.may_send if call.writes else None
        try:
            return await self._client.send(request, write=call.writes, may_send=may_send)
        except Refused as refused:
            raise refusal(refused) from None
        except Unanswered as lost:
            now = datetime.now(UTC)
            raise failure_without(call, lost, request.url, known.secrets, now) from None

    async def close(self) -> None:
        """Close the connections, unless they belong to others too."""
        if self._closes:
            await self._client.close()


__all__ = ["Http"]
