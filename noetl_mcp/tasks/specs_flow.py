"""Task types that wait for others: playbook, wait, approve, callback. They hold no thread."""

from datetime import datetime
from typing import Annotated, ClassVar, Literal

from pydantic import AliasChoices, Field
from pydantic_core import PydanticCustomError

from noetl_mcp.playbook.values import (
    Duration,
    Mapping,
    OrTemplate,
    Reads,
    Text,
)
from noetl_mcp.tasks.contract import TaskSpec
from noetl_mcp.tasks.setting_types import Texts
from noetl_mcp.tasks.settings_model import Group, SettingsModel


def read_version(value: object) -> object:
    """Return a version number, or the word `latest`."""
    is_number = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    if is_number or value == "latest":
        return value
    if isinstance(value, str) and value.isascii() and value.isdigit() and int(value) >= 1:
        return int(value)
    raise PydanticCustomError("shape", "a version number such as 3, or 'latest'")


def read_moment(value: object) -> object:
    """Return a time with its zone, as it was written."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise PydanticCustomError("shape", "a time with its zone such as 2027-01-31T08:00:00+01:00")
    return value


_VERSION = {"type": "string", "pattern": "^([1-9][0-9]*|latest)$"}
ChildVersion = Annotated[
    int | str,
    Reads(read_version, {"anyOf": [{"type": "integer", "minimum": 1}, _VERSION]}),
    OrTemplate(),
]
Moment = Annotated[str, Reads(read_moment, {"type": "string"}), OrTemplate()]


class PlaybookSettings(SettingsModel):
    """Another playbook, run as a child of this execution; its workload is the step's input."""

    path: Text = Field(
        validation_alias=AliasChoices("path", "resource_path"),
        description="Where the child lives in the catalog.",
    )
    version: ChildVersion = Field(
        "latest", description="Which version; it is pinned when this execution starts."
    )
    return_step: Text | None = Field(
        None, description="The child's step whose result is returned; its own result when missing."
    )


class WaitFor(SettingsModel):
    """What a step waits for; a bare value is a duration."""

    shorthand: ClassVar[str | None] = "for"
    at_most_one_of: ClassVar[tuple[Group, ...]] = (frozenset(("for", "until", "event")),)
    at_least_one_of: ClassVar[tuple[Group, ...]] = at_most_one_of

    for_: Duration | None = Field(
        None,
        validation_alias=AliasChoices("for"),
        serialization_alias="for",
        description="How long to wait.",
    )
    until: Moment | None = Field(None, description="The time to wait for, with its zone.")
    event: Text | None = Field(None, description="The name of an event that is sent to us.")
    timeout: Duration | None = Field(None, description="How long to wait for the event at most.")
    on_timeout: Annotated[Literal["fail", "continue"], OrTemplate()] = Field(
        "fail", description="What happens when the event does not come."
    )


class WaitSettings(SettingsModel):
    """A wait; the entries of `wait` may also stand beside the type, but for `timeout`."""

    flat: ClassVar[str | None] = "wait"

    wait: Annotated[WaitFor, OrTemplate()] = Field(
        description="What to wait for: {for: 10m}, {until: TIME} or {event: NAME}."
    )


class Approval(SettingsModel):
    """Who is asked what; a bare text is the message."""

    shorthand: ClassVar[str | None] = "message"

    who: Texts = Field(
        default_factory=list,
        description="Who may answer, by token name or role; any operator else.",
    )
    message: Text = Field(description="What the person is asked.")
    timeout: Duration | None = Field(None, description="How long an answer is waited for.")
    on_timeout: Annotated[Literal["reject", "approve"], OrTemplate()] = Field(
        "reject", description="What counts when nobody answers."
    )


class ApproveSettings(SettingsModel):
    """An approval; the entries of `approve` may also stand beside the type, but for `timeout`."""

    flat: ClassVar[str | None] = "approve"

    approve: Annotated[Approval, OrTemplate()] = Field(
        description="Who is asked what: {who, message, timeout, on_timeout}."
    )


class CallbackSettings(SettingsModel):
    """An answer that somebody else posts to this step's own address."""

    message: Text | None = Field(None, description="What the one who answers is told.")
    answer_schema: Mapping | None = Field(
        None, description="A JSON Schema; an answer that does not fit is refused."
    )
    expires: Duration | None = Field(None, description="How long an answer is waited for.")
    on_timeout: Annotated[Literal["fail", "continue"], OrTemplate()] = Field(
        "fail", description="What happens when no answer comes."
    )


SPECS = (
    TaskSpec(
        name="playbook",
        summary="Run another playbook and take its result.",
        settings=PlaybookSettings,
        may_say_writes=False,
        unknown_outcome="resume",
        confirmation="never",
    ),
    TaskSpec(
        name="wait",
        summary="Wait for a while, a time or an event.",
        settings=WaitSettings,
        may_say_writes=False,
        unknown_outcome="resume",
        confirmation="never",
    ),
    TaskSpec(
        name="approve",
        summary="Wait for a person to say yes or no.",
        settings=ApproveSettings,
        may_say_writes=False,
        unknown_outcome="resume",
        confirmation="never",
    ),
    TaskSpec(
        name="callback",
        summary="Wait for an answer posted to this step's address.",
        settings=CallbackSettings,
        may_say_writes=False,
        unknown_outcome="resume",
        confirmation="never",
    ),
)

__all__ = [
    "SPECS",
    "Approval",
    "ApproveSettings",
    "CallbackSettings",
    "ChildVersion",
    "Moment",
    "PlaybookSettings",
    "WaitFor",
    "WaitSettings",
    "read_moment",
    "read_version",
]
