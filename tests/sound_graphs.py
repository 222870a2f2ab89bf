"""Playbooks whose ways mostly hold together: they lead forward, and names are there when used."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

Tree = dict[str, Any]

_KINDS = ("noop", "noop", "set", "http", "iterator", "sequence", "turn")
_CONDITIONS = ("{{ workload.a }}", "{{ workload.a > 1 }}", "{{ start is defined }}", True, None)
_SAVES = (
    {"storage": "file", "path": "/x", "on": "always"},
    {"storage": "event_log", "data": {"k": 1}},
)


@st.composite
def sound_graphs(draw: DrawFn) -> Tree:
    """Return a whole playbook, with steps of many kinds."""
    names = [f"s{n}" for n in range(1, draw(st.integers(1, 6)) + 1)]
    steps = [_step(draw, names, at) for at in range(len(names))]
    has_start, has_end = draw(st.booleans()), draw(st.booleans())
    begin: list[Tree] = [{"step": "start", "next": names[:1]}] if has_start else []
    end: list[Tree] = [{"step": "end"}] if has_end else []
    made: Tree = {
        "kind": "Playbook",
        "metadata": {"name": "g", "path": "g/g"},
        "workload": {"a": 1},
        "workflow": [*begin, *steps, *end],
    }
    turns = [one["turn"] for one in steps if "turn" in one]
    if len(turns) > 0 or draw(st.booleans()):
        made["mcp"] = _section(draw, turns)
    if draw(st.integers(0, 3)) == 0:
        made["finally"] = [{"step": "last", "type": "noop", **_data(draw, names)}]
    return made


def _step(draw: DrawFn, names: list[str], at: int) -> Tree:
    kind = draw(st.sampled_from(_KINDS))
    made: Tree = {"step": names[at], "type": kind, **_data(draw, names[:at])}
    if kind == "noop" and draw(st.booleans()):
        del made["type"]
    made |= _settings(draw, kind, names, at)
    if draw(st.integers(0, 7)) > 0:
        made["next"] = _ways(draw, names[at + 1 :])
    if draw(st.integers(0, 3)) == 0:
        made["on_error"] = _ways(draw, names[at + 1 :])
    if draw(st.booleans()):
        made["join"] = draw(st.sampled_from(["all", "any"]))
    if draw(st.integers(0, 3)) == 0:
        made["route"] = draw(st.sampled_from(["seed", "exclusive", "inclusive"]))
    if kind in ("noop", "http") and draw(st.integers(0, 3)) == 0:
        made["save"] = draw(st.sampled_from(_SAVES))
    return made


def _settings(draw: DrawFn, kind: str, names: list[str], at: int) -> Tree:
    match kind:
        case "set":
            return {"values": {"v": _read(draw, names[:at])}}
        case "http":
            return {"url": "http://x/" + _read(draw, names[:at])}
        case "iterator":
            return {"collection": _read(draw, names[:at]), "task": {"type": "noop"}}
        case "sequence":
            many = draw(st.integers(1, 3))
            return {"tasks": [{"type": "noop", "name": f"n{n}"} for n in range(many)]}
        case "turn":
            return {"turn": f"t{at}"}
    return {}


def _data(draw: DrawFn, earlier: list[str]) -> Tree:
    return {"data": {"k": _read(draw, earlier)}} if draw(st.booleans()) else {}


def _read(draw: DrawFn, earlier: list[str]) -> str:
    """Return a template that reads the workload, or a step that comes before."""
    seen = [f"{name}.x | default(1)" for name in earlier[-2:]]
    return "{{ " + draw(st.sampled_from(["workload.a", *seen])) + " }}"


def _ways(draw: DrawFn, later: list[str]) -> list[Any]:
    """Return ways to one or more of the steps that follow, some of them on a condition."""
    names = draw(st.lists(st.sampled_from([*later, "end"]), max_size=3))
    return [_way(draw, name) for name in [*later[:1], *names]]


def _way(draw: DrawFn, name: str) -> Any:
    form = draw(st.integers(0, 3))
    if form == 0:
        return name
    made: Tree = {"step": name}
    if form > 1:
        made["when"] = draw(st.sampled_from(_CONDITIONS))
    if form > 2:
        made["data"] = {"d": "{{ workload.a }}"}
    return made


def _section(draw: DrawFn, turns: list[str]) -> Tree:
    tool = {"name": "tt", "type": "http", "spec": {"url": "http://x"}}
    resource = {"name": "r1", "type": "http", "spec": {"url": "http://x/{{ workload.a }}"}}
    if draw(st.booleans()):
        resource["refresh"] = "each_use"
    return {
        "models": [{"name": "m"}],
        "tools": [tool],
        "resources": [resource],
        "turns": [_turn(draw, name, turns[:at]) for at, name in enumerate(turns)],
    }


def _turn(draw: DrawFn, name: str, earlier: list[str]) -> Tree:
    made: Tree = {"name": name, "model": "m", "user": [{"text": "do it"}]}
    if draw(st.booleans()):
        made["needs"] = draw(st.lists(st.sampled_from([*earlier, "r1"]), max_size=2, unique=True))
    if draw(st.booleans()):
        uses = ["resource:r1", *(f"turn:{one}" for one in earlier)]
        made["user"].append({"use": draw(st.sampled_from(uses))})
    if draw(st.booleans()):
        made["tools_allowed"] = ["tt"]
    return made


__all__ = ["sound_graphs"]
