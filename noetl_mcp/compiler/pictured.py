"""Turn a plan into a picture: which boxes and arrows a reader wants to see."""

from noetl_mcp.compiler.explain import bare
from noetl_mcp.compiler.picture.drawing import Arrow, ArrowKind, Box, Picture
from noetl_mcp.compiler.plan import Plan, PlanEdge, PlanStep

_KINDS: dict[str, ArrowKind] = {"next": "next", "error": "error", "failed": "error", "need": "need"}


def picture_of(plan: Plan) -> Picture:
    """Return the steps of a plan as boxes and its ways as arrows, without the hidden last step."""
    shown = {n: step for n, step in enumerate(plan.steps) if not step.name.startswith("$")}
    boxes = tuple(_box(step) for step in shown.values())
    arrows = [
        Arrow(shown[e.source].name, shown[e.target].name, _label(e, plan), _KINDS[e.kind])
        for e in plan.edges
        if e.source in shown and e.target in shown
    ]
    for step in shown.values():
        owner = step.more.get("within")
        inner = step.more.get("speaks_for")
        if owner is not None and inner is None and not _is_behind(step, plan):
            arrows.append(Arrow(plan.steps[owner].name, step.name, "for each item", "need"))
    return Picture(str(plan.playbook["name"]), boxes, tuple(arrows))


def _is_behind(step: PlanStep, plan: Plan) -> bool:
    """Whether a body step follows another one of the same body."""
    number = plan.index(step.name)
    return any(edge.target == number for edge in plan.edges)


def _box(step: PlanStep) -> Box:
    return Box(step.name, step.type, step.hidden, step.writes, _note(step))


def _note(step: PlanStep) -> str:
    if step.more.get("phase") == "finally":
        return "always at the end"
    return "first way wins" if step.more.get("join") == "any" else ""


def _label(edge: PlanEdge, plan: Plan) -> str:
    if edge.kind == "need":
        return ""
    if edge.when is None:
        return _otherwise(edge, plan) if edge.kind == "next" else "failed"
    if isinstance(edge.when, bool):
        return "always" if edge.when else "never"
    return bare(str(plan.templates[edge.when]["text"]))


def _otherwise(edge: PlanEdge, plan: Plan) -> str:
    step = plan.steps[edge.source]
    if step.more.get("route") == "inclusive":
        return ""
    first, last = plan.arrays["succ_at"][edge.source : edge.source + 2]
    beside = (plan.edges[number] for number in plan.arrays["edge"][first:last])
    return "else" if any(way.kind == "next" and way.when is not None for way in beside) else ""
