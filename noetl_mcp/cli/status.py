"""`status`: the database, the workers, and how much there is to do. Starts no server."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from noetl_mcp.cli.connecting import NOT_REACHABLE, Unreachable, running_home
from noetl_mcp.queue.pools import pool_of, pools_of

if TYPE_CHECKING:
    from noetl_mcp.assembly import Home

_WANTED = {
    "in_doubt": ("{} step in doubt", "{} steps in doubt"),
    "approval": ("{} approval", "{} approvals"),
    "worker_gone": ("{} step of a worker that is gone", "{} steps of workers that are gone"),
    "callback": ("{} answer from outside", "{} answers from outside"),
}
HEARD = timedelta(seconds=3)


@click.command("status")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    """Say how the installation is: database, workers, queues, executions.

    The embedded database is not started for this; while it does not run, exits with 3.
    """
    with running_home() as home:
        if home is None:
            _print_stopped(as_json)
            raise click.exceptions.Exit(NOT_REACHABLE)
        told = gathered(home)
    if as_json:
        import orjson  # only here: every other use of the command does without it

        click.echo(orjson.dumps(told, option=orjson.OPT_INDENT_2).decode())
        return
    for line in lines(told):
        click.echo(line)


def gathered(home: "Home") -> dict[str, Any]:
    """Return everything that `status` tells."""
    from dataclasses import asdict

    from noetl_mcp.broker.desk import Desk
    from noetl_mcp.broker.gauges import gauges
    from noetl_mcp.broker.listing import wanted_now
    from noetl_mcp.database import Error, WrongSchema, migrate
    from noetl_mcp.events.partitions import astray
    from noetl_mcp.worker.living import living

    with home.connect("status") as connection:
        try:
            seen = asdict(gauges(connection))
            up = living(connection, max(HEARD, home.settings.lease))
            lost = astray(connection)
            asked = wanted_now(Desk(connection))
        except Error as problem:
            try:
                migrate(home.dsn)  # says in one sentence what is wrong with the schema
            except WrongSchema as wrong:
                raise click.ClickException(str(wrong)) from None
            raise Unreachable(" ".join(str(problem).split())) from None
        info = connection.info
        database = {
            "kind": "embedded" if home.embedded else "external",
            "version": info.parameter_status("server_version"),
            "host": info.host,
            "name": info.dbname,
            "bytes": seen.pop("database_bytes"),
        }
    workers = [
        {
            "id": one.id,
            "name": one.name,
            "pools": sorted(pools_of(one.pools)),
            "host": one.host,
            "pid": one.pid,
            "started": one.started,
        }
        for one in up
    ]
    return {
        "database": database,
        "home": str(home.settings.home),
        "workers": workers,
        "astray": lost,
        "attention": asked,
        **seen,
    }


def lines(told: dict[str, Any]) -> list[str]:
    """Return what `status` tells, for a person."""
    database, workers = told["database"], told["workers"]
    size = database["bytes"] / 2**20
    counts = told["executions"]
    running = counts["running"] - told["halted"].get("paused", 0)
    found = [
        f"database    {database['kind']} Postgres {database['version']}, {size:.0f} MB",
        f"home        {told['home']}",
        f"workers     {len(workers) or 'none: run one with noetl-mcp worker'}",
    ]
    now = datetime.now(UTC)
    for one in workers:
        pools = ", ".join(pool or "(the usual pool)" for pool in one["pools"])
        age = str(now - one["started"]).partition(".")[0]
        found.append(f"            {one['id']} {one['name'] or ''} {pools}, up {age}")
    ended = [f"{counts[word]} {word}" for word in ("completed", "failed", "cancelled")]
    paused = told["halted"].get("paused", 0)
    found.append(f"executions  {running} running, {paused} paused, {', '.join(ended)}")
    steps = [f"{count} {word.replace('_', ' ')}" for word, count in told["steps"].items() if count]
    found.append(f"steps       {', '.join(steps) or 'none at work'}")
    depth = sum(told["queues"].values())
    oldest = max(told["oldest"].values(), default=0.0)
    found.append(
        f"queue       {depth} ready" + (f", the oldest for {oldest:.1f} s" if depth else "")
    )
    for queue, count in sorted(told["queues"].items()):
        if pool_of(queue):
            found.append(f"            {_in_queue(queue, count)}")
    if told["attention"]:
        listed = ", ".join(
            _WANTED[what][count > 1].format(count) for what, count in told["attention"].items()
        )
        found.append(f"attention   {listed}; see: noetl-mcp executions --attention")
    if told["astray"]:
        found.append(f"attention   {told['astray']} events lie outside of their days; see: doctor")
    return found


def _in_queue(queue: str, count: int) -> str:
    """Return how many steps wait in one queue, in plain words."""
    if queue.startswith("!"):
        return f"{count} to be done alone, for they ended workers"
    if queue.startswith("="):
        limits, _, pool = queue[1:].rpartition("@")
        where = f", in the pool '{pool_of(pool)}'" if pool_of(pool) else ""
        return f"{count} behind the limit {limits.replace('+', ', ')}{where}"
    return f"{count} in the pool '{pool_of(queue)}'"


def _print_stopped(as_json: bool) -> None:
    if as_json:
        click.echo('{"database": {"kind": "embedded", "state": "stopped"}}')
        return
    click.echo("database    embedded, not running; it starts when a command needs it")
