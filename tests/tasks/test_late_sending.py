"""Who had to wait for its turn asks again whether it still may send, right before it does."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

from noetl_mcp.tasks.calls import HandedBack, UnknownOutcome
from noetl_mcp.tasks.duckdb import Duckdb
from noetl_mcp.tasks.file import File
from noetl_mcp.tasks.postgres import Postgres
from noetl_mcp.tasks.save_targets import DuckdbTarget, FileTarget
from noetl_mcp.tasks.saves import SaveFile
from noetl_mcp.tasks.saves_sql import SaveDuckdb
from noetl_mcp.tasks.shell import Shell
from noetl_mcp.tasks.specs_compute import ShellSettings
from noetl_mcp.tasks.specs_data import DuckdbSettings, FileSettings, PostgresSettings
from tests.tasks.calling import Around, call


class HeldFor(Around):
    """Surroundings of a lease that is lost after it was asked for some times."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    def may_send(self) -> None:
        self.holds = self.asked < self.times
        super().may_send()


def lost_in_the_queue(
    work: Callable[[Around], Awaitable[Any]], threads: ThreadPoolExecutor | None = None
) -> None:
    """Let some work wait for a thread until its lease is lost; expect that it is handed back."""
    around, free = Around(), threading.Event()

    async def wait_and_do() -> None:
        pool = threads or ThreadPoolExecutor(1)
        if threads is None:
            asyncio.get_running_loop().set_default_executor(pool)
        pool.submit(free.wait, 30)
        doing = asyncio.ensure_future(work(around))
        await asyncio.sleep(0.2)
        assert not doing.done()
        around.holds = False
        free.set()
        await doing

    with pytest.raises(HandedBack):
        asyncio.run(wait_and_do())


def test_a_write_to_duckdb_that_waited_for_a_thread_is_handed_back(tmp_path: Path) -> None:
    task = Duckdb(folders=[tmp_path], most_at_once=1)
    settings = DuckdbSettings(sql="CREATE TABLE t (a INT)", database="a.duckdb")

    lost_in_the_queue(
        lambda around: task.execute(call("duckdb", settings, writes=True, around=around)),
        task._threads,
    )

    assert list(tmp_path.iterdir()) == []


def test_a_save_to_duckdb_that_waited_for_a_thread_is_handed_back(tmp_path: Path) -> None:
    task = Duckdb(folders=[tmp_path], most_at_once=1)
    target = DuckdbTarget(database="a.duckdb", table="t", make_table=True)

    lost_in_the_queue(
        lambda around: SaveDuckdb(duckdb=task).execute(
            call("save.duckdb", target, input={"data": {"a": 1}}, around=around)
        ),
        task._threads,
    )

    assert list(tmp_path.iterdir()) == []


ACTIONS: list[dict[str, Any]] = [
    {"action": "write", "path": "deep/new.txt", "content": "x"},
    {"action": "append", "path": "old.txt", "content": "x"},
    {"action": "delete", "path": "old.txt"},
    {"action": "move", "path": "old.txt", "to": "new.txt"},
    {"action": "copy", "path": "old.txt", "to": "new.txt"},
    {"action": "mkdir", "path": "new"},
]


@pytest.mark.parametrize("keys", ACTIONS, ids=lambda keys: str(keys["action"]))
def test_what_is_done_to_a_file_waits_for_a_thread_and_is_handed_back(
    tmp_path: Path, keys: dict[str, Any]
) -> None:
    (tmp_path / "old.txt").write_text("old\n")
    task, settings = File(folders=[tmp_path]), FileSettings(**keys)

    lost_in_the_queue(
        lambda around: task.execute(call("file", settings, writes=True, around=around))
    )

    assert [one.name for one in tmp_path.iterdir()] == ["old.txt"]
    assert (tmp_path / "old.txt").read_text() == "old\n"


@pytest.mark.parametrize("keys", ACTIONS[:2], ids=lambda keys: str(keys["action"]))
def test_a_file_takes_its_content_only_under_a_lease(tmp_path: Path, keys: dict[str, Any]) -> None:
    (tmp_path / "old.txt").write_text("old\n")
    task, settings = File(folders=[tmp_path]), FileSettings(**keys)

    with pytest.raises(HandedBack):
        asyncio.run(task.execute(call("file", settings, writes=True, around=HeldFor(1))))

    assert [one.name for one in tmp_path.rglob("*.txt")] == ["old.txt"]
    assert (tmp_path / "old.txt").read_text() == "old\n"


@pytest.mark.parametrize("mode", ["append", "upsert", "overwrite"])
def test_a_save_to_a_file_that_waited_for_a_thread_is_handed_back(
    tmp_path: Path, mode: str
) -> None:
    (tmp_path / "a.json").write_text("[]")
    task = SaveFile(file=File(folders=[tmp_path]))
    target = FileTarget(path="a.json")
    data = {"data": [{"a": 1}], "mode": mode, "key": ["a"]}

    lost_in_the_queue(
        lambda around: task.execute(
            call("save.file", target, input=data, writes=True, around=around)
        )
    )

    assert (tmp_path / "a.json").read_text() == "[]"


def in_duckdb(folder: Path, sql: str, times: int, **more: Any) -> Any:
    task = Duckdb(folders=[folder])
    settings = DuckdbSettings(sql=sql, database="a.duckdb", **more)
    made = call("duckdb", settings, writes=True, around=HeldFor(times))
    return asyncio.run(task.execute(made))


def tables(path: Path) -> list[Any]:
    with duckdb.connect(str(path)) as connection:
        return connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()


def test_duckdb_asks_before_each_statement_and_before_it_commits(tmp_path: Path) -> None:
    sql = "CREATE TABLE t (a INT); CREATE TABLE u (a INT)"

    for times in range(1, 5):
        with pytest.raises(HandedBack):
            in_duckdb(tmp_path, sql, times)
        assert not (tmp_path / "a.duckdb").exists() or tables(tmp_path / "a.duckdb") == []
    in_duckdb(tmp_path, sql, 5)

    assert tables(tmp_path / "a.duckdb") == [("t",), ("u",)]


def test_what_duckdb_kept_or_wrote_before_the_lease_was_lost_is_in_doubt(tmp_path: Path) -> None:
    with pytest.raises(UnknownOutcome, match="lease"):
        in_duckdb(tmp_path, "CREATE TABLE t (a INT); SELECT 1", 3, transaction=False)
    with pytest.raises(UnknownOutcome, match="lease"):
        in_duckdb(tmp_path, f"COPY (SELECT 1) TO '{tmp_path}/a.csv'; SELECT 1", 3)

    assert tables(tmp_path / "a.duckdb") == [("t",)]
    assert (tmp_path / "a.csv").exists()


def test_what_postgres_kept_before_the_lease_was_lost_is_in_doubt(empty_database: str) -> None:
    settings = PostgresSettings(
        dsn=empty_database, sql=["CREATE TABLE t (a int)", "SELECT 1"], transaction=False
    )
    made = call("postgres", settings, writes=True, around=HeldFor(1))

    async def execute() -> None:
        task = Postgres()
        try:
            await task.execute(made)
        finally:
            await task.close()

    with pytest.raises(UnknownOutcome, match="lease"):
        asyncio.run(execute())
    with psycopg.connect(empty_database) as connection:
        assert connection.execute("SELECT to_regclass('t')::text").fetchone() == ("t",)


def test_what_a_command_did_before_the_lease_was_lost_is_in_doubt() -> None:
    settings = ShellSettings(commands=["true", "true"])

    async def execute() -> None:
        task = Shell(allowed=True)
        try:
            await task.execute(call("shell", settings, writes=True, around=HeldFor(1)))
        finally:
            await task.close()

    with pytest.raises(UnknownOutcome, match="lease"):
        asyncio.run(execute())
