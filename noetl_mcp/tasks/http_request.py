"""Make the request of an http step: its URL, query, headers and body. Sends nothing.

What cannot be sent as it stands is refused with a reason, and never bent until it fits.
"""

import json
from base64 import b64decode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import orjson

from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.calls import Call, Failed
from noetl_mcp.tasks.credentials import Known, Pair
from noetl_mcp.tasks.specs_web import Connection, HttpSettings, Upload
from noetl_mcp.wire.exchange import WHOLE_SECONDS, Part, Request, Way

_INPUT_IS_BODY = frozenset(("POST", "PUT", "PATCH"))
_JSON, _FORM = "application/json", "application/x-www-form-urlencoded"
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a request may reach: servers (`api.example`, `*.example:8080`) and folders of files.

    None allows everything; an empty tuple nothing.
    """

    servers: tuple[str, ...] | None = None
    folders: tuple[Path, ...] | None = None

    def reaches(self, url: str) -> bool:
        """Whether a server may be asked; redirects are asked for too."""
        if self.servers is None:
            return True
        try:
            place = urlsplit(url)
            host = place.hostname or ""
            here = f"{host}:{place.port or _PORTS.get(place.scheme)}"
        except ValueError:
            return False
        return any(fnmatchcase(host, one) or fnmatchcase(here, one) for one in self.servers)

    def may_read(self, path: Path) -> bool:
        """Whether a file may be sent; links are followed first."""
        if self.folders is None:
            return True
        there = path.resolve()
        return any(there.is_relative_to(folder.resolve()) for folder in self.folders)


def request_of(call: Call, known: Known, allowed: Allowed) -> Request:
    """Return what a call asks for; raise `Failed` when that cannot be sent."""
    settings: HttpSettings = call.settings
    content, parts, media = _body(settings, call.input, allowed)
    may_move = settings.follow_redirects is not False and not call.writes
    return Request(
        settings.method,
        _with_query(settings.url.strip(), _query(settings, call.input), known.query),
        headers=_headers(call, known, media),
        content=content,
        parts=parts,
        timeout=WHOLE_SECONDS if call.timeout is None else call.timeout,
        connect_timeout=settings.connect_timeout,
        max_bytes=settings.max_response_bytes,
        redirects=settings.max_redirects if may_move else 0,
        way=way_of(settings),
        reaches=allowed.reaches,
        heard=call.heard,
    )


def way_of(settings: Connection) -> Way:
    """Return how the server of a step is reached."""
    return Way(
        verify_tls=settings.verify_tls,
        ca_file=settings.ca_file,
        client_cert=settings.client_cert,
        client_key=settings.client_key,
        proxy=settings.proxy,
    )


def _query(settings: HttpSettings, given: Json) -> str:
    """Spell the query; the step's input is one where a request brings no body along."""
    query = settings.params
    if query is None and settings.method not in _INPUT_IS_BODY and not _has_body(settings):
        query = given
    if query is None or isinstance(query, str):
        return (query or "").lstrip("?&")
    if isinstance(query, dict):
        return _spelt(query.items(), "query")
    if isinstance(query, list) and all(isinstance(one, list) and len(one) == 2 for one in query):
        return _spelt(((name, value) for name, value in query), "query")
    raise _wrong("query", "a query is a map, a list of pairs, or a text")


def _with_query(url: str, query: str, more: tuple[Pair, ...]) -> str:
    if not query and not more:
        return url
    added = "&".join(filter(None, (query, urlencode(more, quote_via=quote, safe=""))))
    place = url.partition("#")[0]
    if "?" not in place:
        return f"{place}?{added}"
    return f"{place}{added}" if place[-1] in "?&" else f"{place}&{added}"


def _spelt(pairs: Iterable[tuple[Any, Any]], what: str) -> str:
    return urlencode(list(_flat(pairs, what)), quote_via=quote, safe="")


def _flat(pairs: Iterable[tuple[Any, Any]], what: str) -> Iterator[Pair]:
    """Repeat a name for each item of a list, and leave out what is null."""
    for name, value in pairs:
        for one in value if isinstance(value, list) else [value]:
            if one is None:
                continue
            if isinstance(one, (dict, list)):
                told = "a map" if isinstance(one, dict) else "a list in a list"
                raise _wrong(what, f"'{name}' is {told}; a {what} holds texts and numbers")
            yield str(name), _text(one)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _has_body(settings: HttpSettings) -> bool:
    bodies = (settings.json_body, settings.form, settings.body, settings.files)
    return any(one is not None for one in bodies)


def _body(
    settings: HttpSettings, given: Json, allowed: Allowed
) -> tuple[bytes, tuple[Part, ...], str | None]:
    """Return the body, or the parts of one, and its media type."""
    form = settings.form
    if settings.files is not None:
        fields = [Part(name, value.encode()) for name, value in _flat((form or {}).items(), "form")]
        uploads = [_part(name, one, allowed) for name, one in settings.files.items()]
        return b"", (*fields, *uploads), None
    if form is not None:
        return _spelt(form.items(), "form").encode(), (), _FORM
    if settings.body is not None:
        return _encoded(settings.body), (), "text/plain; charset=utf-8"
    if settings.json_body is not None:
        return _json(settings.json_body), (), _JSON
    if settings.method in _INPUT_IS_BODY and given is not None and given != {}:
        return _json(given), (), _JSON
    return b"", (), None


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise _wrong("body", "the body holds half a character") from None


def _json(value: Json) -> bytes:
    """Write JSON; numbers that JSON does not have would become null, so they are refused."""
    try:
        written = orjson.dumps(value)
        if b"null" in written:
            json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as refused:
        raise _wrong("body", f"the body cannot be written as JSON: {refused}") from None
    return written


def _part(name: str, upload: Upload, allowed: Allowed) -> Part:
    """Return a file of a multipart body; one on disk is read while it is sent."""
    if upload.path is not None:
        path = Path(upload.path)
        if not allowed.may_read(path):
            words = f"'{path}' is outside the folders that may be sent from"
            raise Failed("not-allowed", words, retriable=False)
        return Part(name, path, upload.filename or path.name, upload.content_type)
    if upload.content_b64 is not None:
        try:
            content = b64decode("".join(upload.content_b64.split()), validate=True)
        except ValueError:
            raise _wrong("body", f"'{name}' is not in base64") from None
    else:
        content = _encoded(upload.content or "")
    return Part(name, content, upload.filename or name, upload.content_type)


def _headers(call: Call, known: Known, media: str | None) -> tuple[Pair, ...]:
    """Put together the step's headers, the credentials, the media type and the key."""
    settings: HttpSettings = call.settings
    headers = [(name, _text(value)) for name, value in settings.headers.items()]
    if settings.files is not None:
        headers = [pair for pair in headers if not _lacks_boundary(pair)]
    names = {name.lower() for name, _ in headers}
    for name, value in known.headers:
        if name.lower() in names:
            words = f"both 'auth' and 'headers' set '{name}'; keep one"
            raise Failed("bad-auth", words, retriable=False)
        headers.append((name, value))
    if media is not None and "content-type" not in names:
        headers.append(("Content-Type", media))
    key = settings.idempotency_key or (call.key if call.writes else "")
    if key and settings.idempotency_header and settings.idempotency_header.lower() not in names:
        headers.append((settings.idempotency_header, key))
    return tuple(headers)


def _lacks_boundary(header: Pair) -> bool:
    """A multipart type without its boundary makes the body unreadable; ours has one."""
    is_multipart = header[1].strip().lower().startswith("multipart/form-data")
    return header[0].lower() == "content-type" and is_multipart and "boundary" not in header[1]


def _wrong(what: str, message: str) -> Failed:
    return Failed(f"bad-{what}", message, retriable=False)


__all__ = ["Allowed", "request_of", "way_of"]
