"""MCP servers that misbehave over standard input, each in a way of its own: `broken.py WAY`."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Message = dict[str, Any]
TOOL = {"name": "t", "description": "A tool.", "inputSchema": {"type": "object"}}


def say(text: str) -> None:
    """Write a line to standard output."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def complain(text: str) -> None:
    """Write a line to standard error."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def answer(asked: Message, result: Any) -> None:
    """Answer a request."""
    say(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}))


def refuse(asked: Message, code: int, message: str) -> None:
    """Refuse a request."""
    error = {"code": code, "message": message}
    say(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}))


def talk(
    called: Callable[[Message], None],
    *,
    version: str = "2025-11-25",
    tools: Any = None,
    more: bool = False,
) -> None:
    """Open sessions as servers of 2025 do, and leave the calls to `called`."""
    for line in sys.stdin:
        asked = json.loads(line)
        method = asked.get("method")
        if method == "initialize":
            info = {"name": "broken", "version": "1"}
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
            answer(asked, result)
        elif method == "tools/list":
            page: Message = {"tools": [TOOL] if tools is None else tools}
            answer(asked, {**page, "nextCursor": "x"} if more else page)
        elif method == "tools/call":
            called(asked)
        elif "id" in asked:
            refuse(asked, -32601, "no such method")


def silent() -> None:
    """Read everything and answer nothing."""
    complain("still thinking")
    for _ in sys.stdin:
        pass


def dies() -> None:
    """End at once."""
    complain("no licence file in " + os.environ.get("LICENCE", "nowhere"))
    sys.exit(3)


def killed() -> None:
    """End by a signal."""
    os.kill(os.getpid(), signal.SIGKILL)


def garbage() -> None:
    """Say nothing that makes sense, without end."""
    while True:
        say("Lorem ipsum")


def banner() -> None:
    """Greet on standard output, where only messages belong, and then behave."""
    say("Welcome to broken 1.0!")
    talk(lambda asked: answer(asked, {"content": [{"type": "text", "text": "fine"}]}))


def old() -> None:
    """Speak a revision that nobody knows."""
    talk(lambda asked: None, version="1999-01-01")


def refuses() -> None:
    """Open no session."""
    for line in sys.stdin:
        refuse(json.loads(line), -32603, "the database is away")


def huge() -> None:
    """Answer a call with a line without end."""

    def called(asked: Message) -> None:
        while True:
            sys.stdout.write("x" * 65_536)

    talk(called)


def wrong_shape() -> None:
    """Answer with what is no result of a tool."""
    talk(lambda asked: answer(asked, {"content": "top secret"}))


def unreadable() -> None:
    """Answer with half a character, which no strict reader takes."""
    said = '{"jsonrpc": "2.0", "id": %d, "result": {"content": [], "a": "\\ud800"}}'
    talk(lambda asked: say(said % asked["id"]))


def no_output() -> None:
    """Promise structured content and send none."""
    tool = {**TOOL, "outputSchema": {"type": "object", "required": ["a"]}}
    talk(lambda asked: answer(asked, {"content": []}), tools=[tool])


def wild_schema() -> None:
    """Promise what takes ages to check."""
    matches = {"type": "string", "pattern": "^(a+)+$"}
    tool = {**TOOL, "outputSchema": {"type": "object", "properties": {"a": matches}}}
    said = {"content": [], "structuredContent": {"a": "a" * 40 + "!"}}
    talk(lambda asked: answer(asked, said), tools=[tool])


def endless_list() -> None:
    """List tools page after page."""
    talk(lambda asked: None, tools=[TOOL], more=True)


def minus_32000() -> None:
    """Refuse with the code that the SDK uses for a lost connection."""
    talk(lambda asked: refuse(asked, -32000, "the model is read-only"))


def bad_list() -> None:
    """List what are no tools, and work nevertheless."""
    fine = {"content": [{"type": "text", "text": "fine"}]}
    talk(lambda asked: answer(asked, fine), tools=[{"no": "name"}])


def hangs() -> None:
    """Take a call and never answer; note what it was told meanwhile."""
    for line in sys.stdin:
        asked = json.loads(line)
        with (Path(os.environ["NOTES"]) / "notes").open("a") as notes:
            notes.write(asked["method"] + "\n")
        if asked["method"] == "initialize":
            info = {"name": "broken", "version": "1"}
            result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info}
            answer(asked, result)
        elif "id" in asked and asked["method"] != "tools/call":
            refuse(asked, -32601, "no such method")


def stubborn() -> None:
    """Behave, but never end by itself."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    talk(lambda asked: answer(asked, {"content": [{"type": "text", "text": str(os.getpid())}]}))
    while True:
        time.sleep(1)


def asks_on() -> None:
    """Ask without end when called, and read nothing any more; the size of a question is given."""
    filling = "x" * int(sys.argv[2])

    def called(asked: Message) -> None:
        number = 0
        while True:
            number += 1
            params = {"messages": [], "maxTokens": 1, "filling": filling}
            asks = {"jsonrpc": "2.0", "id": number, "method": "sampling/createMessage"}
            say(json.dumps({**asks, "params": params}))

    talk(called)


def asks_much() -> None:
    """Ask often before answering; half of the questions are taken back, the rest are waited for."""

    def called(asked: Message) -> None:
        for number in range(2_000):
            say(json.dumps({"jsonrpc": "2.0", "id": number, "method": "ping"}))
            taken_back = {"requestId": number, "reason": "never mind"}
            if number % 2:
                method = "notifications/cancelled"
                say(json.dumps({"jsonrpc": "2.0", "method": method, "params": taken_back}))
            else:
                sys.stdin.readline()
        answer(asked, {"content": [{"type": "text", "text": "fine"}]})

    talk(called)


def asks_back() -> None:
    """Speak the revision of 2026, and ask for more input instead of answering."""
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["method"] == "server/discover":
            answer(
                asked,
                {
                    "resultType": "complete",
                    "supportedVersions": ["2026-07-28"],
                    "capabilities": {"tools": {}},
                    "ttlMs": 0,
                    "cacheScope": "private",
                },
            )
        elif asked["method"] == "tools/list":
            page = {"resultType": "complete", "tools": [TOOL], "ttlMs": 0, "cacheScope": "private"}
            answer(asked, page)
        else:
            answer(asked, {"resultType": "input_required", "requestState": "x"})


if __name__ == "__main__":
    globals()[sys.argv[1]]()
