"""`run --dry-run`: go through a playbook in memory; read what it reads and send no write."""

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from noetl_mcp.broker import starts
from noetl_mcp.broker.program import Program
from noetl_mcp.cli.columns import echo
from noetl_mcp.cli.connecting import opened_home
from noetl_mcp.cli.dry_printing import summary_of, tell
from noetl_mcp.cli.lacking import lacking
from noetl_mcp.queue.encode import decode
from noetl_mcp.queue.lease import State, Status
from noetl_mcp.settings import Settings
from noetl_mcp.starting import NoSuchPlaybook, Order, Starting
from noetl_mcp.tasks.calls import Failed
from noetl_mcp.tasks.registry import known_tasks
from noetl_mcp.worker.bench import Bench
from noetl_mcp.worker.calling import Rules
from noetl_mcp.worker.reads import Reads
from noetl_mcp.worker.rehearsal import Props, Rehearsal, Rehearsed

if TYPE_CHECKING:
    from noetl_mcp.assembly import Home
    from noetl_mcp.compiler.plan import Plan

OPERATION_FAILED = 1


def dry_run(
    plan: "Plan | None", path: str, version: int | None, order: Order, *, as_json: bool
) -> int:
    """Tell what would happen; 1 when something would be refused or fail, else 0."""
    with ExitStack() as stack:
        home = stack.enter_context(opened_home()) if _needs_database(plan) else None
        try:
            content = _content(home, plan, path, version)
            warnings = _lacking(home, content)
            for one in () if as_json else warnings:
                echo(one, err=True)
            found = asyncio.run(_rehearse(home, content, order))
        except starts.WrongPayload as problem:
            from noetl_mcp.cli.run import refuse

            refuse(problem.problems, as_json)
        except NoSuchPlaybook as problem:
            raise click.ClickException(f"{problem}; there is no such file either") from None
    if as_json:
        _print_json({**_shape(content, found), "warnings": warnings})
    else:
        tell(found)
    return 0 if found.is_allowed else OPERATION_FAILED


def _needs_database(plan: "Plan | None") -> bool:
    """Whether something is looked up: the playbook itself, others, or credentials."""
    if plan is None:
        return True
    return any(step["type"] == "playbook" or "auth" in step for step in plan.content["steps"])


def _lacking(home: "Home | None", content: Mapping[str, Any]) -> list[str]:
    """Return what the plan asks for and nobody gave."""
    from noetl_mcp import assembly

    if home is None:
        return lacking(content, Settings.load().secrets, None)
    return lacking(content, home.world.secrets, assembly.credential_names(home))


def _content(
    home: "Home | None", plan: "Plan | None", path: str, version: int | None
) -> Mapping[str, Any]:
    """Return a plan as it is kept."""
    if plan is not None:
        found: Mapping[str, Any] = decode(plan.to_json().decode())
        return found
    assert home is not None
    with home.connect("dry run") as connection:
        starting = Starting(connection)
        kept = starting.find(path, version)
        return {**decode(starting.records.plan(kept.plan_id)), "version": kept.version}


async def _rehearse(home: "Home | None", content: Mapping[str, Any], order: Order) -> Rehearsed:
    settings = home.settings if home is not None else Settings.load()
    bench = Bench(folders=settings.files, shell=settings.allow_shell)
    try:
        program = Program(content, known_tasks())
        payload = order.values(content["inputs"])
        return await Rehearsal(_props(home, settings, bench)).run(program, payload)
    finally:
        await bench.close()


def _props(home: "Home | None", settings: Settings, bench: Bench) -> Props:
    from noetl_mcp import assembly

    lookup = None if home is None else lambda name: assembly.credential(home, name)
    asking: Any = SimpleNamespace(equipment=SimpleNamespace(credentials=lookup))

    def find(path: str, version: int | str | None) -> Program:
        assert home is not None
        wanted = None if version in (None, "latest") else int(version or 0)
        try:
            return Program(_content(home, None, path, wanted), known_tasks())
        except NoSuchPlaybook as problem:
            raise Failed("no-such-playbook", str(problem), retriable=False) from None

    return Props(
        known_tasks(),
        bench.task,
        find,
        Reads(asking).credentials,
        (home or assembly.Home(settings, "", embedded=False)).world,
        Rules(settings.require_confirm, settings.read_only, settings.lease_seconds),
    )


def _shape(content: Mapping[str, Any], found: Rehearsed) -> dict[str, Any]:
    steps = [
        {
            "name": name,
            "state": State(state).name.lower(),
            "attempts": attempts,
            "perhaps": name in found.perhaps,
        }
        for name, state, attempts, _ in found.states
    ]
    return {
        "execution_id": None,
        "dry_run": True,
        "playbook": content["playbook"]["path"],
        "version": content.get("version"),
        "status": Status(found.status).name.lower(),
        "allowed": found.is_allowed,
        "verdict": found.verdict,
        "summary": summary_of(found),
        "writes": [one.as_json() for one in found.writes],
        "unknown": list(found.unknown),
        "unknown_because": dict(found.reasons),
        "assumed": dict(found.assumed),
        "steps": steps,
        "result": found.result,
        "error": found.error,
    }


def _print_json(value: Any) -> None:
    import orjson  # only here: every other use of the command does without it

    echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())


__all__ = ["dry_run"]
