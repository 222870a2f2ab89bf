"""Playbooks by chance, of everything that changes how a step stands. They always compile."""

import json
from dataclasses import dataclass, field
from random import Random
from typing import Any

Tree = dict[str, Any]
CHILD = "tests/child"


def child() -> str:
    """Return a playbook for others to call; it fails when it is told to."""
    return _text(
        CHILD,
        {
            "workload": {"fails": 0},
            "workflow": [
                {"step": "start", "next": ["inner"]},
                {
                    "step": "inner",
                    "type": "echo",
                    "data": {"fails": "{{ workload.fails }}", "v": 1},
                    "next": ["end"],
                },
                {"step": "end", "result": "{{ inner.v }}"},
            ],
        },
    )


@dataclass
class Book:
    """One playbook in the making."""

    random: Random
    path: str
    doubts: bool = False
    """Whether writes may lose their answer."""
    steps: list[Tree] = field(default_factory=list)

    def text(self) -> str:
        """Return a playbook of some steps, each behind others, the last ones joined at the end."""
        chance = self.random
        names = [f"s{n}" for n in range(chance.randint(1, 7))]
        self.steps = [{"step": "start"}, *(self.step(name) for name in names)]
        for number, one in enumerate(self.steps[1:], 1):
            for before in chance.sample(range(number), min(number, chance.choice((1, 1, 2, 3)))):
                self.steps[before].setdefault("next", []).append(self.way(str(one["step"])))
            if chance.random() < 0.2:
                one["join"] = "any"
        whole: Tree = {"workload": {"yes": True, "no": False}, "workflow": self.steps}
        if chance.random() < 0.3:
            whole["finally"] = [self.plain("f0"), self.plain("f1")]
        return _text(self.path, whole)

    def way(self, target: str) -> Any:
        """Return a way on, with a condition now and then."""
        if self.random.random() < 0.75:
            return target
        said = self.random.choice(("{{ workload.yes }}", "{{ workload.no }}"))
        return {"step": target, "when": said}

    def step(self, name: str) -> Tree:
        """Return a step of any type."""
        make = self.random.choice(
            (self.plain, self.plain, self.plain, self.set, self.loop, self.call, self.wait)
        )
        made = make(name)
        if self.random.random() < 0.15:
            made["when"] = self.random.choice(("{{ workload.yes }}", "{{ workload.no }}"))
        if self.random.random() < 0.2:
            made["on_error"] = "continue"
        return made

    def plain(self, name: str) -> Tree:
        """Return a step with a task that fails, is tried again, or is done several times."""
        chance = self.random
        data: Tree = {"v": chance.randint(0, 9), "text": "ä" * chance.choice((1, 1, 1, 70_000))}
        made: Tree = {"step": name, "type": "echo", "data": data}
        if chance.random() < 0.3:
            data["fails"] = chance.choice((1, 2, 99))
            if chance.random() < 0.8:
                made["retry"] = {"max_attempts": 3, "initial_delay": chance.choice((0, 0.01))}
        elif chance.random() < 0.2:
            repeat: Tree = {"until": "{{ 1 > 2 }}", "max": 3, "collect": "{{ [result.v] }}"}
            if chance.random() < 0.7:
                repeat["on_max"] = "continue"
            if chance.random() < 0.5:
                repeat["delay"] = 0.01
            made["repeat"] = repeat
        elif chance.random() < 0.3:
            made |= {"type": "change", "confirm": True}
            if self.doubts:
                data["lose"] = chance.random() < 0.7
        if chance.random() < 0.15:
            made["limits"] = {"name": "few", "max": 2}
        return made

    def set(self, name: str) -> Tree:
        """Return a step that nobody has to work on."""
        return {"step": name, "type": "set", "values": {"v": self.random.randint(0, 9)}}

    def wait(self, name: str) -> Tree:
        """Return a step that parks for a moment."""
        return {"step": name, "type": "wait", "wait": {"for": 0.01}}

    def call(self, name: str) -> Tree:
        """Return a step that runs another playbook."""
        fails = self.random.choice((0, 0, 99))
        return {"step": name, "type": "playbook", "path": CHILD, "data": {"fails": fails}}

    def loop(self, name: str) -> Tree:
        """Return an iterator, some of whose items fail."""
        chance = self.random
        bad = chance.choice((-1, -1, 0, 2))
        task: Tree = {
            "type": "echo",
            "data": {"x": "{{ x }}", "fails": f"{{{{ 99 if x == {bad} else 0 }}}}"},
        }
        if chance.random() < 0.3:
            task["retry"] = {"max_attempts": 2, "initial_delay": 0}
        made: Tree = {
            "step": name,
            "type": "iterator",
            "collection": list(range(chance.randint(0, 5))),
            "element": "x",
            "task": task,
            "tolerate": chance.choice((0, 1)),
        }
        if chance.random() < 0.6:
            made |= {"mode": "async", "concurrency": chance.randint(1, 4)}
        return made


def _text(path: str, whole: Tree) -> str:
    head = {
        "apiVersion": "noetl.io/v2",
        "kind": "Playbook",
        "metadata": {"name": path.rpartition("/")[2], "path": path},
    }
    return json.dumps({**head, **whole}, ensure_ascii=False)
