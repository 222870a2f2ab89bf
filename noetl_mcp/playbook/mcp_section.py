"""The `mcp:` section: models, tools, resources, prompts and turns. Resolves no names."""

from typing import Annotated, Any, Literal

from pydantic import Field

from noetl_mcp.playbook.care import Cache, Save
from noetl_mcp.playbook.values import Auth, Duration, Flag, Mapping, Messages, Model, Text, Value

McpName = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\s:]+$")]


class ModelPreset(Model):
    """A model under a name, with its parameters and the way to reach it."""

    name: McpName = Field(description="What turns call it.")
    provider: str | None = Field(None, description="Who makes it; a label.")
    params: dict[str, Value] = Field(default_factory=dict, description="Sent with every call.")
    endpoint: Text | None = Field(None, description="The base address; the gateway else.")
    adapter: Literal["gateway", "openai"] = Field("gateway", description="The wire it speaks.")
    auth: Auth | None = Field(None, description="The credential of the endpoint, by name.")
    model: str | None = Field(None, description="Its name on the wire, when another.")
    tool_calls: Literal["native", "schema"] = Field(
        "native", description="How it asks for tools: by itself, or by a schema that it is held to."
    )
    description: str | None = Field(None, description="What it is for.")
    timeout: Duration | None = Field(None, description="How long one call may take.")


class Tool(Model):
    """Something a model may call: a task type and its settings."""

    name: McpName = Field(description="What models and turns call it.")
    type: str = Field(description="The task type that does it.")
    spec: dict[str, Value] = Field(description="The settings of that type.")
    description: str | None = Field(None, description="What the model is told about it.")
    input_schema: dict[str, Any] | None = Field(
        None, description="JSON Schema of the arguments, checked before the call."
    )
    confirm: bool | None = Field(None, description="A model may call it although it writes.")
    writes: bool | None = Field(None, description="Whether it changes something outside.")
    idempotent: bool | None = Field(None, description="Doing it twice is as good as once.")
    data: Mapping | None = Field(None, description="Input of the task; the arguments else.")
    auth: Auth | None = Field(None, description="A credential, by name.")
    timeout: Duration | None = Field(None, description="How long one call may take.")


class Resource(Model):
    """Something a turn reads: a task type and its settings."""

    name: McpName = Field(description="What turns call it.")
    type: str = Field(description="The task type that reads it.")
    spec: dict[str, Value] = Field(description="The settings of that type.")
    description: str | None = Field(None, description="What it holds.")
    data: Mapping | None = Field(None, description="Input of the task; the execution's else.")
    auth: Auth | None = Field(None, description="A credential, by name.")
    timeout: Duration | None = Field(None, description="How long reading may take.")
    max_chars: int | None = Field(None, description="What is longer is cut, visibly.", ge=1)
    refresh: Literal["once", "each_use"] = Field("once", description="When it is read.")


class Prompt(Model):
    """A template of messages."""

    name: McpName = Field(description="What turns call it.")
    template: Messages = Field(description="Text, or a list of messages.")
    description: str | None = Field(None, description="What it is for.")


class Message(Model):
    """One piece of what the user says: a text, or something to use."""

    text: str | None = Field(None, description="A text.")
    use: str | None = Field(None, description="resource:, prompt:, step: or turn: and a name.")
    with_: Mapping | None = Field(None, alias="with", description="Input of a prompt.")
    role: Literal["user", "assistant", "system"] | None = Field(None, description="Who speaks.")


class Turn(Model):
    """A conversation with a model until it has answered."""

    name: McpName = Field(description="The turn's name, and that of its last step.")
    model: str = Field(description="The model that answers.")
    system: str | None = Field(None, description="What the model is told first.")
    user: list[Message] = Field(default_factory=list, description="What is said to it.")
    tools_allowed: list[str] = Field(default_factory=list, description="Tools it may call.")
    max_tool_rounds: Annotated[int, Field(ge=0, le=50)] = Field(
        4, description="How often it may call tools before it must answer."
    )
    output_schema: dict[str, Any] | None = Field(
        None, description="JSON Schema that the answer must fit."
    )
    params: dict[str, Value] = Field(default_factory=dict, description="Laid over the model's.")
    save: list[Save] = Field(default_factory=list, description="Where the answer is kept.")
    needs: list[str] | None = Field(None, description="What must be done before.")
    cache: Cache | None = Field(None, description="Reuse of former answers.")
    stream: Flag = Field(False, description="Show the answer while it is written.")
    timeout: Duration | None = Field(None, description="How long one call may take.")
    description: str | None = Field(None, description="What it is for.")


class McpSection(Model):
    """Everything under `mcp:`."""

    models: list[ModelPreset] = Field(default_factory=list, description="Models by name.")
    tools: list[Tool] = Field(default_factory=list, description="What models may call.")
    resources: list[Resource] = Field(default_factory=list, description="What turns read.")
    prompts: list[Prompt] = Field(default_factory=list, description="Templates of messages.")
    turns: list[Turn] = Field(default_factory=list, description="Conversations.")
