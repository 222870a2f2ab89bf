"""Allow a step before it acts, judge it by its answer, and predict both for a dry run.

Pure: calls nobody, knows no clock, undoes nothing. What cannot be checked is refused, never waved
through; a bound that somebody else might loosen can only be tightened here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from noetl_mcp.bim.counters import CHANGES, Counted, changes, count, refusal
from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.bounds import (
    Bound,
    Bounds,
    Finding,
    bounds_of,
    equals_of,
    held,
    held_value,
    problems_of,
)
from noetl_mcp.tasks.calls import Failed
from noetl_mcp.tasks.contract import Confirmation

CODES: Mapping[str, str] = MappingProxyType(
    {
        "read-only": "Writes are switched off here, so the step was not sent.",
        "unconfirmed": "The step writes and does not say that the change is meant.",
        "missing-values": "Values that the step needs are null or missing.",
        "no-target": "The selector of a write matched nothing.",
        "targets-out-of-bounds": "The selector matched more or fewer targets than promised.",
        "impossible-bounds": "The bounds of the step can never hold, or say nothing.",
        "answered-not-ok": "The answer came as a success and says that it is none.",
        "expectation-failed": "The answer counts more or less than the step promised.",
        "expectation-unverifiable": "The answer does not hold a number that the step has bounded.",
    }
)
_SPEAKS_OK = frozenset(("revit", "rhino", "jsonrpc"))  # of these a read with `ok: false` failed too


@dataclass(frozen=True, slots=True)
class Gate:
    """What a step declares of itself, and what holds around it.

    `bounds` is the rendered `expect`, `confirmation` stands in the TaskSpec, `require_confirm` and
    `read_only` are those of the playbook, the settings and the mode together.
    """

    task: str
    method: str | None = None
    writes: bool = False
    confirmed: bool = False
    idempotent: bool = False
    bounds: Bounds = field(default_factory=dict)
    confirmation: Confirmation = "never"
    require_confirm: bool = False
    read_only: bool = False
    step: str = ""
    stays_read_only: bool = False
    """The execution was started so and carries it along, wherever it is worked on."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Every bound of a step, each with its value, its source and whether it held."""

    findings: tuple[Finding, ...] = ()

    @property
    def broken(self) -> tuple[Finding, ...]:
        """What did not hold, the worst first."""
        order = list(CODES)
        broken = [one for one in self.findings if one.held is False]
        return tuple(sorted(broken, key=lambda one: order.index(one.code or order[0])))

    def as_json(self) -> list[Json]:
        """Return the form that stands in events and in `--json`."""
        return [finding.as_json() for finding in self.findings]


class Refused(Exception):
    """A step was not allowed; nothing was sent. The text says what to do."""

    def __init__(self, code: str, message: str, *, details: Json = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details

    def as_failed(self) -> Failed:
        """Return the failure that the step ends in: the same attempt meets the same gate."""
        return Failed(self.code, self.message, retriable=False, details=self.details)


class Broken(Exception):
    """An answer breaks what the step promised; what it did is done.

    It is tried again only where the answer is a plain refusal: it counts no change at all.
    """

    def __init__(self, verdict: Verdict, *, before: Json = None, changed: bool = True) -> None:
        broken = verdict.broken
        self.code = broken[0].code or ""
        self.message = "; ".join(one.message for one in broken)
        super().__init__(self.message)
        self.verdict = verdict
        self.before = before
        self.retriable = self.code == "answered-not-ok" and not changed

    def as_failed(self) -> Failed:
        """Return the failure that the step ends in, with every bound and the values before."""
        details: dict[str, Json] = {"verdict": self.verdict.as_json()}
        if self.before is not None:
            details["before"] = self.before
        return Failed(self.code, self.message, retriable=self.retriable, details=details)


@dataclass(frozen=True, slots=True)
class Planned:
    """What a dry run says of one step."""

    step: str
    task: str
    method: str | None
    would: Literal["write", "read"]
    verdict: Literal["allowed", "refused"]
    code: str | None
    why: str
    bounds: tuple[Finding, ...]
    targets: tuple[str, ...] | None

    def as_json(self) -> dict[str, Json]:
        """Return the form that `run --dry-run --json` prints."""
        targets: Json = None if self.targets is None else list(self.targets)
        return {
            "step": self.step,
            "task": self.task,
            "method": self.method,
            "would": self.would,
            "verdict": self.verdict,
            "code": self.code,
            "why": self.why,
            "bounds": [one.as_json() for one in self.bounds],
            "targets": targets,
        }


def allow(
    gate: Gate, targets: int | None = None, required: Mapping[str, Json] | None = None
) -> None:
    """Let a step pass, or raise Refused before anything is sent.

    `targets` is how many its selector matched, None where it has none. `required` holds every
    value that must be there, by name, null where it is missing.
    """
    if required:
        _allow_values(required)
    if gate.bounds:
        _allow_bounds(gate.bounds)
    if gate.writes:
        _allow_write(gate)
    if targets is not None:
        _allow_targets(gate, targets)


def judge(gate: Gate, answer: Json, *, before: Json = None) -> Verdict:
    """Return the verdict on an answer, or raise Broken with it and the values `before`."""
    verdict = weigh(gate, answer)
    if verdict.broken:
        counters = count(answer, gate.method)
        changed = any(name in counters and counters[name].number for name in CHANGES)
        raise Broken(verdict, before=before, changed=changed)
    return verdict


def weigh(gate: Gate, answer: Json) -> Verdict:
    """Hold an answer against every bound, without raising."""
    failed = _not_ok(gate, answer)
    counters = count(answer, gate.method) if gate.bounds else {}
    findings = [held(bound, counters) for bound in bounds_of(gate.bounds)]
    equals = equals_of(gate.bounds).items()
    findings += [held_value(pointer, expected, answer) for pointer, expected in equals]
    if failed:  # no wonder then that something is absent
        findings = [one if one.source is not None else _unchecked(one) for one in findings]
    return Verdict((*failed, *findings))


def predict(
    gate: Gate,
    preview: Json = None,
    targets: Sequence[str] | None = None,
    required: Mapping[str, Json] | None = None,
) -> Planned:
    """Say what would become of a step: `preview` is an answer that changed nothing, if there is.

    What a preview does not count is predicted, not broken: only the answer itself will tell.
    """
    try:
        allow(gate, None if targets is None else len(targets), required)
    except Refused as refused:
        return _planned(gate, targets, code=refused.code, why=refused.message)
    matched = {} if targets is None else {"candidates": Counted(len(targets), "the selector")}
    counters = {**matched, **count(preview, gate.method)}
    if "candidates" in matched:
        counters["targets"] = matched["candidates"]
    findings = _not_ok(gate, preview)
    for bound in bounds_of(gate.bounds):
        is_known = bound.counter in counters
        findings.append(held(bound, counters) if is_known else _unknown(bound, gate, targets))
    for pointer, expected in equals_of(gate.bounds).items():
        findings.append(Finding(f"equals {pointer}", expected, held="predicted"))
    verdict = Verdict(tuple(findings))
    if not verdict.broken:
        return _planned(gate, targets, verdict)
    why = "; ".join(one.message for one in verdict.broken)
    return _planned(gate, targets, verdict, code=verdict.broken[0].code, why=why)


def _not_ok(gate: Gate, answer: Json) -> list[Finding]:
    """Tell an answer that says it is a failure; what merely reads may well hold `ok: false`."""
    said = refusal(answer) if gate.writes or gate.task in _SPEAKS_OK else None
    if said is None:
        return []
    message = f"{said.words} (from {said.source})"
    return [Finding("ok", True, False, said.source, False, "answered-not-ok", message)]


def _unchecked(one: Finding) -> Finding:
    return Finding(one.bound, one.expected, held="unchecked")


def _unknown(bound: Bound, gate: Gate, targets: Sequence[str] | None) -> Finding:
    """Say of a bound what can be said without an answer."""
    if targets is None or bound.counter != changes(gate.method) or bound.counter == "created":
        return Finding(bound.key, bound.number, held="predicted")
    return Finding(bound.key, bound.number, len(targets), "the selector", held="predicted")


def _planned(
    gate: Gate,
    targets: Sequence[str] | None,
    verdict: Verdict | None = None,
    *,
    code: str | None = None,
    why: str = "",
) -> Planned:
    return Planned(
        step=gate.step,
        task=gate.task,
        method=gate.method,
        would="write" if gate.writes else "read",
        verdict="refused" if code else "allowed",
        code=code,
        why=why,
        bounds=verdict.findings if verdict is not None else (),
        targets=None if targets is None else tuple(targets),
    )


def _allow_values(required: Mapping[str, Json]) -> None:
    missing = [name for name, value in required.items() if value is None]
    if missing:
        raise Refused(
            "missing-values",
            f"these are needed and null or missing: {', '.join(missing)}; give them a value",
            details={"missing": list(missing)},
        )


def _allow_bounds(bounds: Bounds) -> None:
    problems = list(problems_of(bounds))
    if problems:
        raise Refused("impossible-bounds", f"{'; '.join(problems)}; correct 'expect'")


def _allow_write(gate: Gate) -> None:
    what = f"'{gate.method}'" if gate.method else f"this step of type '{gate.task}'"
    if gate.stays_read_only:
        raise Refused(
            "read-only",
            f"{what} writes, and only reading is allowed to this execution, which was started so;"
            " nothing was sent; start it anew with 'run' where writes are allowed",
        )
    if gate.read_only:
        raise Refused(
            "read-only",
            f"{what} writes, and only reading is allowed here, so nothing was sent;"
            " run it where writes are allowed",
        )
    is_asked_for = gate.confirmation != "never" and gate.require_confirm
    is_strict = gate.confirmation == "refused" or gate.bounds.get("requireConfirm") is True
    if (is_asked_for or is_strict) and not gate.confirmed:
        raise Refused(
            "unconfirmed",
            f"{what} writes and does not say 'confirm: true', so nothing was sent;"
            " add it when the change is meant",
        )


def _allow_targets(gate: Gate, targets: int) -> None:
    bounds = list(bounds_of(gate.bounds))
    may_be_none = any(one.side != "max" and one.number == 0 for one in bounds)
    if gate.writes and targets == 0 and not may_be_none:
        raise Refused(
            "no-target",
            "the selector matched nothing, so nothing was sent; correct it, or say"
            " 'minCandidates: 0' when that is fine",
        )
    for bound in bounds:
        if _is_about_targets(bound, gate) and not bound.allows(targets):
            raise Refused(
                "targets-out-of-bounds",
                f"the selector matched {targets}, {bound.words} ({bound.key}), so nothing was"
                " sent; correct the selector or the bound",
                details={"targets": targets, "bound": bound.key, "expected": bound.number},
            )


def _is_about_targets(bound: Bound, gate: Gate) -> bool:
    """Whether the number of targets alone can break a bound.

    An update changes each target once. Deleting may take dependents along, so it has no least;
    and how many are created for a target is not known.
    """
    if bound.counter in ("candidates", "targets"):
        return True
    change = changes(gate.method)
    if change == "updated":
        return bound.counter == "updated"
    return change == "deleted" and bound.key == "maxDeleted"


__all__ = [
    "CODES",
    "Broken",
    "Finding",
    "Gate",
    "Planned",
    "Refused",
    "Verdict",
    "allow",
    "judge",
    "predict",
    "weigh",
]
