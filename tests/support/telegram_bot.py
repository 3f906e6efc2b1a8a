"""Turnback on Telegram in this process: the whole service with its demo agent, and the real library."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from platforms.telegram.chats import Chat, Topic
from platforms.telegram.people import User
from platforms.telegram.server import TelegramServer

from support.idling import idle
from turnback.bots.desk import Desk
from turnback.bots.dispatch import Dispatch
from turnback.bots.people import PlatformPeople
from turnback.bots.platform import Adapter
from turnback.bots.presenting import Presenter
from turnback.bots.supervising import supervise
from turnback.bots.telegram import TelegramAdapter
from turnback.bots.telegram.pacing import Limits, Pacer
from turnback.bots.windows import Limit
from turnback.core.agents.load import load_agent
from turnback.core.agents.options import AgentOptions, ShellMode
from turnback.core.agents.protocol import Agent
from turnback.core.models import Surface, ThreadId
from turnback.core.policy import Access, TimeTravel
from turnback.core.service import Turnback, open_service
from turnback.web.guard import Site

HASTY = Limits(**dict.fromkeys(("chat", "group", "group_edits", "everywhere"), Limit(1000, 0.1)))
"""For a server that does not count: tests write faster than people."""

PAGE = "http://127.0.0.1:8765"


@dataclass(frozen=True, kw_only=True)
class Bot:
    """A running bot, and what it stands on."""

    service: Turnback
    desk: Desk
    presenter: Presenter
    adapter: TelegramAdapter

    async def thread(self, place: int | str) -> ThreadId:
        """The thread that a place talks into."""
        found = await self.service.threads.bound(Surface.TELEGRAM, str(place))
        assert found is not None, f"{place} talks into no thread"
        return found

    async def texts(self, place: int | str) -> list[str]:
        """The transcript of a place's thread."""
        rows = await self.service.threads.transcript(await self.thread(place))
        return [row.text for row, _ in rows]

    async def steps(self, place: int | str) -> int:
        """How many steps of a place's thread are kept."""
        thread_id = await self.thread(place)
        usage = (await self.service.steps.usage([thread_id])).get(thread_id)
        return usage.steps if usage else 0


@asynccontextmanager
async def telegram_bot(
    folder: Path,
    telegram: TelegramServer,
    *,
    agent: Agent | None = None,
    allow: Sequence[str] = ("telegram:*",),
    admins: Sequence[str] = (),
    access: Access = Access(),
    policy: TimeTravel = TimeTravel(),
    after_restore: Literal["keep", "delete"] = "keep",
    **options: Any,
) -> AsyncIterator[Bot]:
    """Run one until the block ends. `options` are the adapter's."""
    agent = agent or load_agent("demo", AgentOptions(shell=ShellMode.UNCONFINED))
    async with open_service(folder, agent=agent, access=access, policy=policy, maintain=False) as service:
        presenter = Presenter(service, after_restore=lambda: after_restore)
        people = PlatformPeople(service, admins=lambda: admins, allow=lambda: allow)
        dispatch = Dispatch(service, policy=lambda: policy, links=Site(public_url=PAGE))
        desk = Desk(service, dispatch, people=people, presenter=presenter)
        adapter = TelegramAdapter(
            telegram.token, service.threads, api_base_url=telegram.base_url, **{"pacer": Pacer(HASTY), **options}
        )
        async with _running(service, desk, presenter, adapter):
            yield Bot(service=service, desk=desk, presenter=presenter, adapter=adapter)


@asynccontextmanager
async def _running(service: Turnback, desk: Desk, presenter: Presenter, adapter: Adapter) -> AsyncIterator[None]:
    showing = asyncio.create_task(presenter.run())
    working = asyncio.create_task(supervise(adapter, service, desk, presenter))
    try:
        async with asyncio.timeout(10):
            await presenter.connected(adapter.name)
        yield
    finally:
        for task in (working, showing):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def talk(bot: Bot, user: User, *texts: str, chat: Chat | None = None, topic: Topic | None = None) -> None:
    """Say things, in a group to the bot by its name, each when the one before is answered; in the end no turn runs."""
    for text in texts:
        await user.say(f"@turnback_bot {text}" if chat else text, chat, topic=topic)
        await (chat or user.private).seen(f"You said: {text}", topic=topic)
    await idle(bot)
