"""What is sealed opens only here, under its own name, and is never shown."""

import base64
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl_mcp.catalog.credential_types import TYPES, problem_of
from noetl_mcp.catalog.credentials import (
    Credential,
    Credentials,
    WrongCredential,
    credentials_at,
    seal,
    unseal,
)
from noetl_mcp.catalog.keys import (
    KEY_FILE,
    BadKey,
    id_of,
    keys_at,
    make_key_file,
    new_key,
    read_keys,
)
from noetl_mcp.database import Connection, TupleRow, connect
from noetl_mcp.tasks.credentials import known_by
from noetl_mcp.tasks.http_tokens import TYPES as GETS_TOKENS
from noetl_mcp.tasks.postgres import conninfo
from noetl_mcp.tasks.specs_data import PostgresServer

OLD, NEW = new_key(), new_key()
KEYS = read_keys(OLD, "a test")
FIELDS: dict[str, Any] = {"token": "hush-hush", "key": 5432}


@pytest.fixture
def connection(database: str) -> Iterator[Connection[TupleRow]]:
    with closing(connect(database, application_name="tests")) as opened:
        yield opened


@pytest.fixture
def store(connection: Connection[TupleRow]) -> Credentials:
    return Credentials(connection, KEYS)


# Sealing


@given(
    st.dictionaries(
        st.text(max_size=9), st.text(max_size=50) | st.integers(-9, 9) | st.none(), max_size=4
    )
)
def test_what_is_sealed_opens_again(fields: dict[str, Any]) -> None:
    sealed = seal(KEYS, "a", "bearer", fields)

    assert unseal(KEYS, "a", "bearer", KEYS.current, sealed) == fields


def test_the_same_fields_are_never_sealed_alike_nor_to_be_read() -> None:
    one, other = (seal(KEYS, "a", "bearer", FIELDS) for _ in range(2))

    assert one != other
    assert b"hush" not in one


@pytest.mark.parametrize(("name", "kind"), [("b", "bearer"), ("a", "basic")])
def test_what_was_sealed_for_another_name_or_type_does_not_open(name: str, kind: str) -> None:
    sealed = seal(KEYS, "a", "bearer", FIELDS)

    with pytest.raises(WrongCredential, match="was changed outside"):
        unseal(KEYS, name, kind, KEYS.current, sealed)


@pytest.mark.parametrize("place", [0, 1, 13, -1])
def test_a_changed_byte_is_found_out(place: int) -> None:
    sealed = bytearray(seal(KEYS, "a", "bearer", FIELDS))
    sealed[place] ^= 1

    with pytest.raises(WrongCredential, match="was changed outside"):
        unseal(KEYS, "a", "bearer", KEYS.current, bytes(sealed))


@pytest.mark.parametrize("sealed", [b"", b"\x01", b"\x01" + b"0" * 12])
def test_a_text_that_was_never_sealed_does_not_open(sealed: bytes) -> None:
    with pytest.raises(WrongCredential, match="was changed outside"):
        unseal(KEYS, "a", "bearer", KEYS.current, sealed)


def test_a_key_that_is_not_here_is_named() -> None:
    sealed = seal(KEYS, "a", "bearer", FIELDS)

    for keys in (None, read_keys(NEW, "a test")):
        with pytest.raises(WrongCredential, match=f"the key {KEYS.current}, which is not here"):
            unseal(keys, "a", "bearer", KEYS.current, sealed)


def test_an_older_key_still_opens_and_only_the_first_one_seals() -> None:
    sealed = seal(KEYS, "a", "bearer", FIELDS)
    both = read_keys(f"{NEW}, {OLD}", "a test")

    assert unseal(both, "a", "bearer", KEYS.current, sealed) == FIELDS
    assert both.current == read_keys(NEW, "a test").current


def test_nothing_that_prints_shows_a_value_or_a_key() -> None:
    shown = repr(Credential("a", "bearer", FIELDS)) + repr(KEYS)

    assert "hush" not in shown
    assert repr(KEYS.by_id[KEYS.current])[2:-1] not in shown


# Keys


@pytest.mark.parametrize(
    "text", ["short", "?" * 44, new_key()[:-4], f"{new_key()} x", "é" * 44], ids=range(5)
)
def test_what_is_no_key_is_refused_without_being_shown(text: str) -> None:
    with pytest.raises(BadKey, match="is no key") as caught:
        read_keys(text, "NOETL_CREDENTIAL_KEY")

    assert text not in str(caught.value)


def test_a_key_may_be_written_for_urls() -> None:
    key = b"\xfb\xef\xff" * 10 + b"xx"

    read = read_keys(base64.urlsafe_b64encode(key).decode(), "a test")

    assert dict(read.by_id) == {id_of(key): key}


def test_the_text_wins_over_the_file(tmp_path: Path) -> None:
    make_key_file(tmp_path)

    assert keys_at(tmp_path, OLD) == KEYS
    assert keys_at(tmp_path, " ") != KEYS


def test_without_a_text_and_a_file_there_is_no_key(tmp_path: Path) -> None:
    assert keys_at(tmp_path / "nowhere", None) is None


def test_the_key_file_is_made_for_its_owner_alone_and_kept(tmp_path: Path) -> None:
    home = tmp_path / "deep" / "home"

    made = make_key_file(home)

    assert (home / KEY_FILE).stat().st_mode & 0o777 == 0o600
    assert make_key_file(home) == made == keys_at(home, None)
    assert os.listdir(home) == [KEY_FILE]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_key_file_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    make_key_file(tmp_path)
    (tmp_path / KEY_FILE).chmod(mode)

    with pytest.raises(BadKey, match="chmod 600"):
        keys_at(tmp_path, None)


def test_a_key_file_that_is_none_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / KEY_FILE, 0o600)

    with pytest.raises(BadKey, match="is no file"):
        keys_at(tmp_path, None)


def test_an_empty_key_file_is_refused_and_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / KEY_FILE
    path.touch(mode=0o600)

    with pytest.raises(BadKey, match="holds no key"):
        make_key_file(tmp_path)
    assert path.read_text() == ""


MAKE = """
import sys
from pathlib import Path
from noetl_mcp.catalog.keys import make_key_file
sys.stdin.read()
print(make_key_file(Path(sys.argv[1])).current)
"""


def test_many_who_make_the_key_at_once_get_the_same_one(tmp_path: Path) -> None:
    makers = [
        subprocess.Popen(
            [sys.executable, "-c", MAKE, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for _ in range(3)
    ]

    for maker in makers:
        assert maker.stdin is not None
        maker.stdin.close()
        maker.stdin = None
    made = {maker.communicate()[0] for maker in makers}

    assert len(made) == 1
    assert os.listdir(tmp_path) == [KEY_FILE]


# Stored


def test_a_stored_credential_comes_back_whole(store: Credentials) -> None:
    store.set("wiki", "bearer", FIELDS)

    found = store.get("wiki")

    assert (found.name, found.type, dict(found.fields)) == ("wiki", "bearer", FIELDS)
    assert found.as_auth() == {"type": "bearer", **FIELDS}


def test_no_value_stands_in_the_database(
    store: Credentials, connection: Connection[TupleRow]
) -> None:
    store.set("wiki", "bearer", FIELDS)

    (row,) = connection.execute("select c::text, sealed from noetl.credential c").fetchall()

    assert "hush" not in row[0]
    assert b"hush" not in bytes(row[1])


def test_setting_again_replaces_all_of_it(store: Credentials) -> None:
    store.set("wiki", "bearer", FIELDS)
    before = store.names()[0].updated_at

    store.set("wiki", "basic", {"username": "ann"})

    assert store.get("wiki").as_auth() == {"type": "basic", "username": "ann"}
    assert store.names()[0].updated_at > before


def test_the_list_is_in_order_and_has_no_values(store: Credentials) -> None:
    for name in ("b", "a"):
        store.set(name, "bearer", FIELDS)

    listed = store.names()

    assert [(one.name, one.type, one.key_id) for one in listed] == [
        ("a", "bearer", KEYS.current),
        ("b", "bearer", KEYS.current),
    ]
    assert "hush" not in repr(listed)


def test_what_was_deleted_is_gone(store: Credentials) -> None:
    store.set("wiki", "bearer", FIELDS)

    assert store.delete("wiki")
    assert not store.delete("wiki")
    assert store.names() == ()


def test_a_credential_that_is_not_there_is_told_with_the_nearest(store: Credentials) -> None:
    store.set("wiki_token", "bearer", FIELDS)

    with pytest.raises(WrongCredential, match="did you mean 'wiki_token'"):
        store.get("wiki_tokn")


def test_a_row_that_was_renamed_in_the_database_does_not_open(
    store: Credentials, connection: Connection[TupleRow]
) -> None:
    store.set("low", "bearer", FIELDS)
    connection.execute("update noetl.credential set name = 'high'")

    with pytest.raises(WrongCredential, match="'high' was changed outside"):
        store.get("high")


@pytest.mark.parametrize(
    ("name", "kind", "fields", "says"),
    [
        ("", "bearer", FIELDS, "is no name for a credential"),
        ("a b", "bearer", FIELDS, "is no name for a credential"),
        ("a" * 201, "bearer", FIELDS, "is no name for a credential"),
        ("a", "Bearer!", FIELDS, "is no type"),
        ("a", "bearer", {}, "has no fields"),
        ("a", "bearer", {"type": "x"}, "beside its fields"),
        ("a", "bearer", {" ": "x"}, "is no name for a field"),
        ("a", "bearer", {"token": float}, "is no JSON"),
        ("a", "bearer", {"token": "\ud800"}, "is no JSON"),
        ("a", "bearer", {"token": "x" * 70_000}, "more than 65,536"),
        ("a", "bearr", FIELDS, "'bearr' is no type of a credential; did you mean 'bearer'?"),
        ("a", "postgre", {"host": "h"}, "did you mean 'postgres'?"),
        ("a", "bearer", {"tokn": "hush"}, "has no field 'tokn'; did you mean 'token'?"),
        ("a", "basic", {"username": "a", "host": "hush"}, "it takes username, password$"),
        ("a", "bearer", {"token": " "}, r"needs 'token' \(or access_token, key, value\)"),
        ("a", "basic", {"password": "hush"}, "needs 'username'"),
        ("a", "api-key", {"header": "X-Key"}, "needs 'key'"),
        ("a", "header", {"name": "X-Key"}, "needs 'value'"),
        ("a", "postgres", {"hst": "hush"}, "has no field 'hst'; did you mean 'host'?"),
    ],
)
def test_what_cannot_be_a_credential_is_refused(
    store: Credentials, name: str, kind: str, fields: Any, says: str
) -> None:
    with pytest.raises(WrongCredential, match=says) as caught:
        store.set(name, kind, fields)

    assert "hush" not in str(caught.value)
    assert store.names() == ()


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("api-key", {"key": "k", "query": "q"}),
        ("http_basic", {"user": "ann"}),
        ("postgresql", {"url": "postgresql://a@b/c"}),
        ("postgres", {"user": "ann", "password": "hush"}),
        ("snowflake", {"account": "a", "role": "r"}),
        ("custom", {"anything": [1, {"b": None}]}),
    ],
)
def test_other_spellings_are_known_and_unknown_types_take_anything(
    store: Credentials, kind: str, fields: dict[str, Any]
) -> None:
    store.set("a", kind, fields)

    assert store.get("a").as_auth() == {"type": kind, **fields}


DATABASES = {"postgres", "postgresql"}


def test_every_spelling_of_a_type_that_gets_tokens_may_be_stored() -> None:
    assert set(TYPES) >= GETS_TOKENS


@pytest.mark.parametrize("kind", sorted(set(TYPES) - GETS_TOKENS - DATABASES))
def test_a_request_can_use_every_spelling_that_may_be_stored(kind: str) -> None:
    known = TYPES[kind]
    usual = {group[0]: "x" for group in known.needs}

    for group in known.needs:
        for name in group:
            fields: dict[str, Any] = {**usual, name: "x"} if name != group[0] else usual
            spelt = {key: value for key, value in fields.items() if key != group[0]} | {name: "x"}
            assert problem_of(kind, spelt) is None
            assert known_by({"": {"type": kind, **spelt}}).secrets


def test_a_database_can_use_every_spelling_that_may_be_stored() -> None:
    server = PostgresServer(host=None, dsn=None)

    for name in TYPES["postgres"].names:
        lent: dict[str, Any] = {"host": "h", name: "9"}
        if name in ("dsn", "db_conn_string", "connection_string", "url"):
            lent = {name: "host=9"}
        assert problem_of("postgres", lent) is None
        assert "9" in conninfo(server, {"": {"type": "postgres", **lent}})


def test_without_a_key_names_are_listed_and_nothing_is_stored(
    connection: Connection[TupleRow], store: Credentials
) -> None:
    store.set("wiki", "bearer", FIELDS)
    blind = Credentials(connection, None)

    assert len(blind.names()) == 1
    with pytest.raises(WrongCredential, match="NOETL_CREDENTIAL_KEY"):
        blind.set("other", "bearer", FIELDS)


def test_a_new_key_takes_over_what_the_old_one_sealed(
    connection: Connection[TupleRow], store: Credentials
) -> None:
    for name in ("a", "b"):
        store.set(name, "bearer", FIELDS)
    turning = Credentials(connection, read_keys(f"{NEW} {OLD}", "a test"))

    assert (turning.reseal(), turning.reseal()) == (2, 0)

    after = Credentials(connection, read_keys(NEW, "a test"))
    assert dict(after.get("b").fields) == FIELDS
    with pytest.raises(WrongCredential, match="which is not here"):
        store.get("b")


def test_the_first_key_is_made_when_the_first_credential_is_set(
    connection: Connection[TupleRow], tmp_path: Path
) -> None:
    assert credentials_at(connection, tmp_path, None).names() == ()
    assert not (tmp_path / KEY_FILE).exists()

    credentials_at(connection, tmp_path, None, may_make_key=True).set("a", "bearer", FIELDS)

    assert dict(credentials_at(connection, tmp_path, None).get("a").fields) == FIELDS


def test_no_second_key_is_made_beside_credentials_of_another(
    store: Credentials, connection: Connection[TupleRow], tmp_path: Path
) -> None:
    store.set("wiki", "bearer", FIELDS)

    with pytest.raises(WrongCredential, match=KEYS.current):
        credentials_at(connection, tmp_path, None, may_make_key=True)
    assert not (tmp_path / KEY_FILE).exists()
