"""`serve`: the web face and some workers, looked after together."""

from typing import TYPE_CHECKING

import click

from noetl_mcp.cli.connecting import Unusable, opened_home
from noetl_mcp.cli.pools import pool_option

if TYPE_CHECKING:
    from socket import socket

    from noetl_mcp.assembly import Home

PORT = 8642


@click.command("serve")
@click.option("--host", default="127.0.0.1", help="The address; elsewhere than here needs tokens.")
@click.option("--port", type=click.IntRange(0, 65_535), default=PORT, help="0 takes a free one.")
@click.option(
    "--processes", type=click.IntRange(0, 256), help="Workers beside it; one per core else."
)
@pool_option("What these workers take.")
@click.option("--allow-host", "allowed", multiple=True, metavar="NAME", help="A name of this one.")
@click.option("--require-token", "tokens", is_flag=True, help="Of everybody, here too.")
def command(
    host: str,
    port: int,
    processes: int | None,
    pools: tuple[str, ...],
    allowed: tuple[str, ...],
    tokens: bool,
) -> None:
    """Serve the JSON API, and work.

    On a loopback address everybody on this machine may do everything, unless --require-token. On
    any other address everybody needs a token; without one it does not start. There is no TLS: put
    a proxy in front of it.
    """
    from noetl_mcp.crew import cores
    from noetl_mcp.wire.addresses import NotServed, bound, is_local
    from noetl_mcp.worker.placed import say

    count = cores() if processes is None else processes
    with opened_home() as home:
        if tokens or not is_local(host):
            _demand_tokens(home, host)
        try:
            listening = bound(host, port)
        except NotServed as problem:
            raise click.ClickException(str(problem)) from None
        with listening:
            shown = f"[{host}]" if ":" in host else host
            workers = f"{count} worker{'s' if count != 1 else ''}"
            say(f"http://{shown}:{listening.getsockname()[1]} with {workers}")
            web = {"host": host, "allowed": list(allowed), "tokens": tokens}
            code = _supervise(home, listening, web, list(pools), count)
    raise click.exceptions.Exit(code)


def _supervise(
    home: "Home", listening: "socket", web: dict[str, object], pools: list[str], count: int
) -> int:
    """Look after the web face (number 0) and the workers."""
    from noetl_mcp.crew import cores
    from noetl_mcp.worker.placed import command, say
    from noetl_mcp.worker.supervisor import Orders, Supervisor

    shared = {"dsn": home.dsn, "embedded": home.embedded}
    work: dict[str, object] = {
        **shared,
        "pools": pools,
        "queues": [],
        "drain": False,
        "computing": max(1, cores() // max(1, count) + 1),
    }

    def order(number: int) -> dict[str, object]:
        if number == 0:
            return {**shared, **web, "socket": listening.fileno()}
        return {**work, "name": f"server-{number}"}

    def descriptors(number: int) -> tuple[int, ...]:
        return (listening.fileno(),) if number == 0 else ()

    def process(number: int) -> list[str]:
        return command("noetl_mcp.cli.workplace" if number else "noetl_mcp.web.process")

    return Supervisor(Orders(process, 1 + count, order, descriptors), say).run()


def _demand_tokens(home: "Home", host: str) -> None:
    from noetl_mcp.catalog.access import Tokens

    with home.connect("serve") as connection:
        if not Tokens(connection).any():
            raise Unusable(
                f"others can reach {host}, so everybody needs a token, and there is none; "
                "make one with: noetl-mcp token create NAME --role operator"
            )
