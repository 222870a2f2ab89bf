"""What a template is and which names it uses, found without running it. Renders nothing."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from noetl_mcp.playbook.values import is_template

Kind = Literal["literal", "path", "expression", "template"]
Part = str | int

_NAME = r"[A-Za-z_]\w*"
_TAIL = rf"(?:\.{_NAME}|\[\d{{1,9}}\]|\['[^'\\{{}}]*'\]|\[\"[^\"\\{{}}]*\"\])*"
_PATH = rf"(?!(?:and|or|not|in|is|if|else)\b){_NAME}{_TAIL}"
_CONSTANT = r"-?\d+(?:\.\d+)?|'[^'\\{}]*'|\"[^\"\\{}]*\""
_ARGUMENT = rf"(?:{_CONSTANT}|\[\]|\{{\}}|[Tt]rue|[Ff]alse|[Nn]one)"
_FILTER = "|".join(
    (
        "default",
        "d",
        "length",
        "count",
        "list",
        "int",
        "float",
        "string",
        "lower",
        "upper",
        "trim",
        "first",
        "last",
        "join",
        "round",
        "sum",
        "sort",
        "unique",
        "tojson",
        "fromjson",
        "urlencode",
        "b64encode",
        "b64decode",
    )
)
_PIPE = rf"(?:\s*\|\s*(?:{_FILTER})\b(?:\(\s*{_ARGUMENT}?\s*\))?)*"
_OPERAND = rf"(?:not\s+)?(?:{_PATH}|{_CONSTANT}){_PIPE}"
_CLAUSE = rf"{_OPERAND}(?:\s*(?:==|!=|<=|>=|<|>)\s*{_OPERAND}|\s+(?:not\s+)?in\s+{_OPERAND})?"
_SIMPLE = re.compile(rf"\s*{_CLAUSE}(?:\s+(?:and|or)\s+{_CLAUSE})*\s*")
_ONE_PATH = re.compile(rf"\s*({_PATH})\s*")
_OPERANDS = re.compile(rf"(?:'[^']*'|\"[^\"]*\"|-?\d[\d.]*){_PIPE}|(?<![\w.])({_PATH})({_PIPE})")
_PROVIDES = re.compile(r"\|\s*d(?:efault)?\b")
_PARTS = re.compile(rf"\.({_NAME})|\[(\d+)\]|\['([^']*)'\]|\[\"([^\"]*)\"\]")
_CONSTANTS = frozenset(["true", "false", "none", "True", "False", "None"])
_ADDRESSED = re.compile(r"\bmcp\s*\.\s*\w|\b(?:models|tools|resources|prompts|turns)\.[\w-]*-")


@dataclass(frozen=True, slots=True)
class Use:
    """A name that a template reads: `optional` when it may be missing, `called` when a method."""

    path: tuple[Part, ...]
    optional: bool = False
    called: bool = False

    @property
    def root(self) -> str:
        """The first part: the name that is looked up."""
        return str(self.path[0])

    def dotted(self) -> str:
        """The path as it would be written."""
        first, *rest = self.path
        return str(first) + "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in rest)


@dataclass(frozen=True, slots=True)
class Template:
    """A text that was looked at: what kind it is and what it reads."""

    text: str
    kind: Kind
    uses: tuple[Use, ...] = ()


CURE = "compare the brackets and quotes inside it"


class TemplateProblem(Exception):
    """A template that cannot be parsed: why, and in which of its lines (from one)."""

    def __init__(self, reason: str, line: int = 1, cure: str = CURE) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.cure = cure


@lru_cache(maxsize=50_000)
def read_template(text: str) -> Template:
    """Classify a text and find the names it uses; raise `TemplateProblem` when it is broken."""
    read = _looked_at(text)
    if isinstance(read, Template):
        return read
    raise TemplateProblem(read.reason, read.line, read.cure)


@lru_cache(maxsize=1_000)
def _looked_at(text: str) -> "Template | TemplateProblem":
    """Look at each text once, at broken ones too."""
    if not is_template(text):
        return Template(text, "literal")
    try:
        return _quickly(text) or _thoroughly(text)
    except TemplateProblem as problem:
        return problem


def _quickly(text: str) -> Template | None:
    """Read paths and plain comparisons, which are nearly all there is, without a parser."""
    if "{%" in text or "{#" in text or _ADDRESSED.search(text):
        return None
    if text.startswith("{{") and text.endswith("}}") and text.count("{{") == 1:
        inner = text[2:-2]
        lone = _ONE_PATH.fullmatch(inner)
        if lone and lone[1] not in _CONSTANTS:
            return Template(text, "path", (Use(split_path(lone[1])),))
        uses = _operands(inner)
        return Template(text, "expression", uses) if uses is not None else None
    found: dict[Use, None] = {}
    for piece in text.split("{{")[1:]:
        inner, closed, _ = piece.partition("}}")
        uses = _operands(inner) if closed else None
        if uses is None:
            return None
        found.update(dict.fromkeys(uses))
    return Template(text, "template", tuple(found))


def _operands(expression: str) -> tuple[Use, ...] | None:
    """Return what a plain comparison reads; None when it is more than that."""
    if not _SIMPLE.fullmatch(expression):
        return None
    return tuple(
        Use(split_path(found[1]), optional=bool(found[2] and _PROVIDES.search(found[2])))
        for found in _OPERANDS.finditer(expression)
        if found[1] and found[1] not in _CONSTANTS
    )


def split_path(text: str) -> tuple[Part, ...]:
    """Split `a.b[0]['c']` into its parts."""
    end = len(text)
    for mark in ".[":
        at = text.find(mark)
        end = at if 0 <= at < end else end
    parts: list[Part] = [text[:end]]
    for found in _PARTS.finditer(text, end):
        number = found[2]
        parts.append(int(number) if number is not None else found[1] or found[3] or found[4] or "")
    return tuple(parts)


def _thoroughly(text: str) -> Template:
    from noetl_mcp.playbook.template_uses import read_thoroughly  # the parser is slow to load

    return read_thoroughly(text)
