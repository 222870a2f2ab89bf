from typing import Any

import httpx
import pytest

from noetl_mcp.broker.starts import CHILD_KEY
from noetl_mcp.database import connect
from tests.web.site import ASKING, CALLING, FAILING, HEAD, HELLO, Site
from tests.worker.ears import listening


def test_an_execution_is_started_worked_off_and_shown(site: Site) -> None:
    number = site.start(HELLO, payload={"n": 7}, labels={"team": "blue"})

    site.work()

    shown = site.get(f"/api/executions/{number}")
    assert (shown["status"], shown["result"], shown["labels"]) == ("completed", 7, {"team": "blue"})
    assert [one["name"] for one in shown["steps"]] == ["start", "a", "end"]
    assert site.get(f"/api/executions/{number}/steps/a")["state"] == "done"


def test_an_address_is_called_when_the_execution_has_ended(site: Site) -> None:
    with listening() as ear:
        number = site.start(HELLO, payload={"n": 7}, on_end=ear.url)

        site.work()

    told = ear.told()
    assert (told["execution_id"], told["status"], told["result"]) == (number, "completed", 7)


def test_the_same_key_gives_the_same_execution(site: Site) -> None:
    body = {"content": HELLO, "key": "k"}
    first = site.post("/api/executions", body, 201)

    second = site.post("/api/executions", body, 200)

    assert (second["execution_id"], second["is_new"]) == (first["execution_id"], False)


def test_many_are_started_at_once_or_none(site: Site) -> None:
    site.post("/api/catalog", {"content": HELLO}, 201)
    path = "/api/executions/batch"
    wanted = [{"payload": {"n": n}, "key": f"b{n}"} for n in range(200)]

    made = site.post(path, {"path": "tests/t", "executions": wanted}, 201)
    again = site.post(path, {"path": "tests/t", "executions": wanted}, 201)
    refused = site.post(
        path, {"path": "tests/t", "executions": [{}, {"payload": {"m": 1}}]}, status=422
    )

    assert (made["new"], again["new"]) == (200, 0)
    assert again["execution_ids"] == made["execution_ids"]
    assert refused["error"]["code"] == "wrong-payload"
    assert len(site.get("/api/executions", params={"limit": 1000})) == 200


@pytest.mark.parametrize(
    ("entry", "status", "code"),
    [
        (7, 400, "wrong-value"),
        ({"nothing": 1}, 400, "unknown-field"),
        ({"priority": "high"}, 400, "wrong-value"),
        ({"on_end": "ftp://x"}, 400, "wrong-value"),
        ({"labels": {"noetl.gates": ""}}, 409, "not-allowed"),
        ({"key": "other"}, 409, "not-allowed"),
        ({"key": "$child"}, 409, "not-allowed"),
        ({"set": ["n"]}, 422, "wrong-payload"),
        ({"payload": {"m": 1}}, 422, "wrong-payload"),
    ],
)
def test_what_is_wrong_with_one_of_many_says_which_one(
    site: Site, entry: Any, status: int, code: str
) -> None:
    site.post("/api/catalog", {"content": HELLO}, 201)
    other = HELLO.replace("tests/t", "tests/other")
    site.post("/api/executions", {"content": other, "key": "other"}, 201)
    if isinstance(entry, dict) and entry.get("key") == "$child":
        entry = {"key": f"{CHILD_KEY}1"}

    error = site.post(
        "/api/executions/batch", {"path": "tests/t", "executions": [{}, {}, entry]}, status
    )["error"]

    assert (error["code"], error["entry"]) == (code, 2)
    assert error["message"].startswith("executions[2]: ")
    for one in error.get("diagnostics", ()):
        assert one["path"][:2] == ["executions", 2]
        assert one["message"].startswith("executions[2]: ")
    assert len(site.get("/api/executions")) == 1


def test_a_payload_that_does_not_fit_starts_nothing_and_keeps_nothing(site: Site) -> None:
    refused = site.post("/api/executions", {"content": HELLO, "payload": {"x": 1}}, 422)

    assert refused["error"]["diagnostics"][0]["path"] == ["x"]
    assert site.get("/api/executions") == []
    assert site.get("/api/catalog") == []


def test_a_broken_playbook_is_refused_with_its_diagnostics(site: Site) -> None:
    broken = HELLO.replace("next: [end]", "next: [ende]")

    refused = site.post("/api/executions", {"content": broken}, 422)

    found = refused["error"]["diagnostics"]
    assert [one["name"] for one in found if one["severity"] == "error"] == ["unknown-step"]


def test_executions_are_listed_by_status_label_and_page(site: Site) -> None:
    numbers = [site.start(HELLO, labels={"n": str(n)}) for n in range(3)]

    newest = site.get("/api/executions", params={"limit": 2})
    rest = site.get("/api/executions", params={"before": newest[-1]["execution_id"]})
    labelled = site.get("/api/executions", params={"label": "n=1"})

    assert [one["execution_id"] for one in newest + rest] == numbers[::-1]
    assert [one["execution_id"] for one in labelled] == [numbers[1]]
    assert site.get("/api/executions", params={"status": "failed"}) == []


def test_an_approval_is_asked_for_explained_and_given_once(site: Site) -> None:
    number = site.start(ASKING)
    site.work()
    where = f"/api/executions/{number}"
    reasons = site.get(f"{where}/why")
    assert [one["step"] for one in reasons] == ["ask"]

    site.post(f"{where}/approve", {"step": "ask", "comment": "fine"})
    twice = site.post(f"{where}/approve", {"step": "ask"}, status=409)
    site.work()

    assert twice["error"]["code"] == "not-allowed"
    assert site.get(where)["status"] == "completed"


@pytest.mark.parametrize("approved", [None, "yes", "no", "true", 1, [], {}])
def test_only_true_says_yes_and_only_false_says_no(site: Site, approved: Any) -> None:
    number = site.start(ASKING)
    site.work()
    where = f"/api/executions/{number}"

    refused = site.post(f"{where}/approve", {"step": "ask", "approved": approved}, status=400)

    assert refused["error"]["code"] == "wrong-value"
    assert site.get(where)["attention"]


def test_a_failed_execution_is_retried_and_rerun(site: Site) -> None:
    number = site.start(FAILING)
    early = site.post(f"/api/executions/{number}/retry", {}, status=409)
    site.work()

    again = site.post(f"/api/executions/{number}/retry", {"reason": "once more"})
    anew = site.post(f"/api/executions/{number}/rerun", {}, status=201)
    site.work()

    assert "not over" in early["error"]["message"]
    assert (again["round"], again["steps"]) == (2, ["bad"])
    assert site.get(f"/api/executions/{anew['execution_id']}")["rerun_of"] == number
    assert site.get(f"/api/executions/{number}")["status"] == "failed"


def test_executions_are_paused_resumed_and_cancelled(site: Site) -> None:
    where = f"/api/executions/{site.start(ASKING)}"

    site.post(f"{where}/pause")
    paused = site.get(where)["status"]
    site.post(f"{where}/resume")
    done = site.client.post(f"{where}/cancel", json={"reason": "no need"})
    site.work()

    assert paused == "paused"
    assert done.status_code in (200, 202)
    assert site.get(where)["status"] == "cancelled"


def test_events_come_as_a_list_and_as_a_stream_that_goes_on_where_it_was_left(site: Site) -> None:
    number = site.start(HELLO)
    site.work()
    where = f"/api/executions/{number}/events"
    listed = site.get(where)

    headers = {"Accept": "text/event-stream", "Last-Event-ID": str(listed[1]["id"])}
    with site.client.stream("GET", where, headers=headers) as answer:
        text = "".join(answer.iter_text())

    ids = [int(line[4:]) for line in text.splitlines() if line.startswith("id: ")]
    assert ids == [one["id"] for one in listed[2:]]
    assert text.endswith("event: end\ndata: {}\n\n")
    assert site.get(where, params={"kind": "execution_started"})[0]["id"] == listed[0]["id"]


def test_who_acts_is_written_down(site: Site) -> None:
    number = site.start(ASKING)
    site.post(f"/api/executions/{number}/pause", {"reason": "lunch"})

    with connect(site.home.dsn, application_name="audit") as connection:
        rows = connection.execute(
            "select who, whence, action, reason, outcome from noetl.audit order by id"
        ).fetchall()

    assert rows == [
        ("local", "web", "start", None, "done"),
        ("local", "web", "pause", "lunch", "done"),
    ]


def test_what_is_wrong_with_a_request_is_said(site: Site) -> None:
    client = site.client
    cases: list[tuple[httpx.Response, int, str]] = [
        (client.get("/api/executions/77"), 404, "not-found"),
        (client.get("/api/executions/nope"), 400, "wrong-value"),
        (client.get("/api/executions?statsu=failed"), 400, "unknown-parameter"),
        (client.get("/api/executions?status=lost"), 400, "wrong-value"),
        (client.get("/nowhere"), 404, "no-such-route"),
        (client.put("/api/executions"), 405, "wrong-method"),
        (client.post("/api/executions", content=b"{"), 415, "not-json"),
        (client.post("/api/executions", json=[1]), 400, "not-a-map"),
        (client.post("/api/executions", json={"payloda": {}}), 400, "unknown-field"),
        (client.post("/api/executions", json={"path": "a/b"}), 404, "not-found"),
        (client.post("/api/executions", json={}), 400, "missing"),
        (client.post("/api/executions", json={"path": "a", "priority": 101}), 400, "wrong-value"),
        (client.post("/api/executions", json={"path": "a", "on_end": "a/b"}), 400, "wrong-value"),
        (client.post("/api/callbacks/nobody", json=1), 404, "not-found"),
    ]
    doubt = {"step": "a", "how": "retry"}  # it says which doubt was looked at, or a new one is hit
    cases += [
        (client.post("/api/executions/77/resolve", json=doubt), 400, "missing"),
        (client.post("/api/executions/77/resolve", json={**doubt, "lease": 1}), 404, "not-found"),
    ]

    for answer, status, code in cases:
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, code), answer.text
    broken = client.post(
        "/api/executions", content=b"{", headers={"Content-Type": "application/json"}
    )
    assert broken.status_code == 400


def test_a_body_that_is_too_large_is_not_read(site: Site) -> None:
    big = b'{"content": "' + b"a" * (17 * 1024 * 1024) + b'"}'

    answer = site.client.post(
        "/api/executions", content=big, headers={"Content-Type": "application/json"}
    )

    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too-large")


def test_a_callback_is_answered_by_whoever_has_its_token(site: Site) -> None:
    number = site.start(CALLING)
    site.work()
    with connect(site.home.dsn, application_name="token") as connection:
        ((token,),) = connection.execute("select token from noetl.signal where waits").fetchall()

    wrong = site.post("/api/callbacks/" + "0" * 40, {"ok": 1}, status=404)
    site.post(f"/api/callbacks/{token}", {"ok": 1})
    site.work()

    assert "nothing waits" in wrong["error"]["message"]
    assert site.get(f"/api/executions/{number}")["result"] == {"ok": 1}


def test_those_in_which_somebody_is_to_decide_are_listed_alone(site: Site) -> None:
    site.start(HELLO)
    asking = site.start(ASKING)
    site.work()

    found = site.get("/api/executions?attention=true")

    assert [one["execution_id"] for one in found] == [asking]


def test_events_of_a_step_are_those_of_what_its_items_do_too(site: Site) -> None:
    each = HEAD + (
        "workflow:\n  - {step: start, next: [each]}\n"
        "  - {step: each, type: iterator, collection: [a, b], element: x, next: [end],\n"
        "     task: {type: python, code: 'def main(x): return x', with: {x: '{{ x }}'}}}\n"
        "  - {step: end}\n"
    )
    where = f"/api/executions/{site.start(each)}/events"
    site.work()

    of_one = site.get(f"{where}?step=each[1]")
    with site.client.stream(
        "GET", f"{where}?step=each[1]", headers={"Accept": "text/event-stream"}
    ) as stream:
        streamed = [line for line in stream.iter_lines() if line.startswith("id: ")]
    unknown = site.client.get(f"{where}?step=eahc")

    assert {one["step"] for one in of_one} == {"each", "each.item"}
    assert {one["item"] for one in of_one} == {"1"}
    assert streamed == [f"id: {one['id']}" for one in of_one]
    assert unknown.status_code == 404
    assert "no step 'eahc'; did you mean 'each'?" in unknown.json()["error"]["message"]
