"""Read one value that somebody gives, written as JSON on the command line or in a file."""

from typing import Any

import click


def value_of(written: str | None, source: str | None) -> Any:
    """Return what was written, or what a file holds; None when neither is given."""
    if written is not None:
        return _json(written, "--value")
    if source is None:
        return None
    from noetl_mcp.cli.files import demand_file
    from noetl_mcp.compiler.fitting import MOST_BYTES

    demand_file(source)
    try:
        with click.open_file(source, "rb") as file:
            written_there = file.read(MOST_BYTES + 1)
        if len(written_there) > MOST_BYTES:
            raise click.ClickException(f"'{source}' is too large; at most {MOST_BYTES:,} bytes")
        return _json(written_there.decode("utf-8-sig"), f"'{source}'")
    except OSError as error:
        raise click.ClickException(f"cannot read '{source}': {error.strerror}") from None
    except UnicodeDecodeError:
        raise click.ClickException(f"'{source}' is not text in UTF-8") from None


def _json(text: str, where: str) -> Any:
    import orjson  # only here: every other use of the command does without it

    try:
        return orjson.loads(text)
    except ValueError as error:
        hint = f"; a text stands in quotes: '\"{text}\"'" if text.replace(" ", "").isalnum() else ""
        raise click.UsageError(f"{where} is to be JSON, and is none: {error}{hint}") from None


__all__ = ["value_of"]
