"""A plan that was made for empty tables serves full ones: a call costs what it did, in pages."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from noetl_mcp.broker.records import Begin, Records
from noetl_mcp.database import Connection, TupleRow
from noetl_mcp.queue.lease import (
    Arrived,
    Awaited,
    Ended,
    Flush,
    Lease,
    Opened,
    Over,
    State,
    Status,
    Wish,
)
from noetl_mcp.worker.evidence import Known, report
from tests.promises.costs import Explained, cost, rows_read
from tests.promises.sessions import ask, lane, worker
from tests.queue.world import InPostgres, settled, token

NOTHING = Wish((), ())
ROUNDS = 7
"""Plans are made for good after five calls."""
FLAT, DEEP = 1.5, 3.0
"""So much more may a call touch when indexes are deeper: a little, and at a million rows."""
GROWTH = """
with made as (
    insert into noetl.execution (id, plan_id, payload)
    select nextval('noetl.execution_id'), 1, '{}' from generate_series(1, %(executions)s)
    returning id),
several as (select made.id, n from made cross join generate_series(0, 9) n),
steps as (
    insert into noetl.step (execution_id, idx, item, state, lane, waits, toward, live)
    select id, n, 0, case when n < 5 then 1 else 0 end, %(lane)s, 0, 0, 1 from several),
fans as (
    insert into noetl.fan (execution_id, idx, item, total, next, live, tolerate, entries, lanes)
    select id, 0, 0, 10, 1, 1, 0, '{1}', '{1}' from made),
signals as (
    insert into noetl.signal (execution_id, idx, item, waits, lane)
    select id, n, 0, true, %(lane)s from several where n < 3),
timers as (
    insert into noetl.timer (due, execution_id, idx, item, lane)
    select clock_timestamp() + interval '1 day', id, n, 0, %(lane)s from several where n < 3)
insert into noetl.ready (pool, rank, execution_id, idx, item)
select '', 9, made.id, n %% 10, 0 from made cross join generate_series(1, %(hints)s) n
"""


@dataclass
class Journey:
    """One worker that takes executions through everything that a flush can do."""

    world: InPostgres
    plain: int
    limited: int
    queue: Explained
    person: Connection[TupleRow]
    """A session without the settings of a worker, as those have who start, cancel and reap."""
    keys: int = 0

    def flush(self, flush: Flush, wish: Wish = NOTHING) -> dict[int, Lease]:
        """Return what is held afterwards, by step."""
        return {one.idx: one for one in self.queue.flush(flush, wish).leases}

    def go(self) -> dict[str, int]:
        """Do one execution; return what each kind of flush cost."""
        here, costs = self.plain, dict[str, int]()
        number = self.world.start((0, here), (1, here))

        def did(name: str, flush: Flush, wish: Wish = NOTHING) -> dict[int, Lease]:
            held = self.flush(flush, wish)
            costs[name] = self.queue.pages
            return held

        def tokens(*idxs: int, **said: int | bool) -> list[object]:
            return [token(number, idx, here, **said) for idx in idxs]

        held = did("take", Flush(), Wish(("",), (2,)))
        half = token(number, 3, here, waits=2, n=1)
        held = did("half a join", Flush([settled(held[0])], [half])) | held
        held = did("join", Flush([settled(held[1])], [half]))
        spill = [token(number, idx, here, keep=False) for idx in (4, 5)]
        held = did("spill", Flush([settled(held[3])], spill))
        held = did("take of one execution", Flush(), Wish(("",), (10,), only=(number,)))
        rare = token(number, 2, self.limited, keep=False)
        did("spill to a limit", Flush([], [rare]))
        held = did("take of a limited one", Flush(), Wish(("gpu",), (1,)))
        retrying = settled(held[4], State.RETRYING, delay=3600.0)
        did("retry", Flush([retrying]))
        ask(
            self.world,
            "update noetl.timer set due = clock_timestamp() where execution_id = %s",
            number,
        )
        did("timer", Flush())
        held = did("take again", Flush(), Wish(("",), (1,)))
        opened = Opened(number, 5, 0, 3, 1, 0, (6,), (here,))
        parked = settled(held[5], State.PARKED, kind=19, note="{}")
        item = token(number, 6, here, item=1, waits=0, n=0)
        held = did("window", Flush([parked], [item], [opened]))
        for name in ("item", "item again", "last item"):
            ended = Ended(number, 5, 0, 1, 0, here, 1)
            held = did(name, Flush([settled(held[6])], ended=[ended]))
        held = did("take of the iterator", Flush(), Wish(("",), (1,)))
        waiting = settled(held[4], State.PARKED, kind=19, note="{}")
        did("park", Flush([waiting], awaited=[Awaited(number, 4, 0, here, "t")]))
        did("arrival", Flush(arrived=[Arrived(number, 4, 0, "1")]))
        held = did("take of what arrived", Flush(), Wish(("",), (1,)))
        over = [Over(number, Status.COMPLETED, "1", None)]
        rest = [settled(one) for one in held.values()]
        did("end", Flush(rest, over=over, released=[held[2].key]))
        did("beat", Flush(), Wish(("",), (0,), beat=True))
        return costs

    def lose(self) -> int:
        """Take a step with another worker, and return what finding it costs when that is gone."""
        self.world.start((0, self.plain))
        lost = worker(self.world)
        assert lost.flush(Flush(), Wish(("",), (1,))).leases
        found = cost(self.person, "select noetl.give_up_1(%s, null)", lost.worker)
        found += cost(self.person, "select noetl.recover_1(%s)", lost.worker)
        taken = self.flush(Flush(), Wish(("",), (1,)))
        self.flush(Flush([settled(one) for one in taken.values()]))
        return found

    def decide(self) -> dict[str, int]:
        """Start, answer, pause, resume, report and cancel; return how many rows each has read."""
        here, costs, records = self.plain, dict[str, int](), Records(self.person)
        self.keys += 1
        rows = [(idx, 1, here, 0, 0, 1, None, None) for idx in (0, 1)]
        begin = Begin(self.world.plan, "{}", "exam", 1, rows, key=f"key {self.keys}")
        for name in ("start", "start again"):
            with rows_read(self.person) as read:
                number, is_new = records.start([begin])[0]
            assert is_new == (name == "start")
            costs[name] = read[0]
        taken = self.flush(Flush(), Wish(("",), (2,)))
        parked = settled(taken[0], State.PARKED, kind=19, note="{}")
        doubt = settled(taken[1], State.IN_DOUBT, kind=21)
        awaited = [Awaited(number, 0, 0, here, None)]
        self.flush(Flush([parked, doubt], awaited=awaited))
        known = Known(number, 1, 0, taken[1].lease, "1")
        ask(
            self.world,
            "update noetl.step set owner = 77 where execution_id = %s and idx = 1",
            number,
        )
        for name, question, values in (
            ("answer", "select noetl.answer_1(%s, 0, 0, '1', 'ann')", (number,)),
            ("fill", "select noetl.fill_1(%s, '{0}', '{0}', '{1}', '{1}')", (number,)),
            ("requeue", "select noetl.requeue_1(array[%s::bigint])", (number,)),
            ("report", "", ()),
            ("halt", "insert into noetl.halt values (%s, 3, '{}')", (number,)),
            ("close", "select said from noetl.close_1(%s, '{}', '{}')", (number,)),
        ):
            with rows_read(self.person) as read:
                if name == "report":
                    assert report(self.person, 77, [known]) == 1
                else:
                    self.person.execute(question.encode(), values)
            costs[name] = read[0]
        assert self.world.status(number) == Status.CANCELLED
        return costs

    def many(self, count: int) -> list[dict[str, int]]:
        """Do so many executions, one after another."""
        return [{**self.go(), **self.decide(), "recovery": self.lose()} for _ in range(count)]


@pytest.fixture
def still(world: InPostgres) -> InPostgres:
    """A database in which nobody looks at the tables and makes new plans for their size."""
    tables = ask(
        world,
        "select format('%%I.%%I', schemaname, tablename) from pg_tables"
        " where schemaname = 'noetl' and tablename <> 'event'",
    )
    for (name,) in tables:
        ask(world, f"alter table {name} set (autovacuum_enabled = off)")
    return world


def grow(world: InPostgres, executions: int, hints: int) -> None:
    """Add executions of ten steps each, and so many hints for each."""
    values = {"executions": executions, "hints": hints, "lane": lane(world)}
    with world.connect() as connection:
        connection.execute("set statement_timeout = 0")
        connection.execute(GROWTH.encode(), values)


def most(found: Sequence[dict[str, int]]) -> dict[str, int]:
    return {name: max(one[name] for one in found) for name in found[0]}


def flipped(
    world: InPostgres, rows: int, executions: int, hints: int, share: float = FLAT
) -> dict[str, tuple[int, int]]:
    """Return what costs more on large tables than on those for which the plans were made."""
    world.start((0, lane(world)))
    grow(world, rows, 1)
    ask(world, "delete from noetl.ready where rank = 0")
    ask(world, "analyze noetl.step, noetl.ready, noetl.execution, noetl.timer, noetl.signal")
    made = worker(world)
    own, beside = world.connect(), world.connect()
    queue = Explained(own, made.worker, made.epoch, beside=beside)
    journey = Journey(
        world, lane(world), lane(world, pool="gpu", limit="revit", most=5), queue, world.connect()
    )
    journey.many(ROUNDS)  # the first ones read the catalog, too
    before = most(journey.many(2))

    grow(world, executions, hints)
    after = most(journey.many(2))

    return {
        name: (before[name], pages)
        for name, pages in after.items()
        if pages > share * before[name] + 15
    }


@pytest.mark.parametrize("rows", [0, 1, 2, 50])
def test_a_call_costs_the_same_when_small_tables_have_grown(still: InPostgres, rows: int) -> None:
    assert flipped(still, rows, executions=1_500, hints=30) == {}


@pytest.mark.slow
@pytest.mark.parametrize("rows", [0, 1, 2, 50])
def test_a_call_costs_the_same_at_a_million_queued(still: InPostgres, rows: int) -> None:
    assert flipped(still, rows, executions=30_000, hints=34, share=DEEP) == {}
