import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl_mcp.tasks.sql_words import looks_like_writing

WRITES = [
    "INSERT INTO t VALUES (1)",
    "insert into t select * from u",
    "UPDATE t SET a = 1",
    "DELETE FROM t",
    "MERGE INTO t USING u ON a = b WHEN MATCHED THEN DELETE",
    "CREATE TABLE t (a int)",
    "CREATE OR REPLACE TABLE t AS SELECT 1",
    "DROP TABLE t",
    "ALTER TABLE t ADD b int",
    "TRUNCATE t",
    "GRANT SELECT ON t TO you",
    "REVOKE ALL ON t FROM you",
    "CALL do_it()",
    "DO $$ BEGIN PERFORM 1; END $$",
    "VACUUM t",
    "REFRESH MATERIALIZED VIEW v",
    "COMMENT ON TABLE t IS 'x'",
    "COPY t FROM STDIN",
    "COPY t (a, b) FROM 'file.csv'",
    "COPY (SELECT * FROM t) TO 'file.parquet' (FORMAT parquet)",
    "COPY t TO PROGRAM 'cat'",
    "COPY FROM DATABASE a TO b",
    "COPY (DELETE FROM t RETURNING *) TO STDOUT",
    "EXPORT DATABASE 'folder'",
    "SELECT 1; DELETE FROM t",
    "SELECT ';'; -- ; \n /* ; */ UPDATE t SET a = 1",
    "WITH gone AS (DELETE FROM t RETURNING *) SELECT * FROM gone",
    "WITH a AS (SELECT 1), b AS NOT MATERIALIZED (UPDATE t SET x = 1 RETURNING 1) TABLE b",
    "WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a",
    "WITH a AS (WITH b AS (SELECT 1) DELETE FROM t RETURNING 1) SELECT 1",
    "WITH RECURSIVE r AS (SELECT 1) SEARCH DEPTH FIRST BY a SET o DELETE FROM t",
    "WITH a AS (COPY (SELECT 1) TO 'a.csv') FROM a",
    "SELECT a, b INTO copied FROM t",
    "(SELECT 1 INTO t)",
    "EXPLAIN ANALYZE DELETE FROM t",
    "EXPLAIN (ANALYZE, BUFFERS) INSERT INTO t VALUES (1)",
    "PREPARE p (int) AS DELETE FROM t WHERE a = $1; EXECUTE p(1)",
    "  -- a comment\n/* and /* another */ */ delete from t",
    "SELECT 'it''s'; DELETE FROM t",
    r"SELECT E'it\'s'; DELETE FROM t",
    "SELECT '{{ names['a'] }}'; DELETE FROM t",
    "{% if really %}DELETE FROM t{% endif %}",
    "SELECT 1 {% if not really %}{% else %}; DELETE FROM t{% endif %}",
    "{# reads nothing #} INSERT INTO t VALUES ({{ input.a }})",
]

READS = [
    "",
    ";;;",
    "SELECT 1",
    "SELECT id, title FROM kb WHERE topic = {{ input.topic }}",
    "TABLE t",
    "VALUES (1), (2)",
    "FROM t SELECT a",
    "WITH copy AS (SELECT (copy) FROM t) FROM copy",
    "SHOW search_path",
    "SET search_path = x",
    "BEGIN; SELECT 1; COMMIT",
    "COPY t TO STDOUT",
    "COPY (SELECT * FROM t) TO STDOUT (FORMAT csv)",
    "SELECT 'DELETE FROM t'",
    "SELECT 'a; DELETE FROM t; b'",
    "SELECT '; {{ names['DELETE'] }}; DELETE FROM t'",
    r"SELECT E'\'; DELETE FROM t; '",
    "SELECT $$; DELETE FROM t $$",
    "SELECT $tag$ $$; DELETE FROM t; $$ $tag$",
    "SELECT 1 -- ; DELETE FROM t",
    "SELECT 1 /* ; DELETE /* ; */ FROM t; UPDATE */",
    'SELECT "delete", "; DELETE FROM t" FROM t',
    "SELECT t.update, t.delete FROM t",
    "SELECT update FROM changes",
    "SELECT count(update) FROM changes",
    "SELECT created, updated_at, delete_me FROM t ORDER BY insert_time",
    "SELECT 1 AS into FROM t",
    "WITH update AS (SELECT 1) SELECT * FROM update",
    "WITH a(delete) AS (SELECT 1) SELECT delete FROM a",
    "WITH a AS (SELECT 1), merge AS (SELECT 2) FROM merge",
    "SELECT * FROM t FOR UPDATE",
    "EXPLAIN DELETE FROM t",
    "EXPLAIN (ANALYZE FALSE) DELETE FROM t",
    "EXPLAIN ANALYZE SELECT 1",
    "UNPIVOT t ON a, b INTO NAME n VALUE v",
    "SELECT {{ 'DELETE FROM t;' }}",
    "{# DELETE FROM t #} SELECT 1",
    "{% for x in y %} SELECT {{ x }}; {% endfor %}",
    "ATTACH 'x.db' (READ_ONLY); USE x; LOAD json; PRAGMA version",
    "select it's broken; delete from t",
    "this is no SQL at all",
]


@pytest.mark.parametrize("sql", WRITES)
def test_a_statement_that_changes_something_looks_like_writing(sql: str) -> None:
    assert looks_like_writing(sql)


@pytest.mark.parametrize("sql", READS)
def test_words_in_strings_comments_and_names_raise_no_alarm(sql: str) -> None:
    assert not looks_like_writing(sql)


@given(st.text())
def test_any_text_gets_an_answer(text: str) -> None:
    assert looks_like_writing(text) in (True, False)


PIECES = """
' " $$ $a$ $ /* */ -- {{ }} {% %} {# #} ( ) ; . , e'\\ AS WITH DELETE SELECT INTO
"""


@given(st.lists(st.sampled_from([*PIECES.split(), "\n"])))
def test_any_mix_of_quotes_and_brackets_gets_an_answer(pieces: list[str]) -> None:
    assert looks_like_writing(" ".join(pieces)) in (True, False)
    assert looks_like_writing("".join(pieces)) in (True, False)


@given(st.text(), st.sampled_from(WRITES))
def test_what_stands_behind_does_not_hide_a_write(text: str, sql: str) -> None:
    behind = text.replace(";", "").replace("%}", "").replace("}}", "").replace("#}", "")

    assert looks_like_writing(f"{sql};\n-- {behind}")


@pytest.mark.parametrize("piece", ["/*", "$a$", "{{", "'{{", "(", "AS (WITH ", "{% x %}", '"{%'])
def test_twice_the_text_takes_twice_the_time_at_most(piece: str) -> None:
    began = time.perf_counter()

    looks_like_writing(piece * 100_000)

    assert time.perf_counter() - began < 5
