"""What is counted anew from the states is what the queue counted itself, wherever it stopped."""

from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from noetl_mcp.broker.desk import By, Desk
from noetl_mcp.broker.program import Program
from noetl_mcp.broker.records import Records
from noetl_mcp.broker.recount import Count, Stand, is_open, recount, stand_of, undecided
from noetl_mcp.broker.retry import retry
from noetl_mcp.broker.run import Run, World
from noetl_mcp.broker.starts import Starts
from noetl_mcp.queue.lease import Lease, State, Status, Wish
from noetl_mcp.queue.postgres import PostgresQueue
from noetl_mcp.worker.engine import Engine, Held, Terms
from noetl_mcp.worker.life import begin_life, end_life
from noetl_mcp.worker.line import Line
from noetl_mcp.worker.settle import Fault, Settler, Work
from tests.worker.shop import Shop

CONDITIONS = ("", "when: '{{ true }}', ", "when: '{{ false }}', ")
SAVE = "save: {storage: python, code: 'def main(**kw): return 1', on: error}"


@st.composite
def playbooks(draw: st.DrawFn) -> str:
    """A playbook of a few steps with ways, joins, failures that are made up for, and saves."""
    many = draw(st.integers(2, 6))
    lines = ["workflow:", f"  - {{step: start, next: [{_some(draw, 0, many)}]}}"]
    for number in range(1, many + 1):
        keys = [f"step: s{number}", f"type: {draw(st.sampled_from(('echo', 'echo', 'router')))}"]
        if number < many:
            keys.append(f"next: [{_some(draw, number, many)}]")
        if draw(st.booleans()):
            keys.append("join: any")
        if "type: echo" in keys:
            after = [f"s{n}" for n in range(number + 1, many + 1)]
            settled = draw(st.sampled_from((None, None, None, "continue", *after)))
            keys += [] if settled is None else [f"on_error: {settled}"]
            keys += [SAVE] if draw(st.booleans()) else []
        keys = [key for key in keys if key != "type: router"]
        lines.append("  - {" + ", ".join(keys) + "}")
    return "\n".join(lines) + "\n"


def _some(draw: st.DrawFn, number: int, many: int) -> str:
    targets = draw(st.lists(st.integers(number + 1, many), min_size=1, max_size=3, unique=True))
    conditions = [draw(st.sampled_from(CONDITIONS)) for _ in targets]
    return ", ".join(f"{{{c}step: s{t}}}" for c, t in zip(conditions, targets, strict=True))


@dataclass
class Drive:
    """A worker by hand: real settler, real queue, no loop; the test says what becomes of steps."""

    shop: Shop
    number: int
    program: Program
    held: list[Lease] = field(default_factory=list)

    def __post_init__(self) -> None:
        connection = self.shop.connect("flush")
        self.life = begin_life(connection, self.shop.lives, ("", "~"), None)
        self.queue = PostgresQueue(connection, self.life.id, self.life.epoch)
        line = Line(lambda: connection, self.life.id, self.life.epoch)
        self.engine = Engine(line, Terms(), lambda leases: None)
        self.settler = Settler(self.engine)
        context = self.shop.records.contexts([self.number])[self.number]
        lanes = Starts(self.shop.records).lanes(self.program, 0)
        self.run = Run(self.program, context, {}, lanes, World())

    def flush(self) -> None:
        flush, wish = self.engine.outbox.take(Wish(only=(self.number,)))
        for lease in self.queue.flush(flush, wish).leases:
            self.engine.held[lease.key] = Held(lease, computes=False)
            self.engine.outbox.held += 1
            self.held.append(lease)

    def settle(self, lease: Lease, fails: bool) -> None:
        self.held.remove(lease)
        node = self.program.nodes[lease.idx]
        work = Work(self.run, node, lease)
        if lease.live == 0 and node.join != 2 and node.waits:
            self.settler.skipped(work)
        elif fails and not node.bare:
            self.settler.failed(work, Fault("unlucky", "it failed"))
        else:
            self.settler.done(work, None, text="null", payload={}, told=[])

    def close(self) -> None:
        end_life(self.queue.connection, self.life)
        self.queue.connection.close()


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(playbook=playbooks(), data=st.data())
def test_recount_gives_what_the_queue_counted(
    playbook: str,
    data: st.DataObject,
    shop: Shop,
) -> None:
    program, version = shop.submit(playbook)
    number = start(shop, program, version)
    with closing(Drive(shop, number, program)) as drive:
        for _ in range(data.draw(st.integers(0, 12), label="turns")):
            drive.flush()
            if not drive.held:
                break
            lease = data.draw(st.sampled_from(drive.held), label="lease")
            drive.settle(lease, data.draw(st.integers(0, 2), label="fails") == 0)
        drive.flush()

    rows = rows_of(shop.records, number)
    stands = {idx: stand_of(row[0], row[3], row[4]) for idx, row in rows.items()}
    counts = recount(program, stands)

    event(f"waiting: {sum(row[0] == State.WAITING for row in rows.values())}")
    for idx, (state, toward, live, _, _, lease_number) in rows.items():
        if program.nodes[idx].waits and not (lease_number == 0 and state > State.READY):
            assert counts[idx] == Count(toward, live), program.nodes[idx].name
    for idx, count in counts.items():
        if idx not in rows and idx not in (program.end, program.finally_end):
            assert count == Count(program.nodes[idx].waits, 0), program.nodes[idx].name
        if idx in rows and rows[idx][0] == State.WAITING:
            assert undecided(program, stands, idx)
            assert not is_open(program.nodes[idx], count)


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much],
)
@given(playbook=playbooks(), data=st.data())
def test_a_retried_execution_ends_as_one_that_never_failed(
    playbook: str,
    data: st.DataObject,
    shop: Shop,
) -> None:
    program, version = shop.submit(playbook)
    reference, number = start(shop, program, version), start(shop, program, version)
    run_off(shop, reference, program, set())
    ran = rows_of(shop.records, reference)
    names = [program.nodes[idx].name for idx in sorted(ran) if may_fail(program, idx, ran[idx][0])]
    assume(names)
    unlucky = data.draw(st.sets(st.sampled_from(names), min_size=1, max_size=3), label="unlucky")
    assert run_off(shop, number, program, unlucky) == Status.FAILED
    with closing(shop.connect("desk")) as connection:
        failed = rows_of(shop.records, number)
        begun = [idx for idx, row in failed.items() if row[0] in (State.DONE, State.FAILED)]
        named = [program.nodes[i].name for i in begun if not program.nodes[i].name.startswith("$")]
        step = data.draw(st.sampled_from([None, *named]), label="from")
        event("from a step" if step else "from what failed")
        retry(Desk(connection), number, by=By("ann"), from_step=step)

    assert run_off(shop, number, program, set()) == Status.COMPLETED

    wanted, found = rows_of(shop.records, reference), rows_of(shop.records, number)
    assert {i: row[0] for i, row in found.items()} == {i: row[0] for i, row in wanted.items()}


def start(shop: Shop, program: Program, version: int) -> int:
    starts = Starts(shop.records)
    return starts.start([starts.prepare(program, {}, version=version)])[0][0]


def may_fail(program: Program, idx: int, state: int) -> bool:
    """Whether a step was done whose failure nothing makes up for."""
    node = program.nodes[idx]
    makes_up = "goes_on" in node.more or any(way.kind == "error" for way in node.ways)
    return state == State.DONE and not node.bare and not makes_up


def run_off(shop: Shop, number: int, program: Program, unlucky: set[str]) -> int:
    """Carry an execution to its end; return how it ended."""
    with closing(Drive(shop, number, program)) as drive:
        while shop.status(number) == Status.RUNNING:
            drive.flush()
            if drive.held:
                lease = drive.held[0]
                drive.settle(lease, program.nodes[lease.idx].name in unlucky)
            else:
                shop.records.close(number, [])
    return shop.status(number)


def rows_of(records: Records, number: int) -> dict[int, tuple[Any, ...]]:
    found = records.connection.execute(
        "select idx, state, toward, live, extra, error, lease from noetl.step"
        " where execution_id = %s and item = 0",
        (number,),
    ).fetchall()
    return {row[0]: row[1:] for row in found}


def test_a_failure_whose_ways_could_not_be_asked_has_told_nobody(
    shop: Shop,
) -> None:
    program, _ = shop.submit(
        "workflow:\n  - {step: start, next: [a]}\n"
        "  - {step: a, type: echo, on_error: {step: b, when: '{{ a.no.thing }}'}, next: [end]}\n"
        "  - {step: b, type: echo, next: [end]}\n  - {step: end}\n"
    )
    failed = program.find("a")
    assert failed is not None
    stuck = stand_of(State.FAILED, None, '{"code":"condition","message":"no"}')

    counts = recount(program, {failed.idx: stuck})

    assert all(count.live == 0 for count in counts.values())
    assert all(count.toward == program.nodes[idx].waits for idx, count in counts.items())
    assert stuck == Stand(State.FAILED, None, stuck=True)
