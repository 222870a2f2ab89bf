import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from noetl_mcp.database import WrongSchema, connect, migrate, migrations

PROCESSES = 20
FIRST = "create table noetl.thing (id int primary key);\ninsert into noetl.thing values (1);\n"
SECOND = "alter table noetl.thing add column name text;\n"
THIRD = (
    "-- no transaction\ncreate index concurrently if not exists thing_name on noetl.thing (name)"
)


def folder_of(tmp_path: Path, *texts: str) -> Path:
    """Write migrations, replacing what was there."""
    folder = tmp_path / "migrations"
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    for number, text in enumerate(texts, 1):
        (folder / f"{number:04}_step_{number}.sql").write_text(text)
    return folder


def asked(dsn: str, question: str) -> list[tuple[object, ...]]:
    with connect(dsn, application_name="asks") as connection:
        return connection.execute(question).fetchall()


def test_what_is_missing_is_applied_once_and_in_order(tmp_path: Path, empty_database: str) -> None:
    first = migrate(empty_database, folder_of(tmp_path, FIRST))
    again = migrate(empty_database, folder_of(tmp_path, FIRST))
    then = migrate(empty_database, folder_of(tmp_path, FIRST, SECOND, THIRD))

    assert (first, again, then) == (["0001_step_1"], [], ["0002_step_2", "0003_step_3"])
    assert asked(empty_database, "select id, name from noetl.thing") == [(1, None)]
    assert asked(empty_database, "select number, name from noetl.migration order by 1") == [
        (1, "step_1"),
        (2, "step_2"),
        (3, "step_3"),
    ]
    assert asked(empty_database, "select serves_from from noetl.schema_state") == [(1,)]


def test_twenty_processes_may_start_at_once(tmp_path: Path, empty_database: str) -> None:
    folder = folder_of(tmp_path, FIRST, SECOND, THIRD)
    code = (
        "import sys; from pathlib import Path; from noetl_mcp.database import migrate;"
        "sys.stdin.read(); print(len(migrate(sys.argv[1], Path(sys.argv[2]))))"
    )
    command = [sys.executable, "-c", code, empty_database, str(folder)]

    starters = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(PROCESSES)
    ]
    for starter in starters:
        assert starter.stdin is not None
        starter.stdin.close()
        starter.stdin = None
    applied = sorted(starter.communicate(timeout=60)[0].strip() for starter in starters)

    assert applied == ["0"] * (PROCESSES - 1) + ["3"]
    assert asked(empty_database, "select count(*) from noetl.thing") == [(1,)]


def test_a_migration_that_fails_leaves_nothing_and_is_told(
    tmp_path: Path, empty_database: str
) -> None:
    broken = "create table noetl.half (a int);\nselect 1/0;\n"

    with pytest.raises(WrongSchema, match="0002_step_2 failed: division by zero"):
        migrate(empty_database, folder_of(tmp_path, FIRST, broken))

    assert asked(empty_database, "select to_regclass('noetl.half')") == [(None,)]
    assert migrate(empty_database, folder_of(tmp_path, FIRST, SECOND)) == ["0002_step_2"]


def test_an_applied_migration_may_not_change(tmp_path: Path, empty_database: str) -> None:
    migrate(empty_database, folder_of(tmp_path, FIRST))

    with pytest.raises(WrongSchema, match=r"0001_step_1 was applied .* with another text"):
        migrate(empty_database, folder_of(tmp_path, FIRST + "-- changed\n"))


def test_the_ends_of_lines_are_no_change(tmp_path: Path, empty_database: str) -> None:
    migrate(empty_database, folder_of(tmp_path, FIRST))
    folder = folder_of(tmp_path, FIRST)
    path = folder / "0001_step_1.sql"
    path.write_bytes(FIRST.replace("\n", "\r\n").encode())

    assert migrate(empty_database, folder) == []


def test_a_newer_database_that_still_serves_this_code_is_fine(
    tmp_path: Path, empty_database: str
) -> None:
    migrate(empty_database, folder_of(tmp_path, FIRST, SECOND))

    assert migrate(empty_database, folder_of(tmp_path, FIRST)) == []


def test_code_that_is_too_old_for_the_database_is_refused(
    tmp_path: Path, empty_database: str
) -> None:
    contract = "update noetl.schema_state set serves_from = 2;\n"
    migrate(empty_database, folder_of(tmp_path, FIRST, contract))

    with pytest.raises(WrongSchema, match="know migration 0002 and newer; this one knows 0001"):
        migrate(empty_database, folder_of(tmp_path, FIRST))


def test_a_database_of_another_line_of_versions_is_refused(
    tmp_path: Path, empty_database: str
) -> None:
    migrate(empty_database, folder_of(tmp_path, FIRST, SECOND, "select 3"))
    with connect(empty_database, application_name="breaks") as connection:
        connection.execute("delete from noetl.migration where number = 2")

    with pytest.raises(WrongSchema, match="0002_step_2 is missing, yet newer ones are applied"):
        migrate(empty_database, folder_of(tmp_path, FIRST, SECOND, "select 3"))


@pytest.mark.parametrize("name", ["0003_gap.sql", "0001_twice.sql", "first.sql", "1_short.sql"])
def test_a_folder_that_can_be_misread_is_refused(tmp_path: Path, name: str) -> None:
    folder = folder_of(tmp_path, FIRST)
    (folder / name).write_text("select 1")

    with pytest.raises(WrongSchema):
        migrations(folder)


def test_a_migration_waits_for_its_tables_without_making_others_wait_for_it(
    tmp_path: Path, empty_database: str
) -> None:
    migrate(empty_database, folder_of(tmp_path, FIRST))
    folder = folder_of(tmp_path, FIRST, SECOND)
    with connect(empty_database, application_name="reads", autocommit=False) as reader:
        reader.execute("select * from noetl.thing")
        migrating = threading.Thread(target=migrate, args=(empty_database, folder))
        migrating.start()

        until_it_waits = (
            "select 1 from pg_stat_activity where wait_event_type = 'Lock'"
            " and application_name = 'noetl-mcp migrate' and datname = current_database()"
        )
        while not asked(empty_database, until_it_waits):
            pass
    migrating.join()

    assert migrate(empty_database, folder) == []


def test_waiting_for_another_process_has_an_end(tmp_path: Path, empty_database: str) -> None:
    with connect(empty_database, application_name="holds") as holder:
        holder.execute("select pg_advisory_lock(%s)", [0x6E6F65746C])

        with pytest.raises(WrongSchema, match="another process has been migrating"):
            migrate(empty_database, folder_of(tmp_path, FIRST), wait=timedelta(seconds=0.1))


def test_one_who_waits_for_his_turn_does_not_stop_an_index_from_being_built(
    tmp_path: Path, empty_database: str
) -> None:
    """The waiter holds no snapshot, for which a concurrent build would have to wait for ever."""
    folder = folder_of(tmp_path, FIRST, SECOND, THIRD)
    with connect(empty_database, application_name="holds") as holder:
        holder.execute("select pg_advisory_lock(%s)", [0x6E6F65746C])
        waiting = threading.Thread(target=migrate, args=(empty_database, folder))
        waiting.start()
        until_it_asks = (
            "select 1 from pg_stat_activity where query like '%try_advisory%'"
            " and application_name = 'noetl-mcp migrate' and datname = current_database()"
        )
        while not asked(empty_database, until_it_asks):
            pass
        holder.execute("create table other (a int)")

        holder.execute("create index concurrently other_a on other (a)")

    waiting.join()
    assert asked(empty_database, "select count(*) from noetl.migration") == [(3,)]
