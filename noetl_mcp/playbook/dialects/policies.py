"""Read the newest form's policy rules into retry, checks, `on_error` and `set`."""

import re

from noetl_mcp.playbook.dialects.conditions import bare, read_condition
from noetl_mcp.playbook.dialects.reading import Entries, Reading
from noetl_mcp.playbook.node import Node
from noetl_mcp.playbook.template import TemplateProblem, read_template
from noetl_mcp.playbook.values import is_template
from noetl_mcp.rules import dialect, shape, templates

_IS_ERROR = re.compile(r"""^output\.status\s*==\s*(['"])error\1""")
_IS_OK = re.compile(r"""^output\.status\s*==\s*(['"])(?:ok|success)\1""")
_MOST_RULES = 50
_FACTORS = {"none": 1.0, "linear": 1.5, "exponential": 2.0}


def read_policies(policy: Node, entries: Entries, reading: Reading) -> None:
    """Read the `rules` of a task."""
    if policy.mapping is None:
        reading.wrong_kind(policy, "'policy'", "a map of keys", "write 'policy: {rules: […]}'")
        return
    inner = dict(policy.mapping)
    rules = inner.pop("rules", None)
    listed = reading.listed(rules, "'rules'", "when") if rules is not None else []
    earlier: list[str] = []
    for item in listed[:_MOST_RULES]:
        _rule(item, entries, earlier, reading)
    if len(listed) > _MOST_RULES:
        problem = f"there are more than {_MOST_RULES} rules"
        _refuse(reading, listed[_MOST_RULES], problem, "put what differs into steps of its own")
    reading.drop(inner, *list(inner), known=("rules", "admit"))


def take_admission(entries: Entries, reading: Reading) -> None:
    """Turn `spec.policy.admit` of a step into its `when`."""
    spec = entries.get("spec")
    policy = spec.get("policy") if spec is not None else None
    admit = policy.get("admit") if policy is not None else None
    if spec is None or policy is None or admit is None:
        return
    rest = {key: child for key, child in (policy.mapping or {}).items() if key != "admit"}
    inner = {key: child for key, child in (spec.mapping or {}).items() if key != "policy"}
    if rest:
        inner["policy"] = policy.become(rest)
    entries.pop("spec")
    if inner:
        entries["spec"] = spec.become(inner)
    condition = _admission(admit, reading)
    if condition is not None:
        entries.setdefault("when", condition)


def _admission(admit: Node, reading: Reading) -> Node | None:
    """Return the condition under which a step is admitted: the first rule that fits decides."""
    rules = admit.get("rules")
    listed = reading.listed(rules, "'rules'", "when") if rules is not None else []
    rest = {key: child for key, child in (admit.mapping or {}).items() if key != "rules"}
    reading.drop(rest, *[key for key in rest if key != "mode"], known=("rules", "mode"))
    verdicts: list[tuple[str | None, str]] = []
    for item in listed[:_MOST_RULES]:
        parts = rule_parts(item, reading)
        if parts is not None:
            allow = parts[1].get("allow")
            is_clear = allow is not None and (
                isinstance(allow.value, bool) or is_template(allow.value)
            )
            if allow is None or not is_clear:
                problem = "it does not say 'allow: true' or 'allow: false'"
                _refuse(reading, allow or item, problem, "write 'then: {allow: true}'")
                continue
            verdicts.append((bare(parts[0]), _literal_or_bare(allow)))
    if not verdicts:
        return None
    words = "false" if any(verdict == "true" for _, verdict in verdicts) else "true"
    for condition, verdict in reversed(verdicts):
        words = _choice(condition, verdict, words)
    if words in ("true", "false"):
        return None if words == "true" else admit.become(False)
    return admit.become("{{ " + words + " }}")


def _choice(condition: str | None, verdict: str, other: str) -> str:
    if condition is None:
        return verdict
    if (verdict, other) == ("true", "false"):
        return condition
    if (verdict, other) == ("false", "true"):
        return f"not ({condition})"
    return f"({verdict}) if ({condition}) else ({other})"


def _literal_or_bare(node: Node) -> str:
    return str(bare(node)) if is_template(node.value) else _literal(node)


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
        _parsed(when, reading)
    if then is not None and then.mapping is not None:
        strange = {key: child for key, child in then.mapping.items() if key not in _THEN}
        reading.drop(strange, *list(strange), known=_THEN)
    return when, dict(then.mapping or {}) if then is not None else {}


_THEN = (
    "do",
    "action",
    "attempts",
    "max_attempts",
    "backoff",
    "delay",
    "set",
    "to",
    "allow",
)


def _parsed(when: Node, reading: Reading) -> None:
    """A condition may vanish into what is the rule anyway; it must be right all the same."""
    try:
        read_template(str(when.value))
    except TemplateProblem as problem:
        reading.say(templates.TEMPLATE_SYNTAX, when, problem=problem.reason, cure=problem.cure)


def _rule(node: Node, entries: Entries, earlier: list[str], reading: Reading) -> None:
    """Read one rule; it holds only where no `earlier` one does."""
    parts = rule_parts(node, reading)
    if parts is None:
        return
    when, then = parts
    do = then.get("do") or then.get("action")
    word = str(do.value) if do is not None else "continue"
    own = bare(when)
    after_success = [one for one in earlier if not _IS_ERROR.match(one)]
    if word == "retry":
        failed = [one for one in earlier if not _IS_OK.match(one)]
        _retry(entries, when, _unless(own, failed), then, node)
    elif word == "fail":
        _fail(entries, own, _unless(own, after_success), node)
    elif word == "continue":
        _continue(entries, own, node, reading)
    else:
        cures = {
            "break": "put the tasks behind it into steps of their own",
            "jump": "use 'repeat: {until: …, max: …}' for a loop",
        }
        cure = cures.get(word, "write retry, continue or fail")
        _refuse(reading, do or node, f"'do: {word}'", cure)
    _set(entries, _unless(own, after_success), then.get("set"))
    if own is not None:
        earlier.append(own)


def _unless(own: str | None, earlier: list[str]) -> str | None:
    """Return the condition of a rule given that no earlier one held; None when it always holds."""
    if not earlier:
        return own
    others = " or ".join(f"({one})" for one in earlier)
    return f"not ({others})" if own is None else f"({own}) and not ({others})"


def _continue(entries: Entries, own: str | None, node: Node, reading: Reading) -> None:
    """Going on is what happens anyway, but after a failure."""
    found = _IS_ERROR.match(own) if own is not None else None
    if found is None or own is None:
        return
    if found.end() == len(own):
        entries["on_error"] = node.become("continue")
        return
    problem = "'do: continue' after some failures only"
    _refuse(reading, node, problem, "write 'on_error: [{step: …, when: …}]'")


def _retry(
    entries: Entries, when: Node | None, holds: str | None, then: Entries, node: Node
) -> None:
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
    if when is not None and holds is not None:
        other = bare(retry.get("retry_when"))
        either = f"({other}) or ({holds})" if other else holds
        retry["retry_when"] = when.become("{{ " + either + " }}")
    entries["retry"] = node.become(dict(retry))


def _fail(entries: Entries, own: str | None, holds: str | None, node: Node) -> None:
    """A failure fails anyway; a success fails where a rule of it says so."""
    if holds is None or (own is not None and _IS_ERROR.match(own)):
        return
    former = entries.get("assert")
    checks = dict(former.mapping or {}) if former is not None else {}
    that = checks.get("that")
    must = holds.removeprefix("not ") if own is None else f"not ({holds})"
    right = node.become("{{ " + must + " }}")
    checks["that"] = node.become([*((that.items or []) if that else []), right])
    entries["assert"] = node.become(dict(checks))


def _set(entries: Entries, condition: str | None, given: Node | None) -> None:
    if given is None or given.mapping is None:
        return
    former = entries.get("set")
    names = dict(former.mapping or {}) if former is not None else {}
    for key, child in given.mapping.items():
        name = key.split(".", 1)[-1] if key.startswith(("ctx.", "iter.", "step.")) else key
        found = _IS_OK.match(condition) if condition is not None else None
        always = condition is None or (found is not None and found.end() == len(condition))
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
