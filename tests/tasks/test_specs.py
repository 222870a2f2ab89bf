import json
import typing
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, ValidationError

from noetl_mcp.tasks.registry import BUILT_IN
from noetl_mcp.tasks.save_targets import SAVE_TARGETS
from noetl_mcp.tasks.settings_model import SettingsModel, canonical, spellings

TYPES = (
    "http jsonrpc revit rhino floorplan python postgres duckdb playbook mcp wait approve callback "
    "transfer file shell noop set"
)
TAKEN = (
    "step name description desc type tool task turn data input payload with next join save result "
    "auth assert retry timeout expect confirm writes idempotent check on_error limits priority "
    "pool cache set repeat collection element concurrency where order_by limit chunk enumerate "
    "tolerate"
)
SMALLEST: dict[str, dict[str, Any]] = {
    "http": {"url": "http://x/"},
    "jsonrpc": {"url": "http://x/rpc", "method": "m"},
    "revit": {"method": "get_walls"},
    "rhino": {"method": "rhino_get_selection"},
    "floorplan": {},
    "python": {"code": "def main(): return 1"},
    "postgres": {"sql": "SELECT 1"},
    "duckdb": {"sql": "SELECT 1"},
    "playbook": {"path": "a/b"},
    "mcp": {"url": "http://x/mcp", "tool": "t"},
    "wait": {"wait": {"for": "10m"}},
    "approve": {"approve": {"message": "Shall it?"}},
    "callback": {},
    "transfer": {
        "source": {"type": "postgres", "sql": "SELECT 1"},
        "target": {"type": "duckdb", "table": "t"},
    },
    "file": {"path": "a.json"},
    "shell": {"command": "ls"},
    "noop": {},
    "set": {"values": {"a": 1}},
}
MODELS = {
    **{name: spec.settings for name, spec in BUILT_IN.items()},
    **{f"save to {name}": target.settings for name, target in SAVE_TARGETS.items()},
}


def read(task: str, **settings: object) -> Any:
    return BUILT_IN[task].settings.model_validate(settings)


def schema(task: str) -> dict[str, Any]:
    return BUILT_IN[task].settings.model_json_schema()


def errors(task: str, **settings: object) -> dict[tuple[int | str, ...], str]:
    with pytest.raises(ValidationError) as refused:
        read(task, **settings)
    return {error["loc"]: error["type"] for error in refused.value.errors()}


def parts(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    yield model
    for field in model.model_fields.values():
        for inner in (field.annotation, *typing.get_args(field.annotation)):
            for one in (inner, *typing.get_args(inner)):
                if isinstance(one, type) and issubclass(one, BaseModel):
                    yield from parts(one)


def test_every_planned_task_type_is_there() -> None:
    assert set(BUILT_IN) == set(TYPES.split())


@pytest.mark.parametrize("name", TYPES.split())
def test_the_smallest_settings_of_a_type_are_enough(name: str) -> None:
    spec = BUILT_IN[name]
    known = spellings(spec.settings)

    read(name, **SMALLEST[name])

    for group in spec.required_one_of:
        assert group & {known[key] for key in SMALLEST[name]}


@pytest.mark.parametrize("name", TYPES.split())
def test_a_wrong_key_is_told_where_it_stands(name: str) -> None:
    assert errors(name, **SMALLEST[name], nonsense=1) == {("nonsense",): "extra_forbidden"}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_every_setting_says_in_one_line_what_it_is(model: type[BaseModel]) -> None:
    for part in parts(model):
        assert part.__doc__
        for name, field in part.model_fields.items():
            said = field.description or ""
            assert said.endswith("."), f"{part.__name__}.{name}"
            assert "\n" not in said


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_every_model_has_a_json_schema_with_all_its_spellings(model: type[SettingsModel]) -> None:
    schema = model.model_json_schema()

    assert json.loads(json.dumps(schema)) == schema
    assert set(spellings(model)) <= set(schema.get("properties", {}))
    assert not schema.get("additionalProperties", True)


@pytest.mark.parametrize("name", TYPES.split())
def test_no_setting_takes_a_key_of_the_step(name: str) -> None:
    taken = set(TAKEN.split()) - ({"tool"} if name == "mcp" else set())

    assert not set(spellings(BUILT_IN[name].settings)) & taken


@pytest.mark.parametrize("name", TYPES.split())
def test_what_a_spec_says_of_its_settings_names_real_keys(name: str) -> None:
    spec = BUILT_IN[name]
    known = set(spellings(spec.settings))

    assert spec.name == name
    assert spec.sql <= known
    assert spec.code <= known
    assert all(group <= known for group in spec.required_one_of)


# Spellings


@pytest.mark.parametrize(
    ("task", "one", "other"),
    [
        ("http", {"url": "http://x"}, {"endpoint": "http://x"}),
        ("http", {"url": "{{ u }}", "verify_tls": False}, {"url": "{{ u }}", "verify_ssl": False}),
        ("http", {"url": "http://x", "method": "POST"}, {"url": "http://x", "method": "post"}),
        ("http", {"url": "{{ u }}", "ok_statuses": [404]}, {"url": "{{ u }}", "ok_statuses": 404}),
        ("revit", {"method": "m", "url": "http://x"}, {"method": "m", "endpoint": "http://x"}),
        ("postgres", {"sql": "SELECT 1"}, {"command": ["SELECT 1"]}),
        ("postgres", {"sql": ["a", "b"]}, {"commands": ["a", "b"]}),
        ("postgres", {"sql": "a", "host": "h"}, {"query": "a", "db_host": "h"}),
        ("postgres", {"sql": "a", "database": "d"}, {"command": "a", "db_name": "d"}),
        ("postgres", {"sql": "a", "dsn": "x"}, {"statement": "a", "db_conn_string": "x"}),
        ("duckdb", {"sql_b64": "U0VMRUNUIDE="}, {"commands_b64": ["U0VMRUNUIDE="]}),
        ("playbook", {"path": "a/b", "version": 3}, {"resource_path": "a/b", "version": "3"}),
        ("shell", {"commands": ["a", "b"], "cwd": "x"}, {"cmds": ["a", "b"], "working_dir": "x"}),
        ("file", {"path": "a", "action": "list"}, {"path": "a", "operation": "list"}),
        ("floorplan", {"floor": 1, "area_unit": "sqm"}, {"floorIndex": 1, "areaUnit": "sqm"}),
        ("wait", {"wait": {"for": "10m"}}, {"for": "10m"}),
        ("wait", {"wait": {"for": 600}}, {"wait": "10m"}),
        ("wait", {"wait": {"event": "e"}}, {"event": "e"}),
        ("approve", {"approve": {"who": ["a"], "message": "m"}}, {"who": "a", "message": "m"}),
        ("approve", {"approve": {"message": "m"}}, {"approve": "m"}),
        ("rhino", {"method": "m", "poll": {"enabled": False}}, {"method": "m", "poll": False}),
        ("revit", {"method": "m", "document": {"title": "T"}}, {"method": "m", "document": "T"}),
    ],
)
def test_another_spelling_gives_the_same_settings(
    task: str, one: dict[str, Any], other: dict[str, Any]
) -> None:
    assert read(task, **one) == read(task, **other)
    assert not list(Draft202012Validator(schema(task)).iter_errors(other))


def test_one_setting_under_two_spellings_is_refused_at_the_second() -> None:
    found = errors("http", endpoint="http://a", url="http://b", nonsense=1)

    assert found == {("endpoint",): "two_spellings", ("nonsense",): "extra_forbidden"}


def test_a_wrong_value_is_told_at_the_spelling_that_was_used() -> None:
    assert errors("http", endpoint="ftp://x") == {("endpoint",): "shape"}
    assert errors("wait", **{"for": "soon"}) == {("for",): "shape"}


def test_settings_can_be_brought_to_their_one_spelling() -> None:
    given = {"endpoint": "http://x", "json": 1, "nonsense": 2}

    assert canonical(BUILT_IN["http"].settings, given) == {
        "url": "http://x",
        "json": 1,
        "nonsense": 2,
    }


# Values


@pytest.mark.parametrize(
    ("task", "wrong", "where"),
    [
        ("http", {"url": "localhost:80/x"}, ("url",)),
        ("http", {"url": 80}, ("url",)),
        ("http", {"method": "PSOT"}, ("method",)),
        ("http", {"headers": {"A": ["b"]}}, ("headers", "A")),
        ("http", {"ok_statuses": [99]}, ("ok_statuses", 0)),
        ("http", {"max_response_bytes": 0}, ("max_response_bytes",)),
        ("http", {"verify_tls": "no"}, ("verify_tls",)),
        ("http", {"params": 3}, ("params",)),
        ("http", {"json": {}, "form": {}}, ("form",)),
        ("http", {"files": {"f": {"path": "a", "content": "b"}}}, ("files", "f", "content")),
        ("http", {"files": {"f": {"filename": "a"}}}, ("files", "f")),
        ("revit", {"url": "http://x", "port": 5210}, ("port",)),
        ("revit", {"port": 70_000}, ("port",)),
        ("revit", {"poll": {"evry": 1}}, ("poll", "evry")),
        ("mcp", {"resource": "a://b"}, ("resource",)),
        ("mcp", {"command": ["x"]}, ("command",)),
        ("python", {"script": "a.py"}, ("script",)),
        ("python", {"code_b64": "%", "code": None}, ("code_b64",)),
        ("postgres", {"params": "a"}, ("params",)),
        ("postgres", {"dsn": "a", "host": "b"}, ("host",)),
        ("duckdb", {"threads": 0}, ("threads",)),
        ("playbook", {"version": 0}, ("version",)),
        ("playbook", {"version": "newest"}, ("version",)),
        ("wait", {"wait": {}}, ("wait",)),
        ("wait", {"wait": {"for": "1m", "event": "e"}}, ("wait", "event")),
        ("wait", {"wait": {"until": "tomorrow"}}, ("wait", "until")),
        ("wait", {"wait": {"until": "2027-01-31T08:00:00"}}, ("wait", "until")),
        ("approve", {"approve": {}}, ("approve", "message")),
        ("transfer", {"source": {"type": "postgres"}}, ("source",)),
        ("transfer", {"mode": "merge"}, ("mode",)),
        ("file", {"action": "wipe"}, ("action",)),
        ("shell", {"ok_codes": [256]}, ("ok_codes", 0)),
        ("shell", {"commands": ["a"]}, ("commands",)),
        ("set", {"values": [1]}, ("values",)),
        ("floorplan", {"format": "bmp"}, ("format",)),
    ],
)
def test_a_wrong_value_is_told_where_it_stands(
    task: str, wrong: dict[str, Any], where: tuple[int | str, ...]
) -> None:
    assert list(errors(task, **{**SMALLEST[task], **wrong})) == [where]


@pytest.mark.parametrize(
    ("task", "templates"),
    [
        ("http", {"url": "{{ u }}/x", "method": "{{ m }}", "headers": "{{ h }}"}),
        ("http", {"params": "{{ p }}", "files": "{{ f }}", "verify_tls": "{{ t }}"}),
        ("revit", {"method": "{{ m }}", "port": "{{ p }}", "document": "{{ d }}"}),
        ("postgres", {"sql": "SELECT {{ a }}", "params": "{{ p }}", "transaction": "{{ t }}"}),
        ("duckdb", {"attach": {"a": "{{ path }}"}, "tables": {"t": "{{ rows }}"}}),
        ("playbook", {"path": "{{ p }}", "version": "{{ v }}"}),
        ("wait", {"wait": {"until": "{{ t }}"}}),
        ("wait", {"wait": "{{ w }}"}),
        ("approve", {"approve": "Shall {{ n }} walls go?"}),
        ("transfer", {"source": "{{ s }}", "target": "{{ t }}", "mode": "{{ m }}"}),
        ("file", {"action": "{{ a }}", "max_bytes": "{{ n }}"}),
        ("shell", {"args": ["{{ a }}"], "env": {"A": "{{ b }}"}}),
        ("set", {"values": "{{ v }}"}),
        ("floorplan", {"dsl": "{{ d }}", "operations": "{{ o }}", "width": "{{ w }}"}),
    ],
)
def test_a_template_may_stand_for_a_value(task: str, templates: dict[str, Any]) -> None:
    settings = {**SMALLEST[task], **templates}

    read(task, **settings)

    assert not list(Draft202012Validator(schema(task)).iter_errors(settings))


def test_program_text_is_kept_as_it_stands() -> None:
    code = "def main():\n    return '{{ not a template }}'\n"

    assert read("python", code=code).code == code
    assert BUILT_IN["python"].code == {"code", "code_b64"}


# Save targets


def test_every_storage_of_save_has_its_settings() -> None:
    assert set(SAVE_TARGETS) == {"event_log", "postgres", "duckdb", "file", "http", "python"}


@pytest.mark.parametrize(
    ("storage", "settings"),
    [
        ("event_log", {}),
        ("postgres", {"table": "t", "dsn": "{{ secrets.dsn }}"}),
        ("postgres", {"statement": "INSERT INTO t VALUES (:a)", "params": {"a": 1}}),
        ("duckdb", {"commands": "CREATE TABLE t AS SELECT 1", "database": "a.db"}),
        ("file", {"path": "out/{{ execution_id }}.json", "format": "json"}),
        ("http", {"endpoint": "http://x/", "headers": {"A": "b"}}),
        ("python", {"code": "def main(data): return data"}),
    ],
)
def test_a_save_target_takes_what_it_needs(storage: str, settings: dict[str, Any]) -> None:
    made = SAVE_TARGETS[storage].settings.model_validate(settings)

    assert len(made.model_fields_set) == len(settings)


def test_a_save_target_refuses_what_is_not_its_own() -> None:
    with pytest.raises(ValidationError):
        SAVE_TARGETS["event_log"].settings.model_validate({"table": "t"})


def test_a_save_over_http_posts_unless_it_says_otherwise() -> None:
    http = SAVE_TARGETS["http"]

    assert http.settings.model_validate({"url": "http://x/"}).model_dump()["method"] == "POST"
    assert http.writes({"url": "http://x/"})
    assert not http.writes({"url": "http://x/", "method": "GET"})


def test_only_saves_with_a_key_of_their_own_are_made_once() -> None:
    once = {name for name, one in SAVE_TARGETS.items() if one.once}

    assert once == {"event_log", "postgres", "duckdb"}
