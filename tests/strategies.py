"""What the fuzz tests and `benchmarks/fuzz.py` feed the compiler: broken bytes, texts and trees."""

import json
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from noetl_mcp.playbook.model import Action, Iterator, Playbook, Repeat, Step
from noetl_mcp.tasks.registry import BUILT_IN

ROOT = Path(__file__).parent.parent
HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: fuzz, path: tests/fuzz}\n"

_YAMLISH = (
    *"abnyx01.,:;-?!&*|>%@`'\"#[]{}()<=>~+_/\\ \t\n\r",
    *("\x00", "\x1b", "\x85", "\u2028", "\ufeff", "\ufffe", "é", "漢", "😀", "\u202e"),
    *("  ", "\n  ", "\n    ", "\r\n", "\n- ", "\n  - ", ": ", "? ", "- ", "#", " # c", "---\n"),
    *("{{", "}}", "{%", "%}", "{#", "#}", "{{ a }}", "{{ a.b | d }}", "''", '\\"', "\\x", "\\u12"),
    *("&a ", "*a", "<<: *a", "<<: ", "!!str ", "!x ", "%YAML 1.1\n", "%TAG ! x\n", "...\n", "|\n"),
    *("kind: Playbook\n", "workflow:\n", "- step: a\n", "next: ", "mcp:\n", "workload:\n", ">-\n"),
    *("0x1f", "1e999", "-0", "9" * 30, "yes", "on", "null", "~", ".inf", "2020-01-01", "true"),
)

_EXPRESSIONS = (
    *("a", "a.b", "workload.n", "workload", "context.input.n", "input.x", "data", "env.HOME"),
    *("secrets.k", "mcp.models.m", "mcp.models.gpt-4o.name", "mcp.x", "prompts.p", "prompts.a-b"),
    *("start.data", "s1.x", "s2", "t1.content", "r1.rows", "ctx.x", "this", "result.ok", "_loop"),
    *("event.name == 'step.done'", "event.name in ['call.error'] and a", "output.status == 'error'"),
    *("a | upper", "a | nope", "a is defined", "a is nope", "a if b", "[a, 1][0]", "{'k': a}", "f(a)"),
    *("p | render({ input: context.input })", "a.items()", "1 +", "a b", "'x", "9" * 400, "1e999"),
    *("((((a))))", "not not a", "a ~ b", "a - b", "a[", "x for x", "loop.index", "self", "_"),
    *(".".join("a" * 50), "a" + "[0]" * 60, "(" * 90 + "a" + ")" * 90, "a|d" * 20, "-" * 300 + "1"),
)
_TAGS = (
    *("{% if a %}", "{% endif %}", "{% for x in a %}", "{% endfor %}", "{% set y = a %}", "{% raw %}"),
    *("{% include 'x' %}", "{% macro m(a) %}", "{# c #}", "{%", "{{", "}}", "{#", "text ", "\n", "é"),
)


def names() -> SearchStrategy[str]:
    """Names that collide with each other, with fixed names and with hidden steps."""
    return st.sampled_from(
        ["start", "end", "s1", "s2", "s3", "s-4", "s_4", "t1", "t2", "r1", "m", "p", "a", "x"]
        + ["workload", "input", "result", "mcp", "?0", "$end", "$begin", "$finally", "$over", "ctx"]
        + ["t1.model.1", "t1.tools.1", "s1.item", "s1.save.1", "s1.task_0", "r1.2", "item", "_loop"]
        + ["a (second)", "é漢", "\x1b[31m", "", " ", "a b", "step:s1", "continue", "true", "x" * 201]
    )


def templates() -> SearchStrategy[str]:
    """Templates, good and broken."""
    lone = st.sampled_from(_EXPRESSIONS).map(lambda inner: "{{ " + inner + " }}")
    parts = st.one_of(lone, st.sampled_from(_TAGS), st.text(max_size=5))
    return st.one_of(lone, st.lists(parts, max_size=8).map("".join))


def scalars() -> SearchStrategy[object]:
    """Any single value."""
    return st.one_of(
        st.none(),
        st.booleans(),
        st.sampled_from([0, 1, -1, 5, 50, 2**31, 2**64, -(2**70), 0.5, 1e308, "5%", "10m", "30s"]),
        st.sampled_from(sorted(BUILT_IN) + ["workbook", "iterator", "sequence", "turn", "nope"]),
        st.sampled_from(["exclusive", "any", "async", "event_log", "postgres", "file", "http"]),
        st.sampled_from(["resource:r1", "prompt:p", "step:s1", "turn:t1", "turn:", ":", "x:y"]),
        st.sampled_from(["def main(a): return a", "def main(", "result = 1", "(" * 300, "GET", "\x00"]),
        st.sampled_from(["http://x", "select {{ a }}", "/x/y", "(a+)+$", "[", "a{9999999999}"]),
        names(),
        templates(),
    )


def anything() -> SearchStrategy[object]:
    """Any value at all, with keys that mean something somewhere."""
    return st.recursive(
        scalars(),
        lambda inner: st.one_of(
            st.lists(inner, max_size=4), st.dictionaries(keys(), inner, max_size=5)
        ),
        max_leaves=12,
    )


def keys() -> SearchStrategy[str]:
    """Keys of every place and every dialect."""
    return st.one_of(st.sampled_from(_KEYS), st.sampled_from(_KEYS), names())


_MODELS = (Playbook, Action, Step, Iterator, Repeat)
_KEYS = sorted(
    {field.alias or name for model in _MODELS for name, field in model.model_fields.items()}
    | {key for spec in BUILT_IN.values() for key in spec.settings.model_fields}
    | set(["args", "with", "params", "payload", "input", "tool", "kind", "spec", "policy", "rules", "arcs", "case", "loop", "sink", "do"])
    | set(["then", "else", "condition", "when", "if", "expr", "set", "policy", "admit", "allow", "mode", "in", "iterator", "cursor"])
    | set(["models", "tools", "resources", "prompts", "turns", "user", "use", "text", "tools_allowed", "needs", "template"])
    | set(["max_tool_rounds", "input_schema", "output_schema", "properties", "required", "items", "enum", "type"])
    | set(["default", "minimum", "maximum", "pattern", "secret", "expects", "returns", "that", "edges", "goes_on"])
    | set(["max_attempts", "delay", "backoff", "storage", "on", "key", "while", "until", "max", "collect", "ttl", "steps"])
    | set(["executor", "entry_step", "keychain", "vars", "labels", "run", "refresh", "system", "role", "each_use"])
    | {"ctx.x", "iter.y", "<<", "$t", "$lit", "", "a b", "é", "on", "1", "null", "{{ a }}"}
)


def _maps(fields: dict[str, SearchStrategy[object]]) -> SearchStrategy[dict[str, object]]:
    """Maps in which each field is right, wrong, absent or something else altogether."""
    wild = st.dictionaries(keys(), anything(), max_size=2)
    known = st.fixed_dictionaries(
        {}, optional={key: st.one_of(value, value, anything()) for key, value in fields.items()}
    )
    return st.builds(lambda one, other: {**one, **other}, known, wild)


def _many(one: SearchStrategy[object], most: int = 4) -> SearchStrategy[object]:
    return st.one_of(st.lists(one, max_size=most), one)


def _ways() -> SearchStrategy[object]:
    way = _maps({"step": names(), "when": templates(), "data": anything(), "set": anything()})
    branch = _maps({"when": templates(), "then": _many(names(), 2), "else": _many(names(), 2)})
    flat = _many(st.one_of(names(), names(), way, branch))
    return st.one_of(flat, _maps({"spec": anything(), "arcs": flat}))


def _actions() -> SearchStrategy[object]:
    types = st.sampled_from(sorted(BUILT_IN) + ["workbook", "iterator", "sequence", "turn"])
    rule = _maps(
        {
            "when": templates(),
            "then": _maps({"do": st.sampled_from(["retry", "fail", "continue"]), "set": anything()}),
        }
    )
    spec = _maps({"policy": _maps({"rules": _many(rule, 2)}), "timeout": scalars()})
    inner: dict[str, SearchStrategy[object]] = {
        "name": names(),
        "type": types,
        "kind": types,
        "code": scalars(),
        "url": templates(),
        "task": names(),
        "spec": spec,
        "data": anything(),
        "retry": anything(),
        "save": _many(_maps({"storage": scalars(), "on": scalars(), "data": anything()}), 2),
    }
    plain = _maps(inner)
    more: dict[str, SearchStrategy[object]] = {
        "task": plain,
        "check": plain,
        "tasks": st.lists(plain, max_size=3),
    }
    return st.one_of(plain, _maps({**inner, **more}))


def steps() -> SearchStrategy[object]:
    """One step of any dialect, as likely wrong as right."""
    action = _actions()
    own = _maps(
        {
            "step": names(),
            "next": _ways(),
            "tool": st.one_of(action, st.lists(action, max_size=3)),
            "type": scalars(),
            "turn": names(),
            "join": st.sampled_from(["any", "all"]),
            "on_error": st.one_of(_ways(), st.just("continue")),
            "collection": templates(),
            "element": names(),
            "task": action,
            "loop": _maps({"in": templates(), "iterator": names(), "spec": anything()}),
            "case": _many(_maps({"when": templates(), "then": anything()}), 2),
            "repeat": _maps({"until": templates(), "max": scalars()}),
            "result": anything(),
        }
    )
    return st.one_of(
        own,
        st.builds(lambda one, other: {**one, **other}, own, action),
        st.builds(lambda name, way: {"step": name, "next": way}, names(), _ways()),
    )


def sections() -> SearchStrategy[object]:
    """An `mcp:` section whose parts name each other, themselves and nothing."""
    uses = st.builds(lambda kind, name: f"{kind}:{name}", st.sampled_from(_REFERRED), names())
    message = _maps({"use": uses, "text": templates(), "with": anything()})
    task = {"name": names(), "type": st.sampled_from(sorted(BUILT_IN)), "spec": anything()}
    turn = {
        "name": names(),
        "model": st.just("m"),
        "user": _many(message),
        "tools_allowed": _many(names()),
        "max_tool_rounds": st.integers(-1, 60),
        "needs": _many(st.one_of(names(), uses)),
        "save": anything(),
        "output_schema": anything(),
    }
    return _maps(
        {
            "models": _many(_maps({"name": st.just("m"), "params": anything()}), 2),
            "tools": _many(_maps({**task, "input_schema": anything()}), 2),
            "resources": _many(_maps({**task, "refresh": st.just("each_use")}), 3),
            "prompts": _many(_maps({"name": names(), "template": anything()}), 2),
            "turns": _many(_maps(turn), 3),
        }
    )


_REFERRED = ("resource", "prompt", "step", "turn", "nope")


def trees() -> SearchStrategy[dict[str, object]]:
    """Whole playbooks with something wrong everywhere."""
    head = st.just({"kind": "Playbook", "metadata": {"name": "f", "path": "f/f"}})
    declared = _maps({"type": scalars(), "default": anything(), "enum": anything()})
    rest = _maps(
        {
            "workflow": st.lists(steps(), max_size=5),
            "finally": st.lists(steps(), max_size=3),
            "workbook": _many(_actions(), 3),
            "workload": st.dictionaries(keys(), st.one_of(anything(), declared), max_size=3),
            "mcp": sections(),
        }
    )
    return st.builds(lambda one, other: {**one, **other}, head, rest)


def graphs() -> SearchStrategy[dict[str, object]]:
    """Playbooks that are right but for their ways: circles, loops, doubles, dead ends."""
    name = st.sampled_from(["start", "end", *(f"s{n}" for n in range(1, 7))])
    reads = st.builds(lambda one: "{{ " + one + ".x }}", name)
    condition = st.sampled_from(["{{ workload.a }}", "{{ s1 is defined }}", True, False, None])
    way = st.one_of(
        name,
        st.fixed_dictionaries({"step": name}, optional={"when": condition, "data": st.just({})}),
    )
    step = st.fixed_dictionaries(
        {"step": name, "next": st.lists(way, max_size=3)},
        optional={
            "type": st.sampled_from(["noop", "iterator", "sequence", "turn"]),
            "data": st.dictionaries(st.just("k"), reads, max_size=1),
            "join": st.sampled_from(["all", "any"]),
            "route": st.sampled_from(["seed", "exclusive", "inclusive"]),
            "on_error": st.lists(way, max_size=2),
            "save": st.just({"storage": "file", "path": "/x", "on": "always"}),
            "turn": st.sampled_from(["t1", "t2", "s1"]),
            "collection": reads,
            "task": st.just({"type": "noop"}),
            "tasks": st.just([{"type": "noop", "name": "n"}]),
        },
    )
    turn = st.fixed_dictionaries(
        {"name": st.sampled_from(["t1", "t2", "t3", "s1"]), "model": st.just("m")},
        optional={
            "needs": st.lists(st.sampled_from(["t1", "t2", "t3", "s1", "r1"]), max_size=3),
            "user": st.lists(
                st.sampled_from(["resource:r1", "step:s1", "turn:t2"]).map(lambda u: {"use": u})
            ),
            "tools_allowed": st.just(["tt"]),
        },
    )
    resource = st.fixed_dictionaries(
        {
            "name": st.sampled_from(["r1", "r2"]),
            "type": st.just("http"),
            "spec": st.builds(lambda one: {"url": "{{ " + one + ".x }}"}, st.sampled_from(["r1", "r2"])),
        },
        optional={"refresh": st.just("each_use")},
    )
    tool = {"name": "tt", "type": "http", "spec": {"url": "http://x"}}
    section = st.fixed_dictionaries(
        {
            "models": st.just([{"name": "m"}]),
            "tools": st.just([tool]),
            "turns": st.lists(turn, max_size=4),
            "resources": st.lists(resource, max_size=3),
        }
    )
    return st.fixed_dictionaries(
        {
            "kind": st.just("Playbook"),
            "metadata": st.just({"name": "g", "path": "g/g"}),
            "workflow": st.lists(step, max_size=8),
        },
        optional={
            "mcp": section,
            "finally": st.lists(step, max_size=3),
            "workload": st.just({"a": 1}),
        },
    )


def written(tree: object) -> str:
    """Return a tree as text; JSON is YAML, but for what the reader makes of it."""
    return json.dumps(tree, ensure_ascii=False, indent=1)


def good_texts() -> list[str]:
    """Return every playbook that lies about in the tree."""
    places = ("playbooks/*.yaml", "tests/rules/*.yaml", "tests/dialects/*.yaml")
    paths = sorted(path for place in places for path in ROOT.glob(place))
    return [path.read_text(encoding="utf-8", errors="replace") for path in paths]


def mutated() -> SearchStrategy[str]:
    """Good playbooks that were cut, doubled, spliced or written over in some places."""
    good = st.sampled_from(_GOOD)
    piece = st.one_of(st.sampled_from(_YAMLISH), templates(), st.text(max_size=3), names())
    spot = st.floats(0, 1)
    change = st.tuples(spot, spot, st.sampled_from(_CHANGES), piece)
    return st.builds(_changed, good, good, st.lists(change, min_size=1, max_size=6))


_GOOD = good_texts()
_CHANGES = ("cut", "put", "over", "twice", "splice", "end", "line", "indent")


def _changed(text: str, other: str, changes: list[tuple[float, float, str, str]]) -> str:
    for at, share, kind, piece in changes:
        start = int(at * len(text))
        end = min(len(text), start + int(share * 40))
        if kind == "cut":
            text = text[:start] + text[end:]
        elif kind == "put":
            text = text[:start] + piece + text[start:]
        elif kind == "over":
            text = text[:start] + piece + text[end:]
        elif kind == "twice":
            text = text[:end] + text[start:]
        elif kind == "splice":
            text = text[:start] + other[int(share * len(other)) :]
        elif kind == "end":
            text = text[:start]
        else:
            text = _line_changed(text, start, kind, piece)
    return text


def _line_changed(text: str, at: int, kind: str, piece: str) -> str:
    start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    line = text[start : end if end >= 0 else len(text)]
    if kind == "indent":
        return text[:start] + "  " + text[start:]
    key, colon, _ = line.partition(":")
    changed = f"{key}: {piece}" if colon else piece
    return text[:start] + changed + text[start + len(line) :]


def yamlish() -> SearchStrategy[str]:
    """Texts over the alphabet of YAML and templates."""
    return st.lists(st.sampled_from(_YAMLISH), max_size=40).map("".join)


def everything() -> dict[str, SearchStrategy[bytes]]:
    """Return every kind of text by name, as bytes."""
    texts = {
        "yamlish": yamlish(),
        "yamlish in a playbook": yamlish().map(lambda text: HEAD + "workflow:\n- step: a\n" + text),
        "mutated": mutated(),
        "trees": trees().map(written),
        "graphs": graphs().map(written),
        "templates": templates().map(lambda text: HEAD + written({"workload": {"a": text}})),
    }
    coded = {name: one.map(_encoded) for name, one in texts.items()}
    wide = st.sampled_from(["utf-16", "utf-16-le", "utf-8-sig", "latin-1"])
    return {
        **coded,
        "bytes": st.binary(max_size=200),
        "other codings": st.builds(lambda text, code: text.encode(code, "replace"), mutated(), wide),
        "other line ends": st.builds(
            lambda text, end: text.replace("\n", end).encode(),
            mutated(),
            st.sampled_from(["\r\n", "\r", "\x85", "\u2028"]),
        ),
    }


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
