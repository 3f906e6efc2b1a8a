"""What somebody did on Discord, as plain values: where, who, in which words.

They are what is claimed before anything runs, and all that is left of it after a restart, so they hold no
interaction's token. Ids are texts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

import discord

from turnback.bots.discord.keys import Spot
from turnback.bots.platform import Person
from turnback.core.models import Surface

Kind = Literal["message", "command", "press", "left"]

UNREADABLE = (
    "I cannot read that: your reply did not ping me, and this bot may not read other messages (its Message Content "
    "intent is off). Mention me, or let the reply ping me."
)

_OPEN_THREADS = (discord.ChannelType.text, discord.ChannelType.news, discord.ChannelType.public_thread)
_PEOPLE = (discord.MessageType.default, discord.MessageType.reply)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSent:
    """A file that came with a message; `size` in bytes."""

    name: str
    mime: str
    size: int
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """A message, a command or a press that is for us; or that `user` is no more in a thread (`left`).

    `text` is what is said to us, without the mention of us; of a command or press the words that it stands for.
    `answers`: the message that it is about. `under`: the message that a press was under, if everybody sees it.
    `hidden`: only who asked may see the answer. `unreadable`: Discord does not let us read it.
    `homes`: in a direct chat, ids of servers that they are in.
    """

    kind: Kind
    id: str
    spot: Spot
    user: str
    name: str
    at: datetime
    text: str
    addressed: bool = True
    mentioned: bool = False
    answers: str | None = None
    under: str | None = None
    hidden: bool = False
    unreadable: bool = False
    files: tuple[FileSent, ...] = ()
    homes: tuple[str, ...] = ()

    @property
    def person(self) -> Person:
        """Who did it."""
        guilds = (self.spot.guild,) if self.spot.guild else self.homes
        scopes = tuple(f"{Surface.DISCORD.value}:guild:{guild}" for guild in guilds)
        return Person(surface=Surface.DISCORD, user_key=self.user, name=self.name, scopes=scopes)

    def payload(self) -> dict[str, Any]:
        """It as JSON."""
        return asdict(self) | {"at": self.at.isoformat()}


def heard_of(payload: Mapping[str, Any]) -> Heard:
    """What `payload` made."""
    body = dict(payload)
    spot, files = Spot(**body.pop("spot")), tuple(FileSent(**file) for file in body.pop("files"))
    at, homes = datetime.fromisoformat(body["at"]), tuple(body.get("homes", ()))
    return Heard(**body | {"at": at, "spot": spot, "files": files, "homes": homes})


def read_message(message: discord.Message, me: discord.abc.User, *, blind: bool) -> Heard | None:
    """A message, if it is for us. In a guild we listen to nothing but commands and what is addressed to us.

    `blind`: we see only what is said to us.
    """
    if message.type is discord.MessageType.recipient_remove:
        return _removal(message)
    if message.author.bot or message.webhook_id is not None or message.type not in _PEOPLE:
        return None
    answers, ours = _answered(message, me), _our_mentions(message, me)
    text, mentioned = without_mention(message.content, ours)
    direct, named = message.guild is None, any(mention in message.content for mention in ours)
    addressed = direct or named or answers is not None
    unreadable = blind and not direct and not message.content and not message.attachments
    if unreadable and answers is None:
        return None
    if not (addressed or text.startswith(("/", "!"))):
        return None
    files = tuple(_file(attachment) for attachment in message.attachments)
    if not (text.strip() or files or named or unreadable):
        files = (FileSent(name="message", mime="", size=0, url=""),)  # a sticker, a poll: nothing to read
    return Heard(
        kind="message",
        id=str(message.id),
        spot=spot_of(message.channel, message.guild),
        user=str(message.author.id),
        name=message.author.display_name,
        at=message.created_at,
        text=_named(text, message) or ("" if files else "/help"),
        addressed=addressed,
        mentioned=mentioned,
        answers=answers,
        unreadable=unreadable,
        files=files,
    )


def read_interaction(
    interaction: discord.Interaction[Any], kind: Kind, text: str, *, answers: str | None = None, hidden: bool = False
) -> Heard | None:
    """A command or press; None where Discord does not say in which channel."""
    if interaction.channel_id is None:
        return None
    message = interaction.message
    ephemeral = message is not None and message.flags.ephemeral
    return Heard(
        kind=kind,
        id=str(interaction.id),
        spot=spot_in(interaction),
        user=str(interaction.user.id),
        name=interaction.user.display_name,
        at=interaction.created_at,
        text=text,
        answers=answers,
        under=str(message.id) if message is not None and not ephemeral else None,
        hidden=interaction.guild_id is not None and (hidden or ephemeral),
    )


def spot_in(interaction: discord.Interaction[Any]) -> Spot:
    """Where an interaction happened."""
    guild = str(interaction.guild_id) if interaction.guild_id is not None else None
    kind = getattr(interaction.channel, "type", None)
    return Spot(channel=str(interaction.channel_id), guild=guild, threads=guild is not None and kind in _OPEN_THREADS)


def spot_of(channel: Any, guild: discord.Guild | None) -> Spot:
    """Where a message was written."""
    threads = guild is not None and getattr(channel, "type", None) in _OPEN_THREADS
    return Spot(channel=str(channel.id), guild=str(guild.id) if guild else None, threads=threads)


def may_manage(permissions: discord.Permissions) -> bool:
    """Whether somebody with these permissions runs the place, as far as messages go."""
    return permissions.manage_messages or permissions.administrator


def without_mention(text: str, ours: Sequence[str]) -> tuple[str, bool]:
    """A text without the mention of us that it begins or ends with, and whether it began with one."""
    any_of = "|".join(map(re.escape, ours))
    bare = re.sub(rf"^\s*(?:(?:{any_of})[\s,:]*)+", "", text, count=1)
    return re.sub(rf"\s*(?:{any_of})\s*$", "", bare, count=1), bare != text


def _removal(message: discord.Message) -> Heard | None:
    """Discord's own message that somebody was put out of a thread. That they went by themselves it does not tell."""
    gone = next(iter(message.mentions), None)
    if message.guild is None or gone is None:
        return None
    return Heard(
        kind="left",
        id=str(message.id),
        spot=spot_of(message.channel, message.guild),
        user=str(gone.id),
        name=gone.display_name,
        at=message.created_at,
        text="",
    )


def _our_mentions(message: discord.Message, me: discord.abc.User) -> list[str]:
    """How we are mentioned: by name, or by the role that Discord made for us and that is called like us."""
    roles = [f"<@&{role.id}>" for role in message.role_mentions if role.tags is not None and role.tags.bot_id == me.id]
    return [f"<@{me.id}>", f"<@!{me.id}>", *roles]


def _answered(message: discord.Message, me: discord.abc.User) -> str | None:
    """The message of ours that a message is a reply to."""
    reference = message.reference
    if reference is None or message.type is not discord.MessageType.reply:
        return None
    replied = reference.resolved
    ours = isinstance(replied, discord.Message) and replied.author.id == me.id
    return str(reference.message_id) if ours else None


def _named(text: str, message: discord.Message) -> str:
    """The text with people's names instead of their numbers."""
    for user in message.mentions:
        text = re.sub(rf"<@!?{user.id}>", f"@{user.display_name}", text)
    return text


def _file(attachment: discord.Attachment) -> FileSent:
    return FileSent(
        name=attachment.filename,
        mime=attachment.content_type or "",
        size=attachment.size,
        url=attachment.url,
    )
