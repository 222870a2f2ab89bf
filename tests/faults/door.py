"""Starts executions through servers that may die at any time, until each of them is answered.

What was not answered is asked again under the same key, of whichever server is there: a key names
one execution for ever, and an answer that was given holds.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import httpx


@dataclass(eq=False)
class Door:
    """A client of the JSON API that does not give up."""

    ports: Callable[[], list[int]]
    paths: list[str]
    random: Random
    open: dict[str, str] = field(default_factory=dict)
    """What is to be started: paths by their keys."""
    started: dict[str, int] = field(default_factory=dict)
    ids: list[int] = field(default_factory=list)
    unanswered: int = 0
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._leaving = threading.Event()
        self._wanted: list[str] = []
        self._thread = threading.Thread(target=self._work, name="door", daemon=True)

    def begin(self) -> None:
        """Begin to ask."""
        self._thread.start()

    def leave(self) -> None:
        """Ask no more."""
        self._leaving.set()
        self._thread.join(30)

    def feed(self, count: int = 20) -> list[int]:
        """Have so many executions more started, unless some still wait to be."""
        if not (self._wanted or self.open):
            self._wanted = self.random.choices(self.paths, k=count)
        return []

    def _work(self) -> None:
        number = 0
        while not self._leaving.wait(0.02):
            wanted, self._wanted = self._wanted, []
            for path in wanted:
                number += 1
                self.open[f"key-{number}"] = path
            for key, path in list(self.open.items()):
                if self._leaving.is_set():
                    return
                self._ask(key, path)

    def _ask(self, key: str, path: str) -> None:
        port = self.random.choice(self.ports())
        url = f"http://127.0.0.1:{port}/api/executions"
        try:
            answer = httpx.post(url, json={"path": path, "key": key}, timeout=5)
        except httpx.HTTPError:
            self.unanswered += 1
            self._leaving.wait(0.05)
            return
        if answer.status_code >= 500:
            self.unanswered += 1
            self._leaving.wait(0.05)
            return
        if not answer.is_success:
            self.problems.append(f"{key}: {answer.status_code} {answer.text}")
            del self.open[key]
            return
        number = int(answer.json()["execution_id"])
        if self.started.setdefault(key, number) != number:
            self.problems.append(f"{key}: execution {number} and {self.started[key]}")
        # One in five is asked for again although it was answered: the answer must be the same.
        if self.random.random() < 0.8:
            del self.open[key]
        self.ids.append(number)

    def lost(self, known: dict[str, int]) -> list[str]:
        """Return what was answered and is not there."""
        return [
            f"{key} was answered with execution {number}, and is {known.get(key)}"
            for key, number in self.started.items()
            if known.get(key) != number
        ]


__all__ = ["Door"]
