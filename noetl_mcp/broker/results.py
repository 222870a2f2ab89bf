"""How the result of a step looks to templates: its own keys, and what every result has beside them.

Gives views, which the renderer knows: `{{ s }}` is the plain result, `{{ s.status }}` looks around
it. Copies nothing but the few keys of an iterator or a failure, and changes nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from noetl_mcp.playbook.node import Json
from noetl_mcp.playbook.rendering.views import ITSELF, NOTHING, Fallback, Items, View

State = Literal["done", "failed", "skipped", "cancelled", "dead"]
Tasks = Callable[[], dict[str, Json]]

_META: dict[str, Json] = {}
_DONE: tuple[Fallback, ...] = (
    {"status": "completed", "error": None, "meta": _META, "data": ITSELF, "result": ITSELF},
)
_GOOD = frozenset(("completed", "done", "ok", "success", "succeeded"))
_BAD = frozenset(("failed", "error", "failure"))
_ENVELOPE = ("status_code", "headers", "url", "elapsed")


@dataclass(slots=True)
class Known:
    """What came of a step, or of one attempt of it: result, error and meta are JSON."""

    state: State
    result: Any = None
    error: Any = None
    meta: Any = None
    attempt: int = 1

    @property
    def failed(self) -> bool:
        """Whether it ended badly, so that its error is what there is to read."""
        return self.state in ("failed", "dead")


_WITH_BODY = frozenset(("http", "mcp"))
"""What answers with an envelope: keys of its `data` are seen without it too."""


def view(
    kind: str,
    result: Json,
    *,
    status: str = "completed",
    error: Json = None,
    meta: Json = None,
    tasks: Tasks | None = None,
) -> View:
    """Return how the result of a step of a kind is seen by name.

    `status`, `error`, `meta`, `data` and `result` are there wherever the result has no key of that
    name. `tasks` gives the results of a sequence's tasks by their names.
    """
    if status != "completed" or error is not None:
        return _failed(kind, result, status, error, meta)
    fallbacks = _DONE
    if meta is not None:
        fallbacks = ({"meta": meta}, *_DONE)
    if kind in _WITH_BODY and isinstance(result, dict):
        return View(result, _with_body(result, fallbacks))
    if kind == "iterator" and isinstance(result, dict):
        return View(_listed(result), fallbacks)
    if tasks is not None:
        return View(result, (_Results(tasks), *fallbacks))
    return View(result, fallbacks)


def _failed(kind: str, result: Json, status: str, error: Json, meta: Json) -> View:
    """A failure is a map that holds the error, beside whatever result there was nevertheless."""
    around: dict[str, object] = {"status": status, "meta": _META if meta is None else meta}
    own: dict[str, Json] = {"error": error}
    if result is not None:
        around |= {"data": ITSELF, "result": ITSELF}
    if isinstance(result, dict):
        own = {**result, "error": error}
    elif result is not None:
        around |= {"data": result, "result": result}
    first = {"status": status} if "status" in own else NOTHING
    return View(own, _with_body(own, (around,)) if kind in _WITH_BODY else (around,), first)


def _with_body(result: Mapping[str, Json], fallbacks: tuple[Fallback, ...]) -> tuple[Fallback, ...]:
    body = result.get("data")
    return (body, *fallbacks) if isinstance(body, dict) else fallbacks


def _listed(result: dict[str, Json]) -> Any:
    results = result.get("results")
    return Items(result, results) if isinstance(results, list) else result


class _Results:
    """The results of a sequence's tasks, gathered when they are asked for."""

    __slots__ = ("tasks",)

    def __init__(self, tasks: Tasks) -> None:
        self.tasks = tasks

    def __contains__(self, name: object, /) -> bool:
        return name == "results"

    def __getitem__(self, name: str, /) -> object:
        return self.tasks()


def view_of(kind: str, known: Known, tasks: Tasks | None = None) -> View:
    """Return how other steps see what came of a step."""
    if known.failed:
        return _failed(kind, known.result, known.state, known.error or {}, known.meta)
    return view(kind, known.result, meta=known.meta, tasks=tasks)


class Standing(str):
    """How an attempt ended, equal to every word that a dialect has for it."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        words = _GOOD if str.__str__(self) in _GOOD else _BAD
        return isinstance(other, str) and str.__str__(other) in words

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(str.__str__(self) in _GOOD)


def this_of(kind: str, known: Known, tasks: Tasks | None = None) -> View:
    """Return what a step's own templates see as `this`: below `data` an answer's envelope too."""
    seen = view_of(kind, known, tasks)
    result = known.result
    if kind != "http" or known.failed or not isinstance(result, dict) or "data" not in result:
        return seen
    envelope = {key: result[key] for key in _ENVELOPE if key in result}
    return View(seen.value, seen.fallbacks, {"data": View(result["data"], (envelope,))})


def output_of(kind: str, known: Known, tasks: Tasks | None = None) -> View:
    """Return what a step's own templates see as `output`, in which `status` is never a result's.

    Below its `data` stands the result as it is.
    """
    seen = view_of(kind, known, tasks)
    first: dict[str, object] = {"status": Standing("failed" if known.failed else "completed")}
    if known.failed and isinstance(known.error, dict):
        error = known.error
        more = {"kind": error.get("code"), "retryable": bool(error.get("retriable"))}
        first["error"] = View(error, (more,))
    headers = known.result.get("headers") if isinstance(known.result, dict) else None
    around: dict[str, object] = {
        "http": {"status": status_code(known), "headers": headers or {}},
    }
    if not known.failed or known.result is not None:
        around |= {"data": seen, "result": seen}
    return View(seen.value, (around, *seen.fallbacks), first)


def status_code(known: Known) -> int:
    """Return the HTTP status that an attempt got; 0 when it got none, so it can be compared."""
    error = known.error if isinstance(known.error, dict) else {}
    for place in (known.result, error, error.get("details")):
        code = place.get("status_code") if isinstance(place, dict) else None
        if isinstance(code, int) and not isinstance(code, bool):
            return code
    return 0


__all__ = [
    "Known",
    "Standing",
    "State",
    "Tasks",
    "output_of",
    "status_code",
    "this_of",
    "view",
    "view_of",
]
