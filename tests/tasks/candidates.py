"""The task types of this house as candidates of the exam, each with servers and files to try it by.

A further type is one line in `CANDIDATES`.
"""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg

from noetl_mcp.playbook.node import Json
from noetl_mcp.playbook.rendering.secret import Secret
from noetl_mcp.tasks.duckdb import Duckdb
from noetl_mcp.tasks.exam import Candidate, Case
from noetl_mcp.tasks.file import File
from noetl_mcp.tasks.http import Http
from noetl_mcp.tasks.jsonrpc import JsonRpc
from noetl_mcp.tasks.mcp import Mcp
from noetl_mcp.tasks.postgres import Postgres
from noetl_mcp.tasks.python.task import Python
from noetl_mcp.tasks.registry import BUILT_IN
from noetl_mcp.tasks.save_targets import SAVE_TARGETS
from noetl_mcp.tasks.saves import SaveFile, SaveHttp, SavePython
from noetl_mcp.tasks.saves_sql import SaveDuckdb, SavePostgres
from noetl_mcp.tasks.shell import Shell
from noetl_mcp.tasks.transfer import Transfer
from tests.tasks.floorplan_candidates import floorplan, floorplan_elsewhere
from tests.tasks.mcp_calls import GOOD
from tests.wire.servers import Line, Server, answer, serving

SECRET = "hunter2-and-more"
BEARER = {"": {"type": "bearer", "token": SECRET}}
Made = Callable[[Path, Callable[[], str]], AbstractAsyncContextManager[Candidate]]


async def _web(line: Line) -> None:
    """Answer by the path: at once, never, with a failure, or by hanging up."""
    while True:
        asked = await line.request()
        if asked.target.startswith("/lost"):
            return
        if asked.target.startswith("/slow"):
            await line.closed_by_client()
            return
        if asked.target.startswith("/refused"):
            said = f'{{"you sent": "{asked.headers.get("authorization", "")}"}}'
            await line.say(answer(said.encode(), status="404 Not Found"))
        elif asked.target.startswith("/rpc"):
            id_ = json.loads(asked.body)["id"]
            body = {"jsonrpc": "2.0", "id": id_, "result": {"walls": 3}}
            await line.say(answer(json.dumps(body).encode()))
        else:
            await line.say(answer(json.dumps({"at": asked.target}).encode()))


def _received(server: Server) -> Callable[[], object]:
    return lambda: sum(one.method != "GET" for one in server.seen)


def _without_time(found: Json) -> Json:
    assert isinstance(found, dict)
    return {key: value for key, value in found.items() if key not in ("elapsed", "headers")}


@asynccontextmanager
async def http(folder: Path, dsn: Callable[[], str]) -> AsyncIterator[Candidate]:
    async with serving(_web) as server:
        post: dict[str, Any] = {"method": "POST", "json": {"a": 1}}
        yield Candidate(
            BUILT_IN["http"],
            Http,
            [
                Case("a read", {"url": f"{server.url}/a"}, auth=BEARER),
                Case("another read", {"url": f"{server.url}/b", "params": {"n": 1}}),
                Case("a write", {"url": f"{server.url}/c", **post}, auth=BEARER),
                Case("a refusal", {"url": f"{server.url}/refused"}, ends="failed", auth=BEARER),
                Case("no header", {"url": server.url, "headers": {"a b": "c"}}, ends="failed"),
                Case("a lost write", {"url": f"{server.url}/lost", **post}, ends="lost"),
                Case("a lost read", {"url": f"{server.url}/lost"}, ends="lost", auth=BEARER),
                Case("a slow read", {"url": f"{server.url}/slow"}, ends="slow"),
            ],
            sent=_received(server),
            secrets=[SECRET],
            steady=_without_time,
        )


@asynccontextmanager
async def jsonrpc(folder: Path, dsn: Callable[[], str]) -> AsyncIterator[Candidate]:
    web = Http()
    async with serving(_web) as server:
        at = {"method": "get_walls"}
        change = {"method": "create_wall", "params": {"mark": "W1"}}
        yield Candidate(
            BUILT_IN["jsonrpc"],
            lambda: JsonRpc(http=web),
            [
                Case("a read", {"url": f"{server.url}/rpc", **at}, writes=False, auth=BEARER),
                Case("a write", {"url": f"{server.url}/rpc", **change}, auth=BEARER),
                Case("no rpc", {"url": f"{server.url}/a", **at}, ends="failed", writes=False),
                Case("a lost write", {"url": f"{server.url}/lost", **change}, ends="lost"),
                Case("a slow read", {"url": f"{server.url}/slow", **at}, ends="slow", writes=False),
            ],
            # Every call is a POST; those that read are sent although nothing may be written.
            sent=lambda: sum(b"create_wall" in one.body for one in server.seen),
            secrets=[SECRET],
        )
        await web.close()


@asynccontextmanager
async def python(folder: Path, dsn: Callable[[], str]) -> AsyncIterator[Candidate]:
    mark = folder / "mark"
    told = "def main(auth=None, **given):\n"
    yield Candidate(
        BUILT_IN["python"],
        lambda: Python(folders=[folder], most_children=2),
        [
            Case("a sum", {"code": "def main(a=1, b=2):\n    return {'sum': a + b}"}, {"a": 5}),
            Case(
                "a write",
                {"code": told + f"    open({str(mark)!r}, 'a').write('x')\n    return 1"},
                writes=True,
                auth=BEARER,
            ),
            Case(
                "an error",
                # What a program says of its own is masked by the worker.
                {"code": told + "    raise ValueError('no')"},
                ends="failed",
            ),
            Case("no program", {"code": "def main(:"}, ends="failed"),
            Case("a lost one", {"code": told + "    import os; os._exit(3)"}, ends="lost"),
            Case("a slow one", {"code": told + "    import time; time.sleep(60)"}, ends="slow"),
        ],
        sent=lambda: mark.exists() and mark.stat().st_size,
    )


def _rows(dsn: str, table: str) -> object:
    with psycopg.connect(dsn, autocommit=True) as connection:
        return connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone()


@asynccontextmanager
async def postgres(folder: Path, dsn: Callable[[], str]) -> AsyncIterator[Candidate]:
    where = {"dsn": dsn()}
    with psycopg.connect(dsn(), autocommit=True) as connection:
        connection.execute("CREATE TABLE t (a text)")
    insert = {"sql": "INSERT INTO t VALUES ({{ a }})", **where}
    ends = "SELECT pg_terminate_backend(pg_backend_pid())"
    yield Candidate(
        BUILT_IN["postgres"],
        Postgres,
        [
            Case("a read", {"sql": "SELECT now() > '2000-01-01' AS late, 1.5 AS n", **where}),
            Case("a write", insert, writes=True, names={"a": Secret(SECRET)}),
            Case("no SQL", {"sql": "SELEC 1", **where}, ends="failed"),
            Case(
                "a wrong value",
                {"sql": "SELECT {{ a }}::int", **where},
                ends="failed",
                names={"a": Secret(SECRET)},
            ),
            Case("a write in a read", insert, ends="failed", writes=False, names={"a": "x"}),
            Case("a lost one", {"sql": ends, "transaction": False, **where}, ends="lost"),
            Case("a slow one", {"sql": "SELECT pg_sleep(60)", **where}, ends="slow"),
        ],
        sent=lambda: _rows(dsn(), "t"),
        secrets=[SECRET],
    )


@asynccontextmanager
async def duckdb(folder: Path, dsn: Callable[[], str]) -> AsyncIterator[Candidate]:
    rows = [{"a": 1}, {"a": 2}]
    slow = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range + b.range = -1"
    made = folder / "made.duckdb"
    yield Candidate(
        BUILT_IN["duckdb"],
        lambda: Duckdb(folders=[folder]),
        [
            Case("a read", {"sql": "SELECT sum(a) AS n FROM t", "tables": {"t": rows}}),
            Case(
                "a write",
                {"sql": "CREATE OR REPLACE TABLE t AS SELECT 1 AS a", "database": "made.duckdb"},
                writes=True,
            ),
            Case("no SQL", {"sql": "SELEC 1"}, ends="failed"),
            Case("a wrong value", {"sql": "SELECT {{ a }}::INT"}, None, "failed", None, {}, _NAME),
            Case("a slow one", {"sql": slow}, ends="slow"),
        ],
        sent=lambda: made.exists() and made.stat().st_mtime_ns,
        secrets=[SECRET],
        never_lost="it runs in the worker itself; only a broken disk leaves a commit open",
    )


_NAME = {"a": Secret(SECRET)}


@asynccontextmanager
async def transfer(folder: Path, dsn: Callable[[], str]) -> AsyncIterator[Candidate]:
    web, made = Http(), folder / "moved.jsonl"
    rows = {"type": "rows", "rows": [{"a": 1}, {"a": 2}]}
    to_file = {"type": "file", "path": "moved.jsonl"}
    missing = {"type": "file", "path": "missing.csv"}
    no_server = f"postgresql://ann:{SECRET}@127.0.0.1:1/none"
    nowhere = {"type": "postgres", "dsn": no_server, "table": "t"}
    overwrites: dict[str, Any] = {"target": to_file, "mode": "overwrite"}
    yield Candidate(
        BUILT_IN["transfer"],
        lambda: Transfer(http=web, folders=[folder]),
        [
            Case("a write", {"source": rows, **overwrites}),
            Case("no source", {"source": missing, **overwrites}, ends="failed"),
            Case("no target", {"source": rows, "target": nowhere}, ends="failed"),
        ],
        sent=lambda: made.exists() and made.stat().st_mtime_ns,
        secrets=[SECRET],
        never_lost="a target takes all rows or none; a lost commit is tried in its own tests",
    )
    await web.close()


@asynccontextmanager
async def file(folder: Path, dsn: Callable[[], str]) -> AsyncIterator[Candidate]:
    (folder / "a.json").write_text('{"a": [1, 2]}')
    kept = folder / "kept.txt"
    yield Candidate(
        BUILT_IN["file"],
        lambda: File(folders=[folder]),
        [
            Case("a read", {"path": "a.json"}),
            Case("a listing", {"path": ".", "action": "list", "pattern": "a.*"}),
            Case("a write", {"path": "kept.txt", "action": "append", "content": SECRET}),
            Case("a way out", {"path": "../etc/passwd"}, ends="failed"),
            Case("nothing", {"path": "nothing.txt"}, ends="failed"),
        ],
        sent=lambda: kept.exists() and kept.read_text(),
        secrets=[SECRET],
        never_lost="a file is replaced at once, by this process itself",
    )


@asynccontextmanager
async def shell(folder: Path, dsn: Callable[[], str]) -> AsyncIterator[Candidate]:
    mark = folder / "mark"
    yield Candidate(
        BUILT_IN["shell"],
        lambda: Shell(allowed=True, folders=[folder]),
        [
            Case("a line", {"command": f"echo once >> '{mark}'"}),
            Case("a failing one", {"command": "exit 3"}, ends="failed", writes=False),
            Case("no program", {"command": "/nowhere/at/all", "args": ["a"]}, ends="failed"),
            Case("a killed one", {"command": "kill -KILL $$"}, ends="lost"),
            Case("a slow one", {"command": "sleep 60"}, ends="slow"),
        ],
        sent=lambda: mark.exists() and mark.read_text(),
    )


@asynccontextmanager
async def mcp(folder: Path, dsn: Callable[[], str]) -> AsyncIterator[Candidate]:
    server: dict[str, Any] = {"command": GOOD, "env": {"NOTES": str(folder)}}
    notes = folder / "notes"
    yield Candidate(
        BUILT_IN["mcp"],
        lambda: Mcp(commands=True),
        [
            Case("a listing", {**server, "list": "tools"}),
            Case("a sum", {**server, "tool": "add", "arguments": {"a": 1, "b": 2}}),
            Case("a dying one", {**server, "tool": "die"}, ends="lost"),
            Case(
                "a slow one", {**server, "tool": "slow", "arguments": {"seconds": 60}}, ends="slow"
            ),
            Case("no such tool", {**server, "tool": "nothing"}, ends="failed"),
            Case("no server", {"command": ["/nowhere/at/all"], "list": "tools"}, ends="failed"),
        ],
        sent=lambda: notes.exists() and notes.read_text(),
    )


def _wish(data: Json, **more: Json) -> Json:
    return {"data": data, **more}


@asynccontextmanager
async def save_postgres(folder: Path, dsn: Callable[[], str]) -> AsyncIterator[Candidate]:
    base = Postgres()
    with psycopg.connect(dsn(), autocommit=True) as connection:
        connection.execute("CREATE TABLE t (a text)")
    where = {"dsn": dsn()}
    ends = {"sql": "SELECT pg_terminate_backend(pg_backend_pid())", **where}
    yield Candidate(
        SAVE_TARGETS["postgres"],
        lambda: SavePostgres(postgres=base),
        [
            Case("rows", {"table": "t", **where}, _wish([{"a": SECRET}])),
            Case("no column", {"table": "t", **where}, _wish([{"b": SECRET}]), "failed"),
            Case("no rows", {"table": "t", **where}, _wish(SECRET), "failed"),
            Case("no table", {"table": "nowhere", **where}, _wish([{"a": 1}]), "failed"),
            Case("a lost one", ends, _wish(None), "lost"),
        ],
        sent=lambda: _rows(dsn(), "t"),
        secrets=[SECRET],
    )
    await base.close()


@asynccontextmanager
async def save_duckdb(folder: Path, dsn: Callable[[], str]) -> AsyncIterator[Candidate]:
    base, made = Duckdb(folders=[folder]), folder / "saves.duckdb"
    at = {"table": "t", "make_table": True}
    yield Candidate(
        SAVE_TARGETS["duckdb"],
        lambda: SaveDuckdb(duckdb=base, default=str(made)),
        [
            Case("rows", at, _wish([{"a": SECRET}])),
            Case("no rows", at, _wish(SECRET), "failed"),
            Case("no key", at, _wish([{"a": 1}], mode="upsert"), "failed"),
        ],
        sent=lambda: made.exists() and made.stat().st_mtime_ns,
        secrets=[SECRET],
        never_lost="it runs in the worker itself; only a broken disk leaves a commit open",
    )
    await base.close()


@asynccontextmanager
async def save_file(folder: Path, dsn: Callable[[], str]) -> AsyncIterator[Candidate]:
    base, made = File(folders=[folder]), folder / "rows.jsonl"
    yield Candidate(
        SAVE_TARGETS["file"],
        lambda: SaveFile(file=base),
        [
            Case("rows", {"path": "rows.jsonl"}, _wish([{"a": SECRET}])),
            Case("a way out", {"path": "../rows.jsonl"}, _wish([{"a": SECRET}]), "failed"),
        ],
        sent=lambda: made.exists() and made.read_text(),
        secrets=[SECRET],
        never_lost="a file is replaced at once, by this process itself",
    )


@asynccontextmanager
async def save_http(folder: Path, dsn: Callable[[], str]) -> AsyncIterator[Candidate]:
    base = Http()
    async with serving(_web) as server:
        yield Candidate(
            SAVE_TARGETS["http"],
            lambda: SaveHttp(http=base),
            [
                Case("rows", {"url": f"{server.url}/a"}, _wish([{"a": 1}]), auth=BEARER),
                Case("refused", {"url": f"{server.url}/refused"}, _wish(1), "failed", auth=BEARER),
                Case("lost", {"url": f"{server.url}/lost"}, _wish(1), "lost", auth=BEARER),
                Case("slow", {"url": f"{server.url}/slow"}, _wish(1), "slow"),
            ],
            sent=_received(server),
            secrets=[SECRET],
        )
        await base.close()


@asynccontextmanager
async def save_python(folder: Path, dsn: Callable[[], str]) -> AsyncIterator[Candidate]:
    base = Python(folders=[folder], most_children=2)
    yield Candidate(
        SAVE_TARGETS["python"],
        lambda: SavePython(python=base),
        [
            Case("a function", {"code": "def main(a):\n    return a"}, _wish({"a": 1})),
            Case("an error", {"code": "def main(a):\n    return 1 / 0"}, _wish({"a": 1}), "failed"),
            Case(
                "slow",
                {"code": "def main(a):\n    import time; time.sleep(60)"},
                _wish({"a": 1}),
                "slow",
            ),
        ],
    )
    await base.close()


CANDIDATES: dict[str, Made] = {
    "http": http,
    "jsonrpc": jsonrpc,
    "python": python,
    "postgres": postgres,
    "duckdb": duckdb,
    "file": file,
    "transfer": transfer,
    "shell": shell,
    "mcp": mcp,
    "floorplan": floorplan,
    "floorplan elsewhere": floorplan_elsewhere,
    "save.postgres": save_postgres,
    "save.duckdb": save_duckdb,
    "save.file": save_file,
    "save.http": save_http,
    "save.python": save_python,
}
