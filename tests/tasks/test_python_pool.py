import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from noetl_mcp.playbook.rendering.secret import Secret
from noetl_mcp.tasks.calls import Call, Failed
from noetl_mcp.tasks.python.folders import Folders, sweep
from noetl_mcp.tasks.python.pool import Habits
from noetl_mcp.tasks.python.task import Python
from tests.tasks.python_steps import DEADLINE, Recording, call, with_python

PID = "import os\ndef main(**given): return os.getpid()"


async def number_of(python: Python, code: str) -> int:
    """Return the number that a program gives."""
    found = await python.execute(call(code))
    assert isinstance(found, int)
    return found


def in_turn(*calls: Call, habits: Habits | None = None) -> list[Any]:
    """Return what calls give, one after another, by the same task."""

    async def work(python: Python) -> list[Any]:
        return [await python.execute(one) for one in calls]

    found: list[Any] = with_python(work, habits)
    return found


def at_once(*calls: Call, habits: Habits | None = None, **options: Any) -> list[Any]:
    async def work(python: Python) -> list[Any]:
        return await asyncio.gather(*map(python.execute, calls))

    found: list[Any] = with_python(work, habits, **options)
    return found


def test_a_process_is_used_again_for_the_same_program() -> None:
    one, two, three = in_turn(call(PID, {"n": 1}), call(PID, {"n": 2}), call(PID))

    assert one == two == three
    assert one != os.getpid()


@pytest.mark.parametrize(
    "other",
    [
        call(PID + "\n"),
        call(PID, env={"A": "2"}),
        call(PID, env={"A": "1"}, memory_mb=500),
        call(PID, env={"A": "1"}, libs={"js": "json"}),
        call(PID, env={"A": "1"}, auth={"": {"token": "other"}}),
        call(PID, {"token": Secret("other")}, env={"A": "1"}),
    ],
)
def test_another_program_or_another_secret_gets_a_process_of_its_own(other: Call) -> None:
    one = call(PID, {"token": Secret("hush")}, env={"A": "1"})

    first, second, third = in_turn(one, other, one)

    assert first == third != second


def test_isolated_calls_have_a_process_each() -> None:
    assert len(set(in_turn(*[call(PID, isolate=True)] * 3))) == 3


def test_no_call_finds_what_another_left_in_its_globals() -> None:
    code = "seen = []\ndef main(n):\n    seen.append(n)\n    return seen"

    assert in_turn(call(code, {"n": 1}), call(code, {"n": 2})) == [[1], [2]]


def test_no_call_finds_a_changed_environment_folder_or_path() -> None:
    code = """
import os, sys
def main():
    found = [dict(os.environ), os.getcwd(), sys.path[:], sys.argv, os.getpid()]
    os.environ["LEFT"] = "over"
    del os.environ["LANG"]
    os.chdir("/")
    sys.path.insert(0, "/left")
    return found
"""

    one, two = in_turn(*[call(code)] * 2)

    assert one == two
    assert one[3] == ["code"]


def test_the_environment_is_clean_but_for_what_the_step_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NOETL_SECRET_X", "hush")
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    code = "import os\ndef main(): return [dict(os.environ), os.getcwd(), os.listdir()]"
    env = {"NAME": "door", "COUNT": 3, "FLAG": True, "PYTHONHASHSEED": "x"}

    [[environment, folder, files]] = in_turn(call(code, env=env))

    home = environment.pop("HOME")
    assert environment == {
        "PATH": os.environ["PATH"],
        "LANG": environment["LANG"],
        "NAME": "door",
        "COUNT": "3",
        "FLAG": "true",
        "PYTHONHASHSEED": "x",
    }
    assert folder.startswith(home + "/")
    assert files == []
    assert not Path(home).exists()


@pytest.mark.parametrize(
    "leaves",
    [
        "open('left.txt', 'w').close()",
        "threading.Thread(target=time.sleep, args=(1000,)).start()",
        "subprocess.Popen(['sleep', '1000'], start_new_session=False)",
        "sys.stdout.close()",
        "keep.append(bytearray(400_000_000))",
        "sys.exit(1)",
        "bytearray(10**15)",
    ],
)
def test_a_process_is_not_used_again_when_something_is_left_in_it(leaves: str) -> None:
    code = f"""
import abc, os, subprocess, sys, threading, time
keep = abc.__dict__.setdefault("keep", [])
def main(leave):
    if leave:
        {leaves}
    return os.getpid()
"""

    async def work(python: Python) -> list[Any]:
        usual, leaving = call(code, {"leave": False}), call(code, {"leave": True})
        return [
            *[await python.execute(usual) for _ in range(2)],
            *await asyncio.gather(python.execute(leaving), return_exceptions=True),
            await python.execute(usual),
        ]

    one, two, three, four = with_python(work)

    assert one == two
    assert three == one or isinstance(three, Failed)
    assert four != one


def test_what_a_program_started_ends_with_its_call() -> None:
    code = """
import subprocess
def main():
    return subprocess.Popen(["sleep", "1000"]).pid
"""

    async def work(python: Python) -> None:
        started = await number_of(python, code)
        while is_running(started):
            await asyncio.sleep(0.01)

    with_python(work)


def is_running(process: int) -> bool:
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_a_process_is_replaced_after_so_many_calls() -> None:
    found = in_turn(*[call(PID)] * 5, habits=Habits(most_calls=2))

    assert [found.count(one) for one in dict.fromkeys(found)] == [2, 2, 1]


def test_no_more_processes_run_than_there_are_places(tmp_path: Path) -> None:
    code = """
import os, pathlib
def main(folder, n):
    mark = pathlib.Path(folder, str(os.getpid()))
    mark.touch()
    count = len(os.listdir(folder))
    mark.unlink()
    return [count, os.getpid()]
"""
    calls = [call(code, {"folder": str(tmp_path), "n": n}) for n in range(40)]

    found = at_once(*calls, most_children=2)

    assert max(count for count, _ in found) <= 2
    assert len({process for _, process in found}) == 2


def test_programs_take_turns_when_places_are_few() -> None:
    order: list[str] = []

    async def work(python: Python) -> None:
        async def ask(name: str) -> None:
            await python.execute(call(f"def main(): return '{name}'"))
            order.append(name)

        await asyncio.gather(*map(ask, "a" * 200), ask("b"))

    with_python(work, Habits(most_children=1, turn=0.0))

    assert order.index("b") < 5


def test_a_waiting_program_gets_the_place_of_an_idle_process() -> None:
    code = "def main(): return {}"
    names = [f"def main(): return {number}" for number in range(6)]

    assert in_turn(*map(call, names), habits=Habits(most_children=2)) == list(range(6))
    assert at_once(*map(call, names), habits=Habits(most_children=2)) == list(range(6))
    assert in_turn(call(code), habits=Habits(most_children=2)) == [{}]


def test_who_waits_may_give_up() -> None:
    around = Recording()
    endless = call("import time\ndef main():\n    print(1)\n    time.sleep(99)", around=around)

    async def work(python: Python) -> Any:
        running = asyncio.create_task(python.execute(endless))
        await around.heard.wait()
        waiting = [asyncio.create_task(python.execute(call(PID))) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        waiting[2].cancel()
        await asyncio.sleep(0)
        running.cancel()
        found = await asyncio.gather(*waiting, running, return_exceptions=True)
        return [type(one) for one in found]

    none = asyncio.CancelledError
    assert with_python(work, Habits(most_children=1)) == [none, int, none, none]


def test_cancelling_at_any_moment_loses_no_place() -> None:
    async def work(python: Python) -> list[Any]:
        for turns in range(12):
            calls = [call(f"def main(): return {n % 3}") for n in range(6)]
            tasks = [asyncio.create_task(python.execute(one)) for one in calls]
            for _ in range(turns):
                await asyncio.sleep(0)
            for task in tasks[turns % 2 :: 2]:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return await asyncio.gather(*(python.execute(call(PID)) for _ in range(4)))

    assert len(with_python(work, Habits(most_children=2))) == 4


def test_idle_processes_are_ended_after_a_while() -> None:
    async def work(python: Python) -> None:
        process = await number_of(python, PID)
        while is_running(process):
            await asyncio.sleep(0.01)
        assert await python.execute(call(PID)) != process

    with_python(work, Habits(idle=0.02))


def test_a_process_that_is_killed_while_idle_is_replaced() -> None:
    async def work(python: Python) -> None:
        process = await number_of(python, PID)
        os.kill(process, signal.SIGKILL)
        while is_running(process):
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.01)
        assert await python.execute(call(PID)) != process

    with_python(work)


def test_closing_ends_everything_and_refuses_the_rest() -> None:
    around = Recording()
    code = "import os, time\ndef main():\n    print(os.getpid(), flush=True)\n    time.sleep(99)"

    async def main() -> list[Any]:
        python = Python(most_children=1)
        running = asyncio.create_task(python.execute(call(code, around=around)))
        await around.heard.wait()
        waiting = asyncio.create_task(python.execute(call(PID)))
        await asyncio.sleep(0)
        await python.close()
        late = python.execute(call(PID))
        return list(await asyncio.gather(running, waiting, late, return_exceptions=True))

    found = asyncio.run(asyncio.wait_for(main(), DEADLINE))

    assert [one.code for one in found] == ["died", "closed", "closed"]
    assert not is_running(int(around.texts[0]))


def test_words_in_place_of_an_answer_end_the_process_and_nothing_else() -> None:
    code = """
import os
def main(words):
    for descriptor in range(100, 110):
        try:
            os.write(descriptor, words.encode())
        except OSError:
            pass
    while True:
        pass
"""

    for words in ("not a frame at all", "\x03\0\0\1\0\0\0\4nullandmore", "\x03\0\0\7\0\0\0\4null"):
        with pytest.raises(Failed, match="its answer cannot be read") as failed:
            in_turn(call(code, {"words": words}))
        assert failed.value.code == "died"


WORKER = """
import asyncio, sys
from noetl_mcp.tasks.python.task import Python
from tests.tasks.python_steps import Recording, call
CODE = '''
import os, re, subprocess
def main():
    other = subprocess.Popen(["sleep", "1000"])
    print(os.getpid(), other.pid)
    re.match("(a+)+$", "a" * 60 + "b")  # holds the interpreter's lock for ever
'''
async def main():
    around, idle = Recording(), Recording()
    python = Python()
    await python.execute(call("import os\\ndef main(): print(os.getpid())", around=idle))
    task = asyncio.create_task(python.execute(call(CODE, around=around, timeout=60)))
    hears = asyncio.create_task(around.heard.wait())
    await asyncio.wait([task, hears], return_when=asyncio.FIRST_COMPLETED)
    print(idle.texts[0], around.texts[0], flush=True)
    await task
asyncio.run(main())
"""


def test_when_the_worker_is_killed_nothing_it_started_lives_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = str(Path(__file__).parents[2])
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with subprocess.Popen(
        [sys.executable, "-c", WORKER], stdout=subprocess.PIPE, text=True, cwd=root
    ) as worker:
        assert worker.stdout is not None
        processes = list(map(int, worker.stdout.readline().split()))
        were_running = list(map(is_running, processes))
        worker.kill()

    assert were_running == [True] * 3

    async def gone() -> None:
        while any(map(is_running, processes)):
            await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(gone(), 10))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert len(list(tmp_path.iterdir())) == 1
    sweep()
    assert list(tmp_path.iterdir()) == []


def test_the_folders_of_a_living_worker_are_not_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "noetl-python-theirs").mkdir()
    folders = Folders()
    mine = Path(folders.make())

    sweep()

    assert mine.is_dir()
    folders.close()
    assert [path.name for path in tmp_path.iterdir()] == ["noetl-python-theirs"]


def test_a_process_starts_with_little() -> None:
    """Every isolated call pays for what the process imports before the program."""
    code = "import sys\ndef main(): return sorted(sys.modules)"

    [modules] = in_turn(call(code))

    dear = {"typing", "inspect", "dataclasses", "asyncio", "socket", "ctypes", "orjson", "pydantic"}
    assert not dear & set(modules)
    assert len(modules) < 90


def test_the_benchmark_runs() -> None:
    benchmark = Path(__file__).parents[2] / "benchmarks" / "python_calls.py"

    said = subprocess.run(
        [sys.executable, str(benchmark), "--calls", "60"],
        capture_output=True,
        text=True,
        check=True,
    )

    found = json.loads(said.stdout)
    assert {one["how"] for one in found["measured"]} == {"warm", "isolate", "fresh"}
    assert all(one["calls_per_second"] > 0 for one in found["measured"])
