"""The steps of a turn that speak: ask the model, round by round, and gather its answer.

What was said first stands in the result of the first model step, and each later round adds what its
own steps gave, so that any worker can go on with a conversation. Calls no tool.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import orjson

from noetl_mcp.broker.trees import Tree
from noetl_mcp.playbook.rendering.secret import Secret
from noetl_mcp.playbook.values import Duration
from noetl_mcp.queue.encode import encode
from noetl_mcp.queue.lease import State, Told
from noetl_mcp.tasks.calls import Call, Failed, UnknownOutcome
from noetl_mcp.tasks.models import gateway, openai
from noetl_mcp.tasks.models.fits import misfits
from noetl_mcp.tasks.models.said import (
    MOST_CALLS,
    Ask,
    BrokenOff,
    Message,
    NoAnswer,
    Offer,
    Said,
    added,
)
from noetl_mcp.tasks.models.streamed import whole
from noetl_mcp.tasks.specs_web import HttpSettings
from noetl_mcp.worker.caching import Question
from noetl_mcp.worker.faults import fault_of
from noetl_mcp.worker.fitting import fitted_value
from noetl_mcp.worker.masks import Mask, secrets_of
from noetl_mcp.worker.rendered import Rendered
from noetl_mcp.worker.settle import Kind, Work
from noetl_mcp.worker.step import Steps
from noetl_mcp.worker.turn_talk import Conversation
from noetl_mcp.worker.turn_writing import STREAM, Writing

_WIRES: Mapping[str, Any] = {"gateway": gateway, "openai": openai}
_ATTEMPTS, _FIRST_WAIT, _MOST_WAIT = 4, 1.0, 60.0
"""A model that is busy or away is asked so often, when the turn says nothing else."""
_BAD_ANSWER = "bad-answer"
"""The code of a model that is there: it is asked again only where the step says `retry`."""
_REFUSED = frozenset(("content_filter", "refusal"))
_CUT = frozenset(("length", "max_tokens"))


@dataclass(frozen=True, slots=True)
class _Reached:
    """How a model is reached."""

    url: str
    wire: Any
    headers: Mapping[str, str]
    auth: Mapping[str, Mapping[str, Any]]
    timeout: float | None
    named: str
    """The model, and the way to it where its address is a secret that no message shows."""


class Turns:
    """Does the steps `turn.model`, `turn` and `turn.result`."""

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.settler = steps.settler

    async def model(self, work: Work, rendered: Rendered) -> None:
        """Ask the model once; when its answer does not fit the schema, once more."""
        mask = Mask()
        if work.run.program.secret_names:
            mask.add(work.run.secrets)
        number, talk = int(rendered.settings["round"]), Conversation(work)
        asked = talk.begun(rendered) if number == 1 else talk.asked()
        try:
            preset = self._preset(work, asked["model"])
            ask = self._ask(work, asked, preset, number)
            cached = self._cached(work, rendered, ask)
            if cached is not None and await cached.is_answered():
                result = dict(cached.answer)
            else:
                result = await self._answered(work, rendered, ask, preset, mask)
                kept = mask.value(result)
                if cached is not None:
                    await cached.keep(kept, encode(kept), {})
        except (Failed, UnknownOutcome) as problem:
            self._not_answered(work, problem, mask)
            return
        if number == 1:
            result["asked"] = asked
        await self.steps.settle(work, mask.value(result), rendered.payload)

    async def answer(self, work: Work, rendered: Rendered) -> None:
        """Gather what a turn gave, over all its rounds."""
        talk = Conversation(work)
        rounds, asked = talk.rounds(), talk.asked()
        last = rounds[-1][0]
        calls = [
            {key: one[key] for key in ("name", "arguments", "result", "error") if key in one}
            for _, made in rounds
            for one in made
        ]
        said: Message = {"role": "assistant", "content": last["content"]}
        result: dict[str, Any] = {
            "content": last["content"],
            "tool_calls": calls,
            "messages": [*_opening(asked), *talk.messages(asked), said],
            "usage": added([one["usage"] for one, _ in rounds]),
            "finish_reason": last["finish_reason"],
            "rounds": len(rounds),
            "elapsed": round(sum(one["elapsed"] for one, _ in rounds), 3),
            "model": asked["model"],
        }
        if "output" in last:
            result["output"] = last["output"]
        await self.steps.settle(work, result, rendered.payload)

    async def placed(self, work: Work, rendered: Rendered) -> None:
        """Give the answer of a turn under the name of the step that places it."""
        turn = work.run.program.find(work.node.more["turn"])
        known = None if turn is None else Conversation(work).known(turn)
        await self.steps.settle(work, None if known is None else known.result, rendered.payload)

    # Asking

    def _cached(self, work: Work, rendered: Rendered, ask: Ask) -> Question | None:
        """Return the question, if what a model said to it before will do."""
        cache = self.steps.cache
        if cache is None or "cache" not in work.node.care:
            return None
        return cache.question(work, rendered, gateway.body(ask))

    def _ask(
        self, work: Work, asked: Mapping[str, Any], preset: Mapping[str, Any], number: int
    ) -> Ask:
        may_call = number <= asked["max_tool_rounds"]
        return Ask(
            preset.get("model") or asked["model"],
            asked["system"],
            Conversation(work).messages(asked),
            self._offers(work, asked["tools_allowed"]) if may_call else (),
            {**(preset.get("params") or {}), **asked["params"]},
            asked["output_schema"],
            preset.get("tool_calls") == "schema",
            asked.get("stream") is True,
        )

    async def _answered(
        self, work: Work, rendered: Rendered, ask: Ask, preset: Mapping[str, Any], mask: Mask
    ) -> dict[str, Any]:
        """Return what came of asking; an answer that does not fit is asked for once more."""
        reached = await self._reached(work, rendered, preset, mask)
        began = time.monotonic()
        said = await self._say(work, ask, reached, mask)
        usages = [said.usage]
        output: dict[str, Any] = {}
        if ask.schema is not None and not said.wanted:
            said, output = await self._fitting(work, ask, reached, said, usages, mask)
        if len(said.wanted) > MOST_CALLS:
            words = f"the model asks for {len(said.wanted):,} calls at once; {MOST_CALLS} are made"
            raise Failed("too-many-calls", f"{words} at most, so none was", retriable=False)
        if said.wanted and not ask.offers:
            words = "the model still asks for tools when its rounds are used up"
            raise Failed("tool-rounds-used-up", words, retriable=False)
        return {
            "content": said.content,
            "tool_calls": [one.as_json() for one in said.wanted],
            "usage": added(usages),
            "finish_reason": said.finish_reason,
            "elapsed": round(time.monotonic() - began, 3),
            **output,
        }

    async def _fitting(
        self,
        work: Work,
        ask: Ask,
        reached: _Reached,
        said: Said,
        usages: list[Mapping[str, Any]],
        mask: Mask,
    ) -> tuple[Said, dict[str, Any]]:
        """Return an answer that fits the schema, after one repair at most, and what it holds."""
        assert ask.schema is not None
        for is_last in (False, True):
            output, wrong = _read(said.content, ask.schema)
            if not wrong:
                return said, {"output": output}
            if is_last:
                break
            asks = f"That does not fit: {'; '.join(wrong)}. Answer once more, with JSON that does."
            again = [*ask.messages, said.message, {"role": "user", "content": asks}]
            said = await self._say(work, replace(ask, messages=again, offers=()), reached, mask)
            usages.append(said.usage)
        words = f"the answer does not fit the output schema: {'; '.join(wrong)}"
        raise Failed(
            "wrong-output", words, retriable=False, details={"content": said.content[:10_000]}
        )

    async def _say(self, work: Work, ask: Ask, reached: _Reached, mask: Mask) -> Said:
        """Send one request to the model and read what it says."""
        http = self.steps.task("http")
        if http is None:
            raise Failed("no-such-task", "this worker cannot reach models", retriable=False)
        self._tell(work, Kind.MODEL_CALLED, {"model": ask.model, "messages": len(ask.messages)})
        around = self.steps.caller.around(work, mask)
        settings = _posted(ask, reached)
        call = Call("http", settings, None, around, auth=reached.auth, timeout=reached.timeout)
        writing = Writing(partial(around.log, stream=STREAM), mask.secrets)
        if ask.is_streamed:
            call.heard = writing.heard
        work.begun = True
        try:
            answer = await http.execute(call)
        except (Failed, UnknownOutcome) as problem:
            problem.message = f"{reached.named}: {problem.message}"
            raise
        writing.end()
        try:
            data = answer["data"] if isinstance(answer, dict) else None
            if ask.is_streamed:
                data = whole(data if isinstance(data, str) else "")
            said: Said = reached.wire.read(data, ask)
        except NoAnswer as problem:
            words = f"{reached.named}: POST {reached.url}: {problem}"
            code = "broken-off" if isinstance(problem, BrokenOff) else _BAD_ANSWER
            raise Failed(code, words) from None
        if said.refusal is not None or said.finish_reason in _REFUSED:
            why = said.refusal or said.content or "it gives no reason"
            raise Failed("model-refused", f"the model refuses: {why[:1_000]}", retriable=False)
        if _is_cut(said, ask):
            words = "the answer was cut off before it was whole; raise 'max_tokens' in 'params'"
            raise Failed("answer-cut", words, retriable=False)
        heard = {"model": ask.model, "finish_reason": said.finish_reason, "usage": said.usage}
        self._tell(work, Kind.MODEL_ANSWERED, {**heard, "tool_calls": len(said.wanted)})
        return said

    def _preset(self, work: Work, name: str) -> dict[str, Any]:
        names = work.run.program.names
        preset = names.sections["models"].value.get(name, {})
        scope = names.outside(work.run.sight(work.node, work.item))
        found: dict[str, Any] = Tree(preset, None, holds="settings").render(scope)
        return found

    async def _reached(
        self, work: Work, rendered: Rendered, preset: Mapping[str, Any], mask: Mask
    ) -> _Reached:
        """Return where a model is; the gateway's token is sent to the gateway alone."""
        adapter = preset.get("adapter") or "gateway"
        wire = _WIRES[adapter]
        endpoint, headers = preset.get("endpoint"), {}
        auth: Mapping[str, Mapping[str, Any]] = {}
        secrets = work.run.world.secrets
        if not endpoint:
            gate = secrets.get("llm_gateway")
            if gate is None:
                raise Failed(
                    "no-model",
                    f"model '{preset.get('name')}' has no endpoint, and there is no gateway; set"
                    " NOETL_SECRET_LLM_GATEWAY, or an 'endpoint'",
                    retriable=False,
                )
            endpoint, token = gate, secrets.get("llm_token")
            if token is not None:
                mask.add([token.reveal()])
                headers = {"Authorization": f"Bearer {token.reveal()}"}
        if preset.get("auth") is not None:
            auth = await self.steps.credentials(work.run, work.node, preset["auth"])
            for one in auth.values():
                mask.add(secrets_of(one))
        if isinstance(endpoint, Secret):
            mask.add([endpoint.reveal()])
            endpoint = endpoint.reveal()
        timeout = rendered.timeout or preset.get("timeout")
        url = f"{str(endpoint).rstrip('/')}{wire.PATH}"
        way = "" if preset.get("endpoint") else ", through secrets.llm_gateway"
        named = f"model '{preset.get('name')}'{way}"
        timeout = fitted_value(Duration | None, timeout, "timeout", work.node.name)
        return _Reached(url, wire, headers, auth, timeout, named)

    def _offers(self, work: Work, allowed: Sequence[str]) -> tuple[Offer, ...]:
        tools = work.run.program.names.sections["tools"].value
        return tuple(
            Offer(
                name,
                str(tools[name].get("description") or ""),
                tools[name].get("input_schema") or {"type": "object"},
            )
            for name in allowed
            if name in tools
        )

    # When it does not answer

    def _not_answered(self, work: Work, problem: Failed | UnknownOutcome, mask: Mask) -> None:
        """Ask again later where that may help; asking costs, and changes nothing."""
        if isinstance(problem, UnknownOutcome):
            problem = Failed(problem.code, problem.message, details=problem.evidence)
        fault = mask.fault(fault_of(problem))
        lease, node = work.lease, work.node
        made = lease.attempt - lease.crashes
        is_in_vain = not fault.retriable or fault.code == _BAD_ANSWER or made >= _ATTEMPTS
        if "retry" in node.care or is_in_vain:
            self.steps.fail(work, fault)
            return
        wait = max(min(_FIRST_WAIT * 2 ** (made - 1), _MOST_WAIT), fault.retry_after or 0.0)
        error = fault.text(node, lease)
        self.settler.again(work, State.RETRYING, Kind.RETRY, delay=wait, error=error)

    def _tell(self, work: Work, kind: int, data: Mapping[str, Any]) -> None:
        lease = work.lease
        self.settler.engine.outbox.tell(Told(kind, *lease.key, lease.attempt, encode(data)))
        self.settler.engine.soon()


def _posted(ask: Ask, reached: _Reached) -> HttpSettings:
    """Return the request that asks a model; a stream is not packed, so that it can be shown."""
    streamed = ask.is_streamed
    return HttpSettings.model_validate(
        {
            "url": reached.url,
            "method": "POST",
            "json": {**reached.wire.body(ask), **(reached.wire.STREAMED if streamed else {})},
            "headers": {**reached.headers, **({"Accept-Encoding": "identity"} if streamed else {})},
            "response": "text" if streamed else "json",
            "follow_redirects": False,
        }
    )


def _is_cut(said: Said, ask: Ask) -> bool:
    """Whether an answer that had to be JSON ends in the middle; of a text its beginning will do."""
    return said.finish_reason in _CUT and not said.wanted and (ask.forced or ask.schema is not None)


def _opening(asked: Mapping[str, Any]) -> list[Message]:
    system = asked["system"]
    return [] if system is None else [{"role": "system", "content": system}]


def _read(content: str, schema: Mapping[str, Any]) -> tuple[Any, list[str]]:
    """Return what an answer holds, and what about it does not fit; a fence around it may be."""
    text = content.strip()
    if text.startswith("```") and text.endswith("```"):
        text = text[3:-3].removeprefix("json").strip()
    try:
        value = orjson.loads(text)
    except ValueError as broken:
        return None, [f"it is not JSON: {broken}"]
    return value, misfits(value, schema)


__all__ = ["Turns"]
