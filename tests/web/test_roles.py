"""What each role is told, and what it may answer."""

import pytest

from noetl_mcp.database import connect
from tests.cli.commands import noetl
from tests.web.site import ASKING, CALLING, Site

ASKING_LEADS = ASKING.replace("{message: may I}", "{who: [lead], message: may I}")


@pytest.mark.parametrize(("role", "is_told"), [("viewer", False), ("operator", True)])
def test_only_who_may_answer_is_told_how(site: Site, role: str, is_told: bool) -> None:
    number = site.start(CALLING)
    site.work()
    headers = {"Authorization": f"Bearer {site.token(role, role)}"}

    for query in ("", "?step=call"):
        (reason,) = site.get(f"/api/executions/{number}/why{query}", headers=headers)

        assert reason["waits_for"] == "callback"
        assert ("token" in reason, "path" in reason) == (is_told, is_told)
        assert ("/api/callbacks/" in reason["says"]) is is_told


def test_no_answer_holds_a_token_that_a_viewer_could_use(site: Site) -> None:
    number = site.start(CALLING)
    site.work()
    token = site.get(f"/api/executions/{number}/why")[0]["token"]
    headers = {"Authorization": f"Bearer {site.token('v', 'viewer')}"}
    where = f"/api/executions/{number}"

    for path in (where, f"{where}/why", f"{where}/events", f"{where}/steps/call"):
        answer = site.client.get(path, headers=headers)
        assert (answer.status_code, token in answer.text) == (200, False), path


def test_the_door_for_callbacks_opens_no_approval(site: Site) -> None:
    number = site.start(ASKING_LEADS)
    site.work()
    with connect(site.home.dsn, application_name="token") as connection:
        ((token,),) = connection.execute("select token from noetl.signal where waits").fetchall()

    refused = site.post(f"/api/callbacks/{token}", {"approved": True}, status=404)

    assert "nothing waits" in refused["error"]["message"]
    assert site.get(f"/api/executions/{number}")["attention"]


@pytest.mark.parametrize("name", ["local", "somebody"])
def test_no_token_bears_the_name_of_those_who_ask_without_one(site: Site, name: str) -> None:
    refused = site.post("/api/tokens", {"name": name, "role": "operator"}, status=422)

    assert f"'{name}'" in refused["error"]["message"]


def test_a_token_that_is_named_like_a_role_does_not_answer_for_it(site: Site) -> None:
    number = site.start(ASKING_LEADS.replace("lead", "admin"))
    site.work()
    headers = {"Authorization": f"Bearer {site.token('admin', 'operator')}"}

    answer = site.client.post(
        f"/api/executions/{number}/approve", json={"step": "ask"}, headers=headers
    )

    assert answer.status_code == 409
    assert "may be answered by admin" in answer.json()["error"]["message"]
    assert site.get(f"/api/executions/{number}")["attention"]


def test_who_follows_is_cut_off_when_his_token_holds_no_longer(site: Site) -> None:
    number = site.start(ASKING)
    site.work()
    headers = {
        "Authorization": f"Bearer {site.token('tmp', 'viewer')}",
        "Accept": "text/event-stream",
    }

    with site.client.stream(
        "GET", f"/api/executions/{number}/events", headers=headers, timeout=20
    ) as followed:
        lines = followed.iter_lines()
        assert next(lines).startswith("id: ")
        site.client.delete("/api/tokens/tmp")
        rest = list(lines)

    assert "event: revoked" in rest
    assert "event: end" not in rest


def test_an_admin_is_told_the_key_that_signs_calls_and_it_is_written_down(site: Site) -> None:
    operator = {"Authorization": f"Bearer {site.token('o', 'operator')}"}

    told = site.get("/api/signing-key")
    command = noetl(
        "token",
        "signing-key",
        NOETL_HOME=str(site.home.settings.home),
        NOETL_DSN=site.home.dsn,
    )

    assert told == {"key": command.out.strip()}
    assert site.client.get("/api/signing-key", headers=operator).status_code == 403
    with connect(site.home.dsn, application_name="audit") as connection:
        rows = connection.execute("select who, action, outcome from noetl.audit").fetchall()
    assert rows == [("local", "signing key", "done")]
