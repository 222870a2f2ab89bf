"""Bare templates become quoted text, everything else stays as it was written."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from noetl_mcp.playbook.quoting import Shifts, quote_templates

RESOURCES = """\
resources:
  - name: kb_articles
    type: postgres
    spec:
      dsn: {{ secrets.pg_dsn }}
      sql: SELECT id, title, body FROM kb WHERE topic = {{ input.topic }}
prompts:
  - name: summarize
    template: |
      Summarize the following text:
      {{ input.text }}
turns:
  - name: t1
    user:
      - use: resource:kb_articles       # binds resource result to the context of this turn
    tools_allowed: [search_docs]
    save: { storage: event_log }
"""

WORKFLOW = """\
workflow:
  - step: mcp_t1
    task:
      type: http               # example using HTTP gateway for LLM
      url: {{ secrets.llm_gateway }}/chat
      headers:
        Authorization: Bearer {{ secrets.llm_token }}
      data:
        system: "You are a helpful assistant."
        messages:
          - role: user
            content: {{ prompts.summarize.template | render({ input: context.input }) }}
        tools_allowed: {{ mcp.turns.t1.tools_allowed }}
"""

QUOTED = {
    "dsn: {{ secrets.pg_dsn }}": "dsn: '{{ secrets.pg_dsn }}'",
    "url: {{ secrets.gateway }}/chat": "url: '{{ secrets.gateway }}/chat'",
    "c: {{ p | render({ input: c.i }) }}": "c: '{{ p | render({ input: c.i }) }}'",
    "- {{ x }}": "- '{{ x }}'",
    "- - {{ x }}": "- - '{{ x }}'",
    "- when: {{ a.b == 'x' }}": "- when: '{{ a.b == ''x'' }}'",
    "a: {% if x %}b{% endif %}": "a: '{% if x %}b{% endif %}'",
    "a: x {{ b | d(': ') }} y # c": "a: 'x {{ b | d('': '') }} y' # c",
    "a: {{ b | d(' # ') }} # c": "a: '{{ b | d('' # '') }}' # c",
    "a: {{ {'b': {'c': 1}} }} # c": "a: '{{ {''b'': {''c'': 1}} }}' # c",
    "a: {{ h }}:8080/{{ p }}  ": "a: '{{ h }}:8080/{{ p }}'  ",
    "a: {{ b }}: {{ c }}": "a: '{{ b }}: {{ c }}'",
    '"quoted key": {{ x }}': "\"quoted key\": '{{ x }}'",
    "[a]: {{ x }}": "[a]: '{{ x }}'",
    "*a : {{ x }}": "*a : '{{ x }}'",
    "a: &b {{ x }}": "a: &b '{{ x }}'",
    "a: !!str {{ x }}": "a: !!str '{{ x }}'",
    "&b a: {{ x }}": "&b a: '{{ x }}'",
    "--- {{ x }}": "--- '{{ x }}'",
    "{{ key }}: {{ x }}": "'{{ key }}': '{{ x }}'",
    "x: {{a: 1}: 2}": "x: '{{a: 1}: 2}'",
    "a: {{ never closed": "a: '{{ never closed'",
    "a:\n  {{ x }}\nb: 1": "a:\n  '{{ x }}'\nb: 1",
    "a:\n  # why\n\n  {{ x }}\n  more": "a:\n  # why\n\n  '{{ x }}\n  more'",
    "a: {{ x |\n   d(': ')\n }} # c": "a: '{{ x |\n   d('': '')\n }}' # c",
    "a: {{\n  x\n}}\nb: {{ y }}": "a: '{{\n  x\n}}'\nb: '{{ y }}'",
    "a: one\n  two {{ x | d(': ') }}": "a: 'one\n  two {{ x | d('': '') }}'",
    "a: |\n  {{ x }}\n\n b\nc: {{ y }}": "a: |\n  {{ x }}\n\n b\nc: '{{ y }}'",
    "- - |\n    {{ x }}\n  - {{ y }}": "- - |\n    {{ x }}\n  - '{{ y }}'",
    "- a: &b !!str >-2 # c\n    {{ x }}\n  b: {{ y }}": (
        "- a: &b !!str >-2 # c\n    {{ x }}\n  b: '{{ y }}'"
    ),
    "a: [b, # ]\n 'c]', it's]\nd: {{ x }}": "a: [b, # ]\n 'c]', it's]\nd: '{{ x }}'",
    "a: 'it''s\n  {{ x }}'\nb: {{ y }}": "a: 'it''s\n  {{ x }}'\nb: '{{ y }}'",
    "? a\n: {{ x }}": "? a\n: '{{ x }}'",
    "a: {{ x }}\r\nb: {{ y }}\r\n": "a: '{{ x }}'\r\nb: '{{ y }}'\r\n",
    "a: {{ x }}\rb: {{ y }}": "a: '{{ x }}'\rb: '{{ y }}'",
    "a: {{ x }}\x85b: {{ y }}\u2028c: {{ z }}": "a: '{{ x }}'\x85b: '{{ y }}'\u2028c: '{{ z }}'",
    "\ufeff{{ x }}": "\ufeff'{{ x }}'",
    "a:\t{{ x }}\t# c": "a:\t'{{ x }}'\t# c",
}

LEFT_ALONE = [
    "",
    "{",
    "a: 1",
    "a: Bearer {{ secrets.t }}",
    "a: https://h/{{ b }}?q={{ c }}#d",
    'a: "{{ x }}" # {{ y }}',
    "a: '{{ x: y }}'",
    "# {{ x: y }}",
    "a: b\n# c: {{ x }}\n",
    "a: {b: {{ x }}}",
    "a: [{{ x }},\n  {{ y }}]",
    "a: [\n  '{{ x }}', # {{ y }}\n]",
    "data: {a: 1}",
    "{ {a: b}: c}",
    "? {{ x }}",
    "a: >\n\n  - {{ x }}\n\n  b: {{ y: z }}\n",
    "a: text\n  {{ x }} more",
    "a: text\n\n  - {{ x }}",
    "a: {#b}",
    "a: b: {{ c }}",
    "a: 'never closed\nb: {{ c }}",
    "a: [never closed\nb: {{ c }}",
]


@pytest.mark.parametrize(("before", "after"), QUOTED.items())
def test_a_bare_template_is_put_in_quotes(before: str, after: str) -> None:
    assert quote_templates(before)[0] == after


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_what_needs_no_quotes_gets_none(text: str) -> None:
    assert quote_templates(text) == (text, {})


def test_the_sections_of_an_mcp_playbook_load_as_they_are_written() -> None:
    resources = loaded(RESOURCES)
    workflow = loaded(WORKFLOW)

    assert resources["resources"][0]["spec"]["dsn"] == "{{ secrets.pg_dsn }}"
    assert resources["prompts"][0]["template"].endswith("{{ input.text }}\n")
    task = workflow["workflow"][0]["task"]
    assert task["url"] == "{{ secrets.llm_gateway }}/chat"
    assert task["headers"]["Authorization"] == "Bearer {{ secrets.llm_token }}"
    assert task["data"]["messages"][0]["content"].endswith("render({ input: context.input }) }}")


@pytest.mark.parametrize("text", [*QUOTED, RESOURCES, WORKFLOW, RESOURCES + WORKFLOW])
def test_every_mark_leads_back_to_the_character_that_was_written(text: str) -> None:
    new, shifts = quote_templates(text)
    old_lines, new_lines = [*lines(text), ""], [*lines(new), ""]

    for mark in marks(new):
        column = mapped(shifts, mark.line, mark.column)
        written = old_lines[mark.line][column : column + 1]
        read = new_lines[mark.line][mark.column : mark.column + 1]
        added = mark.column in [at for at, _ in shifts.get(mark.line, ())]
        assert added or written == read


def test_the_quotes_lead_to_the_first_and_behind_the_last_character() -> None:
    old = "- when: {{ a == 'x' }} # {{"
    new, shifts = quote_templates(old)

    columns = [mark.column for mark in marks(new)]
    start, end = columns[-8:-6]

    assert new[start] == new[end - 1] == "'"
    assert mapped(shifts, 0, start) == old.index("{{")
    assert mapped(shifts, 0, end) == old.index("}}") + 2
    assert mapped(shifts, 0, new.index("x")) == old.index("x")
    assert mapped(shifts, 0, new.index("#")) == old.index("#")


PIECES = (
    st.sampled_from(["a", "k: ", ": ", "- ", "? ", " ", "'", '"', " #", "# ", "'s'", '"s"', "text"])
    | st.sampled_from(["\n", "\n  ", "\n    ", "\nk: ", "\n- ", "\n  k: ", "\nk: |\n  ", "\r\n"])
    | st.sampled_from(["{", "}", "[", "]", ",", "|", ">", "&a ", "!t ", "*a", "---", "...", "%"])
    | st.sampled_from(["\t", "\x85", "\u2028", "\\", "\ufeff"])
)
TEMPLATES = st.sampled_from(["{{", "}}", "{%", "%}", "{{ x }}", "{{ 'q' }}", "{{ d(': ') }}"])
YAML_LIKE = st.lists(PIECES, max_size=16).map("".join)
ANYTHING = st.lists(PIECES | TEMPLATES, max_size=16).map("".join)


@settings(deadline=None)
@given(ANYTHING | st.text())
def test_no_text_is_too_strange_and_quoting_twice_is_quoting_once(text: str) -> None:
    new, shifts = quote_templates(text)

    assert quote_templates(new) == (new, {})
    assert [without(line, shifts.get(n, [])) for n, line in enumerate(lines(new))] == lines(text)


@settings(deadline=None)
@given(YAML_LIKE)
def test_a_template_at_the_end_is_found_after_everything_that_is_yaml(text: str) -> None:
    assume("\ufeff" not in text[1:])  # a byte order mark inside a text: the parser will say so
    try:
        expected = composed(text + "\nzz: v\n")
    except (yaml.YAMLError, RecursionError):
        return
    if not (isinstance(expected, list) and expected and expected[-1] == ("zz", "v")):
        return

    new, _ = quote_templates(text + "\nzz: {{ t }}\n")

    assert composed(new) == [*expected[:-1], ("zz", "{{ t }}")]


LEAVES = st.sampled_from(["a: b", "{{ x }}", "- {{ x | d(': ') }}", "it's", "x #", "a\n\nb\n", ""])
VALUES = st.recursive(
    LEAVES | st.text("ab {}%:'\"#\n[]-", max_size=12) | st.integers(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(LEAVES, inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(
    VALUES,
    st.sampled_from([None, True, False]),
    st.sampled_from([None, "'", '"', "|", ">"]),
    st.sampled_from([4, 20, 80]),
)
def test_what_was_dumped_as_yaml_loads_as_the_same(
    value: Any, flow: bool | None, style: str | None, width: int
) -> None:
    text = yaml.dump({"k": value}, default_flow_style=flow, default_style=style, width=width)

    new, _ = quote_templates(text + "zz: {{ t }}\n" if not text.startswith("{") else text)

    wanted = {"k": value} if text.startswith("{") else {"k": value, "zz": "{{ t }}"}
    assert yaml.safe_load(new) == wanted


BARE = st.sampled_from(["text", "text {{ x }}", "see {{ x | d(': ') }}", "{% if a %}# {% endif %}"])
BARE |= st.sampled_from(["{{ x }}", "{{ a == 'x' }}", "{{ h }}/p", "{{ f({'a': 1}) }} and {{ y }}"])
TREES = st.recursive(
    BARE,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3)
        | st.dictionaries(st.sampled_from("abc"), inner, min_size=1, max_size=3)
    ),
    max_leaves=10,
)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from("abc"), TREES, min_size=1))
def test_templates_written_bare_anywhere_load_as_their_own_text(tree: Any) -> None:
    assert loaded("".join(block(tree, 0))) == tree


UNITS = ["{", "{{ ", "'", '"', '\\"', "{{'", "[", "[]", " ", "\n", "- ", ": ", "{{ \"'", "a{{}}"]
LINES = ["k: {{\n", "k: it's {{ x'\n", "- |\n", "{{ x\n\n", "k: {{ x }\n", "\u2028", "a {{ b }} "]


@pytest.mark.parametrize("unit", UNITS + LINES)
def test_no_text_takes_more_than_its_length(unit: str) -> None:
    text = "a: {{" + unit * (400_000 // len(unit)) + "\nb: {{ x }}"

    start = time.process_time()
    quote_templates(text)

    assert time.process_time() - start < 5


def test_stairs_of_templates_that_are_never_closed_are_climbed_once() -> None:
    text = "".join(" " * n + "k: it's {{ x'\n" for n in range(1500))

    start = time.process_time()
    quote_templates(text)

    assert time.process_time() - start < 5


def loaded(text: str) -> Any:
    return yaml.load(quote_templates(text)[0], yaml.CSafeLoader)


def composed(text: str) -> Any:
    return bare_bones(yaml.compose(text, yaml.CSafeLoader))


def bare_bones(node: yaml.Node | None) -> Any:
    if isinstance(node, yaml.MappingNode):
        return [(bare_bones(key), bare_bones(value)) for key, value in node.value]
    if isinstance(node, yaml.SequenceNode):
        return [bare_bones(item) for item in node.value]
    return node.value if node is not None else None


def marks(text: str) -> Iterator[yaml.Mark]:
    for token in yaml.scan(text, Loader=yaml.CSafeLoader):
        yield token.start_mark
        yield token.end_mark


def mapped(shifts: Shifts, line: int, column: int) -> int:
    return column - sum(n for at, n in shifts.get(line, ()) if at < column)


def lines(text: str) -> list[str]:
    """Return the lines as the parser counts them, without the byte order mark."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    for other in ("\r", "\x85", "\u2028", "\u2029"):
        text = text.replace(other, "\n")
    return text.split("\n")


def without(line: str, added: list[tuple[int, int]]) -> str:
    columns = [at for at, _ in added]
    assert all(line[at] == "'" for at in columns)
    return "".join(one for at, one in enumerate(line) if at not in columns)


def block(tree: Any, depth: int) -> Iterator[str]:
    pad = "  " * depth
    pairs = [(f"{key}:", value) for key, value in tree.items()] if isinstance(tree, dict) else None
    for start, value in pairs or [("-", value) for value in tree]:
        if isinstance(value, str):
            yield f"{pad}{start} {value}\n"
            continue
        yield f"{pad}{start}\n"
        yield from block(value, depth + 1)
