"""Every rule is told at the right line, alone, and has a page with the mistake and the cure."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from noetl_mcp.compiler.compile import run_passes
from noetl_mcp.diagnostics import Diagnostic, Report
from noetl_mcp.errors import Rule
from noetl_mcp.playbook.load import Loaded, load_bytes
from noetl_mcp.playbook.source import MOST_BYTES, MOST_DEPTH, MOST_NODES, Source, read
from noetl_mcp.rules import catalogue
from noetl_mcp.rules.catalogue import BY_CODE, BY_NAME, CATALOGUE, page_of
from noetl_mcp.tasks.registry import BUILT_IN

SAMPLES = Path(__file__).parent / "rules"
PAGES = Path(catalogue.__file__).parent / "pages"
MARK = "# WRONG"
RIGHT = b"""\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: bridge, path: bim/bridge}
workflow:
  - step: start
"""


class Made(NamedTuple):
    """A breaking text that is made here, why it is no file, and the line that is wrong."""

    because: str
    wrong: Callable[[], bytes]
    line: int


MADE: Mapping[str, Made] = {
    "NP101": Made(
        "editors save a file that is not UTF-8 as UTF-8",
        lambda: RIGHT.replace(b"bridge,", b"br\xfccke,"),
        3,
    ),
    "NP102": Made(
        "it is as large as the limit",
        lambda: RIGHT + b"#" * MOST_BYTES,
        1,
    ),
    "NP104": Made(
        "nobody would see the character",
        lambda: RIGHT + b'workload:\n  mark: "D-101\x07"\n',
        7,
    ),
    "NP106": Made(
        "a hundred brackets are easier to count here",
        lambda: RIGHT + b"workload:\n  points: " + b"[" * MOST_DEPTH + b"]" * MOST_DEPTH,
        7,
    ),
    "NP107": Made(
        "it has more values than a file of ours should",
        lambda: RIGHT + b"workload:\n  points: [" + b"1," * MOST_NODES + b"1]",
        7,
    ),
}
ONLY_WHEN_IT_RUNS: Mapping[str, str] = {
    "NP119": "there is no file to show: the command line tells it",
    "NP226": "there must be a broken package beside this one: tests/tasks/test_write_a_task.py",
    "NP402": "the counts are known when the answer of the step is there, not before",
}
BESIDE: Mapping[str, frozenset[str]] = {}
ACTION = re.compile(
    "add|choose|compare|correct|declare|define|delete|exchange|flatten|give|indent|keep|lead|let|"
    "look|make|move|name|pass|provide|put|remove|save|split|start|store|use|write"
)
TOLD = [rule for rule in CATALOGUE if rule.code not in ONLY_WHEN_IT_RUNS]


def name_of(rule: Rule) -> str:
    return f"{rule.code}-{rule.name}"


def those(rules: list[Rule], doubtful: Mapping[str, str]) -> list[object]:
    """Make test parameters of rules; the doubtful ones must fail, and say why."""
    return [
        pytest.param(
            rule,
            id=name_of(rule),
            marks=[pytest.mark.xfail(reason=doubtful[rule.code])] if rule.code in doubtful else [],
        )
        for rule in rules
    ]


def each(rules: list[Rule], doubtful: Mapping[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("rule", those(rules, doubtful))


def wrong_text(rule: Rule) -> bytes:
    made = MADE.get(rule.code)
    return made.wrong() if made else (SAMPLES / f"{name_of(rule)}.yaml").read_bytes()


def right_text(rule: Rule) -> bytes:
    made = MADE.get(rule.code)
    return RIGHT if made else (SAMPLES / f"{name_of(rule)}.right.yaml").read_bytes()


@cache
def found_in(text: bytes) -> tuple[Diagnostic, ...]:
    loaded: Loaded = load_bytes(text, "sample.yaml")
    run_passes(loaded, BUILT_IN)
    return tuple(loaded.report)


def marked_line(rule: Rule) -> int:
    made = MADE.get(rule.code)
    if made:
        return made.line
    lines = wrong_text(rule).decode().splitlines()
    marked = [number for number, line in enumerate(lines, start=1) if line.endswith(MARK)]
    assert len(marked) == 1, f"one line of {name_of(rule)}.yaml must end with {MARK}"
    return marked[0]


def findings(rule: Rule) -> list[Diagnostic]:
    return [found for found in found_in(wrong_text(rule)) if found.rule is rule]


def fences(page: str) -> list[str]:
    return re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def test_a_rule_has_a_code_of_its_own() -> None:
    assert len(BY_CODE) == len(CATALOGUE)
    assert all(re.fullmatch(r"NP\d{3}", rule.code) for rule in CATALOGUE)


def test_a_rule_has_a_name_of_its_own() -> None:
    assert len(BY_NAME) == len(CATALOGUE)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.name) for rule in CATALOGUE)


@each(list(CATALOGUE), {})
def test_the_words_of_a_rule_can_be_filled_in(rule: Rule) -> None:
    class Anything(dict[str, str]):
        def __missing__(self, key: str) -> str:
            return "bridge"

    message, cure = rule.message.format_map(Anything()), rule.help.format_map(Anything())

    assert not re.search(r"\{\w*\}", message + cure)
    assert message[0] != " "
    assert not message.endswith(".")
    assert not cure.endswith(".")


@each(list(CATALOGUE), {})
def test_the_help_of_a_rule_begins_with_what_to_do(rule: Rule) -> None:
    first = rule.help.split()[0]

    assert ACTION.fullmatch(first) or first == "{cure}"


@each(list(CATALOGUE), {})
def test_a_page_shows_the_mistake_and_the_cure(rule: Rule) -> None:
    page = page_of(rule)
    _, _, body = page.partition("\n\n")

    assert page.startswith(f"{rule.code} {rule.name} ({rule.severity})\n")
    assert not body.startswith("#"), "the command prints the title"
    assert len(body.partition("## Wrong")[0]) > 80, "it says why it matters"
    assert re.findall(r"^## (.*)$", body, re.MULTILINE)[:2] == ["Wrong", "Right"]
    assert len(fences(body)) == 2
    assert fences(body)[0] != fences(body)[1]


@each(list(CATALOGUE), {})
def test_a_page_fits_into_a_terminal(rule: Rule) -> None:
    assert max(map(len, page_of(rule).splitlines())) <= 80


@each(list(CATALOGUE), {})
def test_the_right_excerpt_of_a_page_can_be_read(rule: Rule) -> None:
    source = Source("page", fences(page_of(rule))[1])
    report = Report(source)

    read(source, report)

    assert not report.has()


def test_there_is_no_page_without_a_rule() -> None:
    assert {page.stem for page in PAGES.iterdir()} == set(BY_NAME)


def test_there_is_no_sample_without_a_rule() -> None:
    files = {name_of(rule) for rule in TOLD if rule.code not in MADE}
    wanted = {f"{name}{ending}" for name in files for ending in (".yaml", ".right.yaml")}

    assert {file.name for file in SAMPLES.iterdir()} == wanted


@each(TOLD, {})
def test_a_rule_is_told_once_where_it_is_broken(rule: Rule) -> None:
    lines = [found.place.line for found in findings(rule)]

    assert lines == [marked_line(rule)]


@each(TOLD, {})
def test_one_mistake_is_one_error(rule: Rule) -> None:
    errors = [found.rule.code for found in found_in(wrong_text(rule)) if found.severity == "error"]

    assert findings(rule)
    assert errors == ([rule.code] if rule.severity == "error" else [])


@each(TOLD, {})
def test_one_mistake_brings_no_other_findings(rule: Rule) -> None:
    others = {found.rule.code for found in found_in(wrong_text(rule))} - {rule.code}

    assert findings(rule)
    assert others <= BESIDE.get(rule.code, frozenset())


@each(TOLD, {})
def test_the_right_playbook_gives_nothing_to_say(rule: Rule) -> None:
    assert [found.rule.code for found in found_in(right_text(rule))] == []


@each(TOLD, {})
def test_the_caret_stands_under_something(rule: Rule) -> None:
    lines = wrong_text(rule).decode(errors="replace").splitlines()

    for found in found_in(wrong_text(rule)):
        place = found.place
        assert (place.line, place.column) <= (place.end_line, place.end_column)
        assert place.column <= len(lines[place.line - 1])


@each(TOLD, {})
def test_a_finding_is_short_and_says_what_to_do(rule: Rule) -> None:
    for found in found_in(wrong_text(rule)):
        assert len(found.message) <= 160
        assert len(found.help) > 8
        assert not re.search(r"(?<!\{)\{\w+\}(?!\})", found.message)
