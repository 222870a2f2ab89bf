"""A plan made ready to be run: numbers instead of names, templates compiled when first used.

Holds nothing of an execution; one program serves all executions of its plan.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from noetl_mcp.broker.lanes import Lane, lane_of
from noetl_mcp.broker.names import Names
from noetl_mcp.broker.refusals import NotAllowed
from noetl_mcp.broker.trees import Holds, Tree
from noetl_mcp.compiler.plan import FORMAT
from noetl_mcp.playbook.references import read_reference
from noetl_mcp.playbook.rendering.render import Renderer, compile_text
from noetl_mcp.queue.pools import is_computing
from noetl_mcp.tasks.contract import TaskSpec

_JOIN_ANY, _JOIN_SETTLED = 1, 2


class UnknownFormat(NotAllowed):
    """The plan was made by a newer compiler than this code understands."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way on from a step."""

    number: int
    target: int
    kind: str
    when: Renderer | bool | None
    data: Tree | None
    set: Tree | None


@dataclass(eq=False)
class Node:
    """One step of a program."""

    idx: int
    name: str
    type: str
    hidden: bool
    writes: bool
    more: Mapping[str, Any]
    spec: TaskSpec | None
    join: int
    waits: int
    within: int | None
    ways: tuple[Way, ...] = ()
    comes: tuple[Way, ...] = ()
    """The ways that lead here and carry input."""
    body: tuple[int, ...] = ()
    """Of an iterator: the steps done for each item, in their order."""
    settings: Tree | None = None
    input: Tree | None = None
    care: Mapping[str, Tree] = field(default_factory=dict)
    lane: Lane = field(default_factory=Lane)
    bare: bool = False
    """It has no body: only its ways matter."""
    looks: frozenset[int] = frozenset()
    """Whose outcomes it may read, it and all that it passes through."""
    depth: int = 0
    """Inside how many iterators it stands."""
    made: Any = None
    """The settings as a task takes them, where nothing in them is a template."""
    rendered: Any = None
    """All that its task is given, where nothing in it is a template."""
    relaxed: bool = False
    """Whether what came of it may be lost with the server: then it is done again."""
    straight: int | None = None
    """The only step that follows, without a question, and that waits for nothing else."""

    @cached_property
    def is_constant(self) -> bool:
        """Whether nothing that a task is given is rendered, so that no secret can be in it."""
        trees = (self.settings, self.input, self.care.get("auth"), self.care.get("data"))
        spoken_for = "speaks_for" in self.more
        return not (spoken_for or self.comes) and all(t is None or t.constant for t in trees)

    @property
    def finals(self) -> bool:
        """Whether it belongs to the steps that run at the end, whatever happened."""
        return self.more.get("phase") == "finally"

    @property
    def at_resource(self) -> bool:
        """Whether it reads what a turn uses."""
        return str(self.more.get("at", "")).startswith("mcp/resources/")

    @cached_property
    def hands_out(self) -> bool:
        """Whether it hands out items, and waits until each of them is over."""
        return self.type in ("iterator", "turn.tools")

    @cached_property
    def others(self) -> frozenset[int]:
        """Whose outcomes it may read, but for its own."""
        return self.looks - {self.idx}

    @cached_property
    def queue(self) -> str:
        """The name of the queue it waits in."""
        return self.lane.queue

    @cached_property
    def computes(self) -> bool:
        """Whether its task keeps a processor busy."""
        return is_computing(self.lane.pool)

    @cached_property
    def waits_signed(self) -> int:
        """How many ways lead here; negative where the first live one is enough."""
        return -self.waits if self.join == _JOIN_ANY else self.waits


class Program:
    """A plan made ready."""

    def __init__(self, plan: Mapping[str, Any], specs: Mapping[str, TaskSpec], plan_id: int = 0):
        if plan["format"] > FORMAT:
            form = plan["format"]
            raise UnknownFormat(
                f"its plan has form {form}, and this version knows forms up to {FORMAT}:"
                " use a newer noetl-mcp"
            )
        self.plan = plan
        self.plan_id = plan_id
        self.path: str | None = plan["playbook"].get("path")
        self.names = Names(plan)
        self.renderers: Sequence[Renderer] = _Renderers(plan["templates"])
        arrays = plan["arrays"]
        steps = plan["steps"]
        self.nodes = [self._node(n, step, arrays, specs) for n, step in enumerate(steps)]
        self._connect(plan["edges"])
        self.entries = [n for n in arrays["entries"] if not self.nodes[n].finals]
        self.finals = [n for n in arrays["entries"] if self.nodes[n].finals]
        self.entries = [n for n in self.entries if self.nodes[n].within is None]
        self.end = self._named("$end")
        self.finally_end = self._named("$finally")
        self.secret_names = frozenset(
            one["name"] for one in plan["inputs"] if one.get("schema", {}).get("secret") is True
        )
        """Variables of the workload that nobody may read afterwards."""
        self.lanes: dict[int, list[int]] = {}
        """By an execution's priority: the number of each step's lane."""
        value = plan["result"].get("value")
        self.result = None if value is None else Tree(value, self.renderers)
        for node in reversed(self.nodes):
            node.looks = self._looks(node)
            node.straight = self._straight(node)

    def _node(
        self,
        idx: int,
        step: Mapping[str, Any],
        arrays: Mapping[str, Any],
        specs: Mapping[str, TaskSpec],
    ) -> Node:
        writes, spec = bool(step.get("writes")), specs.get(step["type"])
        trees = {
            key: Tree(step[key], self.renderers, key, holds=_holds(key))
            for key in (
                "when",
                "retry",
                "timeout",
                "expect",
                "data",
                "save",
                "set",
                "auth",
                "assert",
                "repeat",
                "cache",
                "check",
                "key",
            )
            if key in step
        }
        return Node(
            idx,
            step["name"],
            step["type"],
            bool(step.get("hidden")),
            writes,
            step,
            spec,
            arrays["join"][idx],
            arrays["waits"][idx],
            step.get("within"),
            settings=Tree(step["settings"], self.renderers, holds="settings")
            if "settings" in step
            else None,
            input=Tree(step["input"], self.renderers, "input") if "input" in step else None,
            care=trees,
            lane=lane_of(
                step, self.plan, writes=writes, computes=spec is not None and spec.computes
            ),
            bare=step["type"] in ("router", "sequence"),
            relaxed=self.plan["options"].get("durability") == "relaxed" and not writes,
        )

    def _connect(self, edges: Sequence[Mapping[str, Any]]) -> None:
        ways: list[list[Way]] = [[] for _ in self.nodes]
        comes: list[list[Way]] = [[] for _ in self.nodes]
        for number, edge in enumerate(edges):
            when = edge.get("when")
            way = Way(
                number,
                edge["target"],
                edge["kind"],
                when if when is None or isinstance(when, bool) else self.renderers[when],
                Tree(edge["data"], self.renderers) if "data" in edge else None,
                Tree(edge["set"], self.renderers) if "set" in edge else None,
            )
            ways[edge["source"]].append(way)
            if way.data is not None:
                comes[edge["target"]].append(way)
        bodies: dict[int, list[int]] = {}
        for node in self.nodes:
            node.ways, node.comes = tuple(ways[node.idx]), tuple(comes[node.idx])
            if node.within is not None:
                bodies.setdefault(node.within, []).append(node.idx)
        for within, body in bodies.items():
            self.nodes[within].body = tuple(body)
        for node in self.nodes:
            outer = node.within
            while outer is not None:
                node.depth += 1
                outer = self.nodes[outer].within

    def _looks(self, node: Node) -> frozenset[int]:
        """Say whose outcomes are read when a step is done: by it and by all it passes through."""
        found = self.reads(node.idx)
        for way in node.ways:
            target = self.nodes[way.target]
            if abs(target.waits) == 1:
                found |= target.looks if target.bare else frozenset()
        if node.idx in (self.end, self.finally_end):
            found |= self.result_reads
        return found

    def _straight(self, node: Node) -> int | None:
        """Return the step that follows where there is nothing to decide."""
        if len(node.ways) != 1 or "set" in node.care:
            return None
        way = node.ways[0]
        target = self.nodes[way.target]
        asks = way.kind != "next" or way.when is not None or way.data or way.set
        ends = way.target in (self.end, self.finally_end)
        if asks or target.waits != 1 or (target.bare and not ends):
            return None
        return way.target

    def reads(self, idx: int) -> frozenset[int]:
        """Return the steps whose outcomes the templates of a step read."""
        more = self.nodes[idx].more
        found = set(more.get("needs", ()))
        for givers in more.get("ctx", {}).values():
            found.update(givers)
        found.update(more.get("siblings", {}).values())
        found.update(way_source for way_source in self._carriers[idx])
        if self.nodes[idx].type.startswith("turn"):
            found |= self._of_turn(idx)
        if "speaks_for" in more:
            found.add(more["speaks_for"])
            found |= self.reads(more["speaks_for"])
        return frozenset(found)

    def _of_turn(self, idx: int) -> set[int]:
        """Return the steps that a step of a turn goes on from: its turn's, and what it uses."""
        node = self.nodes[idx]
        turn = [one.idx for one in self.nodes if one.more.get("turn") == node.more.get("turn")]
        found = {one for one in turn if one != idx and self.nodes[one].within is None}
        found = {one for one in found if one < idx or node.type == "turn.result"}
        for one in node.more.get("settings", {}).get("user") or ():
            reference = read_reference(one.get("use") or "") if isinstance(one, dict) else None
            used = None if reference is None else self.find(reference.name)
            if used is not None:
                found.add(used.idx)
        comes = {edge["source"] for edge in self.plan["edges"] if edge["target"] == idx}
        return found | {one for one in comes if self.nodes[one].at_resource}

    @cached_property
    def _carriers(self) -> list[list[int]]:
        """By step: those that carry input to it."""
        found: list[list[int]] = [[] for _ in self.nodes]
        for edge in self.plan["edges"]:
            if "data" in edge:
                found[edge["target"]].append(edge["source"])
        return found

    @cached_property
    def result_reads(self) -> frozenset[int]:
        """The steps that the playbook's result is made of."""
        said = self.plan["result"]
        if "step" in said:
            return self.reads(said["step"]) | {said["step"]}
        return frozenset(said.get("last_of", ()))

    @cached_property
    def aside(self) -> frozenset[int]:
        """The steps that only look on when another fails: nobody waits for them."""
        found: set[int] = set()
        for node in self.nodes:  # each comes after those that lead to it
            edges = [edge for edge in self.plan["edges"] if edge["target"] == node.idx]
            looks_on = [e["kind"] == "failed" or e["source"] in found for e in edges]
            if edges and all(looks_on):
                found.add(node.idx)
        return frozenset(found - {self.end, self.finally_end})

    def entries_of(self, iterator: Node) -> list[int]:
        """Return the first steps of an iterator's body."""
        return [idx for idx in iterator.body if self.nodes[idx].waits == 0]

    def last_of(self, iterator: Node) -> int:
        """Return the step of a body whose end is the item's end."""
        inner = [idx for idx in iterator.body if self.nodes[idx].within == iterator.idx]
        led = {way.target for idx in inner for way in self.nodes[idx].ways}
        last = [idx for idx in inner if not self.nodes[idx].ways and idx not in self.aside]
        return last[-1] if last else max(led)

    def result_of(self, iterator: Node) -> int:
        """Return the step of a body whose result is the item's result."""
        own = [i for i in iterator.body if "speaks_for" not in self.nodes[i].more]
        direct = [i for i in own if self.nodes[i].within == iterator.idx]
        return direct[-1]

    def _named(self, name: str) -> int:
        return next((node.idx for node in self.nodes if node.name == name), -1)

    def find(self, name: str) -> Node | None:
        """Return a step by its name."""
        return next((node for node in self.nodes if node.name == name), None)


def _holds(key: str) -> Holds:
    """Say what stands in a part of a step; a check is a call with settings of its own."""
    return "settings" if key == "check" else "values"


class _Renderers(Sequence[Renderer]):
    """The templates of a plan, compiled when first asked for."""

    def __init__(self, templates: Sequence[Mapping[str, Any]]) -> None:
        self._texts = [one["text"] for one in templates]
        self._made: list[Renderer | None] = [None] * len(templates)

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, number: Any) -> Any:
        found = self._made[number]
        if found is None:
            found = self._made[number] = compile_text(self._texts[number])
        return found


__all__ = ["Node", "Program", "UnknownFormat", "Way"]
