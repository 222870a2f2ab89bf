"""The v2 text of a playbook: same values, same plan, same comments, and no second thoughts."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from noetl_mcp.cli.migrate import command
from noetl_mcp.compiler.compile import compile_playbook
from noetl_mcp.playbook.authored import authored
from noetl_mcp.playbook.load import Loaded, load
from noetl_mcp.playbook.node import Json, plain
from noetl_mcp.playbook.writing import write_playbook, write_tree
from noetl_mcp.playbook.yaml_text import inline
from noetl_mcp.tasks.registry import known_tasks
from tests.canonical import KEYS, PAYLOADS, TRICKY, VALUES, flowing, quietly, raw, steps, tree
from tests.sound_graphs import sound_graphs
from tests.strategies import written

HERE = Path(__file__).parent
DIALECTS = sorted((HERE.parent / "dialects").glob("*.yaml"))
EXAMPLES = sorted((HERE.parent.parent / "playbooks").glob("*.yaml"))
RIGHT = sorted((HERE.parent / "rules").glob("*.right.yaml"))
OLD_FORMS = ("old-key", "old-header", "key-without-meaning", "several-inputs")
HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata:\n  path: a/b\n  name: b\n"


def fine(text: str) -> Loaded:
    """Load a playbook without errors."""
    loaded = load(text)
    assert not loaded.report.has(), [found.message for found in loaded.report]
    return loaded


def migrated(text: str) -> str:
    return write_playbook(fine(text).source)


def workflow(text: str) -> str:
    """Return what migration makes of steps."""
    body = migrated(HEAD + "workflow:\n" + text)
    return body.removeprefix(HEAD).removeprefix("workflow:\n")


def digest(loaded: Loaded) -> str:
    plan = compile_playbook(loaded, known_tasks())
    assert plan is not None, [found.message for found in loaded.report]
    return plan.digest


def comments_of(text: str) -> list[str]:
    return sorted(re.findall(r"#=\d+", text))


@pytest.mark.parametrize("text", TRICKY)
def test_a_tricky_text_comes_back_as_it_was(text: str) -> None:
    values: Json = {
        "value": text, "list": [text, text], "deep": [[text, [text]], {"k": text}], "last": 1,
    }  # fmt: skip

    assert plain(raw(write_tree(tree(values)))) == values


@pytest.mark.parametrize("text", TRICKY)
def test_a_tricky_text_comes_back_from_one_line(text: str) -> None:
    spelt = inline(text, in_flow=True)

    assert plain(raw(f"a: [{spelt}, {{b: {spelt}}}]\n")) == {"a": [text, {"b": text}]}


@pytest.mark.parametrize("key", [*TRICKY, "a" * 2_000, "{{ a }} " * 200])
def test_a_tricky_key_comes_back_as_it_was(key: str) -> None:
    values: Json = {"a": {key: {key: 1}}, "b": [{key: [1], "c": key}], "d": {"e": {key: "x\ny\n"}}}

    assert plain(raw(write_tree(tree(values)))) == values


def same(one: Json, other: Json) -> bool:
    """Whether two values are equal and of the same types throughout."""
    return repr(one) == repr(other)


@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=4))
@settings(max_examples=150, deadline=None)
def test_any_tree_comes_back_as_it_was(value: dict[str, Json]) -> None:
    assert same(plain(raw(write_tree(tree(value)))), value)
    assert same(plain(raw(write_tree(flowing(tree(value))))), value)


def inputs(playbook: Json) -> str:
    """Show the inputs of all steps, in the order they are written in."""
    assert isinstance(playbook, dict)
    listed = playbook["workflow"]
    assert isinstance(listed, list)
    return json.dumps([step.get("data") for step in listed if isinstance(step, dict)])


@given(st.lists(steps(), min_size=1, max_size=3), PAYLOADS)
@settings(max_examples=150, deadline=None)
def test_whatever_reading_leaves_is_read_again_the_same(
    made: list[dict[str, object]], workload: dict[str, Json]
) -> None:
    canonical: Json = {
        "apiVersion": "noetl.io/v2",
        "kind": "Playbook",
        "metadata": {"path": "a/b", "name": "b"},
        "workload": workload,
        "workflow": made,  # type: ignore[dict-item]
    }

    again = load(write_tree(authored(tree(canonical)))).source.root

    assert again is not None
    assert json.dumps(plain(again), sort_keys=True) == json.dumps(canonical, sort_keys=True)
    assert inputs(plain(again)) == inputs(canonical)


@pytest.mark.parametrize("path", [*DIALECTS, *EXAMPLES, *RIGHT], ids=lambda path: path.stem)
def test_a_migrated_playbook_has_the_same_plan(path: Path) -> None:
    text = path.read_text()

    once = migrated(text)

    assert digest(fine(once)) == digest(fine(text))
    assert migrated(once) == once
    assert not [found for found in fine(once).report if found.rule.name in OLD_FORMS]


@given(sound_graphs().map(written))
@settings(max_examples=100, deadline=None)
def test_whatever_compiles_is_migrated_to_the_same_plan(text: str) -> None:
    once = migrated(text)

    assert digest(fine(once)) == digest(fine(text))
    assert migrated(once) == once


@pytest.mark.parametrize("path", [*DIALECTS, *EXAMPLES], ids=lambda path: path.stem)
@given(st.data())
@settings(max_examples=12, deadline=None)
def test_every_comment_survives_once(path: Path, data: st.DataObject) -> None:
    text = path.read_text()
    before = plain(quietly(text))
    lines = text.split("\n")
    places = st.tuples(st.integers(0, len(lines) - 1), st.sampled_from(["own", "beside", "blank"]))
    for number, (at, how) in enumerate(data.draw(st.lists(places, min_size=1, max_size=12))):
        column = data.draw(st.integers(0, 12))
        changed = list(lines)
        if how == "beside":
            changed[at] += f"   #={number}"
        else:
            changed.insert(at, " " * column + f"#={number}" if how == "own" else "")
        if plain(quietly("\n".join(changed))) == before:
            lines = changed
    commented = "\n".join(lines)

    once = migrated(commented)

    assert comments_of(once) == comments_of(commented)
    assert sorted(re.findall(r"#.*", once)) == sorted(re.findall(r"#.*", migrated(once)))
    assert migrated(once) == once
    assert digest(fine(once)) == digest(fine(text))


def test_keys_come_in_one_order_and_old_forms_are_gone() -> None:
    text = """\
  - next: [{step: end}]
    sink: {tool: event_log, args: {n: 1}}
    tool: python
    args: {n: 1}
    desc: Count
    retry: 5
    code: "def main(n):\\n    return n\\n"
    limits: {name: revit}
    on_error: continue
    step: count
  - step: end
    type: end
"""

    assert (
        workflow(text)
        == """\
  - step: count
    description: Count
    type: python
    code: |
      def main(n):
          return n
    data: {n: 1}
    save: {storage: event_log, data: {n: 1}}
    retry:
      max_attempts: 5
    limits: revit
    on_error: continue
    next: [end]
  - step: end
"""
    )


def test_comments_stay_with_what_they_are_about() -> None:
    text = """\
  # the first
  #   indented
  - desc: Go   # beside a key that moves
    # the name
    step: a    # beside the name
    type: noop

    next:      # where to
      # the way
      - step: b  # why

  # the second
  - step: b
    type: python
    code: |    # of the program
      # no comment
      def main(): return "#"   # no comment either
    # step: old
"""

    assert (
        workflow(text)
        == """\
  # the first
  #   indented
  # the name
  - step: a  # beside the name
    description: Go  # beside a key that moves
    type: noop

    next:  # where to
      # the way
      - b  # why

  # the second
  - step: b
    type: python
    code: |  # of the program
      # no comment
      def main(): return "#"   # no comment either
    # step: old
"""
    )


def test_a_comment_without_a_place_goes_to_the_next_thing() -> None:
    text = (
        "# head\n\n"
        + HEAD
        + """\
# kept nowhere
executor: {profile: local}   # beside
workflow:
  - step: a
    # of the tool
    tool:
      kind: noop
  # at the end of the steps
# the end
"""
    )

    assert (
        migrated(text)
        == "# head\n\n"
        + HEAD
        + """\
# kept nowhere
# beside
workflow:
  - step: a
    # of the tool
    type: noop
  # at the end of the steps
# the end
"""
    )


def test_anchors_and_merged_keys_are_written_out() -> None:
    text = (
        HEAD
        + """\
workload:
  one: &one {a: 1, b: [2]}
  two: *one
  three: {<<: *one, a: 3}
workflow: [{step: a, type: noop}]
"""
    )

    assert (
        migrated(text)
        == HEAD
        + """\
workload:
  one: {a: 1, b: [2]}
  two: {a: 1, b: [2]}
  three: {a: 3, b: [2]}
workflow:
  - step: a
    type: noop
"""
    )


def test_numbers_keep_their_spelling() -> None:
    text = HEAD + "workload: {a: 1.50, b: 1e3, c: -0.0, d: 10}\nworkflow:\n  - step: a\n"

    assert migrated(text) == text


def test_lines_of_other_systems_are_read_and_written_as_ours() -> None:
    text = (HEAD + "# one\nworkflow:\n  - step: a  # two\n").replace("\n", "\r\n")

    assert migrated(text) == text.replace("\r\n", "\n")


def test_the_command_writes_the_file_itself_and_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "old.yaml"
    file.write_text(DIALECTS[0].read_text())
    file.chmod(0o640)

    result = CliRunner().invoke(command, [str(file), "-o", str(file)])

    assert result.exit_code == 0, result.output
    assert file.read_text() == migrated(DIALECTS[0].read_text())
    assert file.stat().st_mode & 0o777 == 0o640
    assert [one.name for one in tmp_path.iterdir()] == ["old.yaml"]


def test_the_command_writes_nothing_when_the_playbook_is_wrong(tmp_path: Path) -> None:
    file, out = tmp_path / "wrong.yaml", tmp_path / "out.yaml"
    file.write_text(HEAD + "workflow:\n  - step: a\n    next: [nowhere]\n")

    result = CliRunner().invoke(command, [str(file), "-o", str(out)])

    assert result.exit_code == 1
    assert result.stdout == ""
    assert "unknown-step" in result.stderr
    assert not out.exists()


def test_the_command_tells_what_it_leaves_out(tmp_path: Path) -> None:
    file = tmp_path / "old.yaml"
    file.write_text(HEAD + "executor: {profile: local}\nworkflow: [{step: a}]\n")

    result = CliRunner().invoke(command, [str(file)])

    assert result.exit_code == 0
    assert result.stdout == HEAD + "workflow:\n  - step: a\n"
    assert "key-without-meaning" in result.stderr


@pytest.mark.parametrize(
    "ways", ["[end, {step: end, when: true}]\n    route: exclusive", "[{step: end}, {step: end}]"]
)
def test_ways_are_written_alike_however_they_stood(ways: str) -> None:
    once = migrated(HEAD + f"workflow:\n  - step: start\n    next: {ways}\n  - step: end\n")

    assert migrated(once) == once
