"""The care an action takes: retry, save, checks, limits and reuse. Does none of it."""

from typing import Annotated, Literal

from pydantic import Field

from noetl_mcp.playbook.values import (
    Auth,
    Condition,
    Duration,
    Flag,
    Model,
    OrTemplate,
    Value,
)

Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\n\r\t]+$")]
Pool = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
NoneOrMore = Annotated[Annotated[int, Field(ge=0)], OrTemplate()]
AtLeastOne = Annotated[Annotated[int, Field(ge=1)], OrTemplate()]
NotNegative = Annotated[Annotated[float, Field(ge=0, allow_inf_nan=False)], OrTemplate()]
LimitName = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^{}\n\r\t]+$")]
LimitNumber = Annotated[int, Field(ge=1)]
"""How a step queues is known before anything is rendered, so neither is a template."""


class Retry(Model):
    """How often and how long a failed attempt is tried again."""

    max_attempts: AtLeastOne = Field(3, description="All attempts, the first one included.")
    initial_delay: Duration = Field(1.0, description="The wait before the second attempt.")
    max_delay: Duration = Field(60.0, description="No wait is longer than this.")
    backoff_multiplier: NotNegative = Field(2.0, description="Each wait is this much longer.")
    jitter: Flag = Field(False, description="Vary the waits by chance.")
    retry_when: Condition | None = Field(None, description="Try again only when it is true.")
    stop_when: Condition | None = Field(None, description="Stop at once when it is true.")


class Save(Model):
    """Where a result is kept, besides the execution itself."""

    name: Name | None = Field(None, description="What this save is called.")
    storage: str = Field(
        "event_log", description="event_log, postgres, duckdb, file, http, python."
    )
    data: Value = Field(None, description="What to keep; the result when missing.")
    when: Condition | None = Field(None, description="Save only when it is true.")
    on: Literal["success", "error", "always"] = Field("success", description="After which outcome.")
    mode: Literal["append", "overwrite", "upsert"] | None = Field(
        None, description="What happens to what is there already."
    )
    key: list[str] | None = Field(None, description="The columns that identify a row.")
    on_failure: Literal["fail", "warn"] = Field("fail", description="What a failing save does.")
    auth: Auth | None = Field(None, description="The credential to use, by name.")
    settings: dict[str, Value] = Field(default_factory=dict, description="What the target needs.")


class Assertion(Model):
    """What must be there before the body runs, and what must hold after it."""

    expects: list[str] = Field(default_factory=list, description="Names the input must have.")
    returns: list[str] = Field(default_factory=list, description="Dotted names in the result.")
    that: list[Condition] = Field(default_factory=list, description="What must be true of it.")


class Limit(Model):
    """At most so many steps at once, in the whole fleet, under this name."""

    name: LimitName = Field(description="What is limited.")
    max: LimitNumber | None = Field(None, description="How many at once.")


class Cache(Model):
    """Reuse a former result for the same input."""

    ttl: Duration | None = Field(None, description="How long a result stays good.")
    key: Value = Field(None, description="What makes two inputs the same; the whole input else.")
