"""A small MCP server without the SDK, quick to start: it reads, writes, fails, hangs and dies."""

import json
import os
import sys
from pathlib import Path
from typing import Any


def content(text: str, *, failed: bool = False) -> dict[str, Any]:
    """Give the result of a tool."""
    return {"content": [{"type": "text", "text": text}], "isError": failed}


def called(name: str) -> dict[str, Any] | None:
    """Do what a tool does; None is no answer."""
    if name == "write":
        with Path(os.environ["MARK"]).open("a") as mark:
            mark.write("x")
    if name == "die":
        with Path(os.environ["MARK"]).open("a") as mark:
            mark.write("x")
        sys.exit(5)
    if name == "slow":
        return None
    if name == "fail":
        return content("no: " + os.environ.get("TOKEN", ""), failed=True)
    return content("fine")


for line in sys.stdin:
    asked = json.loads(line)
    result: dict[str, Any] | None = None
    match asked.get("method"):
        case "initialize":
            info = {"name": "plain", "version": "1"}
            told = {"protocolVersion": "2025-11-25", "capabilities": {}}
            result = {**told, "serverInfo": info}
        case "tools/list":
            result = {"tools": []}
        case "tools/call":
            result = called(asked["params"]["name"])
        case "resources/read":
            result = {"contents": [{"uri": asked["params"]["uri"], "text": "a wall"}]}
        case "server/discover":
            error = {"code": -32601, "message": "no such method"}
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}))
            sys.stdout.write("\n")
    if result is not None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}) + "\n")
    sys.stdout.flush()
