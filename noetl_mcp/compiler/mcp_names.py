"""Check the names inside the `mcp:` section. Part of the pass `resolve`."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from noetl_mcp.compiler.draft import Draft
from noetl_mcp.diagnostics import Report
from noetl_mcp.errors import Rule
from noetl_mcp.playbook.mcp_section import Message, Turn
from noetl_mcp.playbook.model import UNSAID
from noetl_mcp.playbook.node import Path
from noetl_mcp.playbook.references import KINDS, read_reference
from noetl_mcp.rules import names, shape
from noetl_mcp.tasks.elsewhere import instead_of
from noetl_mcp.tasks.registry import broken_offer
from noetl_mcp.tasks.save_targets import SAVE_TARGETS

_UNKNOWN: dict[str, Rule] = {
    "resource": names.UNKNOWN_RESOURCE,
    "prompt": names.UNKNOWN_PROMPT,
}


Known = Mapping[str, set[str]]


class Named(Protocol):
    """Anything with a name."""

    @property
    def name(self) -> str: ...


def resolve_mcp(draft: Draft, report: Report) -> None:
    """Check models, tools, resources, prompts and turns against each other."""
    mcp = draft.playbook.mcp
    if mcp is None:
        return
    for section, what in _SECTIONS:
        _doubles(getattr(mcp, section), section, what, report)
    for section in ("tools", "resources"):
        for index, one in enumerate(getattr(mcp, section)):
            _type(one.type, one.name, section, index, draft, report)
    known = _known(draft)
    for index, turn in enumerate(mcp.turns):
        _turn(turn, ("mcp", "turns", index), known, report)
    _placements(draft, report)


_SECTIONS = (
    ("models", "the model"),
    ("tools", "the tool"),
    ("resources", "the resource"),
    ("prompts", "the prompt"),
    ("turns", "the turn"),
)


def _doubles(listed: Sequence[Named], section: str, what: str, report: Report) -> None:
    seen: dict[str, Path] = {}
    for index, one in enumerate(listed):
        at: Path = ("mcp", section, index, "name")
        if one.name in seen:
            first = report.source.place(seen[one.name], key=False, word=None).line
            report.say(names.DUPLICATE_NAME, at, what=what, name=one.name, first=first)
        seen.setdefault(one.name, at)


def _type(kind: str, name: str, section: str, index: int, draft: Draft, report: Report) -> None:
    if kind in draft.tasks or kind == UNSAID:
        return
    at: Path = ("mcp", section, index, "type")
    where = f"{section.removesuffix('s')} '{name}'"
    cure = instead_of(kind)
    if cure is not None:
        report.say(names.TYPE_ELSEWHERE, at, where=where, name=kind, cure=cure)
        return
    broken = broken_offer(kind)
    if broken is not None:
        report.say(
            names.BROKEN_TASK_TYPE,
            at,
            where=where,
            name=kind,
            origin=broken.comes_from,
            problem=broken.problem,
        )
        return
    known = sorted(draft.tasks)
    report.say(
        names.UNKNOWN_TASK_TYPE,
        at,
        suggestion=report.near(kind, known),
        where=where,
        name=kind,
        known=", ".join(known),
    )


def _turn(turn: Turn, at: Path, known: Known, report: Report) -> None:
    models, tools = known["model"], known["tool"]
    if not is_known(turn.model, models):
        near = report.near(turn.model, models)
        place = (*at, "model")
        report.say(names.UNKNOWN_MODEL, place, suggestion=near, turn=turn.name, name=turn.model)
    for n, tool in enumerate(turn.tools_allowed):
        if not is_known(tool, tools):
            near = report.near(tool, tools)
            place = (*at, "tools_allowed", n)
            report.say(names.UNKNOWN_TOOL, place, suggestion=near, turn=turn.name, name=tool)
    for n, save in enumerate(turn.save):
        say_storage(save.storage, (*at, "save", n, "storage"), report)
    for n, message in enumerate(turn.user):
        if message.use is not None:
            _use(turn, message.use, (*at, "user", n, "use"), known, report)
        _message(message, (*at, "user", n), report)
        if message.with_ is not None and not (message.use or "").startswith("prompt:"):
            place = (*at, "user", n, "with")
            report.say(names.WITH_WITHOUT_PROMPT, place, at_key=True, use=message.use or "text")
    for n, need in enumerate(turn.needs or ()):
        _need(turn, need, (*at, "needs", n), known, report)


def _message(message: Message, at: Path, report: Report) -> None:
    """A message is a text, or it uses something."""
    if message.text is not None and message.use is not None:
        where = "a message"
        report.say(
            shape.KEYS_TOGETHER, (*at, "use"), at_key=True, where=where, first="text", second="use"
        )
    if message.text is None and message.use is None:
        report.say(shape.MISSING_ONE_OF, at, where="a message", keys="text, use")


def _use(turn: Turn, text: str, at: Path, all_known: Known, report: Report) -> None:
    reference = read_reference(text)
    if reference is None:
        kind = text.partition(":")[0]
        near = report.near(kind, KINDS)
        suggestion = text.replace(kind, near, 1) if near and ":" in text else None
        report.say(names.BAD_REFERENCE, at, suggestion=suggestion, text=text)
        return
    known = all_known[reference.kind]
    if is_known(reference.name, known):
        return
    near = report.near(reference.name, known)
    where = f"turn '{turn.name}'"
    if reference.kind == "step":
        report.say(
            names.UNKNOWN_STEP,
            at,
            word=reference.name,
            suggestion=near,
            where=where,
            name=reference.name,
        )
    elif reference.kind == "turn":
        report.say(
            names.UNKNOWN_TURN,
            at,
            word=reference.name,
            suggestion=near,
            where=where,
            name=reference.name,
        )
    else:
        rule = _UNKNOWN[reference.kind]
        report.say(
            rule, at, word=reference.name, suggestion=near, turn=turn.name, name=reference.name
        )


def is_known(name: str, known: Collection[str]) -> bool:
    """Whether a name is known, or something nameless might have been it."""
    return name in known or name.startswith(UNSAID) or UNSAID in known


def with_nameless(names: Iterable[str]) -> set[str]:
    """Return names as a set; when one of them was left unsaid, the set says so."""
    known = set(names)
    return known | {UNSAID} if any(name.startswith(UNSAID) for name in known) else known


def _known(draft: Draft) -> Known:
    """Return the names of each kind that turns may point at."""
    mcp, book = draft.playbook.mcp, draft.playbook
    known = {"step": with_nameless(step.step for step in book.workflow)}
    for section, what in _SECTIONS:
        listed = getattr(mcp, section)
        known[what.removeprefix("the ")] = with_nameless(one.name for one in listed)
    return known


def _need(turn: Turn, need: str, at: Path, known: Known, report: Report) -> None:
    """A need may be a turn, a step or a resource, with or without its kind."""
    reference = read_reference(need)
    name = reference.name if reference is not None else need
    kinds = ("step", "turn", "resource")
    if name == turn.name or not any(name in known[kind] for kind in kinds):
        near = report.near(name, lambda: set().union(*(known[kind] for kind in kinds)) - {name})
        where = f"turn '{turn.name}'"
        report.say(names.UNKNOWN_TURN, at, word=name, suggestion=near, where=where, name=name)


def _placements(draft: Draft, report: Report) -> None:
    """Check the steps that place turns, and tell the turns that no step places."""
    mcp, book = draft.playbook.mcp, draft.playbook
    turns = with_nameless(turn.name for turn in mcp.turns) if mcp is not None else set()
    placed: dict[str, str] = {}
    meant: set[str] = set()
    sections = (("workflow", book.workflow), ("finally", book.finally_))
    for section, index, step in (
        (s, i, step) for s, listed in sections for i, step in enumerate(listed)
    ):
        at: Path = (section, index, "turn")
        if step.turn is None:
            continue
        if not is_known(step.turn, turns):
            near = report.near(step.turn, turns)
            where = f"step '{step.step}'"
            report.say(names.UNKNOWN_TURN, at, suggestion=near, where=where, name=step.turn)
            meant |= {near} if near else set()
        elif step.turn in placed:
            first = placed[step.turn]
            report.say(names.TURN_PLACED_TWICE, at, name=step.turn, first=first)
        placed.setdefault(step.turn, step.step)
    if not book.workflow:
        return
    taken = {step.step for step in book.workflow} | meant
    for index, turn in enumerate(mcp.turns if mcp is not None else ()):
        if turn.name not in placed and turn.name not in taken and turn.name[0] != UNSAID:
            report.say(names.TURN_NOT_PLACED, ("mcp", "turns", index, "name"), name=turn.name)


def say_storage(storage: str, at: Path, report: Report) -> None:
    """Report a storage that nothing can save to."""
    if storage not in SAVE_TARGETS:
        known = tuple(SAVE_TARGETS)
        near = report.near(storage, known)
        report.say(names.UNKNOWN_STORAGE, at, suggestion=near, name=storage, known=", ".join(known))
