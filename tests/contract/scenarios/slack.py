"""Slack as a driver: the adapter with its real library over real HTTP and WebSocket, against a simulated workspace.

A group is a thread of a channel, as people use Slack; somebody else has begun it. Where slash commands cannot be
typed, in threads, people type `!replay`. After every scenario no rule of the platform may have been broken.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from contract.scenarios.driver import WAIT_SECONDS, Driver, Feature, Setup, Shown, Wanted, fits
from contract.scenarios.house import House
from platforms.slack.channels import Channel, Message
from platforms.slack.deliveries import Delivery
from platforms.slack.people import User
from platforms.slack.server import SlackServer
from support.slack_bot import defaults, server

from turnback.bots.platform import Adapter
from turnback.bots.slack import SlackAdapter
from turnback.cli.compose import Composed

FEATURES = frozenset(Feature) - {Feature.REPLIES, Feature.NAMES, Feature.SINGLE}
"""Slack's messages answer none (its shortcuts do that), its commands belong to one app, and threads are everywhere."""


@dataclass(frozen=True)
class Seen:
    """A message of the bot."""

    native: Message

    @property
    def text(self) -> str:
        data = self.native.data
        return data.decode() if data is not None else self.native.text

    @property
    def buttons(self) -> Sequence[str]:
        options = [option["text"]["text"] for menu in self.native.selects for option in menu["options"]]
        return [*(button.text for button in self.native.buttons), *options]

    @property
    def links(self) -> Sequence[str]:
        return [button.url for button in self.native.buttons if button.url]

    @property
    def answers(self) -> str | None:
        return None


@dataclass(eq=False, kw_only=True)
class Spot:
    """A place, and what the bot had said there when something was last done there."""

    channel: Channel
    thread: Message | None = None
    before: dict[str, tuple[object, ...]] = field(default_factory=dict)

    @property
    def group(self) -> bool:
        return self.channel.kind != "im"


class SlackDriver:
    """One person at one place on Slack."""

    features = FEATURES
    bot_name = ""

    def __init__(self, world: World, user: User, spot: Spot) -> None:
        self._world, self._slack, self._user, self._spot = world, world.slack, user, spot
        self._wrote: Message | None = None

    async def say(self, text: str) -> None:
        self._act()
        mention = f"@{self._slack.app.manifest.username} " if self._spot.group else ""
        await self._write(f"{mention}{text}")

    async def command(self, text: str) -> None:
        self._act()
        if self._spot.thread is not None:
            await self._write(text.replace("/", "!", 1))
        elif self._world.away:
            await self._write(f" {text}")  # as a message, which waits: nobody is there to take a slash command
        elif text.split(" ", maxsplit=1)[0] in self._slack.app.manifest.commands:
            await self._user.command(text, self._spot.channel)
        else:
            await self._write(text)

    async def remark(self, text: str) -> None:
        self._act()
        await self._write(text)

    async def reply(self, message: Shown, text: str) -> None:
        raise NotImplementedError

    async def edit(self, text: str) -> None:
        self._act()
        assert self._wrote is not None
        await self._user.edit(self._wrote, text)

    async def press(self, label: str, message: Shown | None = None, *, word: str | None = None) -> None:
        shown = message or next(s for s in reversed(self._said()) if any(label in text for text in s.buttons))
        assert isinstance(shown, Seen)
        self._act()
        if any(label in button.text for button in shown.native.buttons):
            await self._user.press(shown.native.button(label))
        else:
            await self._user.select(label, shown.native)
        if word is not None:
            view = await self._user.modal()
            await self._user.submit({view["blocks"][0]["element"]["action_id"]: word})

    async def redeliver(self) -> None:
        self._act()
        self._slack.redeliver(next(d for d in reversed(self._slack.deliveries.history) if self._is_mine(d)))

    async def seen(self, wanted: Wanted) -> Shown:
        def look() -> Seen | None:
            return next((shown for shown in self._new() if fits(shown, wanted)), None)

        what = lambda: f"{wanted!r} among {[s.text[:200] for s in self._said()][-6:]}"  # noqa: E731
        return await self._slack.signal.until(look, what, WAIT_SECONDS)

    async def seen_privately(self, wanted: Wanted) -> Shown:
        shown = await self.seen(wanted)
        assert isinstance(shown, Seen)
        assert not self._spot.group or shown.native.only_for == self._user.id
        return shown

    async def answers(self) -> Sequence[Shown]:
        await self._slack.deliveries.settled(WAIT_SECONDS)
        await self._slack.signal.settled(0.15)
        return self._new()

    async def gone(self, message: Shown) -> None:
        assert isinstance(message, Seen)
        await self._spot.channel.gone(message.native, seconds=WAIT_SECONDS)

    async def as_(self, name: str) -> Driver:
        if not self._spot.group:
            return await self._world.person(name)
        return SlackDriver(self._world, self._world.user(name), self._spot)

    async def group(self, title: str, *others: str, admin: str | None = None, topics: bool = False) -> Driver:
        names = dict.fromkeys([*([admin] if admin else []), self._user.name, *others, "Opener"])
        channel = self._slack.channel(title.lower(), [self._world.user(name) for name in names])
        return await self._thread(channel, title)

    async def topic(self, title: str) -> Driver:
        return await self._thread(self._spot.channel, title)

    async def opened(self, title: str) -> Driver:
        def look() -> Message | None:
            roots = [m for m in self._spot.channel.said() if m.thread_ts is None and title in m.text]
            return roots[-1] if roots else None

        root = await self._slack.signal.until(look, lambda: f"a thread {title!r}", WAIT_SECONDS)
        return SlackDriver(self._world, self._user, Spot(channel=self._spot.channel, thread=root))

    async def stop(self) -> None:
        self._world.away = True
        await self._world.house.stop()

    async def start(self) -> None:
        self._world.away = False
        await self._world.house.start()

    def pass_time(self, *, minutes: float) -> None:
        self._slack.clock.advance(minutes * 60)

    async def busy(self) -> None:
        await self._world.house.until(busy=True)

    async def rest(self) -> None:
        await self._world.house.until(busy=False)

    async def _thread(self, channel: Channel, title: str) -> Driver:
        root = await self._world.user("Opener").say(title, channel)
        return SlackDriver(self._world, self._user, Spot(channel=channel, thread=root))

    async def _write(self, text: str) -> None:
        self._wrote = await self._user.say(text, self._spot.channel, thread=self._spot.thread)

    def _is_mine(self, delivery: Delivery) -> bool:
        event = delivery.payload.get("event") or {}
        return delivery.kind == "events_api" and event.get("user") == self._user.id

    def _act(self) -> None:
        self._spot.before = {shown.native.ts: _look(shown) for shown in self._said()}

    def _said(self) -> list[Seen]:
        mine = (None, self._user.id)
        return [Seen(message) for message in self._spot.channel.said(self._spot.thread) if message.only_for in mine]

    def _new(self) -> list[Seen]:
        before = self._spot.before
        return [shown for shown in self._said() if before.get(shown.native.ts) != _look(shown)]


class World:
    """Everybody in a simulated workspace, and the service that the bot belongs to."""

    def __init__(self, folder: Path, setup: Setup, slack: SlackServer) -> None:
        self.slack, self.away = slack, False
        self._users: dict[str, User] = {}
        self._private: dict[str, Spot] = {}
        admins = [f"slack:{self.user(name).id}" for name in setup.admins]
        settings = {"access.allow": ["slack:*"], "access.admins": admins}
        self.house = House(folder, setup, clock=slack.clock, adapters=self._adapters, settings=settings)

    def user(self, name: str) -> User:
        if name not in self._users:
            self._users[name] = self.slack.user(name)
        return self._users[name]

    async def person(self, name: str) -> SlackDriver:
        """Somebody in their direct chat with the bot."""
        user = self.user(name)
        return SlackDriver(self, user, self._private.setdefault(name, Spot(channel=user.private)))

    def _adapters(self, composed: Composed) -> Sequence[Adapter]:
        threads, clock = composed.service.threads, composed.clock
        return [SlackAdapter(self.slack.bot_token, threads, **{**defaults(self.slack), "clock": clock})]


@asynccontextmanager
async def slack(folder: Path, setup: Setup) -> AsyncIterator[Driver]:
    """Ann in her direct chat with the bot."""
    async with server() as running:
        world = World(folder, setup, running)
        await world.house.start()
        try:
            yield await world.person("Ann")
            await running.deliveries.settled(WAIT_SECONDS)
        finally:
            await world.house.stop()
        assert running.violations == []


def _look(shown: Seen) -> tuple[object, ...]:
    return shown.text, tuple(shown.buttons)
