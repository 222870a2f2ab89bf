"""dramatiq on Redis, in memory and not durable: 8 threads. A chain's actor sends the next."""

import threading
import time

import dramatiq
import redis
from dramatiq.brokers.redis import RedisBroker
from race import Race, run

_THREADS = 8


def actor_of(race: Race) -> tuple[RedisBroker, dramatiq.Actor]:
    """Return a broker with its one actor."""
    broker = RedisBroker(url=race.url)
    dramatiq.set_broker(broker)
    lock = threading.Lock()

    @dramatiq.actor(actor_name="step")
    def step(left: int) -> None:
        if left > 1:
            step.send(left - 1)
        with lock:
            race.done()

    return broker, step


def prepare(race: Race) -> None:
    """Forget what was there."""
    redis.from_url(race.url).flushall()


def enqueue(race: Race) -> None:
    """Queue the first step of each job."""
    _, step = actor_of(race)
    for _ in range(race.jobs):
        step.send(race.steps)


def work(race: Race) -> None:
    """Do jobs until killed."""
    broker, _ = actor_of(race)
    race.wait()
    dramatiq.Worker(broker, worker_threads=_THREADS).start()
    while True:
        time.sleep(60)


def is_left(race: Race):  # type: ignore[no-untyped-def]  # a function that takes nothing
    """Return what asks for messages that nobody has acknowledged."""
    client = redis.from_url(race.url)
    return lambda: client.exists("dramatiq:default.msgs")


if __name__ == "__main__":
    run(prepare, enqueue, work, is_left)
