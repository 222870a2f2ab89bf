"""Start executions: check what they are given, decide what they begin with, write it down once.

Refuses a payload that does not fit before anything is written.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from noetl_mcp.broker.asked import Asked, SecretLeft, plain
from noetl_mcp.broker.program import Program
from noetl_mcp.broker.records import Begin, Context, Key, Records
from noetl_mcp.broker.route import Routed, begin
from noetl_mcp.broker.run import Run, World
from noetl_mcp.broker.variables import variables
from noetl_mcp.compiler.payload import Problem, check_payload, templated
from noetl_mcp.playbook.rendering.render import RenderError
from noetl_mcp.playbook.rendering.secret import MASK
from noetl_mcp.queue.encode import NotJson, encode
from noetl_mcp.queue.lease import State
from noetl_mcp.tasks.calls import Failed

MOST_AT_ONCE = 1_000
CHILD_KEY = "child:"
"""What the keys of executions begin with that a step of another one started."""
_UNKNOWN_YET = frozenset({"execution_id", "job"})
ReadProgram = Callable[[Records, int], Program]


class WrongPayload(Exception):
    """What an execution is given does not fit its playbook; nothing was started."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(problem.text for problem in problems))
        self.problems = list(problems)


class Starts:
    """Starts executions through one connection."""

    def __init__(self, records: Records, world: World | None = None) -> None:
        self.records = records
        self.world = world or World()

    def lanes(self, program: Program, priority: int) -> list[int]:
        """Return the number of each step's lane, for executions of a priority."""
        found = program.lanes.get(priority)
        if found is None:
            wanted = [node.lane.moved(priority) for node in program.nodes]
            numbers = self.records.lanes(wanted)
            found = program.lanes[priority] = [numbers[lane] for lane in wanted]
        return found

    def workload(self, program: Program, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Return the workload of an execution; raise WrongPayload when the payload does not fit."""
        inputs = program.plan["inputs"]
        workload, problems = check_payload(inputs, payload)
        if problems:
            raise WrongPayload(problems)
        if names := templated(inputs, payload):
            given = {name: value for name, value in workload.items() if name not in names}
            sight = self._run(program, workload).sight(program.nodes[0], 0)
            try:
                workload = dict(variables(program.plan, program.renderers, given, sight))
                plain(workload)
            except (RenderError, SecretLeft) as problem:
                raise WrongPayload([Problem("template", (), str(problem))]) from None
            workload, problems = check_payload(inputs, workload)
            if problems:
                raise WrongPayload(problems)
        return workload

    def prepare(
        self,
        program: Program,
        payload: Mapping[str, Any],
        *,
        version: int | None = None,
        priority: int = 0,
        **said: Any,
    ) -> Begin:
        """Return an execution ready to be started."""
        workload = self.workload(program, payload)
        try:
            text = self.records.keep(encode(workload))
        except NotJson as problem:
            raise WrongPayload([Problem("not-json", (), str(problem))]) from None
        run = self._run(program, workload)
        routed = self._begun(program, run)
        lanes = self.lanes(program, priority)
        over = bool(routed.reached) and not program.finals
        timeout = program.plan["options"].get("timeout")
        if routed.reached and program.finals:
            routed.begun += program.finals
        return Begin(
            program.plan_id,
            text,
            program.path,
            version,
            _rows(program, routed, lanes, self.records.keep),
            priority=priority,
            timeout=float(timeout) if isinstance(timeout, (int, float)) else None,
            over=over,
            result=self.records.keep(encode(run.result())) if over else None,
            told=_told(program, workload),
            **said,
        )

    def start(self, begins: Sequence[Begin]) -> list[tuple[int, bool]]:
        """Start executions, many in one transaction; return their numbers, and which are new."""
        found: list[tuple[int, bool]] = []
        for at in range(0, len(begins), MOST_AT_ONCE):
            found += self.records.start(begins[at : at + MOST_AT_ONCE])
        return found

    def child(
        self,
        read: ReadProgram,
        path: str,
        version: int | str | None,
        payload: Mapping[str, Any],
        *,
        parent: Key,
        key: str,
        priority: int,
        pins: str | None = None,
        labels: str | None = None,
    ) -> int:
        """Start a child of a step; the same key gives the same child."""
        wanted = int(version) if version not in (None, "latest") else None
        found = self.records.playbook(path, wanted)
        if found is None:
            what = f"playbook '{path}'" + (f" version {wanted}" if wanted else "")
            raise Failed("no-such-playbook", f"{what} is not in the catalog", retriable=False)
        plan, number = found
        program = read(self.records, plan)
        try:
            one = self.prepare(
                program,
                payload,
                version=number,
                priority=priority,
                parent=parent,
                key=key,
                pins=pins,
                labels=labels,
            )
        except WrongPayload as problem:
            said = f"playbook '{path}' does not take this: {problem}"
            raise Failed("wrong-payload", said, retriable=False) from None
        return self.start([one])[0][0]

    def _run(self, program: Program, workload: Mapping[str, Any]) -> Run:
        return Run(program, Context(0, program.plan_id, None), workload, [], self.world)

    def _begun(self, program: Program, run: Run) -> Routed:
        """Pass what has no body; what cannot be asked yet is left to a worker."""
        asked = Asked(run, program.nodes[0], 0, None)
        names = {name for one in program.plan["templates"] for name in one.get("names", ())}
        if names & _UNKNOWN_YET:
            return Routed(begun=list(program.entries))
        try:
            routed = begin(program, program.entries, asked)
            if routed.reached:
                encode(run.result())
            return routed
        except (RenderError, NotJson):
            return Routed(begun=list(program.entries))


def _told(program: Program, workload: Mapping[str, Any]) -> str | None:
    """Return the workload with its secrets masked; None when it has none."""
    if not program.secret_names:
        return None
    return encode({k: MASK if k in program.secret_names else v for k, v in workload.items()})


def _rows(
    program: Program, routed: Routed, lanes: Sequence[int], keep: Callable[[str], str]
) -> list[tuple[int, int, int, int, int, int, str | None, str | None]]:
    """Return the rows of the steps that an execution begins with."""
    found: list[tuple[int, int, int, int, int, int, str | None, str | None]] = []
    for passed in routed.passed:
        idx = passed.node.idx
        result = None if passed.result is None else keep(encode(passed.result))
        extra = encode(passed.extra) if passed.extra else None
        waits = passed.node.waits_signed
        found.append((idx, passed.state, lanes[idx], waits, 0, 1, result, extra))
    for idx, (n, live) in routed.tokens.items():
        node = program.nodes[idx]
        toward = node.waits - n
        is_ready = toward <= 0 or (node.waits_signed < 0 and live > 0)
        state = State.READY if is_ready else State.WAITING
        found.append((idx, state, lanes[idx], node.waits_signed, toward, live, None, None))
    for idx in routed.begun:
        waits = program.nodes[idx].waits_signed
        found.append((idx, State.READY, lanes[idx], waits, 0, 1, None, None))
    return found


__all__ = ["CHILD_KEY", "MOST_AT_ONCE", "ReadProgram", "Starts", "WrongPayload"]
