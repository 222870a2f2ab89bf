"""Run the command at a terminal of a given width."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios


def at_terminal(columns: int, *arguments: str, **environment: str) -> list[str]:
    """Return the lines that a command writes to a terminal that is so wide."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    variables = {**os.environ, "NO_COLOR": "1", "TERM": "xterm", **environment}
    variables.pop("COLUMNS", None)
    with subprocess.Popen(
        [sys.executable, "-m", "noetl_mcp", *arguments],
        env=variables,
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    ) as process:
        os.close(theirs)
        written = _all_of(ours)
        process.wait(60)
    os.close(ours)
    return written.decode().replace("\r\n", "\n").splitlines()


def _all_of(terminal: int) -> bytes:
    """Return everything until nobody has the other end any more."""
    found = b""
    while True:
        try:
            piece = os.read(terminal, 65_536)
        except OSError:  # so Linux tells the end
            return found
        if not piece:
            return found
        found += piece


__all__ = ["at_terminal"]
