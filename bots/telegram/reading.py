"""What an update says: which are for us, where they were written, by whom, and in which words. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass

from telegram import CallbackQuery, Chat, ChatMember, ChatMemberRestricted, Message, MessageEntity, Update, User
from telegram.constants import ChatMemberStatus, ChatType

from turnback.bots.platform import Person
from turnback.bots.telegram.keys import Spot, spot_in
from turnback.core.models import Surface

UPDATES = ["message", "channel_post", "callback_query", "chat_member", "my_chat_member"]
"""What we ask Telegram for. Edited messages start nothing, so we are not even told. Of members of a group it tells
only bots that are admins there, beside a message that all see in small groups."""

LINKED = {"web": "/web", "chats": "/chats", "help": "/help"}
"""Commands that a link into the direct chat may stand for. Anybody can make such a link, so all are harmless."""

OPEN_END = " …"
"""The end of a line with a command that the answer to that message completes."""

_START = re.compile(r"/start(?:@(?P<name>\w+))?(?:\s+(?P<what>[\w-]+))?\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """An update that is for us: a message, a press on a button, or somebody who is no more in a group."""

    update_id: int
    spot: Spot
    chat: Chat
    message: Message | None = None
    query: CallbackQuery | None = None
    gone: User | None = None

    @property
    def album(self) -> tuple[int, str]:
        """The photos and files that a message is one of, within its chat; empty for one of its own."""
        return self.chat.id, (self.message.media_group_id if self.message else None) or ""


@dataclass(frozen=True, slots=True)
class Words:
    """A message's text as the chat layer reads it; fields as in `platform.Message`."""

    text: str
    addressed: bool
    mentioned: bool = False


def migration(update: Update) -> tuple[int, int] | None:
    """The old and the new id of a group that became a supergroup."""
    message = update.message
    if message is None:
        return None
    if message.migrate_to_chat_id:
        return message.chat.id, message.migrate_to_chat_id
    if message.migrate_from_chat_id:
        return message.migrate_from_chat_id, message.chat.id
    return None


def hear(update: Update, me: User, albums: Container[tuple[int, str]] = ()) -> Heard | None:
    """Whether an update is for us. In a group we listen to nothing but commands and what is addressed to us.

    `albums` (chat and group id) were addressed to us by another photo of theirs.
    """
    query = update.callback_query
    if query is not None:
        return _hear_press(update.update_id, query)
    if (left := _left(update)) is not None:
        chat, gone = left
        return Heard(update_id=update.update_id, spot=Spot(chat.id), chat=chat, gone=gone)
    message = update.message or update.channel_post
    if message is None or _is_machine(message) or not _has_content(message):
        return None
    words = words_of(message, me)
    heard = Heard(update_id=update.update_id, spot=spot_in(message), chat=message.chat, message=message)
    in_album = message.media_group_id is not None and heard.album in albums
    return heard if words.addressed or words.text.startswith("/") or in_album else None


def words_of(message: Message, me: User) -> Words:
    """The words of a message, without the mention of us that they begin or end with."""
    text = message.text or message.caption or ""
    if (command := completed(message, me)) is not None:
        return Words(command, addressed=True)
    text, mentioned = _without_mention(text, me)
    named = re.match(rf"/\w+@{re.escape(me.username or '')}\b", text, re.IGNORECASE) is not None
    direct = message.chat.type == ChatType.PRIVATE
    addressed = direct or mentioned or named or _mentions(message, me) or _answers(message, me)
    return Words(_started(text, me, direct=direct), addressed, mentioned)


def completed(message: Message, me: User) -> str | None:
    """The command that this message completes, as the answer to a question of ours."""
    asked = message.reply_to_message
    if asked is None or asked.from_user is None or asked.from_user.id != me.id or not message.text:
        return None
    line = (asked.text or "").rpartition("\n")[2]
    if not (line.startswith("/") and line.endswith(OPEN_END)):
        return None
    return f"{line.removesuffix(OPEN_END)} {' '.join(message.text.split())}"


def answered(message: Message, me: User) -> str | None:
    """The message of ours that a message is a reply to. In a topic everything replies to the topic's beginning."""
    return str(message.reply_to_message.message_id) if message.reply_to_message and _answers(message, me) else None


def author_of(message: Message) -> Person:
    """Who wrote: a user, or for an anonymous admin and in a channel the chat itself."""
    chat, sender, user = message.chat, message.sender_chat, message.from_user
    if sender is not None:
        return _person(sender.id, message.author_signature or sender.title or sender.full_name or "", chat)
    return _person(user.id, user.full_name, chat) if user else _person(chat.id, chat.title or "", chat)


def presser_of(query: CallbackQuery, chat: Chat, *, anonymous: bool) -> Person:
    """Who pressed: an anonymous admin is the group, as when they write."""
    if anonymous:
        return _person(chat.id, chat.title or "", chat)
    return _person(query.from_user.id, query.from_user.full_name, chat)


def pressed_message(query: CallbackQuery) -> Message | None:
    """The message under which was pressed; None if it was deleted meanwhile: then we know no more than its chat."""
    under = query.message
    return under if isinstance(under, Message) and under.is_accessible else None


def is_the_chat_itself(message: Message) -> bool:
    """Whether an admin wrote in the name of the chat: anonymously, or as a channel's post."""
    return message.sender_chat is not None and message.sender_chat.id == message.chat.id


def _person(user_id: int, name: str, chat: Chat) -> Person:
    scopes = () if chat.type == ChatType.PRIVATE else (f"{Surface.TELEGRAM.value}:{chat.id}",)
    return Person(surface=Surface.TELEGRAM, user_key=str(user_id), name=name, scopes=scopes)


def _hear_press(update_id: int, query: CallbackQuery) -> Heard | None:
    if query.message is None or query.data is None:
        return None
    chat, under = query.message.chat, pressed_message(query)
    spot = spot_in(under) if under is not None else Spot(chat.id)
    return Heard(update_id=update_id, spot=spot, chat=chat, query=query)


def _left(update: Update) -> tuple[Chat, User] | None:
    """Who is no more in which group."""
    message, change = update.message, update.chat_member or update.my_chat_member
    if message is not None and message.left_chat_member is not None:
        return message.chat, message.left_chat_member
    if change is None or change.chat.type == ChatType.PRIVATE or _is_inside(change.new_chat_member):
        return None
    return change.chat, change.new_chat_member.user


def _is_inside(member: ChatMember) -> bool:
    if isinstance(member, ChatMemberRestricted):
        return member.is_member
    return member.status not in (ChatMemberStatus.LEFT, ChatMemberStatus.BANNED)


def _is_machine(message: Message) -> bool:
    """Other bots, and what a channel's posts become by themselves in its discussion group."""
    from_bot = message.from_user is not None and message.from_user.is_bot
    return bool(message.is_automatic_forward) or (from_bot and message.sender_chat is None)


def _has_content(message: Message) -> bool:
    return bool(message.text or message.caption or message.effective_attachment)


def _without_mention(text: str, me: User) -> tuple[str, bool]:
    name = re.escape(me.username or "")
    if not name:
        return text, False
    bare = re.sub(rf"^\s*@{name}\b[\s,:]*", "", text, count=1, flags=re.IGNORECASE)
    mentioned = bare != text
    bare = re.sub(rf"\s+@{name}\s*$", "", bare, count=1, flags=re.IGNORECASE)
    return (bare or "/help" if mentioned else bare), mentioned


def _mentions(message: Message, me: User) -> bool:
    kinds: list[str | None] = [MessageEntity.MENTION, MessageEntity.TEXT_MENTION]
    found = message.parse_entities(kinds) if message.text else message.parse_caption_entities(kinds)
    ours = f"@{me.username}".casefold()
    return any(words.casefold() == ours or (e.user and e.user.id == me.id) for e, words in found.items())


def _answers(message: Message, me: User) -> bool:
    to = message.reply_to_message
    return bool(to and to.from_user and to.from_user.id == me.id and not to.forum_topic_created)


def _started(text: str, me: User, *, direct: bool) -> str:
    """`/start` is what a direct chat begins with; behind a link of ours it says why."""
    match = _START.fullmatch(text)
    named = match is not None and (match["name"] or "").casefold() == (me.username or "").casefold()
    if match is None or not (named or (direct and not match["name"])):
        return text
    return LINKED.get(match["what"] or "help", "/help")
