"""A small agent, a clock that the test moves, settings, and people."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from turnback.core.agents.protocol import Context
from turnback.core.models import AccountId, Actor, State, Surface
from turnback.core.policy import TimeTravel


class Scripted:
    """An agent that keeps OpenAI-style messages and does what its text says.

    `steps N` calls the quiet tool `note` N times; `act WHAT` calls `send_mail`, whose effect stays;
    `set KEY VALUE` writes a key of the state; anything else is answered at once.
    """

    quiet_tools = frozenset({"note"})

    async def run(self, state: State, text: str, context: Context) -> AsyncIterator[Mapping[str, Any]]:
        word, _, rest = text.partition(" ")
        state = {**state, "messages": [*state.get("messages", []), {"role": "user", "content": text}]}
        if word == "steps":
            for number in range(int(rest)):
                state = _called(state, "note", {"n": number})
                yield {"type": "step", "state": state, "model": "scripted", "tools": ["note"]}
        if word == "act":
            state = _called(state, "send_mail", {"to": rest})
            yield {"type": "step", "state": state, "model": "scripted", "tools": ["send_mail"]}
        if word == "set":
            key, _, value = rest.partition(" ")
            state = {**state, key: value}
        if word == "remember":
            await context.remember(rest)
        answer = f"said {text}"
        state = {**state, "messages": [*state["messages"], {"role": "assistant", "content": answer}]}
        yield {"type": "delta", "text": answer}
        yield {"type": "step", "state": state, "model": "scripted"}
        yield {"type": "done", "state": state, "text": answer}


def _called(state: State, tool: str, args: dict[str, Any]) -> State:
    call = {"id": f"c{len(state['messages'])}", "type": "function", "function": {"name": tool, "arguments": args}}
    asked = {"role": "assistant", "content": "", "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": call["id"], "content": "ok"}
    return {**state, "messages": [*state["messages"], asked, result]}


@dataclass
class Clock:
    """Time that passes when the test says so, and a millisecond at each look."""

    now: datetime = field(default_factory=lambda: datetime(2026, 3, 1, 12, tzinfo=UTC))

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now

    def advance(self, **by: float) -> None:
        self.now += timedelta(**by)


@dataclass
class Ids:
    """Random ids, or ones that begin with `prefix` when the test sets it."""

    prefix: str = ""

    def __call__(self) -> str:
        return (self.prefix + uuid4().hex)[:32]


@dataclass
class Rules:
    """The time travel settings, as the test sets them."""

    value: TimeTravel = field(default_factory=TimeTravel)

    def __call__(self) -> TimeTravel:
        return self.value


ANN = Actor(account=AccountId("a" * 32), surface=Surface.API, name="Ann")
BOB = Actor(account=AccountId("b" * 32), surface=Surface.API, name="Bob")
ROOT = Actor(account=AccountId("c" * 32), surface=Surface.API, name="Root", admin=True)
