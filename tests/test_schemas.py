import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft7Validator
from pydantic import BaseModel

from noetl_mcp.cli.schema import command
from noetl_mcp.compiler.compile import compile_playbook
from noetl_mcp.compiler.schema import SCHEMAS, schema_text
from noetl_mcp.compiler.schema_models import mapped
from noetl_mcp.diagnostics import Report
from noetl_mcp.playbook import care, expect, mcp_section, model
from noetl_mcp.playbook.load import load
from noetl_mcp.playbook.node import plain
from noetl_mcp.playbook.source import Source, read
from noetl_mcp.tasks.registry import BUILT_IN
from noetl_mcp.tasks.settings_model import spellings

ROOT = Path(__file__).parent.parent
PLAYBOOKS = sorted((ROOT / "playbooks").glob("**/*.yaml"))
RIGHT = sorted((ROOT / "tests" / "rules").glob("*.right.yaml"))
OLDER = re.compile(r"NP6\d\d")  # what is right there is still an older dialect
HEAD: dict[str, Any] = {"kind": "Playbook", "metadata": {"name": "p", "path": "p"}}
FOLLOWED = frozenset(("allOf", "anyOf", "then", "else", "items"))


@pytest.fixture(scope="module")
def schemas() -> dict[str, Any]:
    return {name: json.loads(schema_text(name, BUILT_IN)) for name in SCHEMAS}


@pytest.fixture(scope="module")
def playbook(schemas: dict[str, Any]) -> Draft7Validator:
    return Draft7Validator(schemas["playbook"])


def written(text: str) -> Any:
    """Return a text as it was written, before any dialect is read."""
    source = Source("<test>", text)
    read(source, Report(source))
    assert source.root is not None
    return plain(source.root)


def fits(playbook: Draft7Validator, **parts: Any) -> bool:
    return bool(playbook.is_valid({**HEAD, "workflow": [], **parts}))


def step_fits(playbook: Draft7Validator, **keys: Any) -> bool:
    return fits(playbook, workflow=[{"step": "s", **keys}])


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_committed_schema_is_what_the_models_say(name: str) -> None:
    committed = (ROOT / "schemas" / f"{name}.json").read_bytes()

    assert committed == schema_text(name, BUILT_IN), f"run: noetl-mcp schema {name} -o …"


def test_the_command_writes_what_is_committed(tmp_path: Path) -> None:
    written_to = tmp_path / "playbook.json"

    ran = CliRunner().invoke(command, ["playbook", "-o", str(written_to)])
    unknown = CliRunner().invoke(command, ["plann"])

    assert ran.exit_code == 0
    assert written_to.read_bytes().endswith(b"}\n")
    assert unknown.exit_code == 2


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_one_of_draft_07_and_names_itself(name: str, schemas: dict[str, Any]) -> None:
    schema = schemas[name]

    Draft7Validator.check_schema(schema)
    assert schema["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert schema["$id"].startswith("urn:noetl-mcp:schema:")
    assert schema["title"]
    assert schema["description"]


def test_the_schema_of_playbooks_stays_small() -> None:
    assert len(schema_text("playbook", BUILT_IN)) < 400_000


@pytest.mark.parametrize("path", PLAYBOOKS, ids=lambda path: path.name)
def test_every_playbook_of_ours_fits(path: Path, playbook: Draft7Validator) -> None:
    problems = [error.message for error in playbook.iter_errors(written(path.read_text()))]

    assert not problems


@pytest.mark.parametrize("path", RIGHT, ids=lambda path: path.name)
def test_what_the_rules_call_right_fits(path: Path, playbook: Draft7Validator) -> None:
    problems = [error.message for error in playbook.iter_errors(written(path.read_text()))]

    assert not problems or OLDER.match(path.name), problems


@pytest.mark.parametrize("path", [*PLAYBOOKS, *RIGHT], ids=lambda path: path.name)
def test_every_plan_fits(path: Path, schemas: dict[str, Any]) -> None:
    plan = compile_playbook(load(path.read_text()), BUILT_IN)

    if plan is None:
        pytest.skip("it has no plan")
    problems = Draft7Validator(schemas["plan"]).iter_errors(json.loads(plan.to_json()))

    assert [problem.message for problem in problems] == []


EVERYTHING = """
kind: Playbook
metadata: {name: all, path: a/all}
workload: {n: {type: integer, default: 3, minimum: 1}, url: http://a/b, keep: {$t: 1}}
mcp:
  models: [{name: m}]
  tools: [{name: t, type: http, spec: {url: http://a/b}, input_schema: {type: object}}]
  resources: [{name: kb, type: postgres, spec: {sql: SELECT 1}, max_chars: 10}]
  turns: [{name: ask, model: m, user: [{use: resource:kb}], tools_allowed: [t], save: event_log}]
workflow:
  - {step: start, next: {spec: {mode: inclusive}, arcs: [each, {step: talk, when: "{{ n > 1 }}"}]}}
  - step: each
    type: iterator
    collection: [1, 2]
    task: {type: http, url: "{{ url }}", method: POST, confirm: true, retry: 2, timeout: 30s}
    save: {storage: file, path: out.json, when: "{{ result }}", mode: overwrite}
    on_error: [{step: sorry}]
    next: both
  - {step: talk, type: turn, turn: ask, next: both}
  - {step: sorry, type: set, values: {a: {$lit: 1}}, priority: 3, cache: {ttl: 1h}, next: both}
  - {step: both, type: sequence, join: any, tasks: [{type: noop}, {type: noop}], next: end}
  - {step: end, result: {each: "{{ each.count }}"}}
finally: [{step: tidy, type: noop}]
limits: {one: 1}
timeout: 1h
"""


def test_a_plan_with_everything_in_it_fits(schemas: dict[str, Any]) -> None:
    loaded = load(EVERYTHING)
    plan = compile_playbook(loaded, BUILT_IN)

    assert plan is not None, [found.message for found in loaded.report]
    Draft7Validator(schemas["plan"]).validate(json.loads(plan.to_json()))


@pytest.mark.parametrize(
    ("part", "wrong"),
    [("format", 99), ("digest", "x"), ("steps", [{"name": "s"}]), ("more", 1), ("arrays", {})],
)
def test_a_changed_plan_does_not_fit(part: str, wrong: object, schemas: dict[str, Any]) -> None:
    plan = compile_playbook(load(EVERYTHING), BUILT_IN)
    assert plan is not None

    changed = {**json.loads(plan.to_json()), part: wrong}

    assert not Draft7Validator(schemas["plan"]).is_valid(changed)


def test_diagnostics_fit(schemas: dict[str, Any]) -> None:
    loaded = load("kind: Playbook\nmetadata: {name: x}\nworkflow: [{step: a, nxet: b}]\n")
    compile_playbook(loaded, BUILT_IN)

    found = [one.as_json() for one in loaded.report]

    assert found
    Draft7Validator(schemas["diagnostics"]).validate(found)


SMALLEST: dict[str, dict[str, Any]] = {
    "http": {"url": "http://x/"},
    "jsonrpc": {"url": "http://x/rpc", "method": "m"},
    "mcp": {"url": "http://x/mcp", "tool": "t"},
    "revit": {"method": "get_walls"},
    "rhino": {"method": "rhino_get_selection"},
    "floorplan": {"action": "render"},
    "python": {"code": "def main(): return 1"},
    "shell": {"command": "ls"},
    "noop": {},
    "set": {"values": {"a": 1}},
    "postgres": {"sql": "SELECT 1"},
    "duckdb": {"query": ["SELECT 1"]},
    "transfer": {
        "source": {"type": "postgres", "sql": "SELECT 1"},
        "target": {"type": "duckdb", "table": "t"},
    },
    "file": {"path": "a.txt", "action": "read"},
    "playbook": {"path": "a/b"},
    "wait": {"for": "10m"},
    "approve": {"approve": "Shall it?"},
    "callback": {},
    "workbook": {"task": "a", "url": "http://x/"},
    "sequence": {"tasks": [{"type": "noop"}]},
    "iterator": {"collection": "{{ rows }}", "element": "row", "task": "a", "tolerate": "5%"},
    "turn": {"turn": "t"},
    "start": {},
    "end": {"result": {"a": 1}},
}


@pytest.mark.parametrize("kind", SMALLEST)
def test_a_step_of_each_type_fits(kind: str, playbook: Draft7Validator) -> None:
    assert step_fits(playbook, type=kind, **SMALLEST[kind])


def test_each_built_in_type_is_described() -> None:
    assert set(BUILT_IN) <= set(SMALLEST)


@pytest.mark.parametrize("kind", SMALLEST)
def test_a_misspelt_key_does_not_fit_any_type(kind: str, playbook: Draft7Validator) -> None:
    assert not step_fits(playbook, type=kind, **SMALLEST[kind], nxet="end")


@pytest.mark.parametrize("kind", BUILT_IN)
def test_a_misspelt_setting_of_a_tool_does_not_fit(kind: str, playbook: Draft7Validator) -> None:
    def tools(spec: dict[str, Any]) -> dict[str, Any]:
        return {"tools": [{"name": "t", "type": kind, "spec": spec}]}

    assert fits(playbook, mcp=tools(SMALLEST[kind]))
    assert not fits(playbook, mcp=tools({**SMALLEST[kind], "mispelt": 1}))


@pytest.mark.parametrize(
    "keys",
    [
        {"type": "http", "urll": "http://x/"},
        {"type": "http"},
        {"type": "python"},
        {"type": "postgres", "dsn": "x"},
        {"type": "htpp", "url": "http://x/"},
        {"type": "python", "code": "x", "url": "http://x/"},
        {"url": "http://x/"},
        {"type": "http", "url": "ftp://x/"},
        {"type": "http", "url": "http://x/", "method": "GETT"},
        {"type": "http", "url": "http://x/", "verify_tls": "maybe"},
        {"type": "http", "url": "http://x/", "max_redirects": "many"},
        {"type": "http", "url": "http://x/", "headers": ["a"]},
        {"type": "revit", "method": "m", "failure_handling": "ignore"},
        {"type": "iterator", "task": "a"},
        {"type": "iterator", "collection": [], "task": {"type": "http"}},
        {"type": "turn"},
        {"type": "wait"},
        {"retry": {"max_attempts": "many"}},
        {"retry": "often"},
        {"timeout": "soon"},
        {"next": [{"step": "a", "wen": "{{ x }}"}]},
        {"next": [{"step": "a", "when": "x > 1"}]},
        {"next": {"spec": {"mode": "some"}, "arcs": []}},
        {"join": "some"},
        {"expect": {"maxUpdate": 1}},
        {"save": "event_lgo"},
        {"save": {"storage": "file", "pth": "x"}},
        {"save": {"storage": "file"}},
        {"cache": {"tll": 3}},
        {"limits": [{"nme": "x"}]},
        {"repeat": {"until": "{{ x }}"}},
        {"repeat": {"max": 3}},
    ],
    ids=str,
)
def test_a_typical_mistake_on_a_step_does_not_fit(
    keys: dict[str, Any], playbook: Draft7Validator
) -> None:
    assert not step_fits(playbook, **keys)


@pytest.mark.parametrize(
    "parts",
    [
        {"metadata": {"name": "a"}},
        {"metadata": {"path": "a"}},
        {"kind": "Playbok"},
        {"apiVersion": "noetl.io/v3"},
        {"workflw": []},
        {"workflow": {"start": {}}},
        {"workload": {"n": {"type": "integer", "default": "many"}}},
        {"durability": "some"},
        {"mcp": {"models": [{"nme": "m"}]}},
        {"mcp": {"turns": [{"name": "t", "model": "m", "user": [{"use": "resorce:kb"}]}]}},
        {"mcp": {"tools": [{"name": "t", "type": "http", "spec": {}}]}},
        {"workbook": [{"name": "a", "type": "http", "urll": "http://x/"}]},
        {"finally": [{"step": "a", "type": "noop", "nxt": "b"}]},
    ],
    ids=str,
)
def test_a_typical_mistake_around_the_steps_does_not_fit(
    parts: dict[str, Any], playbook: Draft7Validator
) -> None:
    assert not fits(playbook, **parts)


@pytest.mark.parametrize(
    "keys",
    [
        *({"next": one} for one in ("a", ["a", {"step": "b", "when": True}], {"step": "a"}, [])),
        {"next": {"spec": {"mode": "exclusive"}, "arcs": [{"step": "a", "set": {"ctx.n": 1}}]}},
        {"next": [{"when": "{{ x }}", "then": ["a", {"step": "b"}]}, {"else": "c"}]},
        *({"retry": one} for one in (True, 3, {"max_attempts": 2, "max_delay": "1m"}, "{{ n }}")),
        *({"save": one} for one in ("event_log", [{"storage": "event_log"}, {"data": 1}])),
        {"save": {"storage": "postgres", "table": "t", "mode": "upsert", "key": "id"}},
        *({"limits": one} for one in ("revit", {"name": "revit", "max": 1}, ["a", {"name": "b"}])),
        *({"cache": one} for one in (True, {"ttl": "1h", "key": "{{ n }}"})),
        *({"on_error": one} for one in ("continue", "a", {"step": "a", "when": "{{ x }}"})),
        *({"timeout": one} for one in (3, 0.5, "30s", "{{ n }}")),
        {"assert": {"expects": ["a"], "returns": "b.c"}},
        {"type": "workbook", "task": {"name": "a", "type": "http", "url": "http://x/"}},
        {"type": "http", "url": "{{ a }}/b", "max_redirects": "{{ n }}", "method": "post"},
        {"type": "http", "url": "http://x/", "params": "a=1"},
        {"tool": "http", "url": "http://x/"},
        {"tool": {"kind": "http", "url": "http://x/"}},
        {"type": "approve", "message": "Shall it?", "who": "anna"},
        {"repeat": {"until": "{{ x }}", "max": 3, "delay": "5s"}},
        *({key: {"a": 1}} for key in ("data", "input", "payload", "args", "with", "params")),
        {
            "desc": "text",
            "priority": -100,
            "pool": "p",
            "join": "any",
            "auth": {"a": {"type": "x"}},
        },
    ],
    ids=str,
)
def test_every_short_form_fits_and_is_read(keys: dict[str, Any], playbook: Draft7Validator) -> None:
    body = {**HEAD, "workflow": [{"step": "s", **keys}]}

    assert playbook.is_valid(body), [error.message for error in playbook.iter_errors(body)]
    shapes = {"NP120", "NP121", "NP122", "NP123", "NP128"}
    found = load(json.dumps(body)).report
    assert not [one.message for one in found if one.rule.code in shapes]


def test_a_step_may_have_a_name_instead(playbook: Draft7Validator) -> None:
    assert fits(playbook, workflow=[{"name": "s", "next": "end"}])
    assert not fits(playbook, workflow=[{"next": "end"}])


def parts_of(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a schema and every schema inside it."""
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        yield one
        mapped(one, lambda inner: waiting.append(inner) or inner)  # type: ignore[func-returns-value]


def told(schema: dict[str, Any], at: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every property with its schema; those inside a condition only ask."""
    for key, value in schema.items():
        if key == "properties":
            yield from ((f"{at}/{name}", one) for name, one in value.items())
        if key in ("properties", "definitions"):
            for name, one in value.items():
                if isinstance(one, dict):
                    yield from told(one, f"{at}/{name}")
        elif key in FOLLOWED:
            for one in value if isinstance(value, list) else [value]:
                yield from told(one, at)


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_property_has_a_description(name: str, schemas: dict[str, Any]) -> None:
    bare = [at for at, one in told(schemas[name]) if one is not True and not one.get("description")]

    assert not bare


def test_what_a_type_lets_through_is_described_elsewhere(schemas: dict[str, Any]) -> None:
    described: set[str] = set()
    let_through: set[str] = set()
    for at, one in told(schemas["playbook"]):
        (let_through if one is True else described).add(at.rpartition("/")[2])

    assert let_through <= described


def test_second_spellings_are_not_suggested(schemas: dict[str, Any]) -> None:
    for at, one in told(schemas["playbook"]):
        if one is not True and one["description"].startswith("The same as `"):
            assert one.get("doNotSuggest"), at


def test_nothing_stands_beside_a_reference(schemas: dict[str, Any]) -> None:
    for schema in schemas.values():
        assert all(len(one) == 1 for one in parts_of(schema) if "$ref" in one)


MODELS = [
    found
    for module in (care, expect, mcp_section, model)
    for found in vars(module).values()
    if isinstance(found, type) and issubclass(found, BaseModel)
    if found.__module__ == module.__name__
]
# These are made of several authored forms, none of which is described by the model alone.
NOT_WRITTEN = {"settings", "calls", "task", "iterator", "route", "goes_on", "edges"}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_descriptions_are_those_of_the_models(
    model: type[BaseModel], schemas: dict[str, Any]
) -> None:
    said = {(at.rpartition("/")[2], one["description"]) for at, one in told_of(schemas)}
    fields = {field.alias or name: field.description for name, field in model.model_fields.items()}

    missing = {key for key, words in fields.items() if (key, words) not in said}

    assert missing <= NOT_WRITTEN


@pytest.mark.parametrize("kind", BUILT_IN)
def test_settings_are_described_as_by_their_type(kind: str, schemas: dict[str, Any]) -> None:
    spec = BUILT_IN[kind]
    settings = schemas["playbook"]["definitions"][f"settings-{kind}"]["properties"]
    known = spellings(spec.settings)

    for field_name, field in spec.settings.model_fields.items():
        keys = [key for key in settings if settings[key].get("description") == field.description]
        assert {known.get(key, key) for key in keys}, f"{kind}.{field_name}"
    types = schemas["playbook"]["definitions"]["step-type"]
    words = dict(zip(types["enum"], types["enumDescriptions"], strict=True))
    assert words[kind] == spec.summary


def told_of(schemas: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    return ((at, one) for at, one in told(schemas["playbook"]) if one is not True)
