"""What a dry run cannot know: a value that refuses to be read, and trees rendered around it.

Such a value stands wherever the answer of a write would stand. A template that touches it fails
with a sentence that tells it from every other failure, so that nothing is ever guessed.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from jinja2 import TemplateRuntimeError

from noetl_mcp.broker.trees import Tree
from noetl_mcp.compiler.plan import LITERAL_MARK, TEMPLATE_MARK
from noetl_mcp.playbook.rendering.render import Renderer, RenderError, compile_text
from noetl_mcp.playbook.rendering.secret import MASK, Secret
from noetl_mcp.playbook.rendering.spelling import sections

_SAYS = "is not known in a dry run"


class Unknown(Mapping[str, Any]):
    """A value that only the real run will have; it is shown as what stands for it."""

    __slots__ = ("shown",)

    def __init__(self, shown: str) -> None:
        self.shown = shown

    @property
    def gap(self) -> str:
        """What of it is missing, without what stands around that."""
        return ", ".join(self.shown[start:end] for start, end in sections(self.shown)) or self.shown

    def _refuse(self) -> NoReturn:
        raise TemplateRuntimeError(f"{self.gap} {_SAYS}")

    def __getitem__(self, key: Any) -> NoReturn:
        self._refuse()

    def __iter__(self) -> Iterator[str]:
        self._refuse()

    def __len__(self) -> int:
        self._refuse()

    def __bool__(self) -> bool:
        self._refuse()

    def __contains__(self, key: object) -> bool:
        self._refuse()

    def __eq__(self, other: object) -> bool:
        self._refuse()

    def __hash__(self) -> int:
        self._refuse()

    def __str__(self) -> str:
        self._refuse()


class UnknownError(Unknown):
    """The error of a step that did not fail here: it is there, and what it says is not known."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return True


def is_unknown(problem: BaseException | str) -> bool:
    """Whether something failed only because it touched a value that is not known."""
    return _SAYS in str(problem)


def holds_unknown(value: Any) -> bool:
    """Whether a value that is not known stands anywhere in a value."""
    return next(unknowns(value), None) is not None


def unknowns(value: Any) -> Iterator[str]:
    """Yield what is missing of each value that is not known."""
    if isinstance(value, Unknown):
        yield value.gap
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from unknowns(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from unknowns(one)


def without_unknown(value: Any) -> Any:
    """Return a value with null for what is not known."""
    if isinstance(value, Unknown):
        return None
    if isinstance(value, Mapping):
        return {key: without_unknown(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_unknown(one) for one in value]
    return value


def render_partly(written: Any, renderers: Sequence[Renderer], scope: Mapping[str, object]) -> Any:
    """Render a tree of a plan as far as it is known; raise RenderError for every other reason."""
    if isinstance(written, dict) and written.keys() == {TEMPLATE_MARK}:
        try:
            return Tree(written, renderers).render(scope)
        except RenderError as problem:
            if not is_unknown(problem):
                raise
        return Unknown(_shown_partly(renderers[written[TEMPLATE_MARK]].text, scope))
    if isinstance(written, dict):
        inner = written.get(LITERAL_MARK, written)
        return {key: render_partly(one, renderers, scope) for key, one in inner.items()}
    if isinstance(written, list):
        return [render_partly(one, renderers, scope) for one in written]
    return written


def all_unknown(written: Any) -> Any:
    """Return a map of a plan with every value unknown."""
    inner = written.get(LITERAL_MARK, written) if isinstance(written, dict) else {}
    return {key: Unknown(f"'{key}'") for key in inner if key != TEMPLATE_MARK}


def _shown_partly(text: str, scope: Mapping[str, object]) -> str:
    """Return a template with what is known filled in, and the rest as it is written."""
    found, at = "", 0
    for start, end in sections(text):
        found += text[at:start] + _tag_shown(text[start:end], scope)
        at = end
    return found + text[at:]


def _tag_shown(tag: str, scope: Mapping[str, object]) -> str:
    if not tag.startswith("{{"):
        return tag
    try:
        value = compile_text(f"{tag} ")(scope)
    except RenderError:
        return tag
    return MASK if isinstance(value, Secret) else str(value)[:-1]


__all__ = [
    "Unknown",
    "UnknownError",
    "all_unknown",
    "holds_unknown",
    "is_unknown",
    "render_partly",
    "unknowns",
    "without_unknown",
]
