"""The jsonrpc task: one call, followed until its answer is there. Tries nothing again by itself.

What it gives is the result, out of its envelopes. The ticket of a queued call is kept before it is
followed, so that whoever takes the step over goes on following, and sends nothing twice.
"""

import asyncio
import time
from dataclasses import replace
from typing import Any
from urllib.parse import quote, urlsplit

from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.calls import Call, Failed, UnknownOutcome
from noetl_mcp.tasks.http import Http
from noetl_mcp.tasks.specs_web import Connection, HttpSettings, JsonRpcSettings, Poll
from noetl_mcp.wire import jsonrpc
from noetl_mcp.wire.jsonrpc import NotRpc, Row, RpcError

_GROWS = 1.5
_STILL_WAITS = [202, 204, 304, 409]


class JsonRpc:
    """Calls methods over HTTP; it uses another's http task, which is not its own to close."""

    def __init__(self, *, http: Http) -> None:
        self._http = http

    async def execute(self, call: Call) -> Json:
        """Call the method of a step, or go on following a call that was queued before."""
        settings: JsonRpcSettings = call.settings
        noted = call.remembered if isinstance(call.remembered, dict) else {}
        job = noted.get("job")
        if isinstance(job, str):
            return await self.follow(call, job)
        params = call.input if settings.params is None else settings.params
        result = await self.ask(call, settings.method, params)
        ticket = jsonrpc.ticket(result)
        if ticket is None or not settings.poll.enabled:
            return result
        await call.around.remember({"job": ticket})
        return await self.follow(call, ticket)

    async def ask(self, call: Call, method: str, params: Any) -> Json:
        """Send one request and return its result; one that the server refuses is a failure."""
        settings: JsonRpcSettings = call.settings
        id_ = jsonrpc.fresh_id()
        body = jsonrpc.request(id_, method, params)
        asked = _web(settings, settings.url, "POST", json=body, response="json")
        try:
            answer = await self._http.execute(replace(call, settings=asked, input=None))
        except (Failed, UnknownOutcome) as problem:
            raise _told_in(problem, method, id_) or problem from None
        data = answer["data"] if isinstance(answer, dict) else None
        try:
            found = jsonrpc.read(data, id_)
        except NotRpc as problem:
            words = f"{method}: {problem}"
            if call.writes:
                raise UnknownOutcome("not-rpc", words, evidence={"answer": data}) from None
            raise Failed("not-rpc", words, details={"answer": data}) from None
        if isinstance(found, RpcError):
            raise _refused(method, found)
        result: Json = jsonrpc.unwrapped(found)
        return result

    async def close(self) -> None:
        """Nothing of its own to let go of."""

    async def follow(self, call: Call, job: str) -> Json:
        """Look after a queued call until it is over."""
        settings: JsonRpcSettings = call.settings
        poll: Poll = settings.poll
        ends = None if poll.lasts is None else time.monotonic() + poll.lasts
        wait = poll.every
        call.around.log(f"{settings.method} is queued as job {job}")
        while True:
            row, asks = await self._look(call, job)
            if row.progress != "waits":
                return _outcome(call, job, row)
            pause = max(wait, asks or 0.0)
            if ends is not None and time.monotonic() + pause > ends:
                words = f"job {job} of {settings.method} is not over after {poll.lasts:g} s"
                raise _open(call, "timeout", words, job)
            await asyncio.sleep(pause)
            wait = min(wait * _GROWS, poll.at_most_every)

    async def _look(self, call: Call, job: str) -> tuple[Row, float | None]:
        """Look once; a server that is away or busy is asked again later."""
        settings: JsonRpcSettings = call.settings
        url = below(settings.url, settings.poll.path.replace("{id}", quote(job, safe="")))
        asked = _web(settings, url, "GET", ok_statuses=_STILL_WAITS, follow_redirects=True)
        reads = replace(call, settings=asked, input=None, writes=False, timeout=30.0)
        try:
            answer = await self._http.execute(reads)
        except Failed as problem:
            details = problem.details if isinstance(problem.details, dict) else {}
            if details.get("status_code") in (404, 410):
                words = f"job {job} of {settings.method} is not known to the server"
                raise _open(call, "job-gone", words, job) from None
            if not problem.retriable:
                raise _open(call, problem.code, problem.message, job) from None
            return Row("waits", ""), problem.retry_after
        assert isinstance(answer, dict)
        assert isinstance(answer["headers"], dict)
        asks = str(answer["headers"].get("retry-after", ""))
        seconds = float(asks) if asks.isdigit() and len(asks) < 6 else None
        if answer["status_code"] in _STILL_WAITS:
            return Row("waits", ""), seconds
        return jsonrpc.row(answer["data"]), seconds


def below(url: str, path: str) -> str:
    """Return an address of the server that takes calls at `url`: beside where they are posted."""
    place = urlsplit(url.strip())
    folder = place.path.rstrip("/").rpartition("/")[0]
    return place._replace(path=folder + "/" + path.lstrip("/"), query="", fragment="").geturl()


def _outcome(call: Call, job: str, row: Row) -> Json:
    if row.progress == "done":
        if isinstance(row.value, RpcError):
            raise _refused(call.settings.method, row.value)
        result: Json = jsonrpc.unwrapped(row.value)
        return result
    why = f": {row.why}" if row.why else ""
    words = f"job {job} of {call.settings.method} is {row.said}{why}"
    if row.progress == "failed":
        raise Failed("job-failed", words, details={"job": job, "state": row.said})
    raise _open(call, "job-lost", words, job)


def _open(call: Call, code: str, words: str, job: str) -> Failed | UnknownOutcome:
    """Return what it means that nobody can say what became of a job."""
    if call.writes:
        return UnknownOutcome(code, words, evidence={"job": job})
    return Failed(code, words, details={"job": job})


def _refused(method: str, error: RpcError, retry_after: float | None = None) -> Failed:
    code = "" if error.code is None else f" ({error.code})"
    return Failed(
        "rpc-error",
        f"{method}: {error.message}{code}",
        retriable=error.may_be_cured,
        retry_after=retry_after,
        details=error.as_json(),
    )


def _told_in(problem: Failed | UnknownOutcome, method: str, id_: str) -> Failed | None:
    """Return the refusal in the body of a failed request: an error object is a definite one."""
    told = problem.details if isinstance(problem, Failed) else problem.evidence
    body = told.get("body") if isinstance(told, dict) else None
    if not isinstance(body, dict) or not isinstance(body.get("error"), dict):
        return None
    if body.get("id") not in (id_, None):
        return None
    wait = problem.retry_after if isinstance(problem, Failed) else None
    return _refused(method, jsonrpc.error_in(body["error"]), wait)


def _web(settings: Connection, url: str, method: str, **more: Any) -> HttpSettings:
    """Return the request that carries a call; the server is reached as the step says."""
    shared = {name: getattr(settings, name) for name in Connection.model_fields}
    return HttpSettings.model_validate({**shared, "url": url, "method": method, **more})


__all__ = ["JsonRpc", "below"]
