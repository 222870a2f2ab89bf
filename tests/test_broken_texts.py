"""What broken texts once did: each found by fuzzing or by thinking of the worst."""

import json
import os
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from noetl_mcp.cli.printing import told
from noetl_mcp.cli.validate import command as validate
from noetl_mcp.compiler.compile import compile_playbook, run_passes
from noetl_mcp.compiler.explain import explain
from noetl_mcp.compiler.plan import Plan
from noetl_mcp.playbook.load import Loaded, load, load_bytes
from noetl_mcp.tasks.registry import BUILT_IN

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: x, path: x/x}\n"
START = "workflow:\n- step: start\n"


def compiled(text: str) -> tuple[Loaded, Plan | None]:
    loaded = load(HEAD + text)
    return loaded, compile_playbook(loaded, BUILT_IN)


def found(text: str) -> list[str]:
    return [one.rule.name for one in compiled(text)[0].report]


def items(count: int, one: str) -> str:
    return "".join(one.replace("#", str(n)) for n in range(count))


def test_aliases_do_not_nest_deeper_than_the_text_may() -> None:
    links = [f"a{n}: &a{n} {'[' * 90}*a{n - 1}{']' * 90}" for n in range(1, 20)]

    assert found("\n".join(["a0: &a0 [x]", *links])) == ["too-deep"]


def test_a_long_text_behind_many_aliases_counts_with_its_length() -> None:
    long = "x y " * 20_000
    text = f"description: &d '{long}'\nworkload: {{a: [{'*d, ' * 3_000}]}}\n{START}"

    assert found(text) == ["too-many-aliases"]


def test_half_of_a_character_is_located() -> None:
    loaded, plan = compiled("description: {{ x }}\ud800\n")

    (one,) = loaded.report
    assert (one.rule.name, one.place.line, one.place.column) == ("strange-character", 4, 21)
    assert plan is None
    assert told(one, loaded.source, colour=False).isascii() is True


def test_bytes_that_are_no_text_are_shown_in_their_line() -> None:
    loaded = load_bytes(b"kind: Playbook\nname: a\xffb\n", "f")

    (one,) = loaded.report
    assert (one.place.line, one.place.column) == (2, 8)
    assert "name: a" in told(one, loaded.source, colour=False)


def test_half_a_wide_character_is_counted_in_characters() -> None:
    raw = b"\xff\xfe" + "kind: x\nab".encode("utf-16-le") + b"\x00\xd8"

    (one,) = load_bytes(raw, "f").report

    assert (one.rule.name, one.place.line, one.place.column) == ("not-text", 2, 3)


def test_bytes_above_the_limit_are_not_even_decoded() -> None:
    (one,) = load_bytes(b"\xff" * (64 * 1024 * 1024 + 1), "f").report

    assert one.rule.name == "too-large"


@pytest.mark.parametrize("end", ["\r", "\r\n", "\x85", "\u2028"])
def test_every_line_end_of_yaml_ends_a_line(end: str) -> None:
    loaded = load(f"kind: Playbook{end}a: b{end}c: [", "f")

    places = [one.place.line for one in loaded.report]
    assert all(1 <= line <= 4 for line in places)
    assert loaded.source.line(2) == "a: b"


def test_a_whole_number_that_json_cannot_hold_stays_text() -> None:
    _, plan = compiled(f"workload: {{a: {9 * 10**30}, b: {2**64 - 1}}}\n{START}")

    assert plan is not None
    assert [one["default"] for one in plan.inputs] == [str(9 * 10**30), 2**64 - 1]
    assert plan.to_json()


def test_five_hundred_hints_hide_no_error() -> None:
    hints = items(600, "- {step: s#, next: [{step: start, condition: '{{ true }}'}]}\n")
    loaded, plan = compiled(f"{START}{hints}- step: last\n  next: [nowhere]\n")

    assert loaded.report.has("error")
    assert plan is None


def test_a_kind_or_a_mode_that_is_a_list_is_a_finding() -> None:
    assert load("kind: []\nworkflow: []\n").report.has()
    assert "wrong-kind" in found("workflow:\n- {step: start, next: {spec: {mode: []}, arcs: []}}\n")
    assert found("workflow:\n- {step: start, type: noop, save: {mode: []}}\n")
    assert found("workflow:\n- {step: start, loop: {in: [1], mode: {}}, tool: {kind: noop}}\n")


def test_no_message_shows_how_a_value_is_kept_in_memory() -> None:
    said = [one.message for one in load("kind: Playbook\napiVersion: [[]]\nsteps: []\n").report]

    assert any("a list" in one for one in said)
    assert not any(" object at 0x" in one for one in said)


def test_a_policy_may_set_a_list_or_a_number_on_a_condition() -> None:
    rule = "{when: '{{ output.n == 1 }}', then: {do: continue, set: {ctx.x: [1, {a: null}]}}}"
    text = (
        f"workflow:\n- step: start\n  tool: {{kind: noop, spec: {{policy: {{rules: [{rule}]}}}}}}\n"
    )

    _, plan = compiled(text)

    assert plan is not None
    assert any("[1, {'a': none}]" in row["text"] for row in plan.templates)


def test_an_action_that_checks_itself_is_a_cycle() -> None:
    action = "{name: a, type: http, url: 'http://x', check: {type: workbook, task: a}}"

    assert "action-cycle" in found(
        f"workbook: [{action}]\nworkflow: [{{step: start, type: workbook, task: a}}]\n"
    )


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "a*a*a*a*b", "(a*)*b", r"(a*)\1*b"])
def test_a_pattern_cannot_keep_the_compiler_busy(pattern: str) -> None:
    default = "a" * 5_000 + "c"
    begun = time.monotonic()

    found(f"workload: {{a: {{type: string, pattern: '{pattern}', default: {default}}}}}\n{START}")

    assert time.monotonic() - begun < 2


@pytest.mark.parametrize("pattern", ["(" * 900, "a{99999999999999999999}", "x" * 2_000])
def test_a_pattern_that_does_not_compile_is_a_finding(pattern: str) -> None:
    declared = f"{{type: string, pattern: '{pattern}'}}"

    assert "bad-declaration" in found(f"workload: {{a: {declared}}}\n{START}")


def test_code_of_many_megabytes_is_refused_instead_of_parsed() -> None:
    lines = "    def main():\n        return 1\n" + "    x = [1, 2, y]\n" * 100_000
    text = f"workflow:\n- step: start\n  type: python\n  code: |\n{lines}"

    assert found(text) == ["python-syntax"]


def test_a_fault_in_quoted_code_stays_inside_the_text() -> None:
    loaded, _ = compiled(
        'workflow:\n- step: start\n  type: python\n  code:\n    "def main():\\n\\n\\n\\n\\n )"\n'
    )

    assert [one.place.line for one in loaded.report if one.rule.name == "python-syntax"] == [8]


def test_deep_chains_in_a_template_are_a_finding_and_no_fault() -> None:
    for chain in ("a" + " | d(a)" * 5_000, "a" + ".a" * 5_000, "(" * 400 + "a" + ")" * 400):
        loaded, plan = compiled(f"workload: {{a: '{{{{ {chain} }}}}'}}\n{START}")
        assert (plan is None) == loaded.report.has()


def test_no_control_character_reaches_the_terminal() -> None:
    text = 'workflow:\n- {step: start, next: ["\\e[3m", "\\e[4m"]}\n- {step: "\\e[3m"}\n'
    loaded, plan = compiled(text)
    _, whole = compiled(text.replace(', "\\e[4m"', ""))

    said = "".join(told(one, loaded.source, colour=False) for one in loaded.report)
    assert plan is None
    assert whole is not None
    assert "\x1b" not in said + explain(whole)


def test_a_file_whose_name_is_no_text_is_told_about(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"bad\xff.yaml")
    try:
        path.write_text("a: [\n")
    except OSError:
        pytest.skip("this file system keeps names as text")

    result = CliRunner().invoke(validate, [str(path), "--json"])

    assert result.exit_code == 1
    assert json.loads(result.stdout)[0]["name"] == "yaml-syntax"


WORK = {
    "unknown targets": items(8_000, "- {step: s#, next: [t#x]}\n"),
    "unknown names": items(4_000, "- {step: s#, type: noop, data: {a: '{{ unknown# }}'}}\n"),
    "unknown keys": items(4_000, "- {step: s#, type: http, url: 'http://x', methodd#: GET}\n"),
    "doubles": items(8_000, "- {step: s}\n"),
    "self loops": items(4_000, "- {step: s#, next: [s#]}\n"),
    "many ways": f"- {{step: s, next: [{items(8_000, 's#, ')}]}}\n" + items(8_000, "- step: s#\n"),
    "many tasks": f"- {{step: s, tool: [{items(9_000, '{name: n#, kind: noop},')}]}}\n",
    "many steps": items(151_000, "- {}\n"),
    "many rules": "- {step: s, tool: {kind: noop, spec: {policy: {rules: ["
    + items(9_000, "{when: '{{ a }}', then: {do: retry}},")
    + "]}}}}\n",
    "events in events": "- {step: s, next: [{step: s, when: '{{ "
    + "event.name in [" * 20_000
    + " }}'}]}\n",
}


@pytest.mark.parametrize("name", WORK)
def test_no_text_takes_time_that_grows_with_its_square(name: str) -> None:
    begun = time.monotonic()

    loaded, plan = compiled("workflow:\n" + WORK[name])
    for one in loaded.report:
        told(one, loaded.source, colour=False)
    if plan is not None:
        explain(plan)

    assert time.monotonic() - begun < 30


def test_a_workbook_action_under_very_many_steps_is_a_stated_limit() -> None:
    tasks = items(1_000, "{name: n#, type: noop}, ")
    book = f"workbook:\n- {{name: a, type: sequence, tasks: [{tasks}]}}\nworkflow:\n"

    assert "too-many-values" in found(book + items(900, "- {step: s#, type: workbook, task: a}\n"))


def test_turns_with_very_many_rounds_are_a_stated_limit() -> None:
    turns = items(1_500, "  - {name: t#, model: m, tools_allowed: [t], max_tool_rounds: 50}\n")
    tools = "  tools: [{name: t, type: http, spec: {url: 'http://x'}}]\n"

    assert "too-many-values" in found(f"mcp:\n  models: [{{name: m}}]\n{tools}  turns:\n{turns}")


def test_tag_directives_are_counted_before_they_are_read() -> None:
    text = items(101, "%TAG !a#! x\n") + "---\n" + HEAD + START

    assert [one.rule.name for one in load(text).report] == ["tag-not-read"]


def test_a_database_user_beside_resources_is_no_message_of_a_turn() -> None:
    text = (
        "kind: Playbook\nmetadata: {name: a, path: a/b}\nmcp:\n"
        "  resources: [{name: r, type: http, spec: {url: 'http://x'}}]\n"
        "workflow: [{step: start, type: postgres, host: h, user: planner, sql: select 1}]\n"
    )

    loaded = load(text)
    run_passes(loaded, BUILT_IN)

    assert not loaded.report.has()
