"""A cassette is a file that people can read, that survives a crash and takes nothing's place."""

import json
from pathlib import Path
from typing import Any

import pytest

from noetl_mcp.broker.desk import Desk
from noetl_mcp.broker.lanes import ASIDE, Lane
from noetl_mcp.broker.operate import cancel
from noetl_mcp.broker.why import why
from noetl_mcp.queue.lease import Status
from noetl_mcp.queue.pools import ASIDE_POOL, pools_of
from noetl_mcp.worker.cassette import (
    LONG,
    Entry,
    NoCassette,
    Spot,
    Writer,
    beside,
    plain_of,
    read_head,
    read_tape,
)
from noetl_mcp.worker.cassette_asked import differences
from noetl_mcp.worker.cassette_playing import Drift
from tests.broker.desks import ANN, work, work_off
from tests.worker.shop import Shop


def entry(step: str = "fetch", call: int = 1, **more: Any) -> Entry:
    given: dict[str, Any] = {"asked": {"settings": {"url": "u"}}, "came": {"result": 1}, **more}
    return Entry(Spot(step), call, 1, "http", writes=False, **given)


def recorded(path: Path, *entries: Entry, end: dict[str, Any] | None = None) -> Path:
    writer = Writer(path)
    writer.begin({"playbook": "p"})
    for one in entries:
        writer.add(one)
    writer.close(end)
    return path


def test_what_is_written_is_read(tmp_path: Path) -> None:
    first, second = entry(), entry("order[2]")
    inner = Entry(Spot("a", "call[1]"), 2, 3, "postgres", True, {}, {"failed": {"code": "x"}}, 0.5)

    tape = read_tape(recorded(tmp_path / "c", first, second, inner, end={"status": "completed"}))

    assert list(tape.entries) == [first, second, inner]
    assert tape.head["playbook"] == "p"
    assert tape.end == {"status": "completed", "calls": 3}
    assert str(inner.spot) == "call[1] / a"


def test_every_line_is_json_and_stands_there_as_soon_as_its_call_is_over(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "c")
    writer.begin({"playbook": "p"})

    writer.add(entry())

    lines = [json.loads(line) for line in (tmp_path / "c").read_text().splitlines()]
    assert [line.get("cassette") for line in lines] == [1, None]
    assert (lines[1]["step"], lines[1]["came"]) == ("fetch", {"result": 1})
    writer.close(None)


def test_a_recording_that_broke_off_inside_a_line_is_read_up_to_there(tmp_path: Path) -> None:
    path = recorded(tmp_path / "c", entry(), entry(call=2), end={"status": "completed"})
    raw = path.read_bytes()

    path.write_bytes(raw[: raw.rindex(b'{"end"') - 20])

    tape = read_tape(path)
    assert (len(tape.entries), tape.end) == (1, None)


def test_what_is_long_stands_beside_the_file(tmp_path: Path) -> None:
    long = entry(came={"result": "x" * LONG})
    path = recorded(tmp_path / "c", long, entry(call=2))

    (part,) = beside(path).iterdir()
    assert len(path.read_bytes()) < 1_000
    assert read_tape(path).entries[0] == long

    recorded(path, entry())
    assert not part.exists()


@pytest.mark.parametrize("name", ["../../secret.json", "/etc/passwd", "x"])
def test_nothing_else_is_read_beside_the_file(tmp_path: Path, name: str) -> None:
    path = recorded(tmp_path / "c", entry())
    text = path.read_text().replace('"came":{"result":1}', f'"came_in":"{name}"')
    path.write_text(text)

    with pytest.raises(NoCassette, match=r"line 2 of .* is not a call of a cassette"):
        read_tape(path)


@pytest.mark.parametrize("text", ["apiVersion: noetl.io/v2\n", "[1]\n", '{"cassette": 2}\n', "\0"])
def test_a_file_that_is_no_cassette_is_not_written_over(tmp_path: Path, text: str) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(text)

    with pytest.raises(NoCassette, match=r"p\.yaml' is .*not written over"):
        Writer(path).begin({})
    with pytest.raises(NoCassette):
        read_head(path)

    assert path.read_text() == text


def test_where_nothing_can_be_written_it_is_said(tmp_path: Path) -> None:
    with pytest.raises(NoCassette, match="is a folder"):
        Writer(tmp_path).begin({})
    with pytest.raises(NoCassette, match="there is no folder"):
        Writer(tmp_path / "no" / "c").begin({})
    with pytest.raises(NoCassette, match="cannot read"):
        read_tape(tmp_path / "absent")


def test_what_no_json_can_hold_is_shown_as_a_text() -> None:
    deep: list[Any] = []
    for _ in range(2_000):
        deep = [deep]

    for odd in (2**70, "\ud800", {"a": 2**70}, deep):
        assert isinstance(plain_of(odd), str)
    assert plain_of({"a": b"x", "b": {2, 1}, 3: (1,)})["b"] == [1, 2]


def test_the_fields_that_differ_are_named() -> None:
    recorded = {"task": "http", "settings": {"url": "a", "n": [1, 2]}, "input": {"x": 1}}
    now = {"task": "http", "settings": {"url": "b", "n": [1, 3]}, "input": {"y": None}}

    found = {one.field: (one.recorded, one.now) for one in differences("s", recorded, now)}

    assert found == {
        "settings.url": ("a", "b"),
        "settings.n.1": (2, 3),
        "input.x": (1, None),
        "input.y": (None, None),
    }
    assert differences("s", recorded, recorded) == []
    assert [one.field for one in differences("s", {"a": 1}, {"a": True})] == ["a"]


def test_fields_that_may_differ_are_named_by_step_and_may_have_stars() -> None:
    then, now = {"settings": {"at": 1, "by": 1}}, {"settings": {"at": 2, "by": 2}}

    def fields(step: str, *ignored: str) -> list[str]:
        return [one.field for one in differences(step, then, now, ignored)]

    assert fields("s[3]", "s.settings.at") == ["settings.by"]
    assert fields("t", "s.settings.at") == ["settings.at", "settings.by"]
    assert fields("t", "*.at", "t.settings.b*") == []


def test_drift_is_told_with_its_step_and_its_sub_playbook() -> None:
    told = Drift("not-made", Spot("a[1]", "call"), 2, "http").as_json()

    assert told == {"what": "not-made", "step": "a[1]", "within": "call", "call": 2, "task": "http"}


def test_a_full_disk_ends_the_recording_and_not_the_run() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    writer = Writer(Path("/dev/full"))

    writer.begin({"playbook": "p"})
    writer.add(entry())
    writer.close({"status": "completed"})

    assert writer.trouble is not None


ASIDE_ONE = (
    "workflow:\n  - {step: start, next: [a]}\n  - {step: a, type: change, confirm: true}\n"
    "finally:\n  - {step: bye, type: change, confirm: true}\n"
)


def test_what_stands_aside_is_done_by_no_worker_also_when_it_is_ended(shop: Shop) -> None:
    number = shop.start(ASIDE_ONE, priority=ASIDE)
    plain = shop.start(ASIDE_ONE.replace("change", "echo"))
    desk = Desk(shop.connect("desk"))
    cancel(desk, number, by=ANN)

    work_off(shop, plain)

    assert shop.change.calls == []
    assert shop.status(number) == Status.RUNNING
    assert shop.state(number, "bye") == "ready"
    (reason,) = why(desk, number)
    assert reason.says.endswith(f"that is gone; end it with: noetl-mcp cancel {number} --force")
    assert cancel(desk, number, by=ANN, force=True).is_over
    desk.connection.close()


def test_what_stands_aside_and_is_late_is_ended_by_a_worker_and_not_carried_on(shop: Shop) -> None:
    number = shop.start(f"timeout: 0.2\n{ASIDE_ONE}", priority=ASIDE)

    work(shop, lambda: shop.done(number).steps.get("bye") == "ready")

    assert shop.change.calls == []
    assert shop.state(number, "a") == "cancelled"


def test_what_stands_aside_waits_where_it_computes_and_with_its_limits() -> None:
    assert Lane("gpu").moved(ASIDE).queue == ASIDE_POOL
    assert Lane("gpu^2~").moved(ASIDE).pool == f"{ASIDE_POOL}~"
    assert Lane("", limits=("a",)).moved(ASIDE).queue == f"=a@{ASIDE_POOL}"
    assert pools_of([ASIDE_POOL, f"{ASIDE_POOL}~", "gpu~"]) == {"gpu"}
