"""Makes of what was heard what the desk takes: messages and presses, with the ways to answer them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import discord

from turnback.bots.discord.answering import Deferred, answering
from turnback.bots.discord.files import attachment
from turnback.bots.discord.keys import place_at
from turnback.bots.discord.outlet import DiscordOutlet
from turnback.bots.discord.reading import Heard, may_manage
from turnback.bots.discord.trouble import sent
from turnback.bots.platform import Message, Press, Unreachable
from turnback.core.models import Surface

MEMBER_SECONDS = 60.0
"""How long we go by what Discord said of somebody's rights."""

_SERVER = re.compile(rf"{Surface.DISCORD.value}:guild:(\d+)", re.IGNORECASE)


class Members:
    """Who may manage messages where, as Discord said within the last minute."""

    def __init__(self, outlet: DiscordOutlet) -> None:
        self._outlet = outlet
        self._known: dict[tuple[str, str], tuple[float, bool]] = {}

    def note(self, heard: Heard, permissions: discord.Permissions | None) -> None:
        """Discord told somebody's rights along with what they did."""
        if permissions is not None and heard.spot.guild is not None:
            now = asyncio.get_running_loop().time()
            self._known = {key: seen for key, seen in self._known.items() if now - seen[0] < MEMBER_SECONDS}
            self._known[heard.spot.channel, heard.user] = now, may_manage(permissions)

    async def is_admin(self, heard: Heard) -> bool:
        """Whether they run the place; asks Discord where it has not said lately."""
        if heard.spot.guild is None:
            return False
        at, known = self._known.get((heard.spot.channel, heard.user), (-MEMBER_SECONDS, False))
        if asyncio.get_running_loop().time() - at >= MEMBER_SECONDS:
            self.note(heard, await self._ask(heard))
            at, known = self._known.get((heard.spot.channel, heard.user), (0.0, False))
        return known

    async def _ask(self, heard: Heard) -> discord.Permissions | None:
        client = self._outlet.client
        guild = client.get_guild(int(heard.spot.guild or 0))
        if guild is None:
            return None
        try:
            member = await sent(lambda: guild.fetch_member(int(heard.user)))
            channel: Any = guild.get_channel_or_thread(int(heard.spot.channel))
            channel = channel or await sent(lambda: client.fetch_channel(int(heard.spot.channel)))
        except Unreachable:
            return None
        return rights(channel, member)


def rights(channel: Any, member: object) -> discord.Permissions | None:
    """What a member may do in a channel, as far as we know the channel and its roles."""
    if not isinstance(member, discord.Member) or not hasattr(channel, "permissions_for"):
        return None
    try:
        permissions = channel.permissions_for(member)
    except discord.ClientException:  # a thread whose channel we do not see
        return None
    return permissions if isinstance(permissions, discord.Permissions) else None


class Homes:
    """Which of the servers that access.allow names somebody is in, as Discord said within the last minute.

    In a direct chat Discord does not say that along with what they write.
    """

    def __init__(self, outlet: DiscordOutlet, allow: Callable[[], Sequence[str]]) -> None:
        self._outlet = outlet
        self._allow = allow
        self._known: dict[str, tuple[float, tuple[str, ...]]] = {}

    async def of(self, user: str) -> tuple[str, ...]:
        """The ids of those servers."""
        named = [found[1] for entry in self._allow() if (found := _SERVER.fullmatch(entry))]
        now = asyncio.get_running_loop().time()
        at, homes = self._known.get(user, (-MEMBER_SECONDS, ()))
        if not named or now - at < MEMBER_SECONDS:
            return homes
        homes = tuple([guild for guild in named if await self._outlet.is_member(guild, user)])
        self._known = {key: seen for key, seen in self._known.items() if now - seen[0] < MEMBER_SECONDS}
        self._known[user] = now, homes
        return homes


class Incoming:
    """Makes messages and presses."""

    def __init__(
        self, outlet: DiscordOutlet, name: Callable[[], str], allow: Callable[[], Sequence[str]] = tuple
    ) -> None:
        self.outlet = outlet
        self.members = Members(outlet)
        self._homes = Homes(outlet, allow)
        self._name = name

    async def at_home(self, heard: Heard) -> Heard:
        """The same, with the servers that whoever did it is in, where `access.allow` asks for them."""
        if heard.spot.guild is not None:
            return heard
        return replace(heard, homes=await self._homes.of(heard.user))

    def message(self, heard: Heard, deferred: Deferred | None) -> Message:
        """A message, or a command from Discord's menu."""
        return Message(
            person=heard.person,
            place=place_at(heard.spot),
            at=heard.at,
            back=answering(self.outlet, heard, deferred),
            is_admin=self._admin_asker(heard),
            id=heard.id,
            text=heard.text,
            addressed=heard.addressed,
            mentioned=heard.mentioned,
            bang=True,
            names=(self._name(),),
            reply_to=heard.answers,
            files=tuple(attachment(file, self.outlet) for file in heard.files),
        )

    def press(self, heard: Heard, deferred: Deferred | None) -> Press:
        """A press on a button, or a choice."""
        return Press(
            person=heard.person,
            place=place_at(heard.spot),
            at=heard.at,
            back=answering(self.outlet, heard, deferred),
            is_admin=self._admin_asker(heard),
            command=heard.text,
            message=heard.under,
        )

    def _admin_asker(self, heard: Heard) -> Callable[[], Awaitable[bool]]:
        return lambda: self.members.is_admin(heard)
