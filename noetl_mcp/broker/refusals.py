"""What a person is told who asks for what cannot be done. Both texts are whole sentences."""


class Unknown(Exception):
    """There is no such execution, step or item."""


class NotAllowed(Exception):
    """The state does not allow it; the text says what is allowed instead."""


__all__ = ["NotAllowed", "Unknown"]
