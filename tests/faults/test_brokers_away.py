"""A broker of hints that is away, or hangs: work goes on, and its hints are heard again later."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from urllib.parse import urlsplit

import pytest

from noetl_mcp.worker.pool import Carrier, announce
from tests.faults.wire import Wire
from tests.worker.brokers import free_port, rabbitmq, redis
from tests.worker.shop import Shop
from tests.worker.test_hints import connecting
from tests.worker.test_lives import QUICK, living

Broker = Callable[[], AbstractContextManager[str]]
CARRIERS = [
    pytest.param(lambda: redis(free_port()), id="redis"),
    pytest.param(rabbitmq, id="rabbitmq", marks=pytest.mark.slow),
]


@contextmanager
def wired(broker: Broker) -> Iterator[tuple[str, str, Wire]]:
    """Yield the URL of a broker, the same through a wire, and the wire."""
    with broker() as behind, Wire(urlsplit(behind).port or 0) as wire:
        yield behind, wire.url(behind), wire


@contextmanager
def carried(url: str, shop: Shop, heard: Callable[[str, str], None]) -> Iterator[Carrier]:
    carrier = Carrier(url, ("",), heard, connecting(shop.dsn))
    carrier.start()
    try:
        yield carrier
    finally:
        carrier.stop()


def heard_within(url: str, heard: list[str], seconds: float = 30.0) -> bool:
    """Say again and again that there is work, until it is heard."""
    end = time.monotonic() + seconds
    while not heard and time.monotonic() < end:
        announce(url, [""])
        time.sleep(0.05)
    return bool(heard)


@pytest.mark.parametrize("broker", CARRIERS)
@pytest.mark.parametrize("how", ["cut", "hang"])
def test_who_hears_from_a_broker_hears_again_when_it_is_back(
    shop: Shop, broker: Broker, how: str
) -> None:
    heard: list[str] = []
    with (
        wired(broker) as (behind, url, wire),
        carried(url, shop, lambda channel, text: heard.append(channel)),
    ):
        assert heard_within(behind, heard)

        getattr(wire, how)()
        heard.clear()
        assert not heard_within(behind, heard, 0.5)
        wire.mend()

        assert heard_within(behind, heard)


@pytest.mark.parametrize("broker", CARRIERS)
@pytest.mark.parametrize("how", ["cut", "hang"])
def test_work_goes_on_while_the_broker_is_away(shop: Shop, broker: Broker, how: str) -> None:
    """Workers look by themselves, and nobody waits for what nobody carries."""

    async def work(url: str, wire: Wire) -> list[str]:
        async with living(shop) as lives:
            with carried(url, shop, lives.hear) as carrier:
                lives.awaken = carrier.awaken
                getattr(wire, how)()
                numbers = [shop.start(QUICK) for _ in range(3)]
                carrier.awaken([lives.number or 0])
                await shop.until(lambda: all(shop.status(one) for one in numbers))
                wire.mend()
                return [shop.done(one).status for one in numbers]

    with wired(broker) as (_, url, wire):
        assert asyncio.run(work(url, wire)) == ["completed"] * 3
