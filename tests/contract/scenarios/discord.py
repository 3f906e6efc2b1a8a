"""Discord as a driver: the adapter with its real library over HTTP and a gateway, against the simulated server.

What can be picked from Discord's menu of commands is picked; what is typed another way is written as a message.
After every scenario no rule of the platform may have been broken.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from contract.scenarios.driver import WAIT_SECONDS, Driver, Feature, Setup, Shown, Wanted, fits
from contract.scenarios.house import House
from platforms.core import ClientRefused
from platforms.discord.channels import Channel
from platforms.discord.messages import Message
from platforms.discord.people import User
from platforms.discord.server import DiscordServer, pointing
from support.discord_bot import HASTY

from turnback.bots.discord import DiscordAdapter
from turnback.bots.discord.pacing import Pacer
from turnback.bots.platform import Adapter
from turnback.cli.compose import Composed

FEATURES = frozenset(Feature) - {Feature.MAILBOX}
"""Discord keeps nothing for a bot that is away: its new session begins with what happens then."""

_STANDS = re.compile(r"https://discord\.com/channels/[^/]+/(\d+)/(\d+)")


@dataclass(frozen=True)
class Seen:
    """A message of the server, as people read it."""

    native: Message

    @property
    def text(self) -> str:
        for data in self.native.files.values():
            return data.decode()
        return _read(self.native.text)

    @property
    def buttons(self) -> Sequence[str]:
        options = [option.name for select in self.native.selects for option in select.options]
        return [button.text for button in self.native.buttons] + options

    @property
    def links(self) -> Sequence[str]:
        return [button.url for button in self.native.buttons if button.url and not _STANDS.match(button.url)]

    @property
    def answers(self) -> str | None:
        if self.native.reply_to is not None:
            return _read(self.native.reply_to.text)
        found = next((m for button in self.native.buttons if (m := _STANDS.match(button.url or ""))), None)
        return _read(self.native.channel.messages[found[2]].text) if found else None


@dataclass(eq=False, kw_only=True)
class Spot:
    """A place, and what the bot had said there when something was last done there."""

    channel: Channel
    before: dict[str, tuple[object, ...]] = field(default_factory=dict)

    @property
    def group(self) -> bool:
        return self.channel.guild is not None


class DiscordDriver:
    """One person at one place on Discord."""

    features = FEATURES

    def __init__(self, world: World, user: User, spot: Spot) -> None:
        self._world, self._server, self._user, self._spot = world, world.server, user, spot
        self.bot_name = world.server.bot.name
        self._wrote: Message | None = None

    async def say(self, text: str) -> None:
        await self._write(f"{self._server.bot.mention} {text}" if self._spot.group else text)

    async def command(self, text: str) -> None:
        await self._server.registered("Fork from here")
        self._act()
        typed = re.sub(r"^/fork (?:(\S+) )?here$", lambda m: f"/fork {f'step:{m[1]} ' if m[1] else ''}here:true", text)
        try:
            await self._user.slash(typed, self._spot.channel)
        except ClientRefused:
            await self._write(text)

    async def remark(self, text: str) -> None:
        await self._write(text)

    async def reply(self, message: Shown, text: str) -> None:
        assert isinstance(message, Seen)
        await self._write(text, message.native)

    async def edit(self, text: str) -> None:
        assert self._wrote is not None
        self._act()
        await self._user.edit(self._wrote, text)

    async def press(self, label: str, message: Shown | None = None, *, word: str | None = None) -> None:
        shown = message or next(s for s in reversed(self._said()) if any(label in text for text in s.buttons))
        assert isinstance(shown, Seen)
        self._act()
        native = shown.native
        if any(label in button.text for button in native.buttons):
            asked = await self._user.press(label, native)
        else:
            asked = await self._user.select(label, native)
        if word is not None:
            form = await asked.opened()
            await self._user.submit(asked, {form.inputs[0].text: word})

    async def redeliver(self) -> None:
        self._act()
        self._server.redeliver()

    async def seen(self, wanted: Wanted) -> Shown:
        def look() -> Seen | None:
            return next((shown for shown in self._new() if fits(shown, wanted)), None)

        def what() -> str:
            return f"{wanted!r} among {[s.text[:200] for s in self._said()][-6:]}"

        return await self._server.signal.until(look, what, WAIT_SECONDS)

    async def seen_privately(self, wanted: Wanted) -> Shown:
        def private(shown: Shown) -> bool:
            return isinstance(shown, Seen) and shown.native.ephemeral and fits(shown, wanted)

        return await self.seen(private if self._spot.group else wanted)

    async def answers(self) -> Sequence[Shown]:
        await self._server.gateway.flushed()
        await self._server.signal.settled(0.15)
        return self._new()

    async def gone(self, message: Shown) -> None:
        assert isinstance(message, Seen)
        native = message.native
        await self._server.signal.until(lambda: native.deleted, lambda: f"{native} goes", WAIT_SECONDS)

    async def as_(self, name: str) -> Driver:
        if not self._spot.group:
            return await self._world.person(name)
        return DiscordDriver(self._world, self._world.user(name), self._spot)

    async def group(self, title: str, *others: str, admin: str | None = None, topics: bool = False) -> Driver:
        del topics  # every channel has room for threads
        names = dict.fromkeys([*([admin] if admin else []), self._user.name, *others])
        guild = self._server.guild(title, [self._world.user(name) for name in names])
        return DiscordDriver(self._world, self._user, Spot(channel=guild.channel("general")))

    async def topic(self, title: str) -> Driver:
        thread = await self._user.open_thread(title, self._spot.channel)
        return DiscordDriver(self._world, self._user, Spot(channel=thread))

    async def opened(self, title: str) -> Driver:
        thread = await self._spot.channel.thread_of(title, seconds=WAIT_SECONDS)
        return DiscordDriver(self._world, self._user, Spot(channel=thread))

    async def stop(self) -> None:
        await self._world.house.stop()

    async def start(self) -> None:
        await self._world.house.start()

    def pass_time(self, *, minutes: float) -> None:
        self._server.clock.advance(minutes * 60)

    async def busy(self) -> None:
        await self._world.house.until(busy=True)

    async def rest(self) -> None:
        await self._world.house.until(busy=False)

    async def _write(self, text: str, reply_to: Message | None = None) -> None:
        self._act()
        self._wrote = await self._user.say(text, self._spot.channel, reply_to=reply_to)

    def _act(self) -> None:
        self._spot.before = {shown.native.id: _look(shown) for shown in self._said()}

    def _said(self) -> list[Seen]:
        said = self._spot.channel.said()
        return [Seen(message) for message in said if message.visible_to in (None, self._user)]

    def _new(self) -> list[Seen]:
        before = self._spot.before
        return [shown for shown in self._said() if before.get(shown.native.id) != _look(shown)]


class World:
    """Everybody on a simulated Discord, and the service that the bot belongs to."""

    def __init__(self, folder: Path, setup: Setup, server: DiscordServer) -> None:
        self.server = server
        self._users: dict[str, User] = {}
        self._private: dict[str, Spot] = {}
        admins = [f"discord:{self.user(name).id}" for name in setup.admins]
        settings = {"access.allow": ["discord:*"], "access.admins": admins}
        self.house = House(folder, setup, clock=server.clock, adapters=self._adapters, settings=settings)

    def user(self, name: str) -> User:
        if name not in self._users:
            self._users[name] = self.server.user(name)
        return self._users[name]

    async def person(self, name: str) -> DiscordDriver:
        """Somebody in their direct chat with the bot."""
        user = self.user(name)
        spot = self._private.setdefault(name, Spot(channel=user.private))
        return DiscordDriver(self, user, spot)

    def _adapters(self, composed: Composed) -> Sequence[Adapter]:
        threads, clock = composed.service.threads, composed.clock
        return [DiscordAdapter(self.server.token, threads, pacer=Pacer(HASTY), clock=clock)]


@asynccontextmanager
async def discord(folder: Path, setup: Setup) -> AsyncIterator[Driver]:
    """Ann in her direct chat with the bot."""
    async with DiscordServer(rates=False) as server:
        with pointing(server):
            world = World(folder, setup, server)
            await world.house.start()
            try:
                yield await world.person("Ann")
            finally:
                await world.house.stop()
        assert server.violations == []


def _look(shown: Seen) -> tuple[object, ...]:
    return shown.text, tuple(shown.buttons)


def _read(text: str) -> str:
    """Text without the escapes that nobody sees."""
    return re.sub(r"\\([\\*_~`|\[\]<#>+.)-])", r"\1", text)
