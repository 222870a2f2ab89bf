"""Say in plain words what may stand behind a key, from the models. Reads no playbook."""

from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from generator.markdown import code, codes, value
from noetl_mcp.playbook.values import TEMPLATE_PATTERN
from noetl_mcp.tasks.settings_model import spellings

Schema = dict[str, Any]

_SIMPLE = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "array": "list",
    "object": "map",
    "null": "nothing",
}


_ASKED_FOR = {("Playbook", "kind")}
"""Keys that the loader asks for although their model could do without."""


class Key:
    """One key of a model as it is written: its spellings, type, default and description."""

    def __init__(self, model: type[BaseModel], name: str, field: FieldInfo, schema: Schema) -> None:
        known = spellings(model)
        alias = field.validation_alias
        first = getattr(alias, "choices", None)
        self.name = str(first[0]) if first else str(alias or field.alias or name)
        self.others = [one for one, key in known.items() if key == self.name and one != self.name]
        self.required = field.is_required() or (model.__name__, name) in _ASKED_FOR
        self.default = None if self.required else field.get_default(call_default_factory=True)
        self.description = str(field.description or "")
        self.type = words(_property(schema, self.name), schema)
        self.part = part_of(field.annotation)

    @property
    def default_text(self) -> str:
        """The default as a cell of a table."""
        if self.required:
            return "needed"
        plain = self.default
        if isinstance(plain, BaseModel) or plain in (None, [], {}):
            return ""
        return value(plain)

    @property
    def cell(self) -> str:
        """The spellings as a cell of a table."""
        also = f" (also {codes(self.others)})" if self.others else ""
        return code(self.name) + also


def keys_of(model: type[BaseModel]) -> list[Key]:
    """Return the keys of a model."""
    schema = model.model_json_schema()
    return [Key(model, name, field, schema) for name, field in model.model_fields.items()]


def rows(model: type[BaseModel]) -> Iterator[tuple[str, str, str, str]]:
    """Yield the rows of a table of keys."""
    for key in keys_of(model):
        yield key.cell, key.type, key.default_text, key.description


def part_of(annotation: object) -> type[BaseModel] | None:
    """Return the model inside an annotation, when there is one."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for inner in get_args(annotation):
        found = part_of(inner)
        if found is not None:
            return found
    return None


def _property(schema: Schema, name: str) -> Schema:
    """Return the schema of a key, looking through references and bare values."""
    schema = schema if "$ref" not in schema else _defined(schema, schema)
    whole = schema["anyOf"][0] if "properties" not in schema else schema
    found: Schema = whole["properties"][name]
    return found


def _defined(schema: Schema, root: Schema) -> Schema:
    found: Schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    return {**found, "$defs": root["$defs"]}


def words(schema: Schema, root: Schema) -> str:
    """Return a type in plain words."""
    parts = list(dict.fromkeys(_alternatives(schema, root)))
    if "duration" in parts:
        parts = [one for one in parts if one not in ("number", "number from 0")]
    has_template = "template" in parts
    parts = [one for one in parts if one not in ("template", "nothing")]
    if "text" in parts and len(parts) == 1:
        return "text"
    if has_template:
        parts.append("template")
    return " or ".join(parts) or "any value"


def _alternatives(schema: Schema, root: Schema) -> Iterator[str]:
    if "$ref" in schema:
        target = _defined(schema, root)
        is_bare = "properties" not in target and "anyOf" in target
        yield "map or bare value" if is_bare else "map"
    elif "anyOf" in schema:
        for one in schema["anyOf"]:
            yield from _alternatives(one, root)
    elif "allOf" in schema and len(schema["allOf"]) == 1:
        yield from _alternatives(schema["allOf"][0], root)
    elif "enum" in schema:
        shown = [word for word in schema["enum"] if not _is_small(word, schema["enum"])]
        yield codes(map(str, shown))
    elif "const" in schema:
        yield value(schema["const"])
    else:
        yield _plain(schema, root)


def _is_small(word: object, every: list[object]) -> bool:
    return isinstance(word, str) and word != word.upper() and word.upper() in every


def _plain(schema: Schema, root: Schema) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        return " or ".join(_SIMPLE[one] for one in kind)
    if kind is None:
        return "any value"
    if kind == "string":
        return _text(str(schema.get("pattern", "")))
    if kind == "array" and schema.get("items"):
        return f"list of {words(schema['items'], root)}"
    more = schema.get("additionalProperties")
    if kind == "object" and isinstance(more, dict) and more:
        inner = words(more, root)
        return "map" if inner == "any value" else f"map of {inner}"
    return _SIMPLE[kind] + _bounds(schema)


def _text(pattern: str) -> str:
    if pattern == TEMPLATE_PATTERN:
        return "template"
    if "ms|s|m|h|d" in pattern:
        return "duration"
    if "[tT][pP]" in pattern:
        return "URL"
    if pattern.endswith("%$"):
        return "share such as `5%`"
    return "text"


def _bounds(schema: Schema) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and most is not None:
        return f" from {least} to {most}"
    if least is not None:
        return f" from {least}"
    return ""
