"""What an mcp step asks, and of which server. Refuses what cannot be asked; sends nothing."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

import mcp_types as types
from pydantic import TypeAdapter

from noetl_mcp.cuts import beginning
from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.calls import Call, Failed
from noetl_mcp.tasks.credentials import Known
from noetl_mcp.tasks.http_request import way_of
from noetl_mcp.tasks.specs_web import McpSettings
from noetl_mcp.wire.exchange import basic
from noetl_mcp.wire.mcp_http import Place
from noetl_mcp.wire.mcp_process import Command
from noetl_mcp.wire.mcp_session import VERSIONS

Kind = Literal["tool", "resource", "prompt", "list"]

_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_BREAK = re.compile(r"[\r\n\0]")
_PROTOCOLS_OWN = re.compile(r"accept|content-.*|mcp-.*|last-event-id|transfer-encoding|host", re.I)


_TOOL: TypeAdapter[Any] = TypeAdapter(types.CallToolResult | types.InputRequiredResult)
_RESOURCE: TypeAdapter[Any] = TypeAdapter(types.ReadResourceResult | types.InputRequiredResult)
_PROMPT: TypeAdapter[Any] = TypeAdapter(types.GetPromptResult | types.InputRequiredResult)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked: a tool, resource or prompt by its name, or the list of a kind."""

    kind: Kind
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def called(self) -> str:
        """How it is called in a message."""
        if self.kind == "list":
            return f"the list of {self.name}"
        return f"{self.kind} '{beginning(self.name, 200)}'"


@dataclass(frozen=True, slots=True)
class Server:
    """Whom it is asked of; `secrets` are the values that must not be shown."""

    name: str
    reached: Command | Place
    version: str | None = None
    start_seconds: float = 30.0
    secrets: tuple[str, ...] = field(default=(), repr=False, compare=False)


def wanted(call: Call) -> Wanted:
    """Return what a step asks; refuse what no message can hold."""
    asked = _wanted(call)
    try:
        told = json.dumps([asked.name, asked.arguments], allow_nan=False, ensure_ascii=False)
        told.encode()
    except (ValueError, TypeError, RecursionError):
        words = (
            f"what is asked of {asked.kind} {beginning(asked.name, 80)!r} cannot be written as JSON"
        )
        raise _wrong("bad-arguments", words) from None
    return asked


def _wanted(call: Call) -> Wanted:
    settings: McpSettings = call.settings
    if settings.tool is not None:
        return Wanted("tool", settings.tool, _arguments(settings, call.input, "tool"))
    if settings.resource is not None:
        return Wanted("resource", settings.resource)
    if settings.prompt is not None:
        given = _arguments(settings, call.input, "prompt")
        return Wanted("prompt", settings.prompt, _texts(given))
    if settings.listing is not None:
        return Wanted("list", settings.listing)
    raise _wrong("bad-settings", "an mcp step names a tool, a resource, a prompt, or a list")


def request(asked: Wanted) -> tuple[types.Request[Any, Any], Any]:
    """Return the SDK's request for all but lists, and the type of its answer."""
    if asked.kind == "tool":
        told = types.CallToolRequestParams(name=asked.name, arguments=dict(asked.arguments))
        return types.CallToolRequest(params=told), _TOOL
    if asked.kind == "resource":
        return types.ReadResourceRequest(
            params=types.ReadResourceRequestParams(uri=asked.name)
        ), _RESOURCE
    params = types.GetPromptRequestParams(name=asked.name, arguments=dict(asked.arguments))
    return types.GetPromptRequest(params=params), _PROMPT


def server(call: Call, known: Known, *, commands: bool) -> Server:
    """Return the server of a step; `commands` says whether programs may be started."""
    settings: McpSettings = call.settings
    version = settings.protocol_version
    if version is not None and version not in VERSIONS:
        known_ones = ", ".join(VERSIONS)
        raise _wrong(
            "bad-protocol-version",
            f"'{beginning(version, 40)}' is no protocol revision; there are {known_ones}",
        )
    if settings.command is not None:
        return _program(call, settings.command, commands=commands)
    if settings.url is None:
        raise _wrong("bad-settings", "an mcp step names a server: its url, or a command")
    url, login = _without_login(settings.url.strip())
    headers = _headers(settings, (*known.headers, *login))
    place = Place(
        url,
        headers,
        known.query,
        way_of(settings),
        settings.connect_timeout,
        settings.max_response_bytes,
    )
    return Server(place.name, place, version, settings.connect_timeout, known.secrets)


def _program(call: Call, words: list[str], *, commands: bool) -> Server:
    settings: McpSettings = call.settings
    if not commands:
        raise _wrong(
            "shell-not-allowed",
            "this worker runs no commands, and so no MCP server that is one; "
            "set NOETL_ALLOW_SHELL where it may, or reach the server by its url",
        )
    if call.auth:
        raise _wrong("bad-auth", "a command takes no credential; give it what it needs by 'env'")
    env = tuple((name, _text(value)) for name, value in settings.env.items())
    command = Command(tuple(words), settings.cwd, env, settings.max_response_bytes)
    name = f"the command '{beginning(' '.join(words[:3]), 120)}'"
    secrets = tuple(value for _, value in env)
    return Server(name, command, settings.protocol_version, settings.connect_timeout, secrets)


def _arguments(settings: McpSettings, given: Json, kind: str) -> Mapping[str, Any]:
    """Return the arguments: those of the step, else its input."""
    if settings.arguments is not None:
        return settings.arguments
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise _wrong("bad-arguments", f"the arguments of a {kind} are a map of names to values")
    return given


def _texts(given: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the arguments of a prompt, which are texts."""
    for name, value in given.items():
        if isinstance(value, dict | list):
            raise _wrong("bad-arguments", f"the argument '{name}' of a prompt must be a text")
    return {name: _text(value) for name, value in given.items() if value is not None}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _headers(
    settings: McpSettings, known: tuple[tuple[str, str], ...]
) -> tuple[tuple[str, str], ...]:
    """Check the headers of a step and of its credentials, and join them."""
    given = tuple((name, _text(value)) for name, value in settings.headers.items())
    taken = {name.lower() for name, _ in known}
    for name, value in (*given, *known):
        if not _NAME.fullmatch(name) or _BREAK.search(value):
            raise _wrong(
                "bad-header", f"the header {beginning(name, 60)!r} holds what no header may hold"
            )
        if _PROTOCOLS_OWN.fullmatch(name):
            raise _wrong("bad-header", f"the header {name!r} is set by the protocol itself")
    for name, _ in given:
        if name.lower() in taken:
            raise _wrong("bad-header", f"the header {name!r} is set by 'auth' already")
    return (*given, *known)


def _without_login(url: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Move a user and a password from the URL into a header, where they cannot be shown."""
    try:
        place = urlsplit(url)
        user, password, _ = place.username, place.password, place.port
    except ValueError:
        raise _wrong("bad-url", "the URL cannot be read") from None
    if user is None:
        return url, ()
    bare = place._replace(netloc=place.netloc.rpartition("@")[2]).geturl()
    return bare, (("Authorization", basic(unquote(user), unquote(password or ""))),)


def _wrong(code: str, message: str) -> Failed:
    return Failed(code, message, retriable=False)


__all__ = ["Kind", "Server", "Wanted", "request", "server", "wanted"]
