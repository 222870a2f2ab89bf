"""What the embedded Postgres answers when it cannot be had."""


class NotStarted(Exception):
    """The embedded Postgres is not to be had; the text says why, and what would help."""


class InUse(Exception):
    """Somebody works with the embedded Postgres, so it is not taken from under them."""
