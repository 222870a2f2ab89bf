"""Paint a large picture in a process of its own, so that this one goes on meanwhile.

The painting holds the interpreter until it is over. It starts a process for each picture and keeps
none; one that takes far too long is ended.
"""

import subprocess
import sys

from noetl_mcp.lettering.raster import rendered

_SECONDS = 60.0


class NotPainted(Exception):
    """A picture that came to nothing, with a sentence about it."""


def rendered_apart(svg: str, zoom: float) -> bytes:
    """Draw an SVG as `rendered` does; raise NotPainted where the process ends without a picture."""
    command = [sys.executable, "-P", "-m", "noetl_mcp.lettering.apart", repr(zoom)]
    try:
        ended = subprocess.run(
            command, input=svg.encode(), capture_output=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise NotPainted(f"it took longer than {_SECONDS:g} s") from None
    if ended.returncode or not ended.stdout:
        raise NotPainted("the process that painted it ended without a picture")
    return ended.stdout


def main() -> None:
    """Paint what stands on the input."""
    sys.stdout.buffer.write(rendered(sys.stdin.buffer.read().decode(), float(sys.argv[1])))


if __name__ == "__main__":
    main()
