import json
from pathlib import Path

import pytest

from noetl_mcp.web.guard import Policy, name_of, policy_for
from noetl_mcp.wire.addresses import is_local
from tests.web.site import HELLO, Site, serving


def test_a_name_that_is_not_ours_is_refused_on_every_route(site: Site) -> None:
    for path in ("/health", "/metrics", "/api/executions", "/nowhere"):
        answer = site.client.get(path, headers={"Host": "evil.example"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (421, "wrong-host")


def test_a_page_of_another_site_may_not_ask(site: Site) -> None:
    port = site.url.rpartition(":")[2]
    foreign = ("http://evil.example", "null", "http://localhost:1", f"http://evil.example:{port}")

    answers = [
        site.client.post("/api/executions", json={}, headers={"Origin": origin})
        for origin in foreign
    ]
    framed = site.client.get("/api/executions", headers={"Sec-Fetch-Site": "cross-site"})

    assert {one.status_code for one in (*answers, framed)} == {403}
    own = site.client.get("/api/executions", headers={"Origin": site.url})
    assert own.status_code == 200


def test_roles_may_more_and_more(site: Site) -> None:
    roles = {role: site.token(role, role) for role in ("viewer", "operator", "admin")}

    def asked(role: str) -> list[int]:
        headers = {"Authorization": f"Bearer {roles[role]}"}
        return [
            site.client.get("/api/executions", headers=headers).status_code,
            site.client.post(
                "/api/executions", json={"content": HELLO}, headers=headers
            ).status_code,
            site.client.get("/api/tokens", headers=headers).status_code,
        ]

    assert [asked(role) for role in roles] == [[200, 403, 403], [200, 201, 403], [200, 201, 200]]


def test_with_tokens_nobody_comes_in_without_one(database: str, tmp_path: Path) -> None:
    with serving(database, tmp_path, Policy(tokens=True)) as site:
        token = site.token("ci", "viewer")
        bearer = {"Authorization": f"Bearer {token}"}

        without = site.client.get("/api/executions")
        wrong = site.client.get("/api/executions", headers={"Authorization": "Bearer noetl_x"})
        good = site.client.get("/api/executions", headers=bearer)
        health = site.client.get("/health")
        callback = site.client.post("/api/callbacks/x", json=1)

        assert [one.status_code for one in (without, wrong, good, health, callback)] == [
            401,
            401,
            200,
            200,
            404,
        ]


def test_a_revoked_token_is_not_known_any_more(site: Site) -> None:
    made = site.post("/api/tokens", {"name": "ci", "role": "viewer"}, 201)["token"]
    bearer = {"Authorization": f"Bearer {made}"}
    before = site.client.get("/api/executions", headers=bearer).status_code

    site.client.delete("/api/tokens/ci")

    after = site.client.get("/api/executions", headers=bearer).status_code
    assert (before, after) == (200, 401)
    assert made not in site.client.get("/api/tokens").text


def test_credentials_come_in_and_never_go_out(site: Site) -> None:
    body = {"type": "bearer", "fields": {"token": "s3cr3t-V4lue"}}
    kept = site.client.put("/api/credentials/team/api", json=body)

    listed = site.client.get("/api/credentials")

    assert (kept.status_code, [one["name"] for one in listed.json()]) == (200, ["team/api"])
    assert "s3cr3t-V4lue" not in listed.text
    assert site.client.delete("/api/credentials/team/api").status_code == 200
    assert site.client.delete("/api/credentials/team/api").status_code == 404


@pytest.mark.parametrize(
    ("kind", "fields", "says"),
    [
        ("bearr", {"token": "hush"}, "did you mean 'bearer'?"),
        ("bearer", {"tokn": "hush"}, "did you mean 'token'?"),
        ("postgres", {"hst": "hush"}, "did you mean 'host'?"),
        ("basic", {"password": "hush"}, "needs 'username'"),
    ],
)
def test_a_credential_that_nothing_could_use_is_refused(
    site: Site, kind: str, fields: dict[str, str], says: str
) -> None:
    answer = site.client.put("/api/credentials/api", json={"type": kind, "fields": fields})

    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "wrong-credential")
    assert says in answer.json()["error"]["message"]
    assert "hush" not in answer.text


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("a.b", False)],
)
def test_only_a_loopback_address_needs_no_token(host: str, local: bool) -> None:
    assert is_local(host) is local
    assert policy_for(host).tokens is not local


def test_hosts_are_read_with_and_without_ports() -> None:
    assert [name_of(one) for one in ("a:1", "a", "[::1]:80", "127.0.0.1:9")] == [
        "a",
        "a",
        "::1",
        "127.0.0.1",
    ]


@pytest.mark.parametrize(
    "host",
    [
        "[::1].evil.example",
        "[::1]evil.example",
        "[::1",
        "127.0.0.1:80.evil.example",
        "localhost:80:80",
        "localhost:",
        "localhost:٨٠",
        "a@localhost",
        "::1",
        "",
    ],
)
def test_a_host_that_only_begins_like_ours_is_another_one(host: str) -> None:
    assert name_of(host) == ""


def test_a_host_that_only_begins_like_ours_is_refused(site: Site) -> None:
    for host in ("[::1].evil.example", "127.0.0.1:80.evil.example", "localhost:80@evil.example"):
        answer = site.client.get("/api/executions", headers={"Host": host})
        assert (answer.status_code, answer.json()["error"]["code"]) == (421, "wrong-host")


@pytest.mark.parametrize("name", ["Origin", "Authorization", "Content-Type"])
def test_a_header_that_is_there_twice_is_refused(site: Site, name: str) -> None:
    value = {"Origin": site.url, "Authorization": "Bearer x", "Content-Type": "application/json"}

    answer = site.client.post("/api/executions", headers=[(name, value[name])] * 2, content=b"{}")

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "wrong-header")


def test_the_catalog_is_listed_read_and_compared(site: Site) -> None:
    first = site.post("/api/catalog", {"content": HELLO}, 201)
    same = site.post("/api/catalog", {"content": HELLO}, 200)
    second = site.post("/api/catalog", {"content": HELLO.replace("n: 1", "n: 2")}, 201)

    shown = site.get("/api/catalog/tests/t")
    compared = site.get("/api/catalog/tests/t", params={"version": 2, "against": 1})
    missing = site.client.get("/api/catalog/tests/u")

    assert (first["version"], same["version"], second["version"]) == (1, 1, 2)
    assert (shown["version"], shown["versions"]) == (2, [2, 1])
    assert "-workload: {n: 1}" in compared["diff"]
    assert "did you mean 'tests/t'" in missing.json()["error"]["message"]


def test_a_playbook_is_validated_without_being_kept(site: Site) -> None:
    good = site.post("/api/validate", {"content": HELLO})
    bad = site.post("/api/validate", {"content": "kind: Playbook"})

    assert (good["valid"], bad["valid"]) == (True, False)
    assert site.get("/api/catalog") == []


def test_health_and_numbers_are_told(site: Site) -> None:
    site.start(HELLO)

    text = site.client.get("/metrics").text
    numbers = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))

    assert json.loads(site.client.get("/health").text) == {"status": "ok"}
    assert numbers['noetl_executions{status="running"}'] == "1"
    assert numbers['noetl_queue_depth{queue=""}'] == "1"
    assert numbers["noetl_flushes_total"] == "0"
    assert numbers["noetl_workers_alive"] == "0"
    assert site.get("/api/workers") == []


def test_the_state_of_the_installation_is_told_as_status_tells_it(site: Site) -> None:
    site.start(HELLO)

    seen = site.get("/api/status")

    assert seen["executions"]["running"] == 1
    assert seen["queues"] == {"": 1}
    assert (seen["workers"], seen["attention"], seen["astray"]) == ([], {}, 0)
    assert seen["database"]["bytes"] > 0
    assert "host" not in seen["database"]
