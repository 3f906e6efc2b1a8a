"""Turnback on Discord in this process: the whole service with its demo agent, and the real library."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from platforms.discord.channels import Channel
from platforms.discord.server import DiscordServer

from turnback.bots.desk import Desk
from turnback.bots.discord import DiscordAdapter
from turnback.bots.discord.pacing import Pacer
from turnback.bots.dispatch import Dispatch
from turnback.bots.people import PlatformPeople
from turnback.bots.platform import Adapter
from turnback.bots.presenting import Presenter
from turnback.bots.supervising import supervise
from turnback.bots.windows import Limit
from turnback.core.agents.load import load_agent
from turnback.core.agents.options import AgentOptions, ShellMode
from turnback.core.agents.protocol import Agent
from turnback.core.models import Surface, ThreadId
from turnback.core.policy import Access, TimeTravel
from turnback.core.service import Turnback, open_service
from turnback.web.guard import Site

HASTY = Limit(1000, 0.1)
"""For a server that does not count: tests write faster than people."""

PAGE = "http://127.0.0.1:8765"


@dataclass(frozen=True, kw_only=True)
class Bot:
    """A running bot, and what it stands on."""

    service: Turnback
    desk: Desk
    presenter: Presenter
    adapter: DiscordAdapter

    async def thread(self, channel: Channel) -> ThreadId:
        """The thread that a channel talks into."""
        found = await self.service.threads.bound(Surface.DISCORD, channel.id)
        assert found is not None, f"{channel} talks into no thread"
        return found

    async def texts(self, channel: Channel) -> list[str]:
        """The transcript of a channel's thread."""
        rows = await self.service.threads.transcript(await self.thread(channel))
        return [row.text for row, _ in rows]

    async def turns(self, channel: Channel) -> int:
        """How many turns a channel's thread had."""
        view = await self.service.threads.view(await self.thread(channel))
        return len(view.turns) if view is not None else 0


@asynccontextmanager
async def discord_bot(
    folder: Path,
    discord: DiscordServer,
    *,
    agent: Agent | None = None,
    allow: Sequence[str] = ("discord:*",),
    admins: Sequence[str] = (),
    access: Access = Access(),
    policy: TimeTravel = TimeTravel(),
    after_restore: Literal["keep", "delete"] = "keep",
    connected: bool = True,
    **options: Any,
) -> AsyncIterator[Bot]:
    """Run one until the block ends. `options` are the adapter's. `connected`: wait until it is."""
    agent = agent or load_agent("demo", AgentOptions(shell=ShellMode.UNCONFINED))
    async with open_service(folder, agent=agent, access=access, policy=policy, maintain=False) as service:
        presenter = Presenter(service, after_restore=lambda: after_restore)
        people = PlatformPeople(service, admins=lambda: admins, allow=lambda: allow)
        dispatch = Dispatch(service, policy=lambda: policy, links=Site(public_url=PAGE))
        desk = Desk(service, dispatch, people=people, presenter=presenter)
        adapter = DiscordAdapter(
            discord.token, service.threads, **{"pacer": Pacer(HASTY), "allow": lambda: allow, **options}
        )
        async with _running(service, desk, presenter, adapter, connected=connected):
            yield Bot(service=service, desk=desk, presenter=presenter, adapter=adapter)


@asynccontextmanager
async def _running(
    service: Turnback, desk: Desk, presenter: Presenter, adapter: Adapter, *, connected: bool
) -> AsyncIterator[None]:
    showing = asyncio.create_task(presenter.run())
    working = asyncio.create_task(supervise(adapter, service, desk, presenter))
    try:
        if connected:
            async with asyncio.timeout(10):
                await presenter.connected(adapter.name)
        yield
    finally:
        for task in (working, showing):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
