"""The token by which a waiting step is answered: derived, so it exists before the step does."""

import hashlib
import hmac

LENGTH = 40


def token(seal: str, execution_id: int, idx: int, item: int, round_number: int) -> str:
    """Return the token of a step in a round; the same every time, for nobody else to guess."""
    said = f"{execution_id}:{idx}:{item}:{round_number}".encode()
    return hmac.new(seal.encode(), said, hashlib.sha256).hexdigest()[:LENGTH]


__all__ = ["LENGTH", "token"]
