"""Pass: every name points at something, once. Changes nothing but what it assumes was meant.

Before: a draft with nothing but its playbook. After: the same, and `assumed` maps each step name
that does not exist to the nearest that does, so that one misspelling is one finding.
"""

from collections.abc import Iterator, Mapping, Sequence

from noetl_mcp.compiler.draft import Draft
from noetl_mcp.compiler.mcp_names import (
    is_known,
    resolve_mcp,
    say_storage,
    with_nameless,
)
from noetl_mcp.diagnostics import Report
from noetl_mcp.playbook.model import UNSAID, Action, Edge, Playbook, Step
from noetl_mcp.playbook.node import Path
from noetl_mcp.playbook.references import FIXED_NAMES
from noetl_mcp.rules import names, shape
from noetl_mcp.tasks.elsewhere import instead_of
from noetl_mcp.tasks.registry import broken_offer

STRUCTURE = ("workbook", "iterator", "sequence", "turn")


def resolve(draft: Draft, report: Report) -> Draft:
    """Check every name that is not inside a template."""
    book = draft.playbook
    _doubles(book, report)
    _taken(book, report)
    meant: set[str] = set()
    workbook = with_nameless(one.name for one in book.workbook if one.name)
    for action, at in actions(book):
        _type(action, at, draft, report)
        meant |= _action_name(action, at, workbook, report)
        _storages(action, at, report)
        _repeat(action, at, report)
    resolve_mcp(draft, report)
    return draft.with_(assumed=_targets(book, report), assumed_actions=frozenset(meant))


def actions(book: Playbook) -> Iterator[tuple[Action, Path]]:
    """Yield every action of a playbook with its place, nested ones included."""
    for section in ("workbook", "workflow", "finally"):
        listed = book.finally_ if section == "finally" else getattr(book, section)
        for index, action in enumerate(listed):
            yield from _nested(action, (section, index))


def _nested(action: Action, at: Path) -> Iterator[tuple[Action, Path]]:
    yield action, at
    if action.task is not None:
        yield from _nested(action.task, (*at, "task"))
    if action.check is not None:
        yield from _nested(action.check, (*at, "check"))
    for index, task in enumerate(action.tasks):
        yield from _nested(task, (*at, "tasks", index))
    iterator = action.iterator if isinstance(action, Step) else None
    if iterator is not None and iterator.task is not None:
        yield from _nested(iterator.task, (*at, "iterator", "task"))


def named(at: Path, action: Action) -> str:
    """Say which step or action is meant."""
    if isinstance(action, Step):
        return f"step '{action.step}'"
    return f"action '{action.name}'" if action.name else "an action"


def _doubles(book: Playbook, report: Report) -> None:
    steps: list[tuple[str, Path]] = [
        (step.step, (section, index, "step"))
        for section, listed in (("workflow", book.workflow), ("finally", book.finally_))
        for index, step in enumerate(listed)
    ]
    say_doubles("the step", steps, report)
    workbook = [(a.name, ("workbook", i, "name")) for i, a in enumerate(book.workbook) if a.name]
    say_doubles("the workbook action", workbook, report)


def say_doubles(what: str, named_at: Sequence[tuple[str, Path]], report: Report) -> None:
    """Report names that are given twice."""
    seen: dict[str, Path] = {}
    for name, at in named_at:
        if name in seen:
            first = report.source.place(seen[name], key=False, word=None).line
            report.say(names.DUPLICATE_NAME, at, what=what, name=name, first=first)
        seen.setdefault(name, at)


def _taken(book: Playbook, report: Report) -> None:
    """Steps, resources and turns share one space of names with the fixed ones."""
    steps = {step.step: step for step in (*book.workflow, *book.finally_)}
    for section, listed in (("workflow", book.workflow), ("finally", book.finally_)):
        for index, step in enumerate(listed):
            if step.step in FIXED_NAMES:
                spot = (section, index, "step")
                report.say(names.NAME_TAKEN, spot, what="a step", name=step.step, why=_FIXED)
    mcp = book.mcp
    if mcp is None:
        return
    resources = {resource.name for resource in mcp.resources}
    for index, resource in enumerate(mcp.resources):
        why = _FIXED if resource.name in FIXED_NAMES else _CLASH.format("step")
        if resource.name in FIXED_NAMES or resource.name in steps:
            place: Path = ("mcp", "resources", index, "name")
            report.say(names.NAME_TAKEN, place, what="a resource", name=resource.name, why=why)
    for index, turn in enumerate(mcp.turns):
        at: Path = ("mcp", "turns", index, "name")
        places_itself = turn.name in steps and steps[turn.name].turn == turn.name
        if turn.name in FIXED_NAMES:
            report.say(names.NAME_TAKEN, at, what="a turn", name=turn.name, why=_FIXED)
        elif turn.name in resources or (turn.name in steps and not places_itself):
            other = "resource" if turn.name in resources else "step"
            why = _CLASH.format(other)
            report.say(names.NAME_TAKEN, at, what="a turn", name=turn.name, why=why)


_FIXED = "templates know this name already"
_CLASH = "a {} has that name"


def _type(action: Action, at: Path, draft: Draft, report: Report) -> None:
    kind = action.type
    if kind is None or kind == UNSAID or kind in STRUCTURE or kind in draft.tasks:
        return
    cure = instead_of(kind)
    if cure is not None:
        where = named(at, action)
        report.say(names.TYPE_ELSEWHERE, (*at, "type"), where=where, name=kind, cure=cure)
        return
    broken = broken_offer(kind)
    if broken is not None:
        report.say(
            names.BROKEN_TASK_TYPE,
            (*at, "type"),
            where=named(at, action),
            name=kind,
            origin=broken.comes_from,
            problem=broken.problem,
        )
        return
    known = sorted((*draft.tasks, *STRUCTURE))
    report.say(
        names.UNKNOWN_TASK_TYPE,
        (*at, "type"),
        suggestion=report.near(kind, known),
        where=named(at, action),
        name=kind,
        known=", ".join(known),
    )


def _action_name(action: Action, at: Path, known: set[str], report: Report) -> set[str]:
    """Check the workbook actions an action asks for; return those that were probably meant."""
    wanted: list[tuple[str, Path]] = []
    if action.calls is not None:
        wanted.append((action.calls, (*at, "calls")))
    iterator = action.iterator if isinstance(action, Step) else None
    if iterator is not None and iterator.calls is not None:
        wanted.append((iterator.calls, (*at, "iterator", "calls")))
    meant: set[str] = set()
    for name, place in wanted:
        if not is_known(name, known):
            near = report.near(name, known)
            where = named(at, action)
            report.say(names.UNKNOWN_ACTION, place, suggestion=near, where=where, name=name)
            meant |= {near} if near else set()
    return meant


def _repeat(action: Action, at: Path, report: Report) -> None:
    """A loop goes on while, or until: one of the two."""
    repeat = action.repeat if isinstance(action, Step) else None
    if repeat is None:
        return
    if repeat.while_ is not None and repeat.until is not None:
        place = (*at, "repeat", "until")
        report.say(
            shape.KEYS_TOGETHER, place, at_key=True, where="'repeat'", first="while", second="until"
        )
    if repeat.while_ is None and repeat.until is None:
        place = (*at, "repeat")
        report.say(shape.MISSING_ONE_OF, place, where="'repeat'", keys="until, while")


def _storages(action: Action, at: Path, report: Report) -> None:
    for index, save in enumerate(action.save):
        say_storage(save.storage, (*at, "save", index, "storage"), report)


def _targets(book: Playbook, report: Report) -> Mapping[str, str]:
    assumed: dict[str, str] = {}
    for section, listed in (("workflow", book.workflow), ("finally", book.finally_)):
        known = with_nameless(step.step for step in listed)
        for index, step in enumerate(listed):
            edges: list[tuple[Edge, Path]] = [
                (edge, (section, index, "next", n)) for n, edge in enumerate(step.next or ())
            ]
            if step.on_error is not None:
                at = (section, index, "on_error", "edges")
                edges += [(edge, (*at, n)) for n, edge in enumerate(step.on_error.edges)]
            for edge, place in edges:
                if is_known(edge.step, known) or (edge.step == "end" and "end" not in known):
                    continue
                near = report.near(edge.step, known)
                where = f"step '{step.step}'"
                place = (*place, "step")
                report.say(names.UNKNOWN_STEP, place, suggestion=near, where=where, name=edge.step)
                if near is not None:
                    assumed[edge.step] = near
    return assumed
