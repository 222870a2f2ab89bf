"""The tasks of a worker, each made when its first step comes. Knows them by name only."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from noetl_mcp.tasks.calls import Task
from noetl_mcp.tasks.contract import TaskSpec


@dataclass(slots=True, eq=False)
class Bench:
    """Task types at work in this process."""

    folders: tuple[Path, ...] = ()
    children: int | None = None
    saved: Path | None = None
    """The DuckDB file that takes saves which name none."""
    shell: bool = False
    """Whether commands of this machine may be run."""
    made: dict[str, Task | None] = field(default_factory=dict)
    more: Mapping[str, Callable[[], Task]] = field(default_factory=dict)
    """Further types, by name; they come before the built-in ones."""
    brought: Mapping[str, TaskSpec] | None = None
    """The specs that may name a plugin of an installed package; all there are when None."""

    def task(self, name: str) -> Task | None:
        """Return the task of a type; None when this worker cannot do it."""
        if name not in self.made:
            maker = self.more.get(name)
            self.made[name] = maker() if maker is not None else self._make(name)
        return self.made[name]

    def _make(self, name: str) -> Task | None:
        """Make a task; its libraries are loaded only now."""
        makers: dict[str, Callable[[], Task]] = {
            "python": self._python,
            "http": self._http,
            "jsonrpc": self._jsonrpc,
            "mcp": self._mcp,
            "postgres": self._postgres,
            "duckdb": self._duckdb,
            "file": self._file,
            "floorplan": self._floorplan,
            "shell": self._shell,
            "transfer": self._transfer,
            "save.postgres": self._save_postgres,
            "save.duckdb": self._save_duckdb,
            "save.file": self._save_file,
            "save.http": self._save_http,
            "save.python": self._save_python,
        }
        maker = makers.get(name)
        return maker() if maker is not None else self._plugin(name)

    def _plugin(self, name: str) -> Task | None:
        """Make the task of a type that an installed package brings; it loads when it is called."""
        from noetl_mcp.tasks.registry import known_tasks
        from noetl_mcp.worker.plugins import Plugin

        if self.brought is None:
            self.brought = known_tasks()
        spec = self.brought.get(name)
        if spec is None or spec.plugin is None:
            return None
        return Plugin(spec, at_once=self.children or 2)

    def _python(self) -> Task:
        from noetl_mcp.tasks.python.task import Python

        return Python(folders=self.folders, most_children=self.children)

    def _http(self) -> Task:
        from noetl_mcp.tasks.http import Http
        from noetl_mcp.tasks.http_request import Allowed

        return Http(allowed=Allowed(folders=self.folders))

    def _jsonrpc(self) -> Task:
        from noetl_mcp.tasks.http import Http
        from noetl_mcp.tasks.jsonrpc import JsonRpc

        http = self.task("http")
        assert isinstance(http, Http)
        return JsonRpc(http=http)

    def _mcp(self) -> Task:
        from noetl_mcp.tasks.mcp import Mcp

        return Mcp(commands=self.shell)

    def _postgres(self) -> Task:
        from noetl_mcp.tasks.postgres import Postgres

        return Postgres()

    def _duckdb(self) -> Task:
        from noetl_mcp.tasks.duckdb import Duckdb

        # Without folders of their own, steps that only read may read what this user may.
        readable = () if self.folders else (Path.cwd(), Path("/"))
        return Duckdb(folders=self.folders, readable=readable)

    def _file(self) -> Task:
        from noetl_mcp.tasks.file import File

        return File(folders=self.folders)

    def _floorplan(self) -> Task:
        from noetl_mcp.tasks.floorplan import Floorplan

        return Floorplan(folders=self.folders, mcp=lambda: self._needed("mcp"))

    def _needed(self, name: str) -> Task:
        """Return the task of a built-in type."""
        found = self.task(name)
        assert found is not None
        return found

    def _shell(self) -> Task:
        from noetl_mcp.tasks.shell import Shell

        return Shell(allowed=self.shell, folders=self.folders)

    def _transfer(self) -> Task:
        from noetl_mcp.tasks.http import Http
        from noetl_mcp.tasks.transfer import Transfer

        http = self.task("http")
        assert isinstance(http, Http)
        return Transfer(http=http, folders=self.folders)

    def _save_postgres(self) -> Task:
        from noetl_mcp.tasks.postgres import Postgres
        from noetl_mcp.tasks.saves_sql import SavePostgres

        postgres = self.task("postgres")
        assert isinstance(postgres, Postgres)
        return SavePostgres(postgres=postgres)

    def _save_duckdb(self) -> Task:
        from noetl_mcp.tasks.duckdb import Duckdb
        from noetl_mcp.tasks.saves_sql import SaveDuckdb

        if self.saved is None:
            return SaveDuckdb(duckdb=Duckdb(folders=self.folders))
        folders = (*self.folders, self.saved.parent)
        return SaveDuckdb(duckdb=Duckdb(folders=folders), default=str(self.saved))

    def _save_file(self) -> Task:
        from noetl_mcp.tasks.file import File
        from noetl_mcp.tasks.saves import SaveFile

        file = self.task("file")
        assert isinstance(file, File)
        return SaveFile(file=file)

    def _save_http(self) -> Task:
        from noetl_mcp.tasks.http import Http
        from noetl_mcp.tasks.saves import SaveHttp

        http = self.task("http")
        assert isinstance(http, Http)
        return SaveHttp(http=http)

    def _save_python(self) -> Task:
        from noetl_mcp.tasks.python.task import Python
        from noetl_mcp.tasks.saves import SavePython

        python = self.task("python")
        assert isinstance(python, Python)
        return SavePython(python=python)

    async def close(self) -> None:
        """Let go of all of them."""
        for task in self.made.values():
            if task is not None:
                await task.close()
        self.made.clear()


__all__ = ["Bench"]
