"""Write tables, code and headings in Markdown. Knows nothing of playbooks."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

MADE = "<!-- Made by docs/generate.py from the code; change the code, then run it again. -->"


def page(title: str, *parts: str) -> str:
    """Return a whole page."""
    return "\n\n".join((f"# {title}", MADE, *(part.strip("\n") for part in parts if part)))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; cells may hold anything but line ends."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str) -> str:
    """Return a piece of code in a line."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def codes(texts: Iterable[str]) -> str:
    """Return several pieces of code, with commas between."""
    return ", ".join(code(text) for text in texts)


def fence(text: str, language: str = "yaml") -> str:
    """Return a block of code."""
    return f"```{language}\n{text.strip(chr(10))}\n```"


def value(given: Any) -> str:
    """Return a value as a playbook would write it, in a line."""
    return code(given if isinstance(given, str) else json.dumps(given, ensure_ascii=False))


def number(given: int) -> str:
    """Return a number with commas."""
    return f"{given:,}"
