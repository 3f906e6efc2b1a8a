"""Chats, their messages, topics and members, and what of them a test can wait for.

A wait looks at what the bot did since the last act of a person in that chat or topic (or since a mark), so
that an answer is never taken for the answer to an earlier question.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from platforms.core import WAIT_SECONDS, ClientRefused, Json, Signal, counter
from platforms.telegram.entities import piece
from platforms.telegram.members import BOT_RIGHTS, INSIDE, Seat, Standing, member_json
from platforms.telegram.scene import Scene

Kind = Literal["private", "group", "supergroup", "channel"]
Wanted = str | re.Pattern[str] | Callable[["Message"], bool]

QUIET_SECONDS = 0.15
"""The bot has said all when nothing changed for so long."""


@dataclass(frozen=True, kw_only=True)
class Button:
    """An inline button as it is on a message now."""

    message: Message = field(repr=False)
    text: str
    data: str | None = None
    url: str | None = None


@dataclass(eq=False)
class Topic:
    """A topic of a forum; General has the id 1."""

    chat: Chat = field(repr=False)
    id: int
    name: str
    closed: bool = False
    deleted: bool = False


@dataclass(eq=False, kw_only=True)
class Message:
    """A message; `json()` is what the Bot API says of it."""

    chat: Chat = field(repr=False)
    id: int
    date: int
    sender: Json
    content: Json
    topic: Topic | None = None
    thread_id: int | None = None
    reply_to: Message | None = field(default=None, repr=False)
    rows: list[list[Json]] = field(default_factory=list)
    from_bot: bool = False
    data: bytes | None = field(default=None, repr=False)
    deleted: bool = False
    edited_at: int | None = None
    edits: list[str] = field(default_factory=list)
    """Its earlier texts."""
    reactions: list[str] = field(default_factory=list)
    created: int = 0
    changed: int = 0

    @property
    def text(self) -> str:
        return str(self.content.get("text", self.content.get("caption", "")))

    @property
    def entities(self) -> list[Json]:
        name = "entities" if "text" in self.content else "caption_entities"
        return list(self.content.get(name) or [])

    @property
    def buttons(self) -> list[Button]:
        return [
            Button(message=self, text=raw["text"], data=raw.get("callback_data"), url=raw.get("url"))
            for row in self.rows
            for raw in row
        ]

    def button(self, wanted: str) -> Button:
        """The one button with that label or data, or whose label alone has it as a part."""
        exact = [button for button in self.buttons if wanted in (button.text, button.data)]
        found = exact or [button for button in self.buttons if wanted in button.text]
        if len(found) != 1:
            labels = [button.text for button in self.buttons]
            raise ClientRefused(f"{len(found)} buttons {wanted!r} among {labels} of {self.text[:80]!r}")
        return found[0]

    def marked(self, kind: str) -> list[str]:
        """The parts of the text under entities of that kind."""
        return [piece(self.text, entity) for entity in self.entities if entity["type"] == kind]

    def json(self, *, with_reply: bool = True) -> Json:
        chat = self.chat.json()
        body: Json = {"message_id": self.id, "date": self.date, "chat": chat, **self.sender}
        body |= {name: value for name, value in self.content.items() if value not in ("", [])}
        if self.thread_id:
            body["message_thread_id"] = self.thread_id
        if self.topic and self.topic.id != 1:
            body["is_topic_message"] = True
        if self.reply_to and with_reply and not self.reply_to.deleted:
            body["reply_to_message"] = self.reply_to.json(with_reply=False)
        if self.rows:
            body["reply_markup"] = {"inline_keyboard": self.rows}
        if self.edited_at:
            body["edit_date"] = self.edited_at
        return body


class Chat:
    """A direct chat, group, supergroup, forum or channel."""

    def __init__(
        self,
        scene: Scene,
        chat_id: int,
        kind: Kind,
        *,
        title: str = "",
        person: Json | None = None,
        forum: bool = False,
    ) -> None:
        self.scene, self.id, self.kind, self.title, self.person = scene, chat_id, kind, title, person
        self.signal = Signal()
        self.seats: dict[int, Seat] = {}
        self.messages: dict[int, Message] = {}
        self.topics: dict[int, Topic] = {}
        self.forum = forum
        self.general: Topic | None = Topic(self, 1, "General") if forum else None
        self.general_has_id = False
        """Whether messages in General carry the thread id 1, as some do."""
        self.moved_to: Chat | None = None
        self.actions: list[tuple[str, Topic | None]] = []
        """What sendChatAction showed."""
        self._next_id = counter(2) if kind in ("supergroup", "channel") else scene.next_message_id
        self._last_act: dict[Topic | None, int] = {}

    def __repr__(self) -> str:
        return f"<{self.kind} {self.title or self.id}>"

    @property
    def bot(self) -> Seat:
        return self.seats[self.scene.bot.id]

    def json(self) -> Json:
        body: Json = {"id": self.id, "type": self.kind, **(self.person or {"title": self.title})}
        return body | ({"is_forum": True} if self.forum else {})

    def standing(self, user_id: int) -> Standing:
        seat = self.seats.get(user_id)
        return seat.standing if seat else "left"

    def is_admin(self, user_id: int) -> bool:
        return self.standing(user_id) in ("creator", "administrator")

    def make_bot_admin(self, *rights: str) -> Chat:
        """With all rights of `BOT_RIGHTS`, or only those named."""
        self.bot.standing, self.bot.rights = "administrator", frozenset(rights or BOT_RIGHTS)
        return self

    def topic(self, name: str) -> Topic:
        """A topic that a person makes."""
        if not self.forum:
            raise ClientRefused(f"{self} is not a forum")
        topic = self.open_topic(name, {"from": next(iter(self.seats.values())).user}, by_bot=False)
        tell(self.messages[topic.id])
        return topic

    def open_topic(self, name: str, sender: Json, *, by_bot: bool) -> Topic:
        topic_id = self._next_id()
        topic = self.topics[topic_id] = Topic(self, topic_id, name)
        content = {"forum_topic_created": {"name": name, "icon_color": 7322096}}
        self.add(sender=sender, content=content, topic=topic, message_id=topic_id, from_bot=by_bot)
        return topic

    def delete_topic(self, topic: Topic) -> None:
        """A person deletes it with all that is in it; the bot is not told."""
        topic.deleted = True
        for message in self.messages.values():
            message.deleted = message.deleted or message.topic is topic

    def add(
        self,
        *,
        sender: Json,
        content: Json,
        topic: Topic | None = None,
        reply_to: Message | None = None,
        rows: list[list[Json]] | None = None,
        from_bot: bool = False,
        data: bytes | None = None,
        message_id: int = 0,
    ) -> Message:
        """Put a message into the chat."""
        change = self.scene.change()
        message = Message(
            chat=self,
            id=message_id or self._next_id(),
            date=int(self.scene.clock.now()),
            sender=sender,
            content=content,
            topic=topic,
            thread_id=self._thread_id(topic, reply_to),
            reply_to=reply_to,
            rows=rows or [],
            from_bot=from_bot,
            data=data,
            created=change,
            changed=change,
        )
        self.messages[message.id] = message
        if not from_bot:
            self._act(topic)
        self.touch()
        return message

    def touch(self) -> None:
        self.signal.touch()
        self.scene.signal.touch()

    def acted(self, topic: Topic | None) -> None:
        """Somebody did something here without writing, such as pressing a button."""
        self.scene.change()
        self._act(topic)

    def mark(self) -> int:
        """Now, for `since`."""
        return self.scene.changes

    async def seen(
        self, wanted: Wanted, *, topic: Topic | None = None, since: int | None = None, seconds: float = WAIT_SECONDS
    ) -> Message:
        """The first message of the bot, new or edited since, that has that text, pattern or property."""
        mark = self._since(topic) if since is None else since

        def look() -> Message | None:
            return next((m for m in self._of_bot(topic) if m.changed > mark and _fits(m, wanted)), None)

        return await self.signal.until(look, lambda: f"{wanted!r} in {self}; {self._told(topic)}", seconds)

    async def replies(
        self, count: int = 1, *, topic: Topic | None = None, since: int | None = None, seconds: float = WAIT_SECONDS
    ) -> list[Message]:
        """All new messages of the bot, when there are `count` at least and it has said all."""
        mark = self._since(topic) if since is None else since

        def look() -> list[Message]:
            return [message for message in self._of_bot(topic) if message.created > mark]

        what = f"{count} messages in {self}"
        await self.signal.until(lambda: len(look()) >= count, lambda: f"{what}; {self._told(topic)}", seconds)
        await self.signal.settled(QUIET_SECONDS)
        return look()

    async def no_replies(self, *, topic: Topic | None = None, since: int | None = None) -> None:
        """Fail if the bot says anything once it has been told everything."""
        since = self._since(topic) if since is None else since
        await self.scene.updates.taken()
        await self.signal.settled(QUIET_SECONDS)
        said = [m.text for m in self._of_bot(topic) if m.changed > since]
        assert not said, f"the bot said in {self}: {said}"

    async def gone(self, message: Message, *, seconds: float = WAIT_SECONDS) -> None:
        """Wait until it is deleted."""
        await self.signal.until(lambda: message.deleted, lambda: f"{message} is deleted", seconds)

    def said(self, topic: Topic | None = None) -> list[Message]:
        """All that the bot said here and did not delete."""
        return list(self._of_bot(topic))

    def find(self, text: str) -> Message:
        """The last message with that text, whoever wrote it."""
        return next(m for m in reversed(self.messages.values()) if text in m.text and not m.deleted)

    def _of_bot(self, topic: Topic | None) -> Iterator[Message]:
        for message in list(self.messages.values()):
            if message.from_bot and not message.deleted and (topic is None or message.topic is topic):
                yield message

    def _thread_id(self, topic: Topic | None, reply_to: Message | None) -> int | None:
        if topic is not None:
            return topic.id if topic.id != 1 or self.general_has_id else None
        if self.kind == "supergroup" and reply_to is not None:
            return reply_to.thread_id or reply_to.id
        return None

    def _act(self, topic: Topic | None) -> None:
        self._last_act[None] = self._last_act[topic] = self.scene.changes

    def _since(self, topic: Topic | None) -> int:
        return self._last_act.get(topic, 0)

    def _told(self, topic: Topic | None) -> str:
        return f"the bot's last messages: {[message.text[:200] for message in self._of_bot(topic)][-4:]}"


def tell(message: Message, *, edited: bool = False) -> None:
    """Queue the update of a message, if the bot is told of it."""
    if bot_sees(message):
        kind = "channel_post" if message.chat.kind == "channel" else "message"
        message.chat.scene.updates.push(f"edited_{kind}" if edited else kind, message.json())


def change_seat(
    chat: Chat,
    by: Json,
    seat: Seat,
    standing: Standing,
    *,
    anonymous: bool = False,
    rights: frozenset[str] = frozenset(),
) -> None:
    """Somebody's place in a chat changes. Of others than the bot itself only admins among the bots are told."""
    before, was_admin = member_json(seat), chat.bot.standing == "administrator"
    seat.standing, seat.anonymous, seat.rights = standing, anonymous, rights
    if seat is not chat.bot and not was_admin:
        return
    payload = {
        "chat": chat.json(),
        "from": by,
        "date": int(chat.scene.clock.now()),
        "old_chat_member": before,
        "new_chat_member": member_json(seat),
    }
    chat.scene.updates.push("my_chat_member" if seat is chat.bot else "chat_member", payload)


def bot_sees(message: Message) -> bool:
    """https://core.telegram.org/bots/features#privacy-mode"""
    chat, bot = message.chat, message.chat.scene.bot
    if chat.bot.standing not in INSIDE:
        return False
    if chat.kind in ("private", "channel") or chat.bot.standing == "administrator" or not bot.privacy:
        return True
    if not message.content.keys() & {"text", "document", "photo"}:
        return True
    return bool(message.reply_to and message.reply_to.from_bot) or _is_command_for(bot.username, message)


def _is_command_for(username: str, message: Message) -> bool:
    first = message.entities[0] if message.entities else {}
    if first.get("type") != "bot_command" or first["offset"]:
        return False
    return piece(message.text, first).partition("@")[2].lower() in ("", username.lower())


def _fits(message: Message, wanted: Wanted) -> bool:
    if isinstance(wanted, str):
        return wanted in message.text
    if isinstance(wanted, re.Pattern):
        return bool(wanted.search(message.text))
    return wanted(message)
