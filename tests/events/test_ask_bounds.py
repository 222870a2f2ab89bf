"""How large an answer may be, in rows and in bytes."""

from collections.abc import Iterator

import pytest

from noetl_mcp.events.ask import Bounds, Copy, NotAnswered, copied


@pytest.fixture
def copy(database: str) -> Iterator[Copy]:
    with copied(database, bounds=Bounds(rows=500, bytes=100_000, seconds=20)) as made:
        yield made


@pytest.mark.parametrize(
    "question",
    [
        "select repeat('x', 200000) as t",
        "select repeat('x', 1000) as t from range(300)",
        "select [repeat('x', 1000) for i in range(200)] as t",
        "select {'a': repeat('x', 200000)} as t",
        "select repeat('x', 200000)::blob as t",
    ],
)
def test_an_answer_that_is_too_long_is_refused(copy: Copy, question: str) -> None:
    with pytest.raises(NotAnswered, match=r"the answer is longer than 0\.0953674 MiB; ask for"):
        copy.ask(question)


def test_an_answer_of_many_rows_is_whole(copy: Copy) -> None:
    answer = copy.ask("select i from range(500) t(i)")
    cut = copy.ask("select i from range(501) t(i)")

    assert ([row[0] for row in answer.rows], answer.is_cut) == (list(range(500)), False)
    assert (len(cut.rows), cut.is_cut) == (500, True)
    assert copy.ask("select 1 where false").rows == []
