"""Whether the promises of the runtime hold while everything dies at random; prints JSON.

    python benchmarks/chaos.py --minutes 5 --seed 1 [--workers 3] [--mild] [--dsn DSN]
    python benchmarks/chaos.py --serve redis://127.0.0.1:6379/0 [--workers 1]

Playbooks by chance run on real worker processes and a durable Postgres of their own, which are
killed, paused and cut off all the time, while somebody cancels, pauses, retries and settles doubts.
A server of its own counts every request that arrives. Afterwards every execution is compared with
what its plan says, with its log and with what the server has seen. Ends with 1 when a promise was
broken; what is known of the executions concerned is then written to the file named in `stories`.
With `--dsn` the database must be empty; it is filled, and its server is not killed. With `--serve`
the work is done by so many `noetl-mcp serve`, which are killed in whole or in part; executions are
started through them, and the named broker (`postgres` or a URL) carries their hints through a wire
that is cut and hangs now and then.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parent.parent))  # the tests are no installed package

from noetl_mcp.database import migrate
from tests.faults.server import crash, own_server
from tests.faults.storm import Fault
from tests.faults.trial import MILD, SEVERE, Outcome, Terms, endure
from tests.faults.wire import Wire


def main() -> int:
    """Run one trial and print what came of it."""
    asked = arguments()
    kinds = MILD if asked.mild or asked.dsn else SEVERE
    terms = Terms(
        asked.seed,
        books=asked.books,
        times=1,
        backlog=asked.backlog,
        seconds=asked.minutes * 60,
        every=asked.every,
        kinds=kinds,
        workers=asked.workers,
        lease=asked.lease,
        losses=asked.losses,
        stuck=90.0,
    )
    with (
        database(asked.dsn) as (dsn, crashes),
        wired(asked.serve) as (broker, wire),
        tempfile.TemporaryFile() as log,
    ):
        terms = replace(terms, broker=broker, kinds=(*kinds, "wires") if wire else kinds)
        found = endure(dsn, terms, crash=crashes, wire=wire, log=log)
        told = {"seed": asked.seed, "minutes": asked.minutes, **found.as_json()}
        if not found.holds:
            told["stories"] = str(kept(found))
    print(json.dumps(told, indent=2))
    return 0 if found.holds else 1


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--books", type=int, default=150)
    parser.add_argument("--backlog", type=int, default=80)
    parser.add_argument("--every", type=float, default=0.6, help="seconds between two faults")
    parser.add_argument("--lease", type=float, default=2.0)
    parser.add_argument("--losses", type=float, default=0.002)
    parser.add_argument(
        "--serve", metavar="BROKER", help="let `noetl-mcp serve` work, its hints carried by this"
    )
    parser.add_argument("--mild", action="store_true", help="leave the database server alone")
    parser.add_argument("--dsn", help="another server, which is left alone")
    return parser.parse_args()


@contextmanager
def database(dsn: str | None) -> Iterator[tuple[str, Fault | None]]:
    """Yield a database, and what kills its server."""
    if dsn is not None:
        migrate(dsn)
        yield dsn, None
        return
    with own_server() as (home, own):
        yield own, lambda: crash(home)


@contextmanager
def wired(broker: str | None) -> Iterator[tuple[str | None, Wire | None]]:
    """Yield the URL of a broker through a wire that can be cut, and the wire."""
    if broker is None or broker == "postgres":
        yield broker, None
        return
    with Wire(urlsplit(broker).port or 0) as wire:
        yield wire.url(broker), wire


def kept(found: Outcome) -> Path:
    """Keep the stories of the executions concerned."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as file:
        file.write("\n".join(found.stories))
    return Path(file.name)


if __name__ == "__main__":
    sys.exit(main())
