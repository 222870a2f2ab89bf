"""How a program's process and its parent speak: frames of a kind, a number and a length.

Both sides read it, so it imports only what costs an interpreter nothing. Knows no content.
"""

import os
from struct import Struct

PROGRAM, CALL, RESULT, FAILURE = 1, 2, 3, 4
HEADER = Struct(">BBHI")  # kind, is spent, number of the call, length of the payload
MOST_NUMBER = 0xFFFF


class Frame:
    """What was said: a kind, whether its writer is spent, the number of the call, a payload."""

    __slots__ = ("is_spent", "kind", "number", "payload")

    def __init__(self, kind: int, is_spent: bool, number: int, payload: bytes) -> None:
        self.kind = kind
        self.is_spent = is_spent
        self.number = number
        self.payload = payload


class BrokenFrame(Exception):
    """What came is no answer: something wrote where only frames belong."""


def packed(kind: int, payload: bytes, number: int = 0, is_spent: bool = False) -> bytes:
    """Return the bytes of a frame."""
    return HEADER.pack(kind, is_spent, number, len(payload)) + payload


class Inbox:
    """Puts one frame together from what a socket gives, bit by bit."""

    __slots__ = ("_kept", "_most")

    def __init__(self, most: int) -> None:
        self._kept = bytearray()
        self._most = most

    def take(self, data: bytes) -> Frame | None:
        """Add what has come and return the frame when it is whole."""
        self._kept += data
        if len(self._kept) < HEADER.size:
            return None
        kind, is_spent, number, length = HEADER.unpack_from(self._kept)
        if kind not in (RESULT, FAILURE) or length > self._most:
            raise BrokenFrame(f"a frame of kind {kind} with {length:,} bytes")
        missing = HEADER.size + length - len(self._kept)
        if missing < 0:
            raise BrokenFrame(f"{-missing:,} bytes too many")
        if missing:
            return None
        payload = bytes(memoryview(self._kept)[HEADER.size :])
        self._kept = bytearray()
        return Frame(kind, bool(is_spent), number, payload)


class Channel:
    """The program's end: waits for frames and answers, one after another."""

    __slots__ = ("_descriptor", "_file")

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._file = open(descriptor, "rb", buffering=65_536)  # noqa: SIM115 - for all its life

    def read(self) -> Frame | None:
        """Return the next frame, or nothing when the parent has hung up."""
        header = self._file.read(HEADER.size)
        if len(header) < HEADER.size:
            return None
        kind, is_spent, number, length = HEADER.unpack(header)
        payload = self._file.read(length)
        return Frame(kind, bool(is_spent), number, payload) if len(payload) == length else None

    def write(self, frame: bytes) -> None:
        """Send all of a frame."""
        sent = os.write(self._descriptor, frame)
        while sent < len(frame):
            sent += os.write(self._descriptor, memoryview(frame)[sent:])


__all__ = [
    "CALL",
    "FAILURE",
    "HEADER",
    "MOST_NUMBER",
    "PROGRAM",
    "RESULT",
    "BrokenFrame",
    "Channel",
    "Frame",
    "Inbox",
    "packed",
]
