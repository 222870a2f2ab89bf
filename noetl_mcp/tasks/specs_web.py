"""Task types that ask a server: http, jsonrpc and mcp. Describes them; sends nothing."""

from typing import Annotated, ClassVar, Literal

from pydantic import AliasChoices, Field

from noetl_mcp.bim.revit.methods import METHODS as REVIT_METHODS
from noetl_mcp.bim.rhino.methods import METHODS as RHINO_METHODS
from noetl_mcp.playbook.values import Duration, Flag, Mapping, OrTemplate, Text, Value, is_template
from noetl_mcp.tasks.contract import Settings, TaskSpec
from noetl_mcp.tasks.setting_types import (
    AnyCase,
    Base64,
    Bindings,
    Natural,
    Positive,
    Query,
    Statuses,
    Texts,
    Url,
    Words,
)
from noetl_mcp.tasks.settings_model import Group, SettingsModel

SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))
Method = Annotated[
    Literal["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"], AnyCase(), OrTemplate()
]


class Connection(SettingsModel):
    """How a server is reached; every type that speaks HTTP has these."""

    headers: Words = Field(default_factory=dict, description="Headers to send, by name.")
    verify_tls: Flag = Field(
        True,
        validation_alias=AliasChoices("verify_tls", "verify_ssl", "verify"),
        description="Whether the server's certificate is checked.",
    )
    ca_file: Text | None = Field(None, description="A file of certificates to trust instead.")
    client_cert: Text | None = Field(None, description="A certificate file to identify with.")
    client_key: Text | None = Field(None, description="The key file of `client_cert`.")
    proxy: Url | None = Field(None, description="The proxy to go through.")
    connect_timeout: Duration = Field(10.0, description="How long connecting may take.")
    max_response_bytes: Positive = Field(
        16_777_216, description="A longer answer is a failure; nothing is cut."
    )
    unknown_statuses: Statuses = Field(
        [500, 502, 504], description="After a write, these leave open whether it happened."
    )


class Upload(SettingsModel):
    """One file of a multipart request; a bare text is its path."""

    shorthand: ClassVar[str | None] = "path"
    at_most_one_of: ClassVar[tuple[Group, ...]] = (frozenset(("path", "content", "content_b64")),)
    at_least_one_of: ClassVar[tuple[Group, ...]] = at_most_one_of

    path: Text | None = Field(None, description="The file to send.")
    content: Text | None = Field(None, description="The text to send instead of a file.")
    content_b64: Base64 | None = Field(None, description="The bytes to send, in base64.")
    filename: Text | None = Field(None, description="The name the server is told.")
    content_type: Text | None = Field(None, description="The media type the server is told.")


class HttpSettings(Connection):
    """One HTTP request. The step's input is the body, or with GET and DELETE the query."""

    at_most_one_of: ClassVar[tuple[Group, ...]] = (
        frozenset(("json", "form", "body")),
        frozenset(("json", "body", "files")),
    )

    url: Url = Field(validation_alias=AliasChoices("url", "endpoint"), description="Where to ask.")
    method: Method = Field("GET", description="The verb; all but GET, HEAD and OPTIONS write.")
    params: Query | None = Field(None, description="The query: a map, a list of pairs, or a text.")
    json_body: Value = Field(
        None,
        validation_alias=AliasChoices("json"),
        serialization_alias="json",
        description="A body sent as JSON.",
    )
    form: Mapping | None = Field(None, description="A body sent as a form.")
    body: Text | None = Field(None, description="A body sent as this very text.")
    files: Annotated[dict[str, Upload], OrTemplate()] | None = Field(
        None, description="Files of a multipart form, by field name."
    )
    follow_redirects: Flag | None = Field(
        None, description="Follow redirects; by default reads do. A write never does."
    )
    max_redirects: Natural = Field(10, description="No more redirects than these.")
    response: Annotated[Literal["auto", "json", "text", "base64"], OrTemplate()] = Field(
        "auto", description="How the body is read; auto goes by its content type."
    )
    ok_statuses: Statuses = Field(
        default_factory=list, description="Statuses that are a success too, beside 200 to 299."
    )
    refused_statuses: Statuses = Field(
        default_factory=list,
        description="Statuses that say for certain that nothing was done, beside 4xx and 503.",
    )
    retriable_statuses: Statuses = Field(
        [408, 425, 429, 500, 502, 503, 504],
        description="Failures that `retry` tries again when it names no condition.",
    )
    max_retry_after: Duration = Field(
        300.0, description="A longer `Retry-After` is not waited for; the step fails."
    )
    idempotency_key: Text | None = Field(
        None, description="The key to send with an idempotent write; made for each step by default."
    )
    idempotency_header: Text = Field(
        "Idempotency-Key", description="The header that carries the key."
    )


class Poll(SettingsModel):
    """How a queued call is followed until its answer is there; a bare flag turns it on or off."""

    shorthand: ClassVar[str | None] = "enabled"

    enabled: Flag = Field(True, description="Whether a ticket is followed at all.")
    path: Text = Field("/job/{id}", description="Where the job is asked for, below the server.")
    every: Duration = Field(0.25, description="The first wait; later ones grow.")
    at_most_every: Duration = Field(5.0, description="No wait is longer than this.")
    lasts: Duration | None = Field(
        None, description="How long it is followed; the step's timeout when missing."
    )


class JsonRpcSettings(Connection):
    """One JSON-RPC 2.0 call. The step's input is `params` when none are given."""

    url: Url = Field(
        validation_alias=AliasChoices("url", "endpoint"), description="Where the calls are posted."
    )
    method: Text = Field(description="The method to call.")
    params: Bindings | None = Field(None, description="Its parameters, by name or in order.")
    poll: Annotated[Poll, OrTemplate()] = Field(
        default_factory=Poll, description="How the ticket of a queued call is followed."
    )


class McpSettings(Connection):
    """One request to an MCP server, over HTTP or to a command's standard input."""

    at_most_one_of: ClassVar[tuple[Group, ...]] = (
        frozenset(("url", "command")),
        frozenset(("tool", "resource", "prompt", "list")),
    )

    url: Url | None = Field(
        None, validation_alias=AliasChoices("url", "endpoint"), description="The server's URL."
    )
    command: Texts | None = Field(None, description="The server's program and its arguments.")
    cwd: Text | None = Field(None, description="The folder the command runs in.")
    env: Words = Field(default_factory=dict, description="What the command's environment holds.")
    tool: Text | None = Field(
        None,
        validation_alias=AliasChoices("tool", "tool_name"),
        description="The tool to call.",
    )
    arguments: Mapping | None = Field(
        None, description="Arguments of the tool or prompt; the step's input when missing."
    )
    resource: Text | None = Field(None, description="The URI of a resource to read.")
    prompt: Text | None = Field(None, description="The prompt to get.")
    listing: Literal["tools", "resources", "prompts"] | None = Field(
        None,
        validation_alias=AliasChoices("list"),
        serialization_alias="list",
        description="What to list.",
    )
    protocol_version: Text | None = Field(
        None, description="The protocol revision to speak; the newest of both when missing."
    )
    connect_timeout: Duration = Field(
        30.0, description="How long starting or reaching the server and opening a session may take."
    )


def http_writes(settings: Settings) -> bool:
    """Every method writes but GET, HEAD and OPTIONS; one that is a template may."""
    method = settings.get("method")
    return method is not None and str(method).upper() not in SAFE_METHODS


def _jsonrpc_writes(settings: Settings) -> bool:
    """A method reads only when the registry of Revit or that of Rhino says so."""
    method = settings.get("method")
    if not isinstance(method, str) or is_template(method):
        return True
    return REVIT_METHODS.writes(method) and RHINO_METHODS.writes(method)


def _mcp_writes(settings: Settings) -> bool:
    """A tool writes until it says `readOnlyHint`, which only the server can tell."""
    calls = "tool" in settings or "tool_name" in settings
    return calls or not any(key in settings for key in ("resource", "prompt", "list"))


SPECS = (
    TaskSpec(
        name="http",
        summary="Send one HTTP request.",
        settings=HttpSettings,
        writes=http_writes,
        unknown_outcome="in_doubt",
    ),
    TaskSpec(
        name="jsonrpc",
        summary="Call a JSON-RPC 2.0 method and wait for its answer, queued or not.",
        settings=JsonRpcSettings,
        writes=_jsonrpc_writes,
        unknown_outcome="resume",
        confirmation="refused",
    ),
    TaskSpec(
        name="mcp",
        summary="Call a tool, read a resource or get a prompt of an MCP server.",
        settings=McpSettings,
        writes=_mcp_writes,
        unknown_outcome="in_doubt",
        required_one_of=(
            frozenset(("url", "command")),
            frozenset(("tool", "resource", "prompt", "list")),
        ),
    ),
)

__all__ = [
    "SAFE_METHODS",
    "SPECS",
    "Connection",
    "HttpSettings",
    "JsonRpcSettings",
    "McpSettings",
    "Method",
    "Poll",
    "Upload",
    "http_writes",
]
