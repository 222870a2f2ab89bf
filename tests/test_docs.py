"""The docs are under test: playbooks compile, commands exist, outputs and links are right."""

import re
import shlex
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import click
import pytest
from click.testing import CliRunner
from pydantic import BaseModel

from noetl_mcp.catalog.keys import KEY_VARIABLE
from noetl_mcp.cli.main import COMMANDS, commands
from noetl_mcp.compiler.compile import compile_playbook
from noetl_mcp.compiler.scope import AFTER, ALWAYS, GLOBALS, LOOP
from noetl_mcp.compiler.workload import KEYS
from noetl_mcp.diagnostics import Report
from noetl_mcp.playbook import care, expect, mcp_section, model
from noetl_mcp.playbook.load import load
from noetl_mcp.playbook.rendering.filters import all_filters, all_tests
from noetl_mcp.rules.catalogue import CATALOGUE
from noetl_mcp.settings import SETTINGS
from noetl_mcp.tasks.contract import reads
from noetl_mcp.tasks.gates import CODES
from noetl_mcp.tasks.registry import BUILT_IN
from noetl_mcp.tasks.save_targets import SAVE_TARGETS
from noetl_mcp.tasks.settings_model import spellings
from noetl_mcp.worker.bench import Bench
from tests.postgres import database, postgres  # noqa: F401 - fixtures

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"
PAGES = sorted(
    path
    for path in [ROOT / "README.md", *DOCS.rglob("*.md")]
    if "reference-parts" not in path.parts
)
DECISIONS = sorted((DOCS / "decisions").glob("[0-9]*.md"))
LANGUAGE = {"validate", "compile", "explain", "graph", "migrate", "schema", "rules"}
"""Commands that need no database."""
VARIES = (
    (re.compile(r"plan [0-9a-f]{12}"), "plan"),
    (re.compile(r"\d+\.\d+ s\b"), "N s"),
    (re.compile(r" +N s"), " N s"),
    (re.compile(r"\|[ =]{8,}\|"), "|==|"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(\+00:00|Z)?"), "TIME"),
    (re.compile(r"(?m)^✓ "), "done      "),  # as a terminal shows it
    (re.compile(r"(?m) +$"), ""),
)
"""What is another one each time."""


class Fence(NamedTuple):
    """A block of code on a page, with the paragraph and the heading before it."""

    page: Path
    line: int
    language: str
    text: str
    before: str
    section: str

    @property
    def where(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def fences(page: Path) -> Iterator[Fence]:
    lines = page.read_text().split("\n")
    number, before, section = 0, list[str](), ""
    while number < len(lines):
        opening = re.fullmatch(r"(`{3,})(\w*)", lines[number])
        if opening is None:
            section = lines[number][3:] if lines[number].startswith("## ") else section
            before = [] if not lines[number].strip() and before[-1:] == [""] else before
            before.append(lines[number].strip())
            number += 1
            continue
        end = lines.index(opening[1], number + 1)
        text = "\n".join(lines[number + 1 : end])
        paragraph = "\n".join(before).strip().rpartition("\n\n")[2]
        yield Fence(page, number + 1, opening[2], text, paragraph, section)
        number, before = end + 1, []


ALL = [fence for page in PAGES for fence in fences(page)]
A_WHOLE_ONE = re.compile(r"(?ms)^kind: Playbook$.*^(workflow|mcp|steps):")
WHOLE = [fence for fence in ALL if fence.language == "yaml" and A_WHOLE_ONE.search(fence.text)]


def named_playbooks() -> Mapping[str, str]:
    """Playbooks that pages refer to by a file's name: that before the fence, or `metadata.name`."""
    found: dict[str, str] = {}
    said: dict[str, str] = {}
    for fence in WHOLE:
        file = re.fullmatch(r"`([\w.]+\.yaml)`:", fence.before)
        name = re.search(r"name: (\w+)", fence.text)
        if file is not None:
            said.setdefault(file[1], fence.text)
        found.setdefault(f"{name[1]}.yaml" if name else fence.where, fence.text)
    found |= said
    doors = found["doors.yaml"]
    found["wrong.yaml"] = doors.replace("least_mm }}", "least }}").replace(
        "step: warn, when", "step: wran, when"
    )
    return found


def generated(monkeypatch: pytest.MonkeyPatch, name: str = "generate") -> ModuleType:
    monkeypatch.syspath_prepend(str(DOCS))
    return import_module(name)


@pytest.mark.parametrize("fence", WHOLE, ids=lambda fence: fence.where)
def test_a_playbook_on_a_page_compiles_or_breaks_the_rule_it_is_to_show(fence: Fence) -> None:
    loaded = load(fence.text, fence.where)

    plan = compile_playbook(loaded, BUILT_IN)

    found = [one.rule.code for one in loaded.report]
    if "Wrong" in fence.before:
        code = re.search(r"NP\d{3}", fence.before) or re.search(r"NP\d{3}", fence.section)
        assert code is not None, "say which rule is broken"
        assert code[0] in found
        return
    errors = [one.rule.code for one in loaded.report if one.severity == "error"]
    assert errors == []
    assert plan is not None


NEEDS_NOTHING = {"router", "sequence", "iterator", "set", "noop", "python"}


def needs_nothing_outside(fence: Fence) -> bool:
    plan = compile_playbook(load(fence.text, fence.where), BUILT_IN)
    return plan is not None and {step.type for step in plan.steps} <= NEEDS_NOTHING


RUNS = [one for one in WHOLE if "Wrong" not in one.before and needs_nothing_outside(one)]


@pytest.mark.parametrize("fence", RUNS, ids=lambda fence: fence.where)
def test_a_playbook_on_a_page_runs_to_its_end_if_it_needs_nothing_outside(
    fence: Fence,
    tmp_path: Path,
    database: str,  # noqa: F811 - a fixture
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "page.yaml").write_text(fence.text + "\n")
    monkeypatch.setenv("NOETL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NOETL_DSN", database)

    done = CliRunner().invoke(commands, ["run", str(tmp_path / "page.yaml"), "--json"])

    assert done.exit_code == 0, done.output
    assert '"status": "completed"' in done.stdout


def shown_commands() -> list[tuple[str, list[str]]]:
    found = []
    for fence in ALL:
        if fence.language not in ("sh", "console", "text", ""):
            continue
        for line in fence.text.replace("\\\n", " ").split("\n"):
            called = re.search(r"(?<![\w/-])(?:\S*/)?noetl-mcp (?!\S*:)(.*)", line)
            is_prompt = fence.language == "sh" or line.startswith("$ ")
            if called and is_prompt:
                found.append((fence.where, shlex.split(called[1].partition("#")[0])))
    for page in PAGES:
        for words in re.findall(r"`noetl-mcp ([^`]+)`", page.read_text()):
            found.append((page.name, shlex.split(words.replace("…", ""))))
    return found


def test_every_command_that_is_shown_exists_with_its_options() -> None:
    wrong = []
    for where, words in shown_commands():
        if words[0].startswith("-"):
            known = {one for option in commands.params for one in option.opts}
            wrong += [f"{where}: {one}" for one in words if one not in known | HELP]
            continue
        command, rest = meant(words)
        if command is None:
            wrong.append(f"{where}: {' '.join(words)}")
            continue
        known = {one for option in command.params for one in (*option.opts, *option.secondary_opts)}
        said = [
            one.partition("=")[0] for one in until_dashes(rest) if re.match(r"--?[a-zA-Z]", one)
        ]
        wrong += [f"{where}: {' '.join(words)}" for one in said if one not in known | HELP]

    assert len(shown_commands()) > 30
    assert wrong == []


HELP = {"-h", "--help"}


def meant(words: list[str]) -> tuple[click.Command | None, list[str]]:
    """The command that words name, through groups, and the words that are left for it."""
    context = click.Context(commands, info_name="noetl-mcp", **commands.context_settings)
    command: click.Command | None = commands
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        inner = command.get_command(context, words[0])
        if inner is None and command is not commands and command.invoke_without_command:
            break
        command, words = inner, words[1:]
    return command, words


def until_dashes(words: list[str]) -> list[str]:
    """What stands before `--`: the rest is for another program."""
    return words[: words.index("--")] if "--" in words else words


def all_commands(
    command: click.Command = commands, words: tuple[str, ...] = ()
) -> Iterator[tuple[str, click.Command]]:
    """Every command by its words, groups too."""
    if not isinstance(command, click.Group):
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None, name
        yield " ".join((*words, name)), inner
        yield from all_commands(inner, (*words, name))


CONSOLES = [fence for fence in ALL if fence.language == "console"]
TALKING = sorted({fence.page for fence in CONSOLES})


@pytest.mark.parametrize("page", TALKING, ids=lambda page: page.stem)
def test_commands_print_what_a_page_shows(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    for name, text in named_playbooks().items():
        if re.fullmatch(r"[\w.]+", name):
            (tmp_path / name).write_text(text + "\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NOETL_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    talks = [one for fence in CONSOLES if fence.page == page for one in talk(fence)]
    if any(words[0] not in LANGUAGE for _, words, _ in talks):
        monkeypatch.setenv("NOETL_DSN", request.getfixturevalue("database"))

    for where, words, expected in talks:
        done = CliRunner().invoke(commands, words)
        assert said_as_shown(done.output, expected) is None, f"{where}: {' '.join(words)}"


def talk(fence: Fence) -> Iterator[tuple[str, list[str], str]]:
    """The commands of a fence, each with what it is to print."""
    for part in re.split(r"(?m)^\$ noetl-mcp ", fence.text)[1:]:
        prompt, _, expected = part.partition("\n")
        yield fence.where, shlex.split(prompt), expected


def said_as_shown(output: str, expected: str) -> str | None:
    """The first piece that was not printed, with what was; None when all was. `…` skips lines."""
    printed, at = steady(output), 0
    for piece in re.split(r"(?m)^…$", steady(expected)):
        place = printed.find(piece.strip("\n"), at)
        if place < 0:
            return f"not printed:\n{piece}\nbut:\n{printed}"
        at = place + len(piece.strip("\n"))
    return None


def steady(text: str) -> str:
    """A text without what is another one each time."""
    for pattern, instead in VARIES:
        text = pattern.sub(instead, text)
    return text


def test_the_reference_is_what_the_code_says_today(monkeypatch: pytest.MonkeyPatch) -> None:
    stale = generated(monkeypatch).stale(REFERENCE)

    assert stale == [], "run: python docs/generate.py"


def test_every_short_form_on_a_page_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    forms = generated(monkeypatch, "generator.forms").FORMS
    for section, listed in forms.items():
        for form in listed:
            report = told(section, form.written)

            wrong = [f"{one.rule.code} {one.message}" for one in report if one.severity == "error"]
            assert wrong == [], form.written


def told(section: str, written: str) -> Report:
    """Compile a playbook with a piece of one of its sections in its place."""
    key = {
        "action": f"    {written}",
        "step": f"    {written}",
        "edge": f"    next:\n      - {written}",
        "save": f"    save: {written if written.startswith('{') else '{' + written + '}'}",
    }.get(section, "")
    said = written if section == "turns" else "user: Hello"
    text = f"""kind: Playbook
metadata: {{name: n, path: docs/n}}
mcp:
  models: [{{name: m}}]
  turns:
    - name: t
      model: m
      {said}
workflow:
  - step: start
    next: [x]
  - step: x
    type: http
    url: http://127.0.0.1/
    data: {{name: n}}
{key}
  - step: sorry
  - step: other
"""
    loaded = load(text)
    compile_playbook(loaded, BUILT_IN)
    return loaded.report


def rows(page: str, section: str | None = None) -> set[str]:
    """The names in the first cells of the tables of a reference page, or of one section of it."""
    found, at = set[str](), ""
    for line in (REFERENCE / page).read_text().split("\n"):
        at = line.lstrip("#").strip() if line.startswith("##") else at
        if line.startswith("| ") and section in (None, at):
            found |= set(re.findall(r"`([^`]+)`", line.split(" | ")[0]))
    return found


def headings(page: Path) -> set[str]:
    inside, found = False, set()
    for line in page.read_text().split("\n"):
        inside = inside != line.startswith("```")
        if not inside and line.startswith("#"):
            found.add(line.lstrip("#").strip())
    return found


def test_every_rule_has_a_heading_and_a_page() -> None:
    text = (REFERENCE / "rules.md").read_text()

    missing = {f"{rule.code} {rule.name}" for rule in CATALOGUE} - headings(REFERENCE / "rules.md")

    assert missing == set()
    assert "There is no page about this rule yet." not in text


def test_every_command_and_option_has_its_place() -> None:
    found = list(all_commands())

    assert {name for name, _ in found} >= set(COMMANDS)
    for name, command in found:
        assert name in headings(REFERENCE / "cli.md")
        assert command.help, f"{name} says nothing of itself"
        for option in command.params:
            if isinstance(option, click.Option):
                assert set(option.opts) <= rows("cli.md", name)


def test_every_setting_and_variable_of_the_environment_has_its_place() -> None:
    code = "".join(path.read_text() for path in (ROOT / "noetl_mcp").rglob("*.py"))
    told = headings(REFERENCE / "settings.md")
    elsewhere = rows("cli.md", "Environment") | rows("settings.md", "Other variables")

    asked = set(re.findall(r"(?:environ\.get\(|environ\[|getenv\()\"(\w+)\"", code))

    assert asked
    assert asked <= told | elsewhere
    assert {*(setting.name for setting in SETTINGS), KEY_VARIABLE} <= told


def test_every_code_of_a_gate_has_a_heading() -> None:
    assert {f"`{code}`" for code in CODES} <= headings(DOCS / "how-to" / "gates.md")


def test_every_kind_of_event_has_a_heading() -> None:
    tables = (ROOT / "migrations" / "0001_tables.sql").read_text()

    kinds = set(re.findall(r"\(\d+, '(\w+)'\)", tables))

    assert len(kinds) > 30
    assert kinds <= {heading.strip("`") for heading in headings(REFERENCE / "events.md")}


def test_what_does_not_run_yet_is_told_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    not_yet = set(generated(monkeypatch, "generator.tasks").NOT_YET)
    by_the_worker = {"set", "noop", "playbook", "wait", "approve", "callback"}

    bench = Bench()

    assert not_yet == {n for n in BUILT_IN if bench.task(n) is None} - by_the_worker


def test_every_task_type_and_setting_has_its_place() -> None:
    for spec in BUILT_IN.values():
        assert spec.name in headings(REFERENCE / "task-types.md")
        assert settings_of(spec.settings) <= rows("task-types.md", spec.name)


def test_every_save_target_and_its_settings_have_their_place() -> None:
    for target in SAVE_TARGETS.values():
        assert target.name in headings(REFERENCE / "save-targets.md")
        assert settings_of(target.settings) <= rows("save-targets.md", target.name)


def settings_of(made: type[BaseModel]) -> set[str]:
    return set(spellings(made))


def test_what_writes_is_told_of_every_type_that_can(monkeypatch: pytest.MonkeyPatch) -> None:
    told_of = set(generated(monkeypatch, "generator.tasks").WRITES)

    assert told_of == {s.name for s in BUILT_IN.values() if s.writes is not reads or s.sql}


@pytest.mark.parametrize("section", ["PLAYBOOK", "MCP"])
def test_every_key_of_a_playbook_has_its_place(
    section: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = generated(monkeypatch, "generator.keys")
    page = "playbook.md" if section == "PLAYBOOK" else "mcp.md"

    for name, made, _ in getattr(keys, section):
        given = rows(page, name) | (rows(page, "action") if name == "step" else set())
        written = {field.alias or key for key, field in made.model_fields.items()}
        assert written <= given, name


def test_every_model_of_a_playbook_is_on_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = generated(monkeypatch, "generator.keys")
    shown = {made for _, made, _ in (*keys.PLAYBOOK, *keys.MCP)}

    models = {
        made
        for module in (model, mcp_section, care, expect)
        for made in vars(module).values()
        if isinstance(made, type)
        and issubclass(made, BaseModel)
        and made.__module__ == module.__name__
    }

    assert models <= shown


def test_every_declaration_key_name_filter_and_test_has_its_place() -> None:
    templates = set(re.findall(r"`([^`\n]+)`", (REFERENCE / "templates.md").read_text()))

    assert rows("playbook.md") >= KEYS
    assert templates >= {*AFTER, *ALWAYS, *LOOP, *GLOBALS}
    assert templates >= {*all_filters(), *all_tests()} - {" rounds"}


def test_every_key_of_the_plans_of_the_examples_has_its_place() -> None:
    given = rows("plan.md")
    for path in sorted((ROOT / "playbooks").glob("*.yaml")):
        plan = compile_playbook(load(path.read_text()), BUILT_IN)
        assert plan is not None
        content = plan.content
        for one in (content, *content["steps"], *content["edges"], *content["templates"]):
            assert set(one) <= given, path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    text = re.sub(r"(?ms)^```.*?^```$", "", page.read_text())
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text)):
        if re.match(r"https?:", target):
            continue
        file, _, anchor = target.partition("#")
        there = (page.parent / file).resolve() if file else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            broken.append(target)

    assert broken == []


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as code hosts make them."""
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings(page))
    return {heading.replace(" ", "-") for heading in plain}


def test_every_page_is_on_the_map() -> None:
    linked = {
        (page.parent / target.partition("#")[0]).resolve()
        for page in (DOCS / "index.md", DOCS / "decisions" / "index.md")
        for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text())
    }

    missing = [page for page in DOCS.rglob("*.md") if page in PAGES and page not in linked]

    assert missing == [DOCS / "index.md"]


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem[:4])
def test_a_decision_is_short_and_says_why_what_and_at_what_cost(path: Path) -> None:
    lines = path.read_text().rstrip().split("\n")

    assert len(lines) <= 40
    assert lines[0].startswith(f"# {path.name[:4]} ")
    found = [line[3:] for line in lines if line.startswith("## ")]
    assert found == ["Because", "We do", "It costs", "We did not"]


def test_decisions_are_numbered_without_a_gap() -> None:
    numbers = [int(path.name[:4]) for path in DECISIONS]

    assert numbers == list(range(1, len(numbers) + 1))
