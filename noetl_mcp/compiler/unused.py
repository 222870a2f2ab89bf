"""Tell what is declared under `mcp:` and used by nobody. Part of the pass `names`."""

import re

from noetl_mcp.compiler.draft import Draft, Placed, strings
from noetl_mcp.compiler.layers import Data
from noetl_mcp.compiler.scope import safe
from noetl_mcp.diagnostics import Report, closest
from noetl_mcp.playbook.mcp_section import McpSection
from noetl_mcp.playbook.model import UNSAID
from noetl_mcp.playbook.node import Path
from noetl_mcp.rules import names

_NAMED = re.compile(r"\b(?:mcp\s*\.\s*)?(\w+)\s*(?:\.|\[\s*['\"])\s*([\w-]+)")
_SECTIONS = ("models", "tools", "resources", "prompts")


def say_unused(draft: Draft, report: Report) -> None:
    """Report models, tools, resources and prompts that no turn and no template uses."""
    mcp = draft.playbook.mcp
    if mcp is None:
        return
    used = _used_by_turns(mcp)
    for text in _templates(draft):
        for section, name in _NAMED.findall(text):
            if section in used:
                used[section].add(name)
    used["resources"] |= {ref.word for ref in draft.refs} | {ref.used for ref in draft.refs}
    for section in _SECTIONS:
        for index, one in enumerate(getattr(mcp, section)):
            known = used[section]
            if one.name in known or safe(one.name) in known or one.name.startswith(UNSAID):
                continue
            if not _was_meant(one.name, known):
                at: Path = ("mcp", section, index, "name")
                report.say(names.UNUSED_MCP, at, what=section.removesuffix("s"), name=one.name)


def _used_by_turns(mcp: McpSection) -> dict[str, set[str]]:
    """Return what turns name; a reference with a broken kind counts for every kind."""
    uses = {
        (message.use or "").rpartition(":")[2].strip()
        for turn in mcp.turns
        for message in turn.user
    }
    needs = {need.rpartition(":")[2].strip() for turn in mcp.turns for need in turn.needs or ()}
    return {
        "models": {turn.model for turn in mcp.turns},
        "tools": {tool for turn in mcp.turns for tool in turn.tools_allowed},
        "resources": uses | needs,
        "prompts": set(uses),
    }


def _was_meant(name: str, used: set[str]) -> bool:
    """Whether somebody misspelt this very name: then it is not unused."""
    return len(used) < 200 and any(closest(other, {name}) for other in used)


def _templates(draft: Draft) -> list[str]:
    found = []
    for node in (*draft.nodes.values(), *draft.tools.values()):
        fields = [*node.settings.values(), *node.care.values(), *_of_input(node.data)]
        found += [text for placed in fields for text, _ in strings(placed) if "{{" in text]
    for edge in draft.edges:
        for placed in (edge.when, edge.data, edge.set):
            if placed is not None:
                found += [text for text, _ in strings(placed) if "{{" in text]
    return found


def _of_input(data: Data) -> list[Placed]:
    if data is None:
        return []
    return [data] if isinstance(data, Placed) else [*data.values()]
