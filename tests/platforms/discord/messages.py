"""Messages: what they hold, whom they notify, and what the API says of them."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from platforms.core import ClientRefused, Json
from platforms.discord.components import BUTTON, SELECTS, walk
from platforms.discord.rules import EPHEMERAL, LOADING
from platforms.discord.scene import Account

if TYPE_CHECKING:
    from platforms.discord.channels import Channel

DEFAULT, REMOVED, THREAD_CREATED, REPLY, CHAT_INPUT, THREAD_STARTER, CONTEXT_MENU = 0, 2, 18, 19, 20, 21, 23
"""Types of messages; 18 and 21 the platform writes itself."""

Wanted = str | re.Pattern[str] | Callable[["Message"], bool]


@dataclass(frozen=True, kw_only=True)
class Choice:
    """An option of a select, or one that autocomplete offers."""

    name: str
    value: str
    description: str = ""


@dataclass(frozen=True, kw_only=True)
class Button:
    """A button as it is on a message now."""

    message: Message = field(repr=False)
    text: str
    data: str | None = None
    url: str | None = None
    disabled: bool = False


@dataclass(frozen=True, kw_only=True)
class Select:
    """A select as it is on a message now."""

    message: Message = field(repr=False)
    data: str
    kind: int
    placeholder: str
    options: tuple[Choice, ...]
    fewest: int = 1
    most: int = 1


@dataclass(eq=False, kw_only=True)
class Message:
    """A message; `json()` is what the API says of it."""

    channel: Channel = field(repr=False)
    id: str
    author: Account
    at: str = field(repr=False)
    text: str = ""
    type: int = DEFAULT
    flags: int = 0
    embeds: list[Json] = field(default_factory=list)
    components: list[Json] = field(default_factory=list, repr=False)
    attachments: list[Json] = field(default_factory=list, repr=False)
    files: dict[str, bytes] = field(default_factory=dict, repr=False)
    reply_to: Message | None = field(default=None, repr=False)
    removed: Account | None = None
    """Who was put out of the thread; then that is all that it says."""
    thread: Channel | None = None
    """The thread that began with it."""
    about: Json = field(default_factory=dict, repr=False)
    """Which interaction or webhook it came from."""
    visible_to: Account | None = None
    """The only person who sees it, when it is ephemeral."""
    pings: frozenset[str] = frozenset()
    """Ids of users and roles that were notified, or "everyone"."""
    deleted: bool = False
    edited_at: str | None = None
    edits: list[str] = field(default_factory=list)
    """Its earlier texts."""
    reactions: list[str] = field(default_factory=list)
    created: int = 0
    changed: int = 0

    @property
    def from_bot(self) -> bool:
        return self.author.id == self.channel.scene.bot.id

    @property
    def ephemeral(self) -> bool:
        return bool(self.flags & EPHEMERAL)

    @property
    def loading(self) -> bool:
        """Whether it only says that the bot is thinking."""
        return bool(self.flags & LOADING)

    @property
    def shown(self) -> bool:
        """Whether anybody can read it."""
        return not self.deleted and not self.loading

    @property
    def buttons(self) -> list[Button]:
        return [
            Button(
                message=self,
                text=raw.get("label") or (raw.get("emoji") or {}).get("name", ""),
                data=raw.get("custom_id"),
                url=raw.get("url"),
                disabled=bool(raw.get("disabled")),
            )
            for raw, _ in walk(self.components)
            if raw["type"] == BUTTON
        ]

    @property
    def selects(self) -> list[Select]:
        return [_select(self, raw) for raw, _ in walk(self.components) if raw["type"] in SELECTS]

    @property
    def mentions(self) -> list[Account]:
        """Those whom its text names, the author of what it replies to, and who was put out."""
        scene = self.channel.scene
        known = {scene.bot.id: scene.bot, **scene.users}
        named = [known[user_id] for user_id in re.findall(r"<@!?(\d+)>", self.text) if user_id in known]
        if self.reply_to is not None and self.reply_to.author.id in self.pings:
            named.append(self.reply_to.author)
        if self.removed is not None:
            named.append(self.removed)
        return list({account.id: account for account in named}.values())

    def button(self, wanted: str) -> Button:
        """The one button with that label or custom id, or whose label alone has it as a part."""
        exact = [button for button in self.buttons if wanted in (button.text, button.data)]
        found = exact or [button for button in self.buttons if wanted in button.text]
        if len(found) != 1:
            labels = [button.text for button in self.buttons]
            raise ClientRefused(f"{len(found)} buttons {wanted!r} among {labels} of {self.text[:80]!r}")
        return found[0]

    def attach(self, files: Mapping[str, bytes]) -> None:
        base = f"{self.channel.scene.files_url}/attachments/{self.channel.id}/{self.id}"
        for name, data in files.items():
            self.files[name] = data
            mime = mimetypes.guess_type(name)[0] or "application/octet-stream"
            raw = {"id": self.channel.scene.snowflake(), "filename": name, "size": len(data), "content_type": mime}
            self.attachments.append(raw | {"url": f"{base}/{name}", "proxy_url": f"{base}/{name}"})

    def json(self, *, with_reply: bool = True) -> Json:
        body: Json = {
            "id": self.id,
            "channel_id": self.channel.id,
            "author": self.author.json(),
            "content": self.text,
            "timestamp": self.at,
            "edited_timestamp": self.edited_at,
            "type": self.type,
            "flags": self.flags,
            "embeds": self.embeds,
            "components": self.components,
            "attachments": self.attachments,
            "mentions": [account.json() for account in self.mentions],
            "mention_roles": re.findall(r"<@&(\d+)>", self.text),
            "mention_everyone": "everyone" in self.pings,
            "tts": False,
            "pinned": False,
            **self.about,
        }
        if self.reply_to is not None:
            body["message_reference"] = {"type": 0, "channel_id": self.channel.id, "message_id": self.reply_to.id}
            if with_reply:
                gone = self.reply_to.deleted
                body["referenced_message"] = None if gone else self.reply_to.json(with_reply=False)
        if self.thread is not None:
            body["thread"] = self.thread.json()
        return body

    def event(self) -> Json:
        """What the gateway says of it: in a guild also which, and the author as its member."""
        guild = self.channel.guild
        if guild is None:
            return self.json()
        member = guild.members.get(self.author.id)
        return self.json() | {"guild_id": guild.id} | ({"member": member.json(with_user=False)} if member else {})

    def for_blind(self, body: Json) -> Json:
        """`body` as it is for an application that may not read what is said to others.

        https://docs.discord.com/developers/events/gateway#message-content-intent
        """
        bot = self.channel.scene.bot
        if self.channel.guild is None or self.from_bot or bot in self.mentions:
            return body
        if body.get("referenced_message"):
            assert self.reply_to is not None
            body = body | {"referenced_message": self.reply_to.for_blind(body["referenced_message"])}
        return body | {"content": "", "embeds": [], "attachments": [], "components": []}


def notified(message: Message, allowed: Json | None) -> frozenset[str]:
    """Whom a new message notifies: without `allowed_mentions` all whom it names, and whom it replies to."""
    scene, text = message.channel.scene, message.text
    users = {user_id for user_id in re.findall(r"<@!?(\d+)>", text) if user_id in {scene.bot.id, *scene.users}}
    roles = set(re.findall(r"<@&(\d+)>", text))
    everyone = {"everyone"} if re.search(r"@(everyone|here)\b", text) else set()
    replied = {message.reply_to.author.id} if message.reply_to else set()
    if allowed is not None:
        parse = allowed.get("parse") or []
        users &= users if "users" in parse else set(map(str, allowed.get("users") or []))
        roles &= roles if "roles" in parse else set(map(str, allowed.get("roles") or []))
        everyone &= everyone if "everyone" in parse else set()
        replied &= replied if allowed.get("replied_user") else users
    return frozenset(users | roles | everyone | replied)


def fits(message: Message, wanted: Wanted) -> bool:
    if isinstance(wanted, str):
        return wanted in message.text
    if isinstance(wanted, re.Pattern):
        return bool(wanted.search(message.text))
    return wanted(message)


def _select(message: Message, raw: Json) -> Select:
    options = tuple(
        Choice(name=option["label"], value=option["value"], description=option.get("description") or "")
        for option in raw.get("options") or []
    )
    return Select(
        message=message,
        data=raw["custom_id"],
        kind=raw["type"],
        placeholder=raw.get("placeholder") or "",
        options=options,
        fewest=raw.get("min_values", 1),
        most=raw.get("max_values", 1),
    )
