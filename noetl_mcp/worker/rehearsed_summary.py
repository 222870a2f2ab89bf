"""Say in one sentence what a dry run found, and how its writes are called. Prints nothing."""

from noetl_mcp.worker.rehearsal import Rehearsed
from noetl_mcp.worker.rehearsed_writes import Write

_MOST_NAMES = 10


def summary_of(found: Rehearsed) -> str:
    """Return the verdict as a sentence; `everything` is said only when all of it was looked at."""
    if found.verdict in ("refused", "failed"):
        refused = [called(one) for one in found.writes if one.verdict == "refused"]
        told = found.error or {}
        said = str(told.get("message", "it would fail"))
        if refused:
            is_other = told and told.get("step") not in {one.step for one in found.writes}
            more = f"; {said}" if is_other else ""
            said = f"{_counted(len(refused), 'write')} would be refused: {_listed(refused)}{more}"
        return f"it would not get through: {said}{_gaps(found)}; nothing was written"
    perhaps = any(one.perhaps for one in found.writes)
    if found.verdict == "allowed" and not perhaps:
        return "everything would be allowed, nothing was written"
    allowed = sum(one.verdict == "allowed" and not one.perhaps for one in found.writes)
    might = sum(one.verdict == "allowed" and one.perhaps for one in found.writes)
    said = f"{_counted(allowed, 'write')} would be allowed" if found.writes else "no write was met"
    if might:
        said += f", and {might} more if {'it is' if might == 1 else 'they are'} reached"
    return f"{said}{_gaps(found)}; nothing was written"


def _gaps(found: Rehearsed) -> str:
    """Return the part of the verdict that names what could not be looked at."""
    steps = [name for name in found.unknown if name != "the result"]
    if not found.unknown:
        return ""
    if not steps:
        return "; the result will only be known when it runs"
    more = ", and the result" if len(steps) < len(found.unknown) else ""
    number = _counted(len(steps), "step")
    return f"; {number} could not be looked at wholly: {_listed(steps)}{more}"


def _listed(names: list[str]) -> str:
    return ", ".join(names[:_MOST_NAMES]) + (", …" if len(names) > _MOST_NAMES else "")


def _counted(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"


def place(one: Write) -> str:
    return one.step if one.playbook is None else f"{one.step} in {one.playbook}"


def called(one: Write) -> str:
    item = f"[{one.item}]" if one.item is not None else ""
    where = f" in {one.playbook}" if one.playbook is not None else ""
    return f"{one.step}{item}{where}"


__all__ = ["called", "place", "summary_of"]
