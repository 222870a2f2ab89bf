"""The task type `transfer`: rows from one place to another, all of them or none."""

import asyncio
import re
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

from noetl_mcp.tasks.calls import Call, Failed, HandedBack
from noetl_mcp.tasks.http import Http
from noetl_mcp.tasks.specs_data import TransferSettings
from noetl_mcp.tasks.transfer import Transfer
from tests.tasks.calling import Around
from tests.wire.servers import answer, answering, serving

DEADLINE = 60
SIZES = [0, 1, 30_000]


class Places:
    """A Postgres and a DuckDB file, seen by others than the transfer."""

    def __init__(self, dsn: str, folder: Path) -> None:
        self.dsn = dsn
        self.folder = folder
        self.file = str(folder / "a.duckdb")

    def postgres(self, sql: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            cursor = connection.execute(sql)
            return cursor.fetchall() if cursor.description else []

    def duckdb(self, sql: str, file: str | None = None) -> list[tuple[Any, ...]]:
        with duckdb.connect(file or self.file) as connection:
            return connection.execute(sql).fetchall()

    @property
    def in_postgres(self) -> dict[str, Any]:
        return {"type": "postgres", "dsn": self.dsn, "table": "t"}

    @property
    def in_duckdb(self) -> dict[str, Any]:
        return {"type": "duckdb", "database": self.file, "table": "t"}

    def move(self, source: object, target: object, **more: Any) -> Any:
        return asyncio.run(self._move(source, target, **more))

    async def _move(self, source: object, target: object, **more: Any) -> Any:
        keys = ("mapping", "mode", "key", "memory_mb")
        settings = {key: more.pop(key) for key in keys if key in more}
        made = TransferSettings.model_validate({"source": source, "target": target, **settings})
        http = Http()
        task = Transfer(http=http, folders=[self.folder])
        given = {"around": Around(), "writes": True, "timeout": 30, **more}
        try:
            one = Call("transfer", made, None, **given)
            return await asyncio.wait_for(task.execute(one), DEADLINE)
        finally:
            await task.close()
            await http.close()

    def refusal(self, source: object, target: object, **more: Any) -> Failed:
        with pytest.raises(Failed) as caught:
            self.move(source, target, **more)
        return caught.value


@pytest.fixture
def places(empty_database: str, tmp_path: Path) -> Places:
    return Places(empty_database, tmp_path)


def rows_sql(count: int) -> str:
    return f"SELECT n AS id, 'name ' || n AS name FROM generate_series(1, {count}) AS g(n)"


@pytest.mark.parametrize("count", SIZES)
def test_rows_go_from_postgres_to_duckdb_and_back(places: Places, count: int) -> None:
    places.postgres(f"CREATE TABLE t AS {rows_sql(count)}; CREATE TABLE back (LIKE t)")
    places.duckdb("CREATE TABLE t (id BIGINT, name VARCHAR)")

    there = places.move(places.in_postgres, places.in_duckdb)
    back = places.move(places.in_duckdb, {**places.in_postgres, "table": "back"})

    assert there == {
        "rows_read": count,
        "rows_written": count,
        "rows_deleted": 0,
        "columns": ["id", "name"],
        "mode": "append",
    }
    assert back["rows_written"] == count
    assert places.postgres("SELECT * FROM t EXCEPT SELECT * FROM back") == []
    assert places.postgres("SELECT count(*) FROM back") == [(count,)]


@pytest.mark.parametrize("count", SIZES)
def test_rows_go_from_postgres_to_postgres(places: Places, count: int) -> None:
    places.postgres(f"CREATE TABLE t AS {rows_sql(count)}; CREATE TABLE u (LIKE t)")

    result = places.move(places.in_postgres, {**places.in_postgres, "table": "u"})

    assert result["rows_written"] == count
    assert places.postgres("SELECT count(*) FROM u") == [(count,)]


def test_rows_go_from_one_duckdb_file_to_another_and_within_one(places: Places) -> None:
    other = str(places.folder / "b.duckdb")
    places.duckdb("CREATE TABLE t AS SELECT range AS n FROM range(5); CREATE TABLE u (n INT)")
    places.duckdb("CREATE TABLE t (n VARCHAR)", other)

    places.move(places.in_duckdb, {"type": "duckdb", "database": other, "table": "t"})
    places.move(places.in_duckdb, {**places.in_duckdb, "table": "u"})

    assert places.duckdb("SELECT * FROM t", other) == [(str(n),) for n in range(5)]
    assert places.duckdb("SELECT count(*) FROM u") == [(5,)]


TYPES = [
    ("smallint", "SMALLINT", ["-32768"]),
    ("bigint", "BIGINT", ["9223372036854775807"]),
    ("numeric(38,10)", "DECIMAL(38,10)", ["1234567890123456789012345678.0123456789", "-0.1"]),
    ("double precision", "DOUBLE", ["0.1", "1e300", "NaN", "-Infinity"]),
    ("boolean", "BOOLEAN", ["true", "false"]),
    ("text", "VARCHAR", ["", "\\N", "NULL", 'a"b', "a,b", "a\nb", "a\r\nb", "\\.", "ü😀", " x "]),
    ("date", "DATE", ["2024-02-29", "infinity"]),
    ("timestamp", "TIMESTAMP", ["2024-02-29 10:00:00.123456"]),
    ("timestamptz", "TIMESTAMPTZ", ["2024-02-29 10:00:00.123456+05:30", "infinity"]),
    ("time", "TIME", ["10:00:00.5"]),
    ("interval", "INTERVAL", ["1 year 2 mons -3 days 04:05:06.7", "-00:00:01"]),
    ("uuid", "UUID", ["c0ffee00-0000-4000-8000-000000000001"]),
    ("jsonb", "JSON", ['{"a": [1, null, "x\\"y"]}', "null", '"\\\\N"']),
    ("bytea", "BLOB", ["\\x00ff10", "\\x"]),
    ("int[]", "INTEGER[]", ["{1,NULL,3}", "{}"]),
    ("int[]", "INTEGER[][]", ["{{1,2},{3,4}}"]),
    ("numeric[]", "DECIMAL(38,20)[]", ["{1.01234567890123456789}"]),
    ("text[]", "VARCHAR[]", ['{"a,b","q\\"","NULL","","\\\\",NULL}']),
    ("timestamptz[]", "TIMESTAMPTZ[]", ['{"2024-02-29 10:00:00+00"}']),
]


@pytest.mark.parametrize(("in_postgres", "in_duckdb", "values"), TYPES)
def test_types_are_kept_there_and_back(
    places: Places, in_postgres: str, in_duckdb: str, values: list[str]
) -> None:
    places.postgres(f"CREATE TABLE t (n int, v {in_postgres}); CREATE TABLE back (LIKE t)")
    places.duckdb(f"CREATE TABLE t (n INT, v {in_duckdb})")
    with psycopg.connect(places.dsn, autocommit=True) as connection:
        for n, value in enumerate([*values, None]):
            connection.execute(f"INSERT INTO t VALUES (%s, %s::{in_postgres})", (n, value))

    places.move(places.in_postgres, places.in_duckdb)
    places.move(places.in_duckdb, {**places.in_postgres, "table": "back"})

    look = "SELECT n, v::text FROM {} ORDER BY n"
    assert places.postgres(look.format("back")) == places.postgres(look.format("t"))
    assert places.duckdb("SELECT count(*) FROM t WHERE v IS NULL") == [(1,)]


@pytest.mark.parametrize("value", ["NULL", "''", "'x'"])
def test_a_row_of_one_column_is_never_lost(places: Places, value: str) -> None:
    places.postgres(f"CREATE TABLE t AS SELECT {value}::text AS v; CREATE TABLE back (LIKE t)")
    places.duckdb("CREATE TABLE t (v VARCHAR)")

    places.move(places.in_postgres, places.in_duckdb)
    places.move(places.in_duckdb, {**places.in_postgres, "table": "back"})

    found = places.postgres("TABLE back")
    assert found == places.postgres("TABLE t")


def test_maps_and_lists_of_duckdb_become_json(places: Places) -> None:
    places.duckdb("CREATE TABLE t AS SELECT {'a': [1, 2]} AS s, ['x'] AS l, MAP {'k': 1} AS m")
    places.postgres("CREATE TABLE t (s jsonb, l jsonb, m jsonb)")

    places.move(places.in_duckdb, places.in_postgres)

    assert places.postgres("TABLE t") == [({"a": [1, 2]}, ["x"], {"k": 1})]


@pytest.mark.parametrize("target", ["postgres", "duckdb"])
@pytest.mark.parametrize(
    ("mode", "more", "left", "counts"),
    [
        ("append", {}, [(1, "old"), (1, "a"), (2, "b"), (2, "c")], (3, 0)),
        ("overwrite", {}, [(1, "a"), (2, "b"), (2, "c")], (3, 1)),
        ("upsert", {"key": ["id"]}, [(1, "a"), (2, "c")], (2, 0)),
    ],
)
def test_rows_that_are_there_stay_go_or_are_replaced(
    places: Places, target: str, mode: str, more: dict[str, Any], left: object, counts: object
) -> None:
    key = ", PRIMARY KEY (id)" if mode == "upsert" else ""
    make = f"CREATE TABLE t (id int, v text{key}); INSERT INTO t VALUES (1, 'old')"
    places.postgres(make) if target == "postgres" else places.duckdb(make)
    end = places.in_postgres if target == "postgres" else places.in_duckdb
    rows = [{"id": 1, "v": "a"}, {"id": 2, "v": "b"}, {"id": 2, "v": "c"}]

    result = places.move({"type": "rows", "rows": rows}, end, mode=mode, **more)

    look = places.postgres if target == "postgres" else places.duckdb
    assert (
        sorted(look("SELECT * FROM t"), key=lambda row: (row[0], row[1] != "old", row[1])) == left
    )
    assert (result["rows_written"], result["rows_deleted"]) == counts


def test_an_upsert_from_postgres_replaces_by_key(places: Places) -> None:
    places.postgres("CREATE TABLE t AS SELECT n AS id, n * 10 AS v FROM generate_series(1, 3) AS n")
    places.duckdb("CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (2, 0), (9, 9)")

    places.move(places.in_postgres, places.in_duckdb, mode="upsert", key=["ID"])

    assert places.duckdb("FROM t ORDER BY id") == [(1, 10), (2, 20), (3, 30), (9, 9)]


def test_no_rows_overwrite_what_is_there(places: Places) -> None:
    places.postgres("CREATE TABLE t AS SELECT 1 AS a")

    result = places.move({"type": "rows", "rows": []}, places.in_postgres, mode="overwrite")

    assert (result["rows_written"], result["rows_deleted"]) == (0, 1)


def test_columns_are_mapped_and_the_rest_has_its_defaults(places: Places) -> None:
    places.postgres("CREATE TABLE t (id int, label text, made int DEFAULT 7)")
    source = {"type": "rows", "rows": [{"number": 1, "name": "a", "more": True}]}

    places.move(source, places.in_postgres, mapping={"id": "number", "LABEL": "Name"})

    assert places.postgres("TABLE t") == [(1, "a", 7)]


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        ({}, "has no column 'b'; it has a, d"),
        ({"a": "x"}, "the source has no column 'x'; it has a, b"),
        ({"x": "a"}, "has no column 'x'; it has a, d"),
        ({"a": "a", "A": "b"}, "two columns go to a"),
        ({'a") FROM x; --': "a"}, "has no column 'a\") FROM x; --'"),
    ],
)
@pytest.mark.parametrize("target", ["postgres", "duckdb"])
def test_columns_that_do_not_fit_are_named(
    places: Places, mapping: dict[str, str], said: str, target: str
) -> None:
    make = "CREATE TABLE t (a int, d int)"
    places.postgres(make) if target == "postgres" else places.duckdb(make)
    end = places.in_postgres if target == "postgres" else places.in_duckdb

    failed = places.refusal({"type": "rows", "rows": [{"a": 1, "b": 2}]}, end, mapping=mapping)

    assert failed.code == "no-column"
    assert said in failed.message


@pytest.mark.parametrize("name", ["nope", "t; DROP TABLE t", 't" CASCADE; --', "a.b.t", ""])
def test_a_table_that_is_not_there_is_named(places: Places, name: str) -> None:
    places.postgres("CREATE TABLE t (a int)")
    places.duckdb("CREATE TABLE t (a INT)")
    rows = {"type": "rows", "rows": [{"a": 1}]}

    for end in (places.in_postgres, places.in_duckdb):
        assert places.refusal(rows, {**end, "table": name}).code == "no-table"
    assert (
        places.refusal({**places.in_postgres, "table": name}, places.in_duckdb).code == "no-table"
    )
    assert places.refusal({**places.in_duckdb, "table": name}, places.in_postgres)
    assert places.postgres("TABLE t") == []


def query(text: str, *values: object) -> dict[str, Any]:
    """A query as it arrives: cut by the compiler, its values rendered."""
    settings = {
        "source": {"type": "postgres", "sql": text},
        "target": {"type": "file", "path": "x"},
    }
    made: Any = TransferSettings.model_validate(settings).source
    assert len(made.sql["values"]) == len(values)
    return {**made.sql, "values": list(values)}


HOSTILE = ["x'; DROP TABLE t; --", "\\'; DROP TABLE t; --", "%s", "$1", "'", "a\\"]


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize("kind", ["postgres", "duckdb"])
def test_values_of_a_query_are_bound(places: Places, kind: str, value: str) -> None:
    places.postgres("CREATE TABLE t (v text, n int)")
    places.duckdb("CREATE TABLE t (v VARCHAR, n INT)")
    end = places.in_postgres if kind == "postgres" else places.in_duckdb
    own = {key: one for key, one in end.items() if key != "table"}
    sql = query(
        "SELECT {{ v }}::text AS v, {{ n }} AS n WHERE '{{ v }}' <> '' -- end", value, 3, value
    )

    places.move({**own, "sql": sql}, places.in_postgres)

    assert places.postgres("TABLE t") == [(value, 3)]


def test_a_query_takes_parameters(places: Places) -> None:
    places.postgres("CREATE TABLE t (a int)")
    source = {"type": "postgres", "dsn": places.dsn, "params": {"few": [1, 2], "n": None}}
    sql = "SELECT n AS a FROM generate_series(1, 9) AS n WHERE n = ANY(:few) AND :n::int IS NULL;"

    places.move({**source, "sql": sql}, places.in_postgres)

    assert places.postgres("TABLE t") == [(1,), (2,)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 AS a) TO PROGRAM 'touch /tmp/hurt' --",
        "SELECT 1 AS a; DROP TABLE t",
        "DELETE FROM t RETURNING a",
        "WITH x AS (DELETE FROM t RETURNING a) SELECT * FROM x",
    ],
)
def test_a_query_only_reads(places: Places, sql: str) -> None:
    places.postgres("CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
    places.duckdb("CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")

    for end in (places.in_postgres, places.in_duckdb):
        own = {key: one for key, one in end.items() if key != "table"}
        assert places.refusal({**own, "sql": sql}, places.in_postgres)
    assert places.postgres("SELECT count(*) FROM t") == [(1,)]
    assert places.duckdb("SELECT count(*) FROM t") == [(1,)]


def test_a_query_of_duckdb_reaches_no_file_but_its_own(places: Places) -> None:
    places.duckdb("CREATE TABLE t (a INT)")
    places.postgres("CREATE TABLE t (content text)")
    own = {"type": "duckdb", "database": places.file}

    for sql in ("SELECT content FROM read_text('/etc/hostname')", "FROM read_csv('/dev/fd/0')"):
        assert places.refusal({**own, "sql": sql}, places.in_postgres).code == "duckdb-permission"


def test_a_value_that_does_not_fit_is_refused_with_its_place(places: Places) -> None:
    places.postgres("CREATE TABLE t (a text); INSERT INTO t VALUES ('1'), ('2'), ('x3')")
    places.duckdb("CREATE TABLE t (a INT)")
    places.postgres("CREATE TABLE u (a int)")

    down = places.refusal(places.in_postgres, places.in_duckdb)
    straight = places.refusal(places.in_postgres, {**places.in_postgres, "table": "u"})

    assert 'line 3 of what the source sent, column a: Could not convert string "x3"' in down.message
    assert (
        'invalid input syntax for type integer: "x3" (COPY u, line 3, column a)' in straight.message
    )
    assert (
        places.duckdb("SELECT count(*) FROM t")
        == places.postgres("SELECT count(*) FROM u")
        == [(0,)]
    )


def test_a_text_with_a_nul_is_refused_with_its_place(places: Places) -> None:
    places.duckdb("CREATE TABLE t AS SELECT 'a' || chr(0) AS v UNION ALL SELECT 'b'")
    places.postgres("CREATE TABLE t (v text)")

    failed = places.refusal(places.in_duckdb, places.in_postgres)

    assert "0x00" in failed.message
    assert "COPY t, line 1" in failed.message
    assert places.postgres("TABLE t") == []


def test_what_the_target_refuses_leaves_nothing_behind(places: Places) -> None:
    places.postgres(f"CREATE TABLE t AS {rows_sql(30_000)}")
    places.postgres("CREATE TABLE u (id int CHECK (id < 20000), name text)")
    places.duckdb(
        "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR); INSERT INTO t VALUES (20000, '')"
    )

    up = places.refusal(places.in_postgres, {**places.in_postgres, "table": "u"}, mode="overwrite")
    down = places.refusal(places.in_postgres, places.in_duckdb)

    assert up.code == "postgres-23514"
    assert down.code == "duckdb-constraint"
    assert places.postgres("SELECT count(*) FROM u") == [(0,)]
    assert places.duckdb("SELECT count(*) FROM t") == [(1,)]


def test_a_source_that_fails_on_the_way_leaves_nothing_behind(places: Places) -> None:
    places.postgres("CREATE TABLE t (a int)")
    places.duckdb("CREATE TABLE t (a INT)")
    sql = "SELECT 10 / (30000 - n) AS a FROM generate_series(1, 30000) AS n"
    source = {"type": "postgres", "dsn": places.dsn, "sql": sql}

    for end in (places.in_postgres, places.in_duckdb):
        failed = places.refusal(source, end)
        assert failed.code == "postgres-22012"
        assert "the source refused" in failed.message
    assert places.postgres("TABLE t") == places.duckdb("FROM t") == []


def test_what_takes_too_long_is_ended_and_leaves_nothing_behind(places: Places) -> None:
    places.postgres("CREATE TABLE t (a int)")
    places.duckdb("CREATE TABLE t (a INT)")
    slow = {"type": "postgres", "dsn": places.dsn}
    slow["sql"] = "SELECT 1 AS a FROM generate_series(1, 5) WHERE pg_sleep(10) IS NOT NULL"
    busy = {"type": "duckdb", "database": places.file}
    both = "range(100000) AS a, range(100000) AS b"
    busy["sql"] = f"SELECT 1 AS a FROM {both} WHERE hash(a.range, b.range) = 1"

    for source in (slow, busy):
        for end in (places.in_postgres, places.in_duckdb):
            assert places.refusal(source, end, timeout=0.7).code == "timeout"
    assert places.postgres("TABLE t") == places.duckdb("FROM t") == []
    active = "SELECT count(*) FROM pg_stat_activity WHERE state <> 'idle' AND query LIKE 'COPY%'"
    assert places.postgres(
        f"{active} AND datname = current_database() AND pg_sleep(1) IS NULL"
    ) == [(0,)]


def test_a_server_that_cannot_be_reached_is_told_of(places: Places) -> None:
    nobody = {"type": "postgres", "dsn": "host=127.0.0.1 port=1 password=hunter2", "table": "t"}

    failed = places.refusal(nobody, places.in_duckdb)

    assert failed.code == "not-sent"
    assert "the source cannot be reached" in failed.message
    assert "hunter2" not in failed.message


def test_a_worker_that_may_have_lost_its_lease_sends_nothing(places: Places) -> None:
    places.postgres("CREATE TABLE t (a int)")

    with pytest.raises(HandedBack):
        places.move(
            {"type": "rows", "rows": [{"a": 1}]}, places.in_postgres, around=Around(holds=False)
        )

    assert places.postgres("TABLE t") == []


@pytest.mark.parametrize("kind", ["csv", "tsv", "json", "jsonl", "parquet"])
def test_rows_go_through_files(places: Places, kind: str) -> None:
    places.postgres(f"CREATE TABLE t AS {rows_sql(3000)}; CREATE TABLE u (LIKE t)")
    file = {"type": "file", "path": f"a.{kind}"}

    places.move(places.in_postgres, file)
    places.move(file, {**places.in_postgres, "table": "u"})
    added = places.move(places.in_postgres, file)
    places.move(file, file, mode="overwrite")

    assert added["rows_written"] == 3000
    assert places.postgres("TABLE t EXCEPT TABLE u") == []
    assert duckdb.execute(
        f"SELECT count(*), max(id) FROM '{places.folder}/a.{kind}'"
    ).fetchall() == [(6000, 3000)]
    assert [one.name for one in places.folder.iterdir()] == [f"a.{kind}"]


@pytest.mark.parametrize(
    ("name", "text", "columns", "count"),
    [
        ("a.csv", "a,b\n#1,2\n3,4\n", ["a", "b"], 2),
        ("a.csv", "a;b\n#1;2\n3;4\n", ["a", "b"], 2),
        ("a.csv", "2024,2025\n1,2\n", ["2024", "2025"], 1),
        ("a.csv", 'a\n"x, y"\nz\n', ["a"], 2),
        ("a.tsv", "a\tb\n1\t#2\n#3\t4\n", ["a", "b"], 2),
    ],
)
def test_no_line_of_a_file_is_taken_for_something_else(
    places: Places, name: str, text: str, columns: list[str], count: int
) -> None:
    """Not for a comment, and not for a second header; the first line holds the names."""
    (places.folder / name).write_text(text)

    moved = places.move({"type": "file", "path": name}, {"type": "file", "path": "b.jsonl"})

    assert (moved["columns"], moved["rows_written"]) == (columns, count)


@pytest.mark.parametrize("text", ["a,b\n1,2\n3\n", "a,b\n1,2,3\n", 'a,b\n1,"2\n'])
def test_a_file_with_lines_of_other_lengths_is_refused_and_nothing_is_kept(
    places: Places, text: str
) -> None:
    (places.folder / "a.csv").write_text(text)

    failed = places.refusal({"type": "file", "path": "a.csv"}, {"type": "file", "path": "b.jsonl"})

    assert failed.code == "duckdb-invalid-input"
    assert not (places.folder / "b.jsonl").exists()


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_file_is_written_row_by_row_in_the_order_of_the_source(places: Places, kind: str) -> None:
    """Its text is ten times the memory that DuckDB is given."""
    sql = "SELECT n, repeat('x', 2000) AS v FROM generate_series(1, 160000) AS n"
    source = {"type": "postgres", "dsn": places.dsn, "sql": sql}

    places.move(
        source, {"type": "file", "path": f"a.{kind}"}, memory_mb=32 if kind == "csv" else 64
    )

    with (places.folder / f"a.{kind}").open() as file:
        found = [re.search(r"\d+", line) for line in file]
    numbers = [int(one[0]) for one in found if one]
    assert numbers == list(range(1, 160_001))


def test_a_file_that_is_not_there_is_named(places: Places) -> None:
    places.postgres("CREATE TABLE t (a int)")

    for kind in ("csv", "json", "parquet"):
        source = {"type": "file", "path": f"none.{kind}"}
        assert places.refusal(source, places.in_postgres).code == "no-such-file"


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ({"type": "file", "path": "../x.csv"}, "outside-folders"),
        ({"type": "file", "path": "x.xlsx"}, "wrong-format"),
        ({"type": "duckdb", "database": "/etc/x.duckdb", "table": "t"}, "outside-folders"),
        ({"type": "duckdb", "database": "none.duckdb", "table": "t"}, "no-such-file"),
        ({"type": "duckdb", "table": "t"}, "no-database"),
        ({"type": "postgres", "table": "t"}, "no-credential"),
    ],
)
def test_ends_that_cannot_be_used_are_refused(
    places: Places, end: dict[str, Any], code: str
) -> None:
    assert places.refusal({"type": "rows", "rows": [{"a": 1}]}, end).code == code
    assert list(places.folder.iterdir()) == []


def test_an_upsert_needs_a_key_that_the_target_knows(places: Places) -> None:
    places.postgres("CREATE TABLE t (a int)")
    rows = {"type": "rows", "rows": [{"a": 1}]}

    assert places.refusal(rows, places.in_postgres, mode="upsert").code == "no-key"
    assert places.refusal(rows, places.in_postgres, mode="upsert", key=["b"]).code == "no-column"
    unique = places.refusal(rows, places.in_postgres, mode="upsert", key=["a"])
    assert "an upsert needs a unique index" in unique.message


PAGE = b'{"data": {"items": [{"id": 1, "v": {"a": 1}}, {"id": 2, "v": null}]}}'


def fetched(places: Places, body: bytes, headers: str = "", **source: Any) -> Any:
    """Carry what a server answers into the Postgres."""

    async def main() -> Any:
        async with serving(answering(answer(body, headers=headers))) as server:
            given = {"type": "http", "url": server.url + "/rows", **source}
            return await places._move(given, places.in_postgres)

    return asyncio.run(main())


def test_rows_come_from_a_server_that_answers_with_json(places: Places) -> None:
    places.postgres("CREATE TABLE t (id int, v jsonb)")

    fetched(places, PAGE, at="/data/items")
    fetched(places, b'[{"id": 3}]')
    fetched(places, b'{"id": 4, "v": 0}\n{"id": 5, "v": 1}\n')

    assert places.postgres("TABLE t") == [(1, {"a": 1}), (2, None), (3, None), (4, 0), (5, 1)]


def test_rows_come_from_a_server_that_answers_with_csv_or_parquet(places: Places) -> None:
    places.postgres("CREATE TABLE t (id int, v text)")
    parquet = places.folder / "a.parquet"
    duckdb.execute(f"COPY (SELECT 2 AS id, 'b' AS v) TO '{parquet}' (FORMAT parquet)")

    fetched(places, b"id,v\n1,a\n", "Content-Type: text/csv")
    fetched(places, parquet.read_bytes(), "Content-Type: application/octet-stream")

    assert places.postgres("TABLE t") == [(1, "a"), (2, "b")]


@pytest.mark.parametrize(
    ("body", "source", "code"),
    [
        (PAGE, {"at": "/nope"}, "no-rows"),
        (PAGE, {"at": "/data"}, "no-table"),
        (b"{", {"at": "/data"}, "not-json"),
        (PAGE, {"max_bytes": 10}, "too-large"),
    ],
)
def test_an_answer_without_rows_is_refused(
    places: Places, body: bytes, source: dict[str, Any], code: str
) -> None:
    places.postgres("CREATE TABLE t (id int, v jsonb)")

    with pytest.raises(Failed) as caught:
        fetched(places, body, **source)

    assert caught.value.code == code


def test_a_server_that_gives_no_answer_leaves_nothing_in_doubt(places: Places) -> None:
    places.postgres("CREATE TABLE t (id int)")
    nobody = {"type": "http", "url": "http://127.0.0.1:1/"}

    assert places.refusal(nobody, places.in_postgres)


def test_credentials_are_named_for_each_end(places: Places) -> None:
    places.postgres("CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
    places.duckdb("CREATE TABLE t (a INT)")
    auth = {"mine": {"type": "postgres", "dsn": places.dsn}}
    named = {"type": "postgres", "table": "t", "auth": "mine"}
    strange = {"type": "postgres", "table": "t", "auth": "other"}

    places.move(named, places.in_duckdb, auth=auth)
    places.move({"type": "postgres", "table": "t"}, places.in_duckdb, auth={"source": auth["mine"]})

    assert places.duckdb("FROM t") == [(1,), (1,)]
    assert places.refusal(strange, places.in_duckdb, auth=auth).code == "no-credential"
