"""Settings and inputs of a plan made ready: trees of JSON in which some places are templates.

A tree without templates is handed out as it is, the same value every time, so nobody may change
what he was given. What is rendered is plain JSON, with secrets still covered; anything that JSON
has not is refused, with the place in the tree where it stands.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from noetl_mcp.compiler.plan import LITERAL_MARK, TEMPLATE_MARK
from noetl_mcp.playbook.rendering.addresses import ADDRESSES, kept
from noetl_mcp.playbook.rendering.render import Renderer, RenderError, compile_text
from noetl_mcp.playbook.rendering.secret import Secret
from noetl_mcp.playbook.rendering.wording import settled
from noetl_mcp.playbook.values import is_template

Scope = Mapping[str, object]
Part = Callable[[Scope], Any]
Renderers = Sequence[Renderer]
Holds = Literal["values", "settings", "address"]
"""What stands in a tree: an author's own values, a task's settings, or a setting that is a URL."""

_PLAIN = frozenset({str, int, bool, type(None), Secret})


class Tree:
    """A tree, rendered with the names of a scope; its templates are compiled when first asked."""

    __slots__ = ("_at", "_holds", "_part", "_renderers", "_written")

    def __init__(
        self, tree: Any, renderers: Renderers | None, *at: str | int, holds: Holds = "values"
    ) -> None:
        """Take a tree of a plan, with numbers of templates; `at` is its place, for messages.

        Without `renderers` it is a value as its author wrote it, with templates as texts.
        """
        self._written = tree
        self._renderers = renderers
        self._at = at
        self._holds = holds
        self._part: Part | None = None

    @property
    def constant(self) -> bool:
        """Whether there is no template in it, so that it is always the same value."""
        return isinstance(self._ready(), _Constant)

    def render(self, scope: Scope) -> Any:
        """Return the tree with every template replaced by what it gives."""
        try:
            return (self._part or self._ready())(scope)
        except RenderError as error:
            error.under(*self._at)
            error.is_placed = error.is_placed or bool(self._at)
            raise

    def part(self, key: str | int) -> "Tree | None":
        """Return what stands under a key of a map or list, as a tree; None when nothing does."""
        written, renderers = self._written, self._renderers
        if _is_template(written, renderers):
            return None
        try:
            inner = _opened(written, renderers)[key]
        except (LookupError, TypeError):
            return None
        return Tree(inner, renderers, *self._at, key, holds=_under(key, self._holds))

    def _ready(self) -> Part:
        if self._part is None:
            self._part = _made(self._written, self._renderers, self._holds)
        return self._part


class _Constant:
    """A part without templates."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self, scope: Scope) -> Any:
        return self.value


def _is_template(value: Any, renderers: Renderers | None) -> bool:
    if renderers is None:
        return is_template(value)
    return isinstance(value, dict) and len(value) == 1 and TEMPLATE_MARK in value


def _opened(value: Any, renderers: Renderers | None) -> Any:
    """Take the mark off a map whose own keys could be taken for marks."""
    is_marked = renderers is not None and isinstance(value, dict) and LITERAL_MARK in value
    return value[LITERAL_MARK] if is_marked else value


def _under(key: str | int, holds: Holds) -> Holds:
    """Say what stands under a key; a transfer reads from a source that has settings of its own."""
    if holds != "settings":
        return "values"
    return "address" if key in ADDRESSES else "settings" if key == "source" else "values"


def _made(tree: Any, renderers: Renderers | None, holds: Holds) -> Part:
    if _is_template(tree, renderers):
        renderer = compile_text(tree) if renderers is None else renderers[tree[TEMPLATE_MARK]]
        return _rendered(kept(renderer) if holds == "address" else renderer)
    tree = _opened(tree, renderers)
    if isinstance(tree, dict):
        return _map({k: _made(one, renderers, _under(k, holds)) for k, one in tree.items()})
    if isinstance(tree, list):
        return _list([_made(child, renderers, "values") for child in tree])
    return _Constant(tree)


def _map(parts: dict[str, Part]) -> Part:
    known = {k: part.value if isinstance(part, _Constant) else None for k, part in parts.items()}
    open_ones = [(k, part) for k, part in parts.items() if not isinstance(part, _Constant)]
    return _filled(known, open_ones) if open_ones else _Constant(known)


def _list(parts: list[Part]) -> Part:
    known = [part.value if isinstance(part, _Constant) else None for part in parts]
    open_ones = [(n, part) for n, part in enumerate(parts) if not isinstance(part, _Constant)]
    return _filled(known, open_ones) if open_ones else _Constant(known)


def _filled(known: Any, parts: list[tuple[Any, Part]]) -> Part:
    """Return a part that copies what is known and fills in the rest, in the order written."""

    def fill(scope: Scope) -> Any:
        made = known.copy()
        for key, part in parts:
            try:
                made[key] = part(scope)
            except RenderError as error:
                error.under(key)
                raise
        return made

    return fill


def _rendered(renderer: Renderer) -> Part:
    """Return a part that renders; a path gives what is plain already, and a text is a text."""
    if renderer.gives in ("text", "path"):
        return renderer
    return lambda scope: _plain_of(renderer, renderer(scope))


def _plain_of(renderer: Renderer, value: Any) -> Any:
    kind = value.__class__
    if kind in _PLAIN or (renderer.gives == "value" and kind is not float):
        return value
    if _is_plain(value):
        return value
    reason = _fault(value)
    if reason is None:
        return plain(value)
    raise RenderError(renderer.text, f"JSON cannot hold this value: {reason}")


def _is_plain(value: Any) -> bool:
    kind = value.__class__
    if kind is list:
        return all(item.__class__ in _PLAIN or _is_plain(item) for item in value)
    if kind is dict:
        return all(
            key.__class__ is str and (item.__class__ in _PLAIN or _is_plain(item))
            for key, item in value.items()
        )
    return kind in _PLAIN or (kind is float and math.isfinite(value))


def _fault(value: Any) -> str | None:
    """Say what JSON cannot hold of a value, or None when it is only written otherwise."""
    if isinstance(value, float) and not math.isfinite(value):
        return f"{value} is no number of it"
    if isinstance(value, Mapping):
        if any(key.__class__ is not str for key in value.keys()):  # noqa: SIM118 - may be Items
            return "a key of a map must be text"
        return next(filter(None, map(_fault, value.values())), None)
    if isinstance(value, (list, tuple)):
        return next(filter(None, map(_fault, value)), None)
    return None


def plain(value: Any) -> Any:
    """Return a value with lists and maps of plain JSON only; secrets stay as they are."""
    value = settled(value)
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str.__str__(key): plain(item) for key, item in value.items()}
    return value


__all__ = ["Holds", "Part", "Renderers", "Scope", "Tree", "plain"]
