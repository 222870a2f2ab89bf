"""The small types that settings are made of, beside those of every playbook value."""

import re
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from noetl_mcp.playbook.values import TEMPLATE_PATTERN, OrTemplate, Raw, Reads, Text, is_template

_URL = re.compile(r"https?://[^\s/?#]\S*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Many:
    """Annotation of a list: one item may stand without its brackets."""

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_before_validator_function(_as_list, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        inner = handler(schema)
        return {"anyOf": [inner.get("items", {}), inner]}


def _as_list(value: object) -> object:
    return value if isinstance(value, list) else [value]


@dataclass(frozen=True, slots=True)
class AnyCase:
    """Annotation of a word: capitals do not matter."""

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_before_validator_function(_upper, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        inner = handler(schema)
        words = inner.get("enum", [])
        return {**inner, "enum": [*words, *(word.lower() for word in words)]}


def _upper(value: object) -> object:
    return value.upper() if isinstance(value, str) else value


def _reading(accepts: Callable[[Any], bool], wanted: str) -> Callable[[object], object]:
    """Make a reader that lets templates and accepted values through, and names what it wants."""

    def read(value: object) -> object:
        if is_template(value) or accepts(value):
            return value
        raise PydanticCustomError("shape", wanted)

    return read


def _is_query(value: object) -> bool:
    return isinstance(value, (dict, list, str))


def _is_pairs(value: object) -> bool:
    return isinstance(value, (dict, list))


def _is_scalar(value: object) -> bool:
    return isinstance(value, (str, int, float))


def _is_url(value: object) -> bool:
    return isinstance(value, str) and _URL.fullmatch(value.strip()) is not None


def _is_base64(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        b64decode("".join(value.split()), validate=True)
    except ValueError:
        return False
    return True


_TEXT: dict[str, Any] = {"type": "string"}
_URL_TEXT: dict[str, Any] = {
    "type": "string",
    "pattern": rf"^[hH][tT][tT][pP][sS]?://|{TEMPLATE_PATTERN}",
}
_TEMPLATE: dict[str, Any] = {"type": "string", "pattern": TEMPLATE_PATTERN}
Scalar = Annotated[
    str | int | float | bool,
    Reads(
        _reading(_is_scalar, "a text, a number, true or false"),
        {"type": ["string", "number", "boolean"]},
    ),
]
Url = Annotated[
    str, Reads(_reading(_is_url, "a URL that begins with http:// or https://"), _URL_TEXT)
]
Base64 = Annotated[str, Raw(), Reads(_reading(_is_base64, "a text in base64"), _TEXT)]
Query = Annotated[
    Any,
    Reads(
        _reading(_is_query, "a map, a list of pairs, or a text"),
        {"type": ["object", "array", "string"]},
    ),
]
Bindings = Annotated[
    Any,
    Reads(
        _reading(_is_pairs, "a map of names, or a list"),
        {"anyOf": [{"type": ["object", "array"]}, _TEMPLATE]},
    ),
]

Texts = Annotated[list[Text], Many()]
Base64s = Annotated[list[Base64], Many()]
Words = Annotated[dict[str, Scalar], OrTemplate()]
Positive = Annotated[int, Field(ge=1), OrTemplate()]
Natural = Annotated[int, Field(ge=0), OrTemplate()]
Port = Annotated[int, Field(ge=1, le=65_535), OrTemplate()]
Statuses = Annotated[list[Annotated[int, Field(ge=100, le=599)]], Many(), OrTemplate()]

__all__ = [
    "AnyCase",
    "Base64",
    "Base64s",
    "Bindings",
    "Many",
    "Natural",
    "Port",
    "Positive",
    "Query",
    "Scalar",
    "Statuses",
    "Texts",
    "Url",
    "Words",
]
