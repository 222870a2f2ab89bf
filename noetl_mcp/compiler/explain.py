"""Say in plain text what a plan will do: order, ways and conditions, hidden steps, writes."""

from typing import Any

from noetl_mcp.compiler.asked_for import asked_for
from noetl_mcp.compiler.dag import longest_way, most_at_once
from noetl_mcp.compiler.plan import LITERAL_MARK, TEMPLATE_MARK, Plan, PlanEdge, PlanStep

_CODE = ("code", "code_b64", "command_b64")
_SILENT = ("round", "name", "max_tool_rounds", "params_style", "enumerate", "tools")


def explain(plan: Plan) -> str:
    """Return the plan as text, one step after another in the order they can run."""
    lines = [*_head(plan), ""]
    lines += _inputs(plan)
    lines += ["Steps, in the order they can run:", ""]
    by_source: dict[int, list[PlanEdge]] = {}
    for edge in plan.edges:
        by_source.setdefault(edge.source, []).append(edge)
    width = len(str(len(plan.steps)))
    for number, step in enumerate(plan.steps):
        if step.name.startswith("$"):
            continue
        lines += _step(number, step, plan, by_source.get(number, []), width)
    lines += ["", *_result(plan), *_summary(plan)]
    return "\n".join(map(_printable, lines)).rstrip() + "\n"


def _printable(line: str) -> str:
    return line if line.isprintable() else "".join(c if c.isprintable() else "�" for c in line)


def _head(plan: Plan) -> list[str]:
    count = sum(1 for step in plan.steps if not step.hidden)
    hidden = sum(1 for step in plan.steps if step.hidden and not step.name.startswith("$"))
    more = f", {hidden} hidden" if hidden else ""
    steps = "step" if count == 1 else "steps"
    return [
        f"{plan.playbook['name']}  ({plan.playbook['path']})",
        f"plan {plan.digest[:12]}, {count} {steps}{more}",
    ]


def _inputs(plan: Plan) -> list[str]:
    if not plan.inputs:
        return []
    lines = ["Input:"]
    for one in plan.inputs:
        kind = one.get("type") or "any"
        words = [f"  {one['name']}: {kind}"]
        if one.get("required"):
            words.append("required")
        if "default" in one:
            default = _short(shown(one["default"], plan))
            words.append(f"default {default or repr(default)}")
        lines.append(", ".join(words))
    return [*lines, ""]


def _step(number: int, step: PlanStep, plan: Plan, ways: list[PlanEdge], width: int) -> list[str]:
    marks = [word for word in _marks(step) if word]
    tail = f"  [{', '.join(marks)}]" if marks else ""
    indent = " " * (width + 2)
    lines = [f"{number + 1:>{width}}. {step.name} ({step.type}){tail}"]
    lines += [f"{indent}  {line}" for line in _care(step, plan)]
    has_conditions = any(way.kind == "next" and way.when is not None for way in ways)
    for way in ways:
        target = plan.steps[way.target].name
        if target.startswith("$"):
            continue
        lines.append(f"{indent}  {_way(way, target, step, has_conditions, plan)}")
    return lines


def _marks(step: PlanStep) -> list[str]:
    more = step.more
    marks = ["hidden" if step.hidden else "", "writes" if step.writes else ""]
    if step.writes and not _is_save(step):
        marks.append("confirmed" if more.get("confirm") else "not confirmed")
        marks.append(_bounds(step))
    if more.get("join") == "any":
        marks.append("waits for the first way")
    if more.get("goes_on"):
        marks.append("a failure does not stop it")
    if more.get("phase") == "finally":
        marks.append("always runs at the end")
    if "within" in more:
        marks.append("for each call" if step.type == "turn.call" else "for each item")
    return marks


def _is_save(step: PlanStep) -> bool:
    """A save is asked for by being written, and puts its one result in one place."""
    return step.type.startswith("save.")


def _bounds(step: PlanStep) -> str:
    expect = step.more.get("expect")
    if not expect:
        return "unbounded"
    return ", ".join(f"{key} {value}" for key, value in expect.items() if key != "equals")


def _care(step: PlanStep, plan: Plan) -> list[str]:
    """Say what a reader wants to know of a step besides its ways on."""
    more, lines = step.more, []
    if "when" in more:
        condition = _short(bare(shown(more["when"], plan)))
        lines.append(f"only when {condition}" + ("" if _is_save(step) else ", else skipped"))
    settings = {} if step.type.startswith("turn") else more.get("settings", {})
    for key, value in settings.items():
        if key in _CODE:
            count = len(str(value).splitlines())
            lines.append(f"{key}: {count} line{'' if count == 1 else 's'}")
        elif key not in _SILENT and value not in (None, [], {}, False):
            lines.append(f"{key}: {_short(shown(value, plan))}")
    if _is_save(step):
        lines += _kept(more, plan)
    if "auth" in more:
        lines.append(f"auth: {_short(shown(more['auth'], plan))}")
    if more.get("input"):
        lines.append(f"input: {_short(shown(more['input'], plan))}")
    retry = more.get("retry")
    if retry:
        lines.append(
            f"up to {shown(retry['max_attempts'], plan)} attempts{_bounds_of(retry, plan)}"
        )
    repeat = more.get("repeat")
    if repeat:
        most = shown(repeat["max"], plan)
        then = ", and goes on when it is not" if repeat.get("on_max") == "continue" else ""
        lines.append(f"repeated, at most {most} times{_bounds_of(repeat, plan)}{then}")
    if "set" in more:
        lines.append(f"sets {_short(shown(more['set'], plan))} under ctx")
    if "assert" in more:
        lines.append(f"checked: {_short(shown(more['assert'], plan))}")
    if "timeout" in more:
        lines.append(f"each attempt at most {shown(more['timeout'], plan)} s")
    for save in more.get("save", ()):
        lines.append(f"saved to {save['storage']}")
    for limit in more.get("limits", ()):
        lines.append(f"limited by '{shown(limit['name'], plan)}'")
    return lines


def _kept(save: Any, plan: Plan) -> list[str]:
    """Say what a save keeps, and what becomes of what is there."""
    lines = []
    if "mode" in save:
        key = save.get("key")
        names = ", ".join(map(str, key)) if isinstance(key, list) else key
        lines.append(f"mode: {save['mode']}" + (f" by {names}" if names else ""))
    if "data" in save:
        lines.append(f"data: {_short(shown(save['data'], plan))}")
    return lines


def _bounds_of(care: Any, plan: Plan) -> str:
    """Say when a retry or a loop goes on and when it stops."""
    words = {
        "retry_when": "while",
        "while": "while",
        "until": "until",
        "stop_when": "until",
    }
    parts = [
        f" {word} {_short(bare(shown(care[key], plan)))}"
        for key, word in words.items()
        if key in care
    ]
    return ",".join(parts)


def _way(way: PlanEdge, target: str, step: PlanStep, has_conditions: bool, plan: Plan) -> str:
    if way.kind == "need":
        return f"⇢ {target} waits for its result"
    if way.kind in ("error", "failed"):
        word = "when it failed" if way.kind == "error" else "when it failed, looking on"
        return f"✗ {target} {word}{_condition(way, plan)}"
    if way.when is None and has_conditions and step.more.get("route") != "inclusive":
        return f"→ {target} otherwise{_payload(way, plan)}"
    first = " (the first that holds)" if step.more.get("route") == "exclusive" else ""
    return f"→ {target}{_condition(way, plan)}{first}{_payload(way, plan)}"


def _condition(way: PlanEdge, plan: Plan) -> str:
    if way.when is None:
        return ""
    if isinstance(way.when, bool):
        return " always" if way.when else " never"
    text = str(plan.templates[way.when]["text"])
    return f" when {_short(bare(text))}"


def _payload(way: PlanEdge, plan: Plan) -> str:
    return f" with {_short(shown(way.data, plan))}" if way.data else ""


def _result(plan: Plan) -> list[str]:
    if "value" in plan.result:
        name = plan.steps[plan.result["step"]].name
        return [f"Result: {_short(shown(plan.result['value'], plan))} (from '{name}')"]
    names = [plan.steps[number].name for number in plan.result.get("last_of", ())]
    if not names:
        return ["Result: none"]
    if len(names) == 1:
        return [f"Result: that of {names[0]}"]
    return [f"Result: that of the first of these that ran: {_short(', '.join(names))}"]


def _summary(plan: Plan) -> list[str]:
    """Say what is changed, and what of it nothing holds back."""
    writing = [step for step in plan.steps if step.writes]
    lines = []
    if writing:
        lines.append(f"Writes: {', '.join(step.name for step in writing)}")
        steps = [step for step in writing if not _is_save(step)]
        loose = [step.name for step in steps if not step.more.get("expect")]
        if loose:
            lines.append(f"Unbounded: {', '.join(loose)}")
        asked = [step.name for step in steps if not step.more.get("confirm")]
        if asked:
            lines.append(f"Not confirmed: {', '.join(asked)}")
    else:
        lines.append("Writes: nothing")
    lines += _asked_for(plan)
    tools = [name for name, tool in plan.tools.items() if tool.get("writes")]
    if tools:
        lines.append(f"Tools that write: {', '.join(tools)}")
    way = longest_way(plan)
    side = most_at_once(plan)
    beside = f"; up to {side} steps side by side" if side > 1 else ""
    lines.append(f"Longest way: {_short(' → '.join(way))} ({len(way)} steps){beside}")
    return lines


def _asked_for(plan: Plan) -> list[str]:
    """Name the secrets and credentials that must be there when it runs."""
    asked = asked_for(plan.content)
    lines = [f"Secrets: {', '.join(asked.secrets)}"] if asked.secrets else []
    return lines + ([f"Credentials: {', '.join(asked.credentials)}"] if asked.credentials else [])


def bare(text: str) -> str:
    """Return the expression of a lone template, or the text as it is."""
    inner = text.strip()
    if inner.startswith("{{") and inner.endswith("}}") and inner.count("{{") == 1:
        return inner[2:-2].strip()
    return inner


def shown(value: Any, plan: Plan) -> str:
    """Write a value of the plan with its templates as they were written."""
    if isinstance(value, dict):
        if set(value) == {TEMPLATE_MARK}:
            return str(plan.templates[value[TEMPLATE_MARK]]["text"])
        inside = value.get(LITERAL_MARK, value)
        return (
            "{" + ", ".join(f"{key}: {shown(child, plan)}" for key, child in inside.items()) + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(shown(child, plan) for child in value) + "]"
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _short(text: str, most: int = 100) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"
