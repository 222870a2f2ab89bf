"""A playbook as it is after reading: one stable form for every dialect. Refuses nothing twice."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from noetl_mcp.playbook.care import (
    Assertion,
    AtLeastOne,
    Cache,
    Limit,
    LimitName,
    LimitNumber,
    Name,
    NoneOrMore,
    Pool,
    Retry,
    Save,
)
from noetl_mcp.playbook.expect import Expect
from noetl_mcp.playbook.mcp_section import McpSection
from noetl_mcp.playbook.values import (
    Auth,
    Condition,
    Duration,
    FixedDuration,
    Items,
    Mapping,
    Model,
    Share,
    Value,
    Version,
)

UNSAID = "?"
"""What stands for a required value that is missing and was reported; nobody complains again."""


class Metadata(Model):
    """Who a playbook is in the catalog; other keys are kept as they stand."""

    model_config = ConfigDict(extra="allow")

    path: Annotated[str, Field(min_length=1, max_length=500)] = Field(
        description="Where the playbook lives in the catalog."
    )
    name: Name = Field(description="What it is called.")
    version: Version | None = Field(None, description="The author's own version mark.")
    description: str | None = Field(None, description="What it is for.")
    tags: Value = Field(None, description="Words to find it by.")
    expose: Literal["mcp"] | None = Field(None, description="Offer it as an MCP tool.")


class Edge(Model):
    """One way on: to which step, under which condition, with which payload."""

    step: Name = Field(description="The step that comes next.")
    when: Condition | None = Field(None, description="Follow this edge only when it is true.")
    data: Mapping | None = Field(None, description="Input laid over that of the next step.")
    set: dict[str, Value] | None = Field(None, description="Names to set under `ctx` on the way.")


class OnError(Model):
    """Where a finally failed step leads."""

    goes_on: bool = Field(False, description="Take the ordinary edges all the same.")
    edges: list[Edge] = Field(default_factory=list, description="Where to go instead.")


class Action(Model):
    """What is done: a type, its settings, its input, and the care it needs."""

    name: Name | None = Field(None, description="What the action is called.")
    description: str | None = Field(None, description="What it is for.")
    type: str | None = Field(None, description="The task type.")
    settings: dict[str, Value] = Field(default_factory=dict, description="The type's settings.")
    calls: str | None = Field(None, description="The workbook action it stands for.")
    task: "Action | None" = Field(None, description="The action, written in place.")
    tasks: "list[Action]" = Field(default_factory=list, description="What a sequence does in turn.")
    data: Mapping | None = Field(None, description="The input, readable as `input` and `data`.")
    auth: Auth | None = Field(None, description="A credential, or a map of them.")
    assertion: Assertion | None = Field(None, alias="assert", description="Checks around the body.")
    retry: Retry | None = Field(None, description="How a failure is tried again.")
    timeout: Duration | None = Field(None, description="How long one attempt may take.")
    expect: Expect | None = Field(None, description="Bounds on what it may change.")
    confirm: bool | None = Field(None, description="The change is intended.")
    writes: bool | None = Field(None, description="Whether it changes something outside.")
    idempotent: bool | None = Field(None, description="Doing it twice is as good as once.")
    check: "Action | None" = Field(None, description="A reading step that settles a doubt.")
    save: list[Save] = Field(default_factory=list, description="Where the result is kept.")
    limits: list[Limit] = Field(default_factory=list, description="What it must not crowd.")
    pool: Pool | None = Field(None, description="Only workers of this pool may do it.")
    cache: Cache | None = Field(None, description="Reuse of former results.")
    on_error: OnError | None = Field(None, description="Where a failure leads.")
    set: dict[str, Value] = Field(default_factory=dict, description="Names to set under `ctx`.")


class Iterator(Model):
    """Do the same for every item of a collection."""

    collection: Items = Field(description="The list, or a template that gives it.")
    element: Annotated[str, Field(pattern=r"^[A-Za-z_]\w*$")] = Field(
        "item", description="What an item is called in templates."
    )
    calls: str | None = Field(None, description="The workbook action done with each item.")
    task: Action | None = Field(None, description="What is done with each item.")
    mode: Literal["sequential", "async"] = Field(
        "sequential", description="One after another, or side by side."
    )
    concurrency: AtLeastOne | None = Field(None, description="At most so many side by side.")
    where: Condition | None = Field(None, description="Only items for which it is true.")
    order_by: Value = Field(None, description="What the items are sorted by.")
    limit: NoneOrMore | None = Field(None, description="At most so many items.")
    chunk: AtLeastOne | None = Field(None, description="Hand the items out in lists of this size.")
    enumerate: bool = Field(False, description="Give each item its number as `index`.")
    tolerate: Share = Field(0, description="So many items may fail, or a share such as 5%.")


class Repeat(Model):
    """Do it again, within a bound."""

    while_: Condition | None = Field(None, alias="while", description="Go on while it is true.")
    until: Condition | None = Field(None, description="Go on until it is true.")
    max: AtLeastOne = Field(description="Never more often than this.")
    delay: Duration | None = Field(None, description="The wait between two rounds.")
    collect: Value = Field(None, description="What each round adds to the result list.")
    on_max: Literal["fail", "continue"] | None = Field(
        None,
        description="What it is when `max` is reached first: a failure, unless `continue`.",
    )


class Step(Action):
    """A node of the workflow: an action and the ways on from it."""

    step: Name = Field(description="The step's name.")
    when: Condition | None = Field(None, description="Skip the step unless it is true.")
    next: list[Edge] | None = Field(None, description="The ways on; none means the end.")
    route: Literal["seed", "exclusive", "inclusive"] = Field(
        "seed", description="Which edges fire."
    )
    join: Literal["all", "any"] = Field("all", description="Wait for all branches, or the first.")
    priority: Annotated[int, Field(ge=-100, le=100)] = Field(0, description="Sooner when higher.")
    iterator: Iterator | None = Field(None, description="The collection of an iterator.")
    repeat: Repeat | None = Field(None, description="A bounded loop.")
    turn: Name | None = Field(None, description="The turn that this step places.")
    result: Value = Field(None, description="On the end: what the playbook returns.")


class Playbook(Model):
    """A whole playbook."""

    api_version: str | None = Field(None, alias="apiVersion", description="The dialect written.")
    kind: str = Field("Playbook", description="Always Playbook.")
    metadata: Metadata = Field(description="Path and name.")
    description: str | None = Field(None, description="What it is for.")
    workload: dict[str, Any] | None = Field(None, description="Variables and their defaults.")
    workbook: list[Action] = Field(default_factory=list, description="Named actions.")
    workflow: list[Step] = Field(default_factory=list, description="The steps.")
    mcp: McpSection | None = Field(None, description="Models, tools, resources, prompts, turns.")
    finally_: list[Step] = Field(
        default_factory=list, alias="finally", description="Steps that always run at the end."
    )
    limits: dict[LimitName, LimitNumber] = Field(
        default_factory=dict, description="How many at once, by name."
    )
    timeout: FixedDuration | None = Field(None, description="How long an execution may take.")
    require_confirm: bool = Field(False, description="Refuse every write without `confirm`.")
    durability: Literal["strict", "relaxed"] = Field(
        "strict", description="Whether each step is on disk before the next begins."
    )
