"""Rows that come page by page: the sample of the how-to page against a real server."""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from noetl_mcp.queue.lease import Status
from tests.wire.servers import Line, answer, serving
from tests.worker.shop import Done, Shop

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "call-servers.md").read_text()
BOOK = next(one for one in re.findall(r"(?ms)^```yaml\n(.*?)^```$", PAGE) if "all_rooms" in one)
PAGES: dict[str, Any] = {
    "": {"rooms": ["R1", "R2"], "next": "b"},
    "b": {"rooms": ["R3"], "next": "c"},
    "c": {"rooms": ["R4"], "next": None},
}


class Rooms:
    """A server of pages; it is busy once."""

    def __init__(self, filler: str = "") -> None:
        self.filler = filler
        self.was_busy = False

    async def __call__(self, line: Line) -> None:
        while True:
            asked = await line.request()
            cursor = parse_qs(urlsplit(asked.target).query).get("cursor", [""])[0]
            if cursor == "b" and not self.was_busy:
                self.was_busy = True
                busy = answer(b"", status="429 Too Many Requests", headers="Retry-After: 0")
                await line.say(busy)
                continue
            page = {**PAGES[cursor], "filler": self.filler}
            await line.say(answer(json.dumps(page).encode()))


@pytest.fixture
def shop(database: str, tmp_path: Path) -> Iterator[Shop]:
    one = Shop(database, tmp_path)
    yield one
    one.close()


def gathered(shop: Shop, book: str, rooms: Rooms) -> tuple[Done, list[str]]:
    async def work() -> tuple[int, list[str]]:
        async with serving(rooms) as server:
            number = shop.start(book.replace("https://cde.example", server.url))
            async with shop.worker():
                await shop.until(lambda: shop.status(number) != Status.RUNNING)
            return number, server.targets

    number, targets = asyncio.run(work())
    return shop.done(number), targets


@pytest.mark.parametrize("filler", ["", "x" * 70_000], ids=["small", "kept apart"])
def test_each_round_begins_where_the_one_before_ended(shop: Shop, filler: str) -> None:
    done, targets = gathered(shop, BOOK, Rooms(filler))

    assert done.result == {"rooms": ["R1", "R2", "R3", "R4"]}
    assert targets == [
        "/rooms?limit=100",
        "/rooms?limit=100&cursor=b",
        "/rooms?limit=100&cursor=b",
        "/rooms?limit=100&cursor=c",
    ]


def test_a_computed_step_counts_from_what_it_gave_before(shop: Shop) -> None:
    done = shop.run(
        "workflow:\n  - step: start\n    type: set\n"
        "    values: {n: '{{ (result.n | default(0)) + 1 }}'}\n"
        "    repeat: {until: '{{ result.n == 4 }}', max: 9}\n"
    )

    assert done.result == {"n": 4}
