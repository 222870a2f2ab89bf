import asyncio
import json
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.calls import Call, Failed, HandedBack, Task
from noetl_mcp.tasks.duckdb import Duckdb
from noetl_mcp.tasks.file import File
from noetl_mcp.tasks.postgres import Postgres
from noetl_mcp.tasks.save_rows import groups, rows_of, table_name
from noetl_mcp.tasks.save_targets import (
    DuckdbTarget,
    FileTarget,
    HttpTarget,
    PostgresTarget,
    PythonTarget,
)
from noetl_mcp.tasks.saves import SaveFile, SaveHttp, SavePython
from noetl_mcp.tasks.saves_sql import SaveDuckdb, SavePostgres
from noetl_mcp.tasks.specs_data import FileSettings
from tests.tasks.calling import Around, call


class Place:
    """A database that a save goes to, and what another connection sees of it."""

    def __init__(self, where: str) -> None:
        self.where = where

    def save(
        self, data: Json, *, mode: str = "append", key: list[str] | None = None, **more: Any
    ) -> Any:
        given = {name: more.pop(name) for name in ("once", "names", "around") if name in more}
        wish: Json = {"data": data, "mode": mode, "key": [*(key or [])]}
        step = {name: value for name, value in given.items() if name != "once"}
        return asyncio.run(self._save(more, input=wish, key=given.get("once", ""), **step))

    def refused(self, data: Json, **more: Any) -> Failed:
        with pytest.raises(Failed) as caught:
            self.save(data, **more)
        return caught.value

    async def _save(self, settings: dict[str, Any], **step: Any) -> Json:
        raise NotImplementedError

    def ask(self, sql: str) -> list[Any]:
        raise NotImplementedError


class InPostgres(Place):
    async def _save(self, settings: dict[str, Any], **step: Any) -> Json:
        postgres = Postgres()
        task: Task = SavePostgres(postgres=postgres)
        try:
            return await task.execute(
                call("save.postgres", PostgresTarget(dsn=self.where, **settings), **step)
            )
        finally:
            await task.close()
            await postgres.close()

    def ask(self, sql: str) -> list[Any]:
        with psycopg.connect(self.where, autocommit=True) as connection:
            cursor = connection.execute(sql)
            return cursor.fetchall() if cursor.description else []


class InDuckdb(Place):
    async def _save(self, settings: dict[str, Any], **step: Any) -> Json:
        duck = Duckdb(folders=[Path(self.where).parent])
        task: Task = SaveDuckdb(duckdb=duck, default=self.where)
        try:
            return await task.execute(call("save.duckdb", DuckdbTarget(**settings), **step))
        finally:
            await task.close()
            await duck.close()

    def ask(self, sql: str) -> list[Any]:
        with duckdb.connect(self.where) as connection:
            return connection.execute(sql).fetchall()


@pytest.fixture(params=["postgres", "duckdb"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "duckdb":
        return InDuckdb(str(tmp_path / "saves.duckdb"))
    return InPostgres(request.getfixturevalue("empty_database"))


ROOMS: Json = [{"name": "Hall", "m2": 12}, {"name": "o'Bath; --", "m2": 6}]


def test_rows_go_into_a_table(place: Place) -> None:
    place.ask("CREATE TABLE rooms (name text, m2 int, note text DEFAULT 'new')")

    assert place.save(ROOMS, table="rooms") == {"saved": 2, "already": False}

    kept = [("Hall", 12, "new"), ("o'Bath; --", 6, "new")]
    assert place.ask("SELECT * FROM rooms ORDER BY m2 DESC") == kept


def test_a_single_map_is_one_row_and_no_rows_are_fine(place: Place) -> None:
    place.ask("CREATE TABLE rooms (name text)")

    assert place.save({"name": "Hall"}, table="rooms")["saved"] == 1
    assert place.save([], table="rooms")["saved"] == 0
    assert place.ask("SELECT * FROM rooms") == [("Hall",)]


@pytest.mark.parametrize("data", [None, 5, "text", [1], [{}], [{"a": 1}, 2]])
def test_what_is_no_row_is_refused(place: Place, data: Json) -> None:
    place.ask("CREATE TABLE rooms (a int)")

    assert place.refused(data, table="rooms").code == "no-rows"
    assert place.ask("SELECT * FROM rooms") == []


def test_values_take_the_types_of_their_columns(place: Place) -> None:
    place.ask(
        "CREATE TABLE t (d date, n numeric(10, 2), i int, l int[], j json, s text, b boolean)"
    )
    row: Json = {
        "d": "2024-02-29",
        "n": 1.25,
        "i": "7",
        "l": [1, None],
        "j": {"a": ["x"]},
        "s": {"b": 1},
        "b": True,
    }

    place.save(row, table="t")

    (kept,) = place.ask("SELECT d::text, n::text, i, l, j::text, s, b FROM t")
    assert kept[:4] == ("2024-02-29", "1.25", 7, [1, None])
    assert json.loads(kept[4]) == {"a": ["x"]}
    assert (json.loads(kept[5]), kept[6]) == ({"b": 1}, True)


def test_a_value_that_does_not_fit_fails_all_of_it(place: Place) -> None:
    place.ask("CREATE TABLE t (i int)")

    failed = place.refused([{"i": 1}, {"i": "x"}], table="t", once="1/a")

    assert not failed.retriable
    assert place.ask("SELECT * FROM t") == []
    assert place.save({"i": 2}, table="t", once="1/a")["saved"] == 1


def test_a_missing_table_is_made_when_that_is_wished_for(place: Place) -> None:
    rows: Json = [
        {"a": 1, "b": 1.5, "c": True, "d": "x", "e": [1], "f": None, "g": 2**70},
        {"a": 2, "b": 3, "h": {"x": 1}},
    ]

    assert place.refused(rows, table="t").code == "no-table"
    assert place.save([], table="t", make_table=True)["saved"] == 0
    assert place.save(rows, table="t", make_table=True)["saved"] == 2
    assert place.save({"a": 3}, table="t", make_table=True)["saved"] == 1

    kept = place.ask("SELECT a, b, c, d, f, g::text FROM t ORDER BY a")
    assert kept[0] == (1, 1.5, True, "x", None, str(2**70))
    assert [row[0] for row in kept] == [1, 2, 3]


def test_a_save_is_made_once(place: Place) -> None:
    place.ask("CREATE TABLE rooms (name text, m2 int)")

    first = place.save(ROOMS, table="rooms", once="7/areas/")
    again = place.save(ROOMS, table="rooms", once="7/areas/")
    other = place.save(ROOMS, table="rooms", once="8/areas/")

    assert (first["already"], again, other["saved"]) == (False, {"saved": 0, "already": True}, 2)
    assert place.ask("SELECT count(*) FROM rooms") == [(4,)]
    assert place.ask("SELECT key FROM noetl_saves ORDER BY key") == [("7/areas/",), ("8/areas/",)]


def test_statements_are_made_once_as_well(place: Place) -> None:
    place.ask("CREATE TABLE rooms (name text, n int)")
    sql = "INSERT INTO rooms VALUES ({{ name }}, :n); INSERT INTO rooms SELECT name, 2 FROM rooms"

    results = [
        place.save(None, sql=sql, params={"n": 1}, names={"name": "Hall"}, once="7/a")
        for _ in range(2)
    ]

    assert results == [{"saved": 2, "already": False}, {"saved": 0, "already": True}]
    assert place.ask("SELECT * FROM rooms ORDER BY n") == [("Hall", 1), ("Hall", 2)]


def test_a_failing_statement_keeps_nothing(place: Place) -> None:
    place.ask("CREATE TABLE rooms (name text)")

    place.refused(
        None, sql="INSERT INTO rooms VALUES ('x'); INSERT INTO nowhere VALUES (1)", once="1"
    )

    assert place.ask("SELECT * FROM rooms") == []
    assert place.save(None, sql="INSERT INTO rooms VALUES ('y')", once="1")["saved"] == 1


def test_an_upsert_changes_the_rows_that_are_there(place: Place) -> None:
    place.ask("CREATE TABLE rooms (name text PRIMARY KEY, m2 int, note text)")
    place.ask("INSERT INTO rooms VALUES ('Hall', 1, 'kept'), ('Attic', 9, 'left')")
    rows: Json = [{"name": "Hall", "m2": 5}, {"name": "Bath", "m2": 6}, {"name": "Hall", "m2": 12}]

    result = place.save(rows, table="rooms", mode="upsert", key=["name"])

    assert result["saved"] == 2
    assert sorted(place.ask("SELECT * FROM rooms")) == [
        ("Attic", 9, "left"),
        ("Bath", 6, None),
        ("Hall", 12, "kept"),
    ]


def test_an_upsert_into_a_table_it_makes_can_be_done_again(place: Place) -> None:
    for m2 in (12, 13):
        place.save(
            {"name": "Hall", "m2": m2}, table="t", mode="upsert", key=["name"], make_table=True
        )
    place.save({"name": "Hall"}, table="t", mode="upsert", key=["name"])

    assert place.ask("SELECT name, m2 FROM t") == [("Hall", 13)]


def test_an_upsert_needs_a_key_in_every_row_and_an_index_in_the_table(place: Place) -> None:
    place.ask("CREATE TABLE rooms (name text, m2 int)")

    without = place.refused({"m2": 1}, table="rooms", mode="upsert", key=["name"])
    keyless = place.refused({"name": "x"}, table="rooms", mode="upsert")

    assert without.code == keyless.code == "no-key"
    failed = place.refused({"name": "x"}, table="rooms", mode="upsert", key=["name"])
    assert "key" in failed.message.lower()


def test_an_overwrite_leaves_only_the_new_rows(place: Place) -> None:
    place.ask("CREATE TABLE rooms (name text PRIMARY KEY)")
    place.ask("INSERT INTO rooms VALUES ('Hall'), ('Attic')")

    place.save([{"name": "Hall"}, {"name": "Bath"}], table="rooms", mode="overwrite")
    assert sorted(place.ask("SELECT name FROM rooms")) == [("Bath",), ("Hall",)]

    place.save([], table="rooms", mode="overwrite")
    assert place.ask("SELECT name FROM rooms") == []


def test_rows_go_in_chunks_and_keep_their_order(place: Place) -> None:
    place.ask("CREATE SEQUENCE s")
    place.ask("CREATE TABLE t (n bigint DEFAULT nextval('s'), a int)")

    assert place.save([{"a": n} for n in range(25)], table="t", chunk_size=10)["saved"] == 25

    assert [a for _, a in place.ask("SELECT n, a FROM t ORDER BY n")] == list(range(25))


def test_names_may_differ_in_capitals_and_hold_anything(place: Place) -> None:
    place.ask('CREATE TABLE Rooms (Name text, "a ""b% %s" int)')

    place.save({"NAME": "Hall", 'a "b% %s': 1}, table="ROOMS")

    assert place.ask("SELECT * FROM rooms") == [("Hall", 1)]
    assert place.refused({"nome": "x"}, table="rooms").code == "no-column"
    assert place.refused({"name": "x", "Name": "y"}, table="rooms").code == "no-column"


def test_a_table_may_be_in_a_schema(place: Place) -> None:
    place.ask("CREATE SCHEMA house")
    place.save({"a": 1}, table="house.rooms", make_table=True)
    place.save({"a": 2}, table='"house"."rooms"')

    assert place.ask("SELECT a FROM house.rooms ORDER BY a") == [(1,), (2,)]


@pytest.mark.parametrize(
    "name", ["rooms; DROP TABLE rooms", 'rooms" (a) --', "a..b", '"a', "x.y.z.w"]
)
def test_the_name_of_a_table_is_never_more_than_a_name(place: Place, name: str) -> None:
    place.ask("CREATE TABLE rooms (a int)")

    assert place.refused({"a": 1}, table=name).code == "no-table"
    assert place.ask("SELECT * FROM rooms") == []


def test_no_save_is_made_under_a_lease_that_may_be_gone(place: Place) -> None:
    with pytest.raises(HandedBack):
        place.save({"a": 1}, table="t", make_table=True, around=Around(holds=False))


def test_two_saves_with_one_key_at_once_are_made_once(empty_database: str) -> None:
    with psycopg.connect(empty_database, autocommit=True) as connection:
        connection.execute("CREATE TABLE t (a int)")

    async def many() -> list[Any]:
        postgres = Postgres()
        task = SavePostgres(postgres=postgres)
        target = PostgresTarget(dsn=empty_database, table="t")
        made = [
            task.execute(call("save.postgres", target, input={"data": {"a": 1}}, key=f"k{n % 2}"))
            for n in range(8)
        ]
        try:
            return await asyncio.gather(*made)
        finally:
            await postgres.close()

    results = asyncio.run(many())

    assert sum(one["saved"] for one in results) == 2
    assert sum(one["already"] for one in results) == 6


def test_the_credential_of_the_save_names_the_server(empty_database: str) -> None:
    async def save() -> Any:
        postgres = Postgres()
        target = PostgresTarget(table="t", make_table=True)
        made = call(
            "save.postgres", target, input={"data": {"a": 1}}, auth={"": {"dsn": empty_database}}
        )
        try:
            return await SavePostgres(postgres=postgres).execute(made)
        finally:
            await postgres.close()

    assert asyncio.run(save()) == {"saved": 1, "already": False}


def test_a_duckdb_save_needs_a_file(tmp_path: Path) -> None:
    async def save() -> Any:
        duck = Duckdb(folders=[tmp_path])
        try:
            made = call("save.duckdb", DuckdbTarget(table="t"), input={"data": {"a": 1}})
            return await SaveDuckdb(duckdb=duck).execute(made)
        finally:
            await duck.close()

    with pytest.raises(Failed, match="name a database file"):
        asyncio.run(save())


def in_file(folder: Path, path: str, data: Json, mode: str = "append", **more: Any) -> Any:
    task = SaveFile(file=File(folders=[folder]))
    wish: Json = {"data": data, "mode": mode, "key": more.pop("key", None)}
    made = call("save.file", FileTarget(path=path, **more), input=wish)
    return asyncio.run(task.execute(made))


@pytest.mark.parametrize("path", ["rooms.json", "rooms.jsonl", "rooms.yaml"])
def test_an_upsert_of_a_file_replaces_rows_with_the_same_key(tmp_path: Path, path: str) -> None:
    def upsert(*rows: Json) -> Json:
        saved: Json = in_file(tmp_path, path, [*rows], "upsert", key=["floor", "name"])
        return saved

    upsert({"floor": 1, "name": "Hall", "m2": 12, "door": "D1"}, {"floor": 1, "name": "Bath"})
    upsert({"floor": 1, "name": "Hall", "m2": 13}, {"floor": 2, "name": "Hall", "m2": 9})
    again = upsert({"floor": 2, "name": "Hall", "m2": 9})

    found = asyncio.run(File(folders=[tmp_path]).execute(call("file", FileSettings(path=path))))
    assert again == {"saved": 1, "path": path}
    assert isinstance(found, dict)
    assert found["content"] == [
        {"floor": 1, "name": "Hall", "m2": 13, "door": "D1"},
        {"floor": 1, "name": "Bath"},
        {"floor": 2, "name": "Hall", "m2": 9},
    ]


def test_an_upsert_of_a_csv_knows_its_rows_by_their_texts(tmp_path: Path) -> None:
    in_file(tmp_path, "a.csv", [{"n": 1, "a": True}, {"n": 2, "a": None}], "upsert", key=["n"])
    in_file(tmp_path, "a.csv", {"n": 2, "a": "x"}, "upsert", key=["n"])

    assert (tmp_path / "a.csv").read_text() == "n,a\n1,true\n2,x\n"


@pytest.mark.parametrize(
    ("path", "data", "key", "words"),
    [
        ("a.json", [{"a": 1}], [], "needs 'key'"),
        ("a.json", [{"a": 1}], ["b"], "a row has no b"),
        ("a.json", "text", ["a"], "a table takes a map"),
        ("a.txt", "text", ["a"], "needs a file of rows"),
    ],
)
def test_an_upsert_of_a_file_that_cannot_be_made_says_why(
    tmp_path: Path, path: str, data: Json, key: list[str], words: str
) -> None:
    with pytest.raises(Failed, match=words) as told:
        in_file(tmp_path, path, data, "upsert", key=key)

    assert not told.value.retriable
    assert not (tmp_path / path).exists()


def test_what_is_in_the_file_must_be_rows(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[1, 2]")

    with pytest.raises(Failed, match="a map, or a list of maps"):
        in_file(tmp_path, "a.json", [{"a": 1}], "upsert", key=["a"])


def test_a_file_of_tables_is_no_place_for_text(tmp_path: Path) -> None:
    with pytest.raises(Failed, match=r"'a.parquet' is to be a Parquet file: read it with 'tables'"):
        in_file(tmp_path, "a.parquet", [{"a": 1}])

    assert not (tmp_path / "a.parquet").exists()


def test_a_file_takes_the_data_in_its_form(tmp_path: Path) -> None:
    assert in_file(tmp_path, "a/rooms.json", ROOMS, "overwrite") == {
        "saved": 2,
        "path": "a/rooms.json",
    }
    in_file(tmp_path, "a/rooms.json", {"name": "Attic"})
    in_file(tmp_path, "rooms.csv", ROOMS)
    in_file(tmp_path, "rooms.csv", [{"name": "Attic"}])
    in_file(tmp_path, "log.txt", "one\n")
    in_file(tmp_path, "log.txt", "two\n")
    in_file(tmp_path, "text.json", "a text", "overwrite")

    assert json.loads((tmp_path / "a/rooms.json").read_text())[2] == {"name": "Attic"}
    assert (tmp_path / "rooms.csv").read_text() == "name,m2\nHall,12\no'Bath; --,6\nAttic,\n"
    assert (tmp_path / "log.txt").read_text() == "one\ntwo\n"
    assert (tmp_path / "text.json").read_text() == '"a text"\n'


def test_a_file_outside_of_the_folders_takes_nothing(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()

    with pytest.raises(Failed, match="outside"):
        in_file(tmp_path / "in", "../x.json", ROOMS)

    assert [one.name for one in tmp_path.iterdir()] == ["in"]


class Echo:
    """A task that answers with what it was given."""

    async def execute(self, call: Call) -> Json:
        return {"task": call.task, "input": call.input, "key": call.key}

    async def close(self) -> None:
        pass


def test_a_server_and_a_function_get_the_data_as_their_input() -> None:
    given: Json = {"data": ROOMS, "mode": "append", "key": []}
    to_server = call("save.http", HttpTarget(url="http://x/"), input=given, key="k")
    to_function = call("save.python", PythonTarget(code="def main(data): return 1"), input=given)

    http = asyncio.run(SaveHttp(http=Echo()).execute(to_server))
    python = asyncio.run(SavePython(python=Echo()).execute(to_function))

    assert http == {"saved": 1, "answer": {"task": "http", "input": ROOMS, "key": "k"}}
    assert python == {"saved": 1, "answer": {"task": "python", "input": ROOMS, "key": "1/step/1"}}


def test_rows_with_other_keys_form_groups_of_their_own() -> None:
    rows = rows_of([{"a": 1, "b": 2}, {"b": 3, "a": 4}, {"a": 5}, {"a": 6}, {"a": 7}])

    assert [(names, len(group)) for names, group in groups(rows, 2)] == [
        (("a", "b"), 2),
        (("a",), 2),
        (("a",), 1),
    ]


def test_the_name_of_a_table_has_parts() -> None:
    assert table_name('a."b.c"') == ("a", "b.c")
