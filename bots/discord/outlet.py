"""Speaks in Discord's channels: what is said becomes messages within its limits, and edits and deletions of them."""

from __future__ import annotations

import asyncio
import io
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import discord
from discord import AllowedMentions, ui

from turnback.bots.discord.markup import Shape, shape
from turnback.bots.discord.pacing import Pacer
from turnback.bots.discord.trouble import GIVE_UP_SECONDS, NETWORK, MessageGone, NoReference, sent
from turnback.bots.platform import Down, Said, Unreachable
from turnback.bots.words import printable
from turnback.core.locks import Locks
from turnback.core.models import Surface

T = TypeVar("T")

THREAD_NAME = 100
NOBODY = AllowedMentions.none()

_SHOWN_KEPT = 4096
_AWAY = "Discord is not connected."


class DiscordOutlet:
    """See `platform.Outlet`. It speaks through the client that was lent last, so that it outlives connections."""

    surface = Surface.DISCORD
    edit_every = 1.2

    def __init__(self, pacer: Pacer | None = None) -> None:
        self._pacer = pacer or Pacer()
        self._client: discord.Client | None = None
        self._lent = asyncio.Event()
        self._shown: OrderedDict[str, str] = OrderedDict()
        self._places = Locks()

    @property
    def client(self) -> discord.Client:
        """The client to speak through. Raises `Down` while there is none."""
        if self._client is None:
            raise Down(_AWAY)
        return self._client

    def lend(self, client: discord.Client | None) -> None:
        """Speak through this one from now on."""
        self._client = client
        if client is None:
            self._lent.clear()
        else:
            self._lent.set()

    async def send(self, place: str, said: Said) -> Sequence[str]:
        """Show something."""
        return await self.send_rest(place, await shape(said), 0, said.reply_to)

    async def send_rest(self, place: str, shaped: Shape, start: int, reply_to: str | None) -> list[str]:
        """Show something from its message number `start` on."""
        ids = list[str]()
        for number in range(start, len(shaped.texts)):
            ids.append(await self._send_new(place, shaped, number, None if ids else reply_to))
        return ids

    async def edit(self, place: str, messages: Sequence[str], said: Said) -> Sequence[str]:
        """Show this instead; deletes messages that are not needed any more, adds those that are missing."""
        shaped = await shape(said)
        if shaped.file is not None:
            new = await self.send_rest(place, shaped, 0, said.reply_to)
            await self.delete(place, messages)
            return new
        ids = list[str]()
        for number in range(len(shaped.texts)):
            old = messages[number] if number < len(messages) else None
            ids.append(await self._show(place, shaped, number, old))
        if left := messages[len(shaped.texts) :]:
            await self.delete(place, left)
        return ids

    async def delete(self, place: str, messages: Sequence[str]) -> None:
        """Delete messages; those that are gone already are no trouble."""
        for message in messages:
            with suppress(MessageGone, Unreachable):
                await self._do(lambda message=message: self._message(place, message).delete())  # type: ignore[misc]
            self._shown.pop(message, None)

    async def typing(self, place: str) -> None:
        """Show that an answer is being written. It is a courtesy: whatever is in its way, nothing is said of it."""
        async with self._pacer.turn():
            with suppress(discord.HTTPException, Down, RuntimeError, *NETWORK):
                await self._channel(place).typing()

    async def open_beside(self, place: str, title: str) -> str | None:
        """Open a thread in the channel (of a thread: in the one that it is in), where we may."""
        name = printable(title, THREAD_NAME) or "Chat"
        channel = await self._found(place)
        if isinstance(channel, discord.Thread) and not channel.is_private():
            channel = channel.parent or await self._found(str(channel.parent_id))
        try:
            if isinstance(channel, discord.TextChannel):
                opened = channel
                thread = await self._do(lambda: opened.create_thread(name=name, type=discord.ChannelType.public_thread))
                return str(thread.id)
            if isinstance(channel, discord.ForumChannel):
                forum = channel
                post = await self._do(lambda: forum.create_thread(name=name, content=name, allowed_mentions=NOBODY))
                return str(post.thread.id)
        except (Unreachable, MessageGone):
            return None
        return None

    async def written_since(self, place: str, message: int, limit: int) -> list[discord.Message]:
        """What was written there after a message, the oldest first; nothing where we may not read."""
        channel = await self._found(place)

        async def read() -> list[discord.Message]:
            after = discord.Object(message)
            return [found async for found in channel.history(after=after, limit=limit, oldest_first=True)]

        if isinstance(channel, discord.abc.Messageable):
            with suppress(Unreachable, MessageGone):
                return await self._do(read)
        return []

    async def direct(self, user_key: str) -> str | None:
        """The direct chat with a user; whether they take messages there, only trying tells."""
        if not user_key.isdecimal():
            return None
        user = discord.Object(int(user_key))
        try:
            return str((await self._do(lambda: self.client.create_dm(user))).id)
        except (Unreachable, MessageGone):
            return None

    async def is_member(self, guild: str, user: str) -> bool:
        """Whether somebody is in a server that we are in, too."""
        try:
            await self._do(lambda: self.client.http.get_member(int(guild), int(user)))
        except (Unreachable, MessageGone):
            return False
        return True

    async def _found(self, place: str) -> Any:
        channel = self.client.get_channel(int(place))
        if channel is not None:
            return channel
        try:
            return await self._do(lambda: self.client.fetch_channel(int(place)))
        except (Unreachable, MessageGone):
            return None

    async def _show(self, place: str, shaped: Shape, number: int, old: str | None) -> str:
        """Show one message of something in a message, in a new one if there is none or it is gone."""
        if old is None:
            return await self._send_new(place, shaped, number, None)
        controls, text = shaped.controls(number), shaped.texts[number]
        if self._shown.get(old) == _look(text, controls):
            return old
        try:
            await self._do(lambda: self._message(place, old).edit(content=text, view=controls, allowed_mentions=NOBODY))
        except MessageGone:
            return await self._send_new(place, shaped, number, None)
        self._note_shown(old, _look(text, controls))
        return old

    async def _send_new(self, place: str, shaped: Shape, number: int, reply_to: str | None) -> str:
        controls, text = shaped.controls(number), shaped.texts[number]

        async def send(reply_to: str | None) -> discord.Message:
            form: dict[str, Any] = {"view": controls} if controls is not None else {}
            if reply_to is not None:
                form["reference"] = _reference(place, reply_to)
            async with self._places.hold(place):  # many at once make the library lose count of the channel's limit
                return await self._do(
                    lambda: self._channel(place).send(
                        text, allowed_mentions=NOBODY, suppress_embeds=True, **form, **attached(shaped)
                    )
                )

        try:
            message = await send(reply_to)
        except NoReference:
            message = await send(None)
        except MessageGone:
            raise Unreachable("the thread is locked") from None
        self._note_shown(str(message.id), _look(text, controls))
        return str(message.id)

    async def _do(self, call: Callable[[], Awaitable[T]]) -> T:
        """Make a request, again with the next client where this one is closed meanwhile."""

        async def paced() -> T:
            await self._there()
            async with self._pacer.turn():
                return await call()

        while True:
            client = self._client
            try:
                return await sent(paced)
            except RuntimeError:  # the library's word for a closed connection
                if client is self._client:
                    if client is None or not client.is_closed():
                        raise
                    self.lend(None)

    async def _there(self) -> None:
        try:
            async with asyncio.timeout(GIVE_UP_SECONDS):
                await self._lent.wait()
        except TimeoutError:
            raise Down(_AWAY) from None

    def _channel(self, place: str) -> discord.PartialMessageable:
        return self.client.get_partial_messageable(int(place))

    def _message(self, place: str, message: str) -> discord.PartialMessage:
        return self._channel(place).get_partial_message(int(message))

    def _note_shown(self, message: str, look: str) -> None:
        self._shown[message] = look
        self._shown.move_to_end(message)
        if len(self._shown) > _SHOWN_KEPT:
            self._shown.popitem(last=False)


def attached(shaped: Shape) -> dict[str, Any]:
    """The file of something, made anew for each try."""
    if shaped.file is None:
        return {}
    name, data = shaped.file
    return {"file": discord.File(io.BytesIO(data), filename=name)}


def _reference(place: str, message: str) -> discord.MessageReference:
    return discord.MessageReference(message_id=int(message), channel_id=int(place), fail_if_not_exists=False)


def _look(text: str, controls: ui.View | None) -> str:
    return f"{text}\n{controls.to_components() if controls is not None else ''}"
