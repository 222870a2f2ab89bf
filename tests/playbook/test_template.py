"""What a template is and which names it uses, found quickly and found thoroughly."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noetl_mcp.playbook.rendering.render import environment
from noetl_mcp.playbook.template import _FILTER, TemplateProblem, Use, _quickly, read_template
from noetl_mcp.playbook.template_uses import read_thoroughly

PATHS = st.sampled_from(
    ["a", "a.b", "a.b[0]", "a['x y'].c", 'b["k"]', "nota", "order", "i_n", "a1.b2", "true", "none"]
)
CONSTANTS = st.sampled_from(["1", "-2", "3.5", "'t'", '"q"', "''", "'and'", "'a.b'"])
FILTERS = st.sampled_from(
    ["", " | default(1)", "|d('')", " | length", "|list|first", " | join(',')", " | default([])"]
)
OPERANDS = st.builds(str.__add__, st.one_of(PATHS, CONSTANTS), FILTERS)
CLAUSES = st.one_of(
    OPERANDS,
    st.builds("not {}".format, OPERANDS),
    st.builds("{} {} {}".format, OPERANDS, st.sampled_from(["==", "!=", "<", ">="]), OPERANDS),
    st.builds("{} {} {}".format, OPERANDS, st.sampled_from(["in", "not in"]), OPERANDS),
)
EXPRESSIONS = st.lists(CLAUSES, min_size=1, max_size=3).flatmap(
    lambda clauses: st.sampled_from([" and ", " or "]).map(lambda word: word.join(clauses))
)
TEXTS = st.one_of(
    EXPRESSIONS.map("{{{{ {} }}}}".format),
    EXPRESSIONS.map("{{{{{}}}}}".format),
    st.builds("x {{{{ {} }}}} y {{{{ {} }}}}".format, EXPRESSIONS, EXPRESSIONS),
    st.text("{}ab.|'\" 1=[]()not", max_size=14).map("{{{{{}}}}}".format),
)


@given(TEXTS)
@settings(max_examples=400, deadline=None)
def test_the_quick_reading_says_what_the_parser_says(text: str) -> None:
    quick = _quickly(text)
    if quick is None:
        return

    slow = read_thoroughly(text)

    assert set(quick.uses) == set(slow.uses)
    assert (quick.kind == "template") == (slow.kind == "template")


def test_every_filter_of_the_quick_reading_exists() -> None:
    assert set(_FILTER.split("|")) <= set(environment().filters)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("plain", "literal"),
        ("{{ a.b }}", "path"),
        ("{{ a.b > 1 }}", "expression"),
        ("{{ a | length }}", "expression"),
        ("{{ a | selectattr('x') | list }}", "expression"),
        ("{{ a }} ", "template"),
        ("x{{ a }}", "template"),
        ("{% if a %}b{% endif %}", "template"),
    ],
)
def test_a_text_is_classified_once(text: str, kind: str) -> None:
    assert read_template(text).kind == kind


def test_what_is_provided_for_may_be_missing() -> None:
    assert read_template("{{ a.b | default(0) }}").uses == (Use(("a", "b"), optional=True),)
    guarded = read_template("{{ x.y if x is defined else z }}").uses
    assert {use.root: use.optional for use in guarded} == {"x": True, "z": False}


def test_names_made_inside_are_not_asked_for() -> None:
    uses = read_template("{% for a in rows %}{{ a.b }}{{ loop.index }}{% endfor %}").uses

    assert [use.root for use in uses] == ["rows"]


def test_a_broken_template_says_why_and_in_which_line() -> None:
    with pytest.raises(TemplateProblem) as problem:
        read_template("fine\n{{ a ++ }}")

    assert problem.value.line == 2
