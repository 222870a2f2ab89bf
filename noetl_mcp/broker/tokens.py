"""What is derived from a database's secret: tokens of waiting steps, and signatures of calls.

A token exists before its step does. Nothing here is kept, and the secret cannot be told from it.
"""

import hashlib
import hmac

LENGTH = 40


def token(seal: str, execution_id: int, idx: int, item: int, round_number: int) -> str:
    """Return the token of a step in a round; the same every time, for nobody else to guess."""
    said = f"{execution_id}:{idx}:{item}:{round_number}".encode()
    return hmac.new(seal.encode(), said, hashlib.sha256).hexdigest()[:LENGTH]


def signing_key(seal: str) -> str:
    """Return the key of calls that tell of an end; whoever is called may know it."""
    return hmac.new(seal.encode(), b"on_end", hashlib.sha256).hexdigest()


def signature(seal: str, body: bytes) -> str:
    """Return the signature of what such a call says."""
    return hmac.new(signing_key(seal).encode(), body, hashlib.sha256).hexdigest()


__all__ = ["LENGTH", "signature", "signing_key", "token"]
