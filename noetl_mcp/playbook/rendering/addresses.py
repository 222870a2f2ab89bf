"""Hold a rendered URL to the server that its author began to write.

What is rendered into the scheme or the server's name may complete them, and never lead elsewhere.
A URL that begins with `{{ }}` begins with what is rendered there: that is its author's choice.
Behind the server's name everything may be rendered. Where `{% %}` stands in the name, it is only
held to be the plain name of some server. Reads no settings and sends nothing.
"""

import re
from collections.abc import Mapping
from functools import lru_cache

from noetl_mcp.playbook.rendering.render import Renderer, RenderError, compile_text
from noetl_mcp.playbook.rendering.secret import Secret, shown
from noetl_mcp.playbook.rendering.spelling import sections
from noetl_mcp.playbook.values import is_template

ADDRESSES = frozenset(("url", "endpoint", "base_url", "proxy"))
"""The settings that are URLs, in all their spellings."""

_GAP = "\0"
_COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)
_ENDS = re.compile(r"[/?#\\]")
_NAME = r"(?:\[[0-9A-Fa-f:.]+\]|[\w.-]+)"
_SERVER = re.compile(rf"{_NAME}(?::\d{{1,5}})?")
_LOGIN = re.compile(r"[^/?#\\\s]+")
_PORT = re.compile(r"\d{1,5}")
_LABELS = re.compile(r"[\w.-]+(?::\d{1,5})?")
_LABEL = re.compile(r"[\w-]+")
_PATH = re.compile(r"[/?#].*", re.DOTALL)


def kept(renderer: Renderer) -> Renderer:
    """Return a renderer of a URL that refuses what would lead to another server."""
    return _Address(renderer) if _doubtful(renderer.text) else renderer


class _Address(Renderer):
    """A URL in which something is rendered before its server is named in full."""

    __slots__ = ("renderer",)

    def __init__(self, renderer: Renderer) -> None:
        super().__init__(renderer.text, renderer.gives)
        self.renderer = renderer

    def __call__(self, scope: Mapping[str, object]) -> object:
        found = self.renderer(scope)
        for start, end in _doubtful(self.text):
            _check(self.text, start, end, scope, found)
        return found


@lru_cache(maxsize=1024)
def _doubtful(text: str) -> tuple[tuple[int, int], ...]:
    """Return the places of what is rendered behind the beginning and before the server's end."""
    found, written, at = list[tuple[int, int]](), "", 0
    for start, end in sections(text):
        written += _COMMENT.sub("", text[at:start])
        at = end
        if _is_over(written):
            break
        is_tag = text.startswith("{%", start)
        if written.strip():
            found.append((start, len(text) if is_tag else end))
        if is_tag:
            break  # what a tag encloses cannot be rendered without it
        written += _GAP
    return tuple(found)


def _is_over(written: str) -> bool:
    """Whether a literal sign has ended the server's name."""
    beginning, slashes, server = written.partition("//")
    if slashes:
        return _ENDS.search(server) is not None
    return beginning.lstrip().startswith(_GAP) and _ENDS.search(beginning) is not None


def _check(text: str, start: int, end: int, scope: Mapping[str, object], whole: object) -> None:
    before = str(shown(_text(text[:start], scope))).strip()
    upto = whole if end == len(text) else _text(text[:end], scope)
    value = str(shown(upto)).strip().removeprefix(before)
    _, slashes, server = before.partition("//")
    if not before or not value or (slashes and _ENDS.search(server)):
        return
    if text.startswith("{%", start):
        value = _ENDS.split(f"{before}{value}".partition("//")[2])[0]
        needs = _unless(_SERVER, value, "a host or host:port is needed")
    elif slashes:
        needs = _needed(server, value, _GAP.join(_literals(text, end)))
    else:
        needs = "it may not begin a server's name" if "//" in before + value else None
    if needs is None:
        return
    gives = "a secret that" if isinstance(upto, Secret) else f"{_short(value)!r}, which"
    reason = f"in the server's part of a URL it gives {gives} may lead elsewhere: {needs}"
    raise RenderError(_short(text[start:end]), reason, "bad-url")


def _text(text: str, scope: Mapping[str, object]) -> object:
    """Render the beginning of a template, as text."""
    return compile_text(text)(scope) if is_template(text) else _COMMENT.sub("", text)


def _literals(text: str, at: int) -> list[str]:
    """Return what the author wrote behind a place, between all that is rendered there."""
    found = []
    for start, end in sections(text):
        if start >= at:
            found.append(text[at:start])
            at = end
    return [*found, text[at:]]


def _needed(server: str, value: str, rest: str) -> str | None:
    """Say what is needed instead of a value; None where it may stand behind the server's name."""
    follows = _ENDS.split(rest)[0]
    if "@" in follows:
        return _unless(_LOGIN, value, "a name or a password, with '/', '?' and '#' encoded")
    if not server or server.endswith("@"):
        return _unless(_SERVER, value, "a host or host:port is needed here")
    if server.endswith(":"):
        return _unless(_PORT, value, "a port is needed here")
    if server.endswith((".", "-")):
        return _unless(_LABELS, value, "the rest of a host's name is needed here")
    if follows[:1] not in ("", ":", _GAP):
        return _unless(_LABEL, value, "a part of a host's name without dots is needed here")
    return _unless(_PATH, value, "it must begin with '/', '?' or '#'")


def _unless(form: re.Pattern[str], value: str, needs: str) -> str | None:
    return None if form.fullmatch(value) else needs


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:79] + "…"


__all__ = ["ADDRESSES", "kept"]
