"""Turnback on Slack in this process: the whole service with its demo agent, and the real library."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml  # type: ignore[import-untyped]
from platforms.slack.server import SlackServer

from turnback.bots.desk import Desk
from turnback.bots.dispatch import Dispatch
from turnback.bots.people import PlatformPeople
from turnback.bots.platform import Adapter
from turnback.bots.presenting import Presenter
from turnback.bots.slack import SlackAdapter
from turnback.bots.slack.pacing import Limits, Pacer
from turnback.bots.supervising import supervise
from turnback.bots.windows import Limit
from turnback.core.agents.load import load_agent
from turnback.core.agents.options import AgentOptions, ShellMode
from turnback.core.agents.protocol import Agent
from turnback.core.models import Surface, ThreadId
from turnback.core.policy import Access, TimeTravel
from turnback.core.service import Turnback, open_service
from turnback.web.guard import Site

HASTY = Limits(channel=Limit(1000, 0.1), edits=Limit(1000, 0.1), whispers=Limit(1000, 0.1))
"""For a server that does not count: tests write faster than people."""

PING_SECONDS = 0.3
PAGE = "http://127.0.0.1:8765"

MANIFEST_FILE = Path(__file__).parents[2] / "bots" / "slack" / "manifest.yaml"


def manifest() -> Any:
    """Our own."""
    return yaml.safe_load(MANIFEST_FILE.read_text())


def server(**options: Any) -> SlackServer:
    """A workspace that our app is installed in by its manifest."""
    return SlackServer(**{"manifest": manifest(), "rates": "off", **options})


@dataclass(frozen=True, kw_only=True)
class Bot:
    """A running bot, and what it stands on."""

    service: Turnback
    desk: Desk
    presenter: Presenter
    adapter: SlackAdapter
    team: str

    async def find(self, *place: str) -> ThreadId | None:
        """The thread that a channel, or a thread in it, talks into."""
        return await self.service.threads.bound(Surface.SLACK, "/".join((self.team, *place)))

    async def thread(self, *place: str) -> ThreadId:
        found = await self.find(*place)
        assert found is not None, f"{place} talks into no thread"
        return found

    async def texts(self, *place: str) -> list[str]:
        """The transcript of a place's thread."""
        rows = await self.service.threads.transcript(await self.thread(*place))
        return [row.text for row, _ in rows]


@asynccontextmanager
async def slack_bot(
    folder: Path,
    slack: SlackServer,
    *,
    agent: Agent | None = None,
    allow: Sequence[str] = ("slack:*",),
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
        adapter = SlackAdapter(
            slack.bot_token, service.threads, **{**defaults(slack), "allow": lambda: allow, **options}
        )
        async with _running(service, desk, presenter, adapter):
            yield Bot(service=service, desk=desk, presenter=presenter, adapter=adapter, team=slack.app.team)


def defaults(slack: SlackServer) -> Mapping[str, Any]:
    """How an adapter reaches a server here."""
    return {
        "app_token": slack.app_token,
        "api_base_url": slack.base_url,
        "pacer": Pacer(HASTY),
        "ping_seconds": PING_SECONDS,
    }


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
