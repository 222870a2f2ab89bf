"""Worker processes that are killed, paused and replaced; some wait ready to begin at once."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Self

from tests.faults.hand import Orders

ROOT = Path(__file__).parent.parent.parent


@dataclass(eq=False)
class Hand:
    """One process; it does nothing before it is told what to do."""

    process: subprocess.Popen[bytes]
    paused_until: float = 0.0

    def begin(self, orders: Orders) -> None:
        self.tell(json.dumps(asdict(orders)).encode() + b"\n")

    def tell(self, words: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(words)
        self.process.stdin.flush()

    def signal(self, number: int) -> None:
        if self.process.poll() is None:
            os.kill(self.process.pid, number)

    def leave(self) -> None:
        """Let it finish what it does and go."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def end(self) -> None:
        """Be sure that it is gone."""
        self.signal(signal.SIGKILL)
        self.process.wait(10)
        assert self.process.stdin is not None
        self.process.stdin.close()


def spawn(log: IO[bytes] | int | None = None) -> Hand:
    """Start a process that has everything loaded and waits."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.hand"],
        stdin=subprocess.PIPE,
        stderr=log,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    return Hand(process)


@dataclass(eq=False)
class Crew:
    """So many workers at work, and so many that wait to take a place."""

    orders: Callable[[int], Orders]
    count: int
    spares: int = 0
    log: IO[bytes] | int | None = None
    hands: list[Hand] = field(default_factory=list)
    ready: list[Hand] = field(default_factory=list)
    begun: int = 0

    def __enter__(self) -> Self:
        self.fill()
        return self

    def __exit__(self, *_: object) -> None:
        for hand in (*self.hands, *self.ready):
            hand.end()
        self.hands, self.ready = [], []

    def fill(self) -> None:
        """Let a new one begin in the place of each that is gone."""
        gone = [hand for hand in self.hands if hand.process.poll() is not None]
        for hand in gone:
            self.hands.remove(hand)
            hand.end()
        while len(self.hands) < self.count:
            hand = self.ready.pop(0) if self.ready else spawn(self.log)
            hand.begin(self.orders(self.begun))
            self.begun += 1
            self.hands.append(hand)
        while len(self.ready) < self.spares:
            self.ready.append(spawn(self.log))

    def awake(self) -> list[Hand]:
        """Return those that are not paused."""
        return [hand for hand in self.hands if not hand.paused_until]

    def kill(self, hand: Hand) -> None:
        """Kill one without a warning."""
        hand.signal(signal.SIGKILL)
        hand.process.wait(10)

    def pause(self, hand: Hand, seconds: float) -> None:
        """Let one sleep; it notices nothing."""
        hand.signal(signal.SIGSTOP)
        hand.paused_until = time.monotonic() + seconds

    def rouse(self, *, everybody: bool = False) -> int:
        """Wake those that have slept long enough; return how many."""
        now = time.monotonic()
        late = [h for h in self.hands if h.paused_until and (everybody or h.paused_until <= now)]
        for hand in late:
            hand.signal(signal.SIGCONT)
            hand.paused_until = 0.0
        return len(late)

    def leave(self, seconds: float = 30.0) -> bool:
        """Let all finish and go; say whether they did."""
        for hand in self.hands:
            hand.leave()
        end = time.monotonic() + seconds
        while any(hand.process.poll() is None for hand in self.hands):
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        return True


__all__ = ["Crew", "Hand", "spawn"]
