"""The `mcp:` section as an author writes it. Resolves no names."""

from collections.abc import Mapping

from noetl_mcp.compiler.schema_forms import one_or_more
from noetl_mcp.compiler.schema_models import Schema, chosen, ref, same_as
from noetl_mcp.playbook.references import KINDS
from noetl_mcp.tasks.contract import TaskSpec

_TYPE_KEYS = ("type", "tool", "kind")
_INPUTS = ("input", "payload", "args")


def mcp_definitions(
    models: Mapping[str, Schema], tasks: Mapping[str, TaskSpec], forms: Mapping[str, Schema]
) -> dict[str, Schema]:
    """Return the definitions of the section and of what stands in it."""
    words = {name: spec.summary for name, spec in tasks.items()}
    return {
        "task-type": {"enum": list(words), "enumDescriptions": list(words.values())},
        "McpSection": models["McpSection"],
        "ModelPreset": models["ModelPreset"],
        "Prompt": models["Prompt"],
        "Message": _message(models["Message"]),
        "Turn": _turn(models["Turn"], forms),
        "Tool": _task(models["Tool"], tasks),
        "Resource": _task(models["Resource"], tasks),
    }


def _task(model: Schema, tasks: Mapping[str, TaskSpec]) -> Schema:
    """Return a tool or a resource; what its `spec` may hold depends on its type."""
    keys = model["properties"]
    kind = ref("task-type", keys["type"]["description"])
    properties = {
        **keys,
        "type": kind,
        **{name: same_as("type", kind) for name in _TYPE_KEYS[1:]},
        **{name: same_as("data", keys["data"]) for name in _INPUTS},
    }
    parts = {name: _settled(name) for name in tasks}
    typed = chosen(_TYPE_KEYS, parts, {"required": ["type"]})
    required = [key for key in model["required"] if key != "type"]
    return {**model, "properties": properties, "required": required, **typed}


def _settled(name: str) -> Schema:
    return {"properties": {"spec": ref(f"spec-{name}", "The settings of that type.")}}


def _message(model: Schema) -> Schema:
    use = {
        **model["properties"]["use"],
        "pattern": rf"^\s*({'|'.join(KINDS)})\s*:\s*\S",
        "patternErrorMessage": "Write resource:NAME, prompt:NAME, step:NAME or turn:NAME.",
    }
    return {**model, "properties": {**model["properties"], "use": use}}


def _turn(model: Schema, forms: Mapping[str, Schema]) -> Schema:
    keys = model["properties"]
    said: Schema = {"anyOf": [ref("Message"), {"type": "string"}]}
    written: dict[str, Schema] = {
        "user": {"anyOf": one_or_more(said)},
        "tools_allowed": {"anyOf": one_or_more({"type": "string"})},
        "needs": {"anyOf": one_or_more({"type": "string"})},
        **{key: forms[key] for key in ("save", "cache")},
    }
    authored = {
        key: {**one, "description": keys[key]["description"]} for key, one in written.items()
    }
    return {**model, "properties": {**keys, **authored}}


__all__ = ["mcp_definitions"]
