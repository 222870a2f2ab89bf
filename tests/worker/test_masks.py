import base64
import json
import random
import string
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from noetl_mcp.broker.run import World
from noetl_mcp.playbook.rendering.render import compile_text
from noetl_mcp.playbook.rendering.secret import MASK, Secret
from noetl_mcp.tasks.calls import Call
from noetl_mcp.worker.masks import Mask, secrets_of
from noetl_mcp.worker.settle import Fault
from tests.worker.shop import Shop

CREDENTIAL = {
    "type": "service",
    "host": "db.example",
    "password": "plain-S3cret",
    "verified": True,
    "proxy": None,
    "pin": 12345,
    "more": {"user": "alice", "keys": ["deep-S3cret"]},
}
TOKEN = "tok&n/S3cret 'é\"=="
LETTERS = string.ascii_letters + string.digits


def masking(*secrets: str | Secret) -> Mask:
    mask = Mask()
    mask.add(secrets)
    return mask


def rendered(text: str, **secrets: str) -> Secret:
    value = compile_text(text)({"secrets": {name: Secret(one) for name, one in secrets.items()}})
    assert isinstance(value, Secret)
    return value


def told(shop: Shop) -> str:
    """Return everything that the database keeps of what was done."""
    connection = shop.records.connection
    found = connection.execute("select data from noetl.event").fetchall()
    found += connection.execute("select result, error, note, answer from noetl.step").fetchall()
    return str(found)


def test_the_secrets_of_a_credential_are_found_however_deep_they_are() -> None:
    assert list(secrets_of(CREDENTIAL)) == ["plain-S3cret", "12345", "deep-S3cret"]


def test_what_servers_are_told_of_a_name_and_a_password_is_a_secret_too() -> None:
    header = base64.b64encode(b"us:pw").decode()

    assert header in list(secrets_of({"type": "basic", "username": "us", "password": "pw"}))


def test_secrets_are_masked_in_keys_too() -> None:
    mask = Mask()
    mask.add(secrets_of(CREDENTIAL))

    shown = mask.value({"plain-S3cret": {"a deep-S3cret": ["12345", 12]}, "alice": "db.example"})

    assert shown == {MASK: {f"a {MASK}": [MASK, 12]}, "alice": "db.example"}


@pytest.mark.parametrize(
    "text",
    [
        TOKEN,
        quote(TOKEN, safe=""),
        quote(TOKEN),
        quote(TOKEN, safe="").replace("%C3%A9", "%c3%a9").replace("%2F", "%2f").lower(),
        quote_plus(TOKEN),
        json.dumps(TOKEN)[1:-1],
        json.dumps(TOKEN, ensure_ascii=False)[1:-1],
        repr(TOKEN)[1:-1],
        "tok&amp;n/S3cret &#x27;é&quot;==",
        TOKEN.encode().hex(),
        TOKEN.encode().hex().upper(),
        *(
            base64.b64encode(before + TOKEN.encode()).decode()
            for before in (b"", b"u:", b"u", b"uv:")
        ),
        *(base64.urlsafe_b64encode(b"u" * n + TOKEN.encode() + b"x").decode() for n in range(3)),
    ],
)
def test_a_secret_is_masked_in_every_form_in_which_it_comes_back(text: str) -> None:
    mask = masking(TOKEN.lower() if text.startswith("tok%26n%2fs") else TOKEN)

    shown = mask.value({"got": [f"<{text}>"]})["got"][0]

    assert MASK in shown
    assert not any(text[at : at + 12] in shown for at in range(len(text) - 12))


def test_of_a_text_made_with_a_secret_the_secret_is_masked_and_the_rest_stays() -> None:
    mask = masking(rendered("Bearer {{ secrets.token }}", token="S3cret-token"))

    assert mask.value({"t": "Bearer S3cret-token"}) == {"t": f"Bearer {MASK}"}
    assert mask.value(["S3cret-token", "Bearer"]) == [MASK, "Bearer"]


@pytest.mark.parametrize(
    ("text", "leaked"),
    [
        ("{{ secrets.token | upper }}", "S3CRET-TOKEN"),
        ("x {{ secrets.token[:6] }}", "S3cret"),
        ("{{ 'a %.8s' % secrets.token }}", "S3cret-t"),
        ("{{ (secrets.token | b64encode) ~ '!' }}", "UzNjcmV0LXRva2Vu"),
        ("{{ {'k': [secrets.token]} | tojson }}", "S3cret-token"),
        (
            "{{ ('{\"a\": \"inside-it\"}' | replace('zz', secrets.token) | fromjson).a }}",
            "inside-it",
        ),
    ],
)
def test_what_is_made_of_a_secret_is_a_secret_itself(text: str, leaked: str) -> None:
    mask = masking(rendered(text, token="S3cret-token"))

    assert leaked not in mask.text(f"it is {leaked}.")


def test_a_text_with_a_secret_too_short_to_be_looked_for_is_masked_as_a_whole() -> None:
    mask = masking(rendered("code {{ secrets.pin }}!", pin="123"))

    assert mask.value(["code 123!", "123", 123]) == [MASK, "123", 123]


def test_an_empty_secret_masks_nothing() -> None:
    assert masking(rendered("a text{{ secrets.no }}", no="")).value("a text") == "a text"


def test_numbers_that_are_secrets_are_masked() -> None:
    shown = masking("987654").value({"pin": 987654, "n": [-987654, 987654.0, 1987654, 98765, True]})

    assert shown == {"pin": MASK, "n": [MASK, MASK, 1987654, 98765, True]}


def test_each_line_of_a_secret_of_many_lines_is_masked() -> None:
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQ\n-----END KEY-----\n"

    mask = masking(key)

    assert mask.text("line: kqhkiG9w0BAQ") == f"line: {MASK}"
    assert mask.text("-----BEGIN KEY-----") == "-----BEGIN KEY-----"


def test_a_secret_without_its_line_end_is_masked() -> None:
    assert masking("S3cret-token\n").text("it is S3cret-token") == f"it is {MASK}"


def test_the_beginning_of_a_secret_that_was_cut_off_is_masked() -> None:
    mask = masking("S3cret-token")

    assert mask.text("it is S3cret-t…") == f"it is {MASK}…"
    assert mask.value(["it is S3cret-t…\nnext", "no S3c…"]) == [f"it is {MASK}…\nnext", "no S3c…"]


def test_ordinary_texts_stay_as_they_are() -> None:
    mask = masking("S3cret-token", rendered("{{ secrets.a }} and more words", a="another-S3cret"))
    ordinary = {"words": "and more words", "code": "token = 'S3' + key", "n": [1, 2.5, None, True]}

    assert mask.value(ordinary) == ordinary


def test_a_megabyte_is_looked_through_at_once() -> None:
    chance = random.Random(3)
    mask = masking(*("".join(chance.choices(LETTERS, k=length)) for length in (10, 16, 20, 32, 40)))
    rows = [{"id": n, "text": "".join(chance.choices(LETTERS, k=90))} for n in range(9_000)]

    best = min(_seconds(mask, rows) for _ in range(5))

    assert best < 0.25


def _seconds(mask: Mask, value: Any) -> float:
    started = time.process_time()
    mask.value(value)
    return time.process_time() - started


def test_faults_are_masked_with_their_details() -> None:
    fault = masking("S3cret-token").fault(
        Fault("sql", "no S3cret-token", details={"value": "S3cret-token"})
    )

    assert (fault.message, fault.details) == (f"no {MASK}", {"value": MASK})


def test_what_a_program_gives_back_and_prints_of_a_credential_is_masked(shop: Shop) -> None:
    done = shop.run(
        """
workflow:
  - step: start
    type: python
    auth: {db: {type: postgres, user: alice, more: {token: deep-S3cret}}}
    code: |
      def main(auth=None):
          token = auth["db"]["more"]["token"]
          print("it is", token)
          return {token: auth, "user": auth["db"]["user"]}
    next: [end]
  - {step: end, result: "{{ start }}"}
"""
    )

    told = shop.records.connection.execute("select data from noetl.event").fetchall()
    assert done.result == {
        MASK: {"db": {"type": "postgres", "user": "alice", "more": {"token": MASK}}},
        "user": "alice",
    }
    assert "deep-S3cret" not in str(told)


PROGRAMS = {
    "returned": "return t.split()[1]",
    "in a number": "return int(pin)",
    "in base64": "import base64; return base64.b64encode(b'u:' + t[7:].encode()).decode()",
    "quoted": "from urllib.parse import quote; return quote(t)",
    "printed": "print(t[7:]); return 1",
    "printed to the other stream": "import sys; print(t[7:], file=sys.stderr); return 1",
    "printed in pieces": "print('x' * 16380 + t[7:] + 'y' * 30000); return 1",
    "printed beyond what is kept": "print('x' * (1048576 - 8) + t[7:]); return 1",
    "raised": "raise ValueError(t[7:])",
    "raised with a reason": """
    try:
      {}[t[7:]]
    except KeyError as error:
      raise ValueError('no') from error""",
    "raised and cut": "raise ValueError('x' * 1975 + t[7:])",
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_nothing_that_a_program_says_shows_a_secret(shop: Shop, program: str) -> None:
    shop.secrets = World({}, {"token": Secret("s3cr3t-V4lue"), "pin": Secret("987654")})
    code = f"def main(t, pin):\n    {program}".replace("\n", "\n      ")

    shop.run(
        f"""
workflow:
  - step: start
    type: python
    data: {{t: "Bearer {{{{ secrets.token }}}}", pin: "{{{{ secrets.pin }}}}"}}
    code: |
      {code}
    next: [end]
  - {{step: end, result: "{{{{ start }}}}"}}
"""
    )

    kept = told(shop)
    for shown in ("s3cr3t", "V4lue", "987654", "czNjcjN0", "M2NyM3Qt", "UzY3IzdC"):
        assert shown not in kept
    assert "s3cr" not in kept


class _Echo(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps({"path": self.path, "headers": dict(self.headers)}).encode()
        self.send_response(500 if "broken" in self.path else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Seen", self.path)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *said: Any) -> None:
        pass


@pytest.fixture
def echo() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Echo)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


REQUESTS = {
    "in the query": 'url: "http://{host}/echo?pin={{{{ secrets.pin }}}}"',
    "in the path": 'url: "http://{host}/broken/{{{{ secrets.token }}}}"',
    "in a header": 'url: "http://{host}/e", headers: {{X-Key: "k {{{{ secrets.token }}}}"}}',
    "in the address": 'url: "http://us:{{{{ secrets.token }}}}@{host}/e"',
    "in a short address": 'url: "http://us:{{{{ secrets.short }}}}@{host}/e"',
    "as a credential": 'url: "http://{host}/e", '
    'auth: {{type: basic, username: us, password: "{{{{ secrets.token }}}}"}}',
    "quoted in part": 'url: "http://{host}/broken/{{{{ secrets.half }}}}/e"',
    "quoted in part, with more": 'url: "http://{host}/broken?k={{{{ secrets.half }}}}"',
    "quoted in part in the query": 'url: "http://{host}/e?k={{{{ secrets.sign }}}}"',
    "in parameters": 'url: "http://{host}/broken", params: {{a: "{{{{ secrets.odd }}}}"}}',
}


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS.keys())
def test_nothing_that_a_server_tells_back_shows_a_secret(
    shop: Shop, echo: str, request_: str
) -> None:
    secrets = {"token": "s3cr3t-V4lue", "pin": "987654", "odd": "o&d/ S3cret", "short": "pw12"}
    secrets |= {"half": "pässwörd|^geheim", "sign": 's3cr3t-V4lue+"x'}
    shop.secrets = World({}, {name: Secret(text) for name, text in secrets.items()})

    shop.run(
        "workflow:\n"
        f"  - {{step: start, type: http, {request_.format(host=echo)}, next: [end]}}\n"
        "  - {step: end, result: '{{ start }}'}\n"
    )

    kept = told(shop)
    assert "127.0.0.1" in kept
    shown = [
        *("s3cr3t", "V4lue", "987654", "S3cret", "pw12", "ssw%C3", "geheim"),
        *(base64.b64encode(f"us:{one}".encode()).decode() for one in secrets.values()),
    ]
    assert [one for one in shown if one in kept] == []


def test_what_a_database_says_of_values_shows_no_secret(shop: Shop) -> None:
    shop.secrets = World({}, {"token": Secret("s3cr3t-V4lue")})

    shop.run(
        """
workflow:
  - step: start
    type: duckdb
    sql: "select cast('x-{{ secrets.token }}' as integer) as n"
    next: [end]
  - {step: end, result: "{{ start }}"}
"""
    )

    kept = told(shop)
    assert "s3cr3t" not in kept
    assert "duckdb-conversion" in kept


def test_a_file_that_cannot_be_saved_shows_no_secret(shop: Shop) -> None:
    shop.secrets = World({}, {"token": Secret("s3cr3t-V4lue")})

    shop.run(
        """
workflow:
  - step: start
    type: file
    action: write
    path: "/nowhere/{{ secrets.token }}/a.txt"
    content: "it is {{ secrets.token }}"
    confirm: true
    next: [end]
  - {step: end, result: "{{ start }}"}
"""
    )

    assert "s3cr3t" not in told(shop)


def one(step: str) -> str:
    steps = f"  - {{step: start, next: [a]}}\n  - {{step: a, {step}, next: [end]}}\n"
    return f"workflow:\n{steps}  - {{step: end, result: '{{{{ a }}}}'}}\n"


def test_what_a_task_raises_by_surprise_shows_no_secret(shop: Shop) -> None:
    shop.secrets = World({}, {"token": Secret("s3cr3t-V4lue")})

    async def surprising(call: Call) -> None:
        raise RuntimeError(f"it has {call.input}")

    shop.echo.answer = surprising

    shop.run(one('type: echo, data: {t: "Bearer {{ secrets.token }}"}'))

    assert "it has" in told(shop)
    assert "s3cr3t" not in told(shop)


def test_what_a_check_answers_shows_no_secret(shop: Shop) -> None:
    shop.secrets = World({}, {"token": Secret("s3cr3t-V4lue")})

    async def answering(call: Call) -> dict[str, object]:
        return {"done": True, "result": {"seen": str(call.input)}}

    shop.echo.answer = answering  # type: ignore[assignment]  # a map is JSON
    check = 'check: {type: echo, data: {t: "Bearer {{ secrets.token }}"}}'

    shop.run(one(f"type: change, data: {{lose: true}}, confirm: true, {check}"))

    assert MASK in told(shop)
    assert "s3cr3t" not in told(shop)


def test_what_a_task_remembers_shows_no_secret(shop: Shop) -> None:
    shop.secrets = World({}, {"token": Secret("s3cr3t-V4lue")})

    async def remembering(call: Call) -> None:
        await call.around.remember({"seen": str(call.input)})
        notes.append(told(shop))

    notes: list[str] = []
    shop.echo.answer = remembering

    shop.run(one('type: echo, data: {t: "Bearer {{ secrets.token }}"}'))

    assert MASK in notes[0]
    assert "s3cr3t" not in notes[0]
