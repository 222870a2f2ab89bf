"""What an unquoted scalar is: text, unless it is spelt like JSON. Guesses nothing."""

import re

from noetl_mcp.playbook.node import Scalar

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,307})(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")
_WORDS: dict[str, Scalar] = {"true": True, "false": False, "null": None, "~": None, "": None}
_LEAST, _MOST = -(2**63), 2**64 - 1  # a longer number has no place in JSON and stays text
_NUMBER_STARTS = frozenset("-0123456789")
YES_AND_NO = frozenset(("yes", "no", "on", "off"))


def read_scalar(text: str) -> Scalar:
    """Return the value of an unquoted scalar; `007`, `22:22`, dates and `yes` stay text."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_STARTS:
        return text
    number = _NUMBER.fullmatch(text)
    if number is None:
        return text
    if number[1] is None and number[2] is None:
        whole = int(text)
        return whole if _LEAST <= whole <= _MOST else text
    value = float(text)
    return text if value in (float("inf"), float("-inf")) else value
