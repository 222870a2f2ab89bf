"""Templates that ask for work without end: each comes to an end, with a result or a refusal.

Each is rendered in a process of its own, which the system ends when it takes much longer than it
may.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

MOST_SECONDS = 3
"""A render takes about one second; others may be at work."""

DOUBLED = (
    "{% set ns = namespace(a=[1], b=[1]) %}"
    "{% for i in range(45) %}"
    "{% set ns.a = [ns.a, ns.a] %}{% set ns.b = [ns.b, ns.b] %}"
    "{% endfor %}"
)
PAIRED = (
    "{% set ns = namespace(a=1) %}"
    "{% for i in range(45) %}{% set ns.a = cycler(ns.a, ns.a).items %}{% endfor %}"
)
LONG = "{% set s = 'a' * 16000000 %}"
SHORT = "{% set s = 'a' * 2400 %}{% set t = 'a' * 600 ~ 'b' ~ 'a' * 600 %}"

ON_SHARED = (
    *("ns.a == ns.b", "ns.a != ns.b", "ns.a < ns.b", "ns.a >= ns.b", "ns.a == ns.b == ns.a"),
    *("ns.a in [ns.b]", "ns.a not in [ns.b]", "ns.a is eq(ns.b)", "ns.a is lt(ns.b)"),
    *("ns.a is in([ns.b])", "ns.a is lower", "[ns.a].index(ns.b)", "[1].index(ns.b)"),
    *("[ns.a].count(ns.b)", "[ns.a, ns.b] | sort", "[ns.a, ns.b] | max", "[ns.a, ns.b] | min"),
    *("[ns.a, ns.b] | unique | list", "[{'x': ns.a}, {'x': ns.b}] | groupby('x')"),
    *("[{'x': ns.a}, {'x': ns.b}] | sort(attribute='x')", "{'p': ns.a} | dictsort(by='value')"),
    *("[ns.a] | select('eq', ns.b) | list", "[{'x': ns.a}] | rejectattr('x', 'in', [ns.b]) | list"),
    *("ns.a | tojson", "ns.a | string", "ns.a ~ ns.b", "'%s' | format(ns.a)", "'%s' % ns.a"),
    *("[ns.a, ns.b] | join", "ns.a | upper", "ns.a | urlize", "{'a': ns.a} | xmlattr"),
    *("[[1, ns.a]] | urlencode", "ns.a | list", "ns.a", "'a' | replace(ns.a, 'b')"),
    *("'a' | attr(ns.a)", "{}[ns.a]", "{}.get(ns.a)", "[1] | map(ns.a) | list", "ns.a is filter"),
)
ON_LONG = (
    *("s.find('b')", "s.count('ab')", "'ab' in s", "s == s ~ ''", "s[1:] == s[:-1]", "s | upper"),
    *("s.lower()", "s | replace('ab', 'c')", "s[1:]", "s ~ 'x'", "s | list", "s.split('b')"),
    *("s.splitlines()", "s.startswith(s)", "s.strip('b')", "s | trim('b')", "s.isalpha()"),
    *("s | title", "s | urlencode", "s | wordcount", "s | b64encode", "s | tojson", "s"),
    *("'%s' % s", "s | e", "[s, s] | sort", "{}.get(s)", "s.rfind('b')"),
)
ON_SHORT = ("s.find(t)", "s.rfind(t)", "t in s", "s.replace(t, '')", "s.rsplit(t)", "s.strip(t)")
OTHERS = (
    "{{ ('b' * 50000).join('a' * 50000) }}",
    "{{ ('b' * 8000000).join({'a': 1, 'b': 2, 'c': 3, 'd': 4}) }}",
    "{{ ('b' * 1000000).join(range(1000) | map('string')) }}",
    "{{ ('a ' * 8000000).split() | length }}",
    "{{ ('a\\r' * 5000000) | indent(10000) }}",
    "{{ ('%(a)9999d' * 100000) % {'a': 1} }}",
    "{{ '%(a(b))999999999d' % {'a(b)': 1} }}",
    "{{ ('%(' * 8000000) % 1 }}",
    "{{ ('%%' * 8000000) % () }}",
    "{% set s = '\"' * 4000000 %}{{ {'a': s, 'b': s, 'c': s, 'd': s, 'e': s, 'f': s} | xmlattr }}",
    LONG + "{{ s.rfind('b' ~ s[:8000000]) }}",
    LONG + "{{ s.find(s[:8000000] ~ 'b') }}",
    LONG + "{{ s.strip('b' * 1000000 ~ 'a') }}",
    "{% set ns = namespace(a=[]) %}{% for i in range(190) %}{% set ns.a = [ns.a] %}{% endfor %}"
    "{{ ([ns.a] * 5000) | tojson(indent=16) }}",
    "{% set ns = namespace(x=1) %}{% for i in range(99999) %}{% set ns.x = ns.x + ns.x %}"
    "{% endfor %}",
    "{% set ns = namespace(x=1) %}{% for i in range(99999) %}{% set ns.x = ns.x - (0 - ns.x) %}"
    "{% endfor %}",
    "{{ ('f' * 16000000) | int(0, 16) // ('f' * 8000000) | int(0, 16) }}",
    "{% for i in range(99999) %}{% if " + " or ".join(["i < 0"] * 4000) + " %}{% endif %}"
    "{% endfor %}",
    "{% for i in range(99999) %}{% set x %}a" + "b" * 900000 + "{{ i }}{% endset %}{% endfor %}",
    "{% for i in range(9) recursive %}{% if " + " or ".join(["i.x is defined"] * 2000) + " %}"
    "{% endif %}{{ loop(range(9)) }}{% endfor %}",
    "{% macro f() %}{% set x = [" + "1," * 10000 + "] %}{% endmacro %}"
    "{% for i in range(99999) %}{{ f() }}{% endfor %}",
    "{% macro f() %}{{ caller() }}{% endmacro %}"
    "{% for i in range(99999) %}{% call f() %}{% set x = [" + "1," * 10000 + "] %}{% endcall %}"
    "{% endfor %}",
    "{{ range(99999)" + "| map(attribute='x', default=1)" * 100 + " | list | length }}",
    "{{ (['a'] * 900000) | map(attribute='" + "a." * 90 + "a', default=1) | list | length }}",
    "{% for i in range(99999) %}{% set x = ('{{ 1 + ' ~ i ~ ' }}') | render %}{% endfor %}",
    "{{ ([[1]] * 99999) | sum(start=[]) | length }}",
    "{{ (['a' * 160] * 99999) | sum(start='') | length }}",
    "{% for i in range(99999) %}{% set x = [1] | batch(100000, 0) | list %}{% endfor %}",
    "{{ (['a' * 1000000] * 10000) | sort | length }}",
    "{% for i in range(99999) %}{{ loop.cycle(*range(99999)) }}{% endfor %}",
    "{% for i in range(9) %}{{ [1] | map(' work', -100000000) | list }}{% endfor %}",
    DOUBLED + "{% for x in [ns.a, ns.b] %}{{ loop.changed(x) }}{% endfor %}",
    "{{ {'" + "ab" * 300000 + "': 1}['" + "ba" * 300000 + "'] }}",
    "{{ rows | batch(99999, rows) }}",
    "{% for i in range(999) %}{% set x = ('x' * 260000) | wordwrap(1) %}{% endfor %}",
    "{% for i in range(999) %}{% set x = (' ' * 260000) | wordwrap(1) %}{% endfor %}",
    "{% for i in range(999) %}{% set x = ('a.' * 130000) | urlize %}{% endfor %}",
    "{{ ('[' ~ '[],' * 5000000 ~ '1]') | fromjson | length }}",
    "{{ [" + "a | e, " * 100000 + "] }}",
)
BOMBS = (
    *(DOUBLED + "{{ " + expression + " }}" for expression in ON_SHARED),
    *(
        PAIRED + "{{ " + expression + " }}"
        for expression in ("ns.a", "ns.a | string", "{}.get(ns.a)", "ns.a in {}", "[ns.a]")
    ),
    *(
        start + "{% for i in range(90000) %}{% set x %}{{ " + expression + " }}{% endset %}"
        "{% endfor %}"
        for start, expressions in ((LONG, ON_LONG), (SHORT, ON_SHORT))
        for expression in expressions
    ),
    *OTHERS,
)

ASKED = """
import json, os, resource, signal, sys, traceback
from jinja2 import TemplateSyntaxError
from noetl_mcp.playbook.rendering.render import RenderError, compile_text

def render(text):
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
    signal.alarm(60)
    try:
        compile_text(text)({"rows": [{"x": n} for n in range(5000)]})
    except (RenderError, TemplateSyntaxError) as refused:
        print(refused)
    sys.stdout.flush()

for line in sys.stdin:
    reads, writes = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.dup2(writes, 1)
            os.dup2(writes, 2)
            os.close(writes)
            render(json.loads(line))
            code = 0
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(code)
    os.close(writes)
    with open(reads) as said:
        told = said.read()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    print(json.dumps([code, told]), flush=True)
""".replace("SECONDS", str(MOST_SECONDS))
"""Loads what renders once, and has a process of its own for each text."""


class Renderer:
    """Renders texts one after the other, each in a process that the system bounds."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def rendered(self, text: str) -> tuple[int, str]:
        """Return how the process of a text ended, and what it said."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(text) + "\n")
        self.process.stdin.flush()
        code, said = json.loads(self.process.stdout.readline())
        return code, said


@pytest.fixture(scope="module")
def renderer() -> Iterator[Renderer]:
    with subprocess.Popen(
        [sys.executable, "-c", ASKED],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Renderer(process)


def shortened(text: str) -> str:
    return text if len(text) < 80 else f"{text[:20]}…{text[-60:]}"


@pytest.mark.parametrize("text", BOMBS, ids=shortened)
def test_a_render_comes_to_an_end(renderer: Renderer, text: str) -> None:
    code, said = renderer.rendered(text)

    assert code == 0, said
    assert len(said) < 2_000


@pytest.mark.parametrize("count", [10_000, 100_000])
def test_ordinary_work_on_many_rows_is_no_bomb(count: int) -> None:
    from noetl_mcp.playbook.rendering.render import compile_text

    rows = [{"id": n, "name": f"n{n}", "kind": "ab"[n % 2]} for n in range(count)]
    started = time.process_time()

    for text in (
        "{% for row in rows %}{{ row.id }}: {{ row.name }}\n{% endfor %}",
        "{{ rows | selectattr('kind', 'eq', 'a') | map(attribute='name') | list }}",
        "{{ rows | sort(attribute='name', reverse=true) | first }}",
        "{{ rows | groupby('kind') | length }}",
        "{{ rows | tojson | fromjson | length }}",
        "{{ rows == rows | list }}",
        "{{ rows | map(attribute='kind') | unique | join(', ') }}",
        "{{ (rows | tojson).replace('name', 'label') | length }}",
    ):
        compile_text(text)({"rows": rows})

    assert time.process_time() - started < 8
