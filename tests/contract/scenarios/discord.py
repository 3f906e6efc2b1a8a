"""Discord as a driver: the adapter with its real library over HTTP and a gateway, against a simulated server.

What can be picked from Discord's menu of commands is picked; what is typed another way is written as a message.
Which server is a `Net`: the project's own here, another one in `shared_discord`.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from contract.scenarios.driver import WAIT_SECONDS, Driver, Feature, Setup
from contract.scenarios.nets import QUIET_SECONDS, Net, Seen, Spot, beginning
from platforms.core import ClientRefused
from platforms.discord.messages import Message
from platforms.discord.people import User
from platforms.discord.server import DiscordServer, pointing
from support.discord_bot import HASTY

from turnback.bots.discord import DiscordAdapter
from turnback.bots.discord.pacing import Pacer
from turnback.bots.platform import Adapter
from turnback.cli.compose import Composed

T = TypeVar("T")

FEATURES = frozenset(Feature) - {Feature.LEAVING}
"""Discord keeps what was written, and we read it afterwards. Who leaves it tells only bots with a privileged intent."""

STANDS = re.compile(r"https://discord\.com/channels/[^/]+/(\d+)/(\d+)")
"""The address of a message."""

LAST_COMMAND = "Fork from here"
"""When this is known, all are."""


class DiscordNet(Net):
    """How people speak on Discord."""

    surface = "discord"
    features = FEATURES
    token: str

    def adapter(self, composed: Composed) -> Adapter:
        threads, clock = composed.service.threads, composed.clock
        return DiscordAdapter(self.token, threads, pacer=Pacer(HASTY), clock=clock)

    async def command(self, user: Any, spot: Spot, text: str) -> None:
        if self.away or not await self._picked(user, spot, text):
            await self.write(user, spot, text)  # which is kept while we are away; picking a command fails then

    async def _picked(self, user: Any, spot: Spot, text: str) -> bool:
        await self.registered()
        here = lambda m: f"/fork {f'step:{m[1]} ' if m[1] else ''}here:true"  # noqa: E731
        return await self.pick(user, spot.chat, re.sub(r"^/fork (?:(\S+) )?here$", here, text))

    def find_topic(self, spot: Spot, title: str) -> Spot | None:
        threads = [thread for thread in spot.chat.guild.channels if thread.parent is spot.chat]
        return next((Spot(chat=thread) for thread in threads if title in thread.name), None)

    @abstractmethod
    async def registered(self) -> None:
        """Wait until Discord offers our commands."""
        ...

    @abstractmethod
    async def pick(self, user: Any, channel: Any, text: str) -> bool:
        """Choose a command and fill in its options; whether there is such a one."""
        ...


@dataclass(frozen=True)
class OwnSeen:
    """A message of the project's own server."""

    native: Message

    @property
    def id(self) -> str:
        return self.native.id

    @property
    def deleted(self) -> bool:
        return self.native.deleted

    @property
    def hidden(self) -> bool:
        return self.native.ephemeral

    @property
    def text(self) -> str:
        for data in self.native.files.values():
            return data.decode()
        return read(self.native.text)

    @property
    def buttons(self) -> Sequence[str]:
        options = [option.name for select in self.native.selects for option in select.options]
        return [button.text for button in self.native.buttons] + options

    @property
    def links(self) -> Sequence[str]:
        return [button.url for button in self.native.buttons if button.url and not STANDS.match(button.url)]

    @property
    def answers(self) -> str | None:
        if self.native.reply_to is not None:
            return read(self.native.reply_to.text)
        found = next((m for button in self.native.buttons if (m := STANDS.match(button.url or ""))), None)
        return read(self.native.channel.messages[found[2]].text) if found else None


class OwnNet(DiscordNet):
    """The project's own simulated server."""

    def __init__(self, server: DiscordServer) -> None:
        self.server, self.clock = server, server.clock
        self.token, self.bot_name = server.token, server.bot.name

    @classmethod
    @asynccontextmanager
    async def open(cls) -> AsyncIterator[Self]:
        async with DiscordServer(rates=False) as server:
            with pointing(server):
                yield cls(server)

    def user(self, name: str) -> User:
        return self.server.user(name)

    def private(self, user: User) -> Spot:
        return Spot(chat=user.private, group=False)

    async def group(self, title: str, people: Sequence[User], *, topics: bool) -> Spot:
        del topics  # every channel has room for threads
        return Spot(chat=self.server.guild(title, people).channel("general"))

    async def topic(self, user: User, spot: Spot, title: str) -> Spot:
        return Spot(chat=await user.open_thread(title, spot.chat))

    @property
    def mention(self) -> str:
        return self.server.bot.mention

    async def registered(self) -> None:
        await self.server.registered(LAST_COMMAND)

    async def pick(self, user: User, channel: Any, text: str) -> bool:
        try:
            await user.slash(text, channel)
        except ClientRefused:
            return False
        return True

    async def write(self, user: User, spot: Spot, text: str, reply_to: OwnSeen | None = None) -> Message:
        return await user.say(text, spot.chat, reply_to=reply_to.native if reply_to else None)

    async def edit(self, user: User, message: Message, text: str) -> None:
        await user.edit(message, text)

    async def press(self, user: User, shown: OwnSeen, label: str) -> Any:
        if any(label in button.text for button in shown.native.buttons):
            return await user.press(label, shown.native)
        return await user.select(label, shown.native)

    async def fill_in(self, user: User, asked: Any, word: str) -> None:
        form = await asked.opened()
        await user.submit(asked, {form.inputs[0].text: word})

    async def redeliver(self, user: User) -> None:
        self.server.redeliver()

    def said(self, user: User, spot: Spot) -> Sequence[Seen]:
        return [OwnSeen(message) for message in spot.chat.said() if message.visible_to in (None, user)]

    async def until(self, look: Callable[[], T | None], what: Callable[[], str]) -> T:
        return await self.server.signal.until(look, what, WAIT_SECONDS)

    async def quiet(self) -> None:
        await self.server.signal.settled(QUIET_SECONDS)

    async def taken(self) -> None:
        await self.server.gateway.flushed()

    def complaints(self) -> Sequence[str]:
        return self.server.violations


def discord(
    folder: Path, setup: Setup, net: Callable[[], AbstractAsyncContextManager[Net]] = OwnNet.open
) -> AbstractAsyncContextManager[Driver]:
    """Ann in her direct chat with the bot."""
    return beginning(folder, setup, net())


def read(text: str) -> str:
    """Text without the escapes that nobody sees."""
    return re.sub(r"\\([\\*_~`|\[\]<#>+.)-])", r"\1", text)
