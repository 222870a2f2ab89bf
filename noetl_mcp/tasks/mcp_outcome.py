"""What it means for an mcp step that there is no answer, or not the hoped one. Pure.

The line is drawn as for http: a failure says for certain that nothing was done, or that doing it
again is harmless; a write whose answer is lost is an unknown outcome. What a server says is shown
to people, so the secrets it was given are taken out.
"""

import difflib
from datetime import UTC, datetime
from http import HTTPStatus

import mcp_types as types
import orjson
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from noetl_mcp.cuts import beginning, decoded, first_line
from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.calls import Failed, HandedBack, UnknownOutcome
from noetl_mcp.tasks.http_outcome import retry_after, verdict
from noetl_mcp.tasks.mcp_result import text_of
from noetl_mcp.tasks.mcp_talk import Talk
from noetl_mcp.tasks.specs_web import HttpSettings
from noetl_mcp.wire.exchange import Garbled, NotSent, Refused, TooLarge, Unanswered
from noetl_mcp.wire.jsonrpc import RpcError
from noetl_mcp.wire.mcp_errand import Errand
from noetl_mcp.wire.mcp_process import UNREADABLE, Program
from noetl_mcp.wire.mcp_session import NoSession

Outcome = Failed | UnknownOutcome | HandedBack

_ANY = "http://server"
_RETRIABLE = frozenset((408, 425, 429, 500, 502, 503, 504))
_LOST = ("Connection closed", "SSE stream", "server answered a request with 202")
_UNREADABLE = (UNREADABLE, "Failed to parse", "Unexpected content type")
_MOST_TEXT = 2_000
_MOST_DATA = 8_192


def failure_of(talk: Talk, problem: BaseException) -> Outcome:
    """Return what it means that a request raised something."""
    if talk.handed_back is not None:
        return talk.handed_back
    errand = talk.errand
    if isinstance(errand.failure, Refused):
        return _refused(errand.failure)
    if errand.is_forgotten:
        return Failed("session-lost", f"{talk.server.name} does not know its session any more")
    if errand.status is not None and errand.status >= 300 and _rpc_error(errand.body) is None:
        return _by_status(talk)
    if errand.failure is not None:
        return _unanswered(talk, errand.failure)
    if talk.session is not None and talk.session.is_over and talk.session.program is not None:
        return _over(talk, talk.session.program)
    if isinstance(problem, MCPError):
        return _by_error(talk, problem)
    if isinstance(problem, Refused):
        return _refused(problem)
    return _open(talk, "bad-answer", f"{_of(talk)}: {_unreadable(problem)}", retriable=False)


def was_lost(talk: Talk, problem: BaseException) -> bool:
    """Whether the answer was lost on its way, and not late, too large or unreadable."""
    failure = talk.errand.failure
    if failure is not None:
        if isinstance(failure, Refused | NotSent | TooLarge | Garbled):
            return False
        return not failure.timed_out and talk.errand.status in (None, 200)
    if talk.session is not None and talk.session.is_over:
        return talk.session.program is None or not talk.session.program.problem
    return isinstance(problem, MCPError) and problem.message.startswith(_LOST)


def not_opened(talk: Talk, problem: NoSession | Refused) -> Failed:
    """Return what it means that there is no session: nothing of the step was sent."""
    if isinstance(problem, Refused):
        return _refused(problem)
    name, session, cause = talk.server.name, problem.session, problem.cause
    failure, status = session.errand.failure, session.errand.status
    if isinstance(cause, Refused):
        return _refused(cause)
    if isinstance(failure, Refused):
        return _refused(failure)
    if failure is not None:
        code = "timeout" if failure.timed_out else "connection"
        return Failed(code, failure.message, retriable=not failure.lasting)
    if status is not None and status >= 400 and _rpc_error(session.errand.body) is None:
        words = f"{_status(status)} from {name} when a session was opened"
        return _status_failure(talk, session.errand, words)
    program = session.program
    if cause is None:
        seconds = talk.server.start_seconds
        words = f"{name} did not open a session within {seconds:g} s"
        return Failed("timeout", words + _tail(talk, program))
    if program is not None and _is_closed(cause):
        words = f"{name} {_ending(program)} before it opened a session"
        return Failed("server-died", words + _tail(talk, program))
    if isinstance(cause, MCPError):
        error = _rpc(talk, cause)
        words = f"{name} opens no session: {error.message} ({error.code})"
        return Failed("no-session", words, retriable=error.may_be_cured, details=error.as_json())
    words = f"{name} opens no session: {talk.masked(_unreadable(cause))}"
    return Failed("no-session", words, retriable=False)


def timed_out(talk: Talk, seconds: float) -> Outcome:
    """Return what it means that the time of the call is over."""
    if talk.session is None:
        return Failed("timeout", f"{talk.server.name} did not open a session within {seconds:g} s")
    words = f"{_of(talk)}: no answer within {seconds:g} s"
    return _open(talk, "timeout", words + _tail(talk, talk.session.program))


def tool_error(talk: Talk, result: types.CallToolResult) -> Failed:
    """Return the failure that a tool tells of."""
    text = talk.masked(text_of(result.content)) or "the tool says that it failed, and nothing else"
    details: dict[str, Json] = {"text": beginning(text, _MOST_TEXT)}
    data = result.structured_content
    if data is not None and len(orjson.dumps(data, default=str)) <= _MOST_DATA:
        details["data"] = data
    words = f"{talk.asked.called}: {beginning(text, _MOST_TEXT)}{_guess(talk)}"
    return Failed("tool-error", words, retriable=not _is_unlisted(talk), details=details)


def wants_input(talk: Talk) -> Failed:
    """Return what it means that a server asks back: there is nobody to answer."""
    words = f"{_of(talk)}: the server asks for more input, which a step cannot give"
    return Failed("input-required", words, retriable=False)


def bad_result(talk: Talk, problem: RuntimeError) -> Outcome:
    """Return what it means that a result is not what its tool promises."""
    words = f"{_of(talk)}: {first_line(talk.masked(str(problem)), 500)}"
    return _open(talk, "bad-answer", words, retriable=False)


def _open(talk: Talk, code: str, words: str, *, retriable: bool = True) -> Outcome:
    """Return a failure where nothing can be half done, else an unknown outcome."""
    if talk.is_harmless:
        return Failed(code, words, retriable=retriable)
    evidence: Json = {"server": talk.server.name, talk.asked.kind: talk.asked.name}
    return UnknownOutcome(code, words, evidence=evidence)


def _unanswered(talk: Talk, lost: Unanswered) -> Outcome:
    words = f"{talk.asked.called} of {talk.masked(lost.message)}"
    if isinstance(lost, NotSent):
        code = "timeout" if lost.timed_out else "connection"
        return Failed(code, words, retriable=not lost.lasting)
    if isinstance(lost, TooLarge | Garbled):
        code = "too-large" if isinstance(lost, TooLarge) else "bad-answer"
        return _open(talk, code, words, retriable=False)
    return _open(talk, "timeout" if lost.timed_out else "connection", words)


def _by_status(talk: Talk) -> Outcome:
    """Return what an HTTP status means that came without a JSON-RPC error."""
    status = talk.errand.status
    assert status is not None
    words = f"{_status(status)} from {talk.server.name} for {talk.asked.called}"
    rules = HttpSettings(url=_ANY, unknown_statuses=talk.call.settings.unknown_statuses)
    if verdict(status, rules, writes=not talk.is_harmless) == "unknown":
        evidence: Json = {"server": talk.server.name, talk.asked.kind: talk.asked.name}
        words += "; whether it was done is not known"
        return UnknownOutcome("http-status", words, evidence=evidence)
    return _status_failure(talk, talk.errand, words)


def _status_failure(talk: Talk, errand: Errand, words: str) -> Failed:
    body = beginning(talk.masked(decoded(errand.body)), _MOST_TEXT)
    return Failed(
        "http-status",
        words,
        retriable=errand.status in _RETRIABLE,
        retry_after=retry_after(errand.headers, datetime.now(UTC)),
        details={"status_code": errand.status, "body": body},
    )


def _by_error(talk: Talk, problem: MCPError) -> Outcome:
    """Return what an error of the server means, or one that the SDK puts in its place."""
    if problem.message.startswith(_LOST):
        is_large = "byte limit" in problem.message
        words = f"an event of more than {_most(talk)} bytes" if is_large else "the answer was lost"
        code = "too-large" if is_large else "connection"
        return _open(talk, code, f"{_of(talk)}: {words}", retriable=not is_large)
    if problem.message.startswith(_UNREADABLE):
        words = f"{_of(talk)}: the answer is no message of the protocol"
        return _open(talk, "bad-answer", words, retriable=False)
    error = _rpc(talk, problem)
    words = f"{talk.asked.called}: {error.message} ({error.code}){_guess(talk)}"
    return Failed("rpc-error", words, retriable=error.may_be_cured, details=error.as_json())


def _over(talk: Talk, program: Program) -> Outcome:
    words = f"{talk.server.name} {_ending(program)} before it answered {talk.asked.called}"
    if program.is_too_large:
        return _open(talk, "too-large", f"{_of(talk)}: {program.problem}", retriable=False)
    return _open(talk, "server-died", words + _tail(talk, program))


def _ending(program: Program) -> str:
    code = program.exit_code
    if program.problem:
        return f"was given up ({program.problem})"
    if code is None:
        return "closed its output"
    return f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"


def _tail(talk: Talk, program: Program | None) -> str:
    """Return what a program said where people can read it, and where only messages belong."""
    if program is None:
        return ""
    found = ""
    if program.noise:
        found += f"; on its standard output it wrote what is no message: {program.noise!r}"
    words = program.last_words()
    if words:
        found += f"; its last words were:\n{words}"
    return talk.masked(found)


def _is_closed(cause: BaseException) -> bool:
    return isinstance(cause, MCPError) and cause.message.startswith(_LOST)


def _rpc(talk: Talk, problem: MCPError) -> RpcError:
    data = problem.data
    if data is not None and len(orjson.dumps(data, default=str)) > _MOST_DATA:
        data = None
    return RpcError(problem.code, beginning(talk.masked(problem.message), _MOST_TEXT), data)


def _rpc_error(body: bytes) -> Json:
    """Return the JSON-RPC error in the body of a refusal; it is a definite one."""
    try:
        said = orjson.loads(body)
    except ValueError:
        return None
    error = said.get("error") if isinstance(said, dict) else None
    return error if isinstance(error, dict) and "jsonrpc" in said else None


def _guess(talk: Talk) -> str:
    """Return what a tool is really called, when the server lists none of that name."""
    if not _is_unlisted(talk):
        return ""
    near = difflib.get_close_matches(talk.asked.name, talk.tools, 1)
    meant = f"; did you mean '{near[0]}'?" if near else ""
    return f"; the server lists no such tool{meant}"


def _is_unlisted(talk: Talk) -> bool:
    return talk.asked.kind == "tool" and talk.tool is None and bool(talk.tools)


def _unreadable(problem: BaseException) -> str:
    """Say what is wrong with an answer, without what stands in it."""
    if isinstance(problem, ValidationError):
        first = problem.errors(include_input=False, include_url=False, include_context=False)[0]
        where = ".".join(str(one) for one in first["loc"][-3:])
        return f"the answer does not follow the protocol: {where}: {beginning(first['msg'], 200)}"
    return first_line(str(problem), 300) or type(problem).__name__


def _of(talk: Talk) -> str:
    return f"{talk.asked.called} of {talk.server.name}"


def _most(talk: Talk) -> int:
    most: int = talk.call.settings.max_response_bytes
    return most


def _refused(refused: Refused) -> Failed:
    return Failed(refused.code, refused.message, retriable=False)


def _status(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


__all__ = [
    "Outcome",
    "bad_result",
    "failure_of",
    "not_opened",
    "timed_out",
    "tool_error",
    "wants_input",
    "was_lost",
]
