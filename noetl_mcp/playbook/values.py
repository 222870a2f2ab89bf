"""The small types that models are made of: a value, or a template that will give one."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationInfo,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

TEMPLATE_PATTERN = r"\{\{|\{%"
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?")
_SHARE = re.compile(r"(100(\.0+)?|\d{1,2}(\.\d+)?)%")
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3_600, "d": 86_400, None: 1}


class Model(BaseModel):
    """A frozen value read from a playbook: strict, closed, built on first use."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, defer_build=True, populate_by_name=True
    )

    def plain(self) -> dict[str, Any]:
        """Return the value as JSON would hold it; a template may stand in place of any part."""
        return self.model_dump(by_alias=True, exclude_none=True, warnings=False)


def is_template(value: object) -> bool:
    """Whether a text holds something to render."""
    return isinstance(value, str) and ("{{" in value or "{%" in value)


@dataclass(frozen=True, slots=True)
class OrTemplate:
    """Annotation: the value itself, or a text with a template in it."""

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.with_info_wrap_validator_function(_or_template, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        inner = handler(schema)
        return {"anyOf": [inner, {"type": "string", "pattern": TEMPLATE_PATTERN}]}


RENDERED = {"rendered": True}
"""The context of a validation in which nothing is a template any more: a text is what it says."""


def _or_template(
    value: object, handler: core_schema.ValidatorFunctionWrapHandler, info: ValidationInfo
) -> object:
    is_open = is_template(value) and info.context is not RENDERED
    return value if is_open else handler(value)


@dataclass(frozen=True, slots=True)
class Reads:
    """Annotation: what a function makes of the value, or a plain word for what it should be."""

    read: Callable[[object], object]
    schema: dict[str, Any]

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return self.schema

    def __hash__(self) -> int:
        return id(self)


def read_duration(value: object) -> float:
    """Return seconds from a number or a text with a unit."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0:
        return float(value)
    found = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise PydanticCustomError("shape", "a duration such as 30, '30s', '10m' or '2h'")
    return round(float(found[1]) * _SECONDS[found[2]], 6)


def read_condition(value: object) -> object:
    """Return a condition: true, false or a template."""
    if isinstance(value, bool) or is_template(value):
        return value
    raise PydanticCustomError("shape", "a condition such as '{{ result.ok }}', true or false")


def read_share(value: object) -> object:
    """Return how many may fail: a count, or a share such as `5%`."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if is_count or (isinstance(value, str) and _SHARE.fullmatch(value)):
        return value
    raise PydanticCustomError("shape", "a count such as 3, or a share such as '5%'")


def read_version(value: object) -> object:
    """Return a version mark as text."""
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return str(value)
    raise PydanticCustomError("shape", "a text or a number")


def read_auth(value: object) -> object:
    """Return what names a credential: its name, or a map."""
    if isinstance(value, (str, dict)) and value:
        return value
    raise PydanticCustomError("shape", "the name of a credential, or a map")


def read_messages(value: object) -> object:
    """Return the template of a prompt: text, or messages in a list or a map."""
    if isinstance(value, (str, list, dict)) and value:
        return value
    raise PydanticCustomError("shape", "a text, or a list of messages")


@dataclass(frozen=True, slots=True)
class Raw:
    """Annotation: a text that is never rendered, such as program code."""


Value = Any
"""Any JSON value; templates may stand anywhere inside."""

_TEMPLATE: dict[str, Any] = {"type": "string", "pattern": TEMPLATE_PATTERN}
_TIME = {"type": "string", "pattern": r"^\s*\d+(\.\d+)?\s*(ms|s|m|h|d)?\s*$"}

Text = Annotated[str, OrTemplate()]
Whole = Annotated[int, OrTemplate()]
Number = Annotated[float, OrTemplate()]
Flag = Annotated[bool, OrTemplate()]
FixedDuration = Annotated[
    float, Reads(read_duration, {"anyOf": [{"type": "number", "minimum": 0}, _TIME]})
]
"""What is counted before anything is rendered, so it is no template."""
Duration = Annotated[FixedDuration, OrTemplate()]
Condition = Annotated[
    bool | str, Reads(read_condition, {"anyOf": [{"type": "boolean"}, _TEMPLATE]})
]
Share = Annotated[
    int | str,
    Reads(
        read_share,
        {
            "anyOf": [
                {"type": "integer", "minimum": 0},
                {"type": "string", "pattern": r"^(100(\.0+)?|\d{1,2}(\.\d+)?)%$"},
            ]
        },
    ),
    OrTemplate(),
]
Auth = Annotated[str | dict[str, Any], Reads(read_auth, {"type": ["string", "object"]})]
Version = Annotated[str, Reads(read_version, {"type": ["string", "number"]})]
Messages = Annotated[
    str | list[Any] | dict[str, Any], Reads(read_messages, {"type": ["string", "array", "object"]})
]
Mapping = Annotated[dict[str, Any], OrTemplate()]
Items = Annotated[list[Any], OrTemplate()]
Code = Annotated[str, Raw()]
