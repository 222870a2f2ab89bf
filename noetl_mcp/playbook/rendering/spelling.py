"""How the names of templates are written: hyphens, bare keys, line ends, and paths as text.

Works on text and syntax trees only; renders nothing.
"""

import re
from collections.abc import Iterator

from jinja2 import nodes
from jinja2.visitor import NodeTransformer

_HYPHENATED = re.compile(
    r"(?<![\w.])(mcp\.(?:models|tools|resources|prompts|turns)|prompts)\.(\w+(?:-\w+)+)"
)
_SECTION = re.compile(r"\{[{%#]")
_RAW = re.compile(r"\{%[-+]?\s*raw\s*[-+]?%\}")
_END_OF_RAW = re.compile(r"\{%[-+]?\s*endraw\s*[-+]?%\}")
_TOKEN = re.compile(
    r"""'(?:[^'\\]|\\.)*+(?:'|\Z)|"(?:[^"\\]|\\.)*+(?:"|\Z)|[-+]?[}%]\}|[(\[{]|[)\]}]""",
    re.DOTALL,
)
_SPACES = "\x1f\x1e\x1d\x1c\x0b\x0c"  # blanks that are no line ends


def sections(text: str) -> Iterator[tuple[int, int]]:
    """Give the place of every `{{ }}` and `{% %}`; a text that is not closed ends the search."""
    at = 0
    while found := _SECTION.search(text, at):
        raw = _RAW.match(text, found.start())
        if raw:
            end = _END_OF_RAW.search(text, raw.end())
            if end is None:
                return
            at = end.end()
            continue
        if found[0] == "{#":
            at = text.find("#}", found.end()) + 2
        else:
            at = _end(text, found.end(), found[0])
        if at < found.end():
            return
        if found[0] != "{#":
            yield found.start(), at


def _end(text: str, at: int, opening: str) -> int:
    closing = "}}" if opening == "{{" else "%}"
    depth = 0
    while found := _TOKEN.search(text, at):
        token = found[0]
        if token[0] in "'\"":
            at = found.end()
        elif token in "([{":
            depth += 1
            at = found.end()
        elif depth == 0 and token.endswith(closing):
            return found.end()
        else:
            at = found.start() + 1
            depth -= token[0] in ")]}"
    return -1


def prepare(text: str) -> str:
    """Return a template with hyphenated names of the `mcp` section written as items.

    `mcp.models.gpt-4o.name` becomes `mcp.models['gpt-4o'].name`; `a.b - c` stays a subtraction.
    """
    if not _HYPHENATED.search(text):
        return text
    pieces = []
    done = 0
    for start, end in sections(text):
        pieces.append(text[done:start])
        pieces.append(_outside_strings(text[start:end]))
        done = end
    pieces.append(text[done:])
    return "".join(pieces)


_STRING_OR_NAME = re.compile(
    rf"""(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|{_HYPHENATED.pattern}""", re.DOTALL
)


def _outside_strings(code: str) -> str:
    return _STRING_OR_NAME.sub(
        lambda found: found[0] if found["text"] else f"{found[2]}['{found[3]}']", code
    )


def spelled(node: nodes.Node) -> str:
    """Return a path as it would be written; what is no path is shown as `(…)`."""
    parts: list[str] = []
    while isinstance(node, (nodes.Getattr, nodes.Getitem)) and len(parts) < 40:
        parts.append(f".{node.attr}" if isinstance(node, nodes.Getattr) else _bracket(node.arg))
        node = node.node
    parts.append(node.name if isinstance(node, nodes.Name) else "(…)")
    return "".join(reversed(parts))


def _bracket(key: nodes.Expr) -> str:
    if isinstance(key, nodes.Slice):
        return "[:]"
    return f"[{key.value!r}]" if isinstance(key, nodes.Const) else f"[{spelled(key)}]"


def dotted(at: tuple[str | int, ...]) -> str:
    """Return the way to a value in a tree as it would be written: `input.rows[2]['a-b']`."""
    parts = (
        f".{part}" if isinstance(part, str) and part.isidentifier() else f"[{part!r}]"
        for part in at
    )
    return "".join(parts).removeprefix(".")


def keep_returns(text: str) -> tuple[str, str]:
    """Return the template with carriage returns hidden from Jinja, and what stands for them."""
    if "\r" not in text:
        return text, ""
    mark = next((space for space in _SPACES if space not in text), "")
    if not mark:
        return text, ""
    pieces: list[str] = []
    done = 0
    for start, end in sections(text):
        pieces += (text[done:start].replace("\r", mark), text[start:end])
        done = end
    return "".join((*pieces, text[done:].replace("\r", mark))), mark


def restore_returns(tree: nodes.Template, mark: str) -> None:
    """Put the carriage returns back into the text of a template."""
    for node in tree.find_all(nodes.TemplateData) if mark else ():
        node.data = node.data.replace(mark, "\r")


class _Moments(NodeTransformer):
    """Reads `now()` as the name `now`: the moment is given to a template, never asked for."""

    def visit_Call(self, node: nodes.Call) -> nodes.Node:
        self.generic_visit(node)
        is_plain = not (node.args or node.kwargs or node.dyn_args or node.dyn_kwargs)
        if is_plain and isinstance(node.node, nodes.Name) and node.node.name == "now":
            return node.node
        return node


def name_moments(tree: nodes.Template) -> None:
    """Let `now()` mean the same as `now`."""
    _Moments().visit(tree)


def name_bare_keys(tree: nodes.Template) -> None:
    """Read `render({ input: x })` as `render({ 'input': x })`."""
    for filtering in tree.find_all(nodes.Filter):
        if filtering.name != "render":
            continue
        for value in (*filtering.args, *(named.value for named in filtering.kwargs)):
            for pair in value.find_all(nodes.Pair):
                if isinstance(pair.key, nodes.Name):
                    pair.key = nodes.Const(pair.key.name, lineno=pair.key.lineno)


__all__ = [
    "dotted",
    "keep_returns",
    "name_bare_keys",
    "name_moments",
    "prepare",
    "restore_returns",
    "sections",
    "spelled",
]
