"""Put a cassette between an execution and the world: record its calls, or play them back.

Such an execution stands aside: no worker that is up can take its steps, so that every call is heard
or answered by who holds the deck, and none is sent in a play back.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noetl_mcp import __version__
from noetl_mcp.broker.desk import By, Desk
from noetl_mcp.broker.lanes import ASIDE
from noetl_mcp.broker.progress import Progress
from noetl_mcp.broker.records import Context, Records
from noetl_mcp.broker.refusals import NotAllowed
from noetl_mcp.looking import RESOLVED, Seen
from noetl_mcp.queue.lease import State, Status
from noetl_mcp.queue.pools import ASIDE_POOL
from noetl_mcp.tasks.calls import Failed
from noetl_mcp.worker.cassette import LONG, NoCassette, Tape, Writer
from noetl_mcp.worker.cassette_asked import Spots
from noetl_mcp.worker.cassette_playing import Drift, Player
from noetl_mcp.worker.cassette_recording import Recorder
from noetl_mcp.worker.living import PASSING
from noetl_mcp.worker.masks import Mask

if TYPE_CHECKING:
    from noetl_mcp.assembly import Home
    from noetl_mcp.broker.resolve import How
    from noetl_mcp.starting import Order, Started
    from noetl_mcp.worker.equipment import Equipment
    from noetl_mcp.worker.lives import Lives

_STAND_IN = "http://127.0.0.1:9/no-{}-is-needed-in-a-play-back"
"""What stands in for a secret that is not given; nothing is ever sent there."""
_HOWS: Mapping[str, "How"] = {"retry": "retry", "accept": "accept", "abort": "abort"}


class NoDeck(Exception):
    """An execution cannot be recorded or played back; the text says why."""


class Deck:
    """What an execution's calls go through, for whoever waits for its end."""

    home: "Home"
    execution_id: int

    def __init__(self, by: By) -> None:
        self.by = by

    def ordered(self, order: "Order") -> "Order":
        """Return what is to be started, standing aside."""
        return replace(order, priority=ASIDE)

    def furnished(self, home: "Home") -> "Home":
        """Return the installation to start and to work in."""
        return home

    def begin(self, home: "Home", started: "Started", order: "Order") -> None:
        """Get to know the execution; raise NoDeck when it cannot be the one."""
        self.home, self.execution_id = home, started.id
        self.demand_new(started)

    @staticmethod
    def demand_new(started: "Started") -> None:
        """Raise NoDeck when an execution was started before."""
        if not started.is_new:
            raise NoDeck(
                f"execution {started.id} has this key and was started before, so its calls cannot"
                " be heard here; give another key, or none"
            )

    def crew(self) -> "AbstractAsyncContextManager[Lives]":
        """Return the worker that does it, and nothing else."""
        from noetl_mcp.crew import working

        return working(
            self.home,
            name=f"{PASSING}{self.execution_id}",
            pools=(ASIDE_POOL,),
            only=(self.execution_id,),
            equipped=self.equipped,
        )

    def equipped(self, equipment: "Equipment") -> "Equipment":
        """Return what a worker is given."""
        return replace(equipment, caches=False)

    def looked(self, seen: Seen) -> None:
        """See how the execution stands."""

    def ended(self, seen: Seen) -> Mapping[str, Any]:
        """Take notice of the end; return what the JSON tells besides."""
        return {}

    def close(self) -> None:
        """Let go of the file."""

    def cancel(self) -> None:
        """End the execution, as the person who waits for it wishes."""
        from noetl_mcp.broker.operate import cancel

        with _desk(self.home, "cancel") as desk, suppress(NotAllowed):
            cancel(desk, self.execution_id, by=self.by)

    def within(self, context: Context) -> str:
        """Return the steps that called a sub-playbook, outermost first."""
        found: list[str] = []
        with self.home.connect("cassette") as connection:
            records = Records(connection)
            while context.parent_execution is not None:
                parent = records.contexts([context.parent_execution])[context.parent_execution]
                names = Progress(connection, parent.id).names(parent.plan)
                found.append(names.of(context.parent_idx or 0, context.parent_item or 0))
                context = parent
        return " / ".join(reversed(found))


class Recording(Deck):
    """Writes the calls down."""

    def __init__(self, path: Path, by: By, *, long: int = LONG) -> None:
        super().__init__(by)
        self.path = path
        self.writer = Writer(path, long=long)
        self.recorder: Recorder | None = None
        self._told: set[int] = set()

    def begin(self, home: "Home", started: "Started", order: "Order") -> None:
        """Write the head."""
        super().begin(home, started, order)
        with _desk(home, "cassette") as desk:
            program = desk.program(desk.context(started.id).plan)
        names = program.secret_names
        kept = {name: one for name, one in order.payload.items() if name not in names}
        sets = [one for one in order.sets if one.partition("=")[0].rstrip(":") not in names]
        mask = Mask()
        mask.add(home.settings.secrets.values())
        given = mask.value({"payload": kept, "sets": sets})
        head = {
            "noetl_mcp": __version__,
            "playbook": started.path,
            "version": started.version,
            "plan": program.plan.get("digest"),
            "execution_id": str(started.id),
            "began": datetime.now(UTC).isoformat(timespec="seconds"),
            **({"given": given} if kept or sets else {}),
            "ignore": [],
        }
        try:
            self.writer.begin(head)
        except NoCassette as problem:
            self.cancel()
            raise NoDeck(f"{problem}; execution {started.id} was cancelled") from None

    def equipped(self, equipment: "Equipment") -> "Equipment":
        """Have every call heard."""
        secrets = self.home.settings.secrets
        if self.recorder is None:
            self.recorder = Recorder(equipment.task, self.writer, Spots(self.within), secrets)
        return replace(super().equipped(equipment), task=self.recorder.task)

    def looked(self, seen: Seen) -> None:
        """Write down what was decided about calls of which nobody knew what came."""
        for told in seen.told:
            if told.kind != RESOLVED or told.id in self._told or told.idx is None:
                continue
            self._told.add(told.id)
            line = {"decided": told.data["how"], "step": seen.names.of(told.idx, told.item or 0)}
            if told.data["how"] == "accept":
                line["value"] = self._accepted(told.data)
            self.writer.decided(line)

    def _accepted(self, data: Mapping[str, Any]) -> Any:
        if "answer_ref" not in data:
            return data.get("answer")
        from noetl_mcp.queue.encode import decode

        with self.home.connect("cassette") as connection:
            return decode(Records(connection).whole(f"@{data['answer_ref']}"))

    def ended(self, seen: Seen) -> Mapping[str, Any]:
        """Write the last line."""
        status = Status(seen.standing.status).name.lower()
        secrets = sorted(self.recorder.used) if self.recorder is not None else []
        self.writer.close({"status": status, "secrets": secrets})
        return {"recorded_to": str(self.path), "recorded_calls": self.writer.calls}

    def close(self) -> None:
        """See that what was recorded is on the disk, also when it broke off."""
        self.writer.close(None)


class Playing(Deck):
    """Answers the calls."""

    def __init__(self, path: Path, tape: Tape, by: By) -> None:
        super().__init__(by)
        self.path = path
        self.tape = tape
        self.player: Player | None = None
        self._decided = list(tape.decided)

    def ordered(self, order: "Order") -> "Order":
        """Start it with what the recording was started with; what is given besides wins."""
        given = self.tape.head.get("given")
        if isinstance(given, Mapping):
            payload = {**(given.get("payload") or {}), **order.payload}
            order = replace(order, payload=payload, sets=(*(given.get("sets") or ()), *order.sets))
        return super().ordered(order)

    def furnished(self, home: "Home") -> "Home":
        """Have something stand in for the secrets that the recording was given."""
        used = (self.tape.end or {}).get("secrets") or ()
        secrets = {str(name): _STAND_IN.format(name) for name in used} | dict(home.settings.secrets)
        return replace(home, settings=replace(home.settings, secrets=secrets))

    def equipped(self, equipment: "Equipment") -> "Equipment":
        """Have every call answered; a credential that is not there is needed by nobody."""
        known = equipment.credentials

        def credentials(name: str) -> Mapping[str, Any]:
            try:
                return known(name) if known is not None else {}
            except Failed:
                return {}

        if self.player is None:
            self.player = Player(equipment.task, self.tape, Spots(self.within))
        equipped = super().equipped(equipment)
        return replace(equipped, task=self.player.task, credentials=credentials)

    def looked(self, seen: Seen) -> None:
        """Decide about a doubt as it was decided in the recording."""
        for step in seen.steps:
            if step.state == State.IN_DOUBT:
                self._decide(seen.names.of(step.idx, step.item))

    def _decide(self, name: str) -> None:
        from noetl_mcp.broker.resolve import resolve

        found = next((one for one in self._decided if one.get("step") == name), None)
        how, reason, value = _HOWS.get(str(found and found["decided"])), "as in the recording", None
        if found is None or how is None:
            how, reason = "abort", "nobody had decided about it when the recording ended"
        elif how == "accept":
            value = found.get("value")
        more: dict[str, Any] = {"value": value, "reason": reason, "force": how == "retry"}
        who = By(self.by.who, "cassette")
        with _desk(self.home, "resolve") as desk, suppress(NotAllowed):
            resolve(desk, self.execution_id, name, how, by=who, **more)
        if found is not None:
            self._decided.remove(found)

    def ended(self, seen: Seen) -> Mapping[str, Any]:
        """Return what is not as it was recorded."""
        drift = [one.as_json() for one in self.drift]
        return {"played_back": str(self.path), "drift": drift}

    @property
    def drift(self) -> Sequence[Drift]:
        """What is not as it was recorded."""
        return self.player.ended() if self.player is not None else []

    @property
    def calls(self) -> int:
        """How many calls were answered."""
        return sum(self.player.calls.values()) if self.player is not None else 0


@contextmanager
def _desk(home: "Home", purpose: str) -> Iterator[Desk]:
    with home.connect(purpose) as connection:
        desk = Desk(connection, world=home.world, lease=home.settings.lease)
        yield desk
        from noetl_mcp.starting import awaken_sleepers  # only when something was decided

        if desk.has_decided and home.settings.broker != "postgres":
            awaken_sleepers(home.settings.broker, desk)


__all__ = ["Deck", "NoDeck", "Playing", "Recording"]
