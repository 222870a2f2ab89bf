"""`mcp floorplan`: MCP servers over standard input and output."""

import click


@click.group("mcp")
def command() -> None:
    """Serve tools to an assistant, over standard input and output.

    An assistant starts such a command itself; its settings name it:

    \b
        {"command": "noetl-mcp", "args": ["mcp", "floorplan"]}
    """


@command.command("floorplan")
def floorplan() -> None:
    """Serve the tools of floor plans: render, validate, modify, analyze and export.

    Ends when its input does. `noetl-mcp serve` offers the same over HTTP, at /mcp/floorplan.
    """
    from noetl_mcp.mcp.lean import lean

    with lean():
        from noetl_mcp.mcp.floorplan import server
        from noetl_mcp.mcp.stdio import serve

        made = server()
    serve(made)


__all__ = ["command"]
