"""Where a redirected read goes next, and what it may take along. Pure.

Credentials stay with the server they were meant for: at another one a request arrives with a few
harmless headers only, and never with a body. Writes are not redirected at all.
"""

from dataclasses import replace
from urllib.parse import SplitResult, urljoin, urlsplit

from noetl_mcp.wire.exchange import Answer, Refused, Request

_MOVED = frozenset((301, 302, 303, 307, 308))
_HARMLESS = frozenset(("accept", "accept-encoding", "accept-language", "range", "user-agent"))
_PORTS = {"http": 80, "https": 443}


def moved(answer: Answer) -> bool:
    """Whether the answer names another place."""
    return answer.status in _MOVED and bool(answer.headers.get("location"))


def next_request(request: Request, answer: Answer) -> Request:
    """Return the request that an answer leads to; refuse where it must not go."""
    target = _target(answer)
    if target.scheme not in _PORTS or not target.hostname:
        raise Refused("redirect-refused", f"the redirect leads to no server ({target.scheme}:)")
    url = target._replace(netloc=target.netloc.rpartition("@")[2], fragment="").geturl()
    next_one = replace(request, url=url)
    if _asks_plainly(request.method, answer.status):
        headers = [one for one in request.headers if not one[0].lower().startswith("content-")]
        next_one = replace(next_one, method="GET", content=b"", parts=(), headers=tuple(headers))
    if _same_party(urlsplit(answer.url), target):
        return next_one
    if next_one.content or next_one.parts:
        words = f"the redirect would carry the body to another server ({target.hostname})"
        raise Refused("redirect-refused", words)
    harmless = [one for one in next_one.headers if one[0].lower() in _HARMLESS]
    return replace(next_one, headers=tuple(harmless))


def _target(answer: Answer) -> SplitResult:
    try:
        target = urlsplit(urljoin(answer.url, answer.headers["location"].strip()))
        _ = target.port
    except ValueError:
        raise Refused("redirect-refused", "the redirect leads to no readable place") from None
    return target


def _asks_plainly(method: str, status: int) -> bool:
    """303 always asks for another page; 301 and 302 turn a POST into a GET, as browsers do."""
    return (status == 303 and method != "HEAD") or (status in (301, 302) and method == "POST")


def _same_party(here: SplitResult, there: SplitResult) -> bool:
    """The same scheme, host and port; or the same host, now with TLS on the usual port."""
    before, after = _origin(here), _origin(there)
    is_upgrade = (before[0], after[0]) == ("http", "https") and (before[2], after[2]) == (80, 443)
    return before == after or (is_upgrade and before[1] == after[1])


def _origin(place: SplitResult) -> tuple[str, str | None, int | None]:
    return place.scheme, place.hostname, place.port or _PORTS.get(place.scheme)


__all__ = ["moved", "next_request"]
