from pathlib import Path

import pytest

from noetl_mcp.database import connect, statements

QUEUE = """-- Everything that the queue asks.

-- name: give_up
-- Only the worker that holds the step may hand it back: 100 % sure.
-- A late one gets no row.
select %(a)s::int as a; -- trailing words stay

-- name: two_lines

-- A reason above an empty line.

select 1
  -- inside
 where true;
"""


def written(folder: Path, text: str) -> str:
    (folder / "queue.sql").write_text(text)
    return str(folder / "queue.py")


def test_statements_are_read_by_their_names_without_their_reasons(tmp_path: Path) -> None:
    found = statements(written(tmp_path, QUEUE), "queue.sql")

    assert dict(found) == {
        "give_up": "select %(a)s::int as a; -- trailing words stay",
        "two_lines": "select 1\n  -- inside\n where true",
    }


def test_a_statement_can_be_executed_as_it_is(tmp_path: Path, postgres: str) -> None:
    found = statements(written(tmp_path, QUEUE), "queue.sql")

    with connect(postgres, application_name="runs") as connection:
        assert connection.execute(found["give_up"], {"a": 3}).fetchone() == (3,)


@pytest.mark.parametrize(
    "text",
    [
        "select 1;\n-- name: late\nselect 2",
        "-- name: a\nselect 1\n-- name: a\nselect 2",
        "-- name: a\n-- only a reason\n",
    ],
)
def test_a_file_that_can_be_misread_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ValueError, match=r"queue\.sql"):
        statements(written(tmp_path, text), "queue.sql")


def test_nobody_can_change_what_was_read(tmp_path: Path) -> None:
    found = statements(written(tmp_path, QUEUE), "queue.sql")

    with pytest.raises(TypeError):
        found["give_up"] = "drop table t"  # type: ignore[index]
