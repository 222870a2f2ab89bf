"""The command line says what it does by text and by exit code: 0 fine, 1 wrong, 2 wrong usage."""

from pathlib import Path

import pytest

from noetl_mcp.cli.main import COMMANDS
from tests.cli.commands import noetl

ROOT = Path(__file__).parent.parent.parent
HELLO = ROOT / "playbooks" / "hello.yaml"
HEAD = "kind: Playbook\nmetadata: {name: a, path: a/b}\n"
MISSPELT = HEAD + "workflow:\n  - {step: start, next: [edn]}\n  - {step: end}\n"


@pytest.fixture
def misspelt(tmp_path: Path) -> Path:
    path = tmp_path / "misspelt.yaml"
    path.write_text(MISSPELT)
    return path


def test_a_good_playbook_validates_with_zero() -> None:
    ran = noetl("validate", HELLO)

    assert (ran.code, ran.err) == (0, "")
    assert "nothing wrong" in ran.out


def test_a_mistake_is_shown_with_its_line_a_caret_and_the_nearest_name(misspelt: Path) -> None:
    ran = noetl("validate", misspelt)

    assert ran.code == 1
    assert "NP206 unknown-step: step 'start' names step 'edn', which does not exist" in ran.out
    assert f"--> {misspelt}:4:26" in ran.out
    assert "4 |   - {step: start, next: [edn]}\n  |                          ^^^" in ran.out
    assert "did you mean 'end' (line 5)?" in ran.out
    assert "more: noetl-mcp explain unknown-step" in ran.out


def test_json_gives_one_array_with_the_same_findings(misspelt: Path) -> None:
    ran = noetl("validate", misspelt, "--format", "json")

    assert ran.code == 1
    (found,) = ran.json()
    assert found == {
        "file": str(misspelt),
        "code": "NP206",
        "name": "unknown-step",
        "severity": "error",
        "message": "step 'start' names step 'edn', which does not exist",
        "line": 4,
        "column": 26,
        "end_line": 4,
        "end_column": 29,
        "suggestion": "end",
        "help": "add a step of that name, or correct it",
    }


def test_several_files_are_told_in_one_array(misspelt: Path) -> None:
    ran = noetl("validate", misspelt, HELLO, misspelt, "--json")

    assert [found["file"] for found in ran.json()] == [str(misspelt)] * 2


def test_warnings_alone_are_fine_unless_strict(tmp_path: Path) -> None:
    path = tmp_path / "lonely.yaml"
    path.write_text(HEAD + "workflow:\n  - {step: start}\n  - {step: lonely, type: noop}\n")

    assert noetl("validate", path).code == 0
    assert noetl("validate", path, "--strict").code == 1


def test_standard_input_is_read_from_a_dash() -> None:
    ran = noetl("validate", "-", "--json", stdin=MISSPELT.encode())

    assert ran.code == 1
    assert ran.json()[0]["file"] == "<stdin>"


def test_a_file_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    ran = noetl("validate", tmp_path / "nowhere.yaml")

    assert ran.code == 1
    assert "cannot read" in ran.out
    assert "No such file" in ran.out


def test_a_file_that_is_not_there_hides_nothing_of_the_others(misspelt: Path) -> None:
    ran = noetl("validate", misspelt.parent / "nowhere.yaml", misspelt, "--json")

    assert [found["name"] for found in ran.json()] == ["cannot-read", "unknown-step"]


def test_a_folder_is_not_a_playbook(tmp_path: Path) -> None:
    ran = noetl("validate", tmp_path)

    assert ran.code == 1
    assert "cannot read" in ran.out


@pytest.mark.parametrize("arguments", [["validate"], ["validate", "--fromat", "json"], ["explain"]])
def test_wrong_usage_is_two(arguments: list[str]) -> None:
    ran = noetl(*arguments)

    assert ran.code == 2
    assert "Usage" in ran.err


def test_a_misspelt_command_names_the_nearest() -> None:
    ran = noetl("validat", HELLO)

    assert ran.code == 2
    assert "Did you mean 'validate'?" in ran.err


def test_colour_is_for_terminals_that_want_it(misspelt: Path) -> None:
    assert "\x1b[" not in noetl("validate", misspelt, NO_COLOR="").out
    assert "\x1b[" in noetl("validate", misspelt, NO_COLOR="", FORCE_COLOR="1").out
    assert "\x1b[" not in noetl("validate", misspelt, NO_COLOR="1", FORCE_COLOR="1").out


def test_compile_writes_the_plan_to_a_file_or_to_standard_output(tmp_path: Path) -> None:
    out = tmp_path / "plan.json"

    printed, written = noetl("compile", HELLO), noetl("compile", HELLO, "-o", out)

    assert (printed.code, written.code, written.out) == (0, 0, "")
    assert out.read_text() == printed.out
    plan = printed.json()
    assert [step["name"] for step in plan["steps"]] == ["start", "greet", "end", "$end"]
    assert len(plan["digest"]) == 64


def test_compile_of_a_broken_playbook_writes_nothing(misspelt: Path, tmp_path: Path) -> None:
    out = tmp_path / "plan.json"

    ran = noetl("compile", misspelt, "-o", out)

    assert (ran.code, ran.out) == (1, "")
    assert "unknown-step" in ran.err
    assert not out.exists()


def test_explain_of_a_playbook_tells_order_conditions_and_writes() -> None:
    text = noetl("explain", ROOT / "playbooks" / "approve_before_write.yaml").out

    assert "walls (revit)" in text
    assert "→ ask when walls.totalCount > 0" in text
    assert "→ nothing_there otherwise" in text
    assert "mark (revit)  [writes, confirmed, minUpdated 1, maxUpdated 50]" in text
    assert "Writes: mark" in text
    assert "Unbounded" not in text


def test_explain_says_what_nothing_holds_back() -> None:
    text = noetl("explain", ROOT / "playbooks" / "bounded_polling.yaml").out

    assert "repeated, at most 60 times" in text
    assert "Unbounded: submit" in text


@pytest.mark.parametrize("name", ["unknown-tool", "NP201", "np201"])
def test_explain_of_a_rule_shows_wrong_and_right(name: str) -> None:
    ran = noetl("explain", name)

    assert ran.code == 0
    assert ran.out.startswith("NP201 unknown-tool (error)")
    assert "## Wrong" in ran.out
    assert "## Right" in ran.out


def test_explain_of_something_unknown_names_the_nearest_rule() -> None:
    ran = noetl("explain", "unknwon-tool")

    assert ran.code == 2
    assert "Did you mean 'unknown-tool'?" in ran.err


def test_rules_lists_every_rule() -> None:
    assert "NP201  unknown-tool" in noetl("rules").out
    assert {"code", "name", "severity", "message", "help"} == set(
        noetl("rules", "--json").json()[0]
    )


def test_the_help_names_every_command() -> None:
    text = noetl("--help").out

    assert all(command in text for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_help(command: str) -> None:
    ran = noetl(command, "--help")

    assert ran.code == 0
    assert "Usage" in ran.out


@pytest.mark.parametrize(
    ("form", "begins"),
    [("mermaid", "flowchart TD"), ("svg", "<svg"), ("text", "hello"), ("png", "\ufffdPNG")],
)
def test_graph_draws_in_every_format(form: str, begins: str) -> None:
    ran = noetl("graph", HELLO, "--format", form)

    assert ran.code == 0
    assert begins in ran.out[:400]


def test_graph_goes_by_the_ending_of_the_file(tmp_path: Path) -> None:
    for name, magic in (("g.png", b"\x89PNG"), ("g.svg", b"<svg"), ("g.mmd", b"flowchart")):
        assert noetl("graph", HELLO, "-o", tmp_path / name).code == 0
        assert magic in (tmp_path / name).read_bytes()[:400]


def test_a_file_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    ran = noetl("graph", HELLO, "-o", tmp_path / "no" / "where.svg")

    assert ran.code == 1
    assert "cannot write" in ran.err


@pytest.mark.parametrize("command", ["worker", "serve"])
def test_a_pool_has_a_plain_name(command: str) -> None:
    ran = noetl(command, "--pool", "a@b")

    assert ran.code == 2
    assert "'a@b' is no name of a pool: letters, digits" in ran.err
