"""The command `noetl-mcp`."""

from noetl_mcp.cli.main import run


def main() -> None:
    """Run the command line."""
    run()


if __name__ == "__main__":
    main()
