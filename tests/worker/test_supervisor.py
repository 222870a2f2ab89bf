import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

CHILD = """
import os, sys, time
from pathlib import Path
sys.stdin.readline()
own = Path(sys.argv[1]) / f"{os.getpid()}"
own.write_text("up")
for line in sys.stdin:
    own.write_text(line.strip())
    if line == "leave\\n":
        break
else:
    own.write_text("orphan")
"""
BEATS = """
import json, os, sys, time
from pathlib import Path
order = json.loads(sys.stdin.readline())
own = Path(sys.argv[1]) / f"{os.getpid()}"
own.write_text("up")
hangs = Path(sys.argv[1]).parent / "hangs"
while not (hangs.exists() and hangs.read_text() == str(os.getpid())):
    os.write(order["pulse"], b".")
    time.sleep(0.02)
time.sleep(1_000)
"""
PARENT = """
import sys
from noetl_mcp.worker.supervisor import Orders, Supervisor
child, folder, count, may_end = sys.argv[1:5]
command, ends = [sys.executable, "-c", child, folder], may_end == "yes"
orders = Orders(lambda n: command, int(count), lambda n: {"n": n}, may_end=ends, look=0.1)
sys.exit(Supervisor(orders, lambda text: None).run())
"""


def within(claim: Callable[[], object], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not claim():
        assert time.monotonic() < end, "it never came to be"
        time.sleep(0.01)


def lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def said(folder: Path) -> dict[int, str]:
    return {int(path.name): path.read_text() for path in folder.iterdir()}


def up(folder: Path) -> list[int]:
    return sorted(pid for pid, word in said(folder).items() if word == "up" and lives(pid))


@contextmanager
def supervised(
    folder: Path, count: int = 2, child: str = CHILD, may_end: str = "no"
) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-c", PARENT, child, str(folder), str(count), may_end]
    parent = subprocess.Popen(command)
    try:
        yield parent
    finally:
        parent.kill()
        parent.wait()
        within(lambda: not up(folder))


def test_processes_that_die_are_started_again_and_leave_when_told(tmp_path: Path) -> None:
    with supervised(tmp_path) as parent:
        within(lambda: len(up(tmp_path)) == 2)
        first, second = up(tmp_path)

        os.kill(first, signal.SIGKILL)
        within(lambda: len(up(tmp_path)) == 2 and first not in up(tmp_path))

        parent.send_signal(signal.SIGTERM)
        assert parent.wait(20) == 0
        assert said(tmp_path)[second] == "leave"
        assert not up(tmp_path)


def test_who_is_left_without_a_parent_goes(tmp_path: Path) -> None:
    with supervised(tmp_path) as parent:
        within(lambda: len(up(tmp_path)) == 2)

        parent.kill()
        parent.wait()

        within(lambda: list(said(tmp_path).values()) == ["orphan", "orphan"])


def test_a_reload_replaces_every_process_one_after_another(tmp_path: Path) -> None:
    with supervised(tmp_path) as parent:
        within(lambda: len(up(tmp_path)) == 2)
        before = set(up(tmp_path))

        parent.send_signal(signal.SIGHUP)

        within(lambda: len(up(tmp_path)) == 2 and not before & set(up(tmp_path)))
        assert parent.poll() is None


def test_who_has_nothing_more_to_do_is_not_started_again(tmp_path: Path) -> None:
    child = "import sys; sys.stdin.readline()"

    with supervised(tmp_path, child=child, may_end="yes") as parent:
        assert parent.wait(20) == 0


def test_what_is_hopeless_is_not_tried_for_ever_and_ends_the_others(tmp_path: Path) -> None:
    child = CHILD.replace("sys.stdin.readline()", "'0' in sys.stdin.readline() and sys.exit(2)")

    with supervised(tmp_path, child=child) as parent:
        assert parent.wait(20) == 2


def test_a_process_whose_loop_stands_still_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "up"
    folder.mkdir()
    with supervised(folder, 2, BEATS):
        within(lambda: len(up(folder)) == 2)
        first, second = up(folder)

        (tmp_path / "hangs").write_text(str(first))

        within(lambda: len(up(folder)) == 2 and first not in up(folder))
        assert second in up(folder)


def test_a_process_that_was_stopped_is_left_alone_and_so_is_one_that_never_beats(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "up"
    folder.mkdir()
    with supervised(folder, 1, BEATS):
        within(lambda: len(up(folder)) == 1)
        (pid,) = up(folder)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(1.5)
        os.kill(pid, signal.SIGCONT)
        time.sleep(0.3)

        assert up(folder) == [pid]
    other = tmp_path / "other"
    other.mkdir()
    with supervised(other, 1):
        within(lambda: len(up(other)) == 1)
        quiet = up(other)
        time.sleep(1.0)

        assert up(other) == quiet
