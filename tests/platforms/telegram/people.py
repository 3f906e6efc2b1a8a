"""People with Telegram's own client: what they do reaches the bot as updates.

What the client would not let them do raises ClientRefused. A direct chat begins with the first word to the bot.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from platforms.core import WAIT_SECONDS, ClientRefused, Json, utf16_len
from platforms.telegram.chats import Button, Chat, Message, Topic, change_seat, tell
from platforms.telegram.entities import with_found
from platforms.telegram.members import INSIDE, Seat, Standing
from platforms.telegram.rules import CAPTION_LIMIT, TEXT_LIMIT
from platforms.telegram.scene import Scene

EDIT_SECONDS = 48 * 3600
ANONYMOUS = {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"}
JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF" + bytes(64)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What answerCallbackQuery showed the person."""

    text: str
    alert: bool = False
    url: str = ""


@dataclass(eq=False, kw_only=True)
class Press:
    """A pressed button."""

    id: str
    user: User = field(repr=False)
    button: Button
    at: float
    answer: Answer | None = None

    async def answered(self, *, seconds: float = WAIT_SECONDS) -> Answer:
        """Wait until the bot has answered the press."""
        signal = self.button.message.chat.signal
        return await signal.until(lambda: self.answer, lambda: f"an answer to {self.button.text!r}", seconds)


class User:
    """A person."""

    def __init__(self, scene: Scene, user_id: int, name: str, *, username: str, language: str) -> None:
        self.scene, self.id, self.name, self.username, self.language = scene, user_id, name, username, language
        self.private = Chat(scene, user_id, "private", person={"first_name": name, "username": username})
        self.private.seats = {
            user_id: Seat(user=self.json()),
            scene.bot.id: Seat(user=scene.bot.json(), standing="stranger"),
        }

    def __repr__(self) -> str:
        return f"<user {self.name}>"

    def json(self) -> Json:
        return {
            "id": self.id,
            "is_bot": False,
            "first_name": self.name,
            "username": self.username,
            "language_code": self.language,
        }

    async def say(
        self, text: str, chat: Chat | None = None, *, topic: Topic | None = None, reply_to: Message | None = None
    ) -> Message:
        """Write in a chat; in the direct chat with the bot unless told where."""
        if not text.strip() or utf16_len(text) > TEXT_LIMIT:
            raise ClientRefused(f"a message has 1 to {TEXT_LIMIT} characters")
        content = {"text": text, "entities": with_found(text, [])}
        return self._send(content, chat, topic=topic, reply_to=reply_to)

    async def command(
        self,
        text: str,
        chat: Chat | None = None,
        *,
        topic: Topic | None = None,
        reply_to: Message | None = None,
        named: bool = False,
    ) -> Message:
        """Type a command; `named` adds the bot's name, as choosing it from the menu of a group does."""
        word, _, rest = text.removeprefix("/").partition(" ")
        name = f"@{self.scene.bot.username}" if named else ""
        return await self.say(f"/{word}{name} {rest}".rstrip(), chat, topic=topic, reply_to=reply_to)

    async def send_document(
        self,
        name: str,
        data: bytes,
        chat: Chat | None = None,
        *,
        caption: str = "",
        mime: str = "application/octet-stream",
        album: str = "",
        topic: Topic | None = None,
        reply_to: Message | None = None,
    ) -> Message:
        """Send a file; files with the same `album` belong together."""
        content = self.scene.files.document(name, data, mime) | _captioned(caption, album)
        return self._send(content, chat, topic=topic, reply_to=reply_to, data=data)

    async def send_photo(
        self,
        data: bytes = JPEG,
        chat: Chat | None = None,
        *,
        caption: str = "",
        album: str = "",
        topic: Topic | None = None,
        reply_to: Message | None = None,
    ) -> Message:
        content = self.scene.files.photo(data) | _captioned(caption, album)
        return self._send(content, chat, topic=topic, reply_to=reply_to, data=data)

    async def edit(self, message: Message, text: str) -> None:
        """Change one's own message. With the same text: Telegram changed something about it that nobody sees."""
        if message.deleted or message.sender.get("from", {}).get("id") != self.id:
            raise ClientRefused("only one's own messages can be edited")
        if self.scene.clock.now() - message.date > EDIT_SECONDS:
            raise ClientRefused("the message is too old to be edited")
        name = "text" if "text" in message.content else "caption"
        marks = "entities" if name == "text" else "caption_entities"
        message.edits.append(message.text)
        message.content = {**message.content, name: text, marks: with_found(text, [])}
        message.edited_at = int(self.scene.clock.now())
        message.chat.acted(message.topic)
        tell(message, edited=True)

    async def delete(self, message: Message) -> None:
        """Delete a message for everybody; a bot is never told."""
        own = message.sender.get("from", {}).get("id") == self.id
        if message.deleted or not (own or message.chat.kind == "private" or message.chat.is_admin(self.id)):
            raise ClientRefused("this message is not theirs to delete")
        message.deleted = True

    async def press(self, button: str | Button, message: Message | None = None) -> Press:
        """Press a button by its label or data; `answered()` waits for what the bot shows.

        A Button that was taken before may have been changed or deleted since: a press that was on its way.
        """
        if isinstance(button, str):
            if message is None:
                raise ClientRefused("a label needs its message")
            if message.deleted:
                raise ClientRefused("the message is gone")
            button = message.button(button)
        chat = button.message.chat
        self._check_inside(chat)
        if button.data is None:
            raise ClientRefused(f"{button.text!r} opens {button.url}; the bot is not told")
        chat.acted(button.message.topic)
        press = Press(id=str(self.scene.next_press_id()), user=self, button=button, at=self.scene.clock.now())
        self.scene.presses[press.id] = press
        payload = {
            "id": press.id,
            "from": self.json(),
            "message": _pressed(button.message),
            "chat_instance": str(abs(chat.id)),
            "data": button.data,
        }
        self.scene.updates.push("callback_query", payload)
        return press

    def menu(self, chat: Chat | None = None) -> list[str]:
        """The commands that the client offers."""
        chat = chat or self.private
        private, admin = chat.kind == "private", chat.is_admin(self.id)
        seen = self.scene.menus.seen_by(self.id, self.language, chat.id, private=private, admin=admin)
        return [str(command["command"]) for command in seen]

    async def block_bot(self) -> None:
        self._change_bot(self.private, "blocked")

    async def unblock_bot(self) -> None:
        self._change_bot(self.private, "member")

    async def add_bot(self, chat: Chat) -> None:
        """Put the bot into a group."""
        self._check_inside(chat)
        self._change_bot(chat, "member")
        if chat.kind != "channel":
            self._service(chat, {"new_chat_members": [self.scene.bot.json()]})

    async def kick_bot(self, chat: Chat) -> None:
        if not chat.is_admin(self.id):
            raise ClientRefused("only admins remove members")
        self._change_bot(chat, "kicked")

    async def leave(self, chat: Chat, *, shown: bool = True) -> None:
        """`shown`: the group sees a message of it, as small ones do."""
        self._check_inside(chat)
        if shown:
            self._service(chat, {"left_chat_member": self.json()})
        change_seat(chat, self.json(), chat.seats[self.id], "left")

    async def remove(self, other: User, chat: Chat) -> None:
        """Throw somebody out."""
        if not chat.is_admin(self.id):
            raise ClientRefused("only admins remove members")
        self._service(chat, {"left_chat_member": other.json()})
        change_seat(chat, self.json(), chat.seats[other.id], "kicked")

    async def join(self, chat: Chat) -> None:
        chat.seats[self.id] = Seat(user=self.json())
        self._service(chat, {"new_chat_members": [self.json()]})

    async def close_topic(self, topic: Topic) -> None:
        if not topic.chat.is_admin(self.id):
            raise ClientRefused("only admins close topics")
        topic.closed = True
        self._service(topic.chat, {"forum_topic_closed": {}}, topic=topic)

    def _send(
        self,
        content: Json,
        chat: Chat | None,
        *,
        topic: Topic | None,
        reply_to: Message | None,
        data: bytes | None = None,
    ) -> Message:
        chat = chat or self.private
        self._check_may_write(chat, topic, reply_to)
        if chat.kind == "private":
            chat.bot.standing = "member"
        if topic is None and chat.forum:
            topic = reply_to.topic if reply_to else chat.general
        message = chat.add(sender=self._sender(chat), content=content, topic=topic, reply_to=reply_to, data=data)
        tell(message)
        return message

    def _check_may_write(self, chat: Chat, topic: Topic | None, reply_to: Message | None) -> None:
        self._check_inside(chat)
        if chat.kind == "private" and chat.bot.standing == "blocked":
            raise ClientRefused("the bot is blocked")
        if chat.kind == "channel" and not chat.is_admin(self.id):
            raise ClientRefused("only admins write in a channel")
        if topic and (topic.chat is not chat or topic.deleted or (topic.closed and not chat.is_admin(self.id))):
            raise ClientRefused(f"nobody can write in {topic}")
        if reply_to and (reply_to.deleted or reply_to.chat is not chat):
            raise ClientRefused("there is no such message to reply to")

    def _check_inside(self, chat: Chat) -> None:
        if chat.moved_to is not None:
            raise ClientRefused(f"{chat} has become {chat.moved_to}")
        if chat.standing(self.id) not in INSIDE:
            raise ClientRefused(f"{self.name} is not in {chat}")

    def _sender(self, chat: Chat) -> Json:
        if chat.kind == "channel":
            return {"sender_chat": chat.json()}
        if chat.seats[self.id].anonymous:
            return {"from": ANONYMOUS, "sender_chat": chat.json()}
        return {"from": self.json()}

    def _service(self, chat: Chat, content: Json, *, topic: Topic | None = None) -> None:
        tell(chat.add(sender=self._sender(chat), content=content, topic=topic or chat.general))

    def _change_bot(self, chat: Chat, standing: Standing) -> None:
        change_seat(chat, self.json(), chat.bot, standing)


def _pressed(message: Message) -> Json:
    if message.deleted:
        return {"chat": message.chat.json(), "message_id": message.id, "date": 0}
    return message.json()


def _captioned(caption: str, album: str) -> Json:
    if utf16_len(caption) > CAPTION_LIMIT:
        raise ClientRefused(f"a caption has up to {CAPTION_LIMIT} characters")
    body: Json = {"caption": caption, "caption_entities": with_found(caption, [])}
    return body | ({"media_group_id": album} if album else {})
