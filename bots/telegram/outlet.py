"""Speaks in Telegram's chats: what is said becomes messages within its limits, and edits and deletions of them."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from telegram import Bot, ChatMemberAdministrator, InlineKeyboardMarkup, LinkPreviewOptions, Message, ReplyParameters
from telegram.constants import ChatAction
from telegram.error import ChatMigrated, TelegramError

from turnback.bots.platform import Said, Unreachable
from turnback.bots.telegram.keyboard import addresses, keyboard
from turnback.bots.telegram.keys import Spot, spot_of
from turnback.bots.telegram.markup import MOST_PARTS, Part, rendered, shortened, split
from turnback.bots.telegram.trouble import MessageGone, TopicGone, Unchanged, Unformatted, sent
from turnback.core.models import Surface

CAPTION = 1000
"""Code units of a file's caption; Telegram takes 1024."""

TOPIC_NAME = 128
DELETED_AT_ONCE = 100

LONG_TEXT = 4000
"""Characters from which a text is rendered in a thread, since it takes over a few milliseconds."""

_SHOWN_KEPT = 4096
_BLANK = "…"
_NO_PREVIEW = LinkPreviewOptions(is_disabled=True)

OnMoved = Callable[[int, int], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class _Content:
    """What a message shows or shall show."""

    part: Part
    buttons: InlineKeyboardMarkup | None = None


@dataclass(frozen=True, slots=True)
class _Shape:
    """A `Said` cut into messages; a `file` stands for all of it, then `contents` is only its caption."""

    contents: tuple[_Content, ...]
    file: tuple[str, bytes] | None = None


class TelegramOutlet:
    """See `platform.Outlet`."""

    surface = Surface.TELEGRAM
    edit_every = 1.2

    def __init__(self, bot: Bot, on_moved: OnMoved) -> None:
        """`on_moved` is told of a group whose id has changed, the old one and the new one."""
        self._bot = bot
        self._on_moved = on_moved
        self._moved: dict[int, int] = {}
        self._shown: OrderedDict[tuple[int, str], _Content | None] = OrderedDict()

    async def send(self, place: str, said: Said) -> Sequence[str]:
        """Show something."""
        shape = await _shape(said)
        return await self._send_all(spot_of(place), shape, said.reply_to)

    async def edit(self, place: str, messages: Sequence[str], said: Said) -> Sequence[str]:
        """Show this instead; deletes messages that are not needed any more, adds those that are missing."""
        spot, shape = self.here(spot_of(place)), await _shape(said)
        if shape.file is not None or self._are_elsewhere(spot, messages):
            new = await self._send_all(spot, shape, said.reply_to)
            await self.delete(place, messages)
            return new
        ids = list[str]()
        for number, content in enumerate(shape.contents):
            old = messages[number] if number < len(messages) else None
            ids.append(await self._show(spot, content, old))
        if left := messages[len(shape.contents) :]:
            await self.delete(place, left)
        return ids

    async def delete(self, place: str, messages: Sequence[str]) -> None:
        """Delete messages; those that are too old or gone stay as they are."""
        chat = self.here(spot_of(place)).chat
        known = [m for m in messages if not self._are_elsewhere(Spot(chat), [m])]
        for start in range(0, len(known), DELETED_AT_ONCE):
            await self._delete(chat, known[start : start + DELETED_AT_ONCE])

    async def typing(self, place: str) -> None:
        """Show that an answer is being written. It is a courtesy: whatever is in its way, nothing is said of it."""
        spot = self.here(spot_of(place))
        with suppress(TelegramError):
            await self._bot.send_chat_action(spot.chat, ChatAction.TYPING, message_thread_id=spot.topic)

    async def open_beside(self, place: str, title: str) -> str | None:
        """Open a topic, where the chat is a forum and we may."""
        chat = self.here(spot_of(place)).chat
        name = shortened(" ".join(title.split()), TOPIC_NAME)
        try:
            us = await sent(lambda: self._bot.get_chat_member(chat, self._bot.id))
            if not isinstance(us, ChatMemberAdministrator) or not us.can_manage_topics:
                return None
            topic = await sent(lambda: self._bot.create_forum_topic(chat, name))
        except (Unreachable, ChatMigrated):
            return None
        return Spot(chat, topic.message_thread_id).key

    async def direct(self, user_key: str) -> str | None:
        """The private chat with a user has the user's own id. Whether they ever wrote to us, only trying tells."""
        return user_key if user_key.isdecimal() else None

    async def ask(self, spot: Spot, said: Said, **form: object) -> str:
        """Show one message in a native form of its own, such as one that wants to be answered."""
        content = _Content((await _shape(said)).contents[0].part)
        return await self._send_new(spot, content, reply_to=said.reply_to, **form)

    def note_move(self, old: int, new: int) -> None:
        """A group has a new id: what is meant for the old one goes there from now on."""
        self._moved[old] = new

    def here(self, spot: Spot) -> Spot:
        """The same place by its chat's present id."""
        return Spot(self._moved[spot.chat], spot.topic) if spot.chat in self._moved else spot

    async def _send_all(self, spot: Spot, shape: _Shape, reply_to: str | None) -> list[str]:
        if shape.file is not None:
            return [await self._send_file(spot, shape, reply_to)]
        ids = list[str]()
        for content in shape.contents:
            ids.append(await self._send_new(spot, content, reply_to=None if ids else reply_to))
        return ids

    async def _show(self, spot: Spot, content: _Content, old: str | None) -> str:
        """Show something in a message, in a new one if there is none or it is gone."""
        if old is None:
            return await self._send_new(spot, content)
        if self._shown.get((spot.chat, old)) == content:
            return old
        try:
            await self._change(spot.chat, old, content)
        except Unchanged:
            pass
        except MessageGone:
            return await self._send_new(spot, content)
        except ChatMigrated as moved:
            await self._follow(spot.chat, moved)
            return await self._send_new(spot, content)
        self._note_shown(spot.chat, old, content)
        return old

    async def _change(self, chat: int, message: str, content: _Content) -> None:
        async def change(part: Part) -> None:
            await sent(
                lambda: self._bot.edit_message_text(
                    part.text,
                    chat,
                    int(message),
                    entities=part.entities(),
                    reply_markup=content.buttons,
                    link_preview_options=_NO_PREVIEW,
                )
            )

        try:
            await change(content.part)
        except Unformatted:
            await change(Part(content.part.text))

    async def _send_new(self, spot: Spot, content: _Content, *, reply_to: str | None = None, **form: object) -> str:
        async def send(there: Spot, part: Part) -> Message:
            return await sent(
                lambda: self._bot.send_message(
                    there.chat,
                    part.text,
                    entities=part.entities(),
                    message_thread_id=there.topic,
                    reply_parameters=_reply(reply_to if there.chat == spot.chat else None),
                    link_preview_options=_NO_PREVIEW,
                    **({"reply_markup": content.buttons} | form),  # type: ignore[arg-type]
                )
            )

        async def send_formatted(there: Spot) -> Message:
            try:
                return await send(there, content.part)
            except Unformatted:
                return await send(there, Part(content.part.text))

        message = await self._reaching(spot, send_formatted)
        self._note_shown(message.chat.id, str(message.message_id), content)
        return str(message.message_id)

    async def _send_file(self, spot: Spot, shape: _Shape, reply_to: str | None) -> str:
        assert shape.file is not None
        (name, data), caption = shape.file, shape.contents[0]

        async def send(there: Spot) -> Message:
            return await sent(
                lambda: self._bot.send_document(
                    there.chat,
                    data,
                    caption=caption.part.text,
                    filename=name,
                    message_thread_id=there.topic,
                    reply_parameters=_reply(reply_to if there.chat == spot.chat else None),
                    reply_markup=caption.buttons,
                )
            )

        message = await self._reaching(spot, send)
        self._note_shown(message.chat.id, str(message.message_id), None)
        return str(message.message_id)

    async def _reaching(self, spot: Spot, send: Callable[[Spot], Awaitable[Message]]) -> Message:
        """Send to where the place is now: without its topic if that is gone, to the group's new id if it has one."""
        there = self.here(spot)
        try:
            return await self._in_topic(there, send)
        except ChatMigrated as moved:
            await self._follow(there.chat, moved)
            return await self._in_topic(self.here(there), send)

    async def _in_topic(self, spot: Spot, send: Callable[[Spot], Awaitable[Message]]) -> Message:
        try:
            return await send(spot)
        except TopicGone:
            return await send(Spot(spot.chat))

    async def _follow(self, old: int, moved: ChatMigrated) -> None:
        self.note_move(old, moved.new_chat_id)
        await self._on_moved(old, moved.new_chat_id)

    async def _delete(self, chat: int, messages: Sequence[str]) -> None:
        """All at once; where Telegram refuses one of them, one by one."""
        try:
            await sent(lambda: self._bot.delete_messages(chat, [int(m) for m in messages]))
        except (Unreachable, MessageGone, ChatMigrated):
            for message in messages if len(messages) > 1 else ():
                with suppress(Unreachable, MessageGone, ChatMigrated):
                    await sent(lambda message=message: self._bot.delete_message(chat, int(message)))  # type: ignore[misc]
        for message in messages:
            self._shown.pop((chat, message), None)

    def _are_elsewhere(self, spot: Spot, messages: Sequence[str]) -> bool:
        """Whether these messages are from before a group had its present id: there, the numbers are others'."""
        if spot.chat not in self._moved.values():
            return False
        return any((spot.chat, message) not in self._shown for message in messages)

    def _note_shown(self, chat: int, message: str, content: _Content | None) -> None:
        self._shown[chat, message] = content
        self._shown.move_to_end((chat, message))
        if len(self._shown) > _SHOWN_KEPT:
            self._shown.popitem(last=False)


async def _shape(said: Said) -> _Shape:
    if len(said.text) < LONG_TEXT:
        return _cut(said)
    return await asyncio.to_thread(_cut, said)


def _cut(said: Said) -> _Shape:
    buttons = keyboard(said)
    text = "\n".join([said.text, *addresses(said)])
    parts = split(rendered(text, markdown=said.markdown)) or [Part(_BLANK)]
    if len(parts) > MOST_PARTS:
        caption = Part(shortened(parts[0].text, CAPTION))
        name = "answer.md" if said.markdown else "answer.txt"
        return _Shape((_Content(caption, buttons),), (name, text.encode("utf-8", "replace")))
    return _Shape((*(_Content(part) for part in parts[:-1]), _Content(parts[-1], buttons)))


def _reply(message: str | None) -> ReplyParameters | None:
    if message is None:
        return None
    return ReplyParameters(int(message), allow_sending_without_reply=True)
