"""The JSON Schemas of a plan and of diagnostics, for programs that read them. Checks no meaning.

What no schema can say: the numbers of steps, edges and templates are places in the lists of the
same plan, and the digest is that of everything else in it.
"""

from collections.abc import Iterable
from typing import Any, get_args

from noetl_mcp.compiler.plan import FORMAT, LITERAL_MARK, TEMPLATE_MARK, EdgeKind
from noetl_mcp.compiler.schema_models import DRAFT, Schema, alone, reached, ref
from noetl_mcp.compiler.workload import TYPES
from noetl_mcp.errors import Severity
from noetl_mcp.playbook.template import Kind

PLAN_ID = "urn:noetl-mcp:schema:plan:1"
DIAGNOSTICS_ID = "urn:noetl-mcp:schema:diagnostics:1"
_MADE = "Made by 'noetl-mcp schema {}'; change the compiler, not this file."
_NUMBER: Schema = {"type": "integer", "minimum": 0}
_TEXT: Schema = {"type": "string"}
_YES: Schema = {"const": True}
_VALUE = ref("value")
_VALUES: Schema = {"type": "object", "additionalProperties": _VALUE}


def _said(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description}


def _list(items: Schema, description: str) -> Schema:
    return {"type": "array", "items": items, "description": description}


def _closed(properties: dict[str, Any], required: Iterable[str], description: str) -> Schema:
    return {
        "type": "object",
        "description": description,
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def plan_schema() -> Schema:
    """Return the schema of what `noetl-mcp compile` writes."""
    properties = {
        "digest": _said({**_TEXT, "pattern": "^[0-9a-f]{64}$"}, "SHA-256 of all the rest."),
        "format": _said({"const": FORMAT}, "The form of the plan; another one is read otherwise."),
        "playbook": _playbook(),
        "inputs": _list(ref("input"), "The variables of the workload, in their order."),
        "steps": _list(ref("step"), "The steps; each comes after those that it waits for."),
        "edges": _list(ref("edge"), "The ways between steps."),
        "arrays": ref("arrays", "The graph in flat lists."),
        "templates": _list(ref("template"), "Each template once; others name it by its number."),
        "constants": _said({"type": "object"}, "What templates may read of the `mcp` section."),
        "tools": _said(
            {"type": "object", "additionalProperties": ref("tool")}, "What models may call."
        ),
        "options": _options(),
        "result": ref("result", "Where the playbook's result comes from."),
    }
    root = {
        "$schema": DRAFT,
        "$id": PLAN_ID,
        "title": "Plan of a playbook",
        "$comment": _MADE.format("plan"),
        **_closed(properties, properties, "Everything an execution will do."),
    }
    definitions = {
        "value": _value(),
        "input": _input(),
        "step": _step(),
        "edge": _edge(),
        "arrays": _arrays(),
        "template": _template(),
        "tool": _tool(),
        "result": _result(),
    }
    definitions = {name: alone(one) for name, one in definitions.items()}
    return {**alone(root), "definitions": reached(root, definitions)}


def _value() -> Schema:
    """Return any JSON in which a template is a map with its number."""
    number = _said(_NUMBER, "The number of the template that gives the value.")
    literal = _said(_VALUES, "A map that is meant as it stands, though it has such a key.")
    inside = {"items": _VALUE, "additionalProperties": _VALUE}

    def only(key: str, schema: Schema, otherwise: Schema) -> Schema:
        said = {"type": "object", "required": [key]}
        return {"if": said, "then": _closed({key: schema}, [key], "A mark."), "else": otherwise}

    return {
        "description": "Any JSON; a map with only a mark in it stands for a template.",
        **only(TEMPLATE_MARK, number, only(LITERAL_MARK, literal, inside)),
    }


def _playbook() -> Schema:
    properties = {
        "path": _said(_TEXT, "Where the playbook lives in the catalog."),
        "name": _said(_TEXT, "What it is called."),
    }
    return _closed(properties, properties, "The playbook that the plan was made of.")


def _input() -> Schema:
    properties = {
        "name": _said(_TEXT, "The variable."),
        "type": _said({"enum": list(TYPES)}, "Its JSON type, declared or that of the default."),
        "declared": _said(_YES, "The type was declared; values are checked."),
        "schema": _said({"type": "object"}, "What a value must fit."),
        "required": _said(_YES, "An execution cannot begin without it."),
        "default": _said(_VALUE, "The value when none is given."),
    }
    return _closed(properties, ["name"], "A variable of the workload.")


def _step() -> Schema:
    truth = {"anyOf": [{"type": "boolean"}, _VALUE]}
    head = {
        "name": _said(_TEXT, "The step's name; none has the name of another."),
        "type": _said(_TEXT, "What does it: a task type, or a part of the language."),
        "at": _said(_TEXT, "The path of what it was made of in the read playbook."),
        "hidden": _said(_YES, "The compiler added it."),
        "writes": _said({"type": "boolean"}, "It changes something outside."),
    }
    settings = {
        "settings": _said(_VALUES, "The settings of the type; program text is never rendered."),
        "input": _said(_VALUE, "The step's input."),
        "auth": _said(_VALUE, "The credential to use, or a map of them."),
        "data": _said(_VALUE, "What a save keeps; the result when missing."),
        "when": _said(_VALUE, "A save is made only when it is true."),
        "mode": _said(_TEXT, "What a save does to what is there already."),
        "key": _list(_TEXT, "The columns that identify a row of a save."),
        "on_failure": _said({"enum": ["fail", "warn"]}, "What a failing save does."),
        "max_chars": _said(_NUMBER, "A resource that is longer is cut, visibly."),
    }
    care = {
        "assert": _said(_VALUES, "What must hold before and after."),
        "retry": _said(_VALUES, "How a failure is tried again; times in seconds."),
        "timeout": _said(_VALUE, "Seconds that one attempt may take."),
        "expect": _said(_VALUES, "Bounds on what it may change."),
        "confirm": _said(truth, "The change is intended."),
        "idempotent": _said(truth, "Doing it twice is as good as once."),
        "check": _said(_VALUES, "A reading step that settles a doubt."),
        "save": _list(_VALUES, "What is kept in the log."),
        "limits": _list(_VALUES, "What it must not crowd."),
        "pool": _said(_TEXT, "Only workers of this pool may do it."),
        "cache": _said(_VALUES, "Reuse of former results."),
        "set": _said(_VALUES, "Names to set under `ctx`."),
        "priority": _said({"type": "integer"}, "Sooner when higher."),
        "repeat": _said(_VALUES, "A bounded loop."),
        "result": _said(_VALUE, "What the playbook returns."),
    }
    return _closed({**head, **settings, **care, **_flow()}, ["name", "type", "at"], "A step.")


def _flow() -> Schema:
    """Return how a step stands among the others."""
    siblings = {"type": "object", "additionalProperties": _NUMBER}
    givers = {"type": "object", "additionalProperties": {"type": "array", "items": _NUMBER}}
    return {
        "route": _said({"enum": ["exclusive", "inclusive"]}, "Which ways are taken; seed else."),
        "join": _said({"enum": ["any", "settled"]}, "What it waits for; all ways when missing."),
        "phase": _said({"const": "finally"}, "It runs at the end, whatever happened."),
        "within": _said(_NUMBER, "The iterator for whose items it is done."),
        "speaks_for": _said(_NUMBER, "The step whose result its templates see as their own."),
        "input_of": _said(_NUMBER, "The step to which the ways lead that bring its input."),
        "siblings": _said(siblings, "Steps known here by a shorter name, with their numbers."),
        "turn": _said(_TEXT, "The turn it belongs to."),
        "goes_on": _said(_YES, "A failure is settled by the ordinary ways on."),
        "ctx": _said(givers, "Who may set the names under `ctx` that it reads, latest first."),
        "needs": _list(_NUMBER, "The steps whose results its templates read."),
        "entry": _said(_YES, "The execution (or its end) begins here."),
        "alias": _said(_TEXT, "How templates may write its name."),
    }


def _edge() -> Schema:
    when = {"anyOf": [{"type": "boolean"}, _NUMBER]}
    properties = {
        "source": _said(_NUMBER, "The step it leads from."),
        "target": _said(_NUMBER, "The step it leads to."),
        "kind": _said(
            {"enum": list(get_args(EdgeKind))},
            "next follows success, error settles a failure, failed only looks on, need waits.",
        ),
        "when": _said(when, "The number of the template that must give true, or its value."),
        "data": _said(_VALUE, "Input laid over that of the target."),
        "set": _said(_VALUE, "Names to set under `ctx` on the way."),
    }
    return _closed(properties, ["source", "target", "kind"], "One way between two steps.")


def _arrays() -> Schema:
    words = {
        "succ_at": "Of step i the ways on are succ[succ_at[i]:succ_at[i+1]].",
        "succ": "The targets of the ways on.",
        "edge": "The numbers of the ways on.",
        "waits": "How many ways lead to each step.",
        "join": "What each step waits for: 0 all, 1 any, 2 settled.",
        "entries": "The steps that nothing leads to and that begin.",
    }
    properties = {key: _list(_NUMBER, one) for key, one in words.items()}
    properties["join"]["items"] = {"enum": [0, 1, 2]}
    return _closed(properties, properties, "The graph in flat lists.")


def _template() -> Schema:
    part = {"anyOf": [_TEXT, {"type": "integer"}]}
    properties = {
        "kind": _said({"enum": list(get_args(Kind))}, "How much it takes to render it."),
        "text": _said(_TEXT, "The template as it was written."),
        "path": _list(part, "What a template that is one dotted name reads."),
        "names": _list(_TEXT, "The first names of everything that it reads."),
    }
    return _closed(properties, ["kind", "text"], "A template.")


def _tool() -> Schema:
    step = _step()["properties"]
    own = ("type", "settings", "input", "auth", "timeout", "confirm", "idempotent", "writes")
    properties = {
        **{key: step[key] for key in own},
        "description": _said(_VALUE, "What the model is told about it."),
        "input_schema": _said({"type": "object"}, "JSON Schema of the arguments."),
    }
    return _closed(properties, ["type", "settings"], "Something a model may call.")


def _options() -> Schema:
    properties = {
        "limits": _said(_VALUES, "How many at once, by name."),
        "timeout": _said(_VALUE, "Seconds that an execution may take."),
        "require_confirm": _said(_YES, "Every write without `confirm` is refused."),
        "durability": _said({"const": "relaxed"}, "Steps need not be on disk; strict else."),
    }
    return _closed(properties, (), "What holds for the whole execution.")


def _result() -> Schema:
    said = {
        "step": _said(_NUMBER, "The step that says what the result is."),
        "value": _said(_VALUE, "The result, rendered after that step."),
    }
    last = {"last_of": _list(_NUMBER, "The result is that of the first of these that ran.")}
    return {
        "anyOf": [
            _closed(said, said, "A step says what the result is."),
            _closed(last, last, "The result is that of a step."),
        ]
    }


def diagnostics_schema() -> Schema:
    """Return the schema of what `noetl-mcp validate --format json` prints."""
    line = {"type": "integer", "minimum": 1}
    properties = {
        "file": _said(_TEXT, "The file as it was named."),
        "code": _said({**_TEXT, "pattern": "^NP[0-9]{3}$"}, "The rule's code, never reused."),
        "name": _said({**_TEXT, "pattern": "^[a-z0-9-]+$"}, "The rule's name."),
        "severity": _said({"enum": list(get_args(Severity))}, "Errors keep it from being used."),
        "message": _said(_TEXT, "What is wrong."),
        "line": _said(line, "Where it begins; lines count from one."),
        "column": _said(line, "Where it begins; columns count from one."),
        "end_line": _said(line, "Where it ends."),
        "end_column": _said(line, "The first column after it."),
        "suggestion": _said({"type": ["string", "null"]}, "The closest known name."),
        "help": _said(_TEXT, "What to do about it."),
    }
    return {
        "$schema": DRAFT,
        "$id": DIAGNOSTICS_ID,
        "title": "Diagnostics of playbooks",
        "$comment": _MADE.format("diagnostics"),
        **_list(_closed(properties, properties, "One finding."), "All findings, in reading order."),
    }


__all__ = ["diagnostics_schema", "plan_schema"]
