"""Bad input never starts: every fault of a payload is told at once, in words for a person."""

import json
import re
import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl_mcp.compiler.compile import compile_playbook
from noetl_mcp.compiler.fitting import MOST_BYTES, MOST_DEPTH, MOST_PROBLEMS, Problem
from noetl_mcp.compiler.payload import (
    Inputs,
    WrongPayload,
    check_payload,
    read_payload,
    set_value,
    templated,
    with_sets,
    with_values,
)
from noetl_mcp.playbook.load import load
from noetl_mcp.tasks.patterns import Patterns
from noetl_mcp.tasks.registry import BUILT_IN

FLOW = "workflow:\n  - {step: start, next: [end]}\n  - {step: end}\n"
HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: p, path: tests/p}\n"


def inputs_of(workload: str) -> Inputs:
    """Return the inputs of the plan of a playbook with a workload."""
    loaded = load(f"{HEAD}workload:\n  {workload}\n{FLOW}")
    plan = compile_playbook(loaded, BUILT_IN)
    assert plan is not None, [one.message for one in loaded.report]
    return plan.inputs


def inputs(**schemas: dict[str, Any]) -> Inputs:
    """Return declared inputs by name."""
    return [
        {"name": name, "type": schema["type"], "declared": True, "schema": schema}
        for name, schema in schemas.items()
    ]


def told(found: list[Problem]) -> list[str]:
    return [problem.text for problem in found]


def wrong(given_inputs: Inputs, **payload: Any) -> list[str]:
    return told(check_payload(given_inputs, payload)[1])


COUNT = inputs_of("count: {type: integer, required: true, description: how many}")


# Overlaying


def test_the_defaults_are_overlaid_by_the_payload() -> None:
    workload, found = check_payload(inputs_of("{level: L1, count: 3}"), {"count": 4})

    assert (workload, found) == ({"level": "L1", "count": 4}, [])


def test_a_declared_variable_without_default_is_null_when_it_is_not_given() -> None:
    assert check_payload(inputs_of("mark: {type: string}"), {}) == ({"mark": None}, [])


def test_null_is_nothing_given_where_a_type_was_declared() -> None:
    plain = inputs_of("mark: x")
    declared = inputs_of("mark: {type: string, default: x}")

    assert check_payload(declared, {"mark": None}) == ({"mark": "x"}, [])
    assert check_payload(plain, {"mark": None}) == ({"mark": None}, [])


def test_a_default_with_a_template_is_left_to_be_rendered_and_named() -> None:
    some = inputs_of("{a: '{{ env.A }}', b: {deep: ['{{ env.B }}']}, c: plain}")

    workload, found = check_payload(some, {"a": "given"})

    assert found == []
    assert workload == {"a": "given", "b": {"deep": [{"$t": 1}]}, "c": "plain"}
    assert templated(some, {"a": "given"}) == ("b",)
    assert templated(some, {}) == ("a", "b")


def test_a_default_that_only_looks_like_a_template_of_the_plan_comes_out_as_written() -> None:
    some = inputs_of("{a: {$t: 0, $lit: {$t: 1}}}")

    assert check_payload(some, {})[0] == {"a": {"$t": 0, "$lit": {"$t": 1}}}
    assert templated(some, {}) == ()


def test_braces_in_a_payload_are_text() -> None:
    some = inputs_of("{a: x}")

    assert check_payload(some, {"a": "{{ secrets.k }}"})[0] == {"a": "{{ secrets.k }}"}
    assert templated(some, {"a": "{{ secrets.k }}"}) == ()


# What does not fit


def test_a_text_is_no_count() -> None:
    assert wrong(COUNT, count="lots") == ["count: a whole number is needed, not the text 'lots'"]


def test_a_whole_number_may_have_a_point_but_no_fraction() -> None:
    workload, found = check_payload(COUNT, {"count": 2.0})

    assert (workload, found) == ({"count": 2}, [])
    assert type(workload["count"]) is int
    assert wrong(COUNT, count=2.5) == ["count: a whole number is needed, not 2.5"]


@pytest.mark.parametrize(
    ("kind", "value", "says"),
    [
        ("string", 7, "a text is needed, not 7"),
        ("integer", True, "a whole number is needed, not true"),
        ("number", "7", "a number is needed, not the text '7'"),
        ("boolean", 1, "true or false is needed, not 1"),
        ("boolean", "yes", "true or false is needed, not the text 'yes'"),
        ("array", {}, "a list is needed, not a map"),
        ("object", [1], "a map is needed, not a list"),
    ],
)
def test_every_type_is_told_in_plain_words(kind: str, value: Any, says: str) -> None:
    assert wrong(inputs(x={"type": kind}), x=value) == [f"x: {says}"]


def test_everything_missing_is_listed_at_once_with_its_description() -> None:
    some = inputs_of(
        "{a: {type: integer, required: true, description: how many}, "
        "b: {type: string, required: true}, c: {type: string, required: true}}"
    )

    assert wrong(some, b=None, c="") == [
        "a: a whole number (how many) is needed, and nothing was given",
        "b: a text is needed, and nothing was given",
    ]


def test_a_name_that_the_playbook_does_not_have_is_told_with_the_nearest() -> None:
    assert wrong(inputs_of("{count: 1, level: L}"), cuont=3, zzz=1) == [
        "cuont: the playbook has no such variable; did you mean 'count'?",
        "zzz: the playbook has no such variable; it has count, level",
    ]


def test_a_playbook_without_a_workload_takes_any_name() -> None:
    assert check_payload((), {"anything": 1}) == ({"anything": 1}, [])


@pytest.mark.parametrize(
    ("schema", "value", "says"),
    [
        ({"type": "integer", "minimum": 1}, 0, "at least 1 is needed, not 0"),
        ({"type": "number", "maximum": 2.5}, 3, "at most 2.5 is needed, not 3"),
        ({"type": "string", "enum": ["D16", "D20"]}, "D61", "one of D16, D20 is needed, "),
        ({"type": "integer", "enum": [1, 2]}, 3, "one of 1, 2 is needed, not 3"),
        ({"type": "string", "pattern": "^L[0-9]+$"}, "M1", "it must match ^L[0-9]+$"),
        ({"type": "string", "pattern": r"^(?!x).+$"}, "xy", "it must match"),
    ],
)
def test_bounds_choices_and_patterns_are_told_with_the_value(
    schema: dict[str, Any], value: Any, says: str
) -> None:
    (text,) = wrong(inputs(x=schema), x=value)

    assert text.startswith(f"x: {says}")


def test_values_inside_are_checked_where_they_stand() -> None:
    wall = {
        "type": "object",
        "properties": {
            "height": {"type": "number", "required": True},
            "mark": {"type": "string"},
            "doors": {"type": "array", "items": {"type": "integer"}},
        },
    }
    some = inputs(walls={"type": "array", "items": wall})
    walls: Any = [{"height": 3}, {"mark": 1, "more": True}, {"height": 1, "doors": [1.0, "two"]}]

    workload, found = check_payload(some, {"walls": walls})

    assert told(found) == [
        "walls[1].height: a number is needed, and nothing was given",
        "walls[1].mark: a text is needed, not 1",
        "walls[2].doors[1]: a whole number is needed, not the text 'two'",
    ]
    made: Any = workload["walls"]
    assert type(made[2]["doors"][0]) is int
    assert walls[2]["doors"] == [1.0, "two"]


def test_the_value_of_a_secret_is_never_told() -> None:
    schema = {"type": "string", "pattern": "^a+$", "enum": ["aa"], "secret": True}
    inner = {"type": "object", "secret": True, "properties": {"pin": {"type": "integer"}}}

    texts = wrong(inputs(key=schema, box=inner), key="hush", box={"pin": "hush"})

    assert len(texts) == 3
    assert not [text for text in texts if "hush" in text]


def test_a_problem_stands_in_json_with_its_path() -> None:
    (problem,) = check_payload(inputs_of("{count: 1}"), {"conut": 1})[1]

    assert problem.as_json() == {
        "name": "unknown-name",
        "severity": "error",
        "path": ["conut"],
        "message": "conut: the playbook has no such variable; did you mean 'count'?",
        "suggestion": "count",
    }


# What cannot be kept at all


def test_a_payload_that_is_no_map_is_told() -> None:
    listed: Any = [1]

    assert told(check_payload((), listed)[1]) == [
        "the payload: a map of names and values is needed, not a list"
    ]


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth - 1):
        value = [value]
    return {"x": value}


def test_too_deep_is_told_and_deep_enough_is_not() -> None:
    assert check_payload((), nested(MOST_DEPTH))[1] == []
    assert wrong((), **nested(MOST_DEPTH + 1)) == ["x: it is more than 200 levels deep"]
    assert wrong((), **nested(20_000)) == ["x: it is more than 200 levels deep"]


def test_too_large_is_told() -> None:
    (text,) = wrong((), x="a" * MOST_BYTES)

    assert "16,777,216" in text


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (float("nan"), "no numbers here"),
        (float("-inf"), "no numbers here"),
        (2**64, "the number is too long"),
        ("a\0b", "NUL"),
        ("\ud800", "half of a pair"),
        ({"\ud800": 1}, "half of a pair"),
        ({1: 1}, "its keys must be text"),
        ({1, 2}, "a value of type set is no JSON"),
    ],
)
def test_what_is_no_json_is_told_where_it_stands(value: Any, says: str) -> None:
    (text,) = wrong((), x=[1, value])

    assert text.startswith("x[1]: ")
    assert says in text


def test_no_more_is_told_than_anybody_reads() -> None:
    some = inputs(x={"type": "array", "items": {"type": "integer"}})

    assert len(wrong(some, x=["no"] * 5_000)) == MOST_PROBLEMS
    assert len(wrong((), x=[float("nan")] * 5_000)) == MOST_PROBLEMS


# Patterns


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("b", "abc", True),
        ("^(a+)+$", "a" * 50_000 + "b", False),
        (r"^(?=.*\d).{8,}$", "passw0rd", True),
        (r"(a)\1", "xaa", True),
        (r"^(?=a)(a+)+$", "a" * 50 + "b", None),
        (r"(?=a).*.*.*.*b", "a" * 5_000, None),
        ("[ab]{0,9000}a[ab]{0,9000}[yz]", "ab" * 20_000, None),
        ("a&&b", "a&&b", True),
        (r"\Ax\Z", "x", True),
    ],
)
def test_no_pattern_of_an_author_can_hang(pattern: str, text: str, expected: bool | None) -> None:
    assert Patterns().matches(pattern, text) is expected


def test_a_pattern_that_would_take_too_long_is_told_not_skipped() -> None:
    schema = {"type": "string", "pattern": r"^(?=a)(a+)+$"}

    assert wrong(inputs(x=schema), x="a" * 50) == [
        r"x: checking it against the pattern ^(?=a)(a+)+$ would take too long"
    ]


def test_many_texts_share_one_allowance() -> None:
    patterns = Patterns(work=1_000)

    assert patterns.matches("ab", "x" * 400) is False
    assert patterns.matches("ab", "x" * 400) is None


@given(st.text(max_size=30), st.text(max_size=30))
def test_any_pattern_gives_an_answer_or_none(pattern: str, text: str) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return

    assert Patterns().matches(pattern, text) in (True, False, None)


# --set

TYPED = inputs_of(
    "{n: {type: integer}, x: 1.5, on: true, name: Ann, list: [1], map: {port: 1, host: h},"
    " box: {type: object, properties: {side: {type: number}}}, lazy: '{{ env.X }}', a.b: 1,"
    " whole: 800, flag: {type: boolean}, none: null, some: {type: array, items: {type: integer}},"
    " walls: [{height: 1, glass: false}], half: {url: '{{ env.X }}', floors: 2, $t: [1]}}"
)


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("n=3", ("n",), 3),
        ("n=lots", ("n",), "lots"),
        ("n=2.5", ("n",), 2.5),
        ("n=007", ("n",), "007"),
        ("n=", ("n",), None),
        ("n=true", ("n",), "true"),
        ("x=-1e3", ("x",), -1000.0),
        ("whole=2.5", ("whole",), 2.5),
        ("on=false", ("on",), False),
        ("on=yes", ("on",), True),
        ("on=Off", ("on",), False),
        ("on=1", ("on",), True),
        ("on=0", ("on",), False),
        ("flag=no", ("flag",), False),
        ("flag=maybe", ("flag",), "maybe"),
        ("name=22:22", ("name",), "22:22"),
        ("name=3", ("name",), "3"),
        ("name=yes", ("name",), "yes"),
        ("name=", ("name",), ""),
        ("name=a=b", ("name",), "a=b"),
        ("none=3", ("none",), "3"),
        ("list=[a, 2]", ("list",), ["a", 2]),
        ("list.0=5", ("list", "0"), 5),
        ("list.1=5", ("list", "1"), "5"),
        ("some=a", ("some",), "a"),
        ("some.3=5", ("some", "3"), 5),
        ("walls.0.height=2", ("walls", "0", "height"), 2),
        ("walls.0.glass=yes", ("walls", "0", "glass"), True),
        ("map={port: 2}", ("map",), {"port": 2}),
        ("map.port=2", ("map", "port"), 2),
        ("map.new=2", ("map", "new"), "2"),
        ("box.side=2", ("box", "side"), 2),
        ("box.side=far", ("box", "side"), "far"),
        ("lazy=5", ("lazy",), "5"),
        ("half.url=5", ("half", "url"), "5"),
        ("half.floors=5", ("half", "floors"), 5),
        ("half.$t.0=5", ("half", "$t", "0"), 5),
        ("unheard=5", ("unheard",), "5"),
        ("a.b=5", ("a.b",), 5),
        ("a.b.c=5", ("a.b", "c"), "5"),
        ("name:=null", ("name",), None),
        ("whole:=null", ("whole",), None),
        ('whole:="abc"', ("whole",), "abc"),
        ('n:={"a": [1, "x"]}', ("n",), {"a": [1, "x"]}),
        ("map.port:=2", ("map", "port"), 2),
    ],
)
def test_a_set_value_has_the_declared_type_or_that_of_the_default(
    text: str, path: tuple[str, ...], value: Any
) -> None:
    found = set_value(text, TYPED)

    assert found == (path, value)
    assert type(found[1]) is type(value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("whole=abc", "a number is needed, as its default is, not the text 'abc'; "),
        ("whole=007", "a number is needed, as its default is, not the text '007'; "),
        ("whole=true", "a number is needed, as its default is, not the text 'true'; "),
        ("x=abc", "a number is needed, as its default is, not the text 'abc'; "),
        ("on=maybe", "true or false is needed, as its default is, not the text 'maybe'; "),
        ("on=2", "true or false is needed, as its default is, not the text '2'; "),
        ("list=abc", "a list in JSON is needed, as its default is, not the text 'abc'; "),
        ("list=[", "a list in JSON is needed, as its default is, not the text '['; "),
        ("list={a: 1}", "a list in JSON is needed, as its default is, not the text '{a: 1}'; "),
        ("map=[1]", "a map in JSON is needed, as its default is, not the text '[1]'; "),
        ("map.port=abc", "a number is needed, as its default is, not the text 'abc'; "),
        ("walls.0.height=a", "a number is needed, as its default is, not the text 'a'; "),
        ("half.floors=a", "a number is needed, as its default is, not the text 'a'; "),
        ("a.b=c", "a number is needed, as its default is, not the text 'c'; "),
    ],
)
def test_a_text_unlike_a_plain_default_is_refused_and_told_how_to_be_text(
    text: str, says: str
) -> None:
    name, _, given_text = text.partition("=")

    with pytest.raises(WrongPayload) as caught:
        set_value(text, TYPED)

    (problem,) = caught.value.problems
    assert problem.code == "wrong-type"
    assert problem.path == set_value(f"{name}:=0", TYPED)[0]
    assert problem.says == f'{says}write {name}:="{given_text}" when text is meant'


@pytest.mark.parametrize("text", ["whole=", "whole=null", "on=", "list=", "map=~"])
def test_nothing_is_no_number_and_no_list_where_nothing_checks_it_later(text: str) -> None:
    name = text.partition("=")[0]

    with pytest.raises(WrongPayload, match=f"write {name}:=null for nothing"):
        set_value(text, TYPED)


def test_what_is_long_or_secret_is_not_shown_when_it_is_refused() -> None:
    box = {"type": "object", "secret": True}
    some = [{"name": "box", "declared": True, "schema": box, "default": {"pin": 1}}]

    for text, inputs_of_it in (("box.pin=hush", some), (f"whole={'hush' * 20}", TYPED)):
        with pytest.raises(WrongPayload) as caught:
            set_value(text, inputs_of_it)

        assert "hush" not in str(caught.value)
        assert ':="…" when text is meant' in str(caught.value)


def test_json_of_another_type_than_a_plain_default_is_taken() -> None:
    given_payload: dict[str, Any] = {"whole": "abc", "on": None, "list": {"a": 1}}

    assert check_payload(TYPED, given_payload)[1] == []


@pytest.mark.parametrize("text", ["n", "=3", ":=3", "a..b=3", ".n=3", "n:=", "n:={a: 1}", "n:=NaN"])
def test_a_setting_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(WrongPayload):
        set_value(text, TYPED)


def test_what_cannot_be_set_is_told_with_all_else_that_is_wrong() -> None:
    declared = inputs(
        n={"type": "integer", "required": True, "maximum": 10},
        mode={"type": "string", "enum": ["a", "b"]},
        tags={"type": "array"},
    )
    plain = {"name": "free", "type": "number", "default": 5}

    with pytest.raises(WrongPayload) as wrong:
        with_sets({}, ["n=11", "mode=c", "tags=x", "foo=1", "free=wide"], [*declared, plain])

    names = {problem.path[0] for problem in wrong.value.problems}
    assert names == {"n", "mode", "tags", "foo", "free"}
    assert len(wrong.value.problems) == 5


def test_what_was_set_wrongly_is_not_told_as_missing() -> None:
    declared = inputs(n={"type": "integer", "required": True})

    with pytest.raises(WrongPayload) as wrong:
        with_sets({}, ["n:=[1", "x.y"], declared)

    assert [problem.code for problem in wrong.value.problems] == ["not-json", "not-a-setting"]


def test_setting_inside_keeps_the_rest_of_the_default() -> None:
    values = [set_value(one, TYPED) for one in ("map.port=2", "map.deep.er=x", "n=1")]

    made = with_values({}, values, TYPED)

    assert made == {"map": {"port": 2, "host": "h", "deep": {"er": "x"}}, "n": 1}
    assert check_payload(TYPED, made)[0]["on"] is True


def test_setting_inside_changes_the_payload_and_not_what_was_given() -> None:
    payload: Any = {"walls": [{"height": 1}, {"height": 2}], "map": {"port": 9}}

    made = with_values(payload, [(("walls", "1", "height"), 3), (("map", "host"), "x")], TYPED)

    assert made == {
        "walls": [{"height": 1}, {"height": 3}],
        "map": {"port": 9, "host": "x"},
    }
    assert payload == {"walls": [{"height": 1}, {"height": 2}], "map": {"port": 9}}


@pytest.mark.parametrize("path", [("name", "x"), ("list", "7"), ("list", "x"), ("lazy", "x")])
def test_nothing_is_set_inside_what_holds_nothing(path: tuple[str, ...]) -> None:
    with pytest.raises(WrongPayload):
        with_values({}, [(path, 1)], TYPED)


# --payload


@pytest.mark.parametrize(
    ("text", "payload"),
    [
        ('{"a": 1, "b": [true, null, "x"]}', {"a": 1, "b": [True, None, "x"]}),
        ('\ufeff {"smile": "\\ud83d\\ude00", "slash": "\\/"}', {"smile": "😀", "slash": "/"}),
        ('{\n\t"a": 1\n}', {"a": 1}),
        ("{a: 1, b: 007}", {"a": 1, "b": "007"}),
        ("a: 22:22\nb: yes\non: 2020-01-01\n", {"a": "22:22", "b": "yes", "on": "2020-01-01"}),
        ("a: {{ x }}\n", {"a": "{{ x }}"}),
        ("{}", {}),
    ],
)
def test_a_payload_is_json_or_yaml_by_the_rules_of_playbooks(text: str, payload: Any) -> None:
    assert read_payload(text) == payload


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "a map of names and values is needed, not nothing"),
        ("[1]", "not a list"),
        ("just words", "not text"),
        ("a: 1\na: 2\n", "line 2, column 1"),
        ('{"a": 1, "a": 2}', "'a' stands more than once"),
        ('{"a": NaN}', "NaN is no number here"),
        ('{"a": ' + "[" * 100_000, "levels deep"),
        ("a: [1\nb: 2", "line 1, column 4"),
        ("a: !!python/object:x 1", "line 1"),
    ],
)
def test_a_payload_that_cannot_be_read_says_why(text: str, says: str) -> None:
    with pytest.raises(WrongPayload, match=r"^the payload: ") as caught:
        read_payload(text)

    assert says in str(caught.value)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(max_size=9),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
        max_leaves=10,
    )
)
def test_what_is_written_as_json_is_read_back(value: Any) -> None:
    assert read_payload(json.dumps({"x": value})) == {"x": value}
