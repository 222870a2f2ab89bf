"""What an execution asks outside is recorded, and played back without anybody being asked."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_run import HEAD, HELLO, Person, person, until
from tests.worker.gateway import Gateway, calls, gateway, in_turn, text

__all__ = ["person"]

SECRET = "s3cr3t-of-the-server"
READS = HEAD + (
    "workload: {n: 3}\nworkflow:\n  - {step: start, next: [each]}\n"
    "  - step: each\n    type: iterator\n    collection: '{{ range(workload.n) | list }}'\n"
    "    element: i\n    mode: parallel\n    tolerate: 1\n    next: [count]\n"
    "    task: {type: http, url: 'URL/tool/{{ i }}?key={{ secrets.key }}',"
    " headers: {X: '{{ secrets.key }}'},"
    " retry: {max_attempts: 2, initial_delay: 0.01}}\n"
    "  - step: count\n    type: python\n    input: {n: '{{ each.count }}'}\n"
    "    code: |\n      def main(n):\n          return n * 2\n    next: [end]\n"
    "  - {step: end, type: end, result: {n: '{{ count }}'}}\n"
)
ORDER = HEAD + (
    "workload: {number: A-1}\nworkflow:\n  - {step: start, next: [order]}\n"
    "  - {step: order, type: http, method: POST, url: 'URL/tool/orders', confirm: true,"
    " data: {number: '{{ workload.number }}'}, next: [end]}\n"
    "  - {step: end, type: end, result: '{{ order }}'}\n"
)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def recorded(person: Person, playbook: str, *options: str) -> Path:
    """Record a playbook; return the cassette."""
    tape = person.folder / "tape.jsonl"
    ran = person.does("run", person.file(playbook), "--record-to", str(tape), *options)
    assert "recorded" in ran.err, ran.err
    return tape


@pytest.fixture
def world(person: Person) -> Any:
    with gateway(in_turn(text("nothing"))) as made:
        person.environment["NOETL_SECRET_KEY"] = SECRET
        yield made


def test_reads_are_played_back_without_the_server_and_its_secret(
    person: Person, world: Gateway
) -> None:
    tape = recorded(person, READS.replace("URL", world.url))
    asked = len(world.called)
    del person.environment["NOETL_SECRET_KEY"]

    ran = person.does("run", "tests/t", "--play-back", str(tape), "--json")

    assert ran.code == 0, ran.err
    told = ran.json()
    assert (told["status"], told["result"], told["drift"]) == ("completed", {"n": 6}, [])
    assert len(world.called) == asked == 3
    entries = [one for one in lines(tape) if "call" in one]
    assert sorted(one["step"] for one in entries) == ["each[0]", "each[1]", "each[2]"]
    assert lines(tape)[-1]["end"] == {"status": "completed", "secrets": ["key"], "calls": 3}
    assert SECRET not in tape.read_text()


def test_failures_and_retries_are_played_back_as_they_were(person: Person) -> None:
    says = in_turn((503, {"Retry-After": "0"}, {"error": "busy"}), {"ok": True})
    playbook = ORDER.replace("/tool/orders", "/chat").replace(
        "confirm: true", "confirm: true, idempotent: true, retry: {initial_delay: 0.01}"
    )
    with gateway(says) as made:
        tape = recorded(person, playbook.replace("URL", made.url))

    ran = person.does("run", "tests/t", "--play-back", str(tape))

    assert ran.code == 0, ran.err
    assert "order: attempt 1 failed (503" in ran.err
    assert "played back 2 calls from" in ran.err
    assert [(one["call"], list(one["came"])) for one in lines(tape) if "call" in one] == [
        (1, ["failed"]),
        (2, ["result"]),
    ]


def test_no_write_is_sent_and_each_is_still_judged(person: Person, world: Gateway) -> None:
    playbook = ORDER.replace("URL", world.url)
    tape = recorded(person, playbook)
    world.called.clear()

    same = person.does("run", "tests/t", "--play-back", str(tape), "--json")
    person.environment["NOETL_READ_ONLY"] = "true"
    refused = person.does("run", "tests/t", "--play-back", str(tape), "--json")

    assert (same.code, same.json()["drift"]) == (0, [])
    assert (refused.code, refused.json()["error"]["code"]) == (1, "read-only")
    assert [one["what"] for one in refused.json()["drift"]] == ["not-made"]
    assert world.called == []


def test_a_request_that_differs_is_answered_and_told_field_by_field(
    person: Person, world: Gateway
) -> None:
    tape = recorded(person, ORDER.replace("URL", world.url))
    changed = person.file(ORDER.replace("URL", world.url).replace("/orders", "/order"))

    ran = person.does("run", changed, "--play-back", str(tape), "--set", "number=B-2")
    told = person.does("run", changed, "--play-back", str(tape), "--set", "number=B-2", "--json")

    assert ran.code == told.code == 1
    assert "execution 2 completed" in ran.err
    assert "drift: order asks http for something else than was recorded\n" in ran.err
    assert '  input.number: "A-1" was recorded, now "B-2"\n' in ran.err
    (drift,) = told.json()["drift"]
    assert (drift["what"], drift["step"]) == ("request-differs", "order")
    assert [one["field"] for one in drift["fields"]] == ["input.number", "settings.url"]


def test_fields_may_differ_where_the_head_says_so(person: Person, world: Gateway) -> None:
    tape = recorded(person, ORDER.replace("URL", world.url))
    tape.write_text(tape.read_text().replace('"ignore":[]', '"ignore":["order.input.number"]'))

    ran = person.does("run", "tests/t", "--play-back", str(tape), "--set", "number=B-2")

    assert ran.code == 0, ran.err


def test_calls_that_are_new_and_calls_that_are_not_made_are_told(
    person: Person, world: Gateway
) -> None:
    tape = recorded(person, READS.replace("URL", world.url))
    world.called.clear()

    more = person.does("run", "tests/t", "--play-back", str(tape), "--set", "n=4")
    fewer = person.does("run", "tests/t", "--play-back", str(tape), "--set", "n=2")

    assert (more.code, fewer.code) == (1, 1)
    assert "drift: each[3] makes a call of http that the cassette has not\n" in more.err
    assert json.loads(more.out) == {"n": 6}
    assert "drift: each[2] does not make its recorded call of http\n" in fewer.err
    assert world.called == []


def test_it_is_begun_with_the_values_of_the_recording(person: Person, world: Gateway) -> None:
    tape = recorded(person, ORDER.replace("URL", world.url), "--set", "number=C-3")

    ran = person.does("run", "tests/t", "--play-back", str(tape))

    assert ran.code == 0, ran.err
    assert lines(tape)[0]["given"] == {"payload": {}, "sets": ["number=C-3"]}


TURN = HEAD + (
    "mcp:\n  models: [{name: small}]\n"
    "  tools:\n"
    "    - {name: look, type: http, spec: {url: 'URL/tool/look?q={{ input.q }}'}}\n"
    "    - {name: change, type: http, confirm: true,"
    " spec: {method: POST, url: 'URL/tool/change'}}\n"
    "  turns:\n    - {name: t, model: small, user: [{text: how thick}],"
    " tools_allowed: [look, change], max_tool_rounds: 2}\n"
)


def test_a_turn_is_played_back_without_model_and_tools(person: Person) -> None:
    says = in_turn(
        calls(("look", {"q": "a"}), ("look", {"q": "b"})), calls(("change", {})), text("9")
    )
    with gateway(says) as made:
        person.environment |= {
            "NOETL_SECRET_LLM_GATEWAY": made.url,
            "NOETL_SECRET_LLM_TOKEN": SECRET,
        }
        tape = recorded(person, TURN.replace("URL", made.url))
        asked = (len(made.asked), len(made.called))
        for name in ("NOETL_SECRET_LLM_GATEWAY", "NOETL_SECRET_LLM_TOKEN"):
            del person.environment[name]

        ran = person.does("run", "tests/t", "--play-back", str(tape), "--json")

        assert (ran.code, ran.json()["drift"]) == (0, []), ran.err
        assert ran.json()["result"]["content"] == "9"
        assert (len(made.asked), len(made.called)) == asked == (3, 3)
    assert SECRET not in tape.read_text()
    spots = [one["step"] for one in lines(tape) if "call" in one]
    assert sorted(spots) == [
        *("t.model.1", "t.model.2", "t.model.3"),
        *("t.tools.1[0]", "t.tools.1[1]", "t.tools.2[0]"),
    ]


def test_a_lost_write_is_in_doubt_again_and_decided_as_it_was(
    person: Person, world: Gateway
) -> None:
    world.cuts = True
    tape = person.folder / "tape.jsonl"
    file = person.file(ORDER.replace("URL", world.url))
    with person.begins("run", file, "--record-to", str(tape)) as run:
        until(lambda: person.finds("select * from noetl.step where state = 10"))
        done = person.does("resolve", "1", "order", "--accept", '{"id": 7}')
        assert done.code == 0, done.err
        out, err = run.communicate(timeout=30)
    assert (run.returncode, json.loads(out)) == (0, {"id": 7}), err
    sent = len(world.called)

    ran = person.does("run", "tests/t", "--play-back", str(tape))

    assert (ran.code, json.loads(ran.out)) == (0, {"id": 7}), ran.err
    assert "says that it was done: as in the recording" in ran.err
    assert len(world.called) == sent == 1


def test_a_lost_call_of_a_turn_is_in_doubt_again_too(person: Person) -> None:
    with gateway(in_turn(calls(("change", {})), text("done"))) as made:
        made.cuts = True
        person.environment["NOETL_SECRET_LLM_GATEWAY"] = made.url
        tape, file = person.folder / "tape.jsonl", person.file(TURN.replace("URL", made.url))
        with person.begins("run", file, "--record-to", str(tape)) as run:
            until(lambda: person.finds("select * from noetl.step where state = 10"))
            assert person.does("resolve", "1", "t.tools.1[0]", "--accept", "7").code == 0
            _, err = run.communicate(timeout=30)
        assert run.returncode == 0, err

        ran = person.does("run", "tests/t", "--play-back", str(tape), "--json")

        assert (ran.code, len(made.called), len(made.asked)) == (0, 1, 2), ran.err
    assert ran.json()["result"]["content"] == "done"


def test_a_doubt_that_nobody_decided_fails_in_the_play_back(person: Person, world: Gateway) -> None:
    tape = recorded(person, ORDER.replace("URL", world.url))
    (call,) = [one for one in lines(tape) if "call" in one]
    call["came"] = {"unknown": {"code": "timeout", "message": "no answer"}}
    tape.write_text("\n".join(json.dumps(one) for one in (lines(tape)[0], call)))

    ran = person.does("run", "tests/t", "--play-back", str(tape))

    assert ran.code == 1
    assert "nobody had decided about it when the recording ended" in ran.err
    assert "is a recording that broke off" in ran.err


CHILD = ORDER.replace("path: tests/t}", "path: tests/child}").replace("name: t,", "name: child,")
PARENT = HEAD + (
    "workflow:\n  - {step: start, next: [all]}\n"
    "  - {step: all, type: iterator, collection: [1, 2, 3], element: i, mode: parallel,"
    " next: [end], task: {type: playbook, path: tests/child, input: {number: same}}}\n"
    "  - {step: end}\n"
)


def test_calls_of_sub_playbooks_are_told_apart(person: Person, world: Gateway) -> None:
    assert person.does("submit", person.file(CHILD.replace("URL", world.url))).code == 0
    tape = recorded(person, PARENT)
    spots = [(one["within"], one["step"]) for one in lines(tape) if "call" in one]

    ran = person.does("run", "tests/t", "--play-back", str(tape), "--json")

    assert sorted(spots) == [(f"all[{n}]", "order") for n in range(3)]
    assert (ran.code, ran.json()["drift"], len(world.called)) == (0, [], 3), ran.err


def test_workers_that_are_up_have_no_part_in_it(person: Person, world: Gateway) -> None:
    with person.begins("worker", "--processes", "1", "--name", "w") as worker:
        until(lambda: person.finds("select * from noetl.worker"))
        tape = recorded(person, ORDER.replace("URL", world.url))

        ran = person.does("run", "tests/t", "--play-back", str(tape))

        worker.terminate()
        worker.wait(30)
    assert (ran.code, len(world.called)) == (0, 1), ran.err
    assert "played back 1 call from" in ran.err


def test_what_stood_aside_is_neither_retried_nor_run_again(person: Person, world: Gateway) -> None:
    playbook = ORDER.replace("URL", world.url).replace("confirm: true, ", "")
    tape = person.folder / "tape.jsonl"
    person.environment["NOETL_REQUIRE_CONFIRM"] = "true"
    assert person.does("run", person.file(playbook), "--record-to", str(tape)).code == 1

    for command in ("retry", "rerun"):
        ran = person.does(command, "1")

        assert ran.code == 1
        assert re.search("belongs to a cassette", ran.err)
    assert world.called == []


def test_what_cannot_be_meant_is_2_and_starts_nothing(person: Person) -> None:
    file, tape = person.file(HELLO), str(person.folder / "tape")

    for wrong in (
        ("--record-to", tape, "--play-back", tape),
        ("--record-to", tape, "--dry-run"),
        ("--play-back", tape, "--dry-run"),
        ("--record-to", tape, "--detach"),
        ("--play-back", tape, "--detach"),
        ("--play-back", tape, "--on-end", "http://127.0.0.1:1/"),
        ("--record-to", tape, "--priority", "3"),
    ):
        assert person.does("run", file, *wrong).code == 2, wrong
    absent = person.does("run", file, "--play-back", tape)
    taken = person.does("run", file, "--record-to", file)

    assert (absent.code, taken.code) == (1, 1)
    assert "nothing was started" in absent.err
    assert "is not a cassette" in taken.err
    assert Path(file).read_text() == HELLO


def test_a_key_that_is_taken_is_not_recorded(person: Person) -> None:
    tape, file = person.folder / "tape", person.file(HELLO)
    assert person.does("run", file, "--id", "k").code == 0

    ran = person.does("run", file, "--id", "k", "--record-to", str(tape))

    assert (ran.code, tape.exists()) == (1, False)
    assert "execution 1 has this key" in ran.err


HIDDEN = ORDER.replace("number: A-1}", "number: A-1, pin: {type: string, secret: true}}").replace(
    "'{{ workload.number }}'", "'{{ workload.number }}', pin: '{{ workload.pin }}'"
)


def test_a_secret_value_is_not_kept_and_is_given_again(person: Person, world: Gateway) -> None:
    tape = recorded(person, HIDDEN.replace("URL", world.url), "--set", f"pin={SECRET}")

    without = person.does("run", "tests/t", "--play-back", str(tape))
    ran = person.does("run", "tests/t", "--play-back", str(tape), "--set", "pin=another")

    assert SECRET not in tape.read_text()
    assert (without.code, ran.code) == (1, 0), ran.err
    assert "pin" in without.err


def test_steps_with_limits_and_pools_are_done_all_the_same(person: Person, world: Gateway) -> None:
    limited = ORDER.replace("confirm: true,", "confirm: true, pool: far, limits: [one],")
    tape = recorded(person, limited.replace("URL", world.url))

    ran = person.does("run", "tests/t", "--play-back", str(tape))

    assert (ran.code, len(world.called)) == (0, 1), ran.err
    assert "worker" not in ran.err


def test_former_results_are_neither_used_nor_kept(person: Person, world: Gateway) -> None:
    cached = READS.replace("URL", world.url).replace("retry:", "cache: true, retry:")
    recorded(person, cached)
    tape = recorded(person, cached)

    person.does("run", "tests/t", "--play-back", str(tape))

    assert len(world.called) == 6
    assert person.finds("select * from noetl.cached") == []


CHANGES = HEAD + (
    "workflow:\n  - {step: start, next: [count]}\n"
    "  - step: count\n    type: python\n    writes: true\n    confirm: true\n"
    "    input: {file: FILE}\n    next: [end]\n    code: |\n      def main(file):\n"
    "          with open(file, 'a') as one:\n              one.write('x')\n"
    "          return open(file).read()\n"
    "  - {step: end, type: end, result: {found: '{{ count }}'}}\n"
)


def test_python_that_writes_is_played_back_like_every_write(person: Person) -> None:
    file = person.folder / "changed"
    tape = recorded(person, CHANGES.replace("FILE", str(file)))

    ran = person.does("run", "tests/t", "--play-back", str(tape))

    assert (ran.code, json.loads(ran.out), file.read_text()) == (0, {"found": "x"}, "x"), ran.err
