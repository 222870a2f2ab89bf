"""What a template cannot reach and how much it cannot do."""

import random
import time

import pytest
from jinja2 import TemplateSyntaxError

from noetl_mcp.playbook.rendering.guards import SOURCE_LIMIT
from noetl_mcp.playbook.rendering.render import RenderError, compile_text

SCOPE = {"a": {"b": 1}, "word": "x", "rows": [1, 2]}


def refusal(text: str) -> str:
    with pytest.raises((RenderError, TemplateSyntaxError)) as caught:
        compile_text(text)(SCOPE)
    return str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "{{ ''.__class__ }}",
        "{{ ''['__class__'] }}",
        "{{ '' | attr('__class__') }}",
        "{{ [''] | map(attribute='__class__') | list }}",
        "{{ [''] | map('attr', '__class__') | list }}",
        "{{ ['', 'a'] | sort(attribute='__class__') }}",
        "{{ [''] | groupby('__class__') }}",
        "{{ ().__class__.__base__.__subclasses__() }}",
        "{{ a.__class__ }}",
        "{{ a['__class__'] }}",
        "{{ cycler.__init__.__globals__ }}",
        "{{ cycler('a').__init__ }}",
        "{{ joiner.__init__ }}",
        "{{ namespace.__init__ }}",
        "{{ namespace(a=1)._Namespace__attrs }}",
        "{{ lipsum.__globals__ }}",
        "{{ range.__self__ }}",
        "{{ dict.fromkeys('a') }}",
        "{{ '{0.__class__}'.format(1) }}",
        "{{ '{a.__class__}'.format_map(a) }}",
        "{{ rows.append(3) }}",
        "{{ rows.sort() }}",
        "{{ a.update(b=2) }}",
        "{{ a.pop('b') }}",
        "{{ word.upper.__self__ }}",
        "{{ word.upper.text }}",
        "{{ word.encode() }}",
        "{% macro m() %}{% endmacro %}{{ m._func }}",
        "{% for i in rows %}{{ loop._iterator }}{% endfor %}",
        "{% for i in rows %}{{ loop.__init__ }}{% endfor %}",
        "{{ self }}",
        "{{ self.__init__ }}",
        "{{ caller }}",
        "{{ open('x') }}",
        "{{ exec('1') }}",
        "{{ word('x') }}",
        "{{ a.b() }}",
        "{{ environment }}",
        "{{ ' rounds' | nothing }}",
        "{{ rows | map(' nothing') | list }}",
    ],
)
def test_a_template_reaches_nothing_but_its_values(text: str) -> None:
    assert "object at 0x" not in refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        "{{ range }}",
        "{{ namespace(a=1) }}",
        "{{ cycler('a') }}",
        "{{ word.upper }}",
        "{% macro m() %}{% endmacro %}{{ m }}",
        "{% for i in rows %}{{ loop }}{% endfor %}",
        "{{ [range] }}",
        "{{ {'a': dict} }}",
        "{{ dict(a=range) }}",
        "{{ cycler(joiner).items }}",
        "{{ (-8) ** 0.5 }}",
    ],
)
def test_what_is_no_value_never_leaves_a_template(text: str) -> None:
    assert "is not a value" in refusal(text)


@pytest.mark.parametrize("tag", ["include 'x'", "import 'x' as y", "extends 'x'"])
def test_a_template_stands_alone(tag: str) -> None:
    assert "a template stands alone" in refusal(f"{{% {tag} %}}")


def test_blocks_and_names_from_other_templates_are_refused() -> None:
    assert "'block' cannot be used" in refusal("{% block x %}{% endblock %}")
    assert "'import' cannot be used" in refusal("{% from 'x' import y %}")


@pytest.mark.parametrize(
    "text",
    [
        '{{ "x" * 10**9 }}',
        '{{ 10**9 * "x" }}',
        "{{ [0] * 10**9 }}",
        "{{ 9**(9**9) }}",
        "{{ 10**2000 * 10**2000 }}",
        "{{ 'x' | center(10**9) }}",
        "{{ 'x'.ljust(10**9) }}",
        "{{ 'x'.zfill(10**9) }}",
        "{{ 'x' | indent(10**9) }}",
        "{{ '%999999999d' | format(1) }}",
        "{{ '%.999999999f' | format(1) }}",
        "{{ '%999999999d' % 1 }}",
        "{{ '%*d' % (10**9, 1) }}",
        "{{ '%999999999d' is divisibleby(1) }}",
        "{{ '%999999999d' is odd }}",
        "{{ range(10**9) }}",
        "{{ range(10**30) }}",
        "{{ [1] | batch(10**9, 'x') | list }}",
        "{{ [1] | slice(10**9) | list }}",
        "{{ 5 | round(10**9, 'ceil') }}",
        "{{ ('x' * 10**6).replace('x', 'y' * 10**6) }}",
        "{{ ('x' * 10**6) | replace('', 'y' * 10**6) }}",
        "{{ ('x' * 10**6).join(range(1000) | map('string')) }}",
        "{{ range(1000) | join('x' * 10**6) }}",
        "{{ '%(a)s' * 1000 % {'a': 'x' * 10**6} }}",
        "{{ ('<!--' * 10**6) | striptags }}",
        "{{ ('x ' * 10**5) | wordwrap(1, wrapstring='x' * 10**6) }}",
        "{% for i in range(100000) %}{{ 'x' * 1000 }}{% endfor %}",
        "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
        "{% for i in range(99999) %}{% set x = range(99999) | sum %}{% endfor %}",
        "{% for i in range(99999) %}{% set x = i in range(99999) | list %}{% endfor %}",
        "{% macro f(n) %}{% if n %}{{ f(n-1) }}{{ f(n-1) }}{% endif %}{% endmacro %}{{ f(60) }}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{% set n = namespace(x='a') %}"
        "{% for i in range(40) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
        "{% set n = namespace(x=[1]) %}"
        "{% for i in range(40) %}{% set n.x = n.x + n.x %}{% endfor %}",
        "{% set n = namespace(x=1) %}"
        "{% for i in range(40) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x }}",
        "{% set n = namespace(x=1) %}"
        "{% for i in range(9999) %}{% set n.x = [n.x] %}{% endfor %}{{ n.x }}",
        "{{ ('[' * 100000) | fromjson }}",
        "{% set q = '{{ q | render(q=q) }}' %}{{ q | render(q=q) }}",
    ],
)
def test_a_template_cannot_run_away(text: str) -> None:
    started = time.monotonic()

    refusal(text)

    assert time.monotonic() - started < 20


@pytest.mark.parametrize(
    "text",
    [
        "{{ " + "(" * 10_000 + "1" + ")" * 10_000 + " }}",
        "{{ " + "[" * 10_000 + "1" + "]" * 10_000 + " }}",
        "{{ a" + ".b" * 10_000 + " }}",
        "{{ " + "1+" * 10_000 + "1 }}",
        "{{ " + "not " * 10_000 + "1 }}",
        "{{ a" + "|upper" * 5_000 + " }}",
        "{% if 1 %}" * 300 + "{% endif %}" * 300,
        "{% for i in rows %}" * 30 + "{% endfor %}" * 30,
    ],
)
def test_deep_nesting_is_an_error_and_no_crash(text: str) -> None:
    assert "nested too deeply" in refusal(text)


def test_a_template_has_a_longest_length_and_a_largest_number_of_tags() -> None:
    assert "longer than" in refusal("x" * SOURCE_LIMIT + "{{ a }}")
    assert "more than 10,000 tags" in refusal("{{ a }}" * 10_001)


@pytest.mark.parametrize("number", ["9" * 5_000, "0x" + "f" * 5_000, "1e999"])
def test_numbers_without_end_are_refused(number: str) -> None:
    assert "a number is too" in refusal(f"{{{{ {number} }}}}")


PIECES = """
{{ }} {% %} {# #} {{- -}} a a.b word rows missing . [ ] ( ) { } ' " | ~ + - * ** / // % =
== < in is not if else endif for endfor set macro endmacro raw endraw upper default tojson
join render 0 1 2.5 none true \x00 é , : __class__ \\
"""


def test_any_text_gives_a_value_or_an_error_that_is_ours() -> None:
    chance = random.Random(7)
    pieces = PIECES.split()
    ended = {"value": 0, "error": 0}

    for _ in range(3_000):
        text = " ".join(chance.choices(pieces, k=chance.randrange(1, 12)))
        try:
            compile_text(text)(SCOPE)
            compile_text("{{ " + text + " }}")(SCOPE)
        except (RenderError, TemplateSyntaxError):
            ended["error"] += 1
        else:
            ended["value"] += 1

    assert sum(ended.values()) == 3_000
    assert min(ended.values()) > 0
