import time
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noetl_mcp.playbook.rendering.secret import Secret
from noetl_mcp.tasks.calls import Failed, Statement
from noetl_mcp.tasks.sql_pieces import MARKS, first_words, tokens
from noetl_mcp.tasks.sql_script import decoded, masked, secrets_in, with_params
from noetl_mcp.tasks.sql_text import bind, numbered, split
from tests.tasks.calling import bound


def one(sql: str, **names: object) -> tuple[str, tuple[Any, ...]]:
    (statement,) = bound(sql, **names)
    return statement.text, statement.values


def refusal(sql: str, **names: object) -> str:
    with pytest.raises(Failed) as caught:
        bound(sql, **names)
    assert not caught.value.retriable
    return caught.value.message


def texts(sql: str) -> list[str]:
    return [statement.text for statement in split(sql)]


@pytest.mark.parametrize(
    ("sql", "text", "values"),
    [
        ("SELECT {{ v }}", "SELECT %s", ("x",)),
        ("SELECT {{- v -}} ;", "SELECT %s", ("x",)),
        ("SELECT ' a {{- v -}} b '", "SELECT %s", (" axb ",)),
        ("SELECT '{{ v }}'", "SELECT %s", ("x",)),
        ("SELECT 'a {{ v }} b''c'", "SELECT %s", ("a x b'c",)),
        ("SELECT N'a{{ v }}'", "SELECT %s", ("ax",)),
        (r"SELECT E'a\n{{ v }}\'\\\u00e9\101'", "SELECT %s", ("a\nx'\\éA",)),
        ("SELECT $q$a'{{ v }}$q$", "SELECT %s", ("a'x",)),
        ("SELECT 5 % 2, {{ v }}", "SELECT 5 %% 2, %s", ("x",)),
        ("SELECT '100%', '{{ v }}%'", "SELECT '100%%', %s", ("x%",)),
        ("SELECT 1 -- {{ v }} 5%\n, {{ v }}", "SELECT 1 --  5%%\n, %s", ("x",)),
        ("SELECT /* {{ v }} /* ; */ */ {{ v }}", "SELECT /*  /* ; */ */ %s", ("x",)),
        ("SELECT {# {{ v }} #}1", "SELECT 1", ()),
        ("SELECT DATE '{{ v }}'", "SELECT CAST( %s AS DATE)", ("x",)),
        ("SELECT interval'{{ v }} days'", "SELECT CAST(%s AS INTERVAL)", ("x days",)),
        ("SELECT INTERVAL {{ v }} DAY", "SELECT INTERVAL (%s) DAY", ("x",)),
        ("SELECT x AT TIME ZONE '{{ v }}'", "SELECT x AT TIME ZONE %s", ("x",)),
        ("SELECT {{ v }}::text, a[1:{{ v }}]", "SELECT %s::text, a[1:%s]", ("x", "x")),
        ("SELECT a IS DISTINCT FROM {{ v }}", "SELECT a IS DISTINCT FROM %s", ("x",)),
        ("SELECT 'x'AS a,'{{ v }}'AS b", "SELECT 'x'AS a,%s AS b", ("x",)),
        ('SELECT "{{ v }}", "a{{ v }}"', 'SELECT "x", "ax"', ()),
        ("SELECT {{ v | ident }}.{{ v|ident }}", 'SELECT "x"."x"', ()),
        ('SELECT "{{ v | ident }}"', 'SELECT "x"', ()),
        ("SELECT to_regclass('{{ v | ident }}')", "SELECT to_regclass(%s)", ('"x"',)),
        ("SELECT '{{ {'a': v}['a'] }}'", "SELECT %s", ("x",)),
        ("SELECT {{ '}}' ~ v ~ ';' }}", "SELECT %s", ("}}x;",)),
    ],
)
def test_a_template_becomes_a_parameter(sql: str, text: str, values: tuple[Any, ...]) -> None:
    assert one(sql, v="x") == (text, values)


@pytest.mark.parametrize("value", [7, 1.5, True, None, [1], {"a": 1}, "x"])
def test_a_value_outside_of_quotes_keeps_its_type(value: object) -> None:
    assert one("SELECT {{ v }}", v=value)[1] == (value,)


@pytest.mark.parametrize(
    ("value", "text"),
    [(7, "7"), (True, "true"), ([1, "a"], '[1,"a"]'), ({"a": None}, '{"a":null}')],
)
def test_a_value_inside_of_quotes_is_its_text(value: object, text: str) -> None:
    assert one("SELECT '{{ v }}', '<{{ v }}>'", v=value)[1] == (text, f"<{text}>")


def test_a_null_inside_of_quotes_makes_the_whole_literal_null() -> None:
    assert one("SELECT '{{ v }}', 'a {{ w }} {{ v }}'", v=None, w=1)[1] == (None, None)


def test_a_literal_with_a_secret_is_one() -> None:
    (value,) = one("SELECT 'a {{ v }}'", v=Secret("s3"))[1]

    assert isinstance(value, Secret)
    assert value.reveal() == "a s3"


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("SELECT a IN ({{ v }})", "SELECT a = ANY (%s)"),
        ("SELECT a IN {{ v }}", "SELECT a = ANY (%s)"),
        ("SELECT a NOT IN ({{ v }})", "SELECT a  <> ALL (%s)"),
        ("SELECT a IN ({{ v }}, 2)", "SELECT a IN (%s, 2)"),
    ],
)
def test_in_a_list_looks_into_the_list(sql: str, text: str) -> None:
    assert one(sql, v=[1, 2]) == (text, ([1, 2],))


def test_in_a_single_value_stays_as_it_is() -> None:
    assert one("SELECT a IN ({{ v }})", v=1) == ("SELECT a IN (%s)", (1,))


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("{{ v }}", "whole statement"),
        ("SELECT 1; {{ v }} ;", "whole statement"),
        ("SELECT * FROM {{ v }}", "ident"),
        ("INSERT INTO {{ v }} VALUES (1)", "ident"),
        ("SELECT * FROM a JOIN {{ v }} ON true", "ident"),
        ("SELECT a FROM t ORDER BY {{ v }}", "ident"),
        ("SELECT a.{{ v }} FROM a", "ident"),
        ("SELECT a_{{ v }}", "ident"),
        ("SELECT {{ v }}{{ v }}", "ident"),
        ("SELECT a_{{ v | ident }}", "whole name"),
        ("SELECT '' {{ v | upper | ident }}a", "whole name"),
        ("SELECT {{ ('x' if v else v) | ident if v else v | ident }} FROM {{ w }}", "ident"),
        ('SELECT "{{ w }}"', "plain name"),
        ('SELECT "a {{ v }}"', "plain name"),
        ("SELECT {{ (w if v) ~ '' if true else v | ident }}", "plain name"),
        ("SELECT b'{{ v }}'", "literal that begins"),
        ("SELECT U&'{{ v }}'", "literal that begins"),
        ("DO $$ BEGIN x := {{ v }}; END $$", "body of a routine"),
        ("CREATE FUNCTION f() RETURNS int AS 'SELECT 1', $$ {{ v }} $$", "body of a routine"),
        ("SELECT INTERVAL '{{ v }}' DAY", "unit inside"),
        ("SELECT {% if v %}1{% endif %}", "only values can"),
        ("SELECT {% raw %}{{{% endraw %}, {{ v }}", "cannot stand in SQL"),
        ("SELECT {{ v }", "never closed"),
        ("SELECT '{{ v }}", "never closed"),
        ('SELECT "{{ v }}', "never closed"),
        ("SELECT $$ {{ v }}", "never closed"),
        ("SELECT /* {{ v }}", "never closed"),
        (r"SELECT E'\xff{{ v }}'", "uXXXX"),
    ],
)
def test_what_cannot_be_bound_is_refused(sql: str, why: str) -> None:
    assert why in refusal(sql, v="x", w='x" -- ')


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(min_size=1),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=4,
)
PLACES = [
    "SELECT {{ v }}",
    "SELECT '{{ v }}' || '%{{ v }}%'",
    "SELECT E'\\'{{ v }}\\\\' , $a$ {{ v }} $a$",
    "SELECT a FROM t WHERE b IN ({{ v }}) AND c NOT IN {{ v }} -- {{ v }}",
    "INSERT INTO t VALUES ({{ v }}, DATE '{{ v }}'); UPDATE t SET a = {{ v }} /* {{ v }} */",
]


@settings(deadline=None)
@given(st.sampled_from(PLACES), VALUES)
def test_no_value_is_ever_a_part_of_the_text(sql: str, value: object) -> None:
    lists = isinstance(value, list)
    expected = [s.text for s in bind(sql, lambda _: ["other"] if lists else "other")]

    assert [s.text for s in bind(sql, lambda _: value)] == expected


@settings(deadline=None)
@given(st.text() | st.sampled_from(['"', 'a"b', "a.b", '"a"', 'a";--', "x" * 64, "", "ä"]))
def test_a_name_is_pasted_only_when_it_is_a_plain_one(value: str) -> None:
    for sql in ('SELECT "{{ v }}"', "SELECT {{ v | ident }}"):
        try:
            (statement,) = bind(sql, lambda _: value)
        except Failed:
            continue
        name = statement.text.removeprefix("SELECT ")
        assert name.strip('"').replace('"."', "").replace("_", "").replace("$", "").isalnum()
        assert name.isascii()


@pytest.mark.parametrize(
    ("sql", "parts"),
    [
        ("SELECT 1; SELECT 2", ["SELECT 1", "SELECT 2"]),
        (";; SELECT 1 ;; -- done\n", ["SELECT 1"]),
        ("SELECT ';', \";\", $$;$$, $a$;$$;$a$, E'\\';' ; SELECT 2", None),
        ("SELECT 1 -- ; \n; SELECT 2", ["SELECT 1 -- ;", "SELECT 2"]),
        ("SELECT 1 /* ; /* ; */ ; */; SELECT 2", ["SELECT 1 /* ; /* ; */ ; */", "SELECT 2"]),
        ("CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2); SELECT 3", None),
        (
            "CREATE OR REPLACE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1;"
            " SELECT CASE WHEN true THEN 2 END; END; SELECT 3",
            None,
        ),
        ("SELECT CASE WHEN a THEN 1 END; SELECT 2", ["SELECT CASE WHEN a THEN 1 END", "SELECT 2"]),
        ("SELECT a$b$c; SELECT $1; SELECT 1$$;$$", ["SELECT a$b$c", "SELECT $1", "SELECT 1$$;$$"]),
        ("", []),
    ],
)
def test_a_script_is_split_where_its_statements_end(sql: str, parts: list[str] | None) -> None:
    found = texts(sql)

    assert len(found) == (2 if parts is None else len(parts))
    assert parts in (None, found)


FRAGMENTS = st.lists(
    st.sampled_from(
        [
            "SELECT 1",
            ";",
            " ",
            "'a;b'",
            '"q;"',
            "$$;$$",
            "$t$;'$t$",
            "--;\n",
            "/*;*/",
            "x",
            "E'\\';'",
            "'it''s'",
            "1.5",
            "::",
            "(",
            ")",
            "[1:2]",
            "a$b",
            "\n",
            "{'k': 1}",
            "%",
            "'%s'",
        ]
    ),
    max_size=12,
)


@settings(deadline=None)
@given(FRAGMENTS)
def test_cutting_loses_nothing(fragments: list[str]) -> None:
    sql = "".join(fragments)
    try:
        pieces = list(tokens(sql, MARKS[0]))
    except Failed:
        return

    assert "".join(piece.text for piece in pieces) == sql


def test_duckdb_finds_the_same_statements() -> None:
    with duckdb.connect() as connection:

        @settings(deadline=None)
        @given(FRAGMENTS)
        def agree(fragments: list[str]) -> None:
            sql = "".join(fragments)
            try:
                expected = connection.extract_statements(sql)
            except duckdb.Error:
                return
            assert len(split(sql)) == len(expected)

        agree()


@settings(deadline=None)
@given(st.text(alphabet="%s'\"$ {}a-/*;:", max_size=30), st.sampled_from(["x", 1, None]))
def test_percent_signs_survive_with_values_and_without(text: str, value: object) -> None:
    try:
        plain = bind(text, lambda _: value)
        added = bind(f"{text} , {{{{ v }}}}", lambda _: value)
    except Failed:
        return

    if len(plain) == len(added) == 1 and not plain[0].values and "--" not in text:
        assert numbered(plain[0]) == plain[0].text
        assert numbered(added[0]).startswith(plain[0].text)


def test_hard_texts_are_cut_in_time() -> None:
    started = time.perf_counter()
    for text in ("'" * 50_001, "$a$" * 30_001, "/*" * 50_000, "E'" + "\\" * 100_001, "(" * 50_000):
        try:
            bind(text + "{{ v }}", lambda _: 1)
        except Failed:
            continue

    assert time.perf_counter() - started < 5


def test_first_words_skip_comments() -> None:
    assert first_words("/* x */ -- y\n alter TABLE t ADD a int") == ("ALTER", "TABLE", "T", "ADD")


def test_params_by_name_leave_casts_slices_and_literals_alone() -> None:
    sql = "SELECT :a, b::int, ':a', \":a\", c[1:a], c[:n], {'k':a}, :a -- :a"

    (found,) = with_params(split(sql), {"a": 1})

    assert found.text == "SELECT %s, b::int, ':a', \":a\", c[1:a], c[:n], {'k':a}, %s -- :a"
    assert found.values == (1, 1)


def test_params_in_order_stand_between_values_that_were_bound_before() -> None:
    statements = bound("SELECT %s, {{ v }}, '%s', 5 %s, %s; SELECT %s % 2", v="x")

    first, second = with_params(statements, [1, 2, 3, 4])

    assert first == Statement("SELECT %s, %s, '%%s', 5 %s, %s", (1, "x", 2, 3))
    assert second == Statement("SELECT %s %% 2", (4,))


@pytest.mark.parametrize(
    ("sql", "params", "why"),
    [
        ("SELECT :a", {}, "no 'a'"),
        ("SELECT %s, %s", [1], "fewer"),
        ("SELECT %s", [1, 2], "1 more"),
        ("SELECT 1", "x", "neither"),
    ],
)
def test_params_that_do_not_fit_are_refused(sql: str, params: object, why: str) -> None:
    with pytest.raises(Failed, match=why):
        with_params(split(sql), params)


def test_base64_is_a_script_in_which_nothing_is_rendered() -> None:
    assert decoded(["U0VMRUNUIDE7IFNFTEVDVCAn\ne3sgeCB9fSc="]) == (
        Statement("SELECT 1"),
        Statement("SELECT '{{ x }}'"),
    )
    with pytest.raises(Failed, match="base64"):
        decoded(["///////="])


def test_secrets_are_found_in_lists_and_maps_and_masked_in_messages() -> None:
    statement = Statement("", ([Secret("one")], {"a": Secret("one-two")}, "three"))

    assert masked("one-two, one, three", secrets_in([statement])) == "••••••, ••••••, three"
