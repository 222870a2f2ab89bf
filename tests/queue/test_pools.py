"""Names of queues: what they are made of can be read back, and nothing else can look like it."""

import re
from itertools import product

from noetl_mcp.queue.pools import (
    POOL,
    form_of,
    is_computing,
    pool_of,
    pools_of,
    queue_name,
    queues_behind,
)


def test_what_a_name_is_made_of_can_be_read_back() -> None:
    parts = list(product(("", "gpu", "a.b-c_2"), (1, 2, 13), (False, True)))
    names = [queue_name(pool, form, computes=computes) for pool, form, computes in parts]

    assert [(pool_of(n), form_of(n), is_computing(n)) for n in names] == parts
    assert len(set(names)) == len(names)


def test_plans_of_the_first_form_wait_where_they_always_did() -> None:
    assert queues_behind(["", "gpu"]) == ("", "~", "gpu", "gpu~")


def test_who_knows_more_forms_takes_from_more_queues() -> None:
    assert set(queues_behind(["gpu"])) < set(queues_behind(["gpu"], 2))


def test_queues_that_open_by_themselves_name_no_pool() -> None:
    assert pools_of(["=door@gpu~", "!alonegpu", "gpu~", "cpu^2"]) == {"gpu", "cpu"}


def test_no_mark_can_stand_in_a_pool() -> None:
    for mark in "^~=!@+ /:":
        assert re.fullmatch(POOL, f"a{mark}b") is None
