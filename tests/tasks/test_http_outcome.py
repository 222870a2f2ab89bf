"""What a status means, when to come back, and what of a URL may be seen."""

from datetime import UTC, datetime
from typing import Any

import pytest

from noetl_mcp.tasks.http_outcome import retry_after, shown, verdict
from noetl_mcp.tasks.specs_web import HttpSettings

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def judged(status: int, *, writes: bool = True, **settings: Any) -> str:
    made = HttpSettings.model_validate({"url": "http://a/", **settings})
    return verdict(status, made, writes=writes)


@pytest.mark.parametrize(
    ("statuses", "said"),
    [
        ((200, 201, 204, 299), "done"),
        ((400, 401, 404, 408, 409, 422, 425, 429, 499), "refused"),
        ((501, 503, 505, 304, 307, 308), "refused"),
        ((500, 502, 504), "unknown"),
        ((507, 508, 511, 520, 524, 599), "unknown"),
        ((300, 301, 302, 303), "unknown"),
    ],
)
def test_after_a_write_a_status_says_whether_it_was_done(statuses: Any, said: str) -> None:
    assert {judged(status) for status in statuses} == {said}


def test_a_read_is_done_or_refused() -> None:
    assert judged(200, writes=False) == "done"
    assert {judged(status, writes=False) for status in (302, 404, 500, 502, 599)} == {"refused"}


def test_a_step_can_list_its_own_statuses() -> None:
    assert judged(500, unknown_statuses=[]) == "refused"
    assert judged(409, unknown_statuses=[409]) == "unknown"
    assert judged(500, unknown_statuses=[409]) == "refused"
    assert judged(502, refused_statuses=502) == "refused"
    assert judged(520, refused_statuses=[520]) == "refused"
    assert judged(404, ok_statuses=[404]) == "done"
    assert judged(404, writes=False, ok_statuses=[404]) == "done"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "120"}, 120.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after": "Fri, 02 Jan 2026 03:05:05 GMT"}, 60.0),
        (
            {
                "retry-after": "Fri, 02 Jan 2026 03:05:05 GMT",
                "date": "Fri, 02 Jan 2026 03:05:00 GMT",
            },
            5.0,
        ),
        ({"retry-after": "Thu, 01 Jan 2026 00:00:00 GMT"}, 0.0),
        ({"retry-after": "Fri, 02 Jan 2026 03:05:05 -0000"}, 60.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "1" * 400}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_a_server_says_when_to_come_back(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("http://a/b?c=d&e", "http://a/b?c=d&e"),
        ("http://me:pw@a:80/", "http://a:80/"),
        ("http://a/?access_token=x&page=2", "http://a/?access_token=***&page=2"),
        ("http://a/?X-Amz-Signature=x&sig=y", "http://a/?X-Amz-Signature=***&sig=***"),
        ("http://a/?apiKey=x&design=y&token=", "http://a/?apiKey=***&design=y&token="),
        ("http://a/?k=s3cret%2F1", "http://a/?k=***"),
        ("http://a/bots3cret%2F1/send", "http://a/bot***/send"),
        ("http://a/b#token=s3cret/1", "http://a/b"),
        ("http://[::1/", "***"),
    ],
)
def test_a_url_is_shown_without_its_secrets(url: str, seen: str) -> None:
    assert shown(url, ("s3cret/1",)) == seen
