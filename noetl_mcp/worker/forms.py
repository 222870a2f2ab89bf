"""The forms in which a secret may come back: quoted, escaped, encoded. Masks nothing itself."""

import json
from base64 import b64encode
from collections.abc import Iterator
from functools import lru_cache
from html import escape
from urllib.parse import quote, quote_plus, unquote, urlsplit

SHORTEST = 4
"""Shorter secrets are not looked for: they would blank out half of every text."""
_SHORTEST_LINE = 8
"""Of a secret of many lines each is looked for that is not shorter."""
_SHORTEST_CORE = 8
"""Shorter pieces of Base64 stand in too many innocent texts."""
_LONGEST = 4096
"""Of longer texts only the text itself is looked for, and its lines."""
_URL_SAFE = str.maketrans("+/", "-_")


@lru_cache(maxsize=512)
def forms_of(secret: str) -> frozenset[str]:
    """Return all texts in which a secret can be read."""
    return frozenset(form for form in _forms(secret) if len(form) >= SHORTEST)


@lru_cache(maxsize=512)
def probes_of(secret: str) -> tuple[bytes, ...]:
    """Return, as in JSON, forms of which one stands wherever any form of a secret does."""
    forms = forms_of(secret)
    least = [one for one in forms if not any(two in one for two in forms if two != one)]
    return tuple(map(in_json, least))


def in_json(text: str) -> bytes:
    """Return a text as it stands in JSON, without its quotes."""
    return json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass")


def plain_forms_of(secret: str) -> Iterator[str]:
    """Yield a secret and what may come back of it alone: without its line end, and its lines."""
    if len(secret) < SHORTEST:
        return
    yield secret
    if len(secret.strip()) >= SHORTEST:
        yield secret.strip()
    lines = secret.splitlines()
    if len(lines) > 1:
        yield from (one for one in lines if len(one) >= _SHORTEST_LINE and one[:5] != "-----")


def _forms(secret: str) -> Iterator[str]:
    yield from plain_forms_of(secret)
    if not SHORTEST <= len(secret) <= _LONGEST:
        return
    for quoted in (quote(secret, safe=""), quote(secret), quote_plus(secret)):
        yield quoted
        yield _lower_escapes(quoted)
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield from _in_python(secret)
    yield from _in_markup(secret)
    yield from _encoded(secret.encode("utf-8", "replace"))


def _lower_escapes(quoted: str) -> str:
    parts = quoted.split("%")
    return "%".join([parts[0], *(part[:2].lower() + part[2:] for part in parts[1:])])


def _in_python(secret: str) -> Iterator[str]:
    """Yield how Python writes it, beside quotes of either kind, in ASCII, and as bytes."""
    yield repr(secret)[1:-1]
    yield repr(secret + "'\"")[1:-4]
    yield ascii(secret)[1:-1]
    yield repr(secret.encode("utf-8", "replace"))[2:-1]


def _in_markup(secret: str) -> Iterator[str]:
    yield escape(secret)
    yield escape(secret, quote=False)
    yield escape(secret).replace("&#x27;", "&#39;").replace("&quot;", "&#34;")


def _encoded(secret: bytes) -> Iterator[str]:
    """Yield Base64 and hexadecimal digits, wherever among other bytes the secret stands."""
    whole = b64encode(secret).decode()
    cores = [_core(secret, before) for before in range(3)]
    for one in (whole, whole.rstrip("="), *cores):
        if len(one) >= _SHORTEST_CORE:
            yield one
            yield one.translate(_URL_SAFE)
    yield secret.hex()
    yield secret.hex().upper()


def _core(secret: bytes, before: int) -> str:
    """Return the signs of Base64 that hold nothing else, with some bytes before."""
    signs = b64encode(b"\0" * before + secret).decode()
    first = (8 * before + 5) // 6
    last = 8 * (before + len(secret)) // 6
    return signs[first:last]


def known_by_address(text: str) -> Iterator[str]:
    """Yield what a request says of itself when its address holds a name and a password."""
    if "@" not in text or "://" not in text:
        return
    try:
        place = urlsplit(text.strip())
        user, password = unquote(place.username or ""), unquote(place.password or "")
    except ValueError:
        return
    if user or password:
        yield from known_by_name(user, password)
    if len(password) >= SHORTEST:
        yield password


def known_by_name(user: str, password: str) -> Iterator[str]:
    """Yield the text in which servers are told a name and a password."""
    yield b64encode(f"{user}:{password}".encode()).decode()


__all__ = [
    "SHORTEST",
    "forms_of",
    "in_json",
    "known_by_address",
    "known_by_name",
    "plain_forms_of",
    "probes_of",
]
