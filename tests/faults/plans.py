"""Playbooks by chance, together with what must become of every one of their steps.

What must become of them is worked out here from the edges alone, with none of the product's code.
"""

import json
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.faults.plainly import PLACE, Tree, plainly

READS, WRITES, FAILS = "tests/faults/reads", "tests/faults/writes", "tests/faults/fails"
CALLED = (READS, WRITES, FAILS)
YES, NO = "{{ workload.yes }}", "{{ workload.no }}"
_KINDS = (
    ("echo", 24),
    ("flaky", 6),
    ("failing", 4),
    ("get", 10),
    ("post", 22),
    ("checked", 5),
    ("loop", 8),
    ("broken_loop", 3),
    ("write_loop", 7),
    ("child", 8),
    ("broken_child", 2),
    ("approve", 2),
    ("event", 2),
    ("python", 1),
    ("set", 5),
    ("wait", 4),
    ("repeat", 3),
)


@dataclass(frozen=True)
class Way:
    """A way between two steps: whether it is taken by its condition, and when it is asked."""

    source: str
    target: str
    holds: bool | None = None
    is_error: bool = False


@dataclass
class Expected:
    """What must become of one playbook."""

    path: str
    text: str = ""
    status: str = "completed"
    states: dict[str, str] = field(default_factory=dict)
    writes: set[str] = field(default_factory=set)
    """The steps that write; those of iterators by the name of the iterator."""
    items: dict[str, int] = field(default_factory=dict)
    idempotent: set[str] = field(default_factory=set)
    checked: set[str] = field(default_factory=set)
    """The writes of which somebody can be asked what came of them."""
    children: dict[str, str] = field(default_factory=dict)
    finals: set[str] = field(default_factory=set)


def children(url: str, *, plain: bool = False) -> list[Expected]:
    """Return the playbooks that others call: one reads, one writes, one fails."""
    asked = url if plain else None
    reads = Expected(READS, states={"start": "done", "inner": "done"})
    inner: Tree = {"step": "inner", "type": "echo", "data": {"v": 3, "sleep": 0.005}}
    reads.text = _text(READS, [{"step": "start", "next": ["inner"]}, inner], {}, asked)
    names = ("start", "a", "b", "c")
    writes = Expected(WRITES, states=dict.fromkeys(names, "done"), writes={"a", "b"})
    steps = [
        {"step": "start", "next": ["a", "b"]},
        {**post(url, "a", {"wait": 5}), "next": ["c"]},
        {**post(url, "b", {"wait": 20}), "next": ["c"]},
        {"step": "c", "type": "echo", "data": {"v": 1}},
    ]
    writes.text = _text(WRITES, steps, {}, asked)
    fails = Expected(FAILS, status="failed", states={"start": "done", "inner": "failed"})
    inner = {"step": "inner", "type": "echo", "data": {"fails": 99}}
    fails.text = _text(FAILS, [{"step": "start", "next": ["inner"]}, inner], {}, asked)
    return [reads, writes, fails]


def post(url: str, name: str, said: Tree, *, item: str = "") -> Tree:
    """Return a writing step; one that the server does `once` says that it is idempotent."""
    query = "&".join(f"{key}={value}" for key, value in said.items())
    more = {"idempotent": True} if "once" in said else {}
    return {
        **more,
        "step": name,
        "type": "http",
        "method": "POST",
        "url": f"{url}/w/{PLACE}/{name}/{item}?{query}",
        "json": {"name": name},
        "confirm": True,
        "timeout": 2,
        "retry": {"max_attempts": 40, "initial_delay": 0.01},
    }


@dataclass
class Maker:
    """Makes one playbook."""

    random: Random
    url: str
    path: str
    most: int = 40
    losing: float = 0.1
    """How many writes lose their answer."""
    failing: float = 0.1
    """How many playbooks fail for good."""
    plain: bool = False
    """Only with task types that everybody has."""

    def make(self) -> Expected:
        """Return a playbook and what must become of it."""
        chance = self.random
        self.made = Expected(self.path)
        self.ways: list[Way] = []
        self.own: dict[str, str] = {}
        self.any: set[str] = set()
        self.conditions: dict[str, bool] = {}
        names = ["start", *(f"s{n}" for n in range(chance.randint(4, self.most - 1)))]
        self.steps: dict[str, Tree] = {"start": {"step": "start"}}
        self.own["start"] = "done"
        for name in names[1:]:
            self.steps[name] = self._step(name)
        self._connect(names)
        for name in names:
            self.made.states[name] = self._state(name)
        self._fail(names[1:])
        finals: list[Tree] = []
        if chance.random() < 0.25:
            finals = [{**self._echo("f0"), "next": ["f1"]}, self._post("f1")]
            self.made.states |= {"f0": "done", "f1": "done"}
            self.made.finals = {"f0", "f1"}
        asked = self.url if self.plain else None
        self.made.text = _text(self.path, list(self.steps.values()), {"finally": finals}, asked)
        return self.made

    # Ways

    def _connect(self, names: list[str]) -> None:
        chance = self.random
        shape = chance.choice(("chain", "wide", "mesh"))
        for at, name in enumerate(names[1:], 1):
            before = names[max(0, at - 2) : at] if shape == "chain" else names[:at]
            most = {"chain": 1, "wide": 1, "mesh": 4}[shape]
            count = min(len(before), chance.choice((1, 1, 1, *range(1, most + 1), 2)))
            for source in chance.sample(before, count):
                self._way(source, name)
            if len([way for way in self.ways if way.target == name]) > 1 and chance.random() < 0.3:
                self.steps[name]["join"] = "any"
            if chance.random() < 0.03:
                self.conditions[name] = chance.random() < 0.5
                self.steps[name]["when"] = YES if self.conditions[name] else NO

    def _way(self, source: str, target: str) -> None:
        chance = self.random
        step = self.steps[source]
        asks = None
        if step.get("on_error") == "?":
            step["on_error"] = target
            self.ways.append(Way(source, target, is_error=True))
            return
        said: Any = target
        if chance.random() < 0.1:
            asks = chance.random() < 0.3
            said = {"step": target, "when": self._condition(source, asks)}
        step.setdefault("next", []).append(said)
        self.ways.append(Way(source, target, asks))

    def _condition(self, source: str, holds: bool) -> str:
        """Return a condition on what the source gave, where that is known, else on the workload."""
        step = self.steps[source]
        is_known = step.get("type") == "echo" and self.own[source] == "done" and not self.plain
        if is_known and "repeat" not in step:
            value = step["data"]["v"]
            return f"{{{{ {source}.v {'==' if holds else '!='} {value} }}}}"
        return YES if holds else NO

    def _fail(self, names: list[str]) -> None:
        """Let one playbook in some fail for good; what follows the failure may not be done."""
        if self.random.random() < self.failing:
            name = self.random.choice(names)
            step = self.steps[name]
            if step["type"] == "echo" and self.made.states[name] == "done":
                step.pop("retry", None)
                step.pop("repeat", None)
                step["data"]["fails"] = 99
                self.made.states[name], self.made.status = "failed", "failed"
        for step in self.steps.values():
            if step.get("on_error") == "?":
                step["on_error"] = "continue"

    def _state(self, name: str) -> str:
        """Work out what becomes of a step; what becomes of those before it is known."""
        comes = [way for way in self.ways if way.target == name]
        if comes and not any(self._is_live(way) for way in comes):
            return "skipped"
        return self.own[name] if self.conditions.get(name, True) else "skipped"

    def _is_live(self, way: Way) -> bool:
        state = self.made.states[way.source]
        if state not in ("done", "failed"):
            return False
        own = [one for one in self.ways if one.source == way.source]
        if state == "failed" and any(one.is_error for one in own):
            return way.is_error
        if way.is_error:
            return False
        fired = [one for one in own if one.holds]
        return way in (fired or [one for one in own if one.holds is None and not one.is_error])

    # Steps

    def _step(self, name: str) -> Tree:
        kinds, weights = zip(*_KINDS, strict=True)
        kind = self.random.choices(kinds, weights)[0]
        self.own[name] = "done"
        step: Tree = getattr(self, f"_{kind}")(name)
        return step

    def _echo(self, name: str) -> Tree:
        data: Tree = {"v": self.random.randint(0, 9)}
        if self.random.random() < 0.4:
            data["sleep"] = self.random.choice((0.001, 0.01, 0.05, 0.2))
        if self.random.random() < 0.03:
            data["text"] = "ä" * 70_000
        return {"step": name, "type": "echo", "data": data}

    def _flaky(self, name: str) -> Tree:
        made = self._echo(name)
        made["data"]["fails"] = self.random.randint(1, 2)
        delay = self.random.choice((0, 0.01, 0.1))
        made["retry"] = {"max_attempts": 4, "initial_delay": delay}
        return made

    def _failing(self, name: str) -> Tree:
        made = self._echo(name)
        made["data"]["fails"] = 99
        if self.random.random() < 0.4:
            made["retry"] = {"max_attempts": 2, "initial_delay": 0.01}
        made["on_error"] = self.random.choice(("continue", "?"))
        self.own[name] = "failed"
        return made

    def _repeat(self, name: str) -> Tree:
        made = self._echo(name)
        repeat: Tree = {"until": "{{ 1 > 2 }}", "max": 3, "on_max": "continue"}
        if self.random.random() < 0.5:
            repeat["delay"] = 0.01
        return {**made, "repeat": repeat}

    def _get(self, name: str) -> Tree:
        refused = self.random.choice((0, 0, 0, 1))
        query = f"n=5&refuse={refused}&wait={self.random.choice((0, 5, 60))}"
        return {
            "step": name,
            "type": "http",
            "url": f"{self.url}/r/{PLACE}/{name}/?{query}",
            "retry": {"max_attempts": 40, "initial_delay": 0.01},
        }

    def _said(self) -> Tree:
        """Return how a write fares, and how long its answer takes."""
        chance = self.random
        wait = chance.choice((0, 0, 2, 20, 150, 400))
        if chance.random() < self.losing:
            return {"wait": wait, "lose": 1}
        return {"wait": wait, "refuse": chance.choice((0, 0, 0, 0, 1))}

    def _post(self, name: str) -> Tree:
        self.made.writes.add(name)
        said = self._said()
        if self.random.random() < 0.2:
            self.made.idempotent.add(name)
            said["once"] = 1
        made = post(self.url, name, said)
        if self.random.random() < 0.15:
            made["limits"] = {"name": "few", "max": 3}
        return made

    def _checked(self, name: str) -> Tree:
        """Return a write whose doubts are settled by asking."""
        check = {"type": "http", "url": f"{self.url}/c/{PLACE}/{name}/?n=0"}
        self.made.writes.add(name)
        self.made.checked.add(name)
        return {**post(self.url, name, self._said()), "check": check}

    def _loop(self, name: str) -> Tree:
        bad = self.random.choice((-1, -1, 1))
        task: Tree = {
            "type": "echo",
            "data": {"x": "{{ x }}", "fails": f"{{{{ 99 if x == {bad} else 0 }}}}"},
        }
        return self._iterator(name, task, tolerate=1)

    def _broken_loop(self, name: str) -> Tree:
        """Return an iterator of which more items fail than it tolerates."""
        task = {"type": "echo", "data": {"fails": "{{ 99 if x in (1, 2) else 0 }}", "sleep": 0.01}}
        made = self._iterator(
            name, task, tolerate=1, on_error=self.random.choice(("continue", "?"))
        )
        del self.made.items[name]
        self.own[name] = "failed"
        return {**made, "collection": [0, 1, 2, 3, 4]}

    def _write_loop(self, name: str) -> Tree:
        said = self._said()
        if self.random.random() < 0.2:
            self.made.idempotent.add(name)
            said["once"] = 1
        task: Any = post(self.url, name, said, item="{{ x }}")
        del task["step"]
        self.made.writes.add(name)
        if self.random.random() < 0.4:
            before = {"type": "echo", "data": {"x": "{{ x }}", "sleep": 0.005}}
            task = [before, task, {"type": "echo", "data": {"y": "{{ x }}"}}]
        return self._iterator(name, task)

    def _iterator(self, name: str, task: Any, **more: Any) -> Tree:
        count = self.random.choice((0, 1, 2, 3, 5, 8))
        self.made.items[name] = count
        made: Tree = {
            "step": name,
            "type": "iterator",
            "collection": list(range(count)),
            "element": "x",
            "task": task,
            **more,
        }
        if self.random.random() < 0.6:
            made |= {"mode": "async", "concurrency": self.random.randint(2, 4)}
        return made

    def _child(self, name: str) -> Tree:
        path = self.random.choice((READS, WRITES))
        self.made.children[name] = path
        return {"step": name, "type": "playbook", "path": path}

    def _broken_child(self, name: str) -> Tree:
        self.own[name] = "failed"
        self.made.children[name] = FAILS
        on_error = self.random.choice(("continue", "?"))
        return {"step": name, "type": "playbook", "path": FAILS, "on_error": on_error}

    def _approve(self, name: str) -> Tree:
        return {"step": name, "type": "approve", "approve": {"message": "Go?", "timeout": "1h"}}

    def _event(self, name: str) -> Tree:
        return {"step": name, "type": "wait", "wait": {"event": f"event-{name}"}}

    def _python(self, name: str) -> Tree:
        code = "def main(v):\n    return {'v': v + 1}\n"
        return {"step": name, "type": "python", "data": {"v": 1}, "code": code}

    def _set(self, name: str) -> Tree:
        return {"step": name, "type": "set", "values": {"v": self.random.randint(0, 9)}}

    def _wait(self, name: str) -> Tree:
        return {"step": name, "type": "wait", "wait": {"for": 0.05}}


def _text(path: str, steps: list[Tree], more: Tree, asked: str | None) -> str:
    """Return a playbook; `asked` is the judge, where it stands in for the type of the tests."""
    if asked is not None:
        steps, more = plainly(steps, asked), plainly(more, asked)
    whole = {
        "apiVersion": "noetl.io/v2",
        "kind": "Playbook",
        "metadata": {"name": path.rpartition("/")[2], "path": path},
        "workload": {"yes": True, "no": False},
        "workflow": steps,
    }
    return json.dumps({**whole, **{key: value for key, value in more.items() if value}})


__all__ = ["CALLED", "Expected", "Maker", "children", "post"]
