"""Read conditions: true, false or a template. Evaluates none."""

from noetl_mcp.playbook.dialects.reading import Entries, Reading
from noetl_mcp.playbook.node import Node
from noetl_mcp.playbook.values import is_template
from noetl_mcp.rules import shape


def read_conditions(entries: Entries, reading: Reading, *keys: str) -> None:
    """Check the conditions under some keys; an empty one is none, plain text is reported."""
    for key in keys:
        node = entries.get(key)
        if node is None:
            continue
        if node.value is None or (isinstance(node.value, str) and not node.value.strip()):
            if node.value is not None:
                reading.wrong_kind(
                    node, f"'{key}'", "a condition", f"write '{key}: \"{{{{ … }}}}\"', or remove it"
                )
            entries.pop(key)
        else:
            entries[key] = read_condition(node, reading)


def read_condition(node: Node, reading: Reading) -> Node:
    """Return a condition; plain text is reported and read as the expression it was meant to be."""
    text = node.text
    if text is None:
        return node
    if is_template(text):
        if not is_lone(text):
            reading.say(shape.HALF_CONDITION, node, text=text)
        return node
    reading.say(shape.CONDITION_IS_TEXT, node, text=text)
    return node.become("{{ " + text + " }}")


def is_lone(text: str) -> bool:
    """Whether a text is one `{{ }}` and nothing else; what holds statements is not judged."""
    trimmed = text.strip()
    if "{%" in trimmed or "{#" in trimmed:
        return True
    return trimmed.startswith("{{") and (trimmed.endswith("}}") or "}}" not in trimmed)


def bare(when: Node | None) -> str | None:
    """Return the expression inside a lone `{{ }}`."""
    text = when.text if when is not None else None
    if text is None:
        return None
    return text.strip().removeprefix("{{").removesuffix("}}").strip()


def both(one: Node, other: Node) -> Node:
    """Return the condition that holds when two hold."""
    if one.value is True or other.value is False:
        return other
    if other.value is True or one.value is False:
        return one
    return other.become("{{ (" + f"{bare(one)}) and ({bare(other)}" + ") }}")
