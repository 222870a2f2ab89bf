"""The pages of the keys of a playbook and of its `mcp:` section, from the models."""

from collections.abc import Iterator

from pydantic import BaseModel

from generator.forms import AUTHORED, FORMS, OTHERWISE, SPELLINGS
from generator.markdown import code, page, table
from generator.types import Key, keys_of
from noetl_mcp.compiler.schema_workload import declaration
from noetl_mcp.playbook import care, mcp_section, model
from noetl_mcp.playbook.expect import Expect

_HEAD = ("key", "type", "default", "")
PLAYBOOK: tuple[tuple[str, type[BaseModel], str], ...] = (
    ("playbook", model.Playbook, "The top of a file."),
    ("metadata", model.Metadata, "Who a playbook is. Other keys are kept as they stand."),
    (
        "step",
        model.Step,
        "A node of the workflow. It has the keys of an [action](#action) too, and the settings of "
        "its [type](task-types.md) beside them. What has no type only leads on.",
    ),
    (
        "action",
        model.Action,
        "What is done: of a step, of the workbook, of an iterator's `task`, of a sequence's "
        "`tasks`. A step of type `workbook` does the action that `task` names, with its own keys "
        "laid over those of the action. A step of type `sequence` does its `tasks` one after "
        "another.",
    ),
    ("edge", model.Edge, "One way on. Also `then` and `else`, see the short forms of `next`."),
    ("on_error", model.OnError, "Where a finally failed step leads."),
    (
        "iterator",
        model.Iterator,
        "The keys of a step of `type: iterator`, beside the others. Modes `parallel`, `concurrent` "
        "and `distributed` are read as `async`, `serial` as `sequential`.",
    ),
    ("repeat", model.Repeat, "Do the step again. It needs `while` or `until`, and `max`."),
    ("retry", care.Retry, "How a failed attempt is tried again."),
    (
        "save",
        care.Save,
        "Where a result is kept. Beside these stand the settings of the [target](save-targets.md).",
    ),
    ("assert", care.Assertion, "Checks around the body."),
    (
        "limits",
        care.Limit,
        "At most so many steps at once. At the top of a playbook `limits` is a "
        "map of names and numbers.",
    ),
    ("cache", care.Cache, "Reuse of former results."),
    (
        "expect",
        Expect,
        "Bounds on what a write may change. Zero is a value. A bounded counter that "
        "is absent fails the step.",
    ),
)
MCP: tuple[tuple[str, type[BaseModel], str], ...] = (
    ("mcp", mcp_section.McpSection, "Everything under `mcp:`."),
    (
        "models",
        mcp_section.ModelPreset,
        "A model under a name. Without an `endpoint` it is asked "
        "through the gateway that `secrets.llm_gateway` names.",
    ),
    (
        "tools",
        mcp_section.Tool,
        "Something a model may call. In its templates `input` is the arguments of the call.",
    ),
    (
        "resources",
        mcp_section.Resource,
        "Something a turn reads. In its templates `input` is the "
        "workload. A resource is only read: one that writes is an error.",
    ),
    (
        "prompts",
        mcp_section.Prompt,
        "A template of messages. In it `input` is what stands in `with:`, over the workload.",
    ),
    ("turns", mcp_section.Turn, "A conversation with a model until it has answered."),
    ("message", mcp_section.Message, "One piece of what the user says: `text`, or `use`."),
)


def playbook_page() -> str:
    """Return the page of every key of a playbook."""
    intro = (
        "Every key as it is written in v2. `needed` in the column of defaults means that the key "
        "must be there. A *template* is a text with `{{ }}` in it; a *condition* is `true`, "
        "`false` or a template. The older dialects are read too, see "
        "[Move a NoETL playbook over](../how-to/move-over.md). A few things are planned and "
        "[do not run yet](task-types.md#what-does-not-run-yet)."
    )
    sections = [_section(*one) for one in PLAYBOOK]
    return page("Playbook", intro, *sections[:2], _workload(), *sections[2:])


def mcp_page() -> str:
    """Return the page of every key of the `mcp:` section."""
    intro = (
        "Every key of `mcp:`. What a turn becomes is told in "
        "[Ask a model](../how-to/ask-a-model.md)."
    )
    return page("The mcp section", intro, *(_section(*one) for one in MCP))


def _section(name: str, made: type[BaseModel], words: str) -> str:
    rows = list(_rows(name, made))
    parts = [f"## {name}", words, *([table(_HEAD, rows)] if rows else [])]
    if name in OTHERWISE:
        parts.append("In the form that is left after reading there are also these:")
        ways = [(code(key), how) for key, how in OTHERWISE[name].items()]
        parts.append(table(("key", "written as"), ways))
    if name in FORMS:
        forms = [(code(form.written), form.means) for form in FORMS[name]]
        parts += ["Short forms:", table(("written", "means"), forms)]
    return "\n\n".join(parts)


def _rows(name: str, made: type[BaseModel]) -> Iterator[tuple[str, str, str, str]]:
    inherited = set(model.Action.model_fields) if name == "step" else set()
    hidden = OTHERWISE.get(name, {})
    for key in keys_of(made):
        if key.name in hidden or _field(made, key.name) in inherited:
            continue
        also = SPELLINGS.get(name, {}).get(key.name)
        cell = key.cell + (f" (also {also})" if also else "")
        yield cell, _type(name, key), key.default_text, key.description


def _field(made: type[BaseModel], key: str) -> str:
    return next(n for n, field in made.model_fields.items() if key in (n, field.alias))


def _type(section: str, key: Key) -> str:
    written = AUTHORED.get(section, {}).get(key.name)
    if written is None and section == "step":
        written = AUTHORED["action"].get(key.name)
    return written if written is not None else key.type


def _workload() -> str:
    """Return the section about variables and their declarations."""
    rows = [(code(key), one["description"]) for key, one in declaration()["properties"].items()]
    return "\n\n".join(
        (
            "## workload",
            "The variables of a playbook by name, each with its default. An entry that is a map "
            "with a JSON type behind `type` and only the keys below is a declaration; anything "
            "else is the default itself, and its type is remembered: `--set` takes no other text. "
            "A payload may bring a value of any type for it, and for a declaration only one that "
            "fits.",
            table(("key of a declaration", ""), rows),
        )
    )
