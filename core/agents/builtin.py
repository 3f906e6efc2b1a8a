"""The built-in agent: pydantic-ai, told as Turnback's events.

One step is one model request with the results of the calls that it made; it is told when all of them
exist. A call that needs an approval ends the library's run; the next run carries on with the answers,
in the same turn or after a restart. One object serves any number of turns at once: all that belongs to
a turn lives in its `_Turn`.

The library's scopes must be left in the task that entered them. So each generator here closes the one
that it reads from, rather than leave that to the loop, which closes what is dropped in a task of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, TypeAlias

import pydantic_ai
from pydantic_ai import DeferredToolRequests, DeferredToolResults, ModelRequestNode, Tool, ToolDenied
from pydantic_ai.exceptions import AgentRunError, ModelHTTPError, UserError
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
)
from pydantic_ai.models import Model
from pydantic_ai.run import AgentRun
from pydantic_ai.usage import RequestUsage, UsageLimits

from turnback.core.agents import compaction, dialect, history, pictures
from turnback.core.agents.failures import AgentFailed, failed
from turnback.core.agents.options import AgentOptions
from turnback.core.agents.pace import Pace
from turnback.core.agents.protocol import Context
from turnback.core.agents.tools import QUIET_TOOLS, tools_for
from turnback.core.agents.work import Work
from turnback.core.models import State
from turnback.core.text import well_formed

SYSTEM_PROMPT = (
    "You are a helpful assistant in a chat. Answer briefly and plainly. You have a workspace of files, a plan, a "
    "scratchpad, and a memory for facts. Every step of this conversation is saved: people can go back with /replay "
    "and /undo, and you can with undo_task."
)

TOOL_RETRIES = 3
"""How often a model may correct the arguments of a call."""

_NO_LIMITS = UsageLimits(request_limit=None)

Event: TypeAlias = Mapping[str, Any]
_Output: TypeAlias = str | DeferredToolRequests
_Run: TypeAlias = AgentRun[Work, _Output]


class PydanticAgent:
    """A chat agent on any model of pydantic-ai; see `protocol.Agent`."""

    def __init__(
        self,
        model: Model,
        options: AgentOptions | None = None,
        *,
        more_tools: Sequence[Tool[Work]] = (),
        summarise: compaction.Summarise | None = None,
    ) -> None:
        """`more_tools` are quiet ones beside the usual; `summarise` is the model's own unless given."""
        self._options = options or AgentOptions()
        self._summarise = summarise or compaction.by_model(model)
        self._model = model
        self._prompt = self._options.system_prompt or SYSTEM_PROMPT
        self._agent = pydantic_ai.Agent[Work, _Output](
            model,
            name="turnback",
            deps_type=Work,
            output_type=[str, DeferredToolRequests],
            tools=[*tools_for(self._options), *more_tools],
            retries={"tools": TOOL_RETRIES, "output": TOOL_RETRIES},
        )
        self._pace = Pace()
        self.quiet_tools = QUIET_TOOLS | {tool.name for tool in more_tools}

    async def run(self, state: State, text: str, context: Context) -> AsyncGenerator[Event, None]:
        """Answer `text`; raises AgentFailed when the model gives no answer."""
        turn = _Turn(state, context, self._model.model_name)
        await self._pace.turn()
        await self._look_at_files(turn)
        try:
            if self._options.max_context_tokens:
                await self._compact(turn, self._options.max_context_tokens)
            loaded = history.load(turn.stored)
            turn.begin(loaded.background, context.notes)
            async with aclosing(self._shown(turn, loaded.messages, well_formed(text))) as events:
                async for event in events:
                    yield event
        except (AgentRunError, UserError, UnicodeError) as error:
            raise failed(error) from error

    async def resume(
        self, state: State, approvals: Mapping[str, bool], context: Context
    ) -> AsyncGenerator[Event, None]:
        """Go on where a gate's state stood; a gate without an answer counts as denied."""
        turn = _Turn(state, context, self._model.model_name)
        loaded = history.load(turn.stored, waiting=True)
        calls = history.open_calls(loaded.messages)
        if not calls:
            raise AgentFailed("This turn cannot go on: nothing in it waits for an approval.")
        await self._look_at_files(turn, show=False)  # asked again it would run tools again: it must not be refused
        turn.go_on(loaded.background, context.notes, calls)
        try:
            async with aclosing(self._turn(turn, loaded.messages, None, _decided(calls, approvals))) as events:
                async for event in events:
                    yield event
        except (AgentRunError, UserError, UnicodeError) as error:
            raise failed(error) from error

    async def aclose(self) -> None:
        """Close the connections to the provider; the next turn would open new ones."""
        async with self._model:
            pass  # leaving the model closes the client that it owns

    async def _compact(self, turn: _Turn, limit: int) -> None:
        compacted = await compaction.compact(turn.stored, limit, self._summarise)
        if compacted is not None:
            turn.stored = compacted.messages
            turn.spend(compacted.usage, requests=int(compacted.usage.has_values()))

    async def _look_at_files(self, turn: _Turn, *, show: bool = True) -> None:
        """Have the model shown the pictures among the turn's files, or told that it cannot see them."""
        if files := turn.work.context.files:
            turn.pictures = await asyncio.to_thread(pictures.find_pictures, turn.work.context.workspace, files)
        if turn.pictures and not (show and self._model.profile.get("supports_image_input", True)):
            turn.close_eyes()

    async def _shown(self, turn: _Turn, messages: list[ModelMessage], text: str) -> AsyncGenerator[Event, None]:
        """A turn with its pictures; without them, should the model's server refuse those."""
        stored = turn.stored
        try:
            async with aclosing(self._turn(turn, messages, text, None)) as events:
                async for event in events:
                    yield event
        except ModelHTTPError as error:
            if not turn.pictures or turn.heard or not pictures.refused(error):
                raise
            turn.stored = stored
            turn.close_eyes()
            async with aclosing(self._turn(turn, messages, text, None)) as events:
                async for event in events:
                    yield event

    async def _turn(
        self, turn: _Turn, messages: list[ModelMessage], text: str | None, results: DeferredToolResults | None
    ) -> AsyncGenerator[Event, None]:
        """The library's runs of one turn: one, and another after each time that gates were answered."""
        while True:
            turn.seen = len(messages)
            async with self._agent.iter(
                None if text is None else pictures.prompt(text, turn.pictures),
                message_history=messages,
                deferred_tool_results=results,
                deps=turn.work,
                instructions="\n\n".join([self._prompt, *turn.told]),
                usage_limits=_NO_LIMITS,
            ) as run:
                async with aclosing(self._follow(run, turn)) as events:
                    async for event in events:
                        yield event
                output, messages = run.result.output if run.result else "", run.all_messages()
            if not isinstance(output, DeferredToolRequests):
                yield {"type": "done", "state": turn.state(), "text": turn.answer}
                return
            for call in output.approvals:
                yield {
                    "type": "gate",
                    "tool": call.tool_name,
                    "args": call.args_as_dict(),
                    "id": call.tool_call_id,
                    "state": turn.state(),
                }
            text, results = None, _decided(output.approvals, await turn.work.context.approvals())

    async def _follow(self, run: _Run, turn: _Turn) -> AsyncGenerator[Event, None]:
        """The events of one run up to its end or its gates."""
        async for node in run:
            if pydantic_ai.Agent.is_model_request_node(node):
                turn.absorb(run.all_messages(), node.request)
                for event in turn.finish_step():
                    yield event
                async with aclosing(self._request(node, run)) as texts:
                    async for text in texts:
                        for piece in turn.say(text):
                            yield {"type": "delta", "text": piece}
                turn.answered(run.all_messages()[-1])
            elif pydantic_ai.Agent.is_end_node(node):
                turn.absorb(run.all_messages())
                if not isinstance(node.data.output, DeferredToolRequests):
                    for event in turn.finish_step():
                        yield event

    async def _request(self, node: ModelRequestNode[Work, _Output], run: _Run) -> AsyncGenerator[str, None]:
        """Make a request; the texts of its response as they come."""
        await self._pace.turn()
        async with node.stream(run.ctx) as stream:
            async for event in stream:
                if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
                    yield well_formed(event.part.content)
                elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                    yield well_formed(event.delta.content_delta)


class _Turn:
    """What one turn has come to: the stored messages, the step in the making, the answer's pieces.

    Nothing that was given out is changed afterwards: each state has a list of messages of its own,
    over dicts that nobody touches again.
    """

    def __init__(self, state: State, context: Context, model_name: str) -> None:
        self._base = state
        self._model = model_name
        plan, scratchpad, cost = state.get("plan"), state.get("scratchpad"), state.get("cost")
        self.stored = dialect.stored_messages(state)
        self.work = Work(
            context=context,
            plan=tuple(item for item in plan if isinstance(item, Mapping)) if isinstance(plan, list) else (),
            scratchpad=scratchpad if isinstance(scratchpad, str) else "",
        )
        self._cost: dict[str, Any] = dict(cost) if isinstance(cost, dict) else {}
        self.seen = 0
        """How many of the run's messages are stored."""
        self.pictures: tuple[BinaryContent, ...] = ()
        """What the model is shown in this turn; no state holds it."""
        self.heard = False
        """Whether the model answered yet."""
        self.told: list[str] = []
        """What the model is told in this turn beside its messages: in one system message, as many servers want it."""
        self._tools: list[str] | None = None
        self._said: list[str] = []
        self._speaking = False

    def begin(self, background: str, notes: Sequence[str]) -> None:
        """A new turn: its notes are stored before it, and told with the background."""
        self.told += [text for text in (background, *map(well_formed, notes)) if text]
        self.stored += [dialect.marked(dialect.NOTE, note) for note in notes]

    def go_on(self, background: str, notes: Sequence[str], calls: Sequence[ToolCallPart]) -> None:
        """A turn that waited for `calls`, whose response is stored with all the calls that it made."""
        self.told += [text for text in (background, *map(well_formed, notes)) if text]
        self._tools = dialect.last_calls(self.stored) or [call.tool_name for call in calls]
        so_far = dialect.answer_so_far(self.stored)
        self._said = ["\n\n".join(so_far)] if so_far else []

    def close_eyes(self) -> None:
        """The model cannot see pictures."""
        self.pictures = ()
        self.told.append(pictures.UNSEEN)

    @property
    def answer(self) -> str:
        return "".join(self._said)

    def say(self, text: str) -> Iterator[str]:
        """The pieces to show for a piece of text: what a later response says is a paragraph of its own."""
        if not text:
            return
        if self._said and not self._speaking:
            text = "\n\n" + text
        self._speaking = True
        self._said.append(text)
        yield text

    def answered(self, message: ModelMessage) -> None:
        """A response is complete; its calls have yet to run."""
        assert isinstance(message, ModelResponse)
        self.heard = True
        self._speaking = False
        self._model = message.model_name or self._model
        self._tools = [call.tool_name for call in message.tool_calls]
        self.spend(message.usage)

    def absorb(self, messages: Sequence[ModelMessage], request: ModelRequest | None = None) -> None:
        """Store what is new in the run: its messages, and the request that is about to be made."""
        new = [*messages[self.seen :], *([request] if request else [])]
        self.seen += len(new)
        self.stored = [*self.stored, *history.dump([pictures.without_pictures(m, self.pictures) for m in new])]

    def finish_step(self) -> Iterator[Event]:
        """The step that all results are there for, if there is one."""
        if self._tools is not None:
            yield {"type": "step", "state": self.state(), "model": self._model, "tools": self._tools}
            self._tools = None

    def spend(self, usage: RequestUsage, requests: int = 1) -> None:
        """Add a request's usage to the state's `cost`."""
        added: dict[str, int | float] = {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "requests": requests,
            "usd": float(usage.cost or 0),
        }
        self._cost = {**self._cost, **{key: _number(self._cost.get(key)) + value for key, value in added.items()}}

    def state(self) -> State:
        """The state now, as a value of its own."""
        routing = self._base.get("routing")
        return {
            **self._base,
            "messages": list(self.stored),
            "plan": [dict(item) for item in self.work.plan],
            "scratchpad": self.work.scratchpad,
            "routing": {**(routing if isinstance(routing, dict) else {}), "model": self._model},
            "cost": dict(self._cost),
        }


def _decided(calls: Sequence[ToolCallPart], answers: Mapping[str, bool]) -> DeferredToolResults:
    approvals: dict[str, bool | ToolDenied] = {
        call.tool_call_id: True
        if answers.get(call.tool_call_id)
        else ToolDenied(message=f"denied: {call.tool_name} was not allowed and did not run")
        for call in calls
    }
    return DeferredToolResults(approvals=dict(approvals))


def _number(value: object) -> int | float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0
