"""The workload as an author writes it: plain defaults, or declarations with a type. Checks none."""

from noetl_mcp.compiler.schema_models import TEMPLATE, Schema
from noetl_mcp.compiler.workload import KEYS, TYPES

_WORDS = {
    "type": "The type a value must have.",
    "required": "Whether a start without it is refused.",
    "default": "The value when none is given.",
    "enum": "The only values there may be.",
    "description": "What it is for, shown in forms and to models.",
    "format": "A hint for forms, such as date, uri or textarea.",
    "secret": "Whether the value is hidden in logs and pages.",
    "items": "What each item of an array must be, as a JSON Schema.",
    "properties": "What the entries of an object must be, each as a JSON Schema.",
    "minimum": "The least number.",
    "maximum": "The greatest number.",
    "pattern": "A regular expression that a text must match.",
}
_SHAPES: dict[str, Schema] = {
    "type": {"enum": list(TYPES)},
    "required": {"type": "boolean"},
    "default": {},
    "enum": {"type": "array", "minItems": 1},
    "description": {"type": "string"},
    "format": {"type": "string"},
    "secret": {"type": "boolean"},
    "items": {"type": "object"},
    "properties": {"type": "object"},
    "minimum": {"type": "number"},
    "maximum": {"type": "number"},
    "pattern": {"type": "string"},
}


def workload(description: str) -> Schema:
    """Return the workload: each entry is a default, or a declaration."""
    return {
        "type": "object",
        "description": description,
        "additionalProperties": {
            "description": "A default value, or a declaration such as {type: integer, default: 3}.",
            "if": {
                "type": "object",
                "required": ["type"],
                "properties": {"type": {"enum": list(TYPES)}},
                "propertyNames": {"enum": sorted(KEYS)},
            },
            "then": {"$ref": "#/definitions/declaration"},
        },
    }


def declaration() -> Schema:
    """Return a variable with a type; its default and its choices must have that type."""
    properties = {key: {**_SHAPES[key], "description": _WORDS[key]} for key in _SHAPES}
    return {
        "type": "object",
        "description": "A variable with a type: checked at the start, asked for in forms.",
        "properties": properties,
        "required": ["type"],
        "additionalProperties": False,
        "allOf": [_typed(kind) for kind in TYPES],
    }


def _typed(kind: str) -> Schema:
    said = {"required": ["type"], "properties": {"type": {"const": kind}}}
    default = {"anyOf": [{"type": kind}, TEMPLATE], "description": _WORDS["default"]}
    choices = {"items": {"type": kind}, "description": _WORDS["enum"]}
    return {"if": said, "then": {"properties": {"default": default, "enum": choices}}}


__all__ = ["declaration", "workload"]
