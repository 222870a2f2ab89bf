"""What a command prints, kept within a bound: the beginning and the end. Reads no descriptor."""

from dataclasses import dataclass, field


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
            return _shown(bytes(self._head + self._tail))
        between = f"\n… {self.dropped:,} bytes were dropped here …\n"
        return _shown(bytes(self._head)) + between + _shown(bytes(self._tail))

    def last_lines(self, most: int, longest: int) -> str:
        """Return the last lines, for a message."""
        self._trim()
        end = _shown(bytes((self._head + self._tail)[-4 * longest :])).rstrip().splitlines()
        said = "\n".join(end[-most:])
        return said if len(said) <= longest else "…" + said[-longest:]


def _shown(part: bytes) -> str:
    return part.decode("utf-8", "replace").replace("\0", "�")


__all__ = ["Kept"]
