"""Nothing is written that was not meant, and nothing passes that the answer does not prove."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl_mcp.playbook.expect import Expect
from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.bounds import KEYS
from noetl_mcp.tasks.calls import Failed
from noetl_mcp.tasks.gates import (
    CODES,
    Broken,
    Gate,
    Planned,
    Refused,
    Verdict,
    allow,
    judge,
    predict,
    weigh,
)

HOW_TO = Path(__file__).parent.parent.parent / "docs" / "how-to" / "gates.md"
HTTP: dict[str, Json] = {"status_code": 200, "headers": {}, "url": "http://x/", "elapsed": 0.1}


def post(**bounds: Json) -> Gate:
    """A confirmed POST with bounds."""
    return Gate("http", writes=True, confirmed=True, confirmation="warned", bounds=bounds)


def revit(method: str, /, **bounds: Json) -> Gate:
    """A confirmed write to Revit with bounds."""
    return Gate("revit", method, True, True, bounds=bounds, confirmation="refused")


UNCONFIRMED = replace(revit("create_wall"), confirmed=False)


def body(**content: Json) -> Json:
    """What an HTTP step gives."""
    return {**HTTP, "data": dict(content)}


def refused(gate: Gate, targets: int | None = None, **required: Json) -> Refused:
    with pytest.raises(Refused) as caught:
        allow(gate, targets, required)
    return caught.value


def broken(gate: Gate, answer: Json, before: Json = None) -> Broken:
    with pytest.raises(Broken) as caught:
        judge(gate, answer, before=before)
    return caught.value


# Before


@pytest.mark.parametrize("task", ["http", "shell", "revit"])
def test_a_read_passes_without_a_word(task: str) -> None:
    allow(Gate(task, confirmation="refused", require_confirm=True, read_only=True))


def test_read_only_refuses_a_write_even_when_it_is_confirmed() -> None:
    gate = Gate("http", writes=True, confirmed=True, read_only=True)

    assert refused(gate).code == "read-only"


def test_an_unconfirmed_write_to_a_model_is_refused_and_says_what_to_add() -> None:
    found = refused(UNCONFIRMED)

    assert found.code == "unconfirmed"
    assert "'create_wall' writes" in found.message
    assert "confirm: true" in found.message


def test_an_unconfirmed_write_elsewhere_passes_unless_confirming_is_required() -> None:
    plain = Gate("http", writes=True, confirmation="warned")

    allow(plain)
    assert refused(Gate("http", None, True, require_confirm=True, confirmation="warned"))
    assert refused(Gate("http", None, True, bounds={"requireConfirm": True})).code == "unconfirmed"


def test_a_playbook_called_as_a_step_is_confirmed_by_its_own_steps() -> None:
    allow(Gate("playbook", writes=True, confirmation="never", require_confirm=True))


def test_a_step_cannot_loosen_what_its_type_demands() -> None:
    found = refused(replace(UNCONFIRMED, bounds={"requireConfirm": False}))

    assert found.code == "unconfirmed"


def test_all_missing_values_are_listed_at_once() -> None:
    found = refused(post(), level=None, count=0, mark=None, text="")

    assert found.code == "missing-values"
    assert "level, mark" in found.message
    assert found.details == {"missing": ["level", "mark"]}


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ({"minCreated": 9, "maxCreated": 6}, "minCreated 9 and max"),
        ({"exactTargets": 9, "maxCandidates": 6}, "exactTargets 9 and max"),
        ({"maxCreated": "6"}, "'maxCreated' must be a whole number from 0 on, not the text '6'"),
        ({"maxCreated": None}, "not null"),
        ({"maxCreated": -1}, "not -1"),
        ({"maxCreated": 2.5}, "not 2.5"),
        ({"maxCreated": True}, "not true"),
        ({"maxCreatd": 6}, "'maxCreatd' is not a bound"),
        ({"equals": [1]}, "not a list"),
        ({"equals": {"ok": True}}, "'ok' in 'equals' is no JSON pointer"),
        ({"requireConfirm": "true"}, "not the text 'true'"),
    ],
)
def test_bounds_that_say_nothing_are_refused_before_anything_is_sent(
    bounds: dict[str, Json], words: str
) -> None:
    found = refused(post(**bounds))

    assert found.code == "impossible-bounds"
    assert words in found.message


def test_bounds_at_their_edges_pass() -> None:
    allow(post(minCreated=6, maxCreated=6.0, maxUpdated=0, equals={"": 1, "/a~1b": None}))


def test_a_write_whose_selector_matched_nothing_is_refused() -> None:
    found = refused(revit("update_wall_parameter", maxUpdated=5), targets=0)

    assert found.code == "no-target"
    assert "minCandidates: 0" in found.message


@pytest.mark.parametrize("key", ["minUpdated", "minCandidates", "exactTargets"])
def test_matching_nothing_is_fine_when_a_bound_says_so(key: str) -> None:
    allow(revit("update_wall_parameter", **{key: 0}), targets=0)


def test_a_read_that_matches_nothing_is_sent() -> None:
    allow(replace(revit("get_walls"), writes=False), targets=0)


@pytest.mark.parametrize(
    ("method", "bounds", "targets"),
    [
        ("update_wall_parameter", {"maxUpdated": 50}, 500),
        ("update_wall_parameter", {"minUpdated": 5}, 4),
        ("delete_walls", {"maxDeleted": 5}, 6),
        ("create_rebar_linear", {"maxCandidates": 5}, 6),
        ("create_rebar_linear", {"exactTargets": 5}, 4),
    ],
)
def test_targets_that_cannot_keep_a_bound_are_refused_before_the_write(
    method: str, bounds: dict[str, Json], targets: int
) -> None:
    found = refused(revit(method, **bounds), targets)

    assert found.code == "targets-out-of-bounds"
    assert str(targets) in found.message
    assert str(next(iter(bounds.values()))) in found.message


@pytest.mark.parametrize(
    ("method", "bounds"),
    [
        ("create_rebar_linear", {"maxCreated": 2}),  # one host may take many bars, or none
        ("delete_walls", {"minDeleted": 9}),  # Revit deletes dependents too
        ("delete_walls", {"maxUpdated": 0}),
        ("unheard_of", {"maxUpdated": 2}),
    ],
)
def test_what_targets_cannot_tell_waits_for_the_answer(
    method: str, bounds: dict[str, Json]
) -> None:
    allow(revit(method, **bounds), targets=3)


def test_a_refusal_is_a_failure_that_is_not_tried_again() -> None:
    failed = refused(post(), level=None).as_failed()

    assert isinstance(failed, Failed)
    assert (failed.code, failed.retriable) == ("missing-values", False)
    assert failed.details == {"missing": ["level"]}


# After


def test_eight_bars_are_refused_when_six_were_promised() -> None:
    found = broken(revit("create_rebar_linear", maxCreated=6), {"ok": True, "created": 8})

    assert found.code == "expectation-failed"
    assert found.message == "created is 8, at most 6 were expected (from $.created)"


def test_the_body_of_an_http_answer_is_judged() -> None:
    found = broken(post(maxCreated=6), body(ok=True, created=8))

    assert found.message == "created is 8, at most 6 were expected (from $.data.created)"


def test_a_bounded_number_that_is_absent_fails() -> None:
    found = broken(post(maxUpdated=6), body(ok=True, created=1))

    assert found.code == "expectation-unverifiable"
    assert found.message.endswith(" cannot be checked")
    assert "how many were updated" in found.message
    assert "'maxUpdated: 6'" in found.message


def test_zero_is_a_value() -> None:
    judge(post(maxUpdated=0), body(ok=True, updated=0))
    judge(post(minUpdated=0), body(ok=True, updated=0))
    assert broken(post(minUpdated=1), body(ok=True, updated=0)).message.startswith(
        "updated is 0, at least 1 was expected"
    )


def test_every_bound_stands_in_the_verdict_with_its_value_and_source() -> None:
    verdict = judge(post(minCreated=1, exactTargets=2), body(created=1, targets=2))

    assert verdict.as_json() == [
        {
            "bound": "minCreated",
            "expected": 1,
            "value": 1,
            "source": "$.data.created",
            "held": True,
        },
        {
            "bound": "exactTargets",
            "expected": 2,
            "value": 2,
            "source": "$.data.targets",
            "held": True,
        },
    ]


def test_exactly_so_many_targets_means_neither_more_nor_fewer() -> None:
    gate = post(exactTargets=5)

    assert "targets is 4, exactly 5 were" in broken(gate, body(targets=4)).message
    assert "targets is 6, exactly 5 were" in broken(gate, body(targets=6)).message


@pytest.mark.parametrize(
    ("equals", "holds"),
    [
        ({"/data/state": "done"}, True),
        ({"/state": "done"}, True),
        ({"/status_code": 200.0}, True),
        ({"/list/1/a~1b": None}, True),
        ({"/state": "Done"}, False),
        ({"/flag": 1}, False),
        ({"/one": True}, False),
        ({"/missing": None}, False),
        ({"/list/2": None}, False),
    ],
)
def test_values_are_compared_exactly_at_their_pointers(
    equals: dict[str, Json], holds: bool
) -> None:
    answer = body(state="done", flag=True, one=1, list=[0, {"a/b": None}])

    (finding,) = weigh(post(equals=equals), answer).findings

    assert finding.held is holds
    assert finding.code == (None if holds else "expectation-failed")


def test_ok_false_inside_a_success_is_a_failure_of_a_write() -> None:
    found = broken(post(), body(ok=False, code="NO_DOC", msg="no document is open"))

    assert found.code == "answered-not-ok"
    assert found.message == (
        "the answer says ok: false: NO_DOC: no document is open (from $.data.ok)"
    )


def test_a_read_over_http_may_answer_ok_false() -> None:
    judge(Gate("http"), body(ok=False))
    judge(Gate("python"), {"ok": False})


@pytest.mark.parametrize("task", ["revit", "rhino", "jsonrpc"])
def test_a_read_of_a_model_may_not(task: str) -> None:
    assert broken(Gate(task, "get_walls"), {"ok": False}).code == "answered-not-ok"


def test_a_plain_refusal_may_be_tried_again_and_one_that_changed_something_may_not() -> None:
    gate = post(maxUpdated=6, equals={"/state": "done"})

    plain = broken(gate, body(ok=False))
    partial = broken(gate, body(ok=False, updated=3))

    assert plain.as_failed().retriable
    assert not partial.as_failed().retriable
    assert "nobody can tell" not in plain.message
    assert [one.held for one in plain.verdict.findings] == [False, "unchecked", "unchecked"]


def test_a_broken_bound_is_never_tried_again_and_keeps_the_values_before() -> None:
    found = broken(post(maxUpdated=6), body(updated=8), before={"4711": "old"})

    failed = found.as_failed()

    assert not failed.retriable
    assert failed.details == {"verdict": found.verdict.as_json(), "before": {"4711": "old"}}


def test_all_that_is_broken_is_told_the_worst_first() -> None:
    found = broken(post(maxUpdated=6, maxCreated=1), body(created=2))

    assert found.code == "expectation-failed"
    assert "created is 2" in found.message
    assert "how many were updated" in found.message


COUNTERS = ("updated", "created", "deleted", "candidates", "targets")
SOME = st.integers(0, 6)
BOUNDS = st.fixed_dictionaries(
    {},
    optional={
        f"{side}{name.capitalize()}": SOME for side in ("min", "max") for name in COUNTERS[:4]
    }
    | {"exactTargets": SOME},
)


def keeps(bounds: Mapping[str, int], counters: Mapping[str, int]) -> bool:
    """What the words of the docs say, without looking at how it is done."""
    either = {**counters}
    for name, other in (("targets", "candidates"), ("candidates", "targets")):
        if name not in either and other in counters:
            either[name] = counters[other]
    for key, number in bounds.items():
        name = "targets" if key == "exactTargets" else key[3:].lower()
        if name not in either:
            return False
        count = either[name]
        if key.startswith("min") and count < number:
            return False
        if key.startswith("max") and count > number:
            return False
        if key.startswith("exact") and count != number:
            return False
    return True


@given(BOUNDS, st.fixed_dictionaries({}, optional=dict.fromkeys(COUNTERS, SOME)))
def test_judge_passes_when_and_only_when_every_bound_holds(
    bounds: dict[str, Json], counters: dict[str, Json]
) -> None:
    gate, answer = post(**bounds), body(ok=True, **counters)
    expected = keeps(
        {key: value for key, value in bounds.items() if isinstance(value, int)},
        {key: value for key, value in counters.items() if isinstance(value, int)},
    )

    if not expected:
        found = broken(gate, answer)
        assert found.verdict.broken
        assert not found.as_failed().retriable
        return
    assert {one.bound for one in judge(gate, answer).findings} == set(bounds)


# A dry run


def test_a_dry_run_without_a_preview_predicts() -> None:
    planned = predict(post(maxCreated=6))

    assert (planned.would, planned.verdict, planned.why) == ("write", "allowed", "")
    assert [one.held for one in planned.bounds] == ["predicted"]


def test_a_dry_run_names_its_targets_and_what_they_come_to() -> None:
    gate = revit("update_wall_parameter", maxUpdated=5, maxCandidates=3, equals={"/a": 1})

    planned = predict(gate, targets=["W-1", "W-2"]).as_json()

    assert planned["targets"] == ["W-1", "W-2"]
    assert planned["verdict"] == "allowed"
    assert planned["bounds"] == [
        bound("maxUpdated", 5, 2, "the selector", "predicted"),
        bound("maxCandidates", 3, 2, "the selector", True),
        bound("equals /a", 1, None, None, "predicted"),
    ]


def bound(name: str, expected: Any, value: Any, source: Any, held: Any) -> dict[str, Any]:
    return {
        "bound": name,
        "expected": expected,
        "value": value,
        "source": source,
        "held": held,
    }


def test_a_preview_that_breaks_a_bound_is_refused_with_both_numbers() -> None:
    planned = predict(revit("create_rebar_linear", maxCreated=6), {"ok": True, "created": 8})

    assert (planned.verdict, planned.code) == ("refused", "expectation-failed")
    assert planned.why == "created is 8, at most 6 were expected (from $.created)"


def test_a_preview_that_fails_is_refused() -> None:
    planned = predict(revit("create_wall"), {"ok": False, "msg": "no level"})

    assert (planned.verdict, planned.code) == ("refused", "answered-not-ok")


@pytest.mark.parametrize(
    ("gate", "targets", "code"),
    [
        (UNCONFIRMED, None, "unconfirmed"),
        (revit("update_wall_parameter"), [], "no-target"),
        (revit("update_wall_parameter", maxUpdated=1), ["a", "b"], "targets-out-of-bounds"),
    ],
)
def test_a_dry_run_meets_the_gates_of_the_real_run(
    gate: Gate, targets: list[str] | None, code: str
) -> None:
    planned = predict(gate, targets=targets)

    assert (planned.verdict, planned.code) == ("refused", code)
    assert planned.why


def test_a_dry_run_lists_what_is_missing() -> None:
    planned = predict(post(), required={"count": None})

    assert (planned.verdict, planned.code) == ("refused", "missing-values")


@given(BOUNDS, st.fixed_dictionaries({}, optional=dict.fromkeys(COUNTERS, SOME)))
def test_what_a_preview_counts_decides_as_the_answer_would(
    bounds: dict[str, Json], counters: dict[str, Json]
) -> None:
    gate, preview = post(**bounds), body(ok=True, **counters)
    try:
        allow(gate)
    except Refused:
        assert predict(gate, preview).verdict == "refused"
        return

    planned = predict(gate, preview)

    failed = [one for one in weigh(gate, preview).broken if one.code == "expectation-failed"]
    assert isinstance(planned, Planned)
    assert (planned.verdict == "refused") == bool(failed)


# The words


def test_bounds_are_the_keys_of_expect() -> None:
    assert set(Expect.model_fields) == KEYS


def test_every_code_is_told_on_the_page_of_the_gates() -> None:
    page = HOW_TO.read_text()

    assert [code for code in CODES if f"## `{code}`" not in page] == []
    assert all(sentence in page for sentence in CODES.values())


def test_the_verdict_on_nothing_is_empty() -> None:
    assert judge(post(), None) == Verdict()
