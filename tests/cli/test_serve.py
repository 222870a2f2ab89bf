import re
import signal

import httpx

from tests.cli.test_run import HELLO, Person, person, until  # noqa: F401  # a fixture


def test_a_server_works_on_what_it_is_given_and_leaves_in_order(person: Person) -> None:  # noqa: F811
    with person.begins("serve", "--port", "0", "--processes", "1") as server:
        assert server.stderr is not None
        url = re.search(r"http://\S+", server.stderr.readline())
        assert url is not None
        with httpx.Client(base_url=url[0], timeout=20) as client:
            number = client.post("/api/executions", json={"content": HELLO}).json()["execution_id"]
            where = f"/api/executions/{number}"
            until(lambda: client.get(where).json()["status"] == "completed")

        server.send_signal(signal.SIGTERM)
        assert server.wait(30) == 0


def test_a_server_that_others_reach_needs_a_token(person: Person) -> None:  # noqa: F811
    refused = person.does("serve", "--host", "0.0.0.0", "--port", "0")
    made = person.does("token", "create", "ci", "--role", "operator", "--lasts", "1d").out.strip()

    with person.begins("serve", "--host", "0.0.0.0", "--port", "0", "--processes", "0") as server:
        assert server.stderr is not None
        port = server.stderr.readline().split(":")[3].split()[0]
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=20) as client:
            without = client.get("/api/executions").status_code
            bearer = {"Authorization": f"Bearer {made}"}
            within = client.get("/api/executions", headers=bearer).status_code
        server.send_signal(signal.SIGTERM)
        server.wait(30)

    assert "noetl-mcp token create" in refused.err
    assert (without, within) == (401, 200)


def test_an_address_that_is_taken_is_a_sentence(person: Person) -> None:  # noqa: F811
    with person.begins("serve", "--port", "0", "--processes", "0") as server:
        assert server.stderr is not None
        port = server.stderr.readline().split(":")[3].split()[0]

        second = person.does("serve", "--port", port, "--processes", "0")

        server.send_signal(signal.SIGTERM)
        server.wait(30)
    assert (second.code, "cannot listen on" in second.err) == (1, True)


def test_the_doctor_finds_nothing_wrong_with_a_new_installation(person: Person) -> None:  # noqa: F811
    found = {one["what"]: one["state"] for one in person.does("doctor", "--json").json()}

    assert {state for what, state in found.items() if what != "server"} <= {"fine", "doubtful"}
    assert found["database"] == "fine"
