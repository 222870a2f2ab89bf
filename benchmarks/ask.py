"""What it costs to ask the log; prints JSON.

    python benchmarks/ask.py [--executions 50000] [--dsn DSN]

A log of twenty events for each execution is written by SQL, copied by Arrow and by CSV, with and
without results, and every named question is asked twice; the second time counts. CPU time of this
process stands beside the time that passed. Without a DSN an embedded server is used and removed;
a DSN must name an empty database.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from noetl_mcp.assembly import opened
from noetl_mcp.database import connect
from noetl_mcp.events.ask import Bounds, copied
from noetl_mcp.events.copied import How
from noetl_mcp.events.questions import questions
from noetl_mcp.settings import Settings

TYPES = "router http python postgres iterator python http wait http end".split()  # noqa: SIM905
PLANS = """
with made as (insert into noetl.plan (digest, format, content)
              select 'bench' || n, 1, '{}' from generate_series(1, 5) n returning id)
insert into noetl.plan_step (plan_id, idx, name, type)
select m.id, t.n - 1, 's' || t.n, t.type
  from made m cross join unnest(%(types)s::text[]) with ordinality as t (type, n)
"""
EXECUTIONS = """
insert into noetl.execution (id, plan_id, status, path, version, created_at, ended_at)
select g, (select min(id) from noetl.plan) + g %% 5, case when g %% 37 = 0 then 2 else 1 end,
       'bench/' || g %% 5, 1, %(from)s + g * interval '0.4 s',
       %(from)s + g * interval '0.4 s' + interval '5 s'
  from generate_series(1, %(count)s::integer) g
"""
EVENTS = """
insert into noetl.event (ts, kind, attempt, idx, execution_id, item, worker, ready_at, leased_at,
                         data)
select b + interval '0.5 s' * s, k, 1, case when s between 1 and 9 then s end, g,
       case when s between 1 and 9 then 0 end, g %% 8,
       case when k = 10 then b + interval '0.5 s' * s - interval '0.02 s' * random() end,
       case when k = 10 then b + interval '0.5 s' * s end,
       case k when 15 then '{"result":{"rows":' || g || ',"name":"thing number ' || g
                           || '","ok":true,"list":[1,2,3,' || s || ']}}'
              when 16 then '{"error":{"code":"http-500","message":"the server said 500"}}' end
  from (select g, %(from)s + g * interval '0.4 s' as b
          from generate_series(1, %(count)s::integer) g) x
 cross join lateral (
    select 0 as s, 1 as k union all
    select n, v.k from generate_series(1, 9) n
     cross join lateral (values (10), (case when g %% 37 = 0 and n = 6 then 16 else 15 end)) v (k)
    union all select 10, case when g %% 37 = 0 then 3 else 2 end) y
 order by b, s, k
"""


@contextmanager
def database(dsn: str | None) -> Iterator[str]:
    """Yield a database with the schema in it."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        environment = {"NOETL_HOME": str(Path(folder) / "home")}
        if dsn is not None:
            environment["NOETL_DSN"] = dsn
        with opened(Settings.load(environment)) as home:
            yield home.dsn


def write(dsn: str, executions: int) -> float:
    """Write a log and return the seconds that took."""
    begun = time.perf_counter()
    with connect(dsn, application_name="benchmark", statement_timeout=None) as connection:
        rows = connection.execute("select clock_timestamp() - interval '6 hours'").fetchall()
        values = {"types": TYPES, "from": rows[0][0], "count": executions}
        for statement in (PLANS, EXECUTIONS, EVENTS):
            connection.execute(statement.encode(), values)
        connection.execute("vacuum analyze noetl.event")
    return time.perf_counter() - begun


def measure(dsn: str, how: How, results: bool) -> dict[str, Any]:
    """Copy the log and say what that cost, and what the questions cost then."""
    wall, cpu = time.perf_counter(), time.process_time()
    with copied(dsn, how=how, results=results, bounds=Bounds(seconds=600)) as copy:
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        asked = {}
        for name, question in questions().items():
            copy.ask(question.sql)
            asked[name] = round(copy.ask(question.sql).seconds * 1000, 1)
        return {
            "how": how,
            "results": results,
            "events": copy.events,
            "seconds": round(wall, 2),
            "cpu_seconds": round(cpu, 2),
            "events_per_second": round(copy.events / wall),
            "questions_ms": asked,
        }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--executions", type=int, default=50_000)
    parser.add_argument("--dsn")
    said = parser.parse_args()
    with database(said.dsn) as dsn:
        written = write(dsn, said.executions)
        ways: list[tuple[How, bool]] = [
            ("arrow", True),
            ("arrow", False),
            ("csv", True),
            ("csv", False),
        ]
        found = [measure(dsn, how, results) for how, results in ways]
    print(json.dumps({"write_seconds": round(written, 1), "copies": found}, indent=2))


if __name__ == "__main__":
    main()
