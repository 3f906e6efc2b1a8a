"""Channels, threads and direct chats, and what of them a test can wait for.

A wait looks at what the bot did since the last act of a person in that channel (or since a mark), so that
an answer is never taken for the answer to an earlier question. What only one person sees counts, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from platforms.core import WAIT_SECONDS, Json, Signal
from platforms.discord import permissions
from platforms.discord.gateway import DIRECT_MESSAGES, GUILD_MESSAGES, GUILDS
from platforms.discord.messages import DEFAULT, Message, Wanted, fits, notified
from platforms.discord.permissions import Overwrite
from platforms.discord.scene import Account, Scene

if TYPE_CHECKING:
    from platforms.discord.guilds import Guild, Role

QUIET_SECONDS = 0.15
"""The bot has said all when nothing changed for so long."""
BEGAN = "2026-01-01T00:00:00+00:00"


class Kind(IntEnum):
    """Types of channels."""

    TEXT = 0
    DM = 1
    PUBLIC_THREAD = 11
    PRIVATE_THREAD = 12
    FORUM = 15


THREADS = (Kind.PUBLIC_THREAD, Kind.PRIVATE_THREAD)


class Channel:
    """A text channel, forum, thread or direct chat."""

    def __init__(
        self,
        scene: Scene,
        kind: Kind,
        name: str,
        *,
        guild: Guild | None = None,
        parent: Channel | None = None,
        recipient: Account | None = None,
        owner: Account | None = None,
        channel_id: str = "",
    ) -> None:
        self.scene, self.kind, self.name, self.guild, self.parent = scene, kind, name, guild, parent
        self.id = channel_id or scene.snowflake()
        self.signal = Signal()
        self.recipient, self.owner = recipient, owner
        self.messages: dict[str, Message] = {}
        self.overwrites: dict[str, Overwrite] = {}
        self.inside: set[str] = {owner.id} if owner else set()
        """Ids of a thread's members."""
        self.archived = self.locked = self.deleted = False
        self.archive_minutes = 4320
        self.blocked = False
        """Whether the person of a direct chat takes no messages of the bot."""
        self.typed = 0
        """How often the bot showed that it is typing."""
        self.nonces: dict[str, Message] = {}
        self._last_act = 0
        scene.channels[self.id] = self

    def __repr__(self) -> str:
        return f"<{self.kind.name.lower()} {self.name}>"

    @property
    def mention(self) -> str:
        return f"<#{self.id}>"

    @property
    def is_thread(self) -> bool:
        return self.kind in THREADS

    @property
    def bot_permissions(self) -> int:
        return self.permissions_of(self.scene.bot)

    @property
    def bot_sees(self) -> bool:
        bot = self.scene.bot
        if self.kind is Kind.PRIVATE_THREAD and bot.id not in self.inside:
            return permissions.has(self.bot_permissions, "manage_threads")
        return permissions.has(self.bot_permissions, "view_channel")

    def permissions_of(self, account: Account) -> int:
        return permissions.ALL if self.guild is None else self.guild.permissions_of(account, self)

    def allow(self, who: Account | Role, *names: str) -> Channel:
        return self._overwrite(who, allow=permissions.bits(*names))

    def deny(self, who: Account | Role, *names: str) -> Channel:
        """Take permissions away here; `guild.everyone` is the role of all."""
        return self._overwrite(who, deny=permissions.bits(*names))

    def rename(self, name: str) -> None:
        self.name = name
        self.tell_update()

    def delete(self) -> None:
        """Somebody deletes it with all that is in it."""
        self.deleted = True
        self.scene.channels.pop(self.id)
        if self.guild is not None:
            self.guild.channels.remove(self)
            data = {**self.json(), "guild_id": self.guild.id}
            self.scene.gateway.tell("THREAD_DELETE" if self.is_thread else "CHANNEL_DELETE", data, intents=GUILDS)

    def archive(self, *, locked: bool = False) -> None:
        """Close a thread, as its time or a moderator (`locked`) does."""
        self.archived, self.locked = True, locked
        self.tell_update()

    def unarchive(self) -> None:
        """Open it again, as a moderator does."""
        self.archived = self.locked = False
        self.tell_update()

    def add(
        self,
        author: Account,
        text: str,
        *,
        files: Mapping[str, bytes] | None = None,
        allowed_mentions: Json | None = None,
        message_id: str = "",
        **more: Any,
    ) -> Message:
        """Put a message into the channel and tell the bot."""
        change = self.scene.change()
        message = Message(
            channel=self,
            id=message_id or self.scene.snowflake(),
            author=author,
            at=self.scene.now(),
            text=text.strip(),
            created=change,
            changed=change,
            **more,
        )
        message.attach(files or {})
        message.pings = notified(message, allowed_mentions)
        self.messages[message.id] = message
        if self.is_thread:
            self.inside.add(author.id)
        if message.type == DEFAULT and not message.from_bot:
            self._last_act = change
        self.tell("MESSAGE_CREATE", message)
        self.touch()
        return message

    def tell(self, event: str, message: Message) -> None:
        """What the gateway says of a message, to those who may see it."""
        if message.ephemeral or not self.bot_sees:
            return
        intents = GUILD_MESSAGES if self.guild else DIRECT_MESSAGES
        if event == "MESSAGE_DELETE":
            data = {"id": message.id, "channel_id": self.id} | ({"guild_id": self.guild.id} if self.guild else {})
            self.scene.gateway.tell(event, data, intents=intents)
            return
        body = message.event()
        self.scene.gateway.tell(event, body, intents=intents, hidden=message.for_blind(body))

    def tell_update(self) -> None:
        event = "THREAD_UPDATE" if self.is_thread else "CHANNEL_UPDATE"
        if self.guild is not None and (self.bot_sees or not self.is_thread):
            self.scene.gateway.tell(event, self.json(), intents=GUILDS)
        self.touch()

    def touch(self) -> None:
        self.signal.touch()
        self.scene.signal.touch()

    def acted(self) -> None:
        """Somebody did something here without writing, such as pressing a button."""
        self._last_act = self.scene.change()

    def mark(self) -> int:
        """Now, for `since`."""
        return self.scene.changes

    async def seen(self, wanted: Wanted, *, since: int | None = None, seconds: float = WAIT_SECONDS) -> Message:
        """The first message of the bot, new or edited since, that has that text, pattern or property."""
        mark = self._last_act if since is None else since

        def look() -> Message | None:
            return next((m for m in self._of_bot() if m.changed > mark and fits(m, wanted)), None)

        return await self.signal.until(look, lambda: f"{wanted!r} in {self}; {self._told()}", seconds)

    async def replies(
        self, count: int = 1, *, since: int | None = None, seconds: float = WAIT_SECONDS
    ) -> list[Message]:
        """All new messages of the bot, when there are `count` at least and it has said all."""
        mark = self._last_act if since is None else since

        def look() -> list[Message]:
            return [message for message in self._of_bot() if message.created > mark]

        what = f"{count} messages in {self}"
        await self.signal.until(lambda: len(look()) >= count, lambda: f"{what}; {self._told()}", seconds)
        await self.signal.settled(QUIET_SECONDS)
        return look()

    async def no_replies(self, *, since: int | None = None) -> None:
        """Fail if the bot says anything once it has been told everything."""
        mark = self._last_act if since is None else since
        await self.scene.gateway.flushed()
        await self.signal.settled(QUIET_SECONDS)
        said = [message.text for message in self._of_bot() if message.changed > mark]
        assert not said, f"the bot said in {self}: {said}"

    async def gone(self, message: Message, *, seconds: float = WAIT_SECONDS) -> None:
        """Wait until it is deleted."""
        await self.signal.until(lambda: message.deleted, lambda: f"{message} is deleted", seconds)

    async def thread_of(self, name: str, *, seconds: float = WAIT_SECONDS) -> Channel:
        """The thread of that name below this channel, when there is one."""

        def look() -> Channel | None:
            threads = self.guild.channels if self.guild else []
            return next((thread for thread in threads if thread.parent is self and name in thread.name), None)

        return await self.scene.signal.until(look, lambda: f"a thread {name!r} in {self}", seconds)

    def said(self) -> list[Message]:
        """All that the bot said here and did not delete."""
        return list(self._of_bot())

    def find(self, text: str) -> Message:
        """The last message with that text, whoever wrote it."""
        return next(m for m in reversed(self.messages.values()) if text in m.text and m.shown)

    def json(self) -> Json:
        if self.kind is Kind.DM:
            assert self.recipient is not None
            return {"id": self.id, "type": 1, "flags": 0, "recipients": [self.recipient.json()]} | _NO_LAST
        assert self.guild is not None
        body: Json = {"id": self.id, "type": int(self.kind), "guild_id": self.guild.id, "name": self.name, "flags": 0}
        body |= {"parent_id": self.parent.id if self.parent else None, "rate_limit_per_user": 0, **_NO_LAST}
        if self.is_thread:
            return body | self._thread_json()
        overwrites = [
            {"id": who, "type": 0 if o.role else 1, "allow": str(o.allow), "deny": str(o.deny)}
            for who, o in self.overwrites.items()
        ]
        forum = {"available_tags": [], "default_forum_layout": 0} if self.kind is Kind.FORUM else {}
        return body | {"position": 0, "nsfw": False, "topic": None, "permission_overwrites": overwrites, **forum}

    def _thread_json(self) -> Json:
        metadata = {
            "archived": self.archived,
            "locked": self.locked,
            "auto_archive_duration": self.archive_minutes,
            "archive_timestamp": BEGAN,
            "create_timestamp": BEGAN,
        }
        body: Json = {"owner_id": self.owner.id if self.owner else "0", "thread_metadata": metadata}
        body |= {"message_count": len(self.messages), "total_message_sent": len(self.messages)}
        body |= {"member_count": len(self.inside)}
        if self.scene.bot.id in self.inside:
            body["member"] = {"id": self.id, "user_id": self.scene.bot.id, "join_timestamp": BEGAN, "flags": 0}
        return body

    def _overwrite(self, who: Account | Role, *, allow: int = 0, deny: int = 0) -> Channel:
        old = self.overwrites.get(who.id) or Overwrite(role=not isinstance(who, Account))
        self.overwrites[who.id] = Overwrite(
            role=old.role, allow=old.allow & ~deny | allow, deny=old.deny & ~allow | deny
        )
        self.tell_update()
        return self

    def _of_bot(self) -> Iterator[Message]:
        for message in list(self.messages.values()):
            if message.from_bot and message.shown and message.type not in (18, 21):
                yield message

    def _told(self) -> str:
        return f"the bot's last messages: {[message.text[:200] for message in self._of_bot()][-4:]}"


_NO_LAST: Json = {"last_message_id": None}
