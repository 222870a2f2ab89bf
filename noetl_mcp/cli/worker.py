"""`worker`: processes that take steps and do them, until told to leave."""

import click

from noetl_mcp.cli.connecting import opened_home
from noetl_mcp.cli.pools import pool_option


@click.command("worker")
@pool_option("Take steps of this pool only.")
@click.option("--processes", type=click.IntRange(1, 256), help="How many; one per core else.")
@click.option("--computing", type=click.IntRange(1, 256), help="Programs at once in a process.")
@click.option("--drain", is_flag=True, help="Leave when there is nothing more to do.")
@click.option("--name", help="How these workers are called in lists.")
def command(
    pools: tuple[str, ...],
    processes: int | None,
    computing: int | None,
    drain: bool,
    name: str | None,
) -> None:
    """Take steps and do them.

    Without --pool, those that name no pool. A supervisor starts a process again when it dies.
    SIGTERM or Ctrl-C: take no more, finish or hand back what runs, leave; a second one hurries it.
    SIGHUP: replace the processes one after another.
    """
    from noetl_mcp.crew import cores, queues
    from noetl_mcp.worker.placed import command as process
    from noetl_mcp.worker.placed import say
    from noetl_mcp.worker.supervisor import Orders, Supervisor

    count = processes or cores()
    with opened_home() as home:
        pieces = {
            "dsn": home.dsn,
            "embedded": home.embedded,
            "pools": list(pools),
            "queues": list(queues(pools)) if drain else [],
            "drain": drain,
            "computing": computing or max(1, cores() // count + 1),
        }

        def order(number: int) -> dict[str, object]:
            own = name or "worker"
            return {**pieces, "name": f"{own}-{number + 1}" if count > 1 else own}

        where = ", ".join(f"'{pool}'" for pool in pools)
        place = process("noetl_mcp.cli.workplace")
        say(
            f"{count} process{'es' if count > 1 else ''}"
            + (f" for the pool {where}" if pools else "")
            + ("; they leave when nothing is left to do" if drain else "")
        )
        code = Supervisor(Orders(lambda n: place, count, order, may_end=drain), say).run()
    raise click.exceptions.Exit(code)
