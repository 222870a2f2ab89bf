"""Trees of values for the tests of writing: bare ones, and steps as the reader leaves them."""

from hypothesis import strategies as st

from noetl_mcp.diagnostics import Report
from noetl_mcp.playbook.node import At, Json, Node
from noetl_mcp.playbook.source import Source, read


def tree(value: Json) -> Node:
    """Make nodes of a bare value."""
    if isinstance(value, dict):
        entries = {}
        for key, child in value.items():
            entries[key] = tree(child)
            entries[key].key = Node(key, At(), At())
        return Node(entries, At(), At())
    if isinstance(value, list):
        return Node([tree(child) for child in value], At(), At())
    return Node(value, At(), At())


def raw(text: str) -> Node:
    """Read a text as YAML that must be without fault."""
    source = Source("<text>", text)
    report = Report(source)
    read(source, report)
    assert not list(report), [found.message for found in report]
    assert source.root is not None
    return source.root


def quietly(text: str) -> Node:
    """Read a text as YAML, faults or not."""
    source = Source("<text>", text)
    read(source, Report(source))
    return source.root or Node(None, At(), At())


TRICKY = [
    "", " ", "007", "1", "-1", "1.5", "1e3", "-0", "+1", ".5", "1_000", "0x1f", "0o7", "22:22",
    "2025-01-01", "2025-01-01T10:00:00Z", ".inf", "-.inf", ".NaN", "true", "True", "TRUE", "yes",
    "Yes", "on", "off", "n", "null", "Null", "~", "=", "<<", "-", "- a", "-a", "--- a", "---",
    "...",
    "? a", "?a", ": a", ":a", "a:", "a: b", "a:b", "a #b", "a#b", "#a", "&a", "*a", "!a", "!!str a",
    "%a", "@a", "`a`", "|", ">", "|-", "[a]", "{a}", "a, b", "{{ x }}", "{{ x }}/y", "a {{ x }}",
    "{% if x %}y{% endif %}", "{{ 'a' }}", '{{ "a" }}', "{{ a['b'] ~ \"c\" }}", "it's", 'say "hi"',
    "'a'", '"a"', "'", '"', "\\", "a\\b", '\\n"', " a", "a ", "\ta", "a\t", "a\tb", "\n", "\n\n",
    "a\n", "a\n\n", "a\n\n\n", "\na", "\n\na\n", " a\nb", "  a\n b\n", "\ta\nb", "a\n\tb\n",
    "a \nb",
    "a\n  \nb", "a\nb ", "a\nb\n ", "a\n \n", "a\n\n \n\n", "# a\nb\n", "a\n# b", "a: b\nc: d\n",
    "- a\n- b", "---\na\n", "a\n---\n", "...\nb", "{{ x }}\n{{ y }}\n", "a\rb", "a\r\nb\r\n",
    "a\x85b", "a\u2028b", "a\u2029b\n", "\ufeffa", "a\u00a0b", "\x00", "\x07", "\x1b[0m", "\x7f",
    "é", "日本語", "日本\n語\n", "😀", "\ue000", "\ufffd", "\U0010ffff", "a" * 500,
    "a b " * 80 + "c",
    "http://a.b:80/c?d=e&f=g#h", "C:\\temp", "100%", "5%", "30s", "10m", "noetl.io/v2", "gpt-4o",
    "select 1;\n", "def main():\n    return {'a': 1}\n", "/a/b", "../a", "./a", "$ref", "a=b",
]  # fmt: skip


TEXTS = st.one_of(
    st.sampled_from(TRICKY),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.text("ab \n\t#:-'\"{}[],|>%&*!\\01.", max_size=20),
    st.lists(st.sampled_from(["a", " b", "", "\tc", "# d", "  ", "e ", "{{ f }}", "- g"])).map(
        "\n".join
    ),
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXTS,
)
KEYS = TEXTS.filter(lambda text: text != "<<")
VALUES: st.SearchStrategy[Json] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=12,
)


def flowing(node: Node) -> Node:
    """Ask for one line wherever that is possible."""
    node.style = "{"
    for child in [*(node.mapping or {}).values(), *(node.items or [])]:
        flowing(child)
    return node


NAMES = st.sampled_from(["a", "b", "fetch all", "007", "x/y", "continue"])
CONDITIONS = st.sampled_from(["{{ a.ok }}", "{{ a[\"b\"] == 'c' }}", "{{ x }}\n", True, False])
PAYLOADS = st.dictionaries(KEYS, VALUES, max_size=3)
CONTEXTS = st.dictionaries(
    st.sampled_from(["a", "b", "ctx.c", "iter.d"]), SCALARS, min_size=1, max_size=2
)


def edges(**more: object) -> st.SearchStrategy[object]:
    optional = {"when": CONDITIONS, "data": PAYLOADS, "set": CONTEXTS}
    return st.lists(st.fixed_dictionaries({"step": NAMES}, optional=optional), **more)  # type: ignore[arg-type]


SAVES = st.lists(
    st.fixed_dictionaries(
        {"storage": st.sampled_from(["event_log", "postgres", "file"])},
        optional={
            "name": NAMES,
            "data": VALUES.filter(lambda value: value is not None),
            "when": CONDITIONS,
            "on": st.sampled_from(["success", "error", "always"]),
            "mode": st.sampled_from(["append", "upsert"]),
            "key": st.lists(NAMES, min_size=1, max_size=2),
            "settings": st.dictionaries(
                st.sampled_from(["table", "sql", "path", "args", "type", "spec"]),
                VALUES,
                min_size=1,
            ),
        },
    ),
    min_size=1,
    max_size=3,
)
CARE: dict[str, st.SearchStrategy[object]] = {
    "description": TEXTS,
    "data": st.one_of(PAYLOADS, st.just("{{ input }}")),
    "auth": TEXTS.filter(bool),
    "assert": st.fixed_dictionaries(
        {}, optional={"expects": st.lists(NAMES), "that": st.lists(CONDITIONS)}
    ),
    "retry": st.fixed_dictionaries(
        {}, optional={"max_attempts": st.integers(1, 9), "retry_when": CONDITIONS}
    ),
    "timeout": st.sampled_from([1, 2.5, "30s"]),
    "confirm": st.booleans(),
    "save": SAVES,
    "limits": st.lists(
        st.fixed_dictionaries({"name": NAMES}, optional={"max": st.integers(1, 3)}),
        min_size=1,
        max_size=2,
    ),
    "pool": st.sampled_from(["a", "gpu-1", "007", "b.c_d"]),
    "cache": st.fixed_dictionaries({}, optional={"ttl": st.just("10m"), "key": TEXTS}),
    "set": CONTEXTS,
}
SETTINGS = st.dictionaries(
    st.sampled_from(
        ["code", "url", "kind", "tool", "params", "args", "timeout", "spec", "x", "pass"]
    ),
    VALUES.filter(lambda value: value is not None),
    min_size=1,
    max_size=4,
)
ERRORS = st.one_of(
    st.just({"goes_on": True}), edges(min_size=1, max_size=2).map(lambda some: {"edges": some})
)


@st.composite
def actions(draw: st.DrawFn, *, named: bool = False) -> dict[str, object]:
    """An action as the reader leaves it: with a type of its own, or in place of another."""
    made: dict[str, object] = {"type": draw(st.sampled_from(["python", "http", "mcp", "workbook"]))}
    if named:
        made["name"] = draw(NAMES)
    if made["type"] == "workbook":
        made["calls"] = draw(NAMES)
    elif draw(st.booleans()):
        made["settings"] = draw(SETTINGS)
    return {**made, **{key: draw(CARE[key]) for key in draw(st.sets(st.sampled_from(list(CARE))))}}


@st.composite
def sequences(draw: st.DrawFn) -> dict[str, object]:
    tasks = draw(st.lists(actions(named=True), min_size=1, max_size=2))
    return {"type": "sequence", "tasks": tasks}


@st.composite
def iterators(draw: st.DrawFn) -> dict[str, object]:
    iterator = {
        "collection": draw(st.sampled_from(["{{ workload.a }}", ["x"], [1, 2]])),
        "mode": draw(st.sampled_from(["async", "sequential"])),
        "where": draw(CONDITIONS),
        "tolerate": draw(st.sampled_from([1, "5%"])),
        "task": draw(st.one_of(actions(), sequences())),
    }
    return {"type": "iterator", "iterator": iterator}


@st.composite
def steps(draw: st.DrawFn) -> dict[str, object]:
    bodies: list[st.SearchStrategy[dict[str, object]]] = [
        st.just({}),
        actions(),
        sequences(),
        iterators(),
        st.just({"type": "turn", "turn": "t"}),
        actions().map(lambda some: {"type": "workbook", "task": some}),
        actions().map(lambda some: {"type": "noop", "check": some}),
    ]
    made: dict[str, object] = {"step": draw(NAMES), **draw(st.one_of(bodies))}
    if draw(st.booleans()):
        made["next"] = draw(edges(max_size=3))
    elif draw(st.booleans()):
        made["next"] = draw(edges(min_size=2, max_size=3))
        made["route"] = draw(st.sampled_from(["exclusive", "inclusive"]))
    more = {
        "on_error": ERRORS,
        "result": VALUES.filter(lambda value: value is not None),
        "join": st.sampled_from(["any", "all"]),
        "priority": st.integers(-5, 5),
        "repeat": st.just({"until": "{{ x }}", "max": 3}),
    }
    return {**made, **{key: draw(more[key]) for key in draw(st.sets(st.sampled_from(list(more))))}}
