import asyncio
import hashlib
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks import file_storage as storage
from noetl_mcp.tasks.calls import Failed, HandedBack
from noetl_mcp.tasks.file import File, added_to
from noetl_mcp.tasks.file_formats import decoded, encoded
from noetl_mcp.tasks.folders import Folders
from noetl_mcp.tasks.specs_data import FileSettings
from tests.tasks.calling import Around, call


def run(folder: Path, path: str, action: str = "read", *, given: Json = None, **more: Any) -> Any:
    task = File(folders=[folder])
    settings = FileSettings(path=path, action=action, **more)
    return asyncio.run(task.execute(call("file", settings, input=given)))


def refusal(folder: Path, path: str, action: str = "read", **more: Any) -> Failed:
    with pytest.raises(Failed) as caught:
        run(folder, path, action, **more)
    return caught.value


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    written = run(tmp_path, "a/b.txt", "write", content="äöü\n")

    assert written == {"path": "a/b.txt", "size": 7}
    assert run(tmp_path, "a/b.txt") == {
        "path": "a/b.txt",
        "exists": True,
        "size": 7,
        "content": "äöü\n",
    }


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        ("a.json", {"a": [1, None]}, '{\n  "a": [\n    1,\n    null\n  ]\n}\n'),
        ("a.json", '{"a":1}', '{"a":1}'),
        ("a.txt", {"a": 1}, '{\n  "a": 1\n}\n'),
        ("a.jsonl", [{"a": 1}, "x"], '{"a": 1}\n"x"\n'),
        ("a.NDJSON", {"a": 1}, '{"a": 1}\n'),
        ("a.yaml", {"a": [1, {"b": "yes"}], "c": {}}, 'a:\n  - 1\n  -\n    b: "yes"\nc: {}\n'),
        ("a.csv", [{"a": 1, "b": "x,y"}, {"b": None, "c": [1]}], 'a,b,c\n1,"x,y",\n,,[1]\n'),
        ("a.csv", [["a", 1], [True]], "a,1\ntrue\n"),
    ],
)
def test_a_value_is_written_as_the_ending_says(
    tmp_path: Path, path: str, value: Json, text: str
) -> None:
    run(tmp_path, path, "write", content=value)

    assert (tmp_path / path).read_text() == text


def test_the_step_s_input_is_the_content_where_none_is_given(tmp_path: Path) -> None:
    run(tmp_path, "a.json", "write", given={"a": 1})

    assert run(tmp_path, "a.json")["content"] == {"a": 1}


def test_bytes_come_and_go_in_base64(tmp_path: Path) -> None:
    run(tmp_path, "a.bin", "write", content="AP8=", format="base64")

    assert (tmp_path / "a.bin").read_bytes() == b"\x00\xff"
    assert run(tmp_path, "a.bin", format="base64")["content"] == "AP8="
    assert refusal(tmp_path, "a.bin").code == "wrong-format"


def test_a_csv_is_read_as_maps_of_texts(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('a,b\n1,"x\ny"\n\n2\n')

    rows = run(tmp_path, "a.csv")["content"]

    assert rows == [{"a": "1", "b": "x\ny"}, {"a": "2", "b": None}]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '{"a": 1'),
        ("a.jsonl", "1\n{\n"),
        ("a.yaml", "a: ["),
        ("a.yaml", "a: 1\na: 2"),
        ("a.csv", "a,a\n1,2\n"),
        ("a.csv", "a\n1,2\n"),
        ("a.csv", 'a\n"b" c\n'),
    ],
)
def test_a_broken_file_is_a_failure(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)

    assert refusal(tmp_path, name).code == "wrong-format"


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=20), inner),
    max_leaves=8,
)


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_any_value_comes_back_from_json_and_yaml(form: str) -> None:
    @settings(deadline=None)
    @given(JSON)
    def comes_back(value: Json) -> None:
        try:
            content = encoded(value, form, "utf-8")
        except Failed:
            return
        assert decoded(content, form, "utf-8") == value

    comes_back()


@settings(deadline=None)
@given(st.lists(JSON))
def test_any_list_comes_back_from_json_lines(values: list[Json]) -> None:
    assert decoded(encoded(values, "jsonl", "utf-8"), "jsonl", "utf-8") == values


@settings(deadline=None)
@given(st.lists(st.fixed_dictionaries({"a": st.text(min_size=1), "b": st.text()}), min_size=1))
def test_any_texts_come_back_from_csv(rows: list[Json]) -> None:
    if any("\0" in str(row) or "\\x00" in str(row) for row in rows):
        return

    assert decoded(encoded(rows, "csv", "utf-8"), "csv", "utf-8") == rows


@pytest.mark.parametrize("value", [float("nan"), {"a": float("inf")}, "\ud800"])
@pytest.mark.parametrize("form", ["json", "jsonl", "yaml"])
def test_what_has_no_form_in_a_file_is_refused(value: Json, form: str) -> None:
    with pytest.raises(Failed, match=r"content|form"):
        encoded(value, form, "utf-8")


@pytest.mark.parametrize(
    "path",
    ["../x", "/etc/passwd", "a/../../x", "", ".", "a\0b", "link/x", "link", "a/link2", "there"],
)
@pytest.mark.parametrize("action", ["read", "write", "append", "digest", "delete", "copy"])
def test_nothing_outside_of_the_folder_can_be_reached(
    tmp_path: Path, path: str, action: str
) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    (inside / "a").mkdir(parents=True)
    outside.mkdir()
    (outside / "x").write_text("secret")
    (tmp_path / "x").write_text("secret")
    (inside / "link").symlink_to(outside)
    (inside / "a" / "link2").symlink_to(outside / "x")
    os.mkfifo(inside / "there")

    if (path, action) in {("there", "delete"), ("there", "write")} or (
        path in ("link", "a/link2") and action in ("write", "delete")
    ):
        run(inside, path, action, content="gone")  # the link itself is replaced or removed
    else:
        refusal(inside, path, action, content="gone", to="copied")

    assert (outside / "x").read_text() == (tmp_path / "x").read_text() == "secret"
    assert sorted(one.name for one in outside.iterdir()) == ["x"]
    assert not (inside / "copied").exists()


@pytest.mark.parametrize("action", ["read", "append", "digest", "copy"])
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("folder", "'there' is a folder"),
        ("pipe", "'there' is no ordinary file, but a pipe, a socket"),
    ],
)
def test_what_is_no_file_is_called_what_it_is(
    tmp_path: Path, action: str, kind: str, words: str
) -> None:
    (os.mkdir if kind == "folder" else os.mkfifo)(tmp_path / "there")

    failed = refusal(tmp_path, "there", action, content="a", to="copied")

    assert failed.code == "not-a-file"
    assert words in failed.message


def test_the_allowed_folder_may_itself_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")

    run(tmp_path / "link", str(tmp_path / "link" / "a.txt"), "write", content="x")

    assert run(tmp_path / "link", str(tmp_path / "real" / "a.txt"))["content"] == "x"


def test_without_a_folder_nothing_is_allowed() -> None:
    with pytest.raises(Failed, match="NOETL_FILES"):
        Folders().place("x")


def test_of_several_folders_the_first_takes_relative_paths(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    folders = Folders([tmp_path / "one", tmp_path / "two"])

    assert folders.place("a").path == tmp_path / "one" / "a"
    assert folders.place(str(tmp_path / "two" / "a")).path == tmp_path / "two" / "a"


def test_what_replaces_a_link_may_not_be_written_by_everybody(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("old")
    (tmp_path / "a.txt").symlink_to(tmp_path / "there")
    (tmp_path / "plain.txt").write_text("made as files are made here")

    run(tmp_path, "a.txt", "write", given="new")

    assert (tmp_path / "there").read_text() == "old"
    assert (tmp_path / "a.txt").stat().st_mode == (tmp_path / "plain.txt").stat().st_mode


def test_what_is_no_ordinary_file_is_told(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.txt")

    assert "no ordinary file" in refusal(tmp_path, "a.txt").message


def test_a_file_is_replaced_at_once_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o640)
    before = path.open()

    run(tmp_path, "a.txt", "write", content="new")

    with before:
        assert before.read() == "old"
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert [one.name for one in tmp_path.iterdir()] == ["a.txt"]


def test_a_file_that_is_there_may_be_kept(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")

    assert refusal(tmp_path, "a.txt", "write", content="x", overwrite=False).code == "already-there"
    assert run(tmp_path, "b.txt", "write", content="x", overwrite=False)["size"] == 1
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.txt", "b.txt"]


def test_folders_are_made_unless_they_must_not_be(tmp_path: Path) -> None:
    assert refusal(tmp_path, "a/b", "write", content="x", make_folders=False).code == "no-such-file"

    run(tmp_path, "a/b", "write", content="x")

    assert (tmp_path / "a" / "b").read_text() == "x"


def test_something_is_added_in_the_form_of_the_file(tmp_path: Path) -> None:
    for name in ("t.txt", "t.jsonl", "t.csv", "t.json", "t.yaml"):
        for value in ({"a": 1, "b": "x"}, [{"b": "y"}]):
            run(tmp_path, name, "append", content="line\n" if name == "t.txt" else value)

    rows = [{"a": 1, "b": "x"}, {"b": "y"}]
    assert (tmp_path / "t.txt").read_text() == "line\nline\n"
    assert (tmp_path / "t.csv").read_text() == "a,b\n1,x\n,y\n"
    assert [run(tmp_path, f"t.{form}")["content"] for form in ("jsonl", "json", "yaml")] == [
        rows
    ] * 3


def test_a_line_is_never_added_to_half_a_line(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"a": 1}')

    run(tmp_path, "t.jsonl", "append", content={"a": 2})

    assert run(tmp_path, "t.jsonl")["content"] == [{"a": 1}, {"a": 2}]


def test_a_row_with_a_column_the_file_has_not_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\n1\n")

    failed = refusal(tmp_path, "t.csv", "append", content={"b": 1}, format="csv")

    assert "no column b" in failed.message
    assert (tmp_path / "t.csv").read_text() == "a\n1\n"


def test_many_may_add_to_one_file_at_once(tmp_path: Path) -> None:
    task = File(folders=[tmp_path])

    async def add(name: str, number: int) -> None:
        settings = FileSettings(path=name, action="append", content={"n": number})
        await task.execute(call("file", settings))

    async def add_all() -> None:
        await asyncio.gather(*(add(name, n) for n in range(20) for name in ("a.jsonl", "a.json")))

    asyncio.run(add_all())

    for name in ("a.jsonl", "a.json"):
        found = run(tmp_path, name)["content"]
        assert sorted(one["n"] for one in found) == list(range(20))


def test_a_longer_file_than_allowed_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("12345")

    for action in ("read", "digest"):
        assert refusal(tmp_path, "a.txt", action, max_bytes=4).code == "too-long"
    assert refusal(tmp_path, "b.txt", "write", content="12345", max_bytes=4).code == "too-long"
    assert refusal(tmp_path, "a.txt", "copy", to="b.txt", max_bytes=4).code == "too-long"
    assert not (tmp_path / "b.txt").exists()
    assert run(tmp_path, "a.txt", max_bytes=5)["content"] == "12345"


def test_a_digest_is_that_of_the_bytes(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"abc")

    found = run(tmp_path, "a.txt", "digest")

    assert found["sha256"] == hashlib.sha256(b"abc").hexdigest()


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("*", ["a", "b.txt", "link"]),
        ("*.txt", ["b.txt"]),
        ("**/*.txt", ["a/c.txt", "a/d/e.txt", "b.txt"]),
        ("**", ["a", "a/c.txt", "a/d", "a/d/e.txt", "b.txt", "link"]),
        ("a/?.txt", ["a/c.txt"]),
        ("a/[!c].txt", []),
        ("[ab]*", ["a", "b.txt"]),
        ("[a-c]*", ["a", "b.txt"]),
        ("[^a-c]*", ["link"]),
        ("[[&&-]*", []),
        ("**/**/e.txt", ["a/d/e.txt"]),
        ("*.(txt)", []),
    ],
)
def test_a_pattern_says_what_is_listed(tmp_path: Path, pattern: str, paths: list[str]) -> None:
    (tmp_path / "f" / "a" / "d").mkdir(parents=True)
    for name in ("b.txt", "a/c.txt", "a/d/e.txt"):
        (tmp_path / "f" / name).write_text("x")
    (tmp_path / "f" / "link").symlink_to("/")

    found = run(tmp_path, "f", "list", pattern=pattern)

    assert [one["path"] for one in found["files"]] == paths
    assert found["count"] == len(paths)


@pytest.mark.parametrize("pattern", ["*a" * 30 + "b", "**a" * 30 + "b", "**/" * 30 + "*a*a*b"])
def test_no_pattern_takes_a_process_along(tmp_path: Path, pattern: str) -> None:
    (tmp_path / ("a" * 200)).write_text("x")

    assert run(tmp_path, ".", "list", pattern=pattern)["files"] == []


@pytest.mark.parametrize("pattern", ["[z-a]", "*a" * 501])
def test_what_is_no_pattern_is_refused(tmp_path: Path, pattern: str) -> None:
    assert refusal(tmp_path, ".", "list", pattern=pattern).code == "wrong-pattern"


def test_what_is_listed_says_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("xy")
    os.utime(tmp_path / "a.txt", (0, 86_400))

    (found,) = run(tmp_path, ".", "list")["files"]

    moment = "1970-01-02T00:00:00+00:00"
    assert found == {"path": "a.txt", "kind": "file", "size": 2, "modified": moment}


@pytest.mark.parametrize("action", ["read", "list", "digest", "delete", "copy", "move"])
def test_what_is_not_there_is_a_failure_or_nothing(tmp_path: Path, action: str) -> None:
    assert refusal(tmp_path, "none", action, to="x").code == "no-such-file"
    found = run(tmp_path, "none", action, missing_ok=True, to="x")

    assert not any(found.get(key) for key in ("content", "exists", "deleted", "done", "count"))


def test_whether_something_is_there_can_be_asked(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").write_text("xyz")
    kinds = [run(tmp_path, name, "exists") for name in ("a", "b", "c", "c/d")]

    assert [(one["exists"], one["kind"], one["size"]) for one in kinds] == [
        (True, "folder", 0),
        (True, "file", 3),
        (False, None, 0),
        (False, None, 0),
    ]


def test_files_are_copied_moved_and_deleted(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")

    run(tmp_path, "a", "copy", to="f/b")
    run(tmp_path, "f/b", "move", to="f/c")
    run(tmp_path, "a", "delete")

    assert refusal(tmp_path, "f/c", "move", to="f/c", overwrite=False).code == "already-there"
    assert refusal(tmp_path, "f", "delete").code == "not-empty"
    assert refusal(tmp_path, "f/c", "move").code == "no-goal"
    assert [str(one.relative_to(tmp_path)) for one in tmp_path.rglob("*")] == ["f", "f/c"]
    assert run(tmp_path, "g", "mkdir")["made"] is True
    assert run(tmp_path, "g", "mkdir")["made"] is False
    assert run(tmp_path, "g", "delete")["deleted"] is True


def test_another_encoding_may_be_used(tmp_path: Path) -> None:
    run(tmp_path, "a.txt", "write", content="ä", encoding="latin-1")

    assert (tmp_path / "a.txt").read_bytes() == b"\xe4"
    assert run(tmp_path, "a.txt", encoding="latin-1")["content"] == "ä"
    for encoding in ("nowhere", "base64", "rot13"):
        assert refusal(tmp_path, "a.txt", encoding=encoding).code == "wrong-format"
    assert refusal(tmp_path, "b", "write", content="Ω", encoding="latin-1").code == "wrong-format"


def test_no_file_is_written_under_a_lease_that_may_be_gone(tmp_path: Path) -> None:
    settings = FileSettings(path="a", action="write", content="x")

    with pytest.raises(HandedBack):
        asyncio.run(
            File(folders=[tmp_path]).execute(call("file", settings, around=Around(holds=False)))
        )

    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_full_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    place = Folders([tmp_path]).place("a.txt")

    def never(_: bytes) -> bytes:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        storage.append(place, never, most=100)

    assert (tmp_path / "a.txt").read_text() == "old\n"


def test_only_a_list_can_be_added_to(tmp_path: Path) -> None:
    add = added_to(1, "json", "utf-8")

    assert decoded(add(b"[0]"), "json", "utf-8") == [0, 1]
    with pytest.raises(Failed, match="holds a list"):
        add(b"{}")
