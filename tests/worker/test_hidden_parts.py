"""Parts of secrets: beside a cut, quoted in part, and one inside of another."""

import json
import re
from collections.abc import Callable
from random import Random
from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl_mcp.cuts import CUT, beginning, decoded, end, last_lines
from noetl_mcp.playbook.rendering.secret import MASK, beginning_at_end, end_at_beginning
from noetl_mcp.tasks.python.output import LONGEST_LINE, Output
from noetl_mcp.tasks.shell_output import Kept
from noetl_mcp.worker.masks import Mask
from noetl_mcp.worker.settle import Fault
from noetl_mcp.worker.turn_writing import Writing

FILLER = "·"
SIGNS = st.text("aaabB3'\"\\\n %+/|^&<ä漢𝄞", min_size=4, max_size=30)
SECRETS = SIGNS.filter(lambda text: text.strip() == text and CUT not in text)
_NOTE = re.compile(r"… [\d,]+ bytes were dropped here …")


def masking(*secrets: str) -> Mask:
    mask = Mask()
    mask.add(secrets)
    return mask


def left(shown: str) -> int:
    """Return how long the longest part is that can be read of what is no filler."""
    runs = re.split(f"[{FILLER}{CUT}•]+", _NOTE.sub("", shown))
    return max(len(unquote(run, errors="ignore").strip()) for run in runs)


def kept(text: str, most: int) -> str:
    whole = Kept(most)
    whole.feed(text.encode())
    return whole.text()


def said(text: str, most: int) -> str:
    whole = Kept(most)
    whole.feed(text.encode())
    return whole.last_lines(3, max(1, most // 3))


CUTS: dict[str, Callable[[str, int], str]] = {
    "beginning": beginning,
    "end": end,
    "both ends": lambda text, most: end(beginning(text, most), max(1, most // 2)),
    "last lines": lambda text, most: last_lines(text, 2, most),
    "bytes": lambda text, most: decoded(text.encode()[most:], before=True),
    "kept of a stream": kept,
    "said of a stream": said,
}


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS.keys())
@given(
    secret=SECRETS,
    inner=st.tuples(st.integers(0, 30), st.integers(0, 30)),
    around=st.tuples(st.integers(0, 40), st.integers(0, 40)),
    most=st.integers(1, 60),
)
def test_wherever_a_text_is_cut_less_than_four_signs_of_a_secret_are_left(
    cut: Callable[[str, int], str],
    secret: str,
    inner: tuple[int, int],
    around: tuple[int, int],
    most: int,
) -> None:
    text = FILLER * around[0] + secret + FILLER * around[1]
    mask = masking(secret, secret[min(inner) : max(inner)])

    shown = mask.value({"said": [cut(text, most)]})["said"][0]

    assert left(shown) < 4


@given(secret=SECRETS, choice=st.randoms(use_true_random=False), most=st.integers(1, 120))
def test_a_secret_is_masked_whichever_of_its_signs_are_quoted(
    secret: str, choice: Random, most: int
) -> None:
    half = "".join(
        choice.choice((one, quote(one, safe=""))) if one != "%" else "%25" for one in secret
    )

    mask = masking(secret)

    assert left(mask.text(f"{FILLER}{half}{FILLER}")) == 0
    begun = mask.text(beginning(f"{FILLER}{half}{FILLER}", most))
    ended = mask.text(end(f"{FILLER}{half}{FILLER}", most))
    assert left(re.sub("%[0-9A-F]?…", "…", begun)) < 4
    assert left(re.sub("…[0-9A-F]{1,2}", "…", ended)) < 4


@given(secret=SECRETS, more=SIGNS, overlap=st.integers(0, 30))
def test_secrets_that_overlap_leave_nothing_of_each_other(
    secret: str, more: str, overlap: int
) -> None:
    other = (secret[-overlap:] if overlap else secret) + more.strip()
    joined = secret + other[len(secret[-overlap:] if overlap else secret) :]

    shown = masking(secret, other).text(FILLER + joined + FILLER)

    assert left(shown) < 4


@given(secret=SECRETS, quoted=st.booleans())
def test_a_secret_is_masked_in_what_python_and_json_write(secret: str, quoted: bool) -> None:
    text = f"{FILLER}{secret}{FILLER}" + "\"'" * quoted
    mask = masking(secret)

    for written in (repr(text), json.dumps(text), json.dumps(text, ensure_ascii=False)):
        shown = mask.text(written)
        middle = shown.replace(json.dumps(FILLER)[1:-1], FILLER).split(FILLER)[1]
        assert middle.strip("•") == ""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("…oken", f"…{MASK}"),
        ("…ken", "…ken"),
        ("x… 12 bytes were dropped here …token and", f"x… 12 bytes were dropped here …{MASK} and"),
        ("is S3cre… (cut: 5 of 9)", f"is {MASK}… (cut: 5 of 9)"),
        ("…cret-to…", f"…{MASK}…"),
        ("…Doken", f"…{MASK}"),
        ("Failing row contains (1, S3cret-t...).", f"Failing row contains (1, {MASK}...)."),
    ],
)
def test_parts_beside_a_cut_are_masked(text: str, shown: str) -> None:
    assert masking("S3cret-token").value([text]) == [shown]


@pytest.mark.parametrize(
    ("secret", "url"),
    [
        ("pässwörd|^geheim", "k=p%C3%A4ssw%C3%B6rd|^geheim"),
        ('s3cr3t-T0ken/+&"x', "k=s3cr3t-T0ken/+&%22x"),
        ("my pass|word", "k=my+pass|word"),
        ("pässwörd|^geheim", "k=p%c3%a4sswörd|%5egeheim"),
    ],
)
def test_a_secret_of_which_a_client_quotes_some_signs_is_masked(secret: str, url: str) -> None:
    assert masking(secret).value({"url": url}) == {"url": f"k={MASK}"}


def test_a_code_that_is_made_of_a_secret_is_masked() -> None:
    fault = masking("hunterpassword").fault(
        Fault("hunterpassword", "x", details={"hunterpassword": {"a": "hunterpassword"}})
    )

    assert (fault.code, fault.details) == (MASK, {MASK: {"a": MASK}})


@pytest.mark.parametrize("code", ["postgres-23505", "duckdb-constraint", "secret"])
def test_codes_that_conditions_ask_for_stay(code: str) -> None:
    assert masking("postgres", "duckdb", "secret").fault(Fault(code, "x")).code == code


@given(text=st.text("ab", max_size=12), secret=st.text("ab", min_size=4, max_size=12))
def test_parts_are_measured_as_they_stand(text: str, secret: str) -> None:
    sizes = range(4, len(secret))

    begun = max((n for n in sizes if text.endswith(secret[:n])), default=0)
    ended = max((n for n in sizes if text.startswith(secret[-n:])), default=0)

    assert beginning_at_end(text, [secret]) == begun
    assert end_at_beginning(text, [secret]) == ended


@given(secret=SECRETS, at=st.integers(0, 31))
def test_a_line_that_is_too_long_for_the_log_is_not_parted_within_a_secret(
    secret: str, at: int
) -> None:
    secret = secret.replace("\n", "n")
    mask, lines = masking(secret), list[str]()
    output = Output(lambda text, _: lines.append(mask.text(text)), 1_000_000, mask.secrets)

    output.feed("stdout", (FILLER * (LONGEST_LINE + 1 - at) + secret[:at]).encode())
    output.feed("stdout", (secret[at:] + FILLER).encode())
    output.close()

    assert left("".join(lines)) == 0


@given(secret=SECRETS, at=st.integers(0, 31))
def test_what_a_model_writes_is_not_parted_within_a_secret(secret: str, at: int) -> None:
    mask, lines = masking(secret), list[str]()
    writing = Writing(lambda text: lines.append(mask.text(text)), mask.secrets)

    for piece in (FILLER + secret[:at], secret[at:] + FILLER):
        said = json.dumps({"choices": [{"delta": {"content": piece}}]})
        writing.heard(f"data: {said}\n\n".encode())
    writing.end()

    assert left("".join(lines)) == 0
    assert FILLER in "".join(lines)
