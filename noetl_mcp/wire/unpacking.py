"""Unpack the body of an answer, and never more of it than asked for. Pure.

The bound is kept while unpacking, so that a small answer cannot grow into all the memory there is.
"""

import zlib

from noetl_mcp.cuts import beginning

CODINGS = "gzip, deflate"
_GZIP = zlib.MAX_WBITS | 16
_SLICE = 16_384
_MOST_MEMBERS = 10_000  # more than any file has; each costs, even when it holds nothing


class TooLong(Exception):
    """There is more than was asked for."""


def unpack(body: bytes, codings: str, most: int) -> bytes:
    """Undo a `Content-Encoding`; raise `TooLong`, or ValueError when the body is broken."""
    for coding in reversed([one.strip().lower() for one in codings.split(",")]):
        if coding in ("", "identity"):
            continue
        if coding in ("gzip", "x-gzip"):
            body = _inflated(body, _GZIP, most)
        elif coding == "deflate":
            body = _deflated(body, most)
        else:
            raise ValueError(f"'{beginning(coding, 40)}' is not a coding that was asked for")
    return body


def _deflated(body: bytes, most: int) -> bytes:
    """`deflate` means zlib's form; some servers leave its two bytes of header out."""
    try:
        return _inflated(body, zlib.MAX_WBITS, most)
    except ValueError:
        return _inflated(body, -zlib.MAX_WBITS, most)


def _inflated(body: bytes, form: int, most: int) -> bytes:
    """Inflate slice by slice; what follows the end of a gzip member is the next member."""
    found, members = bytearray(), 1
    inflating = zlib.decompressobj(form)
    for at in range(0, len(body), _SLICE):
        piece = body[at : at + _SLICE]
        while piece:
            if inflating.eof:
                piece = piece.lstrip(b"\0") if form == _GZIP else b""
                inflating = zlib.decompressobj(form) if piece else inflating
                members += 1
                continue
            found += _bounded(inflating, piece, most - len(found))
            piece = inflating.unused_data
            if members > _MOST_MEMBERS:
                raise ValueError("it comes in too many pieces")
    if not inflating.eof:
        raise ValueError("it breaks off")
    return bytes(found)


def _bounded(inflating: "zlib._Decompress", piece: bytes, most: int) -> bytes:
    try:
        found = inflating.decompress(piece, most + 1)
    except zlib.error as broken:
        raise ValueError(f"it is broken: {broken}") from None
    if len(found) > most:
        raise TooLong
    return found


__all__ = ["CODINGS", "TooLong", "unpack"]
