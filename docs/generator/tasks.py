"""The pages of task types, save targets and methods, from their light specs."""

from collections.abc import Iterator

from pydantic import BaseModel

from generator.markdown import code, codes, fence, page, table
from generator.parts import PARTS
from generator.rules import link
from generator.types import keys_of, rows
from noetl_mcp.bim.effects import Methods
from noetl_mcp.bim.revit.methods import METHODS as REVIT
from noetl_mcp.bim.rhino.methods import METHODS as RHINO
from noetl_mcp.tasks.contract import TaskSpec
from noetl_mcp.tasks.elsewhere import ELSEWHERE
from noetl_mcp.tasks.registry import BUILT_IN, ENTRY_POINTS, NOT_YET
from noetl_mcp.tasks.save_targets import SAVE_TARGETS, SaveTarget

EXAMPLES = PARTS / "examples"
_HEAD = ("key", "type", "default", "")
_OUTCOME = {
    "run_again": "it is run again",
    "in_doubt": "the step is in doubt and waits for a decision",
    "resume": "it is resumed where the other side can tell what happened, else it is in doubt",
}
_CONFIRM = {
    "never": "not asked for",
    "warned": "a write without it is a warning "
    f"({link('NP401')}), with `require_confirm: true` an error",
    "refused": f"a write without it is an error ({link('NP403')})",
}
WRITES = {
    "http": "every method but GET, HEAD and OPTIONS, and a method that is a template",
    "jsonrpc": "unless the [method](methods.md) is known to read, in Revit or in Rhino",
    "mcp": "calling a tool; reading a resource, getting a prompt and listing do not",
    "revit": "unless the [method](methods.md) is known to read",
    "rhino": "unless the [method](methods.md) is known to read",
    "shell": "unless the step says `writes: false`",
    "transfer": "always",
    "file": "every action but read, list, exists and digest, and one that is a template",
    "postgres": "only when the step says `writes: true`; else the SQL runs read-only",
    "duckdb": "only when the step says `writes: true`; else the SQL runs read-only",
}
_GIVES = {
    "floorplan": "what the [tool](floorplan-tools.md) answers, without `success`: `render` with "
    "`image` (a PNG in base64) or `svg`, `modify` with `dsl` and `changes`, `to_json` with `plan`, "
    "`to_dxf` with `dxf`, `to_ifc` with `ifc`. `validate` gives `valid`, `errors` and `warnings`; "
    "every other action fails when the plan is wrong (`wrong-plan`, `not-applied`), with the "
    "errors in its details",
}
_STRUCTURE = """
Besides these there are `router` (also no type at all: it only leads on), `workbook`, `sequence`,
`iterator` and `turn`. They are part of the language and are described in
[playbook](playbook.md#action).
"""
_INTRO = f"""
What a step, a workbook action, a tool or a resource may be. The settings stand beside the other
keys of a step, or under `settings`, or, for tools and resources, under `spec`. A key in brackets is
a second spelling that is read as the first; two spellings of one key are an error.

An installed package can bring further types by the entry-point group `{ENTRY_POINTS}`; see
[write a task type](../how-to/write-a-task.md). A built-in name cannot be taken.

The examples run as they stand. Those that call a server take its address from the workload,
those that ask a Postgres take its address from `NOETL_SECRET_PG_DSN`, `shell` and `mcp` need
[`NOETL_ALLOW_SHELL`](settings.md#noetl_allow_shell), and `rooms_server.py` stands in
[call MCP servers](../how-to/call-mcp-servers.md#try-it).
"""

_NOT_YET = """
Everything in this reference is read, checked, planned, explained and drawn. A run carries out all
of it but this:

- steps and resources of the types {types}. A playbook with such a step is not started. What stands
  here about their results and outcomes is what they will keep to.
- `expose: mcp`.
"""


def task_types_page() -> str:
    """Return the page of every task type."""
    listed = table(
        ("type", "", "writes"),
        [(f"[`{s.name}`](#{s.name})", s.summary, _writes(s)) for s in BUILT_IN.values()],
    )
    elsewhere = table(("type", "instead"), [(code(k), v) for k, v in sorted(ELSEWHERE.items())])
    return page(
        "Task types",
        _INTRO,
        listed,
        _STRUCTURE,
        "## What does not run yet",
        _NOT_YET.format(types=codes(NOT_YET)),
        *map(_task, BUILT_IN.values()),
        "## Types that other servers know",
        f"These have no plugin here; {link('NP209')} says what to write instead.",
        elsewhere,
    )


def _writes(spec: TaskSpec) -> str:
    plain = "no; say `writes: true` when it changes something outside"
    return WRITES.get(spec.name, plain if spec.may_say_writes else "no")


def _task(spec: TaskSpec) -> str:
    is_fixed = not spec.may_say_writes and spec.name in WRITES
    fixed = " `writes: false` cannot change that." if is_fixed else ""
    facts = [
        *(["- It [does not run yet](#what-does-not-run-yet)."] if spec.name in NOT_YET else []),
        f"- Writes: {_writes(spec)}." + fixed,
        f"- `confirm`: {_CONFIRM[spec.confirmation]}.",
        f"- When the outcome of an attempt is unknown: {_OUTCOME[spec.unknown_outcome]}.",
        *([f"- It gives {_GIVES[spec.name]}."] if spec.name in _GIVES else []),
        *_more(spec),
    ]
    return "\n\n".join(
        (
            f"## {spec.name}",
            spec.summary,
            "\n".join(facts),
            *_settings(spec.settings, said=spec.required_one_of),
            *_example(spec),
        )
    )


def _example(spec: TaskSpec) -> Iterator[str]:
    """Yield a playbook that runs, for a type that does."""
    if spec.name in NOT_YET:
        return
    yield "For example:"
    yield fence((EXAMPLES / f"{spec.name}.yaml").read_text(encoding="utf-8"))


def _more(spec: TaskSpec | SaveTarget) -> Iterator[str]:
    for group in sorted(map(sorted, spec.required_one_of)):
        yield f"- One of these is needed, and only one: {codes(group)}."
    if spec.sql:
        yield (
            "- In its SQL a value in `{{ }}` becomes a bound parameter; "
            "see [templates](templates.md#sql)."
        )
    if spec.code:
        yield f"- Never rendered: {codes(sorted(spec.code))}."


def _settings(
    model: type[BaseModel], heading: str = "", said: tuple[frozenset[str], ...] = ()
) -> Iterator[str]:
    """Yield a table of settings, and one for each map inside them; `said` is told already."""
    if not model.model_fields:
        yield "It has no settings."
        return
    if heading:
        yield heading
    for group in getattr(model, "at_most_one_of", ()):
        if group not in said:
            yield f"At most one of {codes(sorted(group))}."
    yield table(_HEAD, rows(model))
    for key in keys_of(model):
        if key.part is not None:
            bare = getattr(key.part, "shorthand", None)
            words = f" A bare value stands for `{bare}`." if bare else ""
            if getattr(model, "flat", None) == key.name:
                words += " Its keys but `timeout` may also stand beside the type."
            yield from _settings(key.part, f"Below {code(key.name)}:{words}")


def save_targets_page() -> str:
    """Return the page of every storage that a save knows."""
    intro = (
        "Where `save` can put a result. The keys that every save has stand in "
        "[playbook](playbook.md#save); what a storage needs stands beside them. A save to "
        "`event_log` stays with its step; every other one becomes a hidden step behind it, called "
        "`STEP.save.1` and so on. See [Save results](../how-to/save-results.md)."
    )
    return page("Save targets", intro, *map(_target, SAVE_TARGETS.values()))


def _target(target: SaveTarget) -> str:
    once = "it carries a key of its own and is made once" if target.once else "it may be made twice"
    facts = [
        f"- Modes: {codes(sorted(target.modes))}.",
        f"- When a step is done again: {once}.",
        f"- When the outcome is unknown: {_OUTCOME[target.unknown_outcome]}.",
        *_more(target),
    ]
    parts = (
        f"## {target.name}",
        target.summary,
        "\n".join(facts),
        *_settings(target.settings, said=target.required_one_of),
    )
    return "\n\n".join(parts)


def methods_page() -> str:
    """Return the page of the methods that are known of Revit and Rhino."""
    intro = (
        "What a method of `revit`, `rhino` or `jsonrpc` does to a model. A method that is not "
        "listed here **writes**. A dotted name goes by its last part: `element.create_wall` is "
        "`create_wall`."
    )
    parts = [f"## {title}\n\n{_methods(known)}" for title, known in _SERVERS]
    return page("Methods", intro, *parts)


_SERVERS = (("Revit", REVIT), ("Rhino", RHINO))


def _methods(known: Methods) -> str:
    rows_ = []
    for effect in ("reads", "writes", "destroys"):
        names = sorted(name for name, one in known.effects.items() if one == effect)
        if names:
            rows_.append((effect, codes(names)))
    made = table(("effect", "methods"), rows_)
    aliases = table(
        ("also called", "method"),
        [(code(other), code(name)) for other, name in sorted(known.aliases.items())],
    )
    return f"{made}\n\n{aliases}"
