"""The forms an author may write that the models do not show: short ones, and older words.

Each is a piece of YAML that is tried by a test; `playbook/dialects/` reads them.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Form:
    """A way to write a key, and what it means."""

    written: str
    means: str


AUTHORED: Mapping[str, Mapping[str, str]] = {
    "playbook": {
        "workbook": "list of maps ([action](#action))",
        "workflow": "list of maps ([step](#step)); also `steps`",
        "finally": "list of maps ([step](#step))",
        "metadata": "map ([metadata](#metadata))",
        "workload": "map ([workload](#workload))",
        "mcp": "map ([mcp](mcp.md))",
        "apiVersion": "`noetl.io/v2`, `noetl.io/v1` or `noetl.io/v10`",
        "kind": "`Playbook`",
    },
    "action": {
        "type": "a [task type](task-types.md), `workbook`, `sequence`; on a step also `iterator`, "
        "`turn`, `router`, `start`, `end`",
        "task": "name of a workbook action, map (action), or list of maps",
        "tasks": "list of maps (action)",
        "check": "map (action)",
        "assert": "map ([assert](#assert))",
        "retry": "`true`, whole number, or map ([retry](#retry))",
        "expect": "map ([expect](#expect))",
        "save": "storage, map ([save](#save)), or list of these",
        "limits": "name, map ([limits](#limits)), or list of these",
        "cache": "`true`, or map ([cache](#cache))",
        "on_error": "`continue`, name of a step, map ([edge](#edge)), or list of these",
        "auth": "name of a credential, or map",
    },
    "step": {
        "next": "name of a step, map ([edge](#edge)), or list of these; or `{spec, arcs}`",
        "repeat": "map ([repeat](#repeat))",
    },
    "assert": {
        "expects": "name, or list of names",
        "returns": "dotted name, or list of them",
        "that": "condition, or list of conditions",
    },
    "iterator": {"task": "name of a workbook action, map ([action](#action)), or list of maps"},
    "save": {"key": "name of a column, or list of them"},
    "turns": {
        "user": "text, map ([message](#message)), or list of these",
        "tools_allowed": "name of a tool, or list of them",
        "needs": "name, or list of names",
        "save": "storage, map ([save](playbook.md#save)), or list of these",
        "cache": "`true`, or map ([cache](playbook.md#cache))",
    },
    "mcp": {
        "models": "list of maps ([models](#models))",
        "tools": "list of maps ([tools](#tools))",
        "resources": "list of maps ([resources](#resources))",
        "prompts": "list of maps ([prompts](#prompts))",
        "turns": "list of maps ([turns](#turns))",
    },
}
"""What may stand behind a key as it is written, where that is more than the model says."""

OTHERWISE: Mapping[str, Mapping[str, str]] = {
    "action": {"calls": "`task: NAME`"},
    "step": {
        "iterator": "its keys beside `type: iterator`",
        "route": "`next: {spec: {mode: …}, arcs: […]}`",
    },
    "iterator": {"calls": "`task: NAME`"},
    "on_error": {"goes_on": "`on_error: continue`", "edges": "the ways themselves"},
}
"""Keys of the form that is left after reading, and how an author writes them."""

SPELLINGS: Mapping[str, Mapping[str, str]] = {
    "action": {
        "description": "`desc`",
        "data": "`input`, `payload`, `args`, `with`, `params`, the first of these that is there",
        "type": "`tool`, `kind`",
        "save": "`sink`",
    },
    "step": {"step": "`name`"},
    "edge": {
        "step": "`name`",
        "when": "`condition`",
        "data": "`input`, `payload`, `args`, `with`, `params`",
    },
    "retry": {
        "max_attempts": "`attempts`, `max`",
        "initial_delay": "`delay`, `delay_seconds`",
        "backoff_multiplier": "`multiplier`, `backoff_factor`, `backoff`",
        "retry_when": "`when`",
    },
    "save": {"storage": "`tool`, `type`", "data": "`args`, `input`, `payload`"},
    "tools": {"type": "`tool`, `kind`", "data": "`input`, `payload`, `args`"},
    "resources": {"type": "`tool`, `kind`", "data": "`input`, `payload`, `args`"},
}
"""Second spellings that are read."""

FORMS: Mapping[str, tuple[Form, ...]] = {
    "action": (
        Form("retry: true", "three attempts, one second apart, then two"),
        Form("retry: 5", "`retry: {max_attempts: 5}`"),
        Form(
            "retry: {attempts: 3, backoff: fixed}",
            "`none`, `fixed`, `constant`: a multiplier of 1; `linear`: 1.5; `exponential`: 2",
        ),
        Form("save: event_log", "`save: {storage: event_log}`"),
        Form("save: [event_log, {storage: file, path: out.json}]", "two saves"),
        Form("limits: revit", "`limits: {name: revit}`"),
        Form("cache: true", "a former result for the same input is used again, however old"),
        Form(
            "timeout: 30s",
            "30 seconds; a bare number counts seconds; units are `ms`, `s`, `m`, `h`, `d`",
        ),
        Form("on_error: continue", "the ordinary ways on are taken all the same"),
        Form("on_error: sorry", "a failure leads to the step `sorry`"),
        Form("assert: {expects: name, returns: result.id}", "one name may stand without brackets"),
        Form(
            "settings: {headers: {Accept: text/plain}}",
            "settings may stand below this key, "
            "which helps when one is called like a key of the step",
        ),
    ),
    "step": (
        Form("next: sorry", "`next: [sorry]`"),
        Form("next: [sorry, other]", "both, side by side"),
        Form("next: {step: sorry, when: '{{ x.ok }}'}", "one way, under a condition"),
        Form(
            "next: [{when: '{{ x.ok }}', then: [sorry, other]}, {else: end}]",
            "two steps under one condition, and one otherwise",
        ),
        Form(
            "next: {spec: {mode: exclusive}, arcs: [{step: sorry, when: '{{ x.ok }}'}, other]}",
            "only the first way whose condition is true",
        ),
    ),
    "edge": (
        Form("sorry", "`{step: sorry}`"),
        Form("{step: sorry, data: {n: 1}}", "`n` is laid over the input of `sorry`"),
        Form(
            "{step: sorry, set: {ctx.n: 1}}",
            "`ctx.n` is set on the way; a name without `ctx.` is laid over the input",
        ),
    ),
    "save": (
        Form("storage: event", "the older name of `event_log`"),
        Form(
            "{storage: postgres, dsn: '{{ secrets.dsn }}', table: t, mode: insert}",
            "`insert` is `append`; `update` and `merge` are `upsert`; `replace` is `overwrite`",
        ),
        Form("{storage: {type: file, path: out.json}}", "the settings may stand inside"),
    ),
    "turns": (
        Form("user: What are key points?", "one text"),
        Form("user: [{use: 'step:x'}, What are key points?]", "a result, then a text"),
        Form("save: event_log", "`save: {storage: event_log}`"),
    ),
}
"""Short forms by section."""
