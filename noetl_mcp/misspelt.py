"""Find variables of the environment that are named like settings and are none. Reads no value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_PREFIX = "NOETL_"
_READ_ELSEWHERE = frozenset({"NOETL_CREDENTIAL_KEY", "NOETL_MCP"})
"""The keys of credentials, and where scripts find the command."""
_OF_TESTS = "NOETL_TEST_"
_NEAR, _VERY_NEAR = 0.6, 0.75


@dataclass(frozen=True, slots=True)
class Stranger:
    """A variable that is named like a setting, and the setting that was meant."""

    name: str
    near: str | None = None
    is_very_near: bool = False

    @property
    def says(self) -> str:
        """The sentence for a person; without the value, which may be a secret."""
        more = f"; did you mean {self.near}?" if self.near else ""
        return f"{self.name} is no setting{more}"


def strangers(environ: Mapping[str, str], known: Sequence[str], secrets: str) -> list[Stranger]:
    """Return the strangers among variables, sorted; empty ones count as none.

    `secrets` is how the names of secrets begin.
    """
    return [
        _stranger(name, known, secrets)
        for name in sorted(environ)
        if name[: len(_PREFIX)].upper() == _PREFIX
        and name not in known
        and name not in _READ_ELSEWHERE
        and not name.startswith((secrets, _OF_TESTS))
        and environ[name].strip()
    ]


def _stranger(name: str, known: Sequence[str], secrets: str) -> Stranger:
    """Look for what was meant: other letters, another case, or the words in another order."""
    from difflib import SequenceMatcher, get_close_matches  # only here: it is slow to load

    word = name.upper().removeprefix(_PREFIX)
    first, _, rest = word.partition("_")
    meant = secrets.removeprefix(_PREFIX).rstrip("_")
    if rest and SequenceMatcher(None, first, meant).ratio() > _VERY_NEAR:
        return Stranger(name, secrets + rest)
    names = {one.removeprefix(_PREFIX): one for one in (*known, *sorted(_READ_ELSEWHERE))}
    turned = next((one for one in names if _words(one) == _words(word)), None)
    if turned is not None:
        return Stranger(name, names[turned], is_very_near=True)
    near = get_close_matches(word, names, n=1, cutoff=_NEAR)
    if not near:
        return Stranger(name)
    alike = SequenceMatcher(None, word, near[0]).ratio()
    return Stranger(name, names[near[0]], is_very_near=alike >= _VERY_NEAR)


def _words(name: str) -> list[str]:
    return sorted(name.split("_"))


__all__ = ["Stranger", "strangers"]
