"""What an answer, or the lack of one, means for an http step: done, failed, or unknown. Pure.

The line is drawn for writes. A failure says for certain that nothing was done; whatever leaves that
open is an unknown outcome. Reads have no unknown outcome: they are simply asked again. What is said
here is shown to people, so secrets are taken out of it.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Literal
from urllib.parse import quote, unquote, urlsplit

from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.calls import Call, Failed, UnknownOutcome
from noetl_mcp.tasks.http_answer import excerpt
from noetl_mcp.tasks.specs_web import HttpSettings
from noetl_mcp.wire.exchange import Answer, Garbled, NotSent, Refused, TooLarge, Unanswered

Verdict = Literal["done", "refused", "unknown"]
Outcome = Failed | UnknownOutcome

_OPEN_BY_DEFAULT = frozenset((500, 502, 504))
_NOT_DONE = frozenset((304, 305, 307, 308, 501, 503, 505))
_SECRET_NAME = re.compile(
    r"password|passwd|^pwd$|secret|token|api[-_]?key|signature|^sig$|credential|authorization",
    re.IGNORECASE,
)
_PERHAPS = re.compile(r"[@\[%]|pass|pwd|secret|token|key|sig|credential|auth", re.IGNORECASE)
_SHORTEST_SECRET = 4  # a shorter one is a part of too many innocent words


def verdict(status: int, settings: HttpSettings, *, writes: bool) -> Verdict:
    """Say what a status means.

    After a write, 4xx, 501, 503, 505 and the redirects that ask to send it elsewhere (307, 308) say
    that it was not done. `unknown_statuses` leave it open, and so do all that are told nowhere: the
    other 5xx, and 300 to 303, with which servers answer before and after they have acted.
    """
    if 200 <= status <= 299 or status in settings.ok_statuses:
        return "done"
    if not writes or status in settings.refused_statuses:
        return "refused"
    if status in settings.unknown_statuses:
        return "unknown"
    is_told = 400 <= status <= 499 or status in _NOT_DONE or status in _OPEN_BY_DEFAULT
    return "refused" if is_told else "unknown"


def failure_of(
    call: Call, answer: Answer, secrets: tuple[str, ...], now: datetime
) -> Outcome | None:
    """Return how an answer fails the step, or None when it is a success."""
    judged = verdict(answer.status, call.settings, writes=call.writes)
    if judged == "done":
        return None
    said = f"{_status(answer.status)} from {call.settings.method} {shown(answer.url, secrets)}"
    details, wait = _details(answer, secrets), retry_after(answer.headers, now)
    if judged == "unknown":
        words = f"{said}; whether it was done is not known"
        evidence = {**_sent(call), **details, "retry_after": wait}
        return UnknownOutcome("http-status", words, evidence=evidence)
    settings: HttpSettings = call.settings
    too_long = wait is not None and wait > settings.max_retry_after
    if too_long:
        said += f"; it asks to wait {wait:g} s, longer than 'max_retry_after'"
    return Failed(
        "http-status",
        said,
        retriable=answer.status in settings.retriable_statuses and not too_long,
        retry_after=None if too_long else wait,
        details=details,
    )


def failure_without(
    call: Call, lost: Unanswered, url: str, secrets: tuple[str, ...], now: datetime
) -> Outcome:
    """Return what it means that no whole answer came; a status that did come is heard first."""
    if isinstance(lost, NotSent):
        code = "not-sent" if call.writes else _reason(lost)
        return Failed(code, lost.message, retriable=not lost.lasting)
    if lost.status is not None:
        cut = Answer(lost.status, {}, b"", url, 0.0)
        failure = failure_of(call, cut, secrets, now)
        if failure is not None:
            return failure
    if not call.writes:
        return Failed(_reason(lost), lost.message, retriable=not isinstance(lost, TooLarge))
    details = {"url": shown(url, secrets), "status_code": lost.status}
    return UnknownOutcome(_reason(lost), lost.message, evidence={**_sent(call), **details})


def unreadable(call: Call, answer: Answer, words: str, secrets: tuple[str, ...]) -> Outcome:
    """Return what it means that a success cannot be read: a write has most likely been done."""
    said = f"{_status(answer.status)} from {call.settings.method} {shown(answer.url, secrets)}"
    details = _details(answer, secrets)
    if not call.writes:
        return Failed("bad-json", f"{said}, but {words}", details=details)
    return UnknownOutcome("bad-json", f"{said}, but {words}", evidence={**_sent(call), **details})


def refusal(refused: Refused) -> Failed:
    """Return what it means that the request itself was wrong."""
    return Failed(refused.code, refused.message, retriable=False)


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Read `Retry-After`: seconds, or a date, which is taken by the clock of the server."""
    said = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", said):
        return float(said)
    until = _date(said)
    if until is None:
        return None
    return max(0.0, (until - (_date(headers.get("date", "")) or now)).total_seconds())


def shown(url: str, secrets: tuple[str, ...]) -> str:
    """Return a URL as it may be seen: without its user, and with secrets masked."""
    if not secrets and _PERHAPS.search(url) is None:
        return url
    try:
        place = urlsplit(url)
    except ValueError:
        return "***"
    query = "&".join(_masked(part, secrets) for part in place.query.split("&"))
    path = place.path
    for secret in secrets:
        if len(secret) >= _SHORTEST_SECRET:
            path = path.replace(quote(secret, safe=""), "***").replace(secret, "***")
    netloc = place.netloc.rpartition("@")[2]
    return place._replace(netloc=netloc, path=path, query=query, fragment="").geturl()


def _masked(part: str, secrets: tuple[str, ...]) -> str:
    name, is_pair, value = part.partition("=")
    is_secret = unquote(value) in secrets or _SECRET_NAME.search(unquote(name))
    return f"{name}=***" if is_pair and value and is_secret else part


def _details(answer: Answer, secrets: tuple[str, ...]) -> dict[str, Json]:
    """Return what a person, and the conditions of `retry`, may want to know of an answer."""
    details: dict[str, Json] = {
        "status_code": answer.status,
        "url": shown(answer.url, secrets),
        "body": _excerpt(answer, secrets),
    }
    if "location" in answer.headers:
        details["location"] = shown(answer.headers["location"], secrets)
    return details


def _excerpt(answer: Answer, secrets: tuple[str, ...]) -> Json:
    """Servers like to tell back what they were sent."""
    body = answer.body
    for secret in secrets:
        if len(secret) >= _SHORTEST_SECRET:
            body = body.replace(secret.encode(), b"***")
    return excerpt(body, answer.headers.get("content-type", ""))


def _sent(call: Call) -> dict[str, Json]:
    """Return what helps to find out, at the server, what became of a write."""
    settings: HttpSettings = call.settings
    return {
        "method": settings.method,
        "idempotency_key": settings.idempotency_key or call.key or None,
    }


def _reason(lost: Unanswered) -> str:
    if isinstance(lost, TooLarge):
        return "too-large"
    if isinstance(lost, Garbled):
        return "bad-answer"
    return "timeout" if lost.timed_out else "connection"


def _status(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _date(value: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(value)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


__all__ = [
    "Outcome",
    "Verdict",
    "failure_of",
    "failure_without",
    "refusal",
    "retry_after",
    "shown",
    "unreadable",
    "verdict",
]
