"""Write the reference pages from the code: `python docs/generate.py`, or `--check` for stale ones.

Each page is a function in `generator/` that returns Markdown. Nothing here knows what a page says.
Pages of the reference that are written by hand do not bear the mark, and are left alone.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

import click
from generator.commands import cli_page
from generator.floorplan import language_page
from generator.floorplan_checks import floorplan_checks_page
from generator.floorplan_operations import floorplan_operations_page
from generator.floorplan_tools import floorplan_tools_page
from generator.headless import headless_page
from generator.keys import mcp_page, playbook_page
from generator.markdown import MADE
from generator.numbers import limits_page
from generator.parts import plan_page, templates_page
from generator.rules import rules_page
from generator.settings import settings_page
from generator.tasks import methods_page, save_targets_page, task_types_page

REFERENCE = Path(__file__).parent / "reference"


def pages() -> Mapping[str, str]:
    """Return every reference page by the name of its file."""
    made = {
        "cli.md": cli_page(),
        "floorplan-language.md": language_page(),
        "floorplan-checks.md": floorplan_checks_page(),
        "floorplan-operations.md": floorplan_operations_page(),
        "floorplan-tools.md": floorplan_tools_page(),
        "headless-revit.md": headless_page(),
        "limits.md": limits_page(),
        "mcp.md": mcp_page(),
        "methods.md": methods_page(),
        "plan.md": plan_page(),
        "playbook.md": playbook_page(),
        "rules.md": rules_page(),
        "save-targets.md": save_targets_page(),
        "settings.md": settings_page(),
        "task-types.md": task_types_page(),
        "templates.md": templates_page(),
    }
    return {name: text.rstrip() + "\n" for name, text in made.items()}


def stale(folder: Path) -> list[str]:
    """Return the pages that differ from the code, that are missing, or that nothing makes now."""
    made = pages()
    there = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    marked = {name for name, text in there.items() if MADE in text}
    return sorted(name for name in {*made, *marked} if made.get(name) != there.get(name))


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 when a page is stale.")
def main(check: bool) -> None:
    """Write the reference pages."""
    names = stale(REFERENCE)
    if check:
        for name in names:
            click.echo(f"stale: docs/reference/{name}", err=True)
        sys.exit(1 if names else 0)
    REFERENCE.mkdir(exist_ok=True)
    for name, text in pages().items():
        (REFERENCE / name).write_text(text, encoding="utf-8")
    click.echo(f"wrote {len(names)} pages that had changed")


if __name__ == "__main__":
    main()
