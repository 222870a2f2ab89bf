"""`run --record-to F` and `run --play-back F`: put a cassette between an execution and the world.

Such an execution stands aside: no other worker can take its steps, so that every call is heard or
answered here, and none is sent in a play back.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from noetl_mcp import __version__
from noetl_mcp.broker.desk import By
from noetl_mcp.broker.lanes import ASIDE
from noetl_mcp.broker.progress import Progress
from noetl_mcp.broker.records import Context, Records
from noetl_mcp.broker.refusals import NotAllowed
from noetl_mcp.cli.at_desk import by, desk_of
from noetl_mcp.cli.columns import say
from noetl_mcp.cli.drifting import lines_of
from noetl_mcp.looking import RESOLVED, Seen
from noetl_mcp.queue.lease import State, Status
from noetl_mcp.tasks.calls import Failed
from noetl_mcp.worker.cassette import NoCassette, Tape, Writer, demand_writable, read_tape
from noetl_mcp.worker.cassette_asked import Spots
from noetl_mcp.worker.cassette_playing import Player
from noetl_mcp.worker.cassette_recording import Recorder
from noetl_mcp.worker.masks import Mask

if TYPE_CHECKING:
    from noetl_mcp.assembly import Home
    from noetl_mcp.broker.resolve import How
    from noetl_mcp.starting import Order, Started
    from noetl_mcp.worker.equipment import Equipment

DRIFTED = 1
_STAND_IN = "http://127.0.0.1:9/no-{}-is-needed-in-a-play-back"
"""What stands in for a secret that is not given; nothing is ever sent there."""


_HOWS: Mapping[str, "How"] = {"retry": "retry", "accept": "accept", "abort": "abort"}


class Deck:
    """What an execution's calls go through."""

    home: "Home"
    execution_id: int

    def ordered(self, order: "Order") -> "Order":
        """Return what is to be started, standing aside."""
        return replace(order, priority=ASIDE)

    def furnished(self, home: "Home") -> "Home":
        """Return the installation to start and to work in."""
        return home

    def begin(self, home: "Home", started: "Started", order: "Order") -> None:
        """Get to know the execution."""
        self.home, self.execution_id = home, started.id
        if not started.is_new:
            raise click.ClickException(
                f"execution {started.id} has this key and was started before, so its calls cannot"
                " be heard here; leave --id out, or give another key"
            )

    def equipped(self, equipment: "Equipment") -> "Equipment":
        """Return what a worker is given."""
        return replace(equipment, caches=False)

    def looked(self, seen: Seen) -> None:
        """See how the execution stands."""

    def ended(self, seen: Seen) -> Mapping[str, Any]:
        """Take notice of the end; return what the JSON tells besides."""
        return {}

    def tell(self, code: int, *, as_json: bool) -> int:
        """Tell what a person should know of the cassette; return the exit code."""
        return code

    def close(self) -> None:
        """Let go of the file."""

    def cancel(self) -> None:
        """End the execution, as the person who waits for it wishes."""
        from noetl_mcp.broker.operate import cancel

        with desk_of(self.home, "cancel") as desk, suppress(NotAllowed):
            cancel(desk, self.execution_id, by=by())

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

    def __init__(self, path: Path) -> None:
        self.path = path
        self.writer = Writer(path)
        self.recorder: Recorder | None = None
        self._told: set[int] = set()

    def begin(self, home: "Home", started: "Started", order: "Order") -> None:
        """Write the head."""
        super().begin(home, started, order)
        with desk_of(home, "cassette") as desk:
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
            raise click.ClickException(f"{problem}; execution {started.id} was cancelled") from None

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

    def tell(self, code: int, *, as_json: bool) -> int:
        """Tell how much was recorded, or that it was not."""
        if self.writer.trouble is not None:
            say(f"the cassette '{self.path}' is not whole: {self.writer.trouble}", err=True)
            return code or DRIFTED
        if not as_json:
            say(f"recorded {_calls(self.writer.calls)} to {self.path}", err=True)
        return code

    def close(self) -> None:
        """See that what was recorded is on the disk, also when it broke off."""
        self.writer.close(None)


class Playing(Deck):
    """Answers the calls."""

    def __init__(self, path: Path, tape: Tape) -> None:
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
        who = By(by().who, "cassette")
        with desk_of(self.home, "resolve") as desk, suppress(NotAllowed):
            resolve(desk, self.execution_id, name, how, by=who, **more)
        if found is not None:
            self._decided.remove(found)

    def ended(self, seen: Seen) -> Mapping[str, Any]:
        """Return what is not as it was recorded."""
        drift = self.player.ended() if self.player is not None else []
        return {"played_back": str(self.path), "drift": [one.as_json() for one in drift]}

    def tell(self, code: int, *, as_json: bool) -> int:
        """Tell what is not as it was recorded; that is a failure."""
        drift = self.player.ended() if self.player is not None else []
        if not as_json:
            if self.tape.end is None:
                say(f"{self.path} is a recording that broke off", err=True)
            for line in lines_of(drift):
                say(line, err=True)
            made = sum(self.player.calls.values()) if self.player is not None else 0
            if not drift:
                say(f"played back {_calls(made)} from {self.path}, all as recorded", err=True)
        return DRIFTED if drift else code


def deck_of(record_to: str | None, play_back: str | None) -> Deck | None:
    """Return what the calls go through; None when that is nothing."""
    try:
        if record_to is not None:
            demand_writable(Path(record_to))
            return Recording(Path(record_to))
        if play_back is not None:
            return Playing(Path(play_back), read_tape(Path(play_back)))
    except NoCassette as problem:
        raise click.ClickException(f"{problem}; nothing was started") from None
    return None


def _calls(count: int) -> str:
    return "1 call" if count == 1 else f"{count} calls"


__all__ = ["Deck", "Playing", "Recording", "deck_of"]
