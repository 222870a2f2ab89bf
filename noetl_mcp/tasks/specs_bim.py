"""Task types of models that live in a server: revit and rhino. Describes them; calls nothing."""

from typing import Annotated, ClassVar, Literal

from pydantic import AliasChoices, Field

from noetl_mcp.bim.effects import Methods
from noetl_mcp.bim.revit.methods import METHODS as REVIT_METHODS
from noetl_mcp.bim.rhino.methods import METHODS as RHINO_METHODS
from noetl_mcp.playbook.values import (
    Duration,
    Mapping,
    OrTemplate,
    Text,
    is_template,
)
from noetl_mcp.tasks.contract import Settings, TaskSpec
from noetl_mcp.tasks.setting_types import Port, Positive, Scalar, Url, Words
from noetl_mcp.tasks.settings_model import Group, SettingsModel
from noetl_mcp.tasks.specs_web import Poll

Profile = Annotated[Literal["auto", "legacy-addin", "exact"], OrTemplate()]


class DocumentGuard(SettingsModel):
    """Which document must be open; a bare text is its title. Another one refuses the call."""

    shorthand: ClassVar[str | None] = "title"

    title: Text | None = Field(None, description="The document's title.")
    guid: Text | None = Field(None, description="The document's or project's GUID.")
    path: Text | None = Field(None, description="The file the document comes from.")
    context_token: Text | None = Field(
        None, description="The token of the last answer; a later change of the model refuses."
    )
    process_id: Positive | None = Field(None, description="The process that must answer.")
    view_id: Scalar | None = Field(None, description="The view that must be active.")


class Server(SettingsModel):
    """How a model's server is reached, and how it is told what to do."""

    method: Text = Field(description="The method; a dotted name goes by its last part.")
    params: Mapping | None = Field(
        None, description="Its parameters; the step's input when missing."
    )
    headers: Words = Field(default_factory=dict, description="Headers to send, by name.")
    connect_timeout: Duration = Field(10.0, description="How long connecting may take.")
    max_response_bytes: Positive = Field(
        67_108_864, description="A longer answer is a failure; nothing is cut."
    )
    poll: Annotated[Poll, OrTemplate()] = Field(
        default_factory=Poll, description="How the ticket of a queued call is followed."
    )
    profile: Profile = Field(
        "auto", description="How moves are sent: compensated for the old add-in, or exactly."
    )


class RevitSettings(Server):
    """One call to Revit, followed until its answer is there."""

    at_most_one_of: ClassVar[tuple[Group, ...]] = (frozenset(("url", "port")),)

    url: Url | None = Field(
        None,
        validation_alias=AliasChoices("url", "endpoint", "base_url"),
        description="The server; http://127.0.0.1:5210 when neither it nor a port is given.",
    )
    port: Port | None = Field(None, description="The port of a server on this machine.")
    selector: Mapping | None = Field(
        None,
        description="What to act on, such as {category, typeName, level, mark}: read, then called.",
    )
    document: Annotated[DocumentGuard, OrTemplate()] | None = Field(
        None, description="The document that must be open."
    )
    slice_size: Positive = Field(200, description="At most so many targets in one call.")
    failure_handling: Annotated[Literal["rollback", "delete", "resolve", "off"], OrTemplate()] = (
        Field("rollback", description="What Revit does with failures among many targets.")
    )


class RhinoSettings(Server):
    """One call to Rhino."""

    at_most_one_of: ClassVar[tuple[Group, ...]] = (frozenset(("url", "port")),)

    url: Url | None = Field(
        None,
        validation_alias=AliasChoices("url", "endpoint", "base_url"),
        description="The server; http://127.0.0.1:5200 when neither it nor a port is given.",
    )
    port: Port | None = Field(None, description="The port of a server on this machine.")


def _writes(methods: Methods, settings: Settings) -> bool:
    method = settings.get("method")
    if not isinstance(method, str) or is_template(method):
        return True
    return methods.writes(method)


def _revit_writes(settings: Settings) -> bool:
    return _writes(REVIT_METHODS, settings)


def _rhino_writes(settings: Settings) -> bool:
    return _writes(RHINO_METHODS, settings)


SPECS = (
    TaskSpec(
        name="revit",
        summary="Call a method of Revit, with its targets selected and its document guarded.",
        settings=RevitSettings,
        writes=_revit_writes,
        may_say_writes=False,
        unknown_outcome="resume",
        confirmation="refused",
    ),
    TaskSpec(
        name="rhino",
        summary="Call a method of Rhino.",
        settings=RhinoSettings,
        writes=_rhino_writes,
        may_say_writes=False,
        unknown_outcome="resume",
        confirmation="refused",
    ),
)

__all__ = [
    "SPECS",
    "DocumentGuard",
    "Profile",
    "RevitSettings",
    "RhinoSettings",
    "Server",
]
