"""Read the `mcp:` section's shorthands: one form for messages, saves and reuse."""

from noetl_mcp.playbook.dialects.care import read_care
from noetl_mcp.playbook.dialects.reading import Entries, Reading
from noetl_mcp.playbook.node import Node
from noetl_mcp.rules import shape

SECTIONS = ("models", "tools", "resources", "prompts", "turns")
_INPUTS = ("input", "payload", "args")


def read_mcp(node: Node, reading: Reading) -> Node:
    """Read the whole section; unknown keys in it are left for the model to refuse."""
    entries = reading.entries(node, "'mcp'")
    if entries is None:
        return node.become({})
    for key in [key for key in entries if key not in SECTIONS]:
        near = reading.report.near(key, SECTIONS)
        reading.say(
            shape.UNKNOWN_KEY,
            entries[key],
            at_key=True,
            suggestion=near,
            where="'mcp'",
            key=key,
            known=", ".join(SECTIONS),
        )
        child = entries.pop(key)
        if near is not None:
            entries.setdefault(near, child)
    for section in SECTIONS:
        if section not in entries:
            continue
        items = []
        for item in reading.listed(entries[section], f"'mcp.{section}'", "name"):
            one = reading.entries(item, f"an item of 'mcp.{section}'")
            if one is not None:
                items.append(item.become(_item(section, one, reading)))
        entries[section] = entries[section].become(list(items))
    return node.become(entries)


def _item(section: str, entries: Entries, reading: Reading) -> Entries:
    if section in ("tools", "resources"):
        reading.rename(entries, "type", "tool", "kind", hint=False)
        for old in _INPUTS:
            reading.rename(entries, "data", old, hint=False)
    if section == "turns":
        _turn(entries, reading)
    for key in [key for key, child in entries.items() if child.value is None and key != "data"]:
        if key not in ("name", "type", "spec", "template", "model"):
            entries.pop(key)
    return entries


def _turn(entries: Entries, reading: Reading) -> None:
    read_care(entries, reading)
    user = entries.get("user")
    if user is not None:
        items = reading.fitting(user.items if user.items is not None else [user])
        entries["user"] = user.become([_message(item) for item in items])
    for key in ("tools_allowed", "needs"):
        one = entries.get(key)
        if one is not None and isinstance(one.value, str):
            entries[key] = one.become([one])


def _message(item: Node) -> Node:
    return item.become({"text": item}) if isinstance(item.value, str) else item
