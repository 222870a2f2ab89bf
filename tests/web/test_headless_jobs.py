"""Jobs of the headless server: whose turn it is, what is kept, what a key stands for."""

from datetime import UTC, datetime, timedelta

import pytest

from noetl_mcp.web.headless.calls import Call, Order
from noetl_mcp.web.headless.jobs import Bounds, Full, Job, Jobs, KeyTaken, Outcome

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
LATER = NOW + timedelta(seconds=1)
DONE = Outcome(b'{"ok":true}')


def order(method: str = "get_walls", params: bytes = b"{}", **more: object) -> Order:
    return Order(Call(method, params), **more)  # type: ignore[arg-type]  # what a test is about


def added(jobs: Jobs, *orders: Order) -> list[Job]:
    return [jobs.add(one, NOW, is_kept=True) for one in orders]


def do_all(jobs: Jobs, outcome: Outcome = DONE) -> list[str]:
    """Do what waits; return the methods in the order of their turns."""
    found = []
    while (job := jobs.begin(NOW)) is not None:
        jobs.settle(outcome, LATER)
        found.append(job.order.call.method)
    return found


def test_the_lowest_priority_has_its_turn_first_and_equals_as_they_came() -> None:
    jobs = Jobs()
    added(jobs, order("a"), order("b", priority=5), order("c"), order("d", priority=5))

    assert do_all(jobs) == ["b", "d", "a", "c"]


def test_one_job_runs_at_a_time() -> None:
    jobs = Jobs()
    added(jobs, order("a"), order("b"))

    first = jobs.begin(NOW)

    assert first is not None
    assert first.state == "RUNNING"
    assert jobs.begin(NOW) is None
    jobs.settle(DONE, LATER)
    assert jobs.begin(LATER) is not None


def test_a_job_tells_how_it_stands_from_its_first_to_its_last_moment() -> None:
    jobs = Jobs()
    (job,) = added(jobs, order())
    stands = [jobs.job(job.id)]
    jobs.begin(NOW)
    stands.append(jobs.job(job.id))
    jobs.settle(DONE, LATER)
    stands.append(jobs.job(job.id))

    assert [(one.state, one.started, one.finished, one.is_over) for one in stands if one] == [
        ("ENQUEUED", None, None, False),
        ("RUNNING", NOW, None, False),
        ("SUCCEEDED", NOW, LATER, True),
    ]


def test_an_outcome_with_a_code_is_a_failure() -> None:
    jobs = Jobs()
    (job,) = added(jobs, order())

    do_all(jobs, Outcome(b"{}", "UNHANDLED_EXCEPTION", "it broke"))

    found = jobs.job(job.id)
    assert found is not None
    assert found.state == "FAILED"
    assert jobs.counts() == {"ENQUEUED": 0, "RUNNING": 0, "SUCCEEDED": 0, "FAILED": 1}


def test_who_waits_for_an_answer_leaves_no_job_behind() -> None:
    jobs = Jobs()
    job = jobs.add(order(), NOW, is_kept=False)

    assert do_all(jobs) == ["get_walls"]
    assert jobs.job(job.id) is None
    assert jobs.listed(None, 10) == []


def test_only_so_many_may_wait_and_there_is_room_again_when_one_has_begun() -> None:
    jobs = Jobs(Bounds(waiting=2))
    added(jobs, order(), order())

    with pytest.raises(Full, match="2 calls wait already"):
        added(jobs, order())
    jobs.begin(NOW)

    assert added(jobs, order())


def test_only_so_many_bytes_may_wait() -> None:
    jobs = Jobs(Bounds(waiting_bytes=20))
    (first,) = added(jobs, order(params=b'{"a":"12345678"}'))

    with pytest.raises(Full, match="20 bytes"):
        added(jobs, order(params=b'{"a":1}'))
    jobs.drop(first.id)

    assert added(jobs, order(params=b'{"a":1}'))


def test_what_waits_can_be_dropped_and_what_runs_cannot() -> None:
    jobs = Jobs()
    first, second = added(jobs, order("a"), order("b"))
    jobs.begin(NOW)

    assert (jobs.drop(first.id), jobs.drop(second.id), jobs.drop(second.id)) == (False, True, False)
    jobs.settle(DONE, LATER)
    assert jobs.begin(NOW) is None


def test_of_what_is_over_the_oldest_is_forgotten() -> None:
    jobs = Jobs(Bounds(kept=2))
    first, second, third = added(jobs, order("a"), order("b"), order("c"))

    do_all(jobs)

    assert [jobs.job(one.id) is not None for one in (first, second, third)] == [False, True, True]


def test_of_what_is_over_so_many_bytes_are_kept_and_the_newest_always() -> None:
    jobs = Jobs(Bounds(kept_bytes=100))
    added(jobs, order("a"), order("b"))
    do_all(jobs, Outcome(b"x" * 40))
    assert len(jobs.listed(None, 9)) == 2

    added(jobs, order("c"))
    do_all(jobs, Outcome(b"x" * 1_000))

    assert [job.order.call.method for job in jobs.listed(None, 9)] == ["c"]


def test_what_is_forgotten_makes_room() -> None:
    jobs = Jobs(Bounds(kept_bytes=100))
    for _ in range(9):
        added(jobs, order())
        do_all(jobs, Outcome(b"x" * 30))

    assert len(jobs.listed(None, 9)) == 3


def test_jobs_are_listed_by_state_the_newest_first() -> None:
    jobs = Jobs()
    added(jobs, order("a"), order("b", priority=1), order("c"))
    jobs.begin(NOW)

    assert [job.order.call.method for job in jobs.listed(None, 9)] == ["c", "b", "a"]
    assert [job.order.call.method for job in jobs.listed("ENQUEUED", 1)] == ["c"]
    assert [job.order.call.method for job in jobs.listed("RUNNING", 9)] == ["b"]
    assert jobs.running is not None


def test_a_key_gives_the_same_job_for_the_same_call_whatever_state_it_is_in() -> None:
    jobs = Jobs()
    (first,) = added(jobs, order(params=b'{"a":1,"b":2}', key="k"))
    (waiting,) = added(jobs, order(params=b'{"a":1,"b":2}', key="k"))
    do_all(jobs)
    (over,) = added(jobs, order(params=b'{"a":1,"b":2}', key="k"))

    assert {one.id for one in (first, waiting, over)} == {first.id}
    assert over.state == "SUCCEEDED"


@pytest.mark.parametrize(
    "other", [order("get_doors", b'{"a":1}', key="k"), order(params=b'{"a":true}', key="k")]
)
def test_a_key_of_another_call_is_refused(other: Order) -> None:
    jobs = Jobs()
    (first,) = added(jobs, order(params=b'{"a":1}', key="k"))

    with pytest.raises(KeyTaken, match=f"job {first.id} of get_walls"):
        added(jobs, other)


def test_a_key_is_free_again_when_its_job_is_forgotten_or_dropped() -> None:
    jobs = Jobs(Bounds(kept=1))
    (first,) = added(jobs, order("a", key="k"))
    jobs.drop(first.id)
    (second,) = added(jobs, order("b", key="k"))
    do_all(jobs)
    added(jobs, order("c"))
    do_all(jobs)

    (third,) = added(jobs, order("d", key="k"))

    assert len({first.id, second.id, third.id}) == 3
