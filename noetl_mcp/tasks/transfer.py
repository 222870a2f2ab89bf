"""The task type `transfer`: carry rows between databases, files and servers, as a stream.

Postgres writes and reads with COPY, DuckDB reads and fills everything else, and a pipe is between
them: no row is ever held by this process. All rows arrive or none. Knows no template.
"""

import asyncio
from base64 import b64decode
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from noetl_mcp.playbook.node import Json
from noetl_mcp.tasks.calls import Call, Failed, Statement, Task, UnknownOutcome
from noetl_mcp.tasks.folders import Folders
from noetl_mcp.tasks.json_values import NoSuchValue, at_pointer
from noetl_mcp.tasks.pieces import Pieces, pieces_of
from noetl_mcp.tasks.python.folders import Folders as Homes
from noetl_mcp.tasks.python.folders import remove, sweep
from noetl_mcp.tasks.save_rows import refusal
from noetl_mcp.tasks.specs_data import Source, Target, TransferSettings
from noetl_mcp.tasks.specs_web import HttpSettings
from noetl_mcp.tasks.sql_pieces import refused
from noetl_mcp.tasks.sql_text import bind
from noetl_mcp.tasks.transfer_duckdb import Hub
from noetl_mcp.tasks.transfer_move import Move, Way
from noetl_mcp.tasks.transfer_postgres import PostgresEnd

PROGRESS_SECONDS = 5.0
Auth = Mapping[str, Mapping[str, Any]]


class Transfer:
    """Carries rows, each transfer in a thread; files lie below `folders`."""

    def __init__(
        self, *, http: Task, folders: Iterable[Path | str] = (), most_at_once: int = 4
    ) -> None:
        self._http = http
        self._folders = Folders(folders)
        self._homes = Homes()  # a worker that is killed leaves one, and the next removes it
        self._threads = ThreadPoolExecutor(most_at_once, "transfer")

    async def execute(self, call: Call) -> Json:
        """Carry the rows, and return how many there were."""
        if not self._homes.is_open:
            await asyncio.to_thread(sweep)
        scratch = self._homes.make()
        try:
            async with asyncio.timeout(call.timeout) as bound:
                way = await self._way(call, scratch)
                return await self._watched(Move(call, way), bound)
        except TimeoutError:
            said = f"it took longer than {call.timeout:g} seconds; nothing was kept"
            raise Failed("timeout", said) from None
        finally:
            await asyncio.to_thread(remove, scratch)

    async def close(self) -> None:
        """Let go of the threads and folders."""
        await asyncio.to_thread(self._homes.close)
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _way(self, call: Call, scratch: str) -> Way:
        settings: TransferSettings = call.settings
        source, target = settings.source, settings.target
        statement = None if source.sql is None else statement_of(source.sql, source.params)
        given: Any = source.rows
        if source.type == "http":
            given = await self._fetched(call, source, scratch)
        return Way(
            _end(source, call.auth, "source"),
            _end(target, call.auth, "target"),
            Hub(scratch, settings.memory_mb),
            self._folders,
            statement,
            given,
        )

    async def _fetched(self, call: Call, source: Source, scratch: str) -> Any:
        """Ask a server for rows; return them, or the path of the file that they are now in."""
        if source.url is None:
            raise refusal("no-source", "a server needs 'url' of the source")
        settings = HttpSettings.model_validate(
            {
                "url": source.url,
                "headers": source.headers,
                "params": source.url_params,
                "max_response_bytes": source.max_bytes,
                "response": "base64",
            }
        )
        asked = replace(call, task="http", settings=settings, input=None, writes=False)
        asked.auth = _auth(source, call.auth, "source")
        try:
            answer: Any = await self._http.execute(asked)
        except UnknownOutcome as lost:  # what is only read may be read again
            raise Failed(lost.code, f"{lost.message}; nothing was kept") from None
        body = b64decode(answer["data"] or "")
        kind = _kind_of(body)
        if kind == "json" and source.at is not None:
            return _pointed(body, source.at)
        path = Path(scratch) / f"fetched.{kind}"
        await asyncio.to_thread(path.write_bytes, body)
        return path

    async def _watched(self, move: Move, bound: asyncio.Timeout) -> Json:
        """Wait for a move, tell how far it is, and end it when nobody waits any more."""
        working = self._threads.submit(move.run)
        waiting = asyncio.wrap_future(working)
        try:
            while not waiting.done():
                await asyncio.wait([waiting], timeout=PROGRESS_SECONDS)
                if not waiting.done() and move.carried:
                    move.call.around.log(f"carried {move.carried / 1_000_000:,.0f} MB so far")
            result = waiting.result()
        except asyncio.CancelledError:
            while not working.done() and not working.cancel():
                move.stop()
                await asyncio.wait([waiting], timeout=0.05)
            if not waiting.cancelled() and waiting.exception() is None:
                return working.result()  # it was done before it could be stopped
            if move.is_kept and bound.expired():
                said = f"it took longer than {move.call.timeout:g} seconds, and may have been kept"
                raise UnknownOutcome("timeout", said) from None
            raise
        move.call.around.log(f"carried {move.written:,} rows")
        return result


def statement_of(written: object, params: object) -> Statement:
    """Return a query with its values in their places."""
    pieces = pieces_of(written)
    tags = [f"{{{{ {at} }}}}" for at, _ in enumerate(pieces.values)]
    text = _woven(pieces, tags)
    found = bind(text, lambda tag: pieces.values[int(tag.strip("{} "))])
    if len(found) != 1:
        raise refused("'sql' of the source must be one query")
    from noetl_mcp.tasks.sql_script import with_params

    return with_params(found, params)[0]


def _woven(pieces: Pieces, tags: list[str]) -> str:
    first, *rest = pieces.literals
    return first + "".join(tag + text for tag, text in zip(tags, rest, strict=True))


def _end(end: Source | Target, auth: Auth, name: str) -> PostgresEnd | None:
    if end.type != "postgres":
        return None
    return PostgresEnd(end, _auth(end, auth, name), name)


def _auth(end: Source | Target, auth: Auth, name: str) -> Auth:
    """Return the credential of one end."""
    if isinstance(end.auth, Mapping):
        return {"": dict(end.auth)}
    if isinstance(end.auth, str):
        if end.auth not in auth:
            said = f"'{name}.auth' names '{end.auth}', which the step's 'auth' does not have"
            raise Failed("no-credential", said, retriable=False)
        return {"": auth[end.auth]}
    if name in auth:
        return {"": auth[name]}
    is_named = end.dsn is not None or end.host is not None
    return auth if len(auth) == 1 and not is_named else {}


def _kind_of(body: bytes) -> str:
    """Return what an answer holds, by how it begins."""
    if body.startswith(b"PAR1"):
        return "parquet"
    return "json" if body.lstrip()[:1] in (b"[", b"{") else "csv"


def _pointed(body: bytes, pointer: str) -> Any:
    try:
        return at_pointer(orjson.loads(body), pointer)
    except orjson.JSONDecodeError as problem:
        raise refusal("not-json", f"the answer is not JSON: {problem.msg}") from None
    except NoSuchValue as problem:
        raise refusal("no-rows", f"the answer has no rows at '{pointer}': {problem}") from None


__all__ = ["Transfer", "statement_of"]
