"""Steps of the types `shell` and `transfer` as a worker carries them out."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import duckdb
import psycopg
import pytest

from noetl_mcp.playbook.rendering.secret import MASK
from noetl_mcp.worker.bench import Bench
from tests.postgres import database  # noqa: F401  # a fixture of this module
from tests.worker.shop import Shop


class Allowing(Shop):
    """A shop whose workers run commands and use files below a folder."""

    def bench(self) -> Bench:
        bench = super().bench()
        bench.shell = True
        bench.folders = (self.lives.parent,)
        return bench


@pytest.fixture
def shop(database: str, tmp_path: Path) -> Iterator[Allowing]:  # noqa: F811  # asked for
    made = Allowing(database, tmp_path / "lives")
    yield made
    made.close()


GREET = """
workload: {who: "you; touch hurt", count: 3}
workflow:
  - step: start
    type: shell
    confirm: true
    command: |
      echo '{"who": "'{{ workload.who }}'", "n": '"{{ workload.count }}"'}'
    next: [end]
  - {step: end, result: "{{ start.data }}"}
"""


def test_values_of_a_playbook_reach_a_command_as_they_are(shop: Allowing) -> None:
    assert shop.run(GREET).result == {"who": "you; touch hurt", "n": 3}


def test_a_worker_that_may_not_runs_nothing(database: str, tmp_path: Path) -> None:  # noqa: F811
    shop = Shop(database, tmp_path / "lives")

    done = shop.run(GREET)
    shop.close()

    assert done.status == "failed"
    assert done.error is not None
    assert done.error["code"] == "shell-not-allowed"


def test_what_a_command_prints_of_a_credential_is_masked(shop: Allowing) -> None:
    done = shop.run(
        """
workflow:
  - step: start
    type: shell
    auth: {type: bearer, token: deep-S3cret}
    confirm: true
    command: echo deep-S3cret; echo deep-S3cret >&2
    next: [end]
  - {step: end, result: "{{ start }}"}
"""
    )

    told = shop.records.connection.execute("select data from noetl.event").fetchall()
    assert done.result == {"exit_code": 0, "stdout": f"{MASK}\n", "stderr": f"{MASK}\n"}
    assert "S3cret" not in str(told)


def test_a_command_that_is_cut_off_leaves_its_step_in_doubt(shop: Allowing) -> None:
    number = shop.start(
        """
workflow:
  - {step: start, type: shell, confirm: true, command: "kill -9 $$", next: [end]}
  - step: end
"""
    )

    async def work() -> None:
        async with shop.worker():
            kinds = "select count(*) from noetl.event where data::text like '%%SIGKILL%%'"
            await shop.until(lambda: shop.records.connection.execute(kinds).fetchone()[0] > 0)  # type: ignore[index]

    asyncio.run(work())

    assert shop.done(number).steps["start"] == "in_doubt"


def test_a_transfer_is_a_step_like_any_other(shop: Allowing, tmp_path: Path) -> None:
    file = str(tmp_path / "a.duckdb")
    with duckdb.connect(file) as connection:
        connection.execute("CREATE TABLE t (n INT, v VARCHAR)")
    with psycopg.connect(shop.dsn, autocommit=True) as own:
        own.execute(
            "CREATE TABLE public.t AS SELECT n, 'it''s ' || n AS v FROM generate_series(1, 9) n"
        )

    done = shop.run(
        f"""
workload: {{like: "it's 3", file: {file}, least: 3}}
workflow:
  - step: start
    type: transfer
    auth: {{here: {{type: postgres, dsn: "{shop.dsn}"}}}}
    source:
      type: postgres
      auth: here
      sql: |
        SELECT n, v FROM public.t
         WHERE n > {{{{ workload.least }}}} OR v = '{{{{ workload.like }}}}'
    target: {{type: duckdb, database: "{{{{ workload.file }}}}", table: t}}
    confirm: true
    next: [end]
  - {{step: end, result: "{{{{ start.rows_written }}}}"}}
"""
    )

    assert (done.error, done.result) == (None, 7)
    with duckdb.connect(file) as connection:
        assert connection.execute("SELECT min(n) FROM t").fetchall() == [(3,)]
