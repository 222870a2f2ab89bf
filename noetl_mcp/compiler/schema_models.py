"""Turn the models into JSON Schema of draft-07, as an editor reads it. Knows no key of a playbook.

Draft-07 because every YAML language server speaks it. What pydantic makes is simplified: no titles,
no `null` beside a value, one definition for what stands everywhere. In alternatives a map stands
first, for language servers tell what is wrong with the first one that fits as badly as the others.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, models_json_schema
from pydantic_core import core_schema

from noetl_mcp.playbook.values import TEMPLATE_PATTERN

Schema = dict[str, Any]

DRAFT = "http://json-schema.org/draft-07/schema#"
SAME = "The same as `{}`."
TEMPLATE: Schema = {"$ref": "#/definitions/template"}
_MAPS = ("properties", "patternProperties", "definitions")
_LISTS = ("anyOf", "allOf", "oneOf")
_SINGLE = ("items", "additionalProperties", "propertyNames", "not", "if", "then", "else")
_BODY = frozenset(("anyOf", "type", "pattern", "minimum"))
_TEXT: Schema = {"type": "string"}
_TIME = r"^\s*\d+(\.\d+)?\s*(ms|s|m|h|d)?\s*$"
_TEMPLATE_TEXT: Schema = {"type": "string", "pattern": TEMPLATE_PATTERN}

SHARED: dict[str, Schema] = {
    "template": {
        **_TEMPLATE_TEXT,
        "patternErrorMessage": "This is plain text; a template is '{{ … }}', in quotes.",
    },
    "duration": {
        "anyOf": [
            {
                **_TEXT,
                "pattern": rf"{_TIME}|{TEMPLATE_PATTERN}",
                "patternErrorMessage": "Write seconds, or a text such as 30s, 10m or 2h.",
            },
            {"type": "number", "minimum": 0},
        ],
    },
    "mapping": {
        "anyOf": [{"type": "object"}, TEMPLATE],
    },
    "truth": {
        "anyOf": [
            {
                **_TEMPLATE_TEXT,
                "patternErrorMessage": "Write true, false, or a template '{{ … }}' in quotes.",
            },
            {"type": "boolean"},
        ],
    },
}


class _Draft07(GenerateJsonSchema):
    """The schema as an author sees it: what is optional is left out, never null."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        made = super().default_schema(schema)
        if made.get("default", ...) is None:
            del made["default"]
        return made

    def field_title_should_be_set(self, schema: object) -> bool:
        return False


def definitions_of(models: Iterable[type[BaseModel]]) -> tuple[dict[str, Schema], list[Schema]]:
    """Return the definitions that models need, and a reference to each of the models."""
    wanted = [(model, "validation") for model in models]
    refs, made = models_json_schema(
        wanted,  # type: ignore[arg-type]  # the mode is a literal
        ref_template="#/definitions/{model}",
        schema_generator=_Draft07,
    )
    found = {name: simplified(one) for name, one in made.get("$defs", {}).items()}
    return found, [refs[one] for one in wanted]  # type: ignore[index]


def simplified(schema: Schema) -> Schema:
    """Return a schema without titles, with flat alternatives and shared parts by reference."""
    made = mapped(schema, simplified)
    if isinstance(made.get("title"), str):
        del made["title"]
    if made.get("additionalProperties") is True:
        del made["additionalProperties"]
    if "enum" in made:
        made = _words(made)
    if "anyOf" in made:
        made = _alternatives(made)
    body = {key: one for key, one in made.items() if key in _BODY}
    name = _shared_name(body)
    if name is None:
        return made
    rest = {key: value for key, value in made.items() if key not in body}
    return {"$ref": f"#/definitions/{name}", **rest}


def _words(schema: Schema) -> Schema:
    """Say of words in capitals that small letters are read too, without suggesting them."""
    rest = {key: value for key, value in schema.items() if key not in ("enum", "type")}
    words = schema["enum"]
    small = [word for word in words if word.upper() != word and word.upper() in words]
    if not small:
        return {"enum": words, **rest}
    capitals = {"enum": [word for word in words if word not in small]}
    return {"anyOf": [capitals, {**_TEXT, "pattern": f"^({'|'.join(small)})$"}], **rest}


def _alternatives(schema: Schema) -> Schema:
    """Flatten nested alternatives, and leave out those that another one contains."""
    flat: list[Schema] = []
    for one in schema["anyOf"]:
        inner = one["anyOf"] if set(one) == {"anyOf"} else [one]
        flat += [part for part in inner if part not in flat]
    if _TEXT in flat:
        flat = [one for one in flat if one == _TEXT or not _is_text(one)]
    flat.sort(key=lambda one: one == TEMPLATE or not ("$ref" in one or one.get("type") == "object"))
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    if len(flat) == 1:
        return {**flat[0], **rest}
    return {"anyOf": flat, **rest}


def _is_text(schema: Schema) -> bool:
    return schema.get("type") == "string" or schema == TEMPLATE


def _shared_name(body: Schema) -> str | None:
    """Return the shared definition that says the same."""
    if body == _TEMPLATE_TEXT:
        return "template"
    parts = body.get("anyOf", ())
    if {**_TEXT, "pattern": _TIME} in parts and set(body) == {"anyOf"}:
        return "duration"
    for name, kind in (("truth", "boolean"), ("mapping", "object")):
        is_either = len(parts) == 2 and {"type": kind} in parts and TEMPLATE in parts
        if is_either and set(body) == {"anyOf"}:
            return name
    return None


def mapped(schema: Schema, change: Callable[[Schema], Schema]) -> Schema:
    """Return a schema with `change` made to each schema directly inside it."""
    made: Schema = {}
    for key, value in schema.items():
        if key in _MAPS:
            made[key] = {name: _changed(one, change) for name, one in value.items()}
        elif key in _LISTS:
            made[key] = [_changed(one, change) for one in value]
        elif key in _SINGLE:
            made[key] = _changed(value, change)
        else:
            made[key] = value
    return made


def _changed(value: Any, change: Callable[[Schema], Schema]) -> Any:
    return change(value) if isinstance(value, dict) else value


def alone(schema: Schema) -> Schema:
    """Return a schema in which nothing stands beside a `$ref`, since draft-07 ignores that."""
    made = mapped(schema, alone)
    if "$ref" not in made or len(made) == 1:
        return made
    rest = {key: value for key, value in made.items() if key != "$ref"}
    return {"allOf": [{"$ref": made["$ref"]}], **rest}


def same_as(key: str, schema: Schema) -> Schema:
    """Return the schema of a second spelling: it is read, and never suggested."""
    return {**schema, "description": SAME.format(key), "doNotSuggest": True}


def hiding_synonyms(schema: Schema) -> Schema:
    """Return a schema in which no second spelling of a key is suggested."""
    made = mapped(schema, hiding_synonyms)
    for name, one in made.get("properties", {}).items():
        if isinstance(one, dict) and str(one.get("description")).startswith("The same as `"):
            made["properties"][name] = {**one, "doNotSuggest": True}
    return made


def reached(root: Schema, definitions: dict[str, Schema]) -> dict[str, Schema]:
    """Return the definitions that a schema leads to, in the order of their names."""
    found: set[str] = set()
    waiting = [root]

    def follow(schema: Schema) -> Schema:
        ref = schema.get("$ref")
        name = str(ref).rpartition("/")[2] if ref is not None else None
        if name is not None and name not in found:
            found.add(name)
            waiting.append(definitions[name])
        return mapped(schema, follow)

    while waiting:
        follow(waiting.pop())
    return {name: definitions[name] for name in sorted(found)}


def chosen(keys: Sequence[str], parts: Mapping[str, Schema], otherwise: Schema) -> Schema:
    """Return what follows from the word behind the first of some keys that is there.

    One `required` for each key, not for each word: an `if` that asks for a key makes older language
    servers suggest it.
    """
    made = otherwise
    for key in reversed(keys):
        words: list[Schema] = [
            {"if": {"properties": {key: {"const": word}}}, "then": part}
            for word, part in parts.items()
        ]
        made = {"if": {"required": [key]}, "then": {"allOf": words}, "else": made}
    return made


def ref(name: str, description: str | None = None) -> Schema:
    """Return a reference to a definition."""
    made: Schema = {"$ref": f"#/definitions/{name}"}
    return made if description is None else {**made, "description": description}


__all__ = [
    "DRAFT",
    "SAME",
    "SHARED",
    "TEMPLATE",
    "Schema",
    "alone",
    "chosen",
    "definitions_of",
    "hiding_synonyms",
    "mapped",
    "reached",
    "ref",
    "same_as",
    "simplified",
]
