"""Wait for an execution in front of a person, and do its steps here when no worker is up.

Shared by `run`, `watch`, `retry --wait` and `rerun --wait`. Starts nothing and retries nothing
itself.
"""

import asyncio
import os
import signal
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from noetl_mcp.broker.records import Records
from noetl_mcp.broker.typed import typed
from noetl_mcp.cli.screen import Screen, screen
from noetl_mcp.database import Error, NotReachable
from noetl_mcp.looking import Looking, Seen
from noetl_mcp.worker.living import PASSING

if TYPE_CHECKING:
    from noetl_mcp.assembly import Home
    from noetl_mcp.decks import Deck
    from noetl_mcp.worker.lives import Lives

STOPPED = 130
_SOONEST, _LATEST = 0.01, 0.25
_OTHERS = timedelta(minutes=5)
"""How long a write of another execution may go on here when the own one is over: cut off sooner, it
would be in doubt, and its owner would have to find out what became of it."""
_READING = timedelta(seconds=1)
_PATIENCE = 0.6
"""A worker's absence counts when it lasts so long: one may be starting again."""


def wait_for(
    home: "Home",
    execution_id: int,
    *,
    as_json: bool,
    inline: bool = False,
    deck: "Deck | None" = None,
) -> int:
    """Wait until an execution is over, tell how it ended, and return the exit code.

    Progress goes to standard error; standard output gets the result, or with `as_json` exactly what
    `show ID --json` prints. 0 when it completed, 1 when it failed or was cancelled, 130 when the
    person stopped waiting. `inline` works here even when workers are up; with a `deck` nobody else
    can. Call it before there are threads.
    """
    from noetl_mcp.cli.ending import tell_end

    shown = screen(as_json=as_json)

    def told(seen: Seen) -> int:
        shown.close()
        if deck is None:
            return tell_end(home, execution_id, seen, as_json=as_json)
        from noetl_mcp.cli.cassettes import tell

        more = deck.ended(seen)
        code = tell_end(home, execution_id, seen, as_json=as_json, more=more)
        return tell(deck, code, as_json=as_json)

    waiting = Waiting(home, execution_id, shown, told, inline=inline, deck=deck)
    try:
        return asyncio.run(waiting.wait())
    finally:
        shown.close()
        if deck is not None:
            deck.close()


def await_end(execution_id: int, *, as_json: bool) -> int:
    """Wait for the end of an execution of this home, as `run` does; return the exit code."""
    from noetl_mcp.cli.connecting import opened_home

    with opened_home() as home:
        return wait_for(home, execution_id, as_json=as_json)


class Waiting:
    """One wait for one execution."""

    def __init__(
        self,
        home: "Home",
        execution_id: int,
        shown: Screen,
        told: Callable[[Seen], int],
        *,
        inline: bool,
        deck: "Deck | None" = None,
    ) -> None:
        self.home = home
        self.id = execution_id
        self.screen = shown
        self.told = told
        self.inline = inline
        self.deck = deck
        self.looking = Looking(home, execution_id)
        self._lives: Lives | None = None
        self._manned_at = -_PATIENCE
        self._stops = 0
        self._stopped = asyncio.Event()
        self._last: Seen | None = None
        self._away = False
        self._refuses = False
        self._ending: asyncio.Task[None] | None = None

    async def wait(self) -> int:
        """Wait until it is over, tell how it ended, and return the exit code."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop)
        try:
            async with AsyncExitStack() as crew:
                seen = await self._until_over(crew)
                code = STOPPED if seen is None else await self._end(seen)
            if seen is None:
                self._tell_what_is_left()
            return code
        finally:
            self.looking.drop()

    async def _end(self, seen: Seen) -> int:
        """Tell how it ended before what else runs here is waited for: others' steps."""
        lives = self._lives
        if lives is not None:
            from noetl_mcp.worker.lives import Grace

            lives.leave(Grace(_READING, _OTHERS))
        code = await asyncio.to_thread(self.told, seen)
        if lives is not None and lives.held:
            self._stops = 1  # the next one stops it at once
        if lives is not None and lives.writes:
            click.echo(
                "finishing what is being written here for other executions; Ctrl-C stops it at"
                " once, and leaves it in doubt",
                err=True,
            )
        return code

    async def _until_over(self, crew: AsyncExitStack) -> Seen | None:
        begun = time.monotonic()
        while True:
            seen = await self._look()
            if seen is not None:
                self._last = seen
                self.screen.show(seen)
                if self.deck is not None:
                    await asyncio.to_thread(self.deck.looked, seen)
                if seen.standing.is_over:
                    return seen
                await self._man(crew, seen)
            self._complain()
            passed = time.monotonic() - begun
            pause = min(_LATEST, max(_SOONEST, passed / 20))
            try:
                await asyncio.wait_for(self._stopped.wait(), pause)
            except TimeoutError:
                continue
            return None

    def _complain(self) -> None:
        """Say once that the database refuses what was done here, and that it takes it again."""
        why = self._lives.trouble if self._lives is not None else None
        if why is not None and not self._refuses:
            self.screen.say(f"the database does not take what was done; trying again: {why}")
        elif why is None and self._refuses:
            self.screen.say("the database takes what was done again")
        self._refuses = why is not None

    async def _look(self) -> Seen | None:
        """Look once; a database that is away is waited for."""
        try:
            seen = await asyncio.to_thread(self.looking.look)
        except (Error, NotReachable) as problem:
            self.looking.drop()
            if not self._away:
                why = " ".join(str(problem).split())
                self.screen.say(f"the database does not answer; waiting for it: {why}")
            self._away = True
            await asyncio.sleep(_LATEST)
            return None
        if self._away:
            self._away = False
            self.screen.say("the database is back")
        if seen is None:
            raise click.ClickException(f"there is no execution {self.id}")
        return seen

    async def _man(self, crew: AsyncExitStack, seen: Seen) -> None:
        """Work here when nobody else does."""
        if self._lives is not None:
            return
        if self.deck is not None:
            self._lives = await crew.enter_async_context(self.deck.crew())
            return
        others = any(one.stays and "" in one.pools for one in seen.workers)
        if others and not self.inline:
            self._manned_at = time.monotonic()
            return
        if time.monotonic() - self._manned_at < _PATIENCE:
            return
        from noetl_mcp.crew import working
        from noetl_mcp.worker.lives import Grace

        for warning in await asyncio.to_thread(self._lacking, seen.standing.plan):
            self.screen.say(warning)
        self._lives = await crew.enter_async_context(
            working(
                self.home,
                name=f"{PASSING}{self.id}",
                pools=await asyncio.to_thread(self._pools) if self.inline else (),
                grace=Grace(_READING),
                only=None if self.home.embedded else await asyncio.to_thread(self._family),
            )
        )

    def _lacking(self, plan: int) -> list[str]:
        """Return what the plan asks for and nobody gave; whoever works here has no more."""
        from noetl_mcp.assembly import credential_names
        from noetl_mcp.broker.lacking import lacking
        from noetl_mcp.queue.encode import decode

        with self.home.connect("run") as connection:
            content = decode(Records(connection).plan(plan))
        return lacking(content, self.home.world.secrets, credential_names(self.home))

    def _pools(self) -> tuple[str, ...]:
        assert self._last is not None
        return self.looking.progress.plan_pools(self._last.standing.plan)

    def _family(self) -> tuple[int, ...]:
        return self.looking.progress.family()

    def _stop(self) -> None:
        """Called when the person types Ctrl-C."""
        self._stops += 1
        if self._stops == 1 and self.deck is not None and self._lives is not None:
            self.screen.say(
                "ending it, for nobody else can go on with it; Ctrl-C again leaves it as it is"
            )
            self._ending = asyncio.get_running_loop().create_task(
                asyncio.to_thread(self.deck.cancel)
            )
            return
        if self._stops == 1 or (self._stops == 2 and self.deck is not None):
            self._stopped.set()
            if self._lives is not None and self._lives.held:
                self.screen.say(
                    "finishing or handing back what runs here; Ctrl-C again stops it at once"
                )
            return
        if self._stops > (2 if self.deck is None else 3) or self._lives is None:
            os._exit(STOPPED)
        self._lives.hurry()

    def _tell_what_is_left(self) -> None:
        last = self._last
        if self.deck is not None:
            self.screen.say(
                f"execution {self.id} is not over and nobody can go on with it; "
                f"end it with: {typed('cancel', self.id, '--force')}"
            )
            return
        others = last is not None and any(one.stays and "" in one.pools for one in last.workers)
        if others:
            self.screen.say(
                f"execution {self.id} goes on without you; come back with: "
                f"{typed('watch', self.id)}, end it with: {typed('cancel', self.id)}"
            )
            return
        self.screen.say(
            f"execution {self.id} is not over and nobody works on it now; "
            f"go on with: {typed('watch', self.id)}"
        )


__all__ = ["STOPPED", "Waiting", "wait_for"]
