from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from noetl_mcp.worker.hints import WAKE
from noetl_mcp.worker.pool import (
    Carrier,
    NoBroker,
    announce,
    broker_of,
    kind_of,
    queue_of,
    reachable,
    sender,
)
from tests.worker.brokers import free_port, rabbitmq, redis
from tests.worker.shop import Shop
from tests.worker.test_hints import connecting, say, within


@contextmanager
def carried(
    url: str, shop: Shop, pools: tuple[str, ...] = ("",)
) -> Iterator[tuple[Carrier, list[str]]]:
    heard: list[str] = []
    carrier = Carrier(
        url, pools, lambda channel, text: heard.append(f"{channel} {text}"), connecting(shop.dsn)
    )
    carrier.start()
    try:
        yield carrier, heard
    finally:
        carrier.stop()


def sleeper(shop: Shop, *pools: str) -> int:
    row = shop.records.connection.execute(
        "insert into noetl.worker (epoch, asleep, plan_format, pools, host, boot, pid)"
        " values (1, true, 1, %s, 'elsewhere', '', 1) returning id",
        [list(pools)],
    ).fetchone()
    assert row is not None
    return int(row[0])


def test_what_postgres_notifies_reaches_the_actor(shop: Shop) -> None:
    with carried("postgres", shop) as (_, heard):
        within(lambda: heard == [f"{WAKE} "])

        say(shop, WAKE, "4")
        say(shop, "noetl_halt", "12")

        within(lambda: heard == [f"{WAKE} ", f"{WAKE} 4", "noetl_halt 12"])


def test_redis_carries_a_hint_to_a_pool_and_to_no_other(shop: Shop) -> None:
    with (
        redis(free_port()) as url,
        carried(url, shop, ("revit",)) as (_, revit),
        carried(url, shop, ("",)) as (_, usual),
    ):
        assert announce(url, ["revit"])

        within(lambda: revit == [f"{WAKE} "])
        assert usual == []


def test_a_worker_wakes_the_pools_of_those_that_sleep_with_one_message(shop: Shop) -> None:
    one, two = sleeper(shop, "", "~"), sleeper(shop, "", "~")

    with redis(free_port()) as url, carried(url, shop) as (carrier, heard):
        for _ in range(100):
            carrier.awaken([one, two])

        within(lambda: bool(heard))
        assert carrier._sender is not None
        assert carrier._sender.sent < 10


def test_a_broker_that_goes_away_and_comes_back_is_used_again(shop: Shop) -> None:
    port = free_port()
    with redis(port) as url, carried(url, shop) as (_, heard):
        announce(url, [""])
        within(lambda: len(heard) == 1)

    assert announce(url, [""]) is False
    assert reachable(url)

    with redis(port), carried(url, shop) as (_, heard):
        announce(url, [""])
        within(lambda: len(heard) == 1)


def test_a_process_whose_broker_is_away_starts_and_stops_all_the_same(shop: Shop) -> None:
    with carried(f"redis://127.0.0.1:{free_port()}/0", shop) as (carrier, heard):
        carrier.awaken([sleeper(shop, "")])

    assert heard == []


@pytest.mark.slow
def test_rabbitmq_carries_a_hint_to_a_pool(shop: Shop) -> None:
    with rabbitmq() as url, carried(url, shop, ("", "gpu")) as (carrier, heard):
        assert reachable(url) is None
        assert announce(url, ["gpu"])
        within(lambda: len(heard) == 1)

        carrier.awaken([sleeper(shop, "")])

        within(lambda: len(heard) == 2)


def test_a_server_announces_through_one_connection_that_it_keeps(shop: Shop) -> None:
    with redis(free_port()) as url, carried(url, shop) as (_, heard):
        found = sender(url, connecting(shop.dsn))
        assert found is not None
        found.announce([""])
        within(lambda: bool(heard))
        found.stop()

    assert sender("postgres", connecting(shop.dsn)) is None


def test_kinds_and_queues_are_told_from_urls_and_pools() -> None:
    urls = ("postgres", "amqp://a", "amqps://a", "redis://a", "rediss://a")

    assert [kind_of(url) for url in urls] == ["postgres", "amqp", "amqp", "redis", "redis"]
    assert [queue_of(pool) for pool in ("", "gpu", "a b/c")] == [
        "noetl-mcp.default",
        "noetl-mcp.gpu",
        "noetl-mcp.a_b_c",
    ]


def test_an_url_that_cannot_be_meant_is_a_sentence() -> None:
    with pytest.raises(NoBroker, match="NOETL_BROKER cannot be used"):
        broker_of("redis://host:notaport/0", lambda: (_ for _ in ()).throw(OSError))
