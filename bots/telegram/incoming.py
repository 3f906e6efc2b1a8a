"""Makes of what was heard what the desk takes: messages and presses, with the ways to answer them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from telegram import (
    Bot,
    CallbackQuery,
    Chat,
    ChatMember,
    ForceReply,
    InlineKeyboardMarkup,
)
from telegram import (
    Message as TelegramMessage,
)
from telegram.constants import ChatMemberStatus
from telegram.error import TelegramError

from turnback.bots.platform import Back, Left, Message, Press, Said
from turnback.bots.replies import Button
from turnback.bots.telegram.files import attachments
from turnback.bots.telegram.keyboard import Pressed, pressed
from turnback.bots.telegram.keys import Spot, place_at
from turnback.bots.telegram.outlet import TelegramOutlet
from turnback.bots.telegram.reading import (
    LINKED,
    OPEN_END,
    Heard,
    answered,
    author_of,
    is_the_chat_itself,
    pressed_message,
    presser_of,
    words_of,
)
from turnback.bots.telling import short
from turnback.core.models import Surface

MEMBER_SECONDS = 60.0
"""How long we go by what Telegram said of a member's rights."""

_ADMINS = (ChatMemberStatus.ADMINISTRATOR, ChatMemberStatus.OWNER)
_ID = re.compile(r"\b[0-9a-f]{32}\b")


class Members:
    """Who is what in which group, as Telegram said within the last minute."""

    def __init__(self, bot: Bot) -> None:
        self._bot = bot
        self._known: dict[tuple[int, int], tuple[float, ChatMember | None]] = {}

    async def is_admin(self, chat: int, user: int) -> bool:
        """Whether they are an admin of the group; no, where Telegram does not say."""
        member = await self._find(chat, user)
        return member is not None and member.status in _ADMINS

    async def is_anonymous(self, chat: int, user: int) -> bool:
        """Whether they are an admin who acts in the group's name."""
        member = await self._find(chat, user)
        return member is not None and member.status in _ADMINS and bool(getattr(member, "is_anonymous", False))

    def forget(self, chat: int, user: int) -> None:
        """Something about them has changed."""
        self._known.pop((chat, user), None)

    async def _find(self, chat: int, user: int) -> ChatMember | None:
        now = asyncio.get_running_loop().time()
        at, member = self._known.get((chat, user), (-MEMBER_SECONDS, None))
        if now - at < MEMBER_SECONDS:
            return member
        try:
            member = await self._bot.get_chat_member(chat, user)
        except TelegramError:
            return None
        self._known = {key: seen for key, seen in self._known.items() if now - seen[0] < MEMBER_SECONDS}
        self._known[chat, user] = now, member
        return member


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A press on a button that lacks its last word, which is to be asked for."""

    spot: Spot
    said: Said
    form: dict[str, Any]


class Incoming:
    """Makes messages and presses. `bot` must know who it is."""

    def __init__(self, bot: Bot, outlet: TelegramOutlet) -> None:
        self._bot = bot
        self._outlet = outlet
        self._members = Members(bot)
        self._moved: dict[int, int] = {}

    def note_moves(self, moves: Mapping[str, str]) -> None:
        """Groups that had another id once, the old one and the present one."""
        self._moved = {int(old): int(new) for old, new in moves.items()}

    def message(self, heard: Sequence[Heard]) -> Message:
        """A message; several that were heard are the photos and files of one album."""
        me, messages = self._bot.bot, [h.message for h in heard if h.message is not None]
        words = [words_of(message, me) for message in messages]
        spoken = next((index for index, said in enumerate(words) if said.text), 0)
        first, said, spot = messages[spoken], words[spoken], self._here(heard[0].spot)
        return Message(
            person=author_of(first),
            place=place_at(spot, first.chat),
            at=first.date,
            back=self._back(spot, first.chat, said.text, str(first.message_id)),
            is_admin=self._admin_asker(first),
            id=str(first.message_id),
            text=said.text,
            addressed=any(each.addressed for each in words),
            mentioned=said.mentioned,
            names=(me.username or "",),
            reply_to=answered(first, me),
            files=tuple(file for message in messages for file in attachments(message, self._bot)),
        )

    async def press(self, heard: Heard, at: datetime) -> Press | Asked | None:
        """A press; None if its message cannot be placed any more, as when it was deleted in a forum."""
        query = heard.query
        assert query is not None
        assert query.data is not None
        under, chat, user = pressed_message(query), heard.chat, query.from_user.id
        if chat.is_forum and under is None:
            return None
        meant = pressed(query.data)
        if meant.asks:
            return _question(heard.spot, query, meant)
        in_group = heard.spot.is_group
        anonymous = in_group and await self._members.is_anonymous(chat.id, user)
        return Press(
            person=presser_of(query, chat, anonymous=anonymous),
            place=place_at(self._here(heard.spot), chat),
            at=at,
            back=self._back(self._here(heard.spot), chat, meant.command, None),
            is_admin=lambda: self._is_admin(chat, user),
            command=meant.command,
            message=str(under.message_id) if under is not None else None,
        )

    def left(self, heard: Heard) -> Left | None:
        """Somebody who is no more in a group; None if it is only we, in one that has another id by now."""
        assert heard.gone is not None
        self._members.forget(heard.chat.id, heard.gone.id)
        here, ours = self._here(heard.spot), heard.gone.id == self._bot.id
        if ours and here != heard.spot:
            return None
        return Left(surface=Surface.TELEGRAM, place=here.key, user_key=None if ours else str(heard.gone.id))

    async def ask(self, asked: Asked) -> None:
        """Put the question that a press leads to."""
        await self._outlet.ask(asked.spot, asked.said, **asked.form)

    def _here(self, spot: Spot) -> Spot:
        return self._outlet.here(Spot(self._moved.get(spot.chat, spot.chat), spot.topic))

    def _admin_asker(self, message: TelegramMessage) -> Callable[[], Awaitable[bool]]:
        async def is_admin() -> bool:
            if message.sender_chat is not None:
                return is_the_chat_itself(message)
            return message.from_user is not None and await self._is_admin(message.chat, message.from_user.id)

        return is_admin

    async def _is_admin(self, chat: Chat, user: int) -> bool:
        return chat.id < 0 and await self._members.is_admin(chat.id, user)

    def _back(self, spot: Spot, chat: Chat, command: str, message: str | None) -> Back:
        outlet, name = self._outlet, self._bot.username

        async def back(said: Said, *, private: bool = False) -> Sequence[str]:
            if private and chat.id < 0:
                said = _elsewhere(name, command)
            reply_to = said.reply_to or (message if spot.is_group else None)
            answer = Said(
                text=said.text, markdown=said.markdown, buttons=said.buttons, select=said.select, reply_to=reply_to
            )
            return await outlet.send(spot.key, answer)

        return back


def _elsewhere(name: str, command: str) -> Said:
    """In a group nothing can be shown to one person only: a button leads to where it can."""
    what = next((what for what, linked in LINKED.items() if command.split()[:1] == [linked]), "help")
    button = Button(label="Open our private chat", url=f"https://t.me/{name}?start={what}")
    return Said(text="That is for your eyes only. I show it to you in our private chat:", buttons=(button,))


def _question(spot: Spot, query: CallbackQuery, meant: Pressed) -> Asked:
    """The question names the command that its answer completes, so that it works after a restart, too."""
    under = pressed_message(query)
    markup = under.reply_markup if under is not None else None
    label = _label(markup, query.data) or "Go on"
    typed = _ID.sub(lambda match: short(match[0]), meant.command)
    text = f"{label}: answer this message with the missing word.\n{typed}{OPEN_END}"
    form = {"reply_markup": ForceReply(input_field_placeholder=label)}
    return Asked(spot=spot, said=Said(text=text, reply_to=str(under.message_id) if under else None), form=form)


def _label(markup: InlineKeyboardMarkup | None, data: str | None) -> str | None:
    rows = markup.inline_keyboard if markup is not None else ()
    return next((button.text for row in rows for button in row if button.callback_data == data), None)
