"""What templates of a turn, its model and its tools give is held to their rules."""

import pytest

from noetl_mcp.broker.run import World
from noetl_mcp.playbook.rendering.secret import Secret
from tests.broker.desks import work_off
from tests.worker.gateway import Gateway, calls, gateway, in_turn, text
from tests.worker.shop import Done, Shop

X = '"{{ workload.x }}"'
PLAYBOOK = """
workload: {x: null}
mcp:
  models: [{name: small MODEL}]
  tools:
    - name: look
      type: echo
      description: Look something up.
      input_schema: {type: object}
      spec: {}
      TOOL
  turns:
    - {name: t, model: small, user: Hello, tools_allowed: [look], max_tool_rounds: 1 TURN}
"""


def asked(
    shop: Shop, x: object, *, model: str = "", tool: str = "", turn: str = ""
) -> tuple[Done, Gateway]:
    filled = PLAYBOOK.replace("MODEL", model).replace("TOOL", tool).replace("TURN", turn)
    with gateway(in_turn(calls(("look", {})), text("yes"))) as made:
        shop.secrets = World(secrets={"llm_gateway": Secret(made.url)})
        number = shop.start(filled, {"x": x})
        work_off(shop, number)
        return shop.done(number), made


@pytest.mark.parametrize(
    ("said", "x"),
    [
        ({"model": f", timeout: {X}"}, -1),
        ({"turn": f", timeout: {X}"}, "x"),
        ({"turn": f", stream: {X}"}, "perhaps"),
    ],
)
def test_a_wrong_value_of_a_turn_fails_it_before_a_model_is_asked(
    shop: Shop, said: dict[str, str], x: object
) -> None:
    done, made = asked(shop, x, **said)

    assert done.error is not None
    assert done.error["code"] == "bad-settings"
    assert not made.asked


def test_a_wrong_timeout_of_a_tool_is_told_to_the_model(shop: Shop) -> None:
    done, made = asked(shop, -1, tool=f"timeout: {X}")

    assert done.status == "completed"
    assert "'timeout' should be a duration" in made.asked[1]["messages"][-1]["content"]


def test_the_templates_of_a_turn_and_its_tools_may_be_durations(shop: Shop) -> None:
    said = f", timeout: {X}"
    done, made = asked(shop, "5s", model=said, tool=f"timeout: {X}", turn=said)

    assert done.status == "completed"
    assert "error" not in made.asked[1]["messages"][-1]["content"]
