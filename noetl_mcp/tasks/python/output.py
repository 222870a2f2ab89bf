"""What a program prints, cut into lines for the log; a bound on it shows. Reads no descriptor."""

from codecs import IncrementalDecoder, getincrementaldecoder
from collections.abc import Callable, Iterable

from noetl_mcp.playbook.rendering.hiding import hidden, tellable
from noetl_mcp.playbook.rendering.secret import MASK, beginning_at_end

LONGEST_LINE = 16_384
_MOST_HELD = 8 * LONGEST_LINE
_decoder = getincrementaldecoder("utf-8")


def known_around(around: object) -> tuple[str, ...]:
    """Return the secrets that are masked around a call: no line may be cut within one."""
    mask = getattr(around, "mask", None)
    return () if mask is None else tuple(mask.secrets)


class Output:
    """The lines of one call, on both streams; beyond `most` bytes they are only counted."""

    __slots__ = ("_dropped", "_left", "_log", "_open", "_secrets")

    def __init__(
        self, log: Callable[[str, str], None], most: int, secrets: Iterable[str] = ()
    ) -> None:
        self._log = log
        self._left = most
        self._dropped = 0
        self._secrets = tuple(sorted(filter(None, secrets), key=len, reverse=True))
        self._open: dict[str, _Stream] = {}

    def feed(self, name: str, data: bytes) -> None:
        """Take what came on a stream and log the lines that are whole."""
        kept = data[: self._left]
        self._left -= len(kept)
        self._dropped += len(data) - len(kept)
        stream = self._open.setdefault(name, _Stream(self._secrets))
        for line in stream.lines(kept):
            self._say(line, name)

    def close(self) -> None:
        """Log what has no line end, and how much was dropped."""
        for name, stream in self._open.items():
            rest = stream.rest(is_cut=self._dropped > 0)
            if self._dropped and (left := beginning_at_end(rest, self._secrets)):
                rest = rest[:-left] + MASK
            if rest:
                self._say(rest, name)
        if self._dropped:
            self._log(f"… {self._dropped:,} more bytes were printed and dropped", "stderr")

    def _say(self, line: str, stream: str) -> None:
        self._log(hidden(line, self._secrets).replace("\0", "�"), stream)


class _Stream:
    """One stream, decoded; bytes that are no text are shown as such."""

    __slots__ = ("_decoder", "_rest", "_secrets")

    def __init__(self, secrets: tuple[str, ...]) -> None:
        self._secrets = secrets
        self._decoder: IncrementalDecoder = _decoder("replace")
        self._rest = ""

    def lines(self, data: bytes) -> list[str]:
        *lines, self._rest = (self._rest + self._decoder.decode(data)).split("\n")
        if len(self._rest) > LONGEST_LINE:
            kept = tellable(self._rest, self._secrets)
            if len(self._rest) > _MOST_HELD:  # it is full of secrets, or one itself
                kept = len(self._rest)
            lines += [self._rest[:kept]] if kept else []
            self._rest = self._rest[kept:]
        return [line.removesuffix("\r") for line in lines]

    def rest(self, *, is_cut: bool) -> str:
        """Return what has no line end, without half a character that was cut."""
        return self._rest + self._decoder.decode(b"", final=not is_cut)


__all__ = ["LONGEST_LINE", "Output", "known_around"]
