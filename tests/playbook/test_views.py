"""A name that stands for a result: a plain value everywhere, with more around it for a path."""

import pytest

from noetl_mcp.playbook.rendering.render import RenderError, compile_text
from noetl_mcp.playbook.rendering.secret import Secret
from noetl_mcp.playbook.rendering.views import ITSELF, Items, Named, View

AROUND = ({"status": "completed", "error": None, "data": ITSELF, "result": ITSELF},)
EACH = {"items": 3, "results": [{"x": 1}, {"x": 2}, {"x": 3}], "count": 3, "errors": []}
ALL = {"token": Secret("s3cr3t")}
SCOPE: dict[str, object] = {
    "m": View({"a": {"b": 3}, "rows": [1, 2]}, AROUND),
    "own": View({"status": "mine", "data": {"x": 1}}, AROUND),
    "over": View({"status": "mine"}, AROUND, {"status": "ours"}),
    "n": View(5, AROUND),
    "t": View("text", AROUND),
    "z": View(None, AROUND),
    "yes": View(True, AROUND),
    "l": View([3, 4], AROUND),
    "e": View(Items(EACH, EACH["results"]), AROUND),  # type: ignore[arg-type] # a list
    "secrets": Named("the secrets", ALL.__getitem__),
    "ctx": Named("the names set", {"a": 1}.__getitem__, lambda: ["a"]),
}


def rendered(text: str) -> object:
    return compile_text(text)(SCOPE)


def reason(text: str) -> str:
    with pytest.raises(RenderError) as caught:
        rendered(text)
    return caught.value.reason


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ m }}", {"a": {"b": 3}, "rows": [1, 2]}),
        ("{{ m.a.b }}", 3),
        ("{{ m.status }}", "completed"),
        ("{{ m.data }}", {"a": {"b": 3}, "rows": [1, 2]}),
        ("{{ m.result.data.a.b }}", 3),
        ("{{ m['status'] }}", "completed"),
        ("{{ m.data.status }}", "completed"),
        ("{{ own.status }}", "mine"),
        ("{{ own.data.x }}", 1),
        ("{{ over.status }}", "ours"),
        ("{{ n.status ~ n }}", "completed5"),
        ("{{ n.data + n }}", 10),
        ("{{ n > 4 and n in [5] }}", True),
        ("{{ t.status }}", "completed"),
        ("{{ t.upper() }}", "TEXT"),
        ("{{ t[0] }}", "t"),
        ("{{ z is none }}", True),
        ("{{ z }}", None),
        ("{{ z.status }}", "completed"),
        ("{{ z.error is none }}", True),
        ("{{ yes and not z }}", True),
        ("{{ l[1] }}", 4),
        ("{{ l | sum }}", 7),
        ("{{ l.count(3) }}", 1),
        ("{{ l.data | length }}", 2),
        ("{{ [n, z, l] }}", [5, None, [3, 4]]),
        ("{{ {'n': n, 'm': m.a} }}", {"n": 5, "m": {"b": 3}}),
        ("{{ dict(n=n) }}", {"n": 5}),
        ("{{ m.keys() }}", ["a", "rows"]),
        ("{{ m | default(1) }}", {"a": {"b": 3}, "rows": [1, 2]}),
        ("{{ m.nope | default(1) }}", 1),
        ("{{ m is mapping and l is sequence and n is number and t is string }}", True),
        ("x{{ m.a }}", 'x{"b":3}'),
        ("{% set q = m %}{{ q.a.b }}{{ m.status }}", "3completed"),
        ("{% macro f(x) %}{{ x.a.b }}{{ n.status }}{% endmacro %}{{ f(m) }}", "3completed"),
        ("{% for r in l %}{{ r }}{{ l.status }}{% endfor %}", "3completed4completed"),
    ],
)
def test_a_result_is_its_value_and_a_path_looks_around_it(text: str, value: object) -> None:
    given = rendered(text)

    assert given == value
    assert type(given) is type(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ e }}", EACH),
        ("{{ [e] }}", [EACH]),
        ("{{ dict(e=e) }}", {"e": EACH}),
        ("{{ e | tojson | fromjson }}", EACH),
        ("{{ e.results }}", EACH["results"]),
        ("{{ e.items }}", 3),
        ("{{ e.status }}", "completed"),
        ("{{ e[0].x }}", 1),
        ("{{ e[-1].x }}", 3),
        ("{{ e[1:] }}", [{"x": 2}, {"x": 3}]),
        ("{{ e['count'] }}", 3),
        ("{{ e | length }}", 3),
        ("{{ e | map(attribute='x') | list }}", [1, 2, 3]),
        ("{{ e | last }}", {"x": 3}),
        ("{{ e | reverse | first }}", {"x": 3}),
        ("{{ e | sum(attribute='x') }}", 6),
        ("{{ e.data | list }}", EACH["results"]),
        ("{{ {'x': 2} in e }}", True),
        ("{{ e.keys() }}", ["items", "results", "count", "errors"]),
        ("{% for one in e %}{{ one.x }}{{ loop.last }}{% endfor %}", "1false2false3true"),
    ],
)
def test_a_list_with_a_map_around_it_is_read_as_both(text: str, value: object) -> None:
    given = rendered(text)

    assert given == value
    assert type(given) is type(value)


def test_what_is_handed_to_another_template_is_the_value_alone() -> None:
    assert rendered("{{ '{{ m.a.b }}{{ n }}' | render(m=m, n=n) }}") == "35"
    assert "no 'status'" in reason("{{ '{{ m.status }}' | render(m=m.data) }}")


def test_what_comes_out_is_the_very_value_that_went_in() -> None:
    assert rendered("{{ e }}") is EACH
    assert rendered("{{ m.data.rows }}") is rendered("{{ m.rows }}")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{{ m.nope }}", "'m.nope' is unknown: no 'nope' in the map"),
        ("{{ m.data.row }}", "no 'row' in the map, did you mean 'rows'?"),
        ("{{ n.nope }}", "'n.nope' is unknown: no 'nope' in a whole number"),
        ("{{ l[7] }}", "no item 7 in a list of 2"),
        ("{{ e[7] }}", "'e[7]' is unknown"),
        ("{{ secrets.tokn }}", "'secrets.tokn' is unknown: no 'tokn' among the secrets"),
        ("{{ secrets }}", "the secrets are read one by one, by name"),
        ("{% for s in secrets %}{% endfor %}", "the secrets are read one by one, by name"),
        ("{{ secrets | tojson }}", "the secrets are read one by one, by name"),
        ("{{ [secrets] }}", "the secrets are read one by one, by name"),
    ],
)
def test_what_is_not_there_is_told_by_the_value(text: str, told: str) -> None:
    assert told in reason(text)


def test_names_in_a_row_are_a_map_when_they_can_be_listed() -> None:
    assert rendered("{{ ctx }}") == {"a": 1}
    assert rendered("{{ ctx.a }}") == 1
    assert rendered("{{ 'a' in ctx and 'b' not in ctx }}") is True
    assert rendered("{{ ctx.items() | list }}") == [["a", 1]]
    assert rendered("{{ secrets.token }}") == Secret("s3cr3t")
    assert rendered("{{ secrets.none | default('') }}") == ""
