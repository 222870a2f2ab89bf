"""Keep some processes alive: start them, start them again when they die, let them leave in order.

Each is a fresh interpreter with closed descriptors. What it shall do comes as one line on its
standard input; when that ends, its parent is gone and it goes, too. One whose loop stands still is
killed. Does none of the work itself.
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import IO, Any

from noetl_mcp.worker.pulse import Pulse

LEAVE, HURRY = b"leave\n", b"hurry\n"
HOPELESS = 2
"""Who ends with this code would end with it again."""
_SOONEST, _LATEST = 0.1, 30.0
_WELL = 30.0
"""Who lived so long was well: it is started again at once."""
_SETTLED = 1.0
"""Who has lived so long is at work, and the next one may be replaced."""
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


@dataclass(frozen=True, slots=True)
class Orders:
    """What to start, how often, and what to tell each."""

    command: Callable[[int], Sequence[str]]
    count: int
    order: Callable[[int], Mapping[str, Any]]
    descriptors: Callable[[int], Sequence[int]] = lambda number: ()
    """What is open in a process beside its streams."""
    hopeless: Callable[[int], str | None] = lambda number: None
    """Why who has died unasked would only die again; None when another one is worth a try."""
    may_end: bool = False
    """Whether who leaves by itself has nothing more to do; else another takes its place."""
    patience: float = 60.0
    """Who has not left so long after it was told to is killed."""
    look: float = 5.0
    """Seconds between two looks at the pulse of each."""


@dataclass(slots=True, eq=False)
class _Place:
    """Where one process works, and another one after it."""

    number: int
    process: subprocess.Popen[bytes] | None = None
    pulse: Pulse | None = None
    started: float = 0.0
    wait: float = _SOONEST
    start_at: float | None = 0.0
    leaving_since: float | None = None
    deaths: int = field(default=0)

    def tell(self, words: bytes) -> None:
        """Say something to the process; one that is gone hears nothing."""
        stream: IO[bytes] | None = self.process.stdin if self.process is not None else None
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.write(words)
                stream.flush()


class Supervisor:
    """Looks after processes in the main thread, until all have ended for good."""

    def __init__(self, orders: Orders, told: Callable[[str], None]) -> None:
        self._orders = orders
        self._told = told
        self._places = [_Place(number) for number in range(orders.count)]
        self._stops = 0
        self._asked_to_leave = False
        self._reload = False
        self._rolling: list[_Place] = []
        self._code = 0
        self._look_at = 0.0

    def run(self) -> int:
        """Return the exit code once all are gone: that of a hopeless one, else 0."""
        with _heard_signals(self._signalled) as bell:
            while self._still():
                pause = self._next_in()
                if select.select([bell], [], [], pause)[0]:
                    os.read(bell, 4096)
                self._leave()
                self._roll()
                self._look()
                self._bury()
        return self._code

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        if number in (signal.SIGTERM, signal.SIGINT):
            self._stops += 1
        elif number == signal.SIGHUP:
            self._reload = True

    def _still(self) -> bool:
        """Start what is to be started; say whether anything lives or will."""
        now = time.monotonic()
        for place in self._places:
            if place.start_at is not None and place.start_at <= now:
                self._start(place)
        return any(one.process is not None or one.start_at is not None for one in self._places)

    def _start(self, place: _Place) -> None:
        place.start_at, place.leaving_since = None, None
        place.started = time.monotonic()
        pulse = Pulse()
        try:
            place.process = subprocess.Popen(
                list(self._orders.command(place.number)),
                stdin=subprocess.PIPE,
                close_fds=True,
                pass_fds=(*self._orders.descriptors(place.number), pulse.beats),
            )
        except OSError as problem:
            pulse.close()
            self._again(place, f"cannot be started: {problem}")
            return
        finally:
            pulse.handed_over()
        place.pulse = pulse
        order = {**self._orders.order(place.number), "pulse": pulse.beats}
        place.tell(json.dumps(order).encode() + b"\n")

    def _again(self, place: _Place, why: str) -> None:
        lived = time.monotonic() - place.started
        place.wait = _SOONEST if lived > _WELL else min(place.wait * 2, _LATEST)
        place.start_at = time.monotonic() + place.wait
        place.deaths += 1
        self._told(f"process {place.number + 1} {why}; another one starts in {place.wait:.1f} s")

    def _next_in(self) -> float | None:
        """Return the seconds until something is to be done unasked."""
        now = time.monotonic()
        if self._stops:
            return 0.0
        at = [now + _SETTLED / 4] if self._rolling else []
        for place in self._places:
            if place.process is not None:
                at.append(self._look_at)
            if place.start_at is not None:
                at.append(place.start_at)
            if place.leaving_since is not None:
                at.append(place.leaving_since + self._orders.patience)
        return max(0.0, min(at) - now) if at else None

    def _leave(self) -> None:
        """Pass on that all shall leave: in order the first time, in a hurry the second."""
        stops, self._stops = self._stops, 0
        for _ in range(stops):
            words = HURRY if self._asked_to_leave else LEAVE
            if not self._asked_to_leave:
                self._told("leaving: finishing or handing back what runs; once more hurries it")
            self._asked_to_leave = True
            for place in self._places:
                place.start_at = None
                self._dismiss(place, words)

    def _dismiss(self, place: _Place, words: bytes = LEAVE) -> None:
        if place.process is not None:
            place.leaving_since = place.leaving_since or time.monotonic()
            place.tell(words)

    def _roll(self) -> None:
        """Replace the processes one after another."""
        if self._reload and not self._asked_to_leave:
            self._reload = False
            self._told("replacing the processes one after another")
            self._rolling = list(self._places)
        busy = any(
            one.leaving_since is not None
            or one.process is None
            or time.monotonic() - one.started < _SETTLED
            for one in self._places
        )
        if self._rolling and not busy and not self._asked_to_leave:
            self._dismiss(self._rolling.pop(0))

    def _look(self) -> None:
        """Kill who stands still; what it held is done by others, and counted as a crash."""
        now = time.monotonic()
        if now < self._look_at:
            return
        self._look_at = now + self._orders.look
        for place in self._places:
            if place.process is None or place.pulse is None:
                continue
            if place.pulse.look(place.process.pid):
                self._told(f"process {place.number + 1} stands still, and is killed")
                place.process.kill()

    def _bury(self) -> None:
        """See who has ended, and who must be made to."""
        now = time.monotonic()
        for place in self._places:
            process = place.process
            if process is None:
                continue
            code = process.poll()
            if code is None:
                since = place.leaving_since
                if since is not None and now - since > self._orders.patience:
                    process.kill()
                continue
            if process.stdin is not None:
                with contextlib.suppress(OSError):
                    process.stdin.close()
            if place.pulse is not None:
                place.pulse.close()
            place.process = place.pulse = None
            self._ended(place, code)

    def _ended(self, place: _Place, code: int) -> None:
        if code == HOPELESS:
            self._give_up()
            return
        if self._asked_to_leave:
            return
        if place.leaving_since is not None:
            place.start_at, place.leaving_since = time.monotonic(), None
        elif code or not self._orders.may_end:
            why = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
            hopeless = self._orders.hopeless(place.number)
            if hopeless is None:
                self._again(place, why)
                return
            self._told(f"process {place.number + 1} {why}; {hopeless}")
            self._give_up()

    def _give_up(self) -> None:
        self._code = HOPELESS
        self._stops += not self._asked_to_leave


@contextmanager
def _heard_signals(heard: Callable[[int, FrameType | None], None]) -> Iterator[int]:
    """Yield a descriptor that can be read when a signal came; `heard` is called before."""
    bell, ringer = os.pipe()
    os.set_blocking(ringer, False)
    os.set_blocking(bell, False)
    before = {number: signal.signal(number, heard) for number in _SIGNALS}
    wakeup = signal.set_wakeup_fd(ringer, warn_on_full_buffer=False)
    try:
        yield bell
    finally:
        signal.set_wakeup_fd(wakeup)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(bell)
        os.close(ringer)


__all__ = ["HOPELESS", "HURRY", "LEAVE", "Orders", "Supervisor"]
