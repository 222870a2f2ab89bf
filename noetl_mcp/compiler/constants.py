"""Check `mcp.models.x` and `prompts.x` in templates. Part of the pass `names`."""

from noetl_mcp.diagnostics import Report
from noetl_mcp.playbook.mcp_section import McpSection
from noetl_mcp.playbook.node import Path
from noetl_mcp.playbook.template import Use
from noetl_mcp.rules import names

SECTIONS = ("models", "tools", "resources", "prompts", "turns")


def say_constant(use: Use, at: Path, mcp: McpSection | None, report: Report) -> None:
    """Report a name of the `mcp:` section that is not declared."""
    path = use.path if use.root == "mcp" else ("mcp", *use.path)
    section = str(path[1])
    if section not in SECTIONS:
        near = report.near(section, SECTIONS)
        report.say(
            names.UNKNOWN_CONSTANT,
            at,
            word=section,
            suggestion=near,
            name=use.dotted(),
            section=section,
        )
        return
    if len(path) < 3:
        return
    name = str(path[2])
    known = {one.name for one in getattr(mcp, section)} if mcp is not None else set()
    if name not in known and name not in {_safe(one) for one in known}:
        near = report.near(name, known)
        report.say(
            names.UNKNOWN_CONSTANT,
            at,
            word=name,
            suggestion=near,
            name=use.dotted(),
            section=section,
        )


def _safe(name: str) -> str:
    return "".join(c if c.isalnum() or c == "_" else "_" for c in name)
