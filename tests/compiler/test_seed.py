"""What the first design of the `mcp:` section promised, kept."""

from pathlib import Path

import pytest

from noetl_mcp.compiler.compile import compile_playbook
from noetl_mcp.compiler.plan import Plan
from noetl_mcp.diagnostics import Diagnostic
from noetl_mcp.playbook.load import load
from noetl_mcp.tasks.registry import BUILT_IN

SEED = (Path(__file__).parent.parent.parent / "playbooks" / "seed_turn.yaml").read_text()
HEAD = "kind: Playbook\nmetadata: {name: seed, path: seed/one}\nworkload: {topic: a, text: b}\n"
MCP = SEED[SEED.index("\nmcp:") + 1 :]
WORKFLOW = """
workflow:
  - step: start
    next: [ mcp_t1 ]
  - step: mcp_t1
    type: workbook
    task:
      name: model_call
      type: http               # example using HTTP gateway for LLM
      url: {{ secrets.llm_gateway }}/chat
      method: POST
      headers:
        Authorization: Bearer {{ secrets.llm_token }}
      data:
        model: {{ mcp.models.gpt-4o.name }}
        system: "You are a helpful assistant."
        messages:
          - role: user
            content: {{ prompts.summarize.template | render({ input: context.input }) }}
        tools_allowed: {{ mcp.turns.t1.tools_allowed }}
    save:
      storage: event_log
"""


def compiled(text: str) -> tuple[Plan | None, list[Diagnostic]]:
    loaded = load(text)
    plan = compile_playbook(loaded, BUILT_IN)
    return plan, [found for found in loaded.report if found.severity == "error"]


def names(plan: Plan) -> list[str]:
    return [step.name for step in plan.steps if not step.name.startswith("$")]


def test_the_first_block_becomes_the_steps_it_describes() -> None:
    plan, errors = compiled(HEAD + MCP)

    assert errors == []
    assert plan is not None
    kinds = ("model.{}", "tools.{}", "tools.{}.item")
    rounds = [f"t1.{kind.format(n)}" for n in range(1, 5) for kind in kinds]
    assert names(plan) == ["kb_articles", *rounds, "t1.model.5", "t1"]
    assert plan.steps[plan.index("kb_articles")].hidden
    assert not plan.steps[plan.index("t1")].hidden
    assert plan.result == {"last_of": [plan.index("t1")]}


def test_the_resource_comes_first_and_a_round_only_when_the_model_asks() -> None:
    plan, _ = compiled(HEAD + MCP)
    assert plan is not None
    ways = {
        (plan.steps[e.source].name, plan.steps[e.target].name): e
        for e in plan.edges
        if e.kind == "next"
    }

    asks = ways["t1.model.1", "t1.tools.1"].when

    assert ("kb_articles", "t1.model.1") in ways
    assert isinstance(asks, int)
    assert plan.templates[asks]["text"] == "{{ result.tool_calls }}"
    assert ways["t1.model.1", "t1"].when is None
    assert ways["t1.tools.1", "t1.model.2"].when is None
    assert plan.arrays["entries"] == [plan.index("kb_articles")]


def test_both_blocks_load_together_and_the_unplaced_turn_is_hinted_at() -> None:
    loaded = load(HEAD + MCP + WORKFLOW)
    plan = compile_playbook(loaded, BUILT_IN)

    assert plan is not None
    assert names(plan) == ["start", "mcp_t1"]
    assert "turn-not-placed" in {found.rule.name for found in loaded.report}
    step = plan.steps[plan.index("mcp_t1")]
    assert step.type == "http"
    assert plan.templates[step.more["settings"]["url"]["$t"]]["text"] == (
        "{{ secrets.llm_gateway }}/chat"
    )


def test_the_blocks_load_without_a_workload_too() -> None:
    plan, errors = compiled("kind: Playbook\nmetadata: {name: seed, path: seed/one}\n" + MCP)

    assert errors == []
    assert plan is not None


RULES = {
    "a model needs a name": (
        "- name: gpt-4o\n      provider: openai",
        "- provider: openai",
        "name",
    ),
    "provider is optional": ("      provider: openai\n", "", None),
    "params are optional": ("      params:\n        temperature: 0.2\n", "", None),
    "params are a map": (
        "      params:\n        temperature: 0.2\n",
        "      params: 3\n",
        "params",
    ),
    "a tool needs a name": ("- name: search_docs\n      type: http ", "- type: http ", "name"),
    "a tool needs a type": ("      type: http               # map", "      # map", "type"),
    "a tool needs a spec": (
        "      spec:\n        method: GET\n        url: https://search/api?q={{ input.query }}\n",
        "",
        "spec",
    ),
    "a tool's type is a known one": ("type: http               #", "type: htpt #", "htpt"),
    "a resource needs a type": ("      type: postgres\n", "", "type"),
    "a resource's type is a known one": ("type: postgres", "type: postgrse", "postgrse"),
    "a prompt needs a template": (
        "      template: |\n        Summarize the following text:\n        {{ input.text }}\n",
        "",
        "template",
    ),
    "a prompt may be structured": (
        "      template: |\n        Summarize the following text:\n        {{ input.text }}\n",
        '      template: [{role: user, content: "{{ input.text }}"}]\n',
        None,
    ),
    "a turn needs a name": ("- name: t1\n      model: gpt-4o", "- model: gpt-4o", "name"),
    "a turn needs a model": ("      model: gpt-4o\n      system", "      system", "model"),
    "a turn's model is a declared one": ("model: gpt-4o\n", "model: gpt-4oo\n", "gpt-4oo"),
    "a turn's tools are declared ones": ("[search_docs]", "[serach_docs]", "serach_docs"),
    "tools are optional": ("      tools_allowed: [search_docs]\n", "", None),
    "save is optional": ("      save: { storage: event_log }\n", "", None),
    "a save goes to a known storage": ("event_log }", "evnet_log }", "evnet_log"),
    "user is a list of texts and uses": (
        "- use: resource:kb_articles       # binds resource result to the context of this turn",
        "- just a text",
        None,
    ),
    "a use names what is used": ("resource:kb_articles  ", "resuorce:kb_articles", "resuorce"),
    "a used resource is a declared one": ("resource:kb_articles  ", "resource:kb_art", "kb_art"),
    "a used prompt is a declared one": ("resource:kb_articles  ", "prompt:sumarize ", "sumarize"),
}


@pytest.mark.parametrize(("old", "new", "told"), RULES.values(), ids=RULES)
def test_the_rules_of_the_section(old: str, new: str, told: str | None) -> None:
    assert old in MCP

    _, errors = compiled(HEAD + MCP.replace(old, new, 1))

    if told is None:
        assert errors == []
        return
    assert len(errors) == 1, [error.message for error in errors]
    assert f"'{told}'" in errors[0].message or told in errors[0].message


@pytest.mark.parametrize(
    ("section", "double"),
    [
        ("models", "    - name: gpt-4o\n  tools:"),
        ("tools", "    - {name: search_docs, type: http, spec: {url: 'http://x'}}\n  resources:"),
        ("resources", "    - {name: kb_articles, type: http, spec: {url: 'http://x'}}\n  prompts:"),
        ("prompts", "    - {name: summarize, template: x}\n  turns:"),
    ],
)
def test_names_are_unique_in_their_section(section: str, double: str) -> None:
    after = double.rpartition("\n")[2]

    _, errors = compiled(HEAD + MCP.replace(after, double, 1))

    assert [error.rule.name for error in errors] == ["duplicate-name"], section
