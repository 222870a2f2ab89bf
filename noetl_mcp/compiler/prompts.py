"""Check prompts where they are used: their templates see what `with` gives. Part of `names`."""

from collections.abc import Mapping
from typing import Any

from noetl_mcp.compiler.draft import Draft, Placed, strings
from noetl_mcp.diagnostics import Report
from noetl_mcp.playbook.node import Path
from noetl_mcp.playbook.references import read_reference
from noetl_mcp.playbook.template import TemplateProblem, Use, read_template
from noetl_mcp.playbook.values import is_template
from noetl_mcp.rules import names, templates


def check_prompts(draft: Draft, report: Report) -> None:
    """Check that prompts parse, and that every use gives them what they read."""
    mcp = draft.playbook.mcp
    if mcp is None:
        return
    reads: dict[str, set[Use]] = {}
    for index, prompt in enumerate(mcp.prompts):
        reads[prompt.name] = _reads(prompt.template, ("mcp", "prompts", index, "template"), report)
    for number, turn in enumerate(mcp.turns):
        for place, message in enumerate(turn.user):
            reference = read_reference(message.use or "")
            if reference is None or reference.kind != "prompt" or reference.name not in reads:
                continue
            at: Path = ("mcp", "turns", number, "user", place, "use")
            given = message.with_ if message.with_ is not None else {}
            if isinstance(given, dict):
                _use(reference.name, reads[reference.name], given, at, draft, report)


def _reads(template: Any, at: Path, report: Report) -> set[Use]:
    found: set[Use] = set()
    for text, place in strings(Placed(template, at)):
        if not is_template(text):
            continue
        try:
            found |= set(read_template(text).uses)
        except TemplateProblem as problem:
            spot = report.source.line_in(place, problem.line)
            report.say(templates.TEMPLATE_SYNTAX, spot, problem=problem.reason, cure=problem.cure)
    return found


def _use(
    name: str,
    reads: set[Use],
    given: Mapping[str, Any],
    at: Path,
    draft: Draft,
    report: Report,
) -> None:
    """Report what a prompt reads of its input and this use does not give."""
    workload = draft.playbook.workload
    known = {*given, *(workload or {})}
    for use in sorted(reads, key=lambda one: one.dotted()):
        if use.optional or use.root not in ("input", "data") or len(use.path) < 2 or use.called:
            continue
        leaf = str(use.path[1])
        if leaf not in known and workload is not None:
            report.say(
                names.UNKNOWN_INPUT,
                at,
                word=name,
                suggestion=report.near(leaf, known),
                name=use.dotted(),
                where=f"prompt '{name}' here",
                known=", ".join(sorted(known)) or "nothing",
            )
