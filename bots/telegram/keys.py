"""Places of Telegram and their keys: a chat's id, and behind a slash the topic's where there is one."""

from __future__ import annotations

from dataclasses import dataclass

from telegram import Chat, Message
from telegram.constants import ChatType

from turnback.bots.capabilities import Capabilities
from turnback.bots.places import Place
from turnback.core.models import Surface

TEXT_LIMIT = 4096
"""UTF-16 code units of a message, https://core.telegram.org/bots/api#sendmessage."""

_CHAT = Capabilities(max_text=TEXT_LIMIT)
_FORUM = Capabilities(max_text=TEXT_LIMIT, side_places=True)


@dataclass(frozen=True, slots=True)
class Spot:
    """A chat, and its topic (None: none, or General)."""

    chat: int
    topic: int | None = None

    @property
    def key(self) -> str:
        """The key of the place."""
        return f"{self.chat}" if self.topic is None else f"{self.chat}/{self.topic}"

    @property
    def is_group(self) -> bool:
        """Groups, supergroups and channels have negative ids."""
        return self.chat < 0


def spot_of(key: str) -> Spot:
    """The spot that a key names. ValueError for what is no key of ours."""
    chat, _, topic = key.partition("/")
    return Spot(int(chat), int(topic) if topic else None)


def spot_in(message: Message) -> Spot:
    """Where a message was written. Plain replies outside forums have a thread id too; it counts in topics only."""
    return Spot(message.chat.id, message.message_thread_id if message.is_topic_message else None)


def place_at(spot: Spot, chat: Chat) -> Place:
    """The place that the chat layer knows it as."""
    return Place(
        surface=Surface.TELEGRAM,
        key=spot.key,
        group=chat.type != ChatType.PRIVATE,
        can=_FORUM if chat.is_forum else _CHAT,
    )
