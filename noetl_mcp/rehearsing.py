"""Try a playbook for the faces: everything that it reads is read, and no write is sent.

A playbook that needs nothing of an installation is tried without one. Starts and keeps nothing.
"""

import asyncio
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from noetl_mcp import assembly
from noetl_mcp.assembly import Home
from noetl_mcp.broker.lacking import lacking
from noetl_mcp.broker.program import Program
from noetl_mcp.compiler.plan import Plan
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
from noetl_mcp.worker.rehearsed_summary import summary_of

Content = Mapping[str, Any]


def needs_home(plan: Plan) -> bool:
    """Whether something is looked up in an installation: other playbooks, or credentials."""
    return any(step["type"] == "playbook" or "auth" in step for step in plan.content["steps"])


def content_of(plan: Plan) -> Content:
    """Return a plan as it would be kept."""
    found: Content = decode(plan.to_json().decode())
    return found


def kept_content(home: Home, path: str, version: int | None) -> Content:
    """Return the plan of a playbook of the catalog; raise NoSuchPlaybook when it has none."""
    with home.connect("dry run") as connection:
        starting = Starting(connection)
        kept = starting.find(path, version)
        return {**decode(starting.records.plan(kept.plan_id)), "version": kept.version}


def warnings_of(home: Home | None, content: Content) -> list[str]:
    """Return what a plan asks for and nobody gave."""
    if home is None:
        return lacking(content, Settings.load().secrets, None)
    return lacking(content, home.world.secrets, assembly.credential_names(home))


def rehearse(home: Home | None, content: Content, order: Order) -> Rehearsed:
    """Go through a playbook; raise WrongPayload when it does not take the payload."""
    return asyncio.run(_rehearse(home, content, order))


def as_json(content: Content, found: Rehearsed) -> dict[str, Any]:
    """Return everything that was found."""
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


async def _rehearse(home: Home | None, content: Content, order: Order) -> Rehearsed:
    settings = home.settings if home is not None else Settings.load()
    bench = Bench(folders=settings.files, shell=settings.allow_shell)
    try:
        program = Program(content, known_tasks())
        payload = order.values(content["inputs"])
        return await Rehearsal(_props(home, settings, bench)).run(program, payload)
    finally:
        await bench.close()


def _props(home: Home | None, settings: Settings, bench: Bench) -> Props:
    lookup = None if home is None else lambda name: assembly.credential(home, name)
    asking: Any = SimpleNamespace(equipment=SimpleNamespace(credentials=lookup))

    def find(path: str, version: int | str | None) -> Program:
        assert home is not None
        wanted = None if version in (None, "latest") else int(version or 0)
        try:
            return Program(kept_content(home, path, wanted), known_tasks())
        except NoSuchPlaybook as problem:
            raise Failed("no-such-playbook", str(problem), retriable=False) from None

    return Props(
        known_tasks(),
        bench.task,
        find,
        Reads(asking).credentials,
        (home or Home(settings, "", embedded=False)).world,
        Rules(settings.require_confirm, settings.read_only, settings.lease_seconds),
    )


__all__ = [
    "Content",
    "as_json",
    "content_of",
    "kept_content",
    "needs_home",
    "rehearse",
    "warnings_of",
]
