"""What is said in a turn: its first messages, and what each round adds. Asks nobody.

Everything is taken from what the steps of the turn gave, so every worker reads the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from noetl_mcp.broker.program import Node
from noetl_mcp.broker.results import Known
from noetl_mcp.broker.trees import Tree
from noetl_mcp.playbook.references import read_reference
from noetl_mcp.playbook.values import Flag
from noetl_mcp.tasks.models.said import Message
from noetl_mcp.tasks.models.talk import answers, headed, prompt, told
from noetl_mcp.worker.fitting import fitted_value
from noetl_mcp.worker.rendered import Rendered
from noetl_mcp.worker.settle import Work


@dataclass(frozen=True, slots=True)
class Conversation:
    """A turn, as one of its steps sees it."""

    work: Work

    def begun(self, rendered: Rendered) -> dict[str, Any]:
        """Return what a turn asks, with its first messages."""
        settings = rendered.settings
        return {
            "model": settings["model"],
            "system": settings.get("system"),
            "messages": [
                message for one in settings.get("user") or () for message in self._first(one)
            ],
            "tools_allowed": list(settings.get("tools_allowed") or ()),
            "max_tool_rounds": int(settings.get("max_tool_rounds", 0)),
            "params": dict(settings.get("params") or {}),
            "output_schema": settings.get("output_schema"),
            "stream": fitted_value(
                Flag, settings.get("stream", False), "stream", self.work.node.name
            ),
        }

    def _first(self, said: Mapping[str, Any]) -> list[Message]:
        """Return the messages that one entry of `user` stands for."""
        role = said.get("role") or "user"
        if said.get("text") is not None:
            return [{"role": role, "content": _text(said["text"])}]
        reference = read_reference(said.get("use") or "")
        if reference is None:
            return []
        if reference.kind == "prompt":
            return self._prompt(reference.name, said.get("with"), role)
        node = self._used(reference.kind, reference.name)
        known = None if node is None else self.known(node)
        if node is None or known is None or known.result is None:
            return [headed(reference.name, "(nothing)", role=role)]
        value, most = told(node.type, known.result), node.more.get("max_chars")
        if reference.kind == "turn":
            value = known.result.get("content", value)
        return [headed(reference.name, value, most, role)]

    def _prompt(self, name: str, given: Any, role: str) -> list[Message]:
        names = self.work.run.program.names
        template = names.sections["prompts"].value[name]["template"]
        sight = self.work.run.sight(self.work.node, self.work.item, input=dict(given or {}))
        return prompt(Tree(template, None).render(names.prompt(self.work.node.idx, sight)), role)

    def _used(self, kind: str, name: str) -> Node | None:
        """Return the step that a turn uses; of a resource the copy that was made for it."""
        program = self.work.run.program
        if kind == "resource":
            for edge in program.plan["edges"]:
                source: Node = program.nodes[edge["source"]]
                is_one = source.name == name or source.name.startswith(f"{name}.")
                if edge["target"] == self.work.node.idx and is_one:
                    return source
        return program.find(name)

    def asked(self) -> dict[str, Any]:
        """Return what the turn asked first."""
        first = self.work.run.program.find(f"{self.work.node.more['turn']}.model.1")
        known = None if first is None else self.known(first)
        assert known is not None
        asked: dict[str, Any] = known.result["asked"]
        return asked

    def messages(self, asked: Mapping[str, Any]) -> list[Message]:
        """Return the conversation up to this step: what was said first, and every round so far."""
        messages = list(asked["messages"])
        for said, calls in self.rounds():
            if calls:
                spoken = {"role": "assistant", "content": said["content"]}
                messages.append({**spoken, "tool_calls": said["tool_calls"]})
                messages += answers(calls)
        return messages

    def rounds(self) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
        """Return what the model said in each round so far, and the calls that were made of it."""
        found = []
        program, turn = self.work.run.program, self.work.node.more["turn"]
        for number in range(1, len(program.nodes) + 1):
            model = program.find(f"{turn}.model.{number}")
            known = None if model is None else self.known(model)
            if known is None or known.state != "done":
                break
            tools = program.find(f"{turn}.tools.{number}")
            made = None if tools is None else self.known(tools)
            is_made = made is not None and made.state == "done"
            found.append((known.result, made.result["calls"] if made and is_made else []))
        return found

    def known(self, node: Node) -> Known | None:
        """Return what came of another step, seen from this one."""
        left = self.work.run.left.get(
            (node.idx, self.work.run.seen_from(self.work.node, self.work.item, node.idx))
        )
        return None if left is None else left.known


def _text(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


__all__ = ["Conversation"]
