"""Carry hints between the processes of a fleet: the only place that knows dramatiq.

A message says "look into this pool". The actor sets the engine's flag and returns; it runs no step.
Losing or repeating a message is harmless, and so is a broker that is down: workers look by
themselves once a second. Retries, results and pipelines of dramatiq are not used.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import dramatiq
from dramatiq.errors import DramatiqError

from noetl_mcp.database import Connection, Error, NotReachable, TupleRow, statements
from noetl_mcp.queue.pools import pools_of
from noetl_mcp.worker.hints import WAKE, Ear

SQL = statements(__file__, "pool.sql")
POSTGRES = "postgres"
ACTOR = "wake"
_IDLE_MILLISECONDS = {POSTGRES: 200, "redis": 100, "amqp": 500}
_COALESCE = 0.02
_RETRY = 5.0
Connect = Callable[[], Connection[TupleRow]]
Heard = Callable[[str, str], None]


class NoBroker(Exception):
    """The broker that was asked for cannot be used; the text says what is missing."""


class ListenBroker(dramatiq.Broker):
    """Carries what Postgres notifies. Nothing is kept, nothing is acknowledged."""

    def __init__(self, connect: Connect) -> None:
        super().__init__(middleware=[])
        self.queues = set[str]()
        self._connect = connect

    def declare_queue(self, queue_name: str) -> None:
        """Have a queue; there is one consumer for it."""
        if queue_name not in self.queues:
            self.emit_before("declare_queue", queue_name)
            self.queues.add(queue_name)
            self.emit_after("declare_queue", queue_name)

    def get_declared_queues(self) -> set[str]:
        """Return the queues."""
        return set(self.queues)

    def consume(self, queue_name: str, prefetch: int = 1, timeout: int = 30000) -> "_Listener":
        """Return what listens."""
        return _Listener(Ear(self._connect), queue_name, timeout / 1000)

    def enqueue(
        self, message: "dramatiq.Message[Any]", *, delay: int | None = None
    ) -> "dramatiq.Message[Any]":
        """Send nothing: whoever changes a row says so in the same transaction."""
        return message


class _Listener(dramatiq.Consumer):
    """Turns notices into messages."""

    def __init__(self, ear: Ear, queue: str, seconds: float) -> None:
        self._ear = ear
        self._queue = queue
        self._seconds = seconds

    def __next__(self) -> dramatiq.MessageProxy | None:
        hint = self._ear.next(self._seconds)
        if hint is None:
            return None
        return dramatiq.MessageProxy(_message(self._queue, hint.channel, hint.text))

    def ack(self, message: dramatiq.MessageProxy) -> None:
        """Nothing is kept."""

    nack = ack

    def close(self) -> None:
        """Let the session go."""
        self._ear.close()


class Carrier:
    """Brings hints to one process, and takes its hints to others."""

    def __init__(self, url: str, pools: Iterable[str], heard: Heard, connect: Connect) -> None:
        _quiet()
        self.kind = kind_of(url)
        self._broker = broker_of(url, connect)
        names = [POSTGRES] if self.kind == POSTGRES else [queue_of(pool) for pool in pools]
        self._heard = heard
        dramatiq.actor(actor_name=ACTOR, queue_name=names[0], broker=self._broker)(self._wake)
        for name in names[1:]:
            self._broker.declare_queue(name)
        self._worker = dramatiq.Worker(
            self._broker, worker_threads=1, worker_timeout=_IDLE_MILLISECONDS[self.kind]
        )
        self._sender = None if self.kind == POSTGRES else Sender(self._broker, connect)

    def start(self) -> None:
        """Begin to hear; returns at once, whether the broker is up or not."""
        self._worker.start()
        if self._sender is not None:
            self._sender.start()

    def stop(self) -> None:
        """Hear nothing more, and let every connection go."""
        if self._sender is not None:
            self._sender.stop()
        self._worker.stop(timeout=5_000)
        self._broker.close()

    def awaken(self, sleepers: Sequence[int]) -> None:
        """Tell sleeping workers that there is work; many calls at once make one message."""
        if self._sender is not None:
            self._sender.awaken(sleepers)

    def _wake(self, channel: str, text: str) -> None:
        self._heard(channel, text)


class Sender:
    """Sends hints from a thread of its own, so that a broker that is down delays nobody."""

    def __init__(self, broker: dramatiq.Broker, connect: Connect) -> None:
        self._broker = broker
        self._connect = connect
        self._wanted = threading.Condition()
        self._sleepers: set[int] = set()
        self._named: set[str] = set()
        self._stopping = False
        self._pools: dict[int, tuple[str, ...]] = {}
        self._thread = threading.Thread(target=self._work, name="awaken", daemon=True)
        self.sent = 0

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def stop(self) -> None:
        """Send nothing more."""
        with self._wanted:
            self._stopping = True
            self._wanted.notify()
        self._thread.join(5)

    def awaken(self, sleepers: Sequence[int]) -> None:
        """Have these workers told."""
        with self._wanted:
            self._sleepers.update(sleepers)
            self._wanted.notify()

    def announce(self, pools: Iterable[str]) -> None:
        """Have it said that there is work in pools."""
        with self._wanted:
            self._named.update(pools)
            self._wanted.notify()

    def _work(self) -> None:
        not_before = 0.0
        while True:
            with self._wanted:
                while not (self._sleepers or self._named or self._stopping):
                    self._wanted.wait()
                if self._stopping:
                    return
            time.sleep(_COALESCE)
            with self._wanted:
                sleepers, self._sleepers = self._sleepers, set()
                named, self._named = self._named, set()
            if time.monotonic() < not_before:
                continue
            try:
                self._send(named | self._pools_of(sleepers))
            except in_the_way():
                not_before = time.monotonic() + _RETRY

    def _pools_of(self, sleepers: set[int]) -> set[str]:
        unknown = sleepers - self._pools.keys()
        if unknown:
            with self._connect() as connection:
                rows = connection.execute(SQL["pools"].encode(), {"ids": list(unknown)}).fetchall()
            self._pools |= {row[0]: tuple(row[1]) for row in rows}
        return pools_of(queue for one in sleepers for queue in self._pools.get(one, ()))

    def _send(self, pools: set[str]) -> None:
        for pool in sorted(pools):
            send(self._broker, pool)
            self.sent += 1


def sender(url: str, connect: Connect) -> Sender | None:
    """Return what sends hints for those who start executions; None where Postgres does."""
    if kind_of(url) == POSTGRES:
        return None
    _quiet()
    found = Sender(broker_of(url, connect), connect)
    found.start()
    return found


def announce(url: str, pools: Iterable[str]) -> bool:
    """Say once that there is work in pools; whether it could be said. Nothing depends on it."""
    if kind_of(url) == POSTGRES:
        return True
    _quiet()
    try:
        broker = broker_of(url, _no_connection)
        try:
            for pool in pools:
                send(broker, pool)
        finally:
            broker.close()
    except in_the_way():
        return False
    return True


def reachable(url: str) -> str | None:
    """Return why a broker cannot be reached; None when it can. Raises NoBroker."""
    broker: Any = broker_of(url, _no_connection)
    try:
        if kind_of(url) == "redis":
            broker.client.ping()
        else:
            broker.connection  # noqa: B018 - it connects when it is asked for
    except in_the_way() as problem:
        return " ".join(str(problem).split()) or type(problem).__name__
    finally:
        broker.close()
    return None


def send(broker: dramatiq.Broker, pool: str) -> None:
    """Put one hint into the queue of a pool."""
    queue = queue_of(pool)
    broker.declare_queue(queue)
    broker.enqueue(_message(queue, WAKE, ""))


def broker_of(url: str, connect: Connect) -> dramatiq.Broker:
    """Return the broker behind a URL; raise NoBroker when its library is not installed."""
    kind = kind_of(url)
    if kind == POSTGRES:
        return ListenBroker(connect)
    try:
        if kind == "redis":
            from dramatiq.brokers.redis import RedisBroker

            make: Any = RedisBroker  # it has no types
            where = _impatient(url, socket_connect_timeout="2", socket_timeout="5")
            found: dramatiq.Broker = make(url=where, middleware=[], namespace="noetl-mcp")
            return found
        from dramatiq.brokers.rabbitmq import RabbitmqBroker

        where = _impatient(url, connection_attempts="1", socket_timeout="2", stack_timeout="3")
        return RabbitmqBroker(url=where, middleware=[])
    except ImportError as missing:
        raise NoBroker(
            f"NOETL_BROKER is {kind}://…, which needs the package '{missing.name}': "
            "pip install 'noetl-mcp[fleet]'"
        ) from None
    except ValueError as wrong:
        raise NoBroker(f"NOETL_BROKER cannot be used: {wrong}") from None


def kind_of(url: str) -> str:
    """Return what carries hints: `postgres`, `amqp` or `redis`."""
    scheme = url.partition(":")[0]
    return {"amqps": "amqp", "rediss": "redis"}.get(scheme, scheme)


def queue_of(pool: str) -> str:
    """Return the name of a pool's queue at a broker; other signs than these are not allowed."""
    plain = "".join(c if (c.isalnum() and c.isascii()) or c in "-_" else "_" for c in pool)
    return f"noetl-mcp.{plain or 'default'}"


def in_the_way() -> tuple[type[Exception], ...]:
    """Return what may be raised when a broker or the database is away."""
    import sys

    found: list[type[Exception]] = [DramatiqError, NoBroker, Error, NotReachable, OSError]
    for module, name in (("pika.exceptions", "AMQPError"), ("redis.exceptions", "RedisError")):
        loaded = sys.modules.get(module)
        if loaded is not None:
            found.append(getattr(loaded, name))
    return tuple(found)


def _impatient(url: str, **bounds: str) -> str:
    """Return a URL that says how long to wait, as far as it did not say so itself."""
    parts = urlsplit(url)
    said = dict(parse_qsl(parts.query, keep_blank_values=True))
    return urlunsplit(parts._replace(query=urlencode({**bounds, **said})))


def _message(queue: str, channel: str, text: str) -> "dramatiq.Message[Any]":
    options: Mapping[str, Any] = {}
    return dramatiq.Message(queue, ACTOR, (channel, text), {}, dict(options))


def _no_connection() -> Connection[TupleRow]:
    raise NotReachable("there is no database here")


class _Seldom(logging.Filter):
    """Lets one record through in a while, without its traceback."""

    def __init__(self) -> None:
        super().__init__()
        self._not_before = 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        """Say whether a record is shown."""
        record.exc_info = record.exc_text = None
        now = time.monotonic()
        if record.levelno < logging.ERROR or now < self._not_before:
            return False
        self._not_before = now + 60
        return True


def _quiet() -> None:
    """Let the libraries say once in a while that their broker is down, and nothing else."""
    log = logging.getLogger("dramatiq")
    if not log.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("hints do not arrive: %(message)s"))
        handler.addFilter(_Seldom())
        log.addHandler(handler)
        log.propagate = False
        logging.getLogger("pika").setLevel(logging.CRITICAL + 1)


__all__ = [
    "Carrier",
    "ListenBroker",
    "NoBroker",
    "Sender",
    "announce",
    "broker_of",
    "kind_of",
    "queue_of",
    "reachable",
    "send",
    "sender",
]
