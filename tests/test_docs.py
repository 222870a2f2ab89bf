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

from noetl_mcp.cli.main import COMMANDS, commands
from noetl_mcp.compiler.compile import compile_playbook
from noetl_mcp.compiler.scope import AFTER, ALWAYS, GLOBALS, LOOP
from noetl_mcp.compiler.workload import KEYS
from noetl_mcp.diagnostics import Report
from noetl_mcp.playbook import care, expect, mcp_section, model
from noetl_mcp.playbook.load import load
from noetl_mcp.playbook.rendering.filters import all_filters, all_tests
from noetl_mcp.rules.catalogue import CATALOGUE
from noetl_mcp.tasks.contract import reads
from noetl_mcp.tasks.registry import BUILT_IN
from noetl_mcp.tasks.save_targets import SAVE_TARGETS
from noetl_mcp.tasks.settings_model import spellings

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"
PAGES = sorted(
    path
    for path in [ROOT / "README.md", *DOCS.rglob("*.md")]
    if "reference-parts" not in path.parts
)
DECISIONS = sorted((DOCS / "decisions").glob("[0-9]*.md"))
PLAN_NAME = re.compile(r"plan [0-9a-f]{12}")


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
    for fence in WHOLE:
        said = re.fullmatch(r"`([\w.]+\.yaml)`:", fence.before)
        name = re.search(r"name: (\w+)", fence.text)
        key = said[1] if said else f"{name[1]}.yaml" if name else fence.where
        found.setdefault(key, fence.text)
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


def shown_commands() -> list[tuple[str, list[str]]]:
    found = []
    for fence in ALL:
        if fence.language not in ("sh", "console", "text", ""):
            continue
        for line in fence.text.split("\n"):
            called = re.search(r"(?<![\w/-])(?:\S*/)?noetl-mcp (?!\S*:)(.*)", line)
            is_prompt = fence.language == "sh" or line.startswith("$ ")
            if called and is_prompt:
                found.append((fence.where, shlex.split(called[1].partition("#")[0])))
    for page in PAGES:
        for words in re.findall(r"`noetl-mcp ([^`]+)`", page.read_text()):
            found.append((page.name, shlex.split(words.replace("…", ""))))
    return found


def test_every_command_that_is_shown_exists_with_its_options() -> None:
    context = click.Context(commands, info_name="noetl-mcp", **commands.context_settings)
    wrong = []
    for where, words in shown_commands():
        name, *rest = words
        if name == "--version":
            continue
        command = commands.get_command(context, name)
        if command is None:
            wrong.append(f"{where}: {name}")
            continue
        known = {
            one
            for option in command.get_params(click.Context(command, context))
            for one in option.opts
        }
        known |= {"-h", "--help"}
        wrong += [
            f"{where}: {name} {w}" for w in rest if w.startswith("-") and w not in {*known, "-"}
        ]

    assert len(shown_commands()) > 30
    assert wrong == []


CONSOLES = [fence for fence in ALL if fence.language == "console"]


@pytest.mark.parametrize("fence", CONSOLES, ids=lambda fence: fence.where)
def test_a_command_prints_what_the_page_shows(
    fence: Fence, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in named_playbooks().items():
        if re.fullmatch(r"[\w.]+", name):
            (tmp_path / name).write_text(text + "\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    prompt, _, expected = fence.text.partition("\n")

    done = CliRunner().invoke(commands, shlex.split(prompt.removeprefix("$ noetl-mcp ")))

    printed = "\n".join(line.rstrip() for line in done.output.split("\n"))
    printed = PLAN_NAME.sub("plan", printed)
    at = 0
    for piece in re.split(r"(?m)^…$", PLAN_NAME.sub("plan", expected)):
        place = printed.find(piece.strip("\n"), at)
        assert place >= 0, f"not printed:\n{piece}\nbut:\n{printed}"
        at = place + len(piece.strip("\n"))


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
        at = line[3:] if line.startswith("## ") else at
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
    context = click.Context(commands, info_name="noetl-mcp", **commands.context_settings)
    for name in COMMANDS:
        command = commands.get_command(context, name)
        assert command is not None
        assert name in headings(REFERENCE / "cli.md")
        for option in command.params:
            if isinstance(option, click.Option):
                assert set(option.opts) <= rows("cli.md", name)


def test_every_variable_of_the_environment_has_its_place() -> None:
    code = "".join(path.read_text() for path in (ROOT / "noetl_mcp").rglob("*.py"))

    asked = set(re.findall(r"(?:environ\.get\(|environ\[|getenv\()\"(\w+)\"", code))

    assert asked
    assert asked <= rows("cli.md", "Environment")


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
