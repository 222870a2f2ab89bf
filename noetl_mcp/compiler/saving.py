"""Make hidden nodes of saves that go outside the log. Part of the pass `bind`."""

from noetl_mcp.compiler.draft import Edge, Node, Placed
from noetl_mcp.compiler.settings import Place, check_against
from noetl_mcp.diagnostics import Report
from noetl_mcp.playbook.node import Path
from noetl_mcp.rules import dialect, shape
from noetl_mcp.tasks.save_targets import SAVE_TARGETS
from noetl_mcp.tasks.settings_model import spellings

_SAVE_KEYS = ("storage", "data", "when", "on", "mode", "key", "on_failure", "auth", "name")
_KEPT = ("data", "when", "mode", "key", "on_failure", "auth")


def save_nodes(node: Node, nodes: dict[str, Node], edges: list[Edge], report: Report) -> str:
    """Add the saves of a node behind it; return the node that its ways on start from.

    Saves to the log stay with the node. One after success stands between the node and its ways
    on; one after an error only looks on, so that the failure stays one.
    """
    saves = node.care.get("save")
    if saves is None:
        return node.name
    last, kept = node.name, []
    for index, save in enumerate(saves.value):
        at = saves.down(index)
        if save["storage"] == "event_log" or save["storage"] not in SAVE_TARGETS:
            kept.append(save)
            if save["storage"] == "event_log":
                _say_lost(save, node, at, report)
            continue
        name = f"{node.name}.save.{index + 1}"
        made = _save_node(name, node, save, at, report)
        if save["on"] in ("success", "always"):
            nodes[name] = made
            edges.append(Edge(last, name, at=at))
            last = name
        if save["on"] in ("error", "always"):
            other = name if save["on"] == "error" else f"{name}.error"
            nodes[other] = made.with_(name=other)
            edges.append(Edge(node.name, other, "failed", at=at))
    care = {**node.care, "save": Placed(kept, saves.at)}
    if not kept:
        del care["save"]
    nodes[node.name] = nodes[node.name].with_(care=care)
    return last


def _say_lost(save: dict[str, object], node: Node, at: Path, report: Report) -> None:
    """A save to the log takes no settings: those that stand there were meant for another place."""
    given = save.get("settings")
    elsewhere = {key for target in SAVE_TARGETS.values() for key in spellings(target.settings)}
    for key in given if isinstance(given, dict) else ():
        near = report.near(key, _SAVE_KEYS)
        rule = shape.UNKNOWN_KEY if near or key in elsewhere else dialect.DROPPED_KEY
        report.say(
            rule,
            (*at, "settings", key),
            at_key=True,
            suggestion=near,
            where=f"the save of {node.told()} to the event log",
            key=key,
            known=", ".join(_SAVE_KEYS),
        )


def _save_node(name: str, node: Node, save: dict[str, object], at: Path, report: Report) -> Node:
    target = SAVE_TARGETS[str(save["storage"])]
    where = f"the save of step '{node.name}'"
    given = save.get("settings")
    settings = {
        key: Placed(value, (*at, "settings", key))
        for key, value in (given.items() if isinstance(given, dict) else ())
    }
    place = Place(where, (*at, "storage"))
    groups = target.required_one_of
    checked = check_against(target.settings, settings, place, report, groups=groups)
    mode = save.get("mode")
    if mode == "upsert" and mode in target.modes and "key" not in save and "sql" not in checked:
        upsert = f"{where} with 'mode: upsert'"
        report.say(shape.MISSING_KEY, (*at, "mode"), where=upsert, key="key")
    if mode is not None and mode not in target.modes:
        wanted = " or ".join(sorted(target.modes))
        report.say(shape.WRONG_VALUE, (*at, "mode"), key="mode", wanted=wanted, found=f"'{mode}'")
    return Node(
        name,
        f"save.{target.name}",
        at,
        checked,
        care={key: Placed(save[key], (*at, key)) for key in _KEPT if key in save},
        hidden=True,
        phase=node.phase,
        within=node.within,
        speaks_for=node.name,
        siblings=node.siblings,
        writes=target.writes({key: placed.value for key, placed in checked.items()}),
    )
