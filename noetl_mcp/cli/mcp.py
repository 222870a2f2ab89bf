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
    import gc
    import os

    gc.disable()  # loading is a third quicker without looks for what nobody has thrown away yet
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # looking for some reads them all
    from noetl_mcp.mcp.floorplan import server
    from noetl_mcp.mcp.stdio import serve

    made = server()
    gc.freeze()
    gc.enable()
    serve(made)


__all__ = ["command"]
