"""What JSON-RPC 2.0 messages say: make a request, read its answer, know a ticket.

Servers queue, nest and rename, so what is read here is what real ones send. Sends nothing.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from uuid import uuid4

from noetl_mcp.cuts import beginning

MOST_LAYERS = 4
"""So many results stand inside each other, and no more."""
_AS_SENT_IS_WRONG = frozenset((-32700, -32600, -32601, -32602))
_JOB = re.compile(r"[^\x00-\x1f\x7f]{1,500}")
Progress = Literal["waits", "done", "failed", "unknown"]
_PROGRESS: Mapping[str, Progress] = {
    **dict.fromkeys(("succeeded", "success", "completed", "complete", "done", "finished"), "done"),
    **dict.fromkeys(("failed", "failure", "error", "rejected", "cancelled", "canceled"), "failed"),
    **dict.fromkeys(("timeout", "timedout", "dead", "stale", "lost", "expired"), "unknown"),
}


class NotRpc(Exception):
    """What came is no answer to the request; the text says why."""


@dataclass(frozen=True, slots=True)
class RpcError:
    """The server says that the call did not work."""

    code: int | str | None
    message: str
    data: Any = None

    @property
    def may_be_cured(self) -> bool:
        """Whether the same request could work another time."""
        return self.code not in _AS_SENT_IS_WRONG

    def as_json(self) -> dict[str, Any]:
        """Return it as it stands in an error's details."""
        found: dict[str, Any] = {"code": self.code, "message": self.message}
        return found if self.data is None else {**found, "data": self.data}


@dataclass(frozen=True, slots=True)
class Row:
    """How a queued call stands, and what it gave."""

    progress: Progress
    said: str
    value: Any = None
    why: str = ""


def fresh_id() -> str:
    """Return an id that nobody else has: servers mix up callers that count from one."""
    return str(uuid4())


def request(id_: str, method: str, params: Any) -> dict[str, Any]:
    """Return a request; its parameters are always there, for some servers need them."""
    given = {} if params is None else params
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": given}


def read(answer: Any, id_: str) -> Any:
    """Return the result in an answer, an RpcError, or raise NotRpc.

    An id that came back as another type is ours; one that came back as another text is not.
    """
    if not isinstance(answer, dict):
        raise NotRpc("the answer is no JSON object")
    if answer.get("id") is not None and str(answer["id"]) != id_:
        raise NotRpc(f"the answer belongs to another request, {beginning(str(answer['id']), 80)!r}")
    error = answer.get("error")
    if error is not None and error != {}:
        return error_in(error)
    if "result" in answer:
        return answer["result"]
    if "ok" in answer:  # some servers leave the envelope out when they refuse
        return answer
    raise NotRpc("the answer has neither 'result' nor 'error'")


def error_in(error: Any) -> RpcError:
    """Return the error that a server tells, in whatever form."""
    if not isinstance(error, dict):
        return RpcError(None, beginning(str(error), 2_000))
    code = error.get("code")
    words = error.get("message") or error.get("msg") or "the server gives no reason"
    return RpcError(code if isinstance(code, int | str) else None, str(words), error.get("data"))


def unwrapped(value: Any) -> Any:
    """Return what stands inside envelopes; an object that has `ok` is no envelope."""
    for _ in range(MOST_LAYERS):
        inner = value.get("result") if isinstance(value, dict) and "ok" not in value else None
        if not (isinstance(inner, dict) and ("result" in inner or "ok" in inner)):
            return inner if _is_envelope(value) else value
        value = inner
    return value


def _is_envelope(value: Any) -> bool:
    return isinstance(value, dict) and "jsonrpc" in value and "result" in value


def ticket(value: Any) -> str | None:
    """Return the job of a call that was only queued; None when this is its answer."""
    if not isinstance(value, dict) or value.get("queued") is not True:
        return None
    job = value.get("jobId", value.get("job_id", value.get("id")))
    if isinstance(job, int) and not isinstance(job, bool):
        return str(job)
    return job if isinstance(job, str) and _JOB.fullmatch(job) else None


def row(answer: Any) -> Row:
    """Return how a queued call stands; what nobody knows still waits."""
    if not isinstance(answer, dict):
        return Row("waits", "")
    said = answer.get("state", answer.get("status"))
    if not isinstance(said, str):
        is_final = "jsonrpc" in answer or "ok" in answer
        return Row("done", "", unwrapped(answer)) if is_final else Row("waits", "")
    progress = _PROGRESS.get(said.strip().lower().replace("_", ""), "waits")
    why = _first(answer, "error_msg", "errorMsg", "error", "message")
    if isinstance(why, dict):
        why = error_in(why).message
    code = _first(answer, "error_code", "errorCode")
    words = ": ".join(str(one) for one in (code, why) if one is not None)
    return Row(progress, said, _result_of(answer) if progress == "done" else None, words)


def _result_of(answer: Mapping[str, Any]) -> Any:
    value = _first(answer, "result_json", "resultJson", "result")
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return value
    if isinstance(value, dict) and isinstance(value.get("error"), dict) and value["error"]:
        return error_in(value["error"])
    return unwrapped(value)


def _first(answer: Mapping[str, Any], *names: str) -> Any:
    """Return the first entry that says something: an empty column comes as {}, null or ""."""
    for name in names:
        if answer.get(name) not in (None, {}, ""):
            return answer[name]
    return None


__all__ = [
    "NotRpc",
    "Progress",
    "Row",
    "RpcError",
    "error_in",
    "fresh_id",
    "read",
    "request",
    "row",
    "ticket",
    "unwrapped",
]
