"""The JSON Schema of a playbook as it is written in v2, for editors. Compiles nothing."""

from collections.abc import Mapping

from noetl_mcp.compiler.schema_forms import (
    assertion,
    cache,
    edge,
    edges,
    limits,
    on_error,
    repeat,
    retry,
    router,
    save,
    save_to,
    saves,
    storage,
)
from noetl_mcp.compiler.schema_mcp import mcp_definitions
from noetl_mcp.compiler.schema_models import (
    DRAFT,
    SHARED,
    Schema,
    alone,
    definitions_of,
    hiding_synonyms,
    reached,
    ref,
)
from noetl_mcp.compiler.schema_steps import Material, step_definitions
from noetl_mcp.compiler.schema_workload import declaration, workload
from noetl_mcp.playbook.dialects.book import API_VERSIONS
from noetl_mcp.playbook.model import Playbook
from noetl_mcp.playbook.values import Model
from noetl_mcp.tasks.contract import TaskSpec
from noetl_mcp.tasks.save_targets import SAVE_TARGETS
from noetl_mcp.tasks.settings_model import SettingsModel, spellings

ID = "urn:noetl-mcp:schema:playbook:2"
TITLE = "NoETL playbook, v2"


def playbook_schema(tasks: Mapping[str, TaskSpec]) -> Schema:
    """Return the schema of playbooks that may use these task types."""
    models: list[type[Model]] = [Playbook, *(spec.settings for spec in tasks.values())]
    models += [target.settings for target in SAVE_TARGETS.values()]
    parts, refs = definitions_of(models)
    named = [parts[one["$ref"].rpartition("/")[2]] for one in refs[1:]]
    settings = {
        name: _flat(spec.settings, part, parts)
        for (name, spec), part in zip(tasks.items(), named, strict=False)
    }
    targets = dict(zip(SAVE_TARGETS, named[len(tasks) :], strict=True))
    flat = {name: _one_of(spec.settings) for name, spec in tasks.items()}
    definitions = {
        **parts,
        **SHARED,
        **_forms(parts),
        **_saves(parts, targets),
        **step_definitions(Material(parts, settings, tasks, flat), _places()),
        **mcp_definitions(parts, tasks, _places()),
        "declaration": declaration(),
    }
    root = alone(hiding_synonyms(_root(parts["Playbook"])))
    definitions = {name: alone(hiding_synonyms(one)) for name, one in definitions.items()}
    return {**root, "definitions": reached(root, definitions)}


def _flat(model: type[Model], schema: Schema, parts: Mapping[str, Schema]) -> Schema:
    """Describe the keys that may stand beside the map they belong to as fully as inside it."""
    part = _flat_part(model)
    if part is None:
        return schema
    whole = parts[part.__name__]["anyOf"]
    inner = next(one for one in whole if "properties" in one)["properties"]
    beside = {key: one for key, one in inner.items() if key != "timeout"}
    return {**schema, "properties": {**schema["properties"], **beside}}


def _flat_part(model: type[Model]) -> type[SettingsModel] | None:
    """Return the model of the map whose entries may stand beside it."""
    flat = model.flat if issubclass(model, SettingsModel) else None
    part = model.model_fields[flat].annotation if flat is not None else None
    return part if isinstance(part, type) and issubclass(part, SettingsModel) else None


def _one_of(model: type[Model]) -> tuple[str, ...]:
    """Return the keys of which one must stand, where a map's entries may stand beside it."""
    part = _flat_part(model)
    if part is None or not issubclass(model, SettingsModel):
        return ()
    known = spellings(part)
    required = {key for key, one in part.model_fields.items() if one.is_required()}
    required = {known.get(key, key) for key in required}
    return (str(model.flat), *sorted(required.union(*part.at_least_one_of)))


def _forms(parts: Mapping[str, Schema]) -> dict[str, Schema]:
    """Return the definitions of the short forms."""
    return {
        "edge": edge(parts["Edge"]),
        "edges": edges(parts["Edge"]["properties"]["step"]),
        "router": router(),
        "retry": retry(parts["Retry"]),
        "Repeat": repeat(parts["Repeat"]),
        "limits": limits(parts["Limit"]),
        "cache": cache(parts["Cache"]),
        "assert": assertion(parts["Assertion"]),
        "on_error": on_error(),
        "saves": saves(),
        "storage-name": storage(),
    }


def _places() -> dict[str, Schema]:
    """Return what stands behind the keys that have short forms."""
    return {
        "next": {"anyOf": [ref("edges"), ref("router")]},
        "retry": ref("retry"),
        "save": ref("saves"),
        "limits": ref("limits"),
        "cache": ref("cache"),
        "assert": ref("assert"),
        "on_error": ref("on_error"),
        "check": ref("action"),
    }


def _saves(parts: Mapping[str, Schema], targets: Mapping[str, Schema]) -> dict[str, Schema]:
    whole = save(parts["Save"], targets)
    found = {"save": whole}
    for name, settings in targets.items():
        found[f"save-{name}"] = save_to(SAVE_TARGETS[name], settings, whole["properties"])
    return found


def _root(model: Schema) -> Schema:
    """Return the top of a playbook."""
    keys = model["properties"]
    version = {"enum": list(API_VERSIONS), "description": keys["apiVersion"]["description"]}
    steps = {"type": "array", "items": ref("step")}
    properties: Schema = {
        **keys,
        "apiVersion": version,
        "kind": {"const": "Playbook", "description": keys["kind"]["description"]},
        "workload": workload(keys["workload"]["description"]),
        "workbook": {
            "type": "array",
            "items": ref("action-anywhere"),
            "description": keys["workbook"]["description"],
        },
        "workflow": {**steps, "description": keys["workflow"]["description"]},
        "finally": {**steps, "description": keys["finally"]["description"]},
    }
    return {
        "$schema": DRAFT,
        "$id": ID,
        "title": TITLE,
        "$comment": "Made by 'noetl-mcp schema playbook'; change the models, not this file.",
        "description": model["description"],
        "type": "object",
        "properties": properties,
        "required": ["kind", "metadata"],
        "anyOf": [{"required": ["workflow"]}, {"required": ["mcp"]}],
        "additionalProperties": False,
    }


__all__ = ["ID", "TITLE", "playbook_schema"]
