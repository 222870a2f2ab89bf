"""Read one value that somebody gives, written as JSON on the command line or in a file."""

from typing import Any

import click


def value_of(written: str | None, source: str | None) -> Any:
    """Return what was written, or what a file holds; None when neither is given."""
    if written is not None:
        return _json(written, "--value")
    if source is None:
        return None
    try:
        with click.open_file(source, "rb") as file:
            return _json(file.read().decode("utf-8-sig"), f"'{source}'")
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
