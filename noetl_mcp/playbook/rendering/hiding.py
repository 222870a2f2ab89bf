"""Find where secrets stand in a text, whole or cut, and hide them. Knows no other form of them.

Places are pairs of a first sign and the sign behind the last. What overlaps is hidden together, so
that a secret that begins like another, or inside of it, leaves nothing to be read.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from urllib.parse import unquote

from noetl_mcp.cuts import CUT
from noetl_mcp.playbook.rendering.secret import MASK, beginning_at_end, end_at_beginning

Place = tuple[int, int]

_SHORTEST = 4  # signs that are taken for a part of a secret
_DOTS = "..."
"""So databases show that they cut a value."""
_CUTS = re.compile(r"…|\.\.\.")
_ESCAPES = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_MOST_HALVES = 5
"""Three bytes of a character, and two signs of a fourth."""
_HALF_AT_END = re.compile(r"[\udc80-\udcff]*(?:%[0-9A-Fa-f]?)?\Z")
_HALF_AT_BEGINNING = re.compile(r"([0-9A-Fa-f]?)([0-9A-Fa-f]?)[\udc80-\udcff]*")


def shows_cuts(text: str) -> bool:
    """Whether a text says that something is missing of it."""
    return CUT in text or _DOTS in text


def hidden(text: str, secrets: Iterable[str], mask: str = MASK) -> str:
    """Return a text with every secret in it masked."""
    return covered(text, standing(text, secrets), mask)


def covered(text: str, places: Iterable[Place], mask: str = MASK) -> str:
    """Return a text with a mask in some places."""
    found, at = [], 0
    for first, behind in _joined(places):
        found += [text[at:first], mask]
        at = behind
    return "".join(found) + text[at:] if found else text


def _joined(places: Iterable[Place]) -> list[Place]:
    joined: list[Place] = []
    for first, behind in sorted(one for one in places if one[0] < one[1]):
        if joined and first < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(behind, joined[-1][1]))
        else:
            joined.append((first, behind))
    return joined


def standing(text: str, secrets: Iterable[str]) -> Iterator[Place]:
    """Yield where secrets stand as a whole."""
    for secret in filter(None, secrets):
        at = text.find(secret)
        while at >= 0:
            yield at, at + len(secret)
            at = text.find(secret, at + 1)


def tellable(text: str, secrets: Collection[str]) -> int:
    """Return how much of a text can be told when more is to come: no secret is parted."""
    length = len(text) - beginning_at_end(text, secrets, least=1)
    for first, behind in reversed(_joined(standing(text, secrets))):
        if first < length < behind:
            length = first
    return length


def at_cuts(text: str, secrets: Iterable[str], all_of_them: str) -> Iterator[Place]:
    """Yield where a beginning or an end of a secret stands beside a cut, or a part between two.

    `all_of_them` holds all secrets in one text: most parts are in none of them.
    """
    longest = max(map(len, secrets), default=0)
    cuts = [cut.span() for cut in _CUTS.finditer(text)]
    for number, (cut, behind) in enumerate(cuts):
        if text[max(0, cut - _SHORTEST) : cut] in all_of_them:
            length = beginning_at_end(text[max(0, cut - longest) : cut], secrets)
            yield cut - length, cut
        if text[behind : behind + _SHORTEST] in all_of_them:
            length = end_at_beginning(text[behind : behind + longest], secrets)
            yield behind, behind + length
            upto = cuts[number + 1][0] if number + 1 < len(cuts) else behind
            if upto - behind >= _SHORTEST and text[behind:upto] in all_of_them:
                yield behind, upto


def quoted(text: str, secrets: Iterable[str], all_of_them: str, *, plus: bool) -> Iterator[Place]:
    """Yield where secrets stand of which some signs are quoted for a URL, whichever these are."""
    read = text.replace("+", " ") if plus else text
    is_cut = shows_cuts(text)
    if not is_cut and not any(one in unquote(read) for one in secrets):
        return
    plain, places = _unquoted(read)
    found = [*standing(plain, secrets)]
    if is_cut:
        found += at_cuts(plain, secrets, all_of_them)
        found += _at_cut_signs(plain, secrets)
    yield from ((places[first], places[behind]) for first, behind in found)


def _at_cut_signs(plain: str, secrets: Iterable[str]) -> Iterator[Place]:
    """Yield the parts of secrets beside a cut within a quoted sign, of which a rest is left."""
    longest = max(map(len, secrets), default=0)
    for cut, behind in [one.span() for one in _CUTS.finditer(plain)]:
        before = plain[max(0, cut - longest - _MOST_HALVES) : cut]
        kept = _HALF_AT_END.sub("", before)
        if len(kept) < len(before) and (length := beginning_at_end(kept, secrets)):
            yield cut - len(before) + len(kept) - length, cut
        half = _HALF_AT_BEGINNING.match(plain, behind)
        assert half is not None  # it may be empty
        for start in {half.end(), half.end(1), half.end(2)} - {behind}:
            if length := end_at_beginning(plain[start : start + longest], secrets):
                yield behind, start + length


def _unquoted(text: str) -> tuple[str, list[int]]:
    """Return a text with its quoted signs read, and where each sign of it begins; then the end."""
    signs: list[str] = []
    places: list[int] = []
    at = 0
    for found in _ESCAPES.finditer(text):
        signs.append(text[at : found.start()])
        places.extend(range(at, found.start()))
        at = found.start()
        for sign in bytes.fromhex(found[0].replace("%", "")).decode("utf-8", "surrogateescape"):
            signs.append(sign)
            places.append(at)
            at += 3 * len(sign.encode("utf-8", "surrogateescape"))
    signs.append(text[at:])
    places.extend(range(at, len(text) + 1))
    return "".join(signs), places


__all__ = ["Place", "at_cuts", "covered", "hidden", "quoted", "shows_cuts", "standing", "tellable"]
