"""Cut texts so that it shows: `…` stands directly at every edge where something is missing.

Whoever masks secrets looks there for parts of them. Masks nothing itself.
"""

from codecs import getincrementaldecoder

CUT = "…"
_MOST_BYTES_BEHIND = 3
"""Of a character in UTF-8 that was cut at its front."""


def beginning(text: str, most: int) -> str:
    """Return the beginning of a text that is too long."""
    return text if len(text) <= most else text[:most] + CUT


def end(text: str, most: int) -> str:
    """Return the end of a text that is too long."""
    return text if len(text) <= most else CUT + text[-most:]


def first_line(text: str, most: int) -> str:
    """Return the first line of a text, or its beginning; empty when there is none."""
    line, rest, _ = text.strip().partition("\n")
    return line[:most] + CUT if rest or len(line) > most else line


def last_lines(text: str, most: int, longest: int) -> str:
    """Return the last lines of a text, all together not longer than `longest`."""
    lines = text.rstrip().split("\n")
    said = "\n".join(lines[-most:])
    return end(f"{CUT}\n{said}" if len(lines) > most else said, longest)


def decoded(part: bytes, *, before: bool = False, behind: bool = False) -> str:
    """Return bytes as text; half a character is left out where they were cut."""
    if before:
        rest = part[:_MOST_BYTES_BEHIND].lstrip(bytes(range(0x80, 0xC0)))
        part = rest + part[_MOST_BYTES_BEHIND:]
    text = getincrementaldecoder("utf-8")("replace").decode(part, final=not behind)
    return (CUT if before else "") + text + (CUT if behind else "")


__all__ = ["CUT", "beginning", "decoded", "end", "first_line", "last_lines"]
