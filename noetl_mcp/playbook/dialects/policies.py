"""Read the newest form's policy rules into retry, checks, `on_error` and `set`."""

import re

from noetl_mcp.playbook.dialects.conditions import bare, read_condition
from noetl_mcp.playbook.dialects.reading import Entries, Reading
from noetl_mcp.playbook.node import Node
from noetl_mcp.rules import dialect, shape

_IS_ERROR = re.compile(r"""^output\.status\s*==\s*(['"])error\1""")
_IS_OK = re.compile(r"""^output\.status\s*==\s*(['"])(?:ok|success)\1$""")
_MOST_RULES = 200
_FACTORS = {"none": 1.0, "linear": 1.5, "exponential": 2.0}


def read_policies(policy: Node, entries: Entries, reading: Reading) -> None:
    """Read a `policy` block: `rules` of a task; `admit` is read by the step itself."""
    if policy.mapping is None:
        reading.wrong_kind(policy, "'policy'", "a map of keys", "write 'policy: {rules: […]}'")
        return
    inner = dict(policy.mapping)
    rules = inner.pop("rules", None)
    admit = inner.pop("admit", None)
    if admit is not None:
        entries["admit"] = admit
    listed = (rules.items or []) if rules is not None else []
    for item in listed[:_MOST_RULES]:
        _rule(item, entries, reading)
    if len(listed) > _MOST_RULES:
        problem = f"there are more than {_MOST_RULES} rules"
        _refuse(reading, listed[_MOST_RULES], problem, "put what differs into steps of its own")
    reading.drop(inner, *list(inner))


def rule_parts(node: Node, reading: Reading) -> tuple[Node | None, Entries] | None:
    """Split a rule into its condition and what follows; None when it cannot be read."""
    if node.mapping is None:
        reading.wrong_kind(node, "a rule", "a map of keys", "write '- {when: …, then: {do: …}}'")
        return None
    rule = dict(node.mapping)
    other, then, when = rule.pop("else", None), rule.pop("then", None), rule.pop("when", None)
    if other is not None:
        if other.value is None and then is not None:
            reading.say(shape.MISPLACED_ELSE, other, at_key=True)
        then = other.get("then") or (other if other.mapping else then)
        when = None
    for key, child in rule.items():
        reading.say(
            shape.UNKNOWN_KEY,
            child,
            at_key=True,
            where="a rule",
            key=key,
            known="when, then, else",
            suggestion="when" if key in ("cond", "condition", "expr", "if") else None,
        )
    if when is not None:
        when = read_condition(when, reading)
    return when, dict(then.mapping or {}) if then is not None else {}


def _rule(node: Node, entries: Entries, reading: Reading) -> None:
    parts = rule_parts(node, reading)
    if parts is None:
        return
    when, then = parts
    do = then.get("do") or then.get("action")
    word = str(do.value) if do is not None else "continue"
    condition = bare(when)
    if word == "retry":
        _retry(entries, when, then, node)
    elif word == "fail":
        _fail(entries, condition, when, node)
    elif word == "continue":
        if condition and _IS_ERROR.match(condition):
            entries["on_error"] = node.become("continue")
    elif word == "break":
        _refuse(
            reading, do or node, "'do: break'", "put the tasks behind it into steps of their own"
        )
    elif word == "jump":
        _refuse(reading, do or node, "'do: jump'", "use 'repeat: {until: …, max: …}' for a loop")
    else:
        _refuse(reading, do or node, f"'do: {word}'", "write retry, continue or fail")
    _set(entries, condition, then.get("set"))


def _retry(entries: Entries, when: Node | None, then: Entries, node: Node) -> None:
    former = entries.get("retry")
    retry = dict(former.mapping or {}) if former is not None else {}
    attempts = then.get("attempts") or then.get("max_attempts")
    if attempts is not None:
        retry["max_attempts"] = attempts
    if "delay" in then:
        retry["initial_delay"] = then["delay"]
    backoff = then.get("backoff")
    if backoff is not None:
        factor = _FACTORS.get(str(backoff.value))
        retry["backoff_multiplier"] = backoff if factor is None else backoff.become(factor)
    if when is not None:
        one, other = bare(when), bare(retry.get("retry_when"))
        both = f"({other}) or ({one})" if other else one
        retry["retry_when"] = when.become("{{ " + str(both) + " }}")
    entries["retry"] = node.become(dict(retry))


def _fail(entries: Entries, condition: str | None, when: Node | None, node: Node) -> None:
    if condition is None or when is None or _IS_ERROR.match(condition):
        return
    former = entries.get("assert")
    checks = dict(former.mapping or {}) if former is not None else {}
    that = checks.get("that")
    holds = when.become("{{ not (" + condition + ") }}")
    checks["that"] = node.become([*((that.items or []) if that else []), holds])
    entries["assert"] = node.become(dict(checks))


def _set(entries: Entries, condition: str | None, given: Node | None) -> None:
    if given is None or given.mapping is None:
        return
    former = entries.get("set")
    names = dict(former.mapping or {}) if former is not None else {}
    for key, child in given.mapping.items():
        name = key.split(".", 1)[-1] if key.startswith(("ctx.", "iter.", "step.")) else key
        always = condition is None or _IS_OK.match(condition)
        names[name] = child if always else _conditional(child, str(condition), name)
    entries["set"] = given.become(dict(names))


def _conditional(child: Node, condition: str, name: str) -> Node:
    text = child.text
    lone = text is not None and text.strip().startswith("{{") and text.count("{{") == 1
    value = bare(child) if lone else _literal(child)
    return child.become(
        "{{ (" + f"{value}) if ({condition}) else ctx.{name} | default(none)" + " }}"
    )


def _literal(child: Node) -> str:
    value = child.value
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_literal(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return repr(value).lower() if value is None or isinstance(value, bool) else repr(value)


def _refuse(reading: Reading, node: Node, problem: str, cure: str) -> None:
    reading.say(dialect.POLICY, node, problem=problem, cure=cure)
