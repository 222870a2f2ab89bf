import asyncio
import base64
import gc
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from noetl_mcp.playbook.rendering.secret import MASK, Secret
from noetl_mcp.tasks.calls import Failed, HandedBack
from noetl_mcp.tasks.duckdb import Duckdb
from noetl_mcp.tasks.specs_data import DuckdbSettings
from tests.tasks.calling import Around, call


def run(sql: str | list[str], *, folder: Path | None = None, **more: Any) -> Any:
    """Carry out one step and return its result."""
    keys = set(DuckdbSettings.model_fields) & set(more)
    settings = DuckdbSettings(sql=sql, **{key: more.pop(key) for key in keys})
    task = Duckdb(folders=[folder] if folder else [], readable=more.pop("readable", ()))

    async def execute() -> Any:
        try:
            return await task.execute(call("duckdb", settings, **more))
        finally:
            await task.close()

    return asyncio.run(execute())


def refusal(sql: str | list[str], **more: Any) -> Failed:
    with pytest.raises(Failed) as caught:
        run(sql, **more)
    return caught.value


def run_encoded(sql: str, *, folder: Path) -> Any:
    """Carry out SQL in which nothing is rendered."""
    task = Duckdb(folders=[folder])
    settings = DuckdbSettings(sql_b64=[base64.b64encode(sql.encode()).decode()])

    async def execute() -> Any:
        try:
            return await task.execute(call("duckdb", settings))
        finally:
            await task.close()

    return asyncio.run(execute())


def asked(path: Path, sql: str) -> list[Any]:
    with duckdb.connect(str(path)) as connection:
        return connection.execute(sql).fetchall()


def test_a_query_gives_rows_their_count_and_the_columns() -> None:
    assert run("SELECT x, x * 2 AS twice FROM range(2) AS t(x)") == {
        "rows": [{"x": 0, "twice": 0}, {"x": 1, "twice": 2}],
        "row_count": 2,
        "columns": ["x", "twice"],
    }


def test_several_statements_give_each_its_answer() -> None:
    result = run("CREATE TABLE t (a INT); INSERT INTO t VALUES (1), (2); FROM t; DELETE FROM t")

    assert result["rows"] == [{"a": 1}, {"a": 2}]
    assert [result[f"command_{n}"]["row_count"] for n in range(4)] == [0, 2, 2, 2]
    assert result["command_1"]["columns"] == []


def test_what_a_change_gives_back_are_rows() -> None:
    sql = "CREATE TABLE t (a INT, j JSON); INSERT INTO t VALUES (1, '[2]') RETURNING a, j"

    assert run(sql)["rows"] == [{"a": 1, "j": [2]}]


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("1::HUGEINT", 1),
        ("170141183460469231731687303715884105727::HUGEINT", str(2**127 - 1)),
        ("1.50::DECIMAL(10,2)", 1.5),
        ("0.12345678901234567890::DECIMAL(38,20)", "0.12345678901234567890"),
        ("'NaN'::DOUBLE", "NaN"),
        ("'-inf'::DOUBLE", "-Infinity"),
        ("true", True),
        ("NULL", None),
        ("'a'::BLOB", "YQ=="),
        ("'a'::ENUM ('a', 'b')", "a"),
        ("uuid '6ba7b810-9dad-11d1-80b4-00c04fd430c8'", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"),
        ("date '2024-02-29'", "2024-02-29"),
        ("'infinity'::DATE", "infinity"),
        ("timestamp '2024-02-29 10:00:00.5'", "2024-02-29T10:00:00.5"),
        ("timestamp_ns '2024-01-01 00:00:00.123456789'", "2024-01-01T00:00:00.123456789"),
        ("timestamptz '2024-01-01 00:00:00+00' AT TIME ZONE 'UTC'", "2024-01-01T00:00:00"),
        ("time '10:00'", "10:00:00"),
        ("interval '14 months'", "1 year 2 months"),
        ("[1, NULL]", [1, None]),
        ("[1, 2]::INT[2]", [1, 2]),
        ("[[date '2024-01-01']]", [["2024-01-01"]]),
        (
            "{'a b': timestamp '2024-01-01 00:00:00', c: NULL}",
            {"a b": "2024-01-01T00:00:00", "c": None},
        ),
        ("MAP {'x': date '2024-01-01'}", {"x": "2024-01-01"}),
        ("MAP {1: 2}", {"1": 2}),
        ("'{\"a\": [1, 1.5]}'::JSON", {"a": [1, 1.5]}),
        ("['1'::JSON]", [1]),
        ("row(1, 'a')", [1, "a"]),
        ("union_value(k := 1)", 1),
        ("5::BIGNUM", "5"),
        ("'101'::BIT", "101"),
    ],
)
def test_what_duckdb_holds_has_one_form_in_json(sql: str, value: object) -> None:
    (row,) = run(f"SELECT {sql} AS value")["rows"]

    assert row == {"value": value}
    assert type(row["value"]) is type(value)


def test_moments_with_a_zone_say_it() -> None:
    (row,) = run("SELECT timestamptz '2024-01-01 00:00:00+00' AS at_")["rows"]

    assert row["at_"].startswith(("2024-01-01T", "2023-12-31T"))
    assert row["at_"][-6] in "+-"


@pytest.mark.parametrize(
    ("sql", "value", "row"),
    [
        ("SELECT {{ v }} AS v", "o'x; --", "o'x; --"),
        ("SELECT {{ v }} + 1 AS v", 41, 42),
        ("SELECT {{ v }} IS NULL AS v", None, True),
        ("SELECT {{ v }} AS v", [1, None], [1, None]),
        ("SELECT ({{ v }}).a[1] AS v", {"a": ["x"]}, "x"),
        ("SELECT {{ v }} AS v", {"key": ["a"], "value": [1]}, {"key": ["a"], "value": [1]}),
        ("SELECT {{ v }} AS v", [1, "a", {"b": None}], [1, "a", {"b": None}]),
        (
            "SELECT {{ v }} AS v",
            [{"a": 1}, {"b": "x"}],
            [{"a": 1, "b": None}, {"a": None, "b": "x"}],
        ),
        ("SELECT {{ v }} AS v", {}, {}),
        ("SELECT 'axb' LIKE '%{{ v }}%' AS v", "x", True),
        ("SELECT date '2024-01-02' > '{{ v }}' AS v", "2024-01-01", True),
        ("SELECT (date '2024-01-01' + INTERVAL '{{ v }} days')::DATE AS v", 1, "2024-01-02"),
        ("SELECT (date '2024-01-01' + INTERVAL {{ v }} DAY)::DATE AS v", 1, "2024-01-02"),
        ("SELECT 2 IN ({{ v }}) AS v", [1, 2], True),
        ("SELECT 2 NOT IN ({{ v }}) AS v", [], True),
        ("SELECT 5 % {{ v }} AS v", 3, 2),
        ("SELECT count(*) AS v FROM range(10) LIMIT {{ v }}", 1, 10),
        ('SELECT "{{ v }}" FROM (SELECT 1 AS name)', "name", 1),
    ],
)
def test_a_value_arrives_as_what_it_is(sql: str, value: object, row: object) -> None:
    (found,) = run(sql, names={"v": value})["rows"]

    assert list(found.values()) == [row]


def test_params_stand_beside_templates() -> None:
    sql = "SELECT {{ a }} AS a, :b AS b, {'k': 1}.k AS c"

    assert run(sql, names={"a": 1}, params={"b": "x"})["rows"] == [{"a": 1, "b": "x", "c": 1}]


def test_more_rows_than_allowed_are_a_failure() -> None:
    for sql in ("FROM range(1_000_000_000_000)", "PRAGMA show_tables", "SHOW ALL TABLES"):
        setup = "CREATE TABLE a (x INT); CREATE TABLE b (x INT); "
        assert refusal(setup + sql, max_rows=1).code == "too-many-rows"
    assert run("FROM range(3)", max_rows=3)["row_count"] == 3


@pytest.mark.parametrize(
    "value", ["repeat('x', 1001)", "[repeat('x', 1001)]", "{'a': repeat('x', 1001)}"]
)
def test_rows_that_are_longer_than_allowed_are_a_failure(value: str) -> None:
    assert refusal(f"SELECT {value} AS a", max_bytes=1000).code == "too-large"
    assert run("SELECT repeat('x', 1000) AS a", max_bytes=1000)["row_count"] == 1


def test_rows_are_lists_where_that_is_asked_for() -> None:
    assert run("SELECT 1 AS a, 2 AS a", rows_as="lists")["rows"] == [[1, 2]]
    assert refusal("SELECT 1 AS a, 2 AS a").code == "same-column-twice"


def test_rows_of_other_steps_are_tables() -> None:
    rows = [
        {"id": 1, "name": "a'b", "tags": ["x"], "size": {"m2": 1}, "mixed": 1, "day": "2024-01-01"},
        {
            "id": -2,
            "name": None,
            "tags": [],
            "size": {"m2": 2.5, "h": 3},
            "mixed": "x",
            "none": None,
        },
    ]
    sql = (
        "SELECT id, name, tags, size.m2 AS m2, size.h AS h, mixed, day, none FROM rooms ORDER BY id"
    )

    result = run(sql, tables={"rooms": rows})

    assert result["rows"] == [
        {
            "id": -2,
            "name": None,
            "tags": [],
            "m2": 2.5,
            "h": 3,
            "mixed": "x",
            "day": None,
            "none": None,
        },
        {
            "id": 1,
            "name": "a'b",
            "tags": ["x"],
            "m2": 1,
            "h": None,
            "mixed": 1,
            "day": "2024-01-01",
            "none": None,
        },
    ]


@pytest.mark.parametrize("rows", [[], [{}], [1], {"a": 1}, 5, "rooms.doc"])
def test_what_is_no_table_is_refused(rows: object, tmp_path: Path) -> None:
    assert refusal("SELECT 1", tables={"t": rows}, folder=tmp_path).code == "no-table"


def test_data_files_are_tables(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,name\n1,x\n")
    (tmp_path / "b.json").write_text('[{"id": 1, "m2": 2.5}]')
    (tmp_path / "c.jsonl").write_text('{"id": 1, "h": 3}\n')
    tables = {"a": "a.csv", "b": str(tmp_path / "b.json"), "c": "c.jsonl"}

    result = run("FROM a JOIN b USING (id) JOIN c USING (id)", tables=tables, folder=tmp_path)

    assert result["rows"] == [{"id": 1, "name": "x", "m2": 2.5, "h": 3}]


def test_a_table_has_every_line_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("a\tb\n1\t#2\n#3\t4\n")

    result = run("FROM a", tables={"a": "a.tsv"}, folder=tmp_path)

    assert result["rows"] == [{"a": "1", "b": "#2"}, {"a": "#3", "b": "4"}]


def test_sql_may_read_files_of_allowed_folders_only(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "kb.json").write_text(json.dumps([{"id": 1, "topic": "walls"}]))
    (inside / "link.json").symlink_to(outside / "kb.json")
    sql = "SELECT id FROM read_json('{path}') WHERE topic = {{{{ topic }}}}"

    def ids(path: str, **more: Any) -> Any:
        return run(sql.format(path=path), names={"topic": "walls"}, **more)["rows"]

    assert ids(f"{inside}/kb.json", folder=inside) == [{"id": 1}]
    assert ids(f"{inside}/kb.json", readable=[inside]) == [{"id": 1}]
    for path in (f"{outside}/kb.json", f"{inside}/../out/kb.json", f"{inside}/link.json"):
        with pytest.raises(Failed, match="disabled by configuration"):
            ids(path, folder=inside)
    with pytest.raises(Failed, match="disabled by configuration"):
        ids(f"{inside}/kb.json")


OUTSIDE = [
    "COPY (SELECT 1) TO '{path}'",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{path}'",
    "EXPORT DATABASE '{path}'",
    "ATTACH '{path}' AS other",
    "PREPARE p AS COPY (SELECT 1) TO '{path}'; EXECUTE p",
    "IMPORT DATABASE '{path}'",
    "PRAGMA import_database('{path}')",
]


@pytest.mark.parametrize("sql", OUTSIDE)
def test_a_step_that_does_not_write_leaves_no_file(tmp_path: Path, sql: str) -> None:
    failed = refusal(sql.format(path=tmp_path / "out"), folder=tmp_path)

    assert "writes: true" in failed.message
    assert list(tmp_path.iterdir()) == []


COPY = "COPY (SELECT 1) TO '{path}'"
SERIALIZED = "json_serialize_sql('WITH x AS (COPY (SELECT 1) TO ''{path}'') FROM x')"
HIDDEN = (
    "'FROM json_exec' || 'ute_serialized_sql(json_serialize_sql("
    "''WITH x AS (CO'' || ''PY (SELECT 1) TO {path}) FROM x''))'"
)
NOT_FOR_READERS = [
    f"WITH x AS ({COPY}) FROM x",
    f"wItH x As materialized (\n--\n{COPY} (FORMAT parquet)) TABLE x",
    f"WITH x AS (SELECT 1), y AS ({COPY}) SELECT 1",
    f"CREATE TABLE t AS WITH x AS ({COPY}) FROM x",
    f"CREATE TYPE e AS ENUM (WITH x AS ({COPY}) SELECT Count::VARCHAR FROM x)",
    f"CREATE TABLE t (a BIGINT); WITH x AS ({COPY}) INSERT INTO t FROM x",
    f"CREATE TABLE t (a BIGINT); WITH x AS ({COPY}) DELETE FROM t WHERE a IN (SELECT Count FROM x)",
    f"WITH x AS ({COPY}) PIVOT x ON Count",
    f"EXPLAIN (FORMAT json, ANALYZE off) {COPY}",
    f'EXPLAIN ("analyze") {COPY}',
    f"/* */ EXPLAIN ANALYZE {COPY}",
    f"EXPLAIN ANALYZE WITH x AS ({COPY}) FROM x",
    f"EXPLAIN ANALYZE PREPARE p AS {COPY}",
    f"EXPLAIN ANALYZE CREATE TABLE t AS WITH x AS ({COPY}) FROM x",
    'EXPLAIN ANALYZE COPY (SELECT 1 AS "{{{{") TO \'{path}\' --"}}}}") TO STDOUT',
    f"FROM json_execute_serialized_sql({SERIALIZED})",
    f'FROM "JSON_execute_serialized_sql" ({SERIALIZED})',
    f"CALL json_execute_serialized_sql({SERIALIZED})",
    f"PRAGMA json_execute_serialized_sql({SERIALIZED})",
    f'PRAGMA "json_execute_serialized_sql"({SERIALIZED})',
    f"EXPLAIN ANALYZE FROM json_execute_serialized_sql({SERIALIZED})",
    f"SET VARIABLE v = (FROM json_execute_serialized_sql({SERIALIZED}))",
    f"CREATE VIEW v AS FROM json_execute_serialized_sql({SERIALIZED}); FROM v",
    f"PIVOT (FROM json_execute_serialized_sql({SERIALIZED})) ON Count",
    f"FROM query({HIDDEN})",
    f'CREATE MACRO m(a) AS TABLE FROM "query"/**/(a); FROM m({HIDDEN})',
    f"CREATE TEMP MACRO m(a) AS TABLE FROM query(a); PIVOT m({HIDDEN}) ON Count",
    f"FROM query(CASE WHEN random() < 0.5 THEN 'SELECT 1' ELSE {HIDDEN} END)",
    f"FROM query -- (\n ({HIDDEN})",
    f"FROM json_execute_serialized_sql/* /* */ */({SERIALIZED})",
    f"CREATE MACRO m(a) AS TABLE FROM query(a); EXPLAIN ANALYZE FROM m({HIDDEN})",
]


@pytest.mark.parametrize("sql", NOT_FOR_READERS)
def test_no_step_that_reads_writes_a_file_by_any_detour(tmp_path: Path, sql: str) -> None:
    with pytest.raises(Failed):
        run_encoded(sql.format(path=tmp_path / "out"), folder=tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_what_a_database_file_keeps_gives_no_reader_a_way_to_write(tmp_path: Path) -> None:
    asked(
        tmp_path / "kept.duckdb",
        "CREATE MACRO m(a) AS TABLE FROM query(a); CREATE MACRO n(a) AS TABLE FROM m(a);"
        f"CREATE VIEW v AS FROM json_execute_serialized_sql({SERIALIZED})".format(
            path=tmp_path / "out"
        ),
    )
    asked(tmp_path / "around.duckdb", "SELECT 1")
    hidden = HIDDEN.format(path=tmp_path / "out")
    calls = (f'FROM "N"({hidden})', f"FROM m({hidden})", f"EXPLAIN ANALYZE FROM m({hidden})")
    for sql in ("FROM v", *calls):
        refusal(sql, database="kept.duckdb", folder=tmp_path)
    for sql in ("FROM other.v", f"FROM other.m({hidden})", "PIVOT other.v ON Count"):
        refusal(sql, attach={"other": {"path": "kept.duckdb"}}, folder=tmp_path)

    assert not (tmp_path / "out").exists()
    for sql in ("SELECT 1 AS copy", "USE other; FROM t"):
        asked(tmp_path / "plain.duckdb", "CREATE OR REPLACE TABLE t AS SELECT 1 AS a")
        found = run(sql, attach={"other": {"path": "plain.duckdb"}}, folder=tmp_path)
        assert found["row_count"] == 1


@pytest.mark.parametrize(
    "sql",
    [
        "WITH copy AS (SELECT 1 AS copy) SELECT copy.copy, 'COPY' AS a FROM copy -- COPY",
        "SELECT {{ a }} AS copy",
        "SELECT 1 AS executed_at, 2 AS query, 3 AS imported",
        "EXPLAIN SELECT 1 AS a",
        "EXPLAIN ANALYZE FROM range(3)",
        "EXPLAIN (FORMAT json) WITH x AS (SELECT 1) FROM x",
        "EXPLAIN (SELECT 1)",
        "-- why\nEXPLAIN /* how */ ANALYZE SELECT 1",
        "CREATE TEMP TABLE t AS FROM range(3) r(a); INSERT INTO t VALUES (9); SELECT sum(a) FROM t",
        "CREATE TABLE t (a INT); UPDATE t SET a = 1; DELETE FROM t RETURNING a; SELECT 1",
        "CREATE TEMP MACRO twice(x) AS 2 * x; SELECT twice(2) AS a",
        "CREATE VIEW v AS SELECT 1 AS a; FROM v",
        "SET VARIABLE a = (SELECT 7); SELECT getvariable('a') AS a",
        "SUMMARIZE SELECT 1 AS a",
        "DESCRIBE SELECT 1 AS a",
        "FROM (VALUES (1, 2), (1, 3)) t(a, b) SELECT a, sum(b) AS b GROUP BY a",
        "PIVOT (SELECT 'x' AS a, 2 AS b) ON a USING sum(b)",
        "UNPIVOT (SELECT 1 AS x, 2 AS y) ON x, y",
        "CALL pragma_version()",
        "PRAGMA version",
        "SHOW TABLES; SELECT 1",
        "VALUES (1)",
        "CREATE TABLE t (a INT); COMMENT ON TABLE t IS 'x'; ALTER TABLE t ADD b INT; SELECT 1",
    ],
)
def test_what_only_reads_goes_through(tmp_path: Path, sql: str) -> None:
    assert run(sql, folder=tmp_path, names={"a": 1})["rows"] is not None


def test_a_data_file_is_read_by_its_columns_whatever_they_are_called(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("copy,query\n1,2\n")

    result = run(f"SELECT copy, query FROM '{tmp_path}/a.csv'", folder=tmp_path)

    assert result["rows"] == [{"copy": 1, "query": 2}]


@pytest.mark.parametrize("writes", [True, False])
@pytest.mark.parametrize("inner", ["LOAD json", "PREPARE p AS SELECT 1", "VACUUM", "CHECKPOINT"])
def test_explain_carries_out_nothing_that_the_step_decides(inner: str, writes: bool) -> None:
    assert "EXPLAIN" in refusal(f"EXPLAIN ANALYZE {inner}", writes=writes).message


@pytest.mark.parametrize(
    "sql",
    [
        *OUTSIDE,
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "RESET enable_external_access",
        "SET allowed_directories = ['/']",
        "COMMIT",
        "FROM secret_of_the_test",
        "FROM 'http://127.0.0.1:1/a.csv'",
        "FROM glob('/etc/*')",
        "CREATE PERSISTENT SECRET s (TYPE http)",
    ],
)
def test_nothing_reaches_outside_of_the_folders(tmp_path: Path, sql: str) -> None:
    secret_of_the_test = [1]
    (tmp_path / "in").mkdir()

    refusal(sql.format(path=tmp_path / "out"), folder=tmp_path / "in", writes=True)

    assert [one.name for one in tmp_path.iterdir()] == ["in"]
    assert secret_of_the_test == [1]


@pytest.mark.parametrize("writes", [True, False])
def test_a_statement_that_the_driver_has_no_name_for_is_refused(writes: bool) -> None:
    failed = refusal("UPDATE EXTENSIONS", writes=writes)

    assert failed.message == "statement 1 is UPDATE EXTENSIONS, which no step can do"


def test_a_writing_step_may_write_into_its_folders(tmp_path: Path) -> None:
    sql = f"COPY (SELECT 1 AS a) TO '{tmp_path}/a.csv'; FROM '{tmp_path}/a.csv'"

    result = run(sql, folder=tmp_path, writes=True)

    assert result["rows"] == [{"a": 1}]
    assert result["command_0"]["row_count"] == 1


def test_a_database_file_keeps_what_a_writing_step_puts_into_it(tmp_path: Path) -> None:
    sql = "CREATE TABLE t (a INT); INSERT INTO t VALUES ({{ a }})"

    run(sql, database="f/kept.duckdb", folder=tmp_path, writes=True, names={"a": 7})

    assert run("FROM t", database="f/kept.duckdb", folder=tmp_path)["rows"] == [{"a": 7}]
    assert [one.name for one in (tmp_path / "f").iterdir()] == ["kept.duckdb"]


def test_a_database_file_is_read_only_otherwise(tmp_path: Path) -> None:
    asked(tmp_path / "kept.duckdb", "CREATE TABLE t (a INT)")

    failed = refusal("INSERT INTO t VALUES (1)", database="kept.duckdb", folder=tmp_path)

    assert "read-only" in failed.message
    assert asked(tmp_path / "kept.duckdb", "FROM t") == []


@pytest.mark.parametrize(
    "path", ["none.duckdb", "../x.duckdb", "link.duckdb", "https://x/y.duckdb"]
)
def test_a_database_is_a_file_that_is_there_and_allowed(tmp_path: Path, path: str) -> None:
    (tmp_path / "in").mkdir()
    asked(tmp_path / "x.duckdb", "CREATE TABLE t (a INT)")
    (tmp_path / "in" / "link.duckdb").symlink_to(tmp_path / "x.duckdb")

    failed = refusal("SELECT 1", database=path, folder=tmp_path / "in")

    assert failed.code in ("no-such-file", "outside-folders", "link")


def test_a_folder_that_may_only_be_read_takes_no_database(tmp_path: Path) -> None:
    asked(tmp_path / "x.duckdb", "CREATE TABLE t AS SELECT 1 AS a")
    path = str(tmp_path / "x.duckdb")

    assert run("FROM t", database=path, readable=[tmp_path])["rows"] == [{"a": 1}]
    assert refusal("SELECT 1", database=path, readable=[tmp_path], writes=True).code == (
        "outside-folders"
    )


def test_statements_stand_or_fall_together_unless_said_otherwise(tmp_path: Path) -> None:
    sql = "CREATE TABLE t (a INT); SELECT 'x'::INT"

    for transaction, left in ((True, []), (False, [("t",)])):
        failed = refusal(
            sql, database="a.duckdb", folder=tmp_path, writes=True, transaction=transaction
        )
        assert (failed.code, failed.retriable) == ("duckdb-conversion", False)
        assert failed.details == {"statement": 2}
        assert asked(tmp_path / "a.duckdb", "SHOW TABLES") == left


def test_further_databases_are_attached(tmp_path: Path) -> None:
    asked(tmp_path / "other.duckdb", "CREATE TABLE t AS SELECT 1 AS a")

    def attached(**more: Any) -> Any:
        return run("UPDATE o.t SET a = 2; FROM o.t", folder=tmp_path, **more)

    with pytest.raises(Failed, match="read-only"):
        attached(attach={"o": {"path": "other.duckdb"}})
    assert attached(attach={"o": {"path": "other.duckdb"}}, writes=True)["rows"] == [{"a": 2}]


@pytest.mark.parametrize("kind", ["postgres", "sqlite"])
def test_a_kind_of_database_whose_extension_is_missing_is_told_so(
    tmp_path: Path, kind: str
) -> None:
    (tmp_path / "x").write_text("")

    failed = refusal("SELECT 1", attach={"o": {"path": "x", "type": kind}}, folder=tmp_path)

    assert "xtension" in failed.message


def test_extensions_that_are_built_in_can_be_named_and_none_is_fetched() -> None:
    assert run("SELECT 1 AS a", extensions=["json", "icu"])["row_count"] == 1
    assert refusal("SELECT 1", extensions=["spatial"]).code == "duckdb-io"
    assert refusal("SELECT 1", extensions=["../x"]).code == "sql-refused"


def test_memory_and_threads_are_bounded() -> None:
    sql = "SELECT current_setting('threads') AS t, current_setting('memory_limit') AS m"

    assert run(sql, threads=1, memory_limit="100MB")["rows"] == [{"t": 1, "m": "95.3 MiB"}]
    assert refusal("SELECT 1", memory_limit="lots").code == "duckdb-parser"
    failed = refusal("SELECT list(x) FROM range(5_000_000) t(x)", memory_limit="10MB", threads=1)
    assert (failed.code, failed.retriable) == ("duckdb-out-of-memory", True)


def test_many_rows_given_back_by_a_change_leave_the_way_free_for_more() -> None:
    sql = "CREATE TABLE t (a INT); INSERT INTO t FROM range(9000) RETURNING a;"

    result = run(f"{sql} SELECT count(*) AS n FROM t")

    assert (result["command_1"]["row_count"], result["rows"]) == (9000, [{"n": 9000}])


def test_what_takes_too_long_is_interrupted(tmp_path: Path) -> None:
    sql = "CREATE TABLE t (a INT); SELECT count(*) FROM range(1_000_000_000_000)"

    failed = refusal(sql, database="a.duckdb", folder=tmp_path, writes=True, timeout=0.3)

    assert (failed.code, failed.retriable) == ("timeout", True)
    assert asked(tmp_path / "a.duckdb", "SHOW TABLES") == []


def test_a_cancelled_step_stops(tmp_path: Path) -> None:
    settings = DuckdbSettings(sql=["SELECT count(*) FROM range(1_000_000_000_000)"])

    async def cancel() -> BaseException:
        task = Duckdb()
        running = asyncio.create_task(task.execute(call("duckdb", settings)))
        await asyncio.sleep(0.1)
        running.cancel()
        ended = (await asyncio.gather(running, return_exceptions=True))[0]
        await task.close()
        assert isinstance(ended, BaseException)
        return ended

    assert isinstance(asyncio.run(cancel()), asyncio.CancelledError)


def test_calls_on_one_file_take_turns(tmp_path: Path) -> None:
    settings = DuckdbSettings(sql=["INSERT INTO t SELECT max(a) + 1 FROM t"], database="a.duckdb")
    asked(tmp_path / "a.duckdb", "CREATE TABLE t AS SELECT 0 AS a")

    async def many() -> None:
        task = Duckdb(folders=[tmp_path])
        await asyncio.gather(
            *(task.execute(call("duckdb", settings, writes=True)) for _ in range(5)),
            task.execute(call("duckdb", DuckdbSettings(sql=["FROM t"], database="a.duckdb"))),
        )
        await task.close()

    asyncio.run(many())

    assert asked(tmp_path / "a.duckdb", "SELECT max(a) FROM t") == [(5,)]


def test_a_file_that_another_process_has_open_may_be_free_later(tmp_path: Path) -> None:
    hold = (
        f"import duckdb; c = duckdb.connect({str(tmp_path / 'a.duckdb')!r}); print(1, flush=True)"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", f"{hold}; input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with holder:
        assert holder.stdout is not None
        holder.stdout.readline()

        failed = refusal("SELECT 1", database="a.duckdb", folder=tmp_path, writes=True)

        holder.communicate(b"\n")
    assert (failed.code, failed.retriable) == ("duckdb-locked", True)


def test_no_message_shows_a_secret() -> None:
    failed = refusal("SELECT {{ secret }}::INT", names={"secret": Secret("hush-hush")})

    assert "hush" not in failed.message
    assert MASK in failed.message


def test_no_file_is_touched_under_a_lease_that_may_be_gone(tmp_path: Path) -> None:
    with pytest.raises(HandedBack):
        run(
            "CREATE TABLE t (a INT)",
            database="a.duckdb",
            folder=tmp_path,
            writes=True,
            around=Around(holds=False),
        )

    assert list(tmp_path.iterdir()) == []


def test_the_whole_result_of_a_step_is_a_table() -> None:
    maps = {"rows": [{"a": 1, "b": "x"}], "row_count": 1, "columns": ["a", "b"]}
    lists = {"rows": [[2, "y"]], "row_count": 1, "columns": ["a", "b"]}

    result = run("FROM m UNION ALL FROM l ORDER BY a", tables={"m": maps, "l": lists})

    assert result["rows"] == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]


def test_the_result_of_a_step_without_rows_is_an_empty_table() -> None:
    nothing = {"rows": [], "row_count": 0, "columns": ["a", "b"]}

    assert run("SELECT a, b FROM t", tables={"t": nothing})["rows"] == []


def test_a_table_of_no_rows_and_no_columns_says_what_to_give() -> None:
    said = refusal("FROM t", tables={"t": []})

    assert said.code == "no-table"
    assert "the whole result of a step" in said.message


def test_a_relative_path_in_sql_is_refused_with_a_word_on_whole_ones(tmp_path: Path) -> None:
    said = refusal("COPY (SELECT 1) TO 'a.parquet'", folder=tmp_path, writes=True)
    nowhere = refusal("FROM 'a.parquet'")

    assert f"by their whole path, below '{tmp_path.resolve()}'" in said.message
    assert "this worker allows no folder; set NOETL_FILES" in nowhere.message


@pytest.mark.filterwarnings("error")
def test_what_was_stopped_leaves_nothing_unheard(caplog: pytest.LogCaptureFixture) -> None:
    slow = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range + b.range = -1"

    said = refusal(slow, timeout=0.2)
    gc.collect()

    assert said.code == "timeout"
    assert caplog.records == []
