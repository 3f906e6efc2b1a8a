"""The ways to answer: an interaction by its token while that lives, everything else by a message.

A token lives for 15 minutes. After that what everybody may see is said in the channel, and what only the asker
may see in their direct chat: never publicly what was asked privately. Tokens are kept in memory only.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import discord
import structlog

from turnback.bots.discord.keys import jump_url
from turnback.bots.discord.markup import Shape, shape
from turnback.bots.discord.outlet import NOBODY, DiscordOutlet, attached
from turnback.bots.discord.reading import Heard
from turnback.bots.discord.trouble import ACKNOWLEDGED, NETWORK
from turnback.bots.platform import Said, Unreachable

_log = structlog.get_logger(__name__)


class _Expired(Exception):
    """The token is worth nothing any more, or Discord is away."""


@dataclass(slots=True, eq=False)
class Deferred:
    """An interaction that was told "an answer comes", which must be the first of all that is done about it."""

    interaction: discord.Interaction[Any]
    thinking: bool
    """Whether people see that we are at it until the first answer takes its place."""
    hidden: bool

    async def say(self, shaped: Shape, number: int, *, hidden: bool, link: str | None) -> str:
        """Show one message of something."""
        controls = shaped.controls(number, link)
        form: dict[str, Any] = {"view": controls} if controls is not None else {}
        text = shaped.texts[number]
        if self.thinking and hidden != self.hidden:
            await self._attempt(self.interaction.delete_original_response)
            self.thinking = False
        if self.thinking:
            files: dict[str, Any] = {"attachments": list(attached(shaped).values())} if shaped.file else {}
            edit = self.interaction.edit_original_response
            message: Any = await self._attempt(lambda: edit(content=text, allowed_mentions=NOBODY, **form, **files))
            self.thinking = False
            return str(message.id)
        send = self.interaction.followup.send
        form |= {"ephemeral": hidden, "suppress_embeds": True, "allowed_mentions": NOBODY, "wait": True}
        message = await self._attempt(lambda: send(text, **form, **attached(shaped)))
        return str(message.id)

    async def leave(self) -> None:
        """Take the sign away that we are at it, if nothing was answered."""
        if self.thinking:
            self.thinking = False
            try:
                await self._attempt(self.interaction.delete_original_response)
            except _Expired:
                return

    @staticmethod
    async def _attempt(call: Callable[[], Awaitable[Any]]) -> Any:
        try:
            return await call()
        except (discord.HTTPException, RuntimeError, *NETWORK) as refused:  # the second: the connection is closed
            raise _Expired from refused


async def defer(interaction: discord.Interaction[Any], *, press: bool, hidden: bool) -> Deferred | None:
    """Say that an answer comes; None if that failed: then the person sees a failure, and nothing may be done."""
    try:
        if press:
            await interaction.response.defer()
        else:
            await interaction.response.defer(ephemeral=hidden, thinking=True)
    except discord.HTTPException as refused:
        if refused.code != ACKNOWLEDGED:
            _log.warning("interaction came too late", surface="discord", status=refused.status, code=refused.code)
            return None
    except (discord.InteractionResponded, RuntimeError, *NETWORK) as error:
        _log.warning("interaction not answered", surface="discord", why=type(error).__name__)
        return None
    return Deferred(interaction, thinking=not press, hidden=hidden)


@dataclass(frozen=True, slots=True)
class Answering:
    """See `platform.Back`."""

    outlet: DiscordOutlet
    heard: Heard
    deferred: Deferred | None = None

    async def __call__(self, said: Said, *, private: bool = False) -> Sequence[str]:
        in_group = self.heard.spot.guild is not None
        hidden = in_group and (private or self.heard.hidden)
        if self.deferred is None:
            return await self._plainly(await shape(said), 0, said.reply_to, hidden=hidden)
        return await self._by_token(self.deferred, said, hidden=hidden)

    async def _by_token(self, deferred: Deferred, said: Said, *, hidden: bool) -> Sequence[str]:
        shaped, ids = await shape(said), list[str]()
        link = jump_url(self.heard.spot, said.reply_to) if said.reply_to is not None else None
        for number in range(len(shaped.texts)):
            try:
                ids.append(await deferred.say(shaped, number, hidden=hidden, link=link))
            except _Expired:
                ids += await self._plainly(shaped, number, said.reply_to, hidden=hidden)
                break
        return [] if hidden else ids

    async def _plainly(self, shaped: Shape, start: int, reply_to: str | None, *, hidden: bool) -> Sequence[str]:
        heard = self.heard
        if hidden:
            direct = await self.outlet.direct(heard.user)
            if direct is None:
                raise Unreachable("what was asked privately can be answered nowhere")
            await self.outlet.send_rest(direct, shaped, start, None)
            if heard.kind == "message":
                await self._point_there()
            return ()
        own = heard.id if heard.kind == "message" and heard.spot.guild is not None else None
        return await self.outlet.send_rest(heard.spot.channel, shaped, start, reply_to or own)

    async def _point_there(self) -> None:
        said = Said(text="That is for your eyes only: I sent it to our direct chat.", reply_to=self.heard.id)
        await self.outlet.send(self.heard.spot.channel, said)


def answering(outlet: DiscordOutlet, heard: Heard, deferred: Deferred | None = None) -> Answering:
    """The way to answer what was heard."""
    return Answering(outlet, replace(heard, files=()), deferred)
