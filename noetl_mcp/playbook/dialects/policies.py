"""Read the newest form's policy rules into retry, checks, `on_error` and `set`."""

import re
from typing import NamedTuple

from noetl_mcp.playbook.dialects.conditions import bare, is_lone, read_condition
from noetl_mcp.playbook.dialects.events import Outcome, split_outcome
from noetl_mcp.playbook.dialects.reading import Entries, Reading
from noetl_mcp.playbook.node import Node
from noetl_mcp.playbook.template import TemplateProblem, read_template
from noetl_mcp.playbook.values import is_template
from noetl_mcp.rules import dialect, shape, templates

_SCOPES = ("ctx.", "iter.", "step.")
_OF_FAILURE = re.compile(r"\b(?:output|outcome)\.(?:error|http|status)\b|\bstatus_code\b")
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
    earlier: list[_Rule] = []
    for item in listed[:_MOST_RULES]:
        _rule(item, entries, earlier, reading)
    _settle_sets(earlier, entries, policy, reading)
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
    "max_delay",
    "jitter",
    "set",
    "set_ctx",
    "set_iter",
    "to",
    "allow",
)


def _parsed(when: Node, reading: Reading) -> None:
    """A condition may vanish into what is the rule anyway; it must be right all the same."""
    try:
        read_template(str(when.value))
    except TemplateProblem as problem:
        reading.say(templates.TEMPLATE_SYNTAX, when, problem=problem.reason, cure=problem.cure)


class _Rule(NamedTuple):
    """A rule that was read: its condition, the outcome this asks for, and what it sets."""

    own: str | None
    outcome: Outcome | None
    rest: str
    word: str
    sets: Entries


def _rule(node: Node, entries: Entries, earlier: list[_Rule], reading: Reading) -> None:
    """Read one rule; it holds only where no `earlier` one does."""
    parts = rule_parts(node, reading)
    if parts is None:
        return
    when, then = parts
    do = then.get("do") or then.get("action")
    word = str(do.value) if do is not None else "continue"
    own = bare(when)
    outcome, rest = split_outcome(own) if own is not None else (None, "")
    rule = _Rule(own, outcome, rest, word, _sets_of(then))
    if word == "retry":
        others = [one.own for one in earlier if one.own and one.outcome != "done"]
        _retry(entries, when, _unless(own, others), then, node, reading)
    elif word == "fail":
        others = [one.own for one in earlier if one.own and one.outcome != "failed"]
        if outcome != "failed":
            _fail(entries, own, _unless(own, others), node)
    elif word == "continue":
        _continue(entries, rule, node, reading)
    else:
        cures = {
            "break": "put the tasks behind it into steps of their own",
            "jump": "use 'repeat: {until: …, max: …}' for a loop",
        }
        cure = cures.get(word, "write retry, continue or fail")
        _refuse(reading, do or node, f"'do: {word}'", cure)
    earlier.append(rule)


def _sets_of(then: Entries) -> Entries:
    """Return the names a rule sets, by whatever key and under whatever scope it says so."""
    found: Entries = {}
    for key in ("set_ctx", "set_iter", "set"):
        given = then.get(key)
        for name, child in ((given.mapping or {}) if given is not None else {}).items():
            found[name.split(".", 1)[-1] if name.startswith(_SCOPES) else name] = child
    return found


def _unless(own: str | None, earlier: list[str]) -> str | None:
    """Return the condition of a rule given that no earlier one held; None when it always holds."""
    if not earlier:
        return own
    others = " or ".join(f"({one})" for one in earlier)
    return f"not ({others})" if own is None else f"({own}) and not ({others})"


def _continue(entries: Entries, rule: _Rule, node: Node, reading: Reading) -> None:
    """Going on is what happens anyway, but after a failure."""
    may_be_failure = rule.outcome is None and _OF_FAILURE.search(rule.own or "")
    if rule.outcome == "failed" and not rule.rest:
        entries["on_error"] = node.become("continue")
    elif rule.outcome == "failed" or may_be_failure:
        problem = "'do: continue' after some failures only"
        _refuse(reading, node, problem, "write 'on_error: [{step: …, when: …}]'")


def _retry(
    entries: Entries,
    when: Node | None,
    holds: str | None,
    then: Entries,
    node: Node,
    reading: Reading,
) -> None:
    former = entries.get("retry")
    retry = dict(former.mapping or {}) if former is not None else {}
    backoff = then.get("backoff")
    factor = _FACTORS.get(str(backoff.value)) if backoff is not None else None
    given = {
        "max_attempts": then.get("attempts") or then.get("max_attempts"),
        "initial_delay": then.get("delay"),
        "backoff_multiplier": backoff.become(factor) if backoff and factor is not None else backoff,
        "max_delay": then.get("max_delay"),
        "jitter": then.get("jitter"),
    }
    for key, child in given.items():
        if child is None:
            continue
        if key in retry and retry[key].value != child.value:
            problem = f"a second rule that retries with another '{key}'"
            _refuse(reading, node, problem, "write one 'retry' with one 'retry_when'")
        retry[key] = child
    if when is not None and holds is not None:
        other = bare(retry.get("retry_when"))
        either = f"({other}) or ({holds})" if other else holds
        retry["retry_when"] = when.become("{{ " + either + " }}")
    entries["retry"] = node.become(dict(retry))


def _fail(entries: Entries, own: str | None, holds: str | None, node: Node) -> None:
    """A failure fails anyway; a success fails where a rule of it says so."""
    if holds is None:
        return
    former = entries.get("assert")
    checks = dict(former.mapping or {}) if former is not None else {}
    that = checks.get("that")
    must = holds.removeprefix("not ") if own is None else f"not ({holds})"
    right = node.become("{{ " + must + " }}")
    checks["that"] = node.become([*((that.items or []) if that else []), right])
    entries["assert"] = node.become(dict(checks))


def _settle_sets(rules: list[_Rule], entries: Entries, node: Node, reading: Reading) -> None:
    """Write what the rules set as one value for each name: that of the first rule that holds."""
    arriving = [rule for rule in rules if rule.outcome != "failed" or rule.word == "continue"]
    names = dict.fromkeys(name for rule in arriving for name in rule.sets)
    if not names:
        return
    former = entries.get("set")
    made = dict(former.mapping or {}) if former is not None else {}
    goes_on = "on_error" in entries
    for name in names:
        first = next((rule for rule in arriving if _always(rule, goes_on=goes_on)), None)
        if first is not None and arriving[0] is first and name in first.sets:
            made[name] = first.sets[name]
            continue
        for rule in arriving:
            value = rule.sets.get(name)
            if value is not None and is_template(value.value) and not is_lone(str(value.value)):
                problem = f"'{name}' is set to a text with a template inside"
                _refuse(reading, value, problem, "write one lone template that makes the text")
        words = f"ctx.{name} | default(none)"
        for rule in reversed(arriving):
            kept = f"ctx.{name} | default(none)"
            if name in rule.sets:
                kept = _literal_or_bare(rule.sets[name])
            words = (
                kept
                if _always(rule, goes_on=goes_on)
                else f"({kept}) if ({rule.own}) else ({words})"
            )
        made[name] = node.become("{{ " + words + " }}")
    entries["set"] = node.become(made)


def _always(rule: _Rule, *, goes_on: bool) -> bool:
    """Whether a rule holds whenever it is asked: names are only set where the step goes on."""
    return rule.own is None or (rule.outcome == "done" and not rule.rest and not goes_on)


def _literal(child: Node) -> str:
    value = child.value
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_literal(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return repr(value).lower() if value is None or isinstance(value, bool) else repr(value)


def _refuse(reading: Reading, node: Node, problem: str, cure: str) -> None:
    reading.say(dialect.POLICY, node, problem=problem, cure=cure)
