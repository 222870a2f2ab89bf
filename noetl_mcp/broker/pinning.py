"""See, before an execution starts, that all of it can be run, and fix which versions of other
playbooks it runs.

Follows every playbook that a step names as it stands; one that a template names is known only when
its step comes, and is then the newest. Starts nothing.
"""

from collections.abc import Callable, Iterator

from noetl_mcp.broker.program import Node, Program
from noetl_mcp.broker.refusals import NotAllowed
from noetl_mcp.tasks.registry import runs_yet

Find = Callable[[str, int | None], tuple[int, int] | None]
"""(plan, version) of a playbook in the catalog; of the newest one when no version is named."""


class CannotRun(NotAllowed):
    """A step of an execution could never be done, so it is not started."""


def pinned(program: Program, find: Find, read: Callable[[int], Program]) -> dict[str, int]:
    """Return the version of each playbook that is run as the newest; raise CannotRun."""
    pins: dict[str, int] = {}
    seen = {program.plan_id}
    waiting = [program]
    while waiting:
        one = waiting.pop()
        _demand_known_types(one)
        for node, path, version in _children(one):
            found = find(path, pins.get(path) if version is None else version)
            if found is None:
                which = "the playbook" if version is None else f"version {version} of the playbook"
                raise CannotRun(
                    f"step '{node.name}' of '{one.path}' runs {which} '{path}', which is not"
                    " in the catalog; submit it first"
                )
            plan, number = found
            if version is None:
                pins[path] = number
            if plan not in seen:
                seen.add(plan)
                waiting.append(read(plan))
    return pins


def _demand_known_types(program: Program) -> None:
    for node in program.nodes:
        if not runs_yet(node.type):
            raise CannotRun(
                f"step '{node.name}' of '{program.path}' is of type '{node.type}', which does not"
                " run yet"
            )


def _children(program: Program) -> Iterator[tuple[Node, str, int | None]]:
    """Yield the steps that name a playbook as it stands: (step, path, version)."""
    for node in program.nodes:
        if node.type != "playbook":
            continue
        settings = node.more["settings"]
        path, version = settings.get("path"), settings.get("version", "latest")
        if not isinstance(path, str) or isinstance(version, dict):
            continue
        yield node, path, None if version == "latest" else int(version)


__all__ = ["CannotRun", "Find", "pinned"]
