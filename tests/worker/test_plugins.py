"""Task types of installed packages at work: they answer, and broken ones take nobody along."""

import asyncio
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from noetl_mcp.broker.lanes import lane_of
from noetl_mcp.queue.lease import Status
from noetl_mcp.queue.pools import is_computing
from noetl_mcp.tasks.calls import Call, Failed, HandedBack, UnknownOutcome
from noetl_mcp.tasks.contract import TaskSpec, writes
from noetl_mcp.tasks.specs_compute import NoopSettings
from noetl_mcp.worker.bench import Bench
from noetl_mcp.worker.plugins import Plugin
from tests.tasks.calling import Around, call
from tests.worker import brought
from tests.worker.shop import Shop

HERE = "tests.worker.brought"
GREET = TaskSpec("greet", "Greet somebody.", NoopSettings, plugin=f"{HERE}:Greets")


def spec(plugin: Any, **more: Any) -> TaskSpec:
    return replace(GREET, plugin=plugin, **more)


def outcome(plugin: Any, given: Any = None, *, of: TaskSpec = GREET, **more: Any) -> Any:
    """Return what one call of a plugin gave or raised."""

    async def do() -> Any:
        task = Plugin(replace(of, plugin=plugin), grace=0.2)
        try:
            return await task.execute(call("greet", NoopSettings(), input=given, **more))
        except (Failed, UnknownOutcome, HandedBack) as problem:
            return problem
        finally:
            await task.close()

    return asyncio.run(do())


def test_a_plugin_is_loaded_when_its_first_step_comes_and_closed_at_the_end() -> None:
    before = brought.Greets.closed

    async def do() -> Any:
        bench = Bench(brought={"greet": GREET})
        task = bench.task("greet")
        assert task is not None
        found = await task.execute(call("greet", NoopSettings(), input={"name": "Ada"}))
        await bench.close()
        await task.close()
        return found

    assert asyncio.run(do()) == {"greeting": "Hello Ada"}
    assert brought.Greets.closed == before + 1


def test_a_class_or_a_function_can_stand_for_the_plugin_itself() -> None:
    assert outcome(brought.Greets) == {"greeting": "Hello world"}
    assert outcome(lambda: brought.Greets()) == {"greeting": "Hello world"}


@pytest.mark.parametrize(
    ("plugin", "words"),
    [
        ("no.such.module:Task", "cannot be loaded: ModuleNotFoundError: No module named 'no'"),
        (f"{HERE}:Nothing", "cannot be loaded: AttributeError"),
        (f"{HERE}:NOT_A_CLASS", "is int, which cannot be called"),
        (f"{HERE}:BreaksWhenMade", "cannot be loaded: RuntimeError: no licence (brought.py:"),
        (f"{HERE}:Half", "gives a Half without 'close'"),
        ("tests.worker.exits_at_import:Task", "SystemExit: 7 (exits_at_import.py:3)"),
    ],
)
def test_a_plugin_that_cannot_be_loaded_fails_the_step_and_says_why(
    plugin: str, words: str
) -> None:
    told = outcome(plugin)

    assert isinstance(told, Failed)
    assert (told.code, told.retriable) == ("bad-plugin", False)
    assert f"the plugin of task type 'greet' ({plugin})" in told.message
    assert words in told.message


@pytest.mark.parametrize(
    ("raises", "words"),
    [
        ("value", "ValueError: hunter2 is wrong (brought.py:"),
        ("exit", "SystemExit: 3 (brought.py:"),
        ("cancelled", "CancelledError"),
        ("generator", "GeneratorExit"),
        ("handed-back", "HandedBack: for ever"),
        ("no-text", "NoText: (it has no text)"),
    ],
)
def test_whatever_a_plugin_raises_has_an_unknown_outcome(raises: str, words: str) -> None:
    told = outcome(brought.Greets, {"raise": raises})

    assert isinstance(told, UnknownOutcome)
    assert told.code == "crash"
    assert words in told.message


def test_the_failures_of_a_plugin_are_those_it_raises() -> None:
    failed = outcome(brought.Greets, {"raise": "failed"})
    unknown = outcome(brought.Greets, {"raise": "unknown"})

    assert (failed.code, failed.message, failed.retriable) == (
        "out-of-paper",
        "there is no paper",
        False,
    )
    assert (unknown.code, unknown.evidence) == ("lost", {"job": 1})


def test_a_failure_that_cannot_be_kept_is_mended() -> None:
    told = outcome(brought.Greets, {"raise": "strange-failure"})

    assert isinstance(told, Failed)
    assert told.code == "failed"
    assert "its details cannot be kept: $ is of type object" in told.message


@pytest.mark.parametrize(
    ("gives", "words"),
    [
        ("time", "$.at[0] is of type datetime"),
        ("nan", "$.n is nan"),
        ("module", "$ is of type module"),
        ("self", "lies deeper than 200 levels"),
    ],
)
def test_an_answer_that_is_no_json_is_a_failure_and_of_a_write_unknown(
    gives: str, words: str
) -> None:
    read = outcome(brought.Greets, {"give": gives})
    written = outcome(brought.Greets, {"give": gives}, writes=True)

    assert isinstance(read, Failed)
    assert isinstance(written, UnknownOutcome)
    assert read.code == written.code == "not-json"
    assert words in read.message


def test_a_plugin_may_hand_its_step_back_only_when_it_was_told_to() -> None:
    told = outcome(brought.Greets, writes=True, around=Around(holds=False))

    assert isinstance(told, HandedBack)


@pytest.mark.parametrize("plugin", ["HangsInClose", "BlocksInClose", "BreaksInClose"])
def test_a_close_that_hangs_or_breaks_ends_and_is_told(
    plugin: str, capfd: pytest.CaptureFixture[str]
) -> None:
    begun = time.monotonic()

    assert outcome(f"{HERE}:{plugin}") == {"greeting": "Hello world"}

    assert time.monotonic() - begun < 2
    assert f"({HERE}:{plugin}) did not close" in capfd.readouterr().err


def test_a_plugin_that_computes_leaves_the_event_loop_alone() -> None:
    of = spec(None, computes=True)

    async def do() -> float:
        task = Plugin(replace(of, plugin=brought.Computes))
        one = call("greet", NoopSettings(), input={"seconds": 0.3})
        doing = asyncio.create_task(task.execute(one))
        longest = 0.0
        while not doing.done():
            before = time.monotonic()
            await asyncio.sleep(0.01)
            longest = max(longest, time.monotonic() - before)
        assert doing.result() == {"n": 1}
        assert isinstance(one.around, Around)
        assert one.around.notes == ["begun"]
        return longest

    assert asyncio.run(do()) < 0.25


def test_a_plugin_that_computes_may_wait_and_remember_too() -> None:
    around = Around()

    found = outcome(brought.ComputesAndRemembers, of=spec(None, computes=True), around=around)

    assert found == {"done": True}
    assert around.notes == [{"job": 7}]


@pytest.mark.parametrize(("plugin", "computes"), [(brought.Deaf, False), (brought.Computes, True)])
def test_a_call_that_does_not_stop_is_left_behind(plugin: Any, computes: bool) -> None:
    async def do() -> float:
        task = Plugin(spec(plugin, computes=computes), grace=0.1)
        begun = time.monotonic()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await task.execute(call("greet", NoopSettings(), input={"seconds": 2}))
        took = time.monotonic() - begun
        for one in list(task._unstopped):  # the loop of a test ends only when all have
            one.get_coro().close()
            one.cancel()
        return took

    assert asyncio.run(do()) < 1


def test_a_type_that_computes_waits_among_the_steps_that_compute() -> None:
    plan = {"format": 3, "options": {}, "tools": {}}

    lanes = [lane_of({"type": "greet"}, plan, writes=False, computes=c) for c in (True, False)]

    assert [is_computing(lane.pool) for lane in lanes] == [True, False]


class Market(Shop):
    """A shop whose worker has plugins of other people."""

    def bench(self) -> Bench:
        return Bench(children=1, brought=self.specs)


@pytest.fixture
def market(database: str, tmp_path: Path) -> Any:
    shop = Market(database, tmp_path)
    shop.specs |= {
        "greet": GREET,
        "crunch": TaskSpec(
            "crunch", "Compute.", NoopSettings, plugin=f"{HERE}:Computes", computes=True
        ),
        "gone": TaskSpec("gone", "Not there.", NoopSettings, plugin="no.such.module:Task"),
        "post": TaskSpec(
            "post",
            "Write.",
            NoopSettings,
            writes=writes,
            unknown_outcome="in_doubt",
            plugin=f"{HERE}:Greets",
        ),
    }
    yield shop
    shop.close()


STEPS = """
workflow:
  - step: start
    next: [hello, crunched, gone, exits]
  - {step: hello, type: greet, data: {name: Ada}, next: [end]}
  - {step: crunched, type: crunch, next: [end]}
  - {step: gone, type: gone, on_error: [end]}
  - {step: exits, type: greet, data: {raise: exit}, on_error: [end]}
  - step: end
    result: {said: "{{ hello.greeting }}", n: "{{ crunched.n }}"}
"""


def test_broken_plugins_fail_their_steps_and_the_worker_goes_on(market: Market) -> None:
    done = market.run(STEPS)

    assert done.status == "completed"
    assert done.result == {"said": "Hello Ada", "n": 1}
    assert (done.steps["gone"], done.steps["exits"]) == ("failed", "failed")
    assert b"bad-plugin" in bytes(str(done.rows["gone"]), "utf-8")


def test_a_write_whose_plugin_breaks_is_in_doubt(market: Market) -> None:
    number = market.start(
        "workflow:\n  - {step: start, type: post, confirm: true, data: {raise: exit}}\n"
    )

    async def work() -> None:
        async with market.worker():
            await market.until(lambda: market.state(number, "start") == "in_doubt")

    asyncio.run(work())

    assert market.status(number) == Status.RUNNING


def test_a_plugin_never_sends_after_its_step_was_stopped() -> None:
    kept: list[Call] = []

    class Slow:
        async def execute(self, given: Call) -> Any:
            kept.append(given)
            await asyncio.sleep(3600)

        async def close(self) -> None:
            """Nothing to let go of."""

    async def do() -> None:
        task = Plugin(spec(Slow))
        doing = asyncio.create_task(task.execute(call("greet", NoopSettings(), writes=True)))
        while not kept:
            await asyncio.sleep(0.001)
        doing.cancel()
        await asyncio.wait({doing})

    asyncio.run(do())

    with pytest.raises(HandedBack, match="stopped"):
        kept[0].around.may_send()
