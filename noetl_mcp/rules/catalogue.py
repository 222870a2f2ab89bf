"""All rules together, and the page of each. Judges nothing."""

from collections.abc import Mapping
from importlib.resources import files

from noetl_mcp.errors import Rule
from noetl_mcp.rules import dialect, effects, flow, names, reading, shape, templates

_MODULES = (reading, shape, names, flow, effects, templates, dialect)

CATALOGUE: tuple[Rule, ...] = tuple(
    sorted(
        {rule for module in _MODULES for rule in vars(module).values() if isinstance(rule, Rule)},
        key=lambda rule: rule.code,
    )
)
BY_NAME: Mapping[str, Rule] = {rule.name: rule for rule in CATALOGUE}
BY_CODE: Mapping[str, Rule] = {rule.code: rule for rule in CATALOGUE}


def rule_called(what: str) -> Rule | None:
    """Return the rule of this name or code."""
    return BY_NAME.get(what) or BY_CODE.get(what.upper())


def row_of(rule: Rule) -> dict[str, str]:
    """Return what the lists of rules tell of one."""
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity,
        "message": rule.message,
        "help": rule.help,
    }


def page_of(rule: Rule) -> str:
    """Return what is written about a rule: why it is there, a bad and a good example."""
    page = files("noetl_mcp.rules").joinpath("pages").joinpath(f"{rule.name}.md")
    head = f"{rule.code} {rule.name} ({rule.severity})\n\n"
    return head + page.read_text(encoding="utf-8").rstrip() + "\n"
