"""Write a command as it is to be typed: what a shell would take apart stands in quotes. Pure."""

import shlex


def typed(*words: object) -> str:
    """Return `noetl-mcp` and some words, as they are typed."""
    return " ".join(("noetl-mcp", *(shlex.quote(str(word)) for word in words)))


__all__ = ["typed"]
