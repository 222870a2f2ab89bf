"""`run --dry-run`: tell what a playbook would do. Reads what it reads and sends no write."""

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from noetl_mcp import rehearsing
from noetl_mcp.broker import starts
from noetl_mcp.cli.columns import echo
from noetl_mcp.cli.connecting import opened_home
from noetl_mcp.cli.dry_printing import tell
from noetl_mcp.compiler.payload import WrongPayload
from noetl_mcp.starting import NoSuchPlaybook, Order

if TYPE_CHECKING:
    from noetl_mcp.assembly import Home
    from noetl_mcp.compiler.plan import Plan

OPERATION_FAILED = 1


def dry_run(
    plan: "Plan | None", path: str, version: int | None, order: Order, *, as_json: bool
) -> int:
    """Tell what would happen; 1 when something would be refused or fail, else 0."""
    with ExitStack() as stack:
        is_needed = plan is None or rehearsing.needs_home(plan)
        home = stack.enter_context(opened_home()) if is_needed else None
        try:
            content = _content(home, plan, path, version)
            warnings = rehearsing.warnings_of(home, content)
            for one in () if as_json else warnings:
                echo(one, err=True)
            found = rehearsing.rehearse(home, content, order)
        except (starts.WrongPayload, WrongPayload) as problem:
            from noetl_mcp.cli.run import refuse

            refuse(problem.problems, as_json)
        except NoSuchPlaybook as problem:
            raise click.ClickException(f"{problem}; there is no such file either") from None
    if as_json:
        _print_json({**rehearsing.as_json(content, found), "warnings": warnings})
    else:
        tell(found)
    return 0 if found.is_allowed else OPERATION_FAILED


def _content(
    home: "Home | None", plan: "Plan | None", path: str, version: int | None
) -> rehearsing.Content:
    if plan is not None:
        return rehearsing.content_of(plan)
    assert home is not None
    return rehearsing.kept_content(home, path, version)


def _print_json(value: Any) -> None:
    import orjson  # only here: every other use of the command does without it

    echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())


__all__ = ["dry_run"]
