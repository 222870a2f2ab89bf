"""Render a template of a playbook with the names it can see.

`{{ expr }}` alone, with nothing around it (comments do not count), gives the value itself; any
other template gives text, in which true, false, null, lists and maps are written as JSON. A text
with a secret in it is a secret. Refuses unknown names, whatever reaches outside the given names,
work without bounds, and error messages that show a secret.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from traceback import walk_tb
from typing import Any, Literal

from jinja2 import Template, TemplateRuntimeError, TemplateSyntaxError, nodes, pass_context
from jinja2.utils import missing

from noetl_mcp.playbook.rendering.absent import NotGiven
from noetl_mcp.playbook.rendering.code import Code
from noetl_mcp.playbook.rendering.costs import charge
from noetl_mcp.playbook.rendering.filters import guarded_filter
from noetl_mcp.playbook.rendering.guards import NESTED_LIMIT, Budget, TooMuch
from noetl_mcp.playbook.rendering.methods import FAULTS
from noetl_mcp.playbook.rendering.sandbox import Sandbox, Scope
from noetl_mcp.playbook.rendering.secret import MASK, Secret, atoms_of, changed, shown
from noetl_mcp.playbook.rendering.spelling import dotted, prepare, sections, spelled
from noetl_mcp.playbook.rendering.syntax import (
    Step,
    builds,
    code_in,
    lone_expression,
    path_of,
    read,
)
from noetl_mcp.playbook.rendering.views import View, bare
from noetl_mcp.playbook.rendering.wording import PLAIN, Words, settled, word
from noetl_mcp.playbook.values import is_template

_FILE = "<template>"
_LONGEST_REASON = 1_000
_LINE_END = re.compile(r"\r\n|\r|\n")
_FAULTS = (*FAULTS, MemoryError)
_THROUGH = {"text": None, "value": "settled", "made": "checked"}

Makes = Callable[[str], "Renderer"]
Gives = Literal["text", "path", "value", "made"]


class RenderError(Exception):
    """A template could not be rendered: which expression, why, and where it stands if known.

    `code` is `not-given` where the playbook is right and its surroundings lack something.
    """

    def __init__(self, expression: str, reason: str, code: str = "template") -> None:
        super().__init__(expression, reason, code)
        self.code = code
        self.expression = expression
        self.reason = reason
        self.at: tuple[str | int, ...] = ()
        self.is_placed = False

    def under(self, *keys: str | int) -> None:
        """Note below which keys it stands; once all of the way is known, it stays so."""
        if not self.is_placed:
            self.at = (*keys, *self.at)

    def __str__(self) -> str:
        place = f"{dotted(self.at)}: " if self.at else ""
        return f"{place}{self.expression}: {self.reason}"


class Renderer(ABC):
    """A template made ready: call it with the names it can see.

    `gives` says what comes out: a text, the value at the end of a path, any other value, or one
    that the template put together and that may hold what JSON has not, such as a pair.
    """

    __slots__ = ("gives", "text")

    def __init__(self, text: str, gives: Gives = "text") -> None:
        self.text = text
        self.gives = gives

    @abstractmethod
    def __call__(self, scope: Mapping[str, object]) -> object:
        """Return the value or text; raise RenderError when there is none."""

    def inside(self, names: Mapping[str, object], budget: Budget, depth: int) -> object:
        """Render inside another template, on its budget."""
        return self(names)


class _Literal(Renderer):
    """A text without anything to render."""

    __slots__ = ()

    def __call__(self, scope: Mapping[str, object]) -> object:
        return self.text


class _Path(Renderer):
    """A path alone, such as `{{ a.b['c'][0] }}`."""

    __slots__ = ("environment", "root", "steps")

    def __init__(
        self, text: str, environment: Sandbox, root: nodes.Name, steps: list[Step]
    ) -> None:
        super().__init__(text, "path")
        self.environment = environment
        self.root = root.name
        self.steps = [_step(environment, node) for node in steps]

    def __call__(self, scope: Mapping[str, object]) -> object:
        try:
            value: Any = scope[self.root]
            for key, look_up, path in self.steps:
                value = value[key] if value.__class__ is dict else look_up(value, key, path)
            if value.__class__ is View:
                value = value.value
        except _FAULTS:
            value = missing  # told below, so that no error drags another one along
        return value if value.__class__ in PLAIN else self._slowly(scope)

    def _slowly(self, scope: Mapping[str, object]) -> object:
        environment = self.environment
        try:
            value = Scope(environment, scope, Budget()).resolve_or_missing(self.root)
            if value is missing:
                value = environment.undefined(name=self.root)
            for key, look_up, path in self.steps:
                value = look_up(value, key, path)
            return settled(bare(value))
        except _FAULTS as error:
            reason, code = _reason(error), _code(error)
        raise RenderError(self.text, reason, code)


def _step(environment: Sandbox, node: Step) -> tuple[str | int, Callable[..., Any], str]:
    if isinstance(node, nodes.Getattr):
        return node.attr, environment.attribute, spelled(node)
    return node.arg.as_const(), environment.item, spelled(node)


class _Compiled(Renderer):
    """Anything else, compiled to Python by Jinja."""

    __slots__ = ("environment", "places", "template")

    def __init__(self, text: str, environment: Sandbox, tree: nodes.Template) -> None:
        lone = lone_expression(tree)
        gives: Gives = "text" if lone is None else ("made" if builds(lone) else "value")
        super().__init__(text, gives)
        code = Code(environment, _THROUGH[gives])
        self.environment = environment
        self.template = _compiled(environment, tree, code)
        self.places = code.places

    def __call__(self, scope: Mapping[str, object]) -> object:
        return self.inside(scope, Budget(), 0)

    def inside(self, names: Mapping[str, object], budget: Budget, depth: int) -> object:
        """Render on the budget of whoever asks."""
        context = Scope(self.environment, names, budget, depth)
        try:
            pieces: Any = self.template.root_render_func(context)
            return next(pieces) if self.gives != "text" else self.environment.concat(pieces)
        except _FAULTS as error:
            expression, reason, code = self._place(error), _reason(error), _code(error)
        raise RenderError(expression, reason, code)

    def _place(self, error: BaseException) -> str:
        lines = [
            line
            for frame, line in walk_tb(error.__traceback__)
            if frame.f_code.co_filename == _FILE
        ]
        tags = [self.text[start:end] for start, end in sections(self.text)]
        prints = [tag for tag in tags if tag.startswith("{{")]
        if not lines:
            return _shortened(self.text)
        if lines[-1] in self.places and len(prints) == len(self.places):
            return _shortened(prints[self.places.index(lines[-1])])
        source = _LINE_END.split(self.text)
        line = self.template.get_corresponding_lineno(lines[-1])
        return _shortened(source[min(line, len(source)) - 1].strip())


def _compiled(environment: Sandbox, tree: nodes.Template, code: Code) -> Template:
    try:
        charge(tree, environment)
        code.visit(tree)
        program = compile(code.written(), _FILE, "exec")
    except (SyntaxError, RecursionError, MemoryError):
        raise TemplateSyntaxError("the template is nested too deeply", 1) from None
    except ValueError:
        raise TemplateSyntaxError("a number is too long", 1) from None
    return Template.from_code(environment, program, {})


def _code(error: BaseException) -> str:
    return "not-given" if isinstance(error, NotGiven) else "template"


def _reason(error: BaseException) -> str:
    if isinstance(error, RecursionError):
        return "the template or a value is nested too deeply"
    if isinstance(error, MemoryError):
        return "the template asks for too much memory"
    if isinstance(error, KeyError):
        return "there is no such key"
    reason = str(error) or type(error).__name__
    return reason if len(reason) <= _LONGEST_REASON else reason[: _LONGEST_REASON - 1] + "…"


def _shortened(text: str) -> str:
    return text if len(text) <= 200 else text[:199] + "…"


@cache
def environment() -> Sandbox:
    """Return the one environment, made when first asked for."""
    made = Sandbox()
    made.filters["render"] = guarded_filter("render", render)
    return made


def parse(text: str) -> nodes.Template:
    """Return the syntax tree of a template; raise TemplateSyntaxError when it has none."""
    return read(environment(), text)


def compile_text(text: str) -> Renderer:
    """Return a template made ready; raise TemplateSyntaxError when it cannot be read."""
    return _cached(text) if is_template(text) else _Literal(text)


@lru_cache(maxsize=2048)
def _cached(text: str) -> Renderer:
    return _made(text)


def _made(text: str) -> Renderer:
    tree = parse(text)
    path = path_of(lone_expression(tree))
    if path is not None:
        return _Path(text, environment(), *path)
    return _Compiled(text, environment(), tree)


@pass_context
def render(context: Scope, template: object, *given: Mapping[str, object], **named: object) -> Any:
    """Render a text, or every text inside a value, seeing only the names that are given.

    Beside them stand `workload` and `context`, when the outer template has them. Gives text.
    """
    if context.depth >= NESTED_LIMIT:
        raise TooMuch(f"templates render templates more than {NESTED_LIMIT} deep")
    names: dict[str, object] = {}
    for name in ("workload", "context"):
        value = context.resolve_or_missing(name)
        if value is not missing:
            names[name] = value
    for mapping in given:
        names.update(mapping)
    return _rendered(context, template, {**names, **named})


def _rendered(context: Scope, template: object, names: Mapping[str, object]) -> object:
    context.budget.spend(1)
    if isinstance(template, list):
        return [_rendered(context, item, names) for item in template]
    if isinstance(template, Mapping):
        return {key: _rendered(context, item, names) for key, item in template.items()}
    if isinstance(template, Secret):
        return _rendered_secretly(context, template, names)
    return _text(context, template, names) if isinstance(template, str) else template


def _text(
    context: Scope, text: str, names: Mapping[str, object], make: Makes = compile_text
) -> Words:
    """Render a text inside another; to make it ready is paid for once."""
    budget = context.budget
    renderer = budget.made.get(text)
    if renderer is None:
        budget.spend(8 if not is_template(text) else 500 + 20 * code_in(text) + (len(text) >> 4))
        renderer = budget.made[text] = make(text)
    budget.spend(4)
    return word(renderer.inside(names, budget, context.depth + 1), budget)


def _rendered_secretly(context: Scope, template: Secret, names: Mapping[str, object]) -> Secret:
    try:
        text = _text(context, template.reveal(), names, _made)
        return changed(shown(text), atoms_of(template, text))
    except (RenderError, TemplateSyntaxError):
        failed = f"a secret template cannot be rendered: {MASK}"
    raise TemplateRuntimeError(failed)


__all__ = [
    "Gives",
    "RenderError",
    "Renderer",
    "compile_text",
    "environment",
    "parse",
    "prepare",
    "render",
]
