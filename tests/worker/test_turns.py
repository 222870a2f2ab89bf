"""Turns: what a model is asked, the tools that it may use, and what comes of both."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from noetl_mcp.broker.desk import Desk
from noetl_mcp.broker.resolve import resolve
from noetl_mcp.broker.run import World
from noetl_mcp.playbook.rendering.secret import Secret
from noetl_mcp.queue.encode import decode
from noetl_mcp.queue.lease import Status
from tests.broker.desks import ANN, events, work, work_off
from tests.worker.gateway import Gateway, Says, Stream, calls, gateway, in_turn, text
from tests.worker.shop import Done, Shop
from tests.worker.test_rehearsal import Stage

TOKEN = "t0ken-of-the-gateway"
PLAYBOOK = """
workload: {topic: walls, rows: [{id: 1, title: walls}]}
mcp:
  models:
    - {name: small, params: {temperature: 0.2}MODEL}
  tools:
    - name: look
      type: http
      description: Look something up.
      input_schema: {type: object, properties: {q: {type: string}}, required: [q]}
      spec: {method: GET, url: "URL/tool/look?q={{ input.q }}"}
    - name: change
      type: http
      confirm: true
      spec: {method: POST, url: "URL/tool/change/{{ input.n }}"}
    - name: unsafe
      type: http
      spec: {method: POST, url: "URL/tool/unsafe"}
  resources:
    - {name: kb, type: noop, spec: {}, data: {rows: "{{ workload.rows }}"}, max_chars: 60}
  prompts:
    - {name: ask, template: "About {{ input.what }} in {{ workload.topic }}?"}
  turns:
    - name: t
      model: small
      system: Be short.
      user:
        - use: resource:kb
        - {use: "prompt:ask", with: {what: height}}
        - text: "Topic: {{ workload.topic }}"
      tools_allowed: [look, change, unsafe]
      max_tool_rounds: 2
TURN
"""


def run(
    shop: Shop, says: Says, *, turn: str = "", model: str = "", before: Any = None
) -> tuple[Done, Gateway]:
    with gateway(says) as made:
        if before is not None:
            before(made)
        number = begun(shop, made, turn, model)
        work_off(shop, number)
        return shop.done(number), made


def begun(shop: Shop, made: Gateway, turn: str = "", model: str = "") -> int:
    shop.secrets = World(
        secrets={"llm_gateway": Secret(made.url), "llm_token": Secret(TOKEN)},
    )
    return shop.start(filled(PLAYBOOK, made, turn, model))


def filled(playbook: str, made: Gateway, turn: str = "", model: str = "") -> str:
    return playbook.replace("TURN", turn).replace("MODEL", model).replace("URL", made.url)


def answered(made: Gateway) -> list[dict[str, Any]]:
    """What tools gave, as the model was told it last."""
    return [one for one in made.asked[-1]["messages"] if one["role"] == "tool"]


def test_a_turn_asks_calls_tools_and_gives_the_answer(shop: Shop) -> None:
    done, made = run(shop, in_turn(calls(("look", {"q": "RC150"})), text("150 mm")))

    assert done.status == "completed"
    result: Any = done.result
    assert result["content"] == "150 mm"
    assert result["rounds"] == 2
    assert result["finish_reason"] == "stop"
    assert result["usage"] == {"input_tokens": 15, "output_tokens": 3, "cost": None}
    (call,) = result["tool_calls"]
    assert (call["name"], call["arguments"]) == ("look", {"q": "RC150"})
    assert call["result"]["data"] == {"at": "/tool/look?q=RC150"}
    assert [one["role"] for one in result["messages"]] == [
        *("system", "user", "user", "user", "assistant", "tool", "assistant"),
    ]
    assert made.tools == ["/tool/look?q=RC150"]
    assert done.steps["t.model.1"] == done.steps["t.model.2"] == "done"
    assert done.steps["t.model.3"] == "skipped"


def test_what_is_asked_is_the_wire_of_the_gateway(shop: Shop) -> None:
    _, made = run(shop, in_turn(text("yes")))

    (asked,) = made.asked
    assert (made.paths, made.auth) == (["/chat"], [f"Bearer {TOKEN}"])
    assert asked["model"] == "small"
    assert asked["system"] == "Be short."
    assert asked["params"] == {"temperature": 0.2}
    assert asked["tools_allowed"] == ["look", "change", "unsafe"]
    assert asked["tools"][0]["description"] == "Look something up."
    assert asked["tools"][0]["input_schema"]["required"] == ["q"]
    kb, prompt, said = asked["messages"]
    assert kb["content"].startswith("# kb\n\n{")
    assert prompt == {"role": "user", "content": "About height in walls?"}
    assert said == {"role": "user", "content": "Topic: walls"}


def test_a_resource_that_is_too_long_is_cut_visibly(shop: Shop) -> None:
    _, made = run(shop, in_turn(text("yes")), turn="")
    longer = PLAYBOOK.replace("max_chars: 60", "max_chars: 10")
    with gateway(in_turn(text("yes"))) as other:
        shop.secrets = World(secrets={"llm_gateway": Secret(other.url)})
        work_off(shop, shop.start(filled(longer, other)))

    assert "(cut:" not in made.asked[0]["messages"][0]["content"]
    assert "characters are missing)" in other.asked[0]["messages"][0]["content"]
    assert other.auth == [None]


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (("evil", {}), "not-allowed"),
        (("look", {}), "bad-arguments"),
        (("look", {"q": 7}), "bad-arguments"),
        (("look", "{not json"), "bad-call"),
        (("look", [1]), "bad-call"),
        (("unsafe", {}), "unconfirmed"),
        (("change", {"nothing": 1}), "template"),
    ],
)
def test_a_call_that_must_not_be_made_is_answered_and_not_made(
    shop: Shop, wanted: tuple[str, Any], code: str
) -> None:
    done, made = run(shop, in_turn(calls(wanted), text("never mind")))

    assert (done.status, made.tools) == ("completed", [])
    (told,) = answered(made)
    assert decode(told["content"])["error"]["code"] == code
    assert told["tool_call_id"] == "c0"


def test_reading_tools_run_side_by_side_and_writing_ones_one_after_another(shop: Shop) -> None:
    def slow(made: Gateway) -> None:
        made.tool_seconds = 0.3

    reads = calls(("look", {"q": "a"}), ("look", {"q": "b"}), ("look", {"q": "c"}))
    writes = calls(("change", {"n": 1}), ("change", {"n": 2}))
    _, made = run(shop, in_turn(reads, writes, text("done")), before=slow)

    first, last = made.called[:3], made.called[3:]
    assert max(began for *_, began, _ in first) < min(ended for *_, ended in first)
    assert [path for _, path, *_ in last] == ["/tool/change/1", "/tool/change/2"]
    assert last[0][3] <= last[1][2]


def test_a_write_whose_answer_is_lost_is_in_doubt_and_the_turn_goes_on_with_what_a_person_says(
    shop: Shop,
) -> None:
    with gateway(in_turn(calls(("change", {"n": 1})), text("done"))) as made:
        made.cuts = True
        number = begun(shop, made)
        work(shop, lambda: shop.state(number, "t.tools.1.item[0]") == "in_doubt")
        assert len(made.called) == 1
        desk = Desk(shop.connect("desk"), world=shop.secrets)
        resolve(desk, number, "t.tools.1[0]", "accept", value={"n": 1}, by=ANN)

        work_off(shop, number)
        desk.connection.close()

        assert len(made.called) == 1
        (told,) = answered(made)
        assert decode(told["content"]) == {"n": 1}
    assert shop.done(number).status == "completed"


def test_a_model_that_is_busy_is_asked_again_when_it_says(shop: Shop) -> None:
    busy = (429, {"Retry-After": "0"}, {"error": "slow down"})

    done, made = run(shop, in_turn(busy, text("yes")))

    assert (done.status, len(made.asked)) == ("completed", 2)
    assert done.rows["t.model.1"][1] == 2


@pytest.mark.parametrize(
    ("says", "code"),
    [
        (text("no", finish_reason="content_filter"), "model-refused"),
        (text("", refusal="I will not"), "model-refused"),
        (calls(("look", {"q": "a"})), "tool-rounds-used-up"),
        ((400, {}, {"error": "no such model"}), "http-status"),
    ],
)
def test_a_model_that_gives_no_answer_fails_the_turn(shop: Shop, says: Any, code: str) -> None:
    done, _ = run(shop, in_turn(says))

    assert done.status == "failed"
    assert done.error is not None
    assert done.error["code"] == code


def test_there_must_be_a_way_to_the_model(shop: Shop) -> None:
    done = shop.run(
        filled(PLAYBOOK, Gateway(in_turn()), "", "").replace('"/tool', '"http://h/tool')
    )

    assert done.error is not None
    assert done.error["code"] == "no-model"
    assert "NOETL_SECRET_LLM_GATEWAY" in done.error["message"]


SCHEMA = "      output_schema: {type: object, properties: {mm: {type: integer}}, required: [mm]}\n"


def test_an_answer_that_does_not_fit_is_asked_for_once_more(shop: Shop) -> None:
    done, made = run(shop, in_turn(text("150 mm"), text('```json\n{"mm": 150}\n```')), turn=SCHEMA)

    result: Any = done.result
    assert result["output"] == {"mm": 150}
    assert result["usage"]["input_tokens"] == 20
    assert "does not fit" in made.asked[1]["messages"][-1]["content"]
    assert made.asked[1]["tools_allowed"] == []


def test_an_answer_that_never_fits_fails_the_turn(shop: Shop) -> None:
    done, made = run(shop, in_turn(text('{"mm": "thick"}')), turn=SCHEMA)

    assert done.error is not None
    assert done.error["code"] == "wrong-output"
    assert "$.mm" in done.error["message"]
    assert len(made.asked) == 2


def test_a_model_that_cannot_be_reached_is_named(shop: Shop) -> None:
    done, _ = run(shop, in_turn((400, {}, {"error": "no such model"})))

    assert done.error is not None
    assert done.error["message"].startswith("model 'small', through secrets.llm_gateway: 400 ")


def test_an_answer_that_is_none_is_told_with_where_it_came_from(shop: Shop) -> None:
    done, made = run(shop, in_turn({"hello": "world"}))

    assert done.error is not None
    assert (done.error["code"], len(made.asked)) == ("bad-answer", 1)
    assert "/chat: the answer has neither" in done.error["message"]


def choice(message: dict[str, Any], reason: str = "stop") -> dict[str, Any]:
    usage = {"prompt_tokens": 3, "completion_tokens": 1}
    return {"choices": [{"message": message, "finish_reason": reason}], "usage": usage}


def test_the_wire_of_openai_has_tools_as_functions_and_never_null(shop: Shop) -> None:
    call = {"id": "x", "function": {"name": "look", "arguments": '{"q": "a"}'}}
    asks = choice({"content": None, "tool_calls": [call]}, "tool_calls")
    with gateway(in_turn(asks, choice({"content": "yes"}))) as made:
        number = begun(
            shop, made, model=f", adapter: openai, endpoint: '{made.url}/v1', model: m-1"
        )
        work_off(shop, number)

    result: Any = shop.done(number).result
    assert result["content"] == "yes"
    assert made.paths == ["/v1/chat/completions"] * 2
    assert made.auth == [None, None]
    first, second = made.asked
    assert (first["model"], first["temperature"]) == ("m-1", 0.2)
    assert first["messages"][0] == {"role": "system", "content": "Be short."}
    assert first["tools"][0]["function"]["name"] == "look"
    assert all(one["content"] is not None for one in second["messages"])
    spoken, told = second["messages"][-2:]
    assert spoken["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"q":"a"}'}
    assert (told["role"], told["tool_call_id"]) == ("tool", "x")


def test_a_model_without_tools_of_its_own_is_held_to_a_schema(shop: Shop) -> None:
    asks = choice({"content": '{"tool": "look", "arguments": {"q": "a"}}'})
    answer = choice({"content": '{"answer": "yes"}'})
    with gateway(in_turn(asks, answer)) as made:
        forced = f", adapter: openai, endpoint: '{made.url}/v1', tool_calls: schema"
        number = begun(shop, made, model=forced)
        work_off(shop, number)

    result: Any = shop.done(number).result
    assert (result["content"], made.tools) == ("yes", ["/tool/look?q=a"])
    first, second = made.asked
    assert "tools" not in first
    schema = first["response_format"]["json_schema"]["schema"]
    assert schema["anyOf"][0]["properties"]["tool"] == {"const": "look"}
    assert [one["role"] for one in second["messages"][-2:]] == ["assistant", "user"]
    assert second["messages"][-1]["content"].startswith("look gave:\n")


def test_every_call_is_in_the_log_and_no_token_is(shop: Shop) -> None:
    done, _ = run(shop, in_turn(calls(("look", {"q": "a"})), text("yes")))

    kinds = shop.kinds(done.id)
    assert [kinds.count(f"model_{one}") for one in ("called", "answered")] == [2, 2]
    assert [kinds.count(f"tool_{one}") for one in ("called", "answered")] == [1, 1]
    (told,) = events(shop, done.id, "tool_called")
    assert told == {"tool": "look", "arguments": {"q": "a"}}
    log = shop.records.connection.execute(
        "select string_agg(data, ' ') from noetl.event"
    ).fetchone()
    assert log is not None
    assert TOKEN not in log[0]


def test_a_worker_that_leaves_between_the_answer_and_the_call_is_followed_by_another(
    shop: Shop,
) -> None:
    """What the model said is not asked for again; a tool that only reads may run twice."""
    with gateway(in_turn(calls(("look", {"q": "a"})), text("yes"))) as made:
        number = begun(shop, made)
        work(shop, lambda: shop.state(number, "t.model.1") == "done")
        work_off(shop, number)

        assert len(made.asked) == 2
        assert set(made.tools) == {"/tool/look?q=a"}
    assert shop.status(number) == Status.COMPLETED
    completed = [k for k in shop.kinds(number, "t.model.1") if k == "step_completed"]
    assert len(completed) == 1


def test_a_dry_run_asks_no_model_and_says_which_tools_may_write() -> None:
    with gateway(in_turn(text("yes"))) as made:
        found = Stage().run(filled(PLAYBOOK, made))

        assert (made.asked, made.called) == ([], [])
    assert {"t.model.1", "t.tools.1"} <= set(found.unknown)
    because = found.reasons
    assert because["t.model.1"] == "a model is not asked in a dry run"
    assert because["t.tools.1"].endswith("it may write with change")


def test_what_a_model_said_is_used_again_when_that_is_asked_for(shop: Shop) -> None:
    turn = "      cache: true\n"
    with gateway(in_turn(calls(("look", {"q": "a"})), text("yes"))) as made:
        results = []
        for _ in range(2):
            number = begun(shop, made, turn)
            work_off(shop, number)
            results.append(shop.done(number).result)

        assert len(made.asked) == 2
        assert len(made.called) == 2
    first, second = results
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    assert first["content"] == second["content"] == "yes"


def test_a_model_that_takes_too_long_is_asked_again_and_then_given_up(shop: Shop) -> None:
    def slowly(body: Any, number: int) -> Any:
        if number == 1:
            time.sleep(1.0)
        return text("yes")

    done, made = run(shop, slowly, turn="      timeout: 0.3\n")

    assert (done.status, len(made.asked)) == ("completed", 2)


@pytest.mark.parametrize("says", ["length", "max_tokens"])
def test_an_answer_in_a_form_that_was_cut_off_fails_and_a_text_is_given_as_it_came(
    shop: Shop, says: str
) -> None:
    cut = text('{"mm": 1', finish_reason=says)

    failed, made = run(shop, in_turn(cut), turn=SCHEMA)
    given, _ = run(shop, in_turn(cut))

    assert failed.error is not None
    assert (failed.error["code"], len(made.asked)) == ("answer-cut", 1)
    result: Any = given.result
    assert (result["content"], result["finish_reason"]) == ('{"mm": 1', says)


def test_a_model_that_is_held_to_a_schema_and_cut_off_gives_no_half_answer(shop: Shop) -> None:
    with gateway(in_turn(choice({"content": '{"answer": "it is 15'}, "length"))) as made:
        forced = f", adapter: openai, endpoint: '{made.url}/v1', tool_calls: schema"
        number = begun(shop, made, model=forced)
        work_off(shop, number)

    error = shop.done(number).error
    assert error is not None
    assert error["code"] == "answer-cut"


# Streams

STREAMED = "      stream: true\n"


def shown(shop: Shop, number: int) -> list[str]:
    """What the log shows of an answer while it is written."""
    return [one["text"] for one in events(shop, number, "log") if one["stream"] == "model"]


def test_an_answer_is_shown_while_it_is_written(shop: Shop) -> None:
    is_seen = threading.Event()

    def slowly() -> Iterator[Any]:
        yield {"content": "It is "}
        assert is_seen.wait(10.0)
        yield {"content": "150 mm", "usage": {"input_tokens": 7, "output_tokens": 3}}
        yield {"finish_reason": "stop"}
        yield "[DONE]"

    with gateway(lambda body, number: Stream(slowly())) as made:
        number = begun(shop, made, STREAMED)

        def is_over() -> bool:
            if shown(shop, number) == ["It is "]:
                is_seen.set()
            return shop.status(number) != Status.RUNNING

        work(shop, is_over)

        assert made.asked[0]["stream"] is True
    assert is_seen.is_set()
    assert "".join(shown(shop, number)) == "It is 150 mm"
    result: Any = shop.done(number).result
    assert (result["content"], result["finish_reason"]) == ("It is 150 mm", "stop")
    assert result["usage"] == {"input_tokens": 7, "output_tokens": 3, "cost": None}


def test_calls_of_tools_come_in_pieces_too(shop: Shop) -> None:
    def delta(**more: Any) -> dict[str, Any]:
        return {"choices": [{"delta": more, "finish_reason": None}]}

    def call(index: int, **more: Any) -> dict[str, Any]:
        return delta(tool_calls=[{"index": index, **more}])

    asks = Stream(
        [
            delta(role="assistant", content=None),
            call(0, id="x", function={"name": "look", "arguments": ""}),
            call(1, id="y", function={"name": "look", "arguments": '{"q": "b"}'}),
            call(0, function={"arguments": '{"q": '}),
            call(0, function={"arguments": '"a"}'}),
            {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]},
            {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1}},
            "[DONE]",
        ]
    )
    with gateway(in_turn(asks, choice({"content": "in one piece"}))) as made:
        number = begun(shop, made, STREAMED, model=f", adapter: openai, endpoint: '{made.url}/v1'")
        work_off(shop, number)

        assert sorted(made.tools) == ["/tool/look?q=a", "/tool/look?q=b"]
    result: Any = shop.done(number).result
    assert result["content"] == "in one piece"
    assert result["usage"]["input_tokens"] == 6
    assert made.asked[0]["stream_options"] == {"include_usage": True}


def test_a_stream_that_breaks_off_is_no_answer_and_is_asked_for_again(shop: Shop) -> None:
    broken = Stream([{"content": "It is"}])

    done, made = run(shop, in_turn(broken, text("It is 150 mm")), turn=STREAMED)

    result: Any = done.result
    assert (result["content"], len(made.asked)) == ("It is 150 mm", 2)


def test_a_secret_in_a_stream_is_not_shown_although_it_comes_in_pieces(shop: Shop) -> None:
    half = len(TOKEN) // 2
    pieces = [f"it is {TOKEN[:half]}", f"{TOKEN[half:]} and", " no more"]
    said = Stream([*({"content": one} for one in pieces), {"finish_reason": "stop"}])

    done, _ = run(shop, in_turn(said), turn=STREAMED)

    assert "".join(shown(shop, done.id)) == "it is •••••• and no more"
    result: Any = done.result
    assert result["content"] == "it is •••••• and no more"


def test_a_model_that_asks_for_too_much_at_once_gets_none_of_it(shop: Shop) -> None:
    many = calls(*(("look", {"q": str(n)}) for n in range(129)))

    done, made = run(shop, in_turn(many, text("yes")))

    assert done.error is not None
    assert (done.error["code"], made.tools, len(made.asked)) == ("too-many-calls", [], 1)


def test_a_schema_that_leads_elsewhere_is_told_and_nothing_is_fetched(shop: Shop) -> None:
    with gateway(in_turn(text("{}"))) as made:
        turn = f"      output_schema: {{$ref: '{made.url}/tool/schema'}}\n"
        number = begun(shop, made, turn)
        work_off(shop, number)

        assert made.tools == []
    error = shop.done(number).error
    assert error is not None
    assert error["code"] == "wrong-output"
    assert "leads nowhere inside it" in error["message"]
