"""What the fuzz tests and `benchmarks/fuzz.py` feed the compiler: broken bytes, texts and trees."""

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from noetl_mcp.playbook.model import Action, Iterator, Playbook, Repeat, Step
from noetl_mcp.tasks.registry import BUILT_IN

Tree = dict[str, Any]
Maker = Callable[[], Any]
Makers = dict[str, Maker]
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
    *(
        "event.name == 'step.done'",
        "event.name in ['call.error'] and a",
        "output.status == 'error'",
    ),
    *(
        "a | upper",
        "a | nope",
        "a is defined",
        "a is nope",
        "a if b",
        "[a, 1][0]",
        "{'k': a}",
        "f(a)",
    ),
    *("p | render({ input: context.input })", "a.items()", "1 +", "a b", "'x", "9" * 400, "1e999"),
    *("((((a))))", "not not a", "a ~ b", "a - b", "a[", "x for x", "loop.index", "self", "_"),
    *(".".join("a" * 50), "a" + "[0]" * 60, "(" * 90 + "a" + ")" * 90, "a|d" * 20, "-" * 300 + "1"),
)
_TAGS = (
    *(
        "{% if a %}",
        "{% endif %}",
        "{% for x in a %}",
        "{% endfor %}",
        "{% set y = a %}",
        "{% raw %}",
    ),
    *("{% include 'x' %}", "{% macro m(a) %}", "{# c #}", "{%", "{{", "}}", "{#", "te ", "\n", "é"),
)


def templates() -> SearchStrategy[str]:
    """Templates, good and broken."""
    return st.randoms().map(lambda random: Wild(random, 0.5).template())


_MODELS = (Playbook, Action, Step, Iterator, Repeat)
_OTHER_KEYS = """
    args with params payload input tool kind spec policy rules arcs case loop sink do then else
    condition when if expr set admit allow mode in iterator cursor models tools resources prompts
    turns user use text tools_allowed needs template max_tool_rounds input_schema output_schema
    properties required items enum type default minimum maximum pattern secret expects returns that
    edges goes_on max_attempts delay backoff storage on key while until max collect ttl steps
    executor entry_step keychain vars labels run refresh system role each_use ctx.x iter.y $t $lit
""".split()  # noqa: SIM905 - a list with a line for each says no more
_KEYS = sorted(
    {field.alias or name for model in _MODELS for name, field in model.model_fields.items()}
    | {key for spec in BUILT_IN.values() for key in spec.settings.model_fields}
    | {*_OTHER_KEYS, "", "a b", "é", "1", "null", "{{ a }}", "\x1b[1m"}
)
_TYPES = (*sorted(BUILT_IN), "workbook", "iterator", "sequence", "turn", "playbooks", "nope")
_ODD = (
    *(None, True, False, 0, 1, -1, 5, 50, 2**31, 2**64, -(2**70), 0.5, 1e308, "5%", "10m", "30s"),
    *("exclusive", "any", "async", "event_log", "postgres", "file", "http", "GET", "continue"),
    *("resource:r1", "prompt:p", "step:s1", "turn:t1", "turn:", ":", "x:y", "string", "object"),
    *(
        "def main(a): return a",
        "def main(",
        "result = 1",
        "(" * 300,
        "def main():\n  return {{ a }}",
    ),
    *(
        "http://x",
        "select {{ a }}; delete from b",
        "/x/y",
        "(a+)+$",
        "[",
        "a{9999999999}",
        "x" * 500,
    ),
)


class Wild:
    """Writes playbooks of all dialects by chance; `wrong` is how often a value is a wrong one."""

    def __init__(self, random: Random, wrong: float) -> None:
        self.random = random
        self.wrong = wrong

    def book(self) -> Tree:
        """Return a whole playbook."""
        more = {
            "apiVersion": lambda: self.one("noetl.io/v1", "noetl.io/v2", "noetl.io/v10"),
            "workbook": lambda: self.some(self.named_action, 3),
            "workload": self.workload,
            "mcp": self.section,
            "finally": lambda: self.some(self.step, 2),
            "limits": lambda: {"revit": self.one(1, "{{ workload.n }}")},
            "executor": lambda: {"spec": {"entry_step": self.name()}},
            "timeout": lambda: self.one(*_ODD),
        }
        must = {
            "kind": lambda: "Playbook",
            "metadata": lambda: {"name": "fuzz", "path": "tests/fuzz"},
            "workflow": lambda: self.some(self.step, 6),
        }
        return self.map(must, more)

    def map(self, must: Makers, more: Makers, rate: float = 0.4) -> Tree:
        """Return a map that mostly has what it must have, and some of what it may have."""
        chance = self.random.random
        made: Tree = {}
        for key, make in must.items():
            if chance() >= self.wrong / 3:
                made[key] = self.anything() if chance() < self.wrong else make()
        for key, make in more.items():
            if chance() < rate / 2:
                made[key] = self.anything() if chance() < self.wrong else make()
        if chance() < self.wrong:
            made[self.one(*_KEYS)] = self.anything()
        return made

    def one(self, *values: Any) -> Any:
        """Return one of some values."""
        return self.random.choice(values)

    def some(self, make: Maker, most: int) -> Any:
        """Return a list, now and then the bare value instead."""
        made = [make() for _ in range(self.random.randint(0, most))]
        return make() if self.random.random() < self.wrong / 2 else made

    def name(self) -> str:
        """Return a name that is used elsewhere, or collides with something."""
        return str(self.one(*(_PLAIN if self.random.random() > self.wrong else _ODD_NAMES)))

    def anything(self, depth: int = 0) -> Any:
        """Return any value at all."""
        kind = self.random.random()
        if depth < 3 and kind < 0.15:
            return [self.anything(depth + 1) for _ in range(self.random.randint(0, 3))]
        if depth < 3 and kind < 0.35:
            keys = (self.one(*_KEYS) for _ in range(self.random.randint(0, 3)))
            return {key: self.anything(depth + 1) for key in keys}
        if kind < 0.6:
            return self.template()
        return self.one(*_ODD) if kind < 0.9 else self.one(*_TYPES, *_PLAIN)

    def template(self) -> str:
        """Return a template: mostly one good expression."""
        if self.random.random() > self.wrong:
            return f"{{{{ {self.one(*_GOOD_EXPRESSIONS)} }}}}"
        parts = [*_TAGS, *("{{ " + one + " }}" for one in _EXPRESSIONS)]
        return "".join(self.one(*parts) for _ in range(self.random.randint(0, 6)))

    def condition(self) -> Any:
        """Return a condition."""
        return self.one(self.template(), self.template(), True, "{{ event.name == 'step.done' }}")

    def values(self) -> Tree:
        """Return an input."""
        return {self.one("a", "b", "x", "n"): self.one(self.template(), 1) for _ in range(2)}

    def way(self) -> Any:
        """Return one way on."""
        if self.random.random() < 0.4:
            return self.name()
        if self.random.random() < 0.2:
            return self.map({"when": self.condition, "then": self.ways}, {"else": self.ways})
        more = {"when": self.condition, "data": self.values, "set": lambda: {"ctx.x": 1}}
        return self.map({"step": self.name}, more)

    def ways(self) -> Any:
        """Return the ways on."""
        ways = [self.way() for _ in range(self.random.randint(0, 2))]
        if self.random.random() < 0.8:
            return ways
        return {"spec": {"mode": self.one("exclusive", "inclusive")}, "arcs": ways}

    def action(self, depth: int = 0) -> Tree:
        """Return what is done: a type with a setting that fits it, and care."""
        kind, settings = self.one(*_DOING)
        inner = self.action if depth > 1 else lambda: self.action(depth + 1)
        more: Makers = {
            "data": self.values,
            "retry": lambda: self.one(True, 3, {"max_attempts": 2, "retry_when": self.template()}),
            "save": lambda: self.some(self.save, 2),
            "confirm": lambda: True,
            "writes": lambda: self.one(True, False),
            "expect": lambda: {"minUpdated": self.one(0, 9), "maxUpdated": 5},
            "assert": lambda: {"expects": ["a"], "returns": ["x"], "that": [self.template()]},
            "limits": lambda: self.one("revit", {"name": "x", "max": 1}),
            "cache": lambda: self.one(True, {"ttl": "1h"}),
            "set": lambda: {"x": self.template()},
            "timeout": lambda: self.one(1, "30s", {"read": 4}),
            "auth": lambda: self.one("key", {"a": {"type": "postgres", "password": "secret1"}}),
            "spec": self.spec,
            "output": lambda: None,
        }
        if depth < 2:
            more |= {"check": inner}
        made = self.map({"type": lambda: kind}, more, rate=0.2) | dict(settings)
        if kind == "sequence":
            made["tasks"] = [self.task(depth) for _ in range(self.random.randint(0, 3))]
        if kind == "iterator":
            made |= {"collection": self.template(), "element": "item", "task": self.task(depth)}
        return made

    def task(self, depth: int) -> Any:
        """Return a task inside a sequence or an iterator."""
        if depth > 1:
            return {"type": "noop"}
        return self.one({"name": self.name(), **self.action(depth + 1)}, self.name())

    def named_action(self) -> Tree:
        """Return an action of the workbook."""
        return {"name": self.name(), **self.action()}

    def spec(self) -> Tree:
        """Return the newest form's policy."""
        do = self.one("retry", "fail", "continue", "jump", "break")
        then = {"do": do, "set": {"ctx.x": self.anything()}}
        rule = {"when": self.one("{{ output.status == 'error' }}", self.template()), "then": then}
        allowed = {"rules": [{"when": self.template(), "then": {"allow": True}}]}
        return {"policy": self.map({"rules": lambda: [rule, rule]}, {"admit": lambda: allowed})}

    def save(self) -> Any:
        """Return one save."""
        more: Makers = {
            "on": lambda: self.one("success", "error", "always"),
            "when": self.template,
            "data": self.anything,
            "mode": lambda: self.one("append", "insert", "upsert"),
            "path": lambda: "/x",
            "table": lambda: "t",
        }
        return self.map(
            {"storage": lambda: self.one("event_log", "file", "postgres", "http")}, more
        )

    def step(self) -> Tree:
        """Return one step."""
        action = self.action()
        if self.random.random() < 0.3:
            action = {
                "tool": self.one({**action, "kind": action.pop("type", None)}, [action, action])
            }
        if self.random.random() < 0.3:
            action = {}
        when = {"when": self.template(), "then": {"next": self.ways(), "sink": self.save()}}
        more: Makers = {
            "join": lambda: self.one("any", "all"),
            "on_error": lambda: self.one("continue", self.name(), self.ways()),
            "result": self.values,
            "repeat": lambda: {"until": self.template(), "max": 3},
            "loop": lambda: {"in": self.template(), "iterator": "item", "spec": {"mode": "async"}},
            "case": lambda: [when],
            "turn": self.name,
            "priority": lambda: self.one(5, 500),
        }
        made = self.map({"step": self.name, "next": self.ways}, more, rate=0.15)
        return {**action, **made}

    def section(self) -> Tree:
        """Return an `mcp:` section whose parts name each other, themselves and nothing."""
        spec = {"spec": lambda: {"url": self.template()}}
        task: Makers = {"name": self.name, "type": lambda: "http", **spec}
        schema = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}
        turn: Makers = {
            "user": lambda: self.some(self.message, 3),
            "tools_allowed": lambda: [self.name()],
            "max_tool_rounds": lambda: self.random.randint(0, 5),
            "needs": lambda: [self.one(self.name(), self.use())],
            "save": self.save,
            "output_schema": lambda: self.one(schema, self.anything()),
        }
        named: Makers = {"name": self.name, "model": lambda: "m"}
        more: Makers = {
            "tools": lambda: self.some(
                lambda: self.map(task, {"input_schema": lambda: schema, "confirm": lambda: True}), 3
            ),
            "resources": lambda: self.some(
                lambda: self.map(task, {"refresh": lambda: "each_use"}), 3
            ),
            "prompts": lambda: self.some(
                lambda: self.map({"name": self.name, "template": self.template}, {}), 2
            ),
            "turns": lambda: self.some(lambda: self.map(named, turn), 3),
        }
        return self.map({"models": lambda: [{"name": "m"}]}, more, rate=1.6)

    def use(self) -> str:
        """Return a reference of a turn."""
        return f"{self.one(*_REFERRED)}:{self.name()}"

    def message(self) -> Tree:
        """Return a piece of what the user says."""
        return {"use": self.use()} if self.random.random() < 0.6 else {"text": self.template()}

    def workload(self) -> Tree:
        """Return variables, some of them declared."""
        declared: Makers = {
            "default": self.anything,
            "enum": lambda: [1, "a"],
            "pattern": lambda: self.one("^a+$", "(a+)+$", "["),
            "minimum": lambda: self.one(1, "x"),
            "required": lambda: True,
        }
        kinds = ("string", "integer", "object", "array")
        kind: Makers = {"type": lambda: self.one(*kinds)}
        names = ("n", "a", "rows", self.one(*_KEYS))
        return {name: self.one(self.map(kind, declared), self.anything()) for name in names}


_PLAIN = ("start", "end", "s1", "s2", "s3", "s-4", "t1", "t2", "r1", "p", "a", "tt")
_ODD_NAMES = (
    *("workload", "input", "result", "mcp", "?0", "$end", "$begin", "$finally", "$over", "ctx"),
    *(
        "t1.model.1",
        "t1.tools.1",
        "s1.item",
        "s1.save.1",
        "s1.task_0",
        "r1.2",
        "item",
        "_loop",
        "s_4",
    ),
    *("s1 (second)", "é漢", "\x1b[31m", "", " ", "a b", "step:s1", "continue", "true", "x" * 201),
)
_GOOD_EXPRESSIONS = _EXPRESSIONS[: _EXPRESSIONS.index("a | nope")]
_REFERRED = ("resource", "prompt", "step", "turn", "nope")
_CODE = "def main(a, b=1):\n    return a"
_DOING: tuple[tuple[str, Tree], ...] = (
    *[(kind, {}) for kind in _TYPES],
    ("http", {"url": "http://x/{{ workload.n }}", "method": "POST"}),
    ("http", {"endpoint": "http://x", "headers": {"Authorization": "Bearer abcdef"}}),
    ("python", {"code": _CODE}),
    ("python", {"code": "def main(:\n  pass"}),
    ("postgres", {"sql": "delete from t where a = {{ a }}", "writes": True}),
    ("duckdb", {"command": "select 1"}),
    ("workbook", {"task": "a"}),
    ("workbook", {"task": "s1"}),
    ("workbook", {"task": {"name": "a", "with": {"x": 1}}}),
    ("turn", {"turn": "t1"}),
    ("sequence", {}),
    ("iterator", {}),
    ("set", {"values": {"x": 1}}),
    ("revit", {"method": "get_walls"}),
    ("playbook", {"path": "a/b"}),
    ("noop", {}),
)


def trees() -> SearchStrategy[Tree]:
    """Whole playbooks of all dialects, from nearly right to wrong everywhere."""
    wrong = st.sampled_from([0.0, 0.0, 0.02, 0.1, 0.3])
    return st.builds(lambda random, share: Wild(random, share).book(), st.randoms(), wrong)


def graphs() -> SearchStrategy[dict[str, object]]:
    """Playbooks that are right but for their ways: circles, loops, doubles, dead ends."""
    name = st.sampled_from(["start", "end", *(f"s{n}" for n in range(1, 7))])
    reads = st.builds(lambda one: "{{ " + one + ".x }}", name)
    condition = st.sampled_from(["{{ workload.a }}", "{{ s1 is defined }}", True, False, None])
    way: SearchStrategy[Any] = st.one_of(
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
            "spec": st.builds(
                lambda one: {"url": "{{ " + one + ".x }}"}, st.sampled_from(["r1", "r2"])
            ),
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
    words = st.sampled_from((*_PLAIN, *_ODD_NAMES))
    piece = st.one_of(st.sampled_from(_YAMLISH), templates(), st.text(max_size=3), words)
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
        "templates": templates().map(
            lambda text: HEAD + "workflow: [{step: start}]\nworkload: " + written({"a": text})
        ),
    }
    coded = {name: one.map(_encoded) for name, one in texts.items()}
    wide = st.sampled_from(["utf-16", "utf-16-le", "utf-8-sig", "latin-1"])
    return {
        **coded,
        "bytes": st.binary(max_size=200),
        "other codings": st.builds(
            lambda text, code: text.encode(code, "replace"), mutated(), wide
        ),
        "other line ends": st.builds(
            lambda text, end: text.replace("\n", end).encode(),
            mutated(),
            st.sampled_from(["\r\n", "\r", "\x85", "\u2028"]),
        ),
    }


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
