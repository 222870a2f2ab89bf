from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest
from jinja2 import TemplateSyntaxError, nodes

from noetl_mcp.playbook.rendering.render import (
    RenderError,
    compile_text,
    environment,
    parse,
    prepare,
)

SCOPE: dict[str, object] = {
    "workload": {"x": 1, "user": {"name": "bob"}, "items": [{"n": 1}, {"n": 2}]},
    "context": {"input": {"text": "hi"}},
    "a": {"b": {"c": {"d": [1, 2]}}, "s": "text"},
    "one": 1,
    "two": 2,
    "t": True,
    "nothing": None,
    "mcp": {"models": {"gpt-4o": {"name": "G"}, "a": 5}},
    "prompts": {
        "my-prompt": {"template": "Say {{ input.text }} {{ workload.x }}"},
        "outer": {"template": "{{ one }}"},
        "chat": {"template": [{"role": "user", "content": "{{ x }}!"}, 7]},
    },
}


def rendered(text: str, **names: object) -> object:
    return compile_text(text)({**SCOPE, **names})


def reason(text: str, **names: object) -> str:
    with pytest.raises(RenderError) as caught:
        rendered(text, **names)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ one }}", 1),
        ("{{one}}", 1),
        ("{{ t }}", True),
        ("{{ true }}", True),
        ("{{ nothing }}", None),
        ("{{ 1.5 }}", 1.5),
        ("{{ '007' }}", "007"),
        ("{{ a.b }}", {"c": {"d": [1, 2]}}),
        ("{{ a.b['c'].d[0] }}", 1),
        ("{{ a.b.c.d.1 }}", 2),
        ("{{ a.b.c.d[-1] }}", 2),
        ("{{ [one, two] }}", [1, 2]),
        ("{{ (one, two) }}", [1, 2]),
        ("{{ {'x': one} }}", {"x": 1}),
        ("{{ range(3) }}", [0, 1, 2]),
        ("{{ workload['items'] | map(attribute='n') }}", [1, 2]),
        ("{{ one + two > 2 }}", True),
        ("{# why #}{{ one }}", 1),
        ("  {{- one -}}\n", 1),
    ],
)
def test_an_expression_alone_gives_the_value_itself(text: str, value: object) -> None:
    given = rendered(text)

    assert given == value
    assert type(given) is type(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ one }}{{ two }}", "12"),
        (" {{ one }}", " 1"),
        ("{{ one }}\n", "1\n"),
        ("{% if t %}{{ one }}{% endif %}", "1"),
        ("{% set x = 1 %}{{ x }}", "1"),
        ("n={{ nothing }} t={{ t }} f={{ 1.0 }}", "n=null t=true f=1.0"),
        ("m={{ a.b }}", 'm={"c":{"d":[1,2]}}'),
        ("x{{ 'é<' }}", "xé<"),
        ("x{{ ['é<'] }}", 'x["é<"]'),
        ("{{ 'a' ~ nothing ~ true ~ [1] }}", "anulltrue[1]"),
        ("{{ [nothing, true, 'x'] | join(',') }}", "null,true,x"),
        ("{{ '%s %s' % (nothing, true) }}", "null true"),
        ("{{ nothing | string }}", "null"),
    ],
)
def test_everything_else_gives_text_written_as_json(text: str, value: str) -> None:
    assert rendered(text) == value


@pytest.mark.parametrize("text", ["007", "1", "true", "{}", "{ {x} }", "a\r\nb\n", "{# x #}", ""])
def test_a_text_without_tags_stays_as_it_is(text: str) -> None:
    assert rendered(text) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ '{{' }}", "{{"),
        ("{{ '{{' }}x", "{{x"),
        ('{{ "it\'s }}" }}', "it's }}"),
        ("{% raw %}{{ x }}{% endraw %}", "{{ x }}"),
        ("a {#- {{ nope }} -#} b{{ one }}", "ab1"),
        ("a  {{- one -}}  b", "a1b"),
        ("{{ one }}\r\nb\r\n", "1\r\nb\r\n"),
        ("a\r\n  {{- one }}", "a1"),
        ("\x00{{ one }}", "\x001"),
        ("# for x in y\n## {{ one }}", "# for x in y\n## 1"),
        ("{{ {'a': {'b': {}}} }}", {"a": {"b": {}}}),
        ("{{ 'ключ' }}—{{ one }}", "ключ—1"),
    ],
)
def test_the_corners_of_the_syntax_are_kept(text: str, value: object) -> None:
    assert rendered(text) == value


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{{ missing }}", "'missing' is unknown"),
        ("{{ missing.x.y }}", "'missing.x.y' is unknown: no 'missing'"),
        ("{{ a.q.r }}", "'a.q.r' is unknown: no 'q' in the map"),
        ("{{ a['q'].r }}", "'a['q'].r' is unknown: no 'q' in the map"),
        ("{{ workload.usr.name }}", "no 'usr' in the map, did you mean 'user'?"),
        ("{{ a.b.c.d[7] }}", "'a.b.c.d[7]' is unknown: no item 7 in a list of 2"),
        ("{{ a.s.q }}", "'a.s.q' is unknown: no 'q' in text"),
        ("{{ nothing.q }}", "'nothing.q' is unknown: no 'q' in nothing"),
        ("x{{ missing }}", "'missing' is unknown"),
        ("{{ [a.q] }}", "'a.q' is unknown"),
        ("{{ {'k': a.q} }}", "'a.q' is unknown"),
        ("{{ a.q == 1 }}", "'a.q' is unknown"),
        ("{{ a.q or 1 }}", "'a.q' is unknown"),
        ("{{ a.q | upper }}", "'a.q' is unknown"),
        ("{{ 'x' | replace('x', a.q) }}", "'a.q' is unknown"),
        ("{{ a.q is none }}", "'a.q' is unknown"),
        ("{{ a.q in [] }}", "'a.q' is unknown"),
        ("{% for x in a.q %}{% endfor %}", "'a.q' is unknown"),
        ("{% for x in [1] %}{{ x.q }}{% endfor %}", "'x.q' is unknown"),
        ("{% if missing %}{% endif %}", "'missing' is unknown"),
        ("{{ workload['items'] | map(attribute='q') }}", "no 'q' in the map"),
        ("{{ workload['items'] | map(attribute='q') | batch(2) | list }}", "no 'q' in the map"),
        ("{{ workload['items'] | groupby('q') }}", "no 'q' in the map"),
        ("{{ 1 if false }}", "the condition is false and there is no else"),
    ],
)
def test_an_unknown_name_is_an_error_and_never_text(text: str, told: str) -> None:
    assert told in reason(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ a.q.r | default(3) }}", 3),
        ("{{ missing.q[0].r | d('x') }}", "x"),
        ("{{ missing[1:] | default([]) }}", []),
        ("{{ missing | default(a.q) | default(4) }}", 4),
        ("{{ a.q.r is defined }}", False),
        ("{{ a.b.c is defined }}", True),
        ("{{ missing.q is undefined }}", True),
        ("{{ one if missing.q is not defined else missing.q }}", 1),
        ("{{ workload['items'] | map(attribute='q', default=0) }}", [0, 0]),
        ("{{ workload['items'] | map(attribute='q') | map('default', 0) }}", [0, 0]),
    ],
)
def test_a_missing_part_can_be_asked_about_and_replaced(text: str, value: object) -> None:
    assert rendered(text) == value


def test_an_error_names_the_expression_that_failed() -> None:
    with pytest.raises(RenderError) as caught:
        rendered("{{ one }}/{{ a.q.r }}?{{ two }}")

    assert caught.value.expression == "{{ a.q.r }}"
    assert caught.value.reason == "'a.q.r' is unknown: no 'q' in the map"


def test_an_error_in_a_tag_names_its_line() -> None:
    assert reason("x\n{% if missing %}y{% endif %}\nz").startswith("{% if missing %}y{% endif %}:")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ workload.items }}", [{"n": 1}, {"n": 2}]),
        ("{{ a.b.items() }}", [("c", {"d": [1, 2]})]),
        ("{{ a.keys() }}", ["b", "s"]),
        ("{{ a.b.c.values() }}", [[1, 2]]),
        ("{{ a.get('zz', 4) }}", 4),
        ("{% for k, v in a.b.items() %}{{ k }}={{ v.d }}{% endfor %}", "c=[1,2]"),
    ],
)
def test_a_key_wins_over_a_method_which_can_still_be_called(text: str, value: object) -> None:
    assert rendered(text) == value


def test_a_method_of_a_map_that_is_not_called_is_an_unknown_name() -> None:
    assert "'a.items' is unknown: no 'items' in the map" in reason("{{ a.items }}")
    assert rendered("{{ a.items is defined }}") is False


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ {'b': 'é<', 'a': [1, none]} | tojson }}", '{"b":"é<","a":[1,null]}'),
        ("{{ {'a': 1} | tojson(indent=2) }}", '{\n  "a": 1\n}'),
        ("{{ '{\"a\": [1, 2.5, null]}' | fromjson }}", {"a": [1, 2.5, None]}),
        ("{{ '12345678901234567890123' | fromjson }}", 12345678901234567890123),
        ("{{ 'é' | b64encode }}", "w6k="),
        ("{{ 'w6k=' | b64decode }}", "é"),
        ("{{ 'public.Users' | ident }}", '"public"."Users"'),
        ("{{ 'a b&c' | urlencode }}", "a%20b%26c"),
        ("{{ {'a': true, 'b': 'x y'} | urlencode }}", "a=true&b=x+y"),
        ("{{ ('a<b' | e) + '<' }}", "a&lt;b<"),
        ("{{ [[1], [2]] | sum(start=[]) }}", [1, 2]),
        ("{{ '%05.1f %s' | format(2.25, 'x') }}", "002.2 x"),
    ],
)
def test_filters_do_what_they_say(text: str, value: object) -> None:
    assert rendered(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "{{ {1: 2} | tojson }}",
        "{{ (1e308 * 10) | tojson }}",
        "{{ [none, 1e308 * 10] | tojson }}",
        "{{ '\\ud800' | tojson }}",
        "{{ 'NaN' | fromjson }}",
        "{{ '{' | fromjson }}",
        "{{ '!!' | b64decode }}",
        "{{ '/w==' | b64decode }}",
        "{{ 'users; drop table x' | ident }}",
        "{{ 'a\"b' | ident }}",
        "{{ 'a..b' | ident }}",
        "{{ '' | ident }}",
        "{{ one / 0 }}",
        "{{ one + 'x' }}",
    ],
)
def test_what_cannot_be_done_is_an_error(text: str) -> None:
    assert reason(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{{ x | uper }}", "did you mean 'upper'?"),
        ("{{ 1 if true else (x | uper) }}", "no filter named 'uper'"),
        ("{{ x is definde }}", "did you mean 'defined'?"),
        ("{{ x", "unexpected end of template"),
        ("{{ \x00 }}", "unexpected char"),
    ],
)
def test_what_cannot_be_read_is_a_syntax_error(text: str, told: str) -> None:
    with pytest.raises(TemplateSyntaxError) as caught:
        compile_text(text)

    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ prompts.my-prompt.template | render({ input: context.input }) }}", "Say hi 1"),
        ("{{ prompts.my-prompt.template | render(input={ text: 'you' }) }}", "Say you 1"),
        ("{{ '{{ x }}' | render(x=1) }}", "1"),
        ("{{ '{{ x }}' | render({ x: [one, true] }) }}", "[1,true]"),
        ("{{ prompts.chat.template | render(x=2) }}", [{"role": "user", "content": "2!"}, 7]),
    ],
)
def test_render_fills_a_text_with_the_names_it_is_given(text: str, value: object) -> None:
    assert rendered(text) == value


def test_render_sees_only_the_names_given_and_the_workload() -> None:
    assert reason("{{ prompts.outer.template | render({}) }}") == "{{ one }}: 'one' is unknown"


def test_a_bare_key_outside_render_is_a_name() -> None:
    assert rendered("{{ {one: 2} }}") == {1: 2}


@pytest.mark.parametrize(
    ("text", "ready"),
    [
        ("{{ mcp.models.gpt-4o.name }}", "{{ mcp.models['gpt-4o'].name }}"),
        ("{{ prompts.my-prompt.template }}", "{{ prompts['my-prompt'].template }}"),
        ("{% if mcp.tools.a-b %}", "{% if mcp.tools['a-b'] %}"),
        ("{{ prompts.a-b-}}", "{{ prompts['a-b']-}}"),
        ("{{ {'a': {}}, prompts.a-b }}", "{{ {'a': {}}, prompts['a-b'] }}"),
        ("{{ 'mcp.models.gpt-4o' }}", "{{ 'mcp.models.gpt-4o' }}"),
        ("mcp.models.gpt-4o {{ x }}", "mcp.models.gpt-4o {{ x }}"),
        ("{# mcp.models.gpt-4o #}", "{# mcp.models.gpt-4o #}"),
        (
            "{% raw %}{{ prompts.a-b }}{% endraw %}{{ prompts.a-b }}",
            "{% raw %}{{ prompts.a-b }}{% endraw %}{{ prompts['a-b'] }}",
        ),
        ("{{ mcp.models.a - b }}", "{{ mcp.models.a - b }}"),
        ("{{ workload.prompts.a-b }}", "{{ workload.prompts.a-b }}"),
        ("{{ my_prompts.a-b }}", "{{ my_prompts.a-b }}"),
        ("{{ step.a-b }}", "{{ step.a-b }}"),
        ("{{ prompts.a-b ", "{{ prompts.a-b "),
    ],
)
def test_hyphens_belong_to_the_names_of_the_mcp_section(text: str, ready: str) -> None:
    assert prepare(text) == ready


def test_hyphenated_names_are_found_and_spaces_subtract() -> None:
    assert rendered("{{ mcp.models.gpt-4o.name }}") == "G"
    assert rendered("{{ mcp.models.a - two }}") == 3


class Watched(Mapping[str, object]):
    """Names that remember which of them were looked up."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __getitem__(self, name: str) -> object:
        self.seen.append(name)
        return SCOPE[name]

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("the names were copied")

    def __len__(self) -> int:
        raise AssertionError("the names were counted")


@pytest.mark.parametrize("text", ["{{ a.b }}", "x{{ a.b }}", "{{ a.b | tojson | render(one=1) }}"])
def test_only_the_names_in_use_are_looked_up(text: str) -> None:
    names = Watched()

    compile_text(text)(names)

    assert set(names.seen) <= {"a", "workload", "context"}


@pytest.mark.parametrize(
    "path", ["a.b", "a.q", "a.s.upper", "missing.x", "a.b.c.d[0]", "a.b.c.d[9]", "a.s[0]", "range"]
)
def test_a_plain_path_means_the_same_as_in_any_expression(path: str) -> None:
    def outcome(text: str) -> object:
        try:
            return rendered(text)
        except RenderError as error:
            return error.reason

    assert outcome("{{ " + path + " }}") == outcome("{{ " + path + " if true else 0 }}")


def test_a_name_that_is_given_wins_over_a_function_of_that_name() -> None:
    assert rendered("{{ range.x }}", range={"x": 5}) == 5


def test_there_is_one_environment_and_a_text_is_compiled_once() -> None:
    assert environment() is environment()
    assert compile_text("{{ one }}-") is compile_text("{{ one }}-")


def test_the_tree_of_a_template_is_prepared() -> None:
    tree = parse("{{ mcp.models.gpt-4o }}{{ x | render({ input: y }) }}")

    names = {node.name for node in tree.find_all(nodes.Name)}
    assert names == {"mcp", "x", "y"}


def test_templates_can_be_rendered_by_many_threads_at_once() -> None:
    text = "{% for i in range(n) %}{{ i }}{{ ',' if not loop.last else '' }}{% endfor %}"

    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(lambda n: rendered(text, n=n), range(200)))

    assert texts == [",".join(map(str, range(n))) for n in range(200)]


def test_now_is_a_moment_that_is_given_and_never_asked_for() -> None:
    scope = {"now": "2026-11-18T12:00:00Z"}

    assert compile_text("{{ now() }}")(scope) == "2026-11-18T12:00:00Z"
    assert compile_text("at {{ now }}")(scope) == "at 2026-11-18T12:00:00Z"
