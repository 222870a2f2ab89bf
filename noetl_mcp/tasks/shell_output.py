"""What a command prints, kept within a bound: the beginning and the end. Reads no descriptor."""

from dataclasses import dataclass, field

from noetl_mcp.cuts import decoded, last_lines


@dataclass(slots=True)
class Kept:
    """One stream: all of it up to `most` bytes, beyond that without its middle."""

    most: int
    size: int = 0
    _head: bytearray = field(default_factory=bytearray)
    _tail: bytearray = field(default_factory=bytearray)

    def feed(self, part: bytes) -> None:
        """Take what came."""
        self.size += len(part)
        room = self.most - self.most // 2 - len(self._head)
        if room > 0:
            self._head += part[:room]
            part = part[room:]
        self._tail += part
        if len(self._tail) > 2 * (self.most // 2) + 65_536:  # not at every part: it costs a copy
            self._trim()

    def _trim(self) -> None:
        half = self.most // 2
        if len(self._tail) > half:
            del self._tail[: len(self._tail) - half]

    @property
    def dropped(self) -> int:
        """How many bytes are not kept."""
        return max(0, self.size - self.most)

    def text(self) -> str:
        """Return what is kept; bytes that are no text are shown as such."""
        self._trim()
        if not self.dropped:
            return _shown(decoded(bytes(self._head + self._tail)))
        head = decoded(bytes(self._head), behind=True)
        tail = decoded(bytes(self._tail), before=True)
        return _shown(f"{head}\n… {self.dropped:,} bytes were dropped here …\n{tail}")

    def last_lines(self, most: int, longest: int) -> str:
        """Return the last lines, for a message."""
        return last_lines(self.text(), most, longest)


def _shown(text: str) -> str:
    return text.replace("\0", "�")


__all__ = ["Kept"]
