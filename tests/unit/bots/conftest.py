"""A real service with a small agent, and a chat in it that one can speak into."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from support.hall import Hall, hall

from turnback.bots.commands import Command, Misused, Unknown
from turnback.bots.dispatch import Dispatch
from turnback.bots.grammar import parse
from turnback.bots.places import Place
from turnback.bots.replies import Reply
from turnback.core.models import Actor, Surface, ThreadId
from turnback.core.policy import TimeTravel
from turnback.core.service import Turnback, open_service

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@dataclass
class Clock:
    """A clock that stands still until it is moved."""

    now: datetime = START

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **span: float) -> None:
        self.now += timedelta(**span)


@dataclass
class Ids:
    """Random ids, with a common beginning if the test wants one."""

    prefix: str = ""

    def __call__(self) -> str:
        return self.prefix + uuid4().hex[len(self.prefix) :]


class Parrot:
    """Says everything back; each word `tool` of the message is one step with a tool call before that."""

    quiet_tools = frozenset({"look"})

    async def run(self, state: dict[str, Any], text: str, context: Any) -> AsyncIterator[Mapping[str, Any]]:
        messages = [*state.get("messages", []), {"role": "user", "content": text}]
        if text.startswith("remember "):
            await context.remember(text.removeprefix("remember "))
        for n, word in enumerate(w for w in text.split() if w in ("tool", "look")):
            call = {
                "id": f"c{len(messages)}",
                "type": "function",
                "function": {"name": word, "arguments": f'{{"n":{n}}}'},
            }
            messages += [
                {"role": "assistant", "content": "", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": call["id"], "content": "ok"},
            ]
            yield {"type": "step", "state": {"messages": list(messages)}, "model": "parrot", "tools": [word]}
        if text == "ask":
            yield {"type": "gate", "tool": "launch", "args": {"what": "it"}}
            await context.approvals()
        messages.append({"role": "assistant", "content": f"You said: {text}"})
        final = {"messages": messages, "cost": {"tokens": len(messages)}}
        yield {"type": "step", "state": final, "model": "parrot", "tools": []}
        yield {"type": "done", "state": final, "text": f"You said: {text}"}


class Settings:
    """What the command line hands in, small."""

    def __init__(self) -> None:
        self.days = 30

    def rows(self) -> list[dict[str, Any]]:
        return [
            {"key": "time_travel.retention_days", "running": self.days, "help": "days"},
            {"key": "web.port", "running": 1, "help": ""},
        ]

    async def change_text(self, actor: Actor, name: str, text: str) -> dict[str, Any]:
        assert actor.admin
        assert name == "time_travel.retention_days"
        self.days = int(text)
        return self.rows()[0]


class Page:
    """Where the page would be."""

    def thread_url(self, thread_id: ThreadId) -> str:
        return f"http://page/chats/{thread_id}"

    def steps_url(self, thread_id: ThreadId) -> str:
        return f"http://page/replay?thread={thread_id}"

    def sign_in_url(self, link: str) -> str:
        return f"http://page/login?token={link}"


@dataclass
class Chat:
    """A person's chat: say something to the agent, or ask the time machine."""

    app: Turnback
    dispatch: Dispatch
    actor: Actor
    thread: ThreadId
    clock: Clock
    settings: Settings
    new_id: Ids
    policies: list[TimeTravel] = field(default_factory=list)

    @property
    def place(self) -> Place:
        return Place(surface=Surface.API, thread_id=self.thread)

    async def say(self, *texts: str) -> None:
        for text in texts:
            self.clock.forward(minutes=1)
            await self.app.turns.ask(self.actor, self.thread, text)

    async def ask(self, text: str, *, actor: Actor | None = None, place: Place | None = None) -> Reply:
        parsed = parse(text)
        assert isinstance(parsed, Command | Unknown | Misused)
        return await self.dispatch.dispatch(actor or self.actor, place or self.place, parsed)

    async def press(self, reply: Reply, label: str, *, actor: Actor | None = None) -> Reply:
        (command,) = [b.command for b in reply.buttons if b.label.startswith(label)]
        assert command is not None
        return await self.ask(command, actor=actor)

    async def ids(self) -> list[str]:
        return [s.step.id for s in (await self.app.rewind.list_steps(self.actor, self.thread)).steps]

    async def said(self) -> list[str]:
        return [row.text for row, _ in await self.app.rewind.transcript(self.actor, self.thread) if row.role == "user"]

    async def another(self, name: str, *, admin: bool = False) -> Actor:
        account = await self.app.people.ensure_account(name, admin=admin)
        return Actor(account=account.id, surface=Surface.API, name=name, admin=admin)

    def set_policy(self, **changes: Any) -> None:
        self.policies[0] = replace(self.policies[0], **changes)


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Chat]:
    clock, settings, new_id, policies = Clock(), Settings(), Ids(), [TimeTravel()]
    async with open_service(
        tmp_path, agent=Parrot(), policy=lambda: policies[0], maintain=False, clock=clock, new_id=new_id
    ) as app:
        account = await app.people.ensure_account("ana")
        actor = Actor(account=account.id, surface=Surface.API, name="ana")
        thread = await app.rewind.create_thread(actor, "Talk")
        dispatch = Dispatch(app, policy=lambda: policies[0], links=Page(), settings=settings, clock=clock)
        yield Chat(app, dispatch, actor, thread.id, clock, settings, new_id, policies)


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hall]:
    """A whole house with a platform in memory."""
    async with hall(tmp_path) as opened:
        yield opened
