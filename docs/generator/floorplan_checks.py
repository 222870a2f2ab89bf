"""The page of everything that a floor plan is judged by, from the checks themselves."""

from string import Formatter

from generator.markdown import code, page, table
from noetl_mcp.bim.floorplan.checks.registry import FAMILIES, MOST
from noetl_mcp.bim.floorplan.rules import Rule

_HEAD = f"""
What `noetl-mcp floorplan validate`, the tool `validate_floorplan` and steps of the type `floorplan`
look for, besides errors of syntax. A text that cannot be read has its syntax errors only (their
type is `parse`).

An **error** makes a plan invalid: it is not drawn, and a change that leads to it is told of. A
**warning** never does. Every finding has the line and the column of what it is about; `code` is the
name below, `type` is the coarser kind that programs around this language know. At most {MOST:,}
findings of one check are shown.

In a message, words in capitals stand for what is filled in.

## How numbers are read

A bare number is in the plan's unit: `default_unit`; without it, the unit that the sizes and
positions of rooms, lifts and `define`s share (`m` or `ft` where several of one system are mixed);
where these are all bare, units elsewhere (heights, gaps, stairs, connections) tell metres from
feet; else feet. All lengths are brought to that unit before anything is compared, unless `raw` is
asked for: then every number counts as it is written.

Heights of rooms and openings, and the measures of stairs, are compared in metres and inches. There,
and only there, bare numbers of a plan that shows no unit at all count as metres; `default_unit`
settles it. A room without a height is 3.35 m high in these checks, unless `default_height` says
otherwise.

A relation to a room that has no place itself is told as a circle, once for each room that waits;
[`waits-for-unplaced`](#waits-for-unplaced) then says what the cause is.
"""


def floorplan_checks_page() -> str:
    """Return the page of all checks."""
    rows = [
        (f"[`{rule.code}`](#{rule.code})", rule.severity, rule.when)
        for _, rules in FAMILIES
        for rule in rules
    ]
    parts = [_HEAD, "## All", table(("code", "severity", "found when"), rows)]
    for title, rules in FAMILIES:
        parts += [f"## {title}", *map(_section, rules)]
    return page("Checks of floor plans", *parts)


def _section(rule: Rule) -> str:
    when = rule.when[0].upper() + rule.when[1:]
    head = f"### {rule.code}\n\n{rule.severity.capitalize()}, of the type `{rule.type}`."
    return f"{head} {when}.\n\n> {code(_filled(rule.message))}"


def _filled(text: str) -> str:
    """Return a message with words in capitals where something is filled in."""
    pieces = []
    for literal, field, _, _ in Formatter().parse(text):
        pieces += [literal, (field or "").upper()]
    return "".join(pieces)
