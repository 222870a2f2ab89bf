"""Read what an answer holds: JSON, text or bytes. Pure; whether it is a failure is not asked here.

A body that says it is JSON and is not stays text; one that JSON cannot carry on (NaN, endless
numbers, halves of characters) is refused, for it would break whoever reads it next.
"""

import json
import re
from base64 import b64encode
from email.message import Message
from typing import Literal

import orjson

from noetl_mcp.cuts import CUT, beginning
from noetl_mcp.playbook.node import Json
from noetl_mcp.wire.exchange import Answer

Form = Literal["auto", "json", "text", "base64"]

_JSONS = re.compile(r"(application|text)/json|.+\+json")
_TEXTS = re.compile(
    r"text/.+|.+\+(xml|yaml)|application/(xml|javascript|ecmascript|x-www-form-urlencoded|yaml"
    r"|x-yaml|toml|sql|graphql|x-ndjson|ndjson|jsonl|x-jsonlines|json-seq|x-sh)"
)
_CHARSETS = re.compile(r"(utf|iso|latin|windows|cp|us-ascii|ascii|koi|gb|big5|shift|sjis|euc|mac)")


class Unreadable(Exception):
    """The body is not what it had to be."""


class _NotJson(Unreadable):
    """The body is no JSON at all."""


def data_of(answer: Answer, form: Form) -> Json:
    """Return the body in the form asked for; an empty one is null, or an empty text."""
    body = answer.body
    if form == "base64":
        return b64encode(body).decode()
    media, charset = _content_type(answer.headers.get("content-type", ""))
    if form == "text":
        return _text(body, charset)
    if not body:
        return None
    if form == "json":
        return _json(body, charset)
    return _by_type(body, media, charset)


def excerpt(body: bytes, content_type: str, most: int = 2_000) -> Json:
    """Return what a person may want to see of a body: a small JSON, or the start of a text."""
    media, charset = _content_type(content_type)
    if b"\0" in body or not body:
        return None
    if len(body) <= most and _JSONS.fullmatch(media):
        try:
            return _json(body, charset)
        except Unreadable:
            pass
    text = _text(body[: 4 * most], charset)
    return beginning(text + CUT if len(body) > 4 * most else text, most)


def _by_type(body: bytes, media: str, charset: str) -> Json:
    """Go by the content type; where there is none, by how the body begins."""
    if _JSONS.fullmatch(media) or (not media and body.lstrip()[:1] in (b"{", b"[")):
        try:
            return _json(body, charset)
        except _NotJson:
            media = media and "text/plain"
    is_text = bool(_TEXTS.fullmatch(media)) if media else _is_utf8(body)
    if is_text and (b"\0" not in body or charset.startswith(("utf-16", "utf-32"))):
        return _text(body, charset)
    return b64encode(body).decode()


def _content_type(value: str) -> tuple[str, str]:
    """Return the media type and the charset, both in lower case and perhaps empty."""
    media, _, rest = value.partition(";")
    if "charset" not in rest.lower():
        return media.strip().lower(), ""
    message = Message()
    message["Content-Type"] = value
    charset = str(message.get_content_charset("")).lower()
    return media.strip().lower(), charset if _CHARSETS.match(charset) else ""


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def _text(body: bytes, charset: str) -> str:
    """Decode by the charset; without one UTF-8, and else the old default, which loses nothing."""
    if charset not in ("", "utf-8", "utf8"):
        try:
            return body.decode(charset, "replace")
        except LookupError:
            pass
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        return body.decode("utf-8", "replace") if charset else body.decode("latin-1")


def _json(body: bytes, charset: str) -> Json:
    """Read JSON; what only a lenient reader would take is refused."""
    try:
        found: Json = orjson.loads(body)
    except orjson.JSONDecodeError as refused:
        reason = refused.msg
    else:
        return found
    text = _text(body, charset)
    try:
        found = orjson.loads(text)  # another charset, or a byte order mark
    except (orjson.JSONDecodeError, UnicodeEncodeError):
        pass
    else:
        return found
    try:
        json.loads(text)
    except ValueError:
        raise _NotJson(f"the body is not JSON: {reason}") from None
    except RecursionError:
        raise Unreadable("the body is JSON nested too deeply") from None
    words = "the body holds what JSON has no word for: NaN, an endless number or half a character"
    raise Unreadable(words)


__all__ = ["Form", "Unreadable", "data_of", "excerpt"]
