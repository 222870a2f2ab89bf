"""Keep playbooks: every different text under a path is a version, and has its plan.

The same text again is no new version. A playbook that does not compile is not kept; its report
tells why.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from noetl_mcp.compiler.compile import Broken, plan_of
from noetl_mcp.compiler.plan import FORMAT, Plan
from noetl_mcp.database import Connection, TupleRow, statements
from noetl_mcp.playbook.load import Loaded
from noetl_mcp.tasks.contract import TaskSpec

SQL = statements(__file__, "catalog.sql")


@dataclass(frozen=True, slots=True)
class Kept:
    """A playbook as it was kept: where, as which version, with which plan."""

    path: str
    version: int
    plan_id: int
    digest: str
    is_new: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """A version of a playbook."""

    path: str
    version: int
    name: str
    plan_id: int
    content: str
    content_digest: str
    description: str | None
    created_at: datetime
    plan_digest: str


class Catalog:
    """The playbooks behind one connection."""

    def __init__(self, connection: Connection[TupleRow], tasks: Mapping[str, TaskSpec]) -> None:
        self.connection = connection
        self.tasks = tasks

    def submit(self, loaded: Loaded) -> Kept:
        """Keep a playbook; raise Broken when it does not compile."""
        plan = plan_of(loaded, self.tasks)
        if loaded.playbook is None:
            raise Broken(loaded)
        text = loaded.source.text
        content_digest = hashlib.sha256(text.encode()).hexdigest()
        path = str(plan.playbook["path"])
        with self.connection.transaction():
            self._run("lock", path=path)
            latest = self._run("latest", path=path)
            if latest and latest[0][1] == content_digest and latest[0][3] == plan.digest:
                version, _, plan_id, digest = latest[0]
                return Kept(path, version, plan_id, digest, is_new=False)
            plan_id = self.keep_plan(plan)
            version = latest[0][0] + 1 if latest else 1
            self._do(
                "add_playbook",
                path=path,
                version=version,
                name=plan.playbook["name"],
                plan=plan_id,
                content=text,
                content_digest=content_digest,
                description=loaded.playbook.metadata.description,
            )
        return Kept(path, version, plan_id, plan.digest, is_new=True)

    def keep_plan(self, plan: Plan) -> int:
        """Keep a plan under its digest, and return its number."""
        content = plan.to_json().decode()
        number = self._run("add_plan", digest=plan.digest, format=FORMAT, content=content)[0][0]
        self._do(
            "add_steps",
            plan=number,
            idxs=list(range(len(plan.steps))),
            names=[step.name for step in plan.steps],
            types=[step.type for step in plan.steps],
        )
        return int(number)

    def find(self, path: str, version: int | None = None) -> Entry | None:
        """Return a version of a playbook, the latest when none is named."""
        rows = self._run("find", path=path, version=version)
        return Entry(*rows[0]) if rows else None

    def versions(self, path: str) -> list[tuple[Any, ...]]:
        """Return (version, created_at, content digest, plan digest) of each, the latest first."""
        return self._run("versions", path=path)

    def paths(self) -> list[tuple[Any, ...]]:
        """Return (path, latest version, name, description, created_at) of each playbook."""
        return self._run("paths")

    def _run(self, name: str, /, **values: Any) -> list[tuple[Any, ...]]:
        return self.connection.execute(SQL[name].encode(), values).fetchall()

    def _do(self, name: str, /, **values: Any) -> None:
        self.connection.execute(SQL[name].encode(), values)


__all__ = ["Catalog", "Entry", "Kept"]
