"""Steps and actions as an author writes them: the keys of all, and the settings of each type.

A step is described once with the keys that every step has. What its type adds is chosen by `if` on
`type`; the part that is chosen lists every key that may stand there and refuses all others, since
draft-07 cannot say "nothing that no part has described". A key whose schema is `true` in that list
is described in the common part, or, where the type is not known, with the settings of its type.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from noetl_mcp.compiler.schema_forms import INPUTS, needs
from noetl_mcp.compiler.schema_models import Schema, chosen, ref, same_as
from noetl_mcp.playbook.dialects.loops import ITERATOR_KEYS
from noetl_mcp.tasks.contract import TaskSpec

_CANONICAL = frozenset(("settings", "calls", "iterator", "route"))
_OF_SOME = frozenset(("task", "tasks", "turn"))
_TYPE_KEYS = ("type", "tool", "kind")
_OLDER_MODES = "^(parallel|concurrent|distributed|serial)$"
_STRUCTURE = {
    "workbook": "Do a named action of the workbook.",
    "sequence": "Do several tasks, one after another; the result is that of all by name.",
    "iterator": "Do the same for every item of a collection.",
    "turn": "Have a conversation with a model, as a turn of the `mcp` section says.",
}
_ROUTERS = {
    "start": "Do nothing; the execution begins here.",
    "end": "Do nothing; `result` says what the playbook returns.",
    "router": "Do nothing but lead on.",
}


@dataclass(frozen=True, slots=True)
class Material:
    """What the schemas of steps are made of: models, settings by type, and the types themselves.

    `flat` gives by type the keys of which one must stand, where a map's entries may stand beside
    it.
    """

    models: Mapping[str, Schema]
    settings: Mapping[str, Schema]
    tasks: Mapping[str, TaskSpec]
    flat: Mapping[str, tuple[str, ...]]

    def keys(self, model: str) -> Mapping[str, Schema]:
        """Return the properties of a model."""
        found: Mapping[str, Schema] = self.models[model]["properties"]
        return found


def step_definitions(made: Material, forms: Mapping[str, Schema]) -> dict[str, Schema]:
    """Return the definitions of a step, of an action, and of each type for both."""
    found: dict[str, Schema] = {}
    for place, model in (("step", "Step"), ("action", "Action")):
        common = _common(made, place, model, forms)
        found[f"{place}-type"] = _types(made, place)
        tool = [ref("action-anywhere"), ref(f"{place}-type"), _list_of("action")]
        found[f"{place}-tool"] = {"anyOf": tool}
        found |= _closed(made, place, common)
        strict, loose = place, f"{place}-anywhere"
        found[strict] = _by_type(made, place, common, strict=True)
        found[loose] = _by_type(made, place, common, strict=False)
    for name, action in (("task", "action-anywhere"), ("item-task", "action")):
        forms_of_task = [ref(action), {"type": "string"}, _list_of("action")]
        found[name] = {"anyOf": forms_of_task}
    for name, spec in made.tasks.items():
        settings = made.settings[name]
        found[f"settings-{name}"] = _settings_of(spec, settings)
        found[f"needs-{name}"] = _needs(spec, settings, made.flat.get(name, ()))
        found[f"spec-{name}"] = _spec(name, settings)
    return found


def _settings_of(spec: TaskSpec, settings: Schema) -> Schema:
    """Return the settings of a type, with nothing said about other keys."""
    words = settings.get("description", spec.summary)
    return {"description": words, "properties": settings.get("properties", {})}


def _needs(spec: TaskSpec, settings: Schema, flat: tuple[str, ...]) -> Schema:
    """Return what must be written of the settings of a type."""
    groups = (*spec.required_one_of, frozenset(flat)) if flat else spec.required_one_of
    return needs(settings, groups)


def _spec(name: str, settings: Schema) -> Schema:
    """Return the settings of a type where nothing else may stand beside them."""
    return {
        "type": "object",
        "allOf": [ref(f"settings-{name}"), ref(f"needs-{name}")],
        "properties": dict.fromkeys(settings.get("properties", {}), True),
        "additionalProperties": False,
    }


def _common(
    made: Material, place: str, model: str, forms: Mapping[str, Schema]
) -> dict[str, Schema]:
    """Return the keys that every step (or action) has, in the forms an author may write."""
    keys = made.keys(model)
    common: dict[str, Schema] = {}
    for key, schema in keys.items():
        if key in _CANONICAL or key in _OF_SOME:
            continue
        words = schema["description"]
        common[key] = {**forms[key], "description": words} if key in forms else schema
    kind = ref(f"{place}-type", keys["type"]["description"])
    common["type"] = kind
    common["tool"] = same_as("type", ref(f"{place}-tool"))
    common["desc"] = same_as("description", keys["description"])
    if place == "step":
        common = {"step": common.pop("step"), **common}
        common["name"] = same_as("step", keys["step"])
    else:
        common["kind"] = same_as("type", kind)
    for name in INPUTS:
        common[name] = same_as("data", keys["data"])
    return common


def _list_of(name: str) -> Schema:
    return {"type": "array", "items": ref(name)}


def _types(made: Material, place: str) -> Schema:
    """Return the names of the types with what each of them does."""
    words = {name: spec.summary for name, spec in made.tasks.items()}
    words |= {name: one for name, one in _STRUCTURE.items() if name in _structure(place)}
    if place == "step":
        words |= _ROUTERS
    return {"enum": list(words), "enumDescriptions": list(words.values())}


def _structure(place: str) -> tuple[str, ...]:
    return tuple(_STRUCTURE) if place == "step" else ("workbook", "sequence")


def _by_type(made: Material, place: str, common: Mapping[str, Schema], *, strict: bool) -> Schema:
    """Return a step (or action): the common keys, and by its type those that the type adds."""
    shared = {key: one for key, one in common.items() if key not in _own_inputs(made)}
    parts = {name: ref(f"{place}-{name}") for name in (*made.tasks, *_structure(place))}
    if strict:
        parts |= {name: {"allOf": [parts[name], ref(f"needs-{name}")]} for name in made.tasks}
    if place == "step":
        parts |= {name: ref("step-router") for name in _ROUTERS}
    made_of = made.models["Step" if place == "step" else "Action"]
    found: Schema = {
        "type": "object",
        "description": made_of["description"],
        "properties": shared,
        **chosen(_TYPE_KEYS, parts, ref(f"{place}-untyped")),
    }
    if place == "step":
        found["anyOf"] = [{"required": ["step"]}, {"required": ["name"]}]
    return found


def _own_inputs(made: Material) -> set[str]:
    """Return the common keys that are settings of some type; they are described by type."""
    owned = {name for one in made.settings.values() for name in one.get("properties", {})}
    return owned & {*INPUTS, "tool"}


def _closed(made: Material, place: str, common: Mapping[str, Schema]) -> dict[str, Schema]:
    """Return for each type every key that may stand on a step of it."""
    model = made.keys("Step")
    action = ref("task", "The name of a workbook action, an action, or a list of them.")
    tasks = {**_list_of("action"), "description": model["tasks"]["description"]}
    item = ref("item-task", made.keys("Iterator")["task"]["description"])
    iterator = {key: dict(made.keys("Iterator")[key]) for key in ITERATOR_KEYS}
    any_setting = dict.fromkeys(
        (name for one in made.settings.values() for name in one.get("properties", {})), True
    )
    parts: dict[str, tuple[str, Mapping[str, Any], Schema]] = {
        "untyped": ("What has no type leads on, or does its `task`.", {"task": action}, {}),
        "workbook": (_STRUCTURE["workbook"], {**any_setting, "task": action}, {}),
        "sequence": (_STRUCTURE["sequence"], {"tasks": tasks, "task": tasks}, {}),
    }
    if place == "step":
        words = {"enum": iterator["mode"].pop("enum")}
        iterator["mode"]["anyOf"] = [words, {"type": "string", "pattern": _OLDER_MODES}]
        keys = {"required": ["collection"]}
        parts["router"] = ("It does nothing but lead on.", {}, {})
        parts["turn"] = (_STRUCTURE["turn"], {"turn": model["turn"]}, {"required": ["turn"]})
        parts["iterator"] = (_STRUCTURE["iterator"], {**iterator, "task": item}, keys)
    found = {
        f"{place}-{name}": _shut(words, keys, common, made, more)
        for name, (words, keys, more) in parts.items()
    }
    for name, spec in made.tasks.items():
        more = {"allOf": [ref(f"settings-{name}")]}
        own: dict[str, Any] = dict.fromkeys(made.settings[name].get("properties", {}), True)
        found[f"{place}-{name}"] = _shut(spec.summary, own, common, made, more)
    return found


def _shut(
    words: str,
    keys: Mapping[str, Any],
    common: Mapping[str, Schema],
    made: Material,
    more: Schema,
) -> Schema:
    """Return a part that lists its own keys and the common ones, and refuses all others."""
    by_type = _own_inputs(made)
    shared = {key: one if key in by_type else True for key, one in common.items()}
    return {
        "description": words,
        "properties": {**shared, **keys},
        "additionalProperties": False,
        **more,
    }


__all__ = ["Material", "step_definitions"]
