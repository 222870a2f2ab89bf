"""The short forms an author may write: ways on, retry, save, limits, checks. Reads none of them.

The models know the one form that is left after reading; which other forms there are is written in
`playbook/dialects/`, and here for editors. Descriptions of keys come from the models.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from noetl_mcp.compiler.schema_models import SAME, Schema, chosen, ref, same_as
from noetl_mcp.playbook.dialects import actions
from noetl_mcp.tasks.save_targets import SAVE_TARGETS, SaveTarget

INPUTS = actions.INPUTS[1:]
_DEEPER = "The same as `save`, one level deeper: settings of the storage."
_STORAGES = ("storage", "tool", "type")


def one_or_more(schema: Schema) -> list[Schema]:
    """Return the two forms of a list: one item without brackets, or a list."""
    return [schema, {"type": "array", "items": schema}]


def edge(model: Schema) -> Schema:
    """Return one way on, as a map."""
    keys = model["properties"]
    properties: Schema = {
        **keys,
        "then": ref("edges", "More ways on, under the condition `when`."),
        "else": ref("edges", "The ways on when no condition beside this one is true."),
        "condition": same_as("when", keys["when"]),
        "name": same_as("step", keys["step"]),
        **{name: same_as("data", keys["data"]) for name in INPUTS},
    }
    return {
        "type": "object",
        "description": model["description"],
        "properties": properties,
        "additionalProperties": False,
        "anyOf": [{"required": [key]} for key in ("step", "name", "then", "else")],
    }


def edges(step: Schema) -> Schema:
    """Return ways on in every form but that of a router."""
    name = {key: value for key, value in step.items() if key != "description"}
    return {
        "anyOf": [ref("edge"), name, {"type": "array", "items": {"anyOf": [ref("edge"), name]}}],
    }


def router() -> Schema:
    """Return the ways on with the rule that chooses among them."""
    modes = {
        "exclusive": "Only the first way whose condition is true.",
        "inclusive": "Every way whose condition is true.",
        "seed": "Every way whose `when` is true; if none is, every way without one.",
    }
    mode = {
        "description": "Which of the ways are taken.",
        "enum": list(modes),
        "enumDescriptions": list(modes.values()),
    }
    spec = {
        "type": "object",
        "description": "How a way is chosen.",
        "properties": {"mode": mode},
        "additionalProperties": False,
    }
    arcs = {"type": "array", "description": "The ways on.", "items": ref("edges")}
    return {
        "type": "object",
        "properties": {"spec": spec, "arcs": arcs},
        "additionalProperties": False,
        "required": ["arcs"],
    }


def on_error() -> Schema:
    """Return where a failure leads."""
    go_on = {"const": "continue", "description": "Take the ordinary ways on all the same."}
    return {"anyOf": [ref("edges"), go_on]}


def retry(model: Schema) -> Schema:
    """Return how often to try again: yes, a number, or a map."""
    keys = model["properties"]
    older = {
        "max_attempts": ("attempts", "max"),
        "initial_delay": ("delay", "delay_seconds"),
        "backoff_multiplier": ("multiplier", "backoff_factor"),
        "retry_when": ("when",),
    }
    properties = dict(keys)
    for key, names in older.items():
        properties |= {name: same_as(key, keys[key]) for name in names}
    words = {"enum": ["none", "fixed", "constant", "linear", "exponential"]}
    multiplier = keys["backoff_multiplier"].get("anyOf", [])
    properties["backoff"] = same_as("backoff_multiplier", {"anyOf": [words, *multiplier]})
    whole = {**model, "properties": properties}
    return {"anyOf": [whole, {"type": "boolean"}, *keys["max_attempts"]["anyOf"]]}


def repeat(model: Schema) -> Schema:
    """Return a bounded loop, which must have a condition."""
    words = "One of these is needed: until, while"
    ways = [{"required": [key], "errorMessage": words} for key in ("until", "while")]
    return {**model, "anyOf": ways}


def limits(model: Schema) -> Schema:
    """Return what a step must not crowd: a name, a map, or a list of these."""
    return {"anyOf": one_or_more({"anyOf": [model, {"type": "string"}]})}


def cache(model: Schema) -> Schema:
    """Return reuse of results: yes, or how."""
    return {"anyOf": [model, {"type": "boolean"}]}


def assertion(model: Schema) -> Schema:
    """Return the checks around a body; one name may stand without brackets."""
    properties = {
        key: {"description": one["description"], "anyOf": one_or_more(one["items"])}
        for key, one in model["properties"].items()
    }
    return {**model, "properties": properties}


def saves() -> Schema:
    """Return where a result is kept: a storage's name, a map, or a list of these."""
    return {"anyOf": one_or_more({"anyOf": [ref("save"), ref("storage-name")]})}


def storage() -> Schema:
    """Return the places to save to by name, with what each of them is."""
    names, words = list(SAVE_TARGETS), [one.summary for one in SAVE_TARGETS.values()]
    return {"enum": names, "enumDescriptions": words}


def _modes(modes: Iterable[str]) -> Schema:
    """Return what can happen to what is there; older words are read and never suggested."""
    older = {"type": "string", "pattern": "^(insert|update|replace|merge)$"}
    return {"anyOf": [{"enum": sorted(modes)}, older]}


def save(model: Schema, settings: Mapping[str, Schema]) -> Schema:
    """Return one save as a map: what its storage may be told depends on the storage."""
    keys = {key: one for key, one in model["properties"].items() if key != "settings"}
    words = keys["storage"]["description"]
    default = keys["storage"]["default"]
    place = {"anyOf": [ref("save"), ref("storage-name")], "description": words}
    key = {"description": keys["key"]["description"], "anyOf": one_or_more({"type": "string"})}
    modes = {**_modes(keys["mode"]["enum"]), "description": keys["mode"]["description"]}
    properties: Schema = {**keys, "mode": modes, "key": key}
    properties["storage"] = {**place, "default": default}
    properties["spec"] = {**same_as("save", {"type": "object"}), "description": _DEEPER}
    properties |= {name: same_as("storage", place) for name in _STORAGES[1:]}
    properties |= {name: same_as("data", keys["data"]) for name in INPUTS[:3]}
    parts = {name: ref(f"save-{name}") for name in settings}
    return {
        "type": "object",
        "description": model["description"],
        "properties": properties,
        **chosen(_STORAGES, parts, ref(f"save-{default}")),
    }


def save_to(target: SaveTarget, settings: Schema, save_keys: Any) -> Schema:
    """Return what a save to one storage may be told, and nothing else."""
    own = dict(settings.get("properties", {}))
    mode = {**_modes(target.modes), "description": "What happens to what is there already."}
    closed: Schema = {
        "description": target.summary,
        "properties": {**dict.fromkeys(save_keys, True), **own, "mode": mode},
        "additionalProperties": False,
    }
    return {**closed, "if": {"required": ["spec"]}, "else": needs(settings, target.required_one_of)}


def needs(settings: Schema, one_of: tuple[frozenset[str], ...]) -> Schema:
    """Return what must be written of some settings."""
    found: list[Schema] = list(settings.get("allOf", ()))
    properties = settings.get("properties", {})
    for group in one_of:
        spelt = [SAME.format(key) for key in group]
        names = [
            name
            for name, one in properties.items()
            if name in group or (isinstance(one, dict) and one.get("description") in spelt)
        ]
        words = "One of these is needed: " + ", ".join(name for name in names if name in group)
        found.append({"anyOf": [{"required": [name], "errorMessage": words} for name in names]})
    made: Schema = {}
    if settings.get("required"):
        made["required"] = list(settings["required"])
    if found:
        made["allOf"] = found
    return made


__all__ = [
    "INPUTS",
    "assertion",
    "cache",
    "edge",
    "edges",
    "limits",
    "needs",
    "on_error",
    "one_or_more",
    "repeat",
    "retry",
    "router",
    "save",
    "save_to",
    "saves",
    "storage",
]
