import asyncio
import base64
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import pytest

from noetl_mcp.playbook.rendering.secret import MASK, Secret
from noetl_mcp.tasks.calls import Failed, HandedBack, UnknownOutcome
from noetl_mcp.tasks.postgres import Postgres, conninfo
from noetl_mcp.tasks.specs_data import PostgresServer, PostgresSettings
from tests.tasks.calling import Around, call


def run(dsn: str, sql: str | list[str], *, task: Postgres | None = None, **more: Any) -> Any:
    """Carry out one step and return its result."""
    return asyncio.run(_run(dsn, sql, task, **more))


async def _run(dsn: str, sql: str | list[str], task: Postgres | None, **more: Any) -> Any:
    own = task or Postgres()
    keys = ("params", "transaction", "max_rows", "max_bytes", "rows_as", "isolation")
    settings = {key: more.pop(key) for key in keys if key in more}
    made = PostgresSettings(dsn=dsn, sql=sql, **settings)
    try:
        return await own.execute(call("postgres", made, **more))
    finally:
        if task is None:
            await own.close()


def refusal(dsn: str, sql: str | list[str], **more: Any) -> Failed:
    with pytest.raises(Failed) as caught:
        run(dsn, sql, **more)
    return caught.value


def asked(dsn: str, sql: str) -> list[tuple[Any, ...]]:
    """What another connection sees."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        cursor = connection.execute(sql)
        return cursor.fetchall() if cursor.description else []


def test_a_query_gives_rows_their_count_and_the_columns(empty_database: str) -> None:
    result = run(empty_database, "SELECT n, n * 2 AS twice FROM generate_series(1, 2) AS n")

    assert result == {
        "rows": [{"n": 1, "twice": 2}, {"n": 2, "twice": 4}],
        "row_count": 2,
        "columns": ["n", "twice"],
    }


def test_an_empty_answer_still_has_its_columns(empty_database: str) -> None:
    result = run(empty_database, "SELECT 1 AS a WHERE false")

    assert result == {"rows": [], "row_count": 0, "columns": ["a"]}


def test_rows_are_lists_where_that_is_asked_for(empty_database: str) -> None:
    result = run(empty_database, "SELECT 1 AS a, 2 AS a", rows_as="lists")

    assert result["rows"] == [[1, 2]]


def test_two_columns_of_one_name_are_no_map(empty_database: str) -> None:
    failed = refusal(empty_database, "SELECT 1 AS a, 2 AS a")

    assert failed.code == "same-column-twice"


def test_several_statements_give_each_its_answer_and_the_last_rows_as_the_result(
    empty_database: str,
) -> None:
    sql = "CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2); SELECT a FROM t; DELETE FROM t"

    result = run(empty_database, sql, writes=True)

    assert result["rows"] == [{"a": 1}, {"a": 2}]
    assert result["command_1"] == {"rows": [], "row_count": 2, "columns": []}
    assert result["command_3"]["row_count"] == 2
    assert "command_4" not in result


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("1::smallint", 1),
        ("9223372036854775807::bigint", 9223372036854775807),
        ("1.50::numeric", 1.5),
        ("100::numeric", 100),
        ("0.12345678901234567890::numeric", "0.12345678901234567890"),
        ("92233720368547758070::numeric", "92233720368547758070"),
        ("'NaN'::numeric", "NaN"),
        ("'NaN'::float8", "NaN"),
        ("'-Infinity'::float4", "-Infinity"),
        ("0.1::float8", 0.1),
        ("true", True),
        ("NULL", None),
        ("'a'::text", "a"),
        ("'{\"a\": [1, null, 1.5]}'::jsonb", {"a": [1, None, 1.5]}),
        ("'[92233720368547758070]'::json", ["92233720368547758070"]),
        ("'\\xdeadbeef'::bytea", "3q2+7w=="),
        ("'2024-02-29'::date", "2024-02-29"),
        ("'infinity'::date", "infinity"),
        ("'2024-02-29 10:00:00.5'::timestamp", "2024-02-29T10:00:00.5"),
        ("'10:00'::time", "10:00:00"),
        ("'1 day 02:00'::interval", "1 day 02:00:00"),
        ("'c0ffee00-0000-4000-8000-000000000001'::uuid", "c0ffee00-0000-4000-8000-000000000001"),
        ("'192.168.0.1/32'::inet", "192.168.0.1"),
        ("'[1,5)'::int4range", "[1,5)"),
        ("ARRAY[1,NULL,3]", [1, None, 3]),
        ("ARRAY[[1,2],[3,4]]", [[1, 2], [3, 4]]),
        ("'{}'::text[]", []),
        ("ARRAY['a,b', 'q\"', 'NULL', '', E'\\\\', NULL]", ["a,b", 'q"', "NULL", "", "\\", None]),
        ("ARRAY['{\"a\": 1}'::jsonb]", [{"a": 1}]),
        ("'[0:1]={7,8}'::int[]", [7, 8]),
    ],
)
def test_what_postgres_holds_has_one_form_in_json(
    empty_database: str, sql: str, value: object
) -> None:
    result = run(empty_database, f"SELECT {sql} AS value")

    assert result["rows"] == [{"value": value}]
    assert type(result["rows"][0]["value"]) is type(value)


def test_moments_with_a_zone_say_it_in_iso_form_whatever_the_server_prefers(
    empty_database: str,
) -> None:
    dsn = f"{empty_database}{'&' if '?' in empty_database else ' '}options='-c datestyle=German'"
    if "://" in empty_database:
        dsn = f"{empty_database}&options=-c%20datestyle%3DGerman"

    result = run(dsn, "SET TIME ZONE 'Asia/Kolkata'; SELECT timestamptz '2024-01-01 00:00Z' AS at")

    assert result["rows"] == [{"at": "2024-01-01T05:30:00+05:30"}]


@pytest.mark.parametrize(
    ("sql", "value", "row"),
    [
        ("SELECT {{ v }} AS v", "o'x; --", "o'x; --"),
        ("SELECT {{ v }} + 1 AS v", 41, 42),
        ("SELECT round({{ v }}, 1) AS v", 1.26, 1.3),
        ("SELECT {{ v }} AS v", 2**70, str(2**70)),
        ("SELECT NOT {{ v }} AS v", True, False),
        ("SELECT {{ v }}::text IS NULL AS v", None, True),
        ("SELECT {{ v }} -> 'a' AS v", {"a": [1]}, [1]),
        ("SELECT 'x%{{ v }}%' AS v", "y", "x%y%"),
        ("SELECT 'axb' LIKE '%{{ v }}%' AS v", "x", True),
        ("SELECT date '2024-01-02' > '{{ v }}' AS v", "2024-01-01", True),
        ("SELECT DATE '{{ v }}' AS v", "2024-01-01", "2024-01-01"),
        ("SELECT date '2024-01-01' + INTERVAL '{{ v }} days' AS v", 1, "2024-01-02T00:00:00"),
        ("SELECT E'a\\t{{ v }}' AS v", "b", "a\tb"),
        ("SELECT $$a{{ v }}$$ AS v", "b'", "ab'"),
        ("SELECT array_length({{ v }}, 1) AS v", [1, 2], 2),
        ("SELECT 2 = ANY({{ v }}) AS v", [1, 2], True),
        ("SELECT 2 = ANY({{ v }}) AS v", [], False),
        ("SELECT 2 IN ({{ v }}) AS v", [1, 2], True),
        ("SELECT 2 NOT IN ({{ v }}) AS v", [], True),
        ("SELECT 'a' IN {{ v }} AS v", ["a", None], True),
        ("SELECT sum(n) AS v FROM unnest({{ v }}) AS n", [1, 2**40], 1 + 2**40),
        ("SELECT {{ v }}::jsonb AS v", [1, "a", {"b": []}], [1, "a", {"b": []}]),
        ("SELECT {{ v }}::jsonb AS v", [], []),
        ("SELECT {{ v }}::text[] AS v", ['a"b', "c\\d", None], ['a"b', "c\\d", None]),
        ("SELECT {{ v }}::int[] AS v", [[1, 2], [3, 4]], [[1, 2], [3, 4]]),
        ("SELECT jsonb_array_length({{ v }}) AS v", [1, "a"], 2),
        ("SELECT jsonb_build_object('a', {{ v }}) AS v", "x", {"a": "x"}),
        ("SELECT concat('a', '{{ v }}', {{ v }}) AS v", "x", "axx"),
        ('SELECT "{{ v }}" FROM (SELECT 1 AS name) AS t', "name", 1),
        ("SELECT {{ v | ident }} AS v FROM (SELECT 1 AS name) AS t", "name", 1),
    ],
)
def test_a_value_arrives_as_what_it_is(
    empty_database: str, sql: str, value: object, row: object
) -> None:
    result = run(empty_database, sql, names={"v": value})

    assert list(result["rows"][0].values()) == [row]


def test_lists_and_maps_fit_the_columns_they_are_put_into(empty_database: str) -> None:
    sql = """
        CREATE TABLE t (tags text[], data jsonb, note text, none int[]);
        INSERT INTO t VALUES ({{ tags }}, {{ tags }}, {{ tags }}, {{ empty }});
        SELECT * FROM t
    """

    result = run(empty_database, sql, writes=True, names={"tags": ["a", "b"], "empty": []})

    kept = {"tags": ["a", "b"], "data": ["a", "b"], "note": '["a", "b"]', "none": []}
    assert result["rows"] == [kept]


def test_params_stand_beside_templates(empty_database: str) -> None:
    sql = "SELECT {{ a }} AS a, :b::int AS b, '{x,y}'::text[] AS c, 7 % 4 AS d, ':b' AS e"

    result = run(empty_database, sql, names={"a": 1}, params={"b": "2"})

    assert result["rows"] == [{"a": 1, "b": 2, "c": ["x", "y"], "d": 3, "e": ":b"}]


def test_params_in_order_run_on_through_the_statements(empty_database: str) -> None:
    sql = "SELECT %s AS a, '%s' AS b; SELECT %s AS a"

    result = run(empty_database, sql, params=[1, "x"])

    assert (result["command_0"]["rows"], result["rows"]) == ([{"a": 1, "b": "%s"}], [{"a": "x"}])


def test_sql_in_base64_is_sent_as_it_is(empty_database: str) -> None:
    settings = PostgresSettings(dsn=empty_database, sql_b64=["U0VMRUNUICd7eyB4IH19JyBBUyBh"])

    async def execute() -> Any:
        task = Postgres()
        try:
            return await task.execute(call("postgres", settings))
        finally:
            await task.close()

    assert asyncio.run(execute())["rows"] == [{"a": "{{ x }}"}]


def test_a_step_that_does_not_write_cannot(empty_database: str) -> None:
    asked(empty_database, "CREATE TABLE t (a int)")

    failed = refusal(empty_database, "INSERT INTO t VALUES (1)")

    assert failed.code == "postgres-25006"
    assert "writes: true" in failed.message
    assert not failed.retriable
    assert asked(empty_database, "SELECT count(*) FROM t") == [(0,)]


@pytest.mark.parametrize(
    "sql",
    [
        "COMMIT; INSERT INTO t VALUES (1)",
        "SET TRANSACTION READ WRITE; INSERT INTO t VALUES (1)",
        "SET transaction_read_only TO off; INSERT INTO t VALUES (1)",
        "SELECT set_config('transaction_read_only', 'off', true); INSERT INTO t VALUES (1)",
        "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE; INSERT INTO t VALUES (1)",
        "COPY (SELECT 1) TO PROGRAM 'cat > /dev/null'",
        "COPY t TO STDOUT",
        "DO $$ BEGIN INSERT INTO t VALUES (1); END $$",
        "DO $$ BEGIN COPY (SELECT 1) TO PROGRAM 'cat > /dev/null'; END $$",
        "/* */ do $$ begin copy (select 1) to program 'cat > /dev/null'; end $$",
        "LOAD '$libdir/plpgsql'",
    ],
)
@pytest.mark.parametrize("transaction", [True, False])
def test_there_is_no_way_around_reading_only(
    empty_database: str, sql: str, transaction: bool
) -> None:
    asked(empty_database, "CREATE TABLE t (a int)")

    refusal(empty_database, sql, transaction=transaction)

    assert asked(empty_database, "SELECT count(*) FROM t") == [(0,)]


NOT_FOR_READERS = [
    "SET standard_conforming_strings = off;"
    " COPY (SELECT 'a\\') TO STDOUT --') TO PROGRAM 'cat > /dev/null'",
    'COPY (SELECT 1 AS "{{") TO PROGRAM \'cat > /dev/null\' --"}}") TO STDOUT',
    "COPY (SELECT 1) TO '/dev/null' /* {{ */",
    "COPY (SELECT E'\\') TO STDOUT --') TO PROGRAM 'cat > /dev/null'",
    "COPY (SELECT $a$ $$ ) TO STDOUT -- $a$) TO PROGRAM 'cat > /dev/null'",
    "/* /* ; */ */ -- ;\n cOpY (SELECT 1) TO/**/PROGRAM 'cat > /dev/null'",
    ";;\f\tcopy(select 1)to program'cat > /dev/null'",
    "COPY (SELECT U&\"d\\0061\" FROM (SELECT 1 AS da) x) TO PROGRAM 'cat > /dev/null'",
    "PREPARE p AS COPY (SELECT 1) TO PROGRAM 'cat > /dev/null'; EXECUTE p",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO PROGRAM 'cat > /dev/null'",
    "WITH x AS (COPY (SELECT 1) TO PROGRAM 'cat > /dev/null') SELECT 1",
    "SELECT query_to_xml('COPY (SELECT 1) TO PROGRAM ''cat > /dev/null''', true, true, '')",
    "SELECT * FROM ts_stat('COPY (SELECT 1) TO PROGRAM ''cat > /dev/null''')",
    "DECLARE c CURSOR FOR COPY (SELECT 1) TO PROGRAM 'cat > /dev/null'",
    "ALTER SYSTEM SET log_statement = 'all'",
    "CREATE EXTENSION IF NOT EXISTS plpgsql; CREATE EXTENSION adminpack",
    "SELECT lo_from_bytea(0, '\\x00')",
    "COPY (SELECT 1) TO STDOUT",
]


@pytest.mark.parametrize("sql", NOT_FOR_READERS)
@pytest.mark.parametrize("transaction", [True, False])
def test_a_superuser_who_reads_starts_no_program_by_copy(
    empty_database: str, sql: str, transaction: bool
) -> None:
    with pytest.raises(Failed):
        _run_encoded(empty_database, sql, transaction=transaction)
    assert asked(empty_database, "SELECT count(*) FROM pg_largeobject_metadata") == [(0,)]


def _run_encoded(dsn: str, sql: str, **more: Any) -> Any:
    encoded = base64.b64encode(sql.encode()).decode()
    settings = PostgresSettings(dsn=dsn, sql_b64=[encoded], **more)

    async def execute() -> Any:
        task = Postgres()
        try:
            return await task.execute(call("postgres", settings))
        finally:
            await task.close()

    return asyncio.run(execute())


@pytest.mark.parametrize(
    "sql",
    [
        "WITH copy AS (SELECT 1 AS copy) SELECT copy.copy AS a FROM copy",
        "EXPLAIN SELECT 1 AS a",
        "EXPLAIN ANALYZE SELECT 1",
        "-- COPY\n(SELECT 'COPY' AS a) /* ; DO */",
        "SHOW search_path",
        "TABLE pg_am",
        "PREPARE one AS SELECT 1 AS a; EXECUTE one",
        "SET LOCAL search_path TO public; SELECT 1 AS a",
        "DECLARE c CURSOR FOR SELECT 1 AS a; FETCH c",
        "VALUES (1)",
    ],
)
def test_what_only_reads_goes_through_as_it_is(empty_database: str, sql: str) -> None:
    assert _run_encoded(empty_database, sql)["rows"]


def test_backslashes_mean_the_same_whatever_the_server_prefers(empty_database: str) -> None:
    name = asked(empty_database, "SELECT current_database()")[0][0]
    asked(empty_database, f'ALTER DATABASE "{name}" SET standard_conforming_strings TO off')

    for writes in (True, False):
        result = run(empty_database, r"SELECT 'a\' AS a -- '", writes=writes)

        assert result["rows"] == [{"a": "a\\"}]


def test_statements_stand_or_fall_together(empty_database: str) -> None:
    sql = "CREATE TABLE t (a int); SELECT 1 / 0"

    failed = refusal(empty_database, sql, writes=True)

    assert failed.code == "postgres-22012"
    assert failed.details == {"sqlstate": "22012", "statement": 2}
    assert asked(empty_database, "SELECT to_regclass('t')") == [(None,)]


def test_without_a_transaction_each_statement_is_one(empty_database: str) -> None:
    sql = "CREATE TABLE t (a int); VACUUM t; SELECT 1 / 0"

    refusal(empty_database, sql, writes=True, transaction=False)

    assert asked(empty_database, "SELECT to_regclass('t')::text") == [("t",)]


def test_more_rows_than_allowed_are_a_failure_and_are_not_kept(empty_database: str) -> None:
    asked(empty_database, "CREATE TABLE t (a int)")
    sql = "INSERT INTO t SELECT generate_series(1, 1001) RETURNING a"

    failed = refusal(empty_database, sql, writes=True, max_rows=1000)

    assert (failed.code, failed.retriable) == ("too-many-rows", False)
    assert asked(empty_database, "SELECT count(*) FROM t") == [(0,)]
    assert (
        run(empty_database, "SELECT generate_series(1, 1000)", max_rows=1000)["row_count"] == 1000
    )


def test_rows_that_are_longer_than_allowed_are_a_failure_and_nothing_is_kept(
    empty_database: str,
) -> None:
    asked(empty_database, "CREATE TABLE t (a text)")
    sql = "INSERT INTO t SELECT repeat('x', 500) FROM generate_series(1, 3) RETURNING a"

    failed = refusal(empty_database, sql, writes=True, max_bytes=1000)

    assert (failed.code, failed.retriable) == ("too-large", False)
    assert "max_bytes" in failed.message
    assert asked(empty_database, "SELECT count(*) FROM t") == [(0,)]
    assert run(empty_database, "SELECT repeat('x', 1000) AS a", max_bytes=1000)["row_count"] == 1


def test_a_broken_constraint_is_told_with_its_name_and_no_secret(empty_database: str) -> None:
    asked(empty_database, "CREATE TABLE t (a text PRIMARY KEY); INSERT INTO t VALUES ('hush-hush')")

    failed = refusal(
        empty_database,
        "INSERT INTO t VALUES ({{ secret }})",
        writes=True,
        names={"secret": Secret("hush-hush")},
    )

    assert failed.code == "postgres-23505"
    assert not failed.retriable
    assert isinstance(failed.details, dict)
    assert failed.details["constraint"] == "t_pkey"
    assert failed.details["detail"] == f"Key (a)=({MASK}) already exists."


def test_a_secret_is_sent_as_its_text(empty_database: str) -> None:
    result = run(
        empty_database,
        "SELECT {{ secret }} AS a, 'x{{ secret }}' AS b, {{ [secret] }}::text[] AS c",
        names={"secret": Secret("s3")},
    )

    assert result["rows"] == [{"a": "s3", "b": "xs3", "c": ["s3"]}]


@pytest.mark.parametrize(
    ("sql", "hint"),
    [
        ("SELECT '{{ v }}' FROM {{ v }}", "| ident"),
        ("COMMENT ON COLUMN t.a IS {{ v }}", "postgres-42601"),
        ("DO $$ BEGIN PERFORM {{ v }}; END $$", "body of a routine"),
        ("SELECT 1 WHERE :nobody = 1", "no 'nobody'"),
    ],
)
def test_a_value_where_none_can_be_is_refused(empty_database: str, sql: str, hint: str) -> None:
    asked(empty_database, "CREATE TABLE t (a int)")

    failed = refusal(empty_database, sql, writes=True, names={"v": "x"}, params={})

    assert hint in f"{failed.code}: {failed.message}"
    assert not failed.retriable


def test_a_text_that_postgres_cannot_hold_is_refused_not_cut(empty_database: str) -> None:
    failed = refusal(empty_database, "SELECT {{ v }}", names={"v": "a\0b"})

    assert "NUL" in failed.message


def test_nobody_listening_means_that_nothing_was_sent() -> None:
    failed = refusal("host=127.0.0.1 port=1 dbname=x user=x", "SELECT 1", writes=True)

    assert (failed.code, failed.retriable) == ("not-sent", True)


def test_there_is_no_default_server(empty_database: str) -> None:
    with pytest.raises(Failed) as caught:
        conninfo(PostgresServer(), {})

    assert (caught.value.code, caught.value.retriable) == ("no-credential", False)


@pytest.mark.parametrize("own", [{"user": "u"}, {"database": "d"}, {"dsn": "dbname=d"}])
def test_a_database_without_its_server_is_not_enough(own: dict[str, Any]) -> None:
    with pytest.raises(Failed, match="no server is named"):
        conninfo(PostgresServer(**own), {})


def test_a_credential_names_the_server_and_the_step_may_name_the_database() -> None:
    credential = {"type": "postgres", "host": "h", "db_port": 5433, "user": "u", "password": "p w"}

    found = psycopg.conninfo.conninfo_to_dict(
        conninfo(PostgresServer(database="d"), {"": credential})
    )

    assert (found["host"], found["port"], found["dbname"]) == ("h", "5433", "d")
    assert (found["user"], found["password"]) == ("u", "p w")


def test_a_password_lent_for_one_server_is_not_shown_to_another() -> None:
    with pytest.raises(Failed, match="both name a server"):
        conninfo(PostgresServer(host="evil"), {"": {"dsn": "postgresql://u:p@good/d"}})


def test_a_connection_string_that_is_none_is_not_repeated() -> None:
    with pytest.raises(Failed) as caught:
        conninfo(PostgresServer(dsn="pass word=secret host"), {})

    assert "secret" not in caught.value.message


def test_a_statement_that_takes_too_long_is_stopped_and_undone(empty_database: str) -> None:
    asked(empty_database, "CREATE TABLE t (a int)")
    sql = "INSERT INTO t VALUES (1); SELECT pg_sleep(30)"

    failed = refusal(empty_database, sql, writes=True, timeout=0.3)

    assert (failed.code, failed.retriable) == ("timeout", True)
    assert asked(empty_database, "SELECT count(*) FROM t") == [(0,)]
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active'"
    waiting += " AND datname = current_database() AND query = 'SELECT pg_sleep(30)'"
    assert asked(empty_database, waiting) == [(0,)]


def test_a_timeout_outside_of_a_transaction_leaves_a_write_unknown(empty_database: str) -> None:
    with pytest.raises(UnknownOutcome) as caught:
        run(empty_database, "SELECT pg_sleep(30)", writes=True, transaction=False, timeout=0.3)

    assert caught.value.code == "timeout"


def test_a_timeout_while_waiting_for_a_connection_means_that_nothing_was_sent(
    empty_database: str,
) -> None:
    async def both() -> Failed:
        task = Postgres(most_connections=1)
        try:
            first = asyncio.create_task(_run(empty_database, "SELECT pg_sleep(30)", task))
            await asyncio.to_thread(_seen, empty_database, "SELECT pg_sleep(30)")
            with pytest.raises(Failed) as caught:
                await _run(empty_database, "SELECT 1", task, timeout=0.2, writes=True)
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
            return caught.value
        finally:
            await task.close()

    assert asyncio.run(both()).code == "not-sent"


def _seen(dsn: str, query: str) -> int:
    """Wait until a server process works on a query, and return its number."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        for _ in range(1000):
            row = connection.execute(
                "SELECT pid FROM pg_stat_activity"
                " WHERE query = %s AND state = 'active' AND datname = current_database()",
                [query],
            ).fetchone()
            if row:
                return int(row[0])
            connection.execute("SELECT pg_sleep(0.01)")
    raise AssertionError("nobody asked")


def interrupted(
    dsn: str, query: str, act: Callable[[asyncio.Task[Any], int], Awaitable[None]], **more: Any
) -> BaseException:
    """Start a step, do something while it runs, and return how it ended."""

    async def both() -> BaseException:
        task = Postgres()
        try:
            running = asyncio.create_task(_run(dsn, query, task, **more))
            await act(running, await asyncio.to_thread(_seen, dsn, query))
            ended = (await asyncio.gather(running, return_exceptions=True))[0]
            assert isinstance(ended, BaseException)
            return ended
        finally:
            await task.close()

    return asyncio.run(both())


def test_a_cancelled_step_stops_its_statement(empty_database: str) -> None:
    async def cancel(running: asyncio.Task[Any], pid: int) -> None:
        running.cancel()

    ended = interrupted(empty_database, "SELECT pg_sleep(31)", cancel)

    assert isinstance(ended, asyncio.CancelledError)
    left = "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(31)'"
    left += " AND datname = current_database()"
    assert asked(empty_database, f"{left} AND state = 'active'") == [(0,)]


def killing(dsn: str) -> Callable[[asyncio.Task[Any], int], Awaitable[None]]:
    async def kill(running: asyncio.Task[Any], pid: int) -> None:
        await asyncio.to_thread(asked, dsn, f"SELECT pg_terminate_backend({pid})")

    return kill


def test_a_connection_lost_before_commit_has_kept_nothing(empty_database: str) -> None:
    ended = interrupted(empty_database, "SELECT pg_sleep(32)", killing(empty_database), writes=True)

    assert isinstance(ended, Failed)
    assert (ended.code, ended.retriable) == ("connection-lost", True)


def test_a_connection_lost_while_a_statement_commits_by_itself_is_unknown(
    empty_database: str,
) -> None:
    ended = interrupted(
        empty_database,
        "SELECT pg_sleep(33)",
        killing(empty_database),
        writes=True,
        transaction=False,
    )

    assert isinstance(ended, UnknownOutcome)
    assert ended.evidence == {"statement": 1, "stage": "kept"}


def test_a_connection_lost_at_commit_is_unknown(empty_database: str) -> None:
    slow = """
        CREATE TABLE t (a int);
        CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN PERFORM pg_sleep(34); RETURN NULL; END $$;
        CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW EXECUTE FUNCTION slow();
    """
    asked(empty_database, slow)

    async def both() -> BaseException:
        task = Postgres()
        running = asyncio.create_task(
            _run(empty_database, "INSERT INTO t VALUES (1)", task, writes=True)
        )
        pid = await asyncio.to_thread(_seen, empty_database, "COMMIT")
        await asyncio.to_thread(asked, empty_database, f"SELECT pg_terminate_backend({pid})")
        ended = (await asyncio.gather(running, return_exceptions=True))[0]
        await task.close()
        assert isinstance(ended, BaseException)
        return ended

    ended = asyncio.run(both())

    assert isinstance(ended, UnknownOutcome)
    assert ended.code == "connection-lost"


def test_a_constraint_that_speaks_up_at_commit_is_a_failure(empty_database: str) -> None:
    asked(empty_database, "CREATE TABLE t (a int UNIQUE DEFERRABLE INITIALLY DEFERRED)")

    failed = refusal(empty_database, "INSERT INTO t VALUES (1), (1)", writes=True)

    assert failed.code == "postgres-23505"


def test_who_was_in_the_way_may_be_gone_next_time(empty_database: str) -> None:
    asked(empty_database, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
    with psycopg.connect(empty_database) as other:
        other.execute("UPDATE t SET a = 2")

        failed = refusal(
            empty_database, "SET LOCAL lock_timeout = 50; UPDATE t SET a = 3", writes=True
        )

    assert (failed.code, failed.retriable) == ("postgres-55P03", True)


def test_serializable_transactions_that_meet_may_be_tried_again(empty_database: str) -> None:
    asked(empty_database, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
    with psycopg.connect(empty_database, autocommit=True) as other:
        sql = "SELECT a, pg_advisory_lock(1) FROM t; UPDATE t SET a = a + 1"
        other.execute("SELECT pg_advisory_lock(1)")

        async def between(running: asyncio.Task[Any], pid: int) -> None:
            await asyncio.to_thread(other.execute, "UPDATE t SET a = 5")
            await asyncio.to_thread(other.execute, "SELECT pg_advisory_unlock(1)")

        async def both() -> BaseException:
            task = Postgres()
            running = asyncio.create_task(
                _run(empty_database, sql, task, writes=True, isolation="serializable")
            )
            await asyncio.to_thread(_seen, empty_database, "SELECT a, pg_advisory_lock(1) FROM t")
            await between(running, 0)
            ended = (await asyncio.gather(running, return_exceptions=True))[0]
            await task.close()
            assert isinstance(ended, BaseException)
            return ended

        ended = asyncio.run(both())

    assert isinstance(ended, Failed)
    assert (ended.code, ended.retriable) == ("postgres-40001", True)


def test_no_write_is_sent_under_a_lease_that_may_be_gone(empty_database: str) -> None:
    with pytest.raises(HandedBack):
        run(empty_database, "CREATE TABLE t (a int)", writes=True, around=Around(holds=False))

    assert asked(empty_database, "SELECT to_regclass('t')") == [(None,)]


def test_a_reading_step_needs_no_lease_that_holds(empty_database: str) -> None:
    assert run(empty_database, "SELECT 1 AS a", around=Around(holds=False))["row_count"] == 1


def test_what_a_call_did_to_its_session_ends_with_it(empty_database: str) -> None:
    async def two() -> tuple[Any, Any, Any]:
        task = Postgres(most_connections=1)
        try:
            first = await _run(
                empty_database,
                "SET search_path TO nowhere; CREATE TEMP TABLE mine (a int);"
                " SELECT pg_backend_pid() AS pid, pg_advisory_lock(7)::text",
                task,
                writes=True,
            )
            second = await _run(
                empty_database,
                "SELECT pg_backend_pid() AS pid, current_setting('search_path') AS path,"
                " to_regclass('mine') AS mine",
                task,
            )
            locks = await asyncio.to_thread(
                asked,
                empty_database,
                "SELECT count(*) FROM pg_locks JOIN pg_database AS d ON d.oid = database"
                " WHERE locktype = 'advisory' AND d.datname = current_database()",
            )
            return first["rows"][0], second["rows"][0], locks
        finally:
            await task.close()

    first, second, locks = asyncio.run(two())

    assert first["pid"] == second["pid"]
    assert (second["path"], second["mine"], locks) == ('"$user", public', None, [(0,)])


def test_a_kept_connection_that_died_is_replaced(empty_database: str) -> None:
    async def two() -> tuple[int, int]:
        task = Postgres(most_connections=1)
        try:
            sql = "SELECT pg_backend_pid() AS pid"
            first = (await _run(empty_database, sql, task))["rows"][0]["pid"]
            await asyncio.to_thread(asked, empty_database, f"SELECT pg_terminate_backend({first})")
            return first, (await _run(empty_database, sql, task))["rows"][0]["pid"]
        finally:
            await task.close()

    first, second = asyncio.run(two())

    assert first != second


def test_calls_run_side_by_side_up_to_the_bound(empty_database: str) -> None:
    async def many() -> set[int]:
        task = Postgres(most_connections=3)
        try:
            sql = "SELECT pg_backend_pid() AS pid FROM pg_sleep(0.05)"
            done = await asyncio.gather(*(_run(empty_database, sql, task) for _ in range(9)))
            return {result["rows"][0]["pid"] for result in done}
        finally:
            await task.close()

    assert 1 < len(asyncio.run(many())) <= 3


def test_connections_that_nobody_uses_are_closed_after_a_while(empty_database: str) -> None:
    async def one() -> list[tuple[Any, ...]]:
        task = Postgres(idle_seconds=0.05)
        try:
            await _run(empty_database, "SELECT 'mine'", task)
            sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'noetl-mcp'"
            sql += " AND datname = current_database()"
            for _ in range(200):
                left = await asyncio.to_thread(asked, empty_database, sql)
                if left == [(0,)]:
                    break
            return left
        finally:
            await task.close()

    assert asyncio.run(one()) == [(0,)]
