"""Spell single values and keys in YAML so that our reader gives the same ones back.

Knows styles and nothing else: which value stands where is decided in `writing`. What other YAML
readers would take for a number, a date or a truth value is quoted although ours leaves it text.
"""

import re

from noetl_mcp.playbook.node import Scalar
from noetl_mcp.playbook.scalars import read_scalar

LONGEST_SIMPLE_KEY = 1_000

_PLAIN = re.compile(r"[^\W\d][^{}]*|[/.$()+~^][^\s{}][^{}]*|\d[^{}]*")
_PLAIN_IN_FLOW = re.compile(r"[A-Za-z_./][\w./+*()=<>$^ -]*|\d[\w.%-]*")
_PLAIN_KEY = re.compile(r"[A-Za-z_$][\w.$/-]*(?: [\w.$/-]+)*")
_ENDS_PLAIN = re.compile(r": | #|:$")
_WORDS = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n", "~", "=", "<<"))
_TYPED_ELSEWHERE = re.compile(
    r"""
    [-+]?(?:
        0[xX][0-9a-fA-F_]+ | 0[oO][0-7_]+ | 0[bB][01_]+
      | [0-9][0-9_]*(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?
      | \.[0-9_]+(?:[eE][-+]?[0-9]+)?
      | [0-9][0-9_]*(?::[0-9]+)+(?:\.[0-9_]*)?
      | \.(?:inf|nan)
    )
  | \d{4}-\d\d?-\d\d?(?:[Tt\s].*)?
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ESCAPES = {
    "\\": "\\\\",
    '"': '\\"',
    "\n": "\\n",
    "\t": "\\t",
    "\r": "\\r",
    "\0": "\\0",
    "\x1b": "\\e",
}


def inline(value: Scalar, *, in_flow: bool = False) -> str:
    """Return the spelling of a scalar on one line."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    return value if _may_be_plain(value, in_flow) else quoted(value)


def key_text(key: str) -> str:
    """Return the spelling of a key."""
    return key if _PLAIN_KEY.fullmatch(key) else quoted(key)


def quoted(text: str) -> str:
    """Return a text in quotes, double ones unless that would need escapes single ones spare."""
    if not text.isprintable():
        return '"' + "".join(map(_escaped, text)) + '"'
    if '"' in text or "\\" in text:
        return "'" + text.replace("'", "''") + "'"
    return f'"{text}"'


def literal(text: str, indent: int) -> list[str] | None:
    """Return the header and the lines of a `|` block; None when a block cannot hold the text.

    `indent` is the column of the collection that the block belongs to.
    """
    lines = text.split("\n")
    if len(lines) < 2 or not text.strip():
        return None
    if not all(line.replace("\t", " ").isprintable() for line in lines):
        return None
    if not lines[-1]:
        lines.pop()
        chomp = "" if lines[-1] else "+"
    else:
        chomp = "-"
    if not lines[-1].strip() and lines[-1]:
        return None
    first = next(line for line in lines if line)
    step = "2" if first[0] in " \t" or not lines[0] else ""
    pad = " " * (indent + 2)
    return [f"|{step}{chomp}", *(pad + line if line else "" for line in lines)]


def _may_be_plain(text: str, in_flow: bool) -> bool:
    if not text or text[-1] == " " or not text.isprintable():
        return False
    if not (_PLAIN_IN_FLOW if in_flow else _PLAIN).fullmatch(text):
        return False
    if _ENDS_PLAIN.search(text) or text.startswith("...") or text.casefold() in _WORDS:
        return False
    return read_scalar(text) == text and not _TYPED_ELSEWHERE.fullmatch(text)


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
