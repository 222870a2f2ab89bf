"""Processes have nothing of each other, and hints do nothing but wake."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from noetl_mcp.worker.pool import Carrier, broker_of
from tests.cli.test_run import HELLO, Person
from tests.worker.shop import Shop

CHILD = """
import json, os, sys
from pathlib import Path
sys.stdin.readline()
held = [f"/proc/self/fd/{n}" for n in os.listdir("/proc/self/fd")]
Path(sys.argv[1]).write_text(json.dumps([os.readlink(f) for f in held if os.path.exists(f)]))
"""
PARENT = """
import os, sys
from noetl_mcp.worker.supervisor import Orders, Supervisor
child, path, lock = sys.argv[1:]
held = os.open(lock, os.O_RDWR | os.O_CREAT)
os.set_inheritable(held, True)
orders = Orders(lambda n: [sys.executable, "-c", child, path], 1, lambda n: {}, may_end=True)
sys.exit(Supervisor(orders, lambda text: None).run())
"""


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="descriptors are listed by Linux")
def test_a_worker_process_has_no_file_of_whoever_started_it(tmp_path: Path) -> None:
    """A lock that it inherited would keep the database up after everybody has gone."""
    lock, told = tmp_path / "lock", tmp_path / "told"

    subprocess.run([sys.executable, "-c", PARENT, CHILD, told, lock], check=True, timeout=30)

    held = json.loads(told.read_text())
    assert held
    assert str(lock) not in held


def test_a_hint_is_taken_by_one_thread_that_only_passes_it_on(shop: Shop) -> None:
    """No retries, no time limits: those end a permanent engine with all that it holds."""
    heard: list[tuple[str, str]] = []
    carrier = Carrier(
        "postgres", ("",), lambda *said: heard.append(said), lambda: shop.connect("hints")
    )
    carrier.start()
    try:
        names = {type(one).__name__ for one in carrier._broker.middleware}
        assert names <= {"_WorkerMiddleware"}  # what its worker itself needs to stop
        assert len(carrier._worker.workers) == 1
    finally:
        carrier.stop()
    assert broker_of("redis://127.0.0.1:1/0", lambda: shop.connect("hints")).middleware == []


def test_who_runs_one_execution_on_a_shared_database_leaves_the_others_alone(
    database: str, tmp_path: Path
) -> None:
    person = Person(database, tmp_path)
    path = person.file(HELLO)
    waiting = person.does("run", path, "--detach")
    assert waiting.code == 0, waiting.err

    done = person.does("run", path)

    assert done.code == 0, done.err
    statuses = person.finds("select status from noetl.execution order by id")
    assert statuses == [(0,), (1,)]
    assert person.finds(
        "select count(*) from noetl.event v join noetl.event_kind k using (kind)"
        " where k.name = 'step_started' and v.execution_id ="
        " (select min(id) from noetl.execution)"
    ) == [(0,)]
