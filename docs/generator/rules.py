"""The page of the rules, from the catalogue and the page that each rule brings."""

import re
from string import Formatter

from generator.markdown import code, page, table
from noetl_mcp.errors import Rule
from noetl_mcp.rules.catalogue import BY_CODE, CATALOGUE, page_of

_HEAD = """
Everything that can be wrong with a playbook, once each. The same text is printed by `noetl-mcp
explain RULE`, where RULE is a name or a code. A code is never used for anything else.

An **error** keeps a playbook from being compiled. A **warning** is something that will probably go
wrong. A **hint** is advice; `validate --strict` counts warnings and hints as errors.

In a message, words in capitals stand for what is filled in. The examples show only what matters;
many of them are parts of a playbook.
"""
_GROUPS = {
    "NP1": "Reading and shape",
    "NP2": "Names",
    "NP3": "Flow",
    "NP4": "Effects",
    "NP5": "Templates and contents",
    "NP6": "Dialects",
}


def rules_page() -> str:
    """Return the page of every rule."""
    rows = [
        (
            f"[{rule.code}](#{anchor(rule)})",
            f"[{rule.name}](#{anchor(rule)})",
            rule.severity,
            _GROUPS[rule.code[:3]],
        )
        for rule in CATALOGUE
    ]
    listed = table(("code", "name", "severity", "group"), rows)
    return page("Rules", _HEAD, listed, *map(_section, CATALOGUE))


def anchor(rule: Rule) -> str:
    """Return the anchor of a rule's heading."""
    return f"{rule.code} {rule.name}".lower().replace(" ", "-")


def link(code_: str) -> str:
    """Return a link to a rule, as other reference pages write it."""
    return f"[{code_}](rules.md#{anchor(BY_CODE[code_])})"


def _section(rule: Rule) -> str:
    told = table(
        ("severity", "message", "help"),
        [(rule.severity, code(_filled(rule.message)), code(_filled(rule.help)))],
    )
    return f"## {rule.code} {rule.name}\n\n{told}\n\n{_text(rule)}"


def _filled(text: str) -> str:
    """Return a message with words in capitals where something is filled in."""
    pieces = []
    for literal, field, _, _ in Formatter().parse(text):
        pieces += [literal, (field or "").upper()]
    return "".join(pieces)


def _text(rule: Rule) -> str:
    """Return the rule's own page, its headings turned into bold words."""
    try:
        text = page_of(rule)
    except FileNotFoundError:
        return "There is no page about this rule yet."
    body = text.partition("\n\n")[2]
    return re.sub(r"(?m)^#+ (.+)$", r"**\1**", body).strip()
