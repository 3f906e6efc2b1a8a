"""What the methods of the Bot API share: reading parameters, and finding what they name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from platforms.core import Call, Json
from platforms.telegram import rules
from platforms.telegram.chats import Chat, Message, Topic
from platforms.telegram.flood import Flood
from platforms.telegram.refusals import forbidden, migrated, missing, too_many, wrong
from platforms.telegram.world import World


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a test may make smaller, so that it need not move megabytes."""

    upload_bytes: int = 50 << 20
    photo_bytes: int = 10 << 20
    download_bytes: int = 20 << 20
    answer_seconds: float = 60.0
    """How long a pressed button can be answered."""


class Params:
    """The parameters of one call; JSON comes as text from forms."""

    def __init__(self, values: Json) -> None:
        self._values = values

    def text(self, name: str) -> str:
        value = self._values.get(name)
        return "" if value is None else str(value)

    def number(self, name: str) -> int:
        """0 where there is none."""
        raw = self.text(name).strip()
        if not re.fullmatch(r"-?\d+|", raw):
            raise wrong(f"{name} must be an integer")
        return int(raw or 0)

    def flag(self, name: str) -> bool:
        return self.text(name).lower() in ("true", "1", "yes")

    def json(self, name: str) -> Any:
        value = self._values.get(name)
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value) if value else None
        except ValueError:
            raise wrong(f"can't parse {name} JSON object") from None


@dataclass(frozen=True, kw_only=True)
class Request:
    """One call, in the world that it is about."""

    world: World
    flood: Flood
    limits: Limits
    call: Call
    params: Params

    @property
    def violations(self) -> list[str]:
        return self.call.violations

    def chat(self) -> Chat:
        """The chat named by chat_id, if the bot is in it."""
        chat = self.world.chats.get(self.params.number("chat_id"))
        if not self.params.text("chat_id"):
            raise wrong("chat_id is empty")
        if chat is None:
            raise wrong("chat not found")
        if chat.moved_to is not None:
            raise migrated(chat.moved_to.id)
        match chat.bot.standing:
            case "blocked":
                raise forbidden("bot was blocked by the user")
            case "stranger":
                raise forbidden("bot can't initiate conversation with a user")
            case "kicked":
                raise forbidden(f"bot was kicked from the {chat.kind} chat")
            case "left":
                raise forbidden(f"bot is not a member of the {chat.kind} chat")
        return chat

    def message(self, chat: Chat, act: str) -> Message:
        """The message named by message_id; gone is gone, but a number never given is a mistake."""
        message_id = self.params.number("message_id")
        if not message_id:
            raise wrong("message identifier is not specified")
        message = chat.messages.get(message_id)
        if message is None:
            raise wrong(f"message to {act} not found")
        if message.deleted:
            raise missing(f"message to {act} not found")
        return message

    def topic(self, chat: Chat) -> Topic | None:
        """The topic named by message_thread_id. General is named by naming none."""
        thread_id = self.params.number("message_thread_id")
        if not thread_id:
            return None
        topic = chat.topics.get(thread_id)
        if topic is None:
            raise wrong("message thread not found")
        if topic.deleted:
            raise missing("message thread not found")
        return topic

    def right(self, chat: Chat, right: str) -> bool:
        return chat.bot.standing == "administrator" and right in chat.bot.rights

    def read_text(self, name: str = "text") -> Json:
        """The text or caption and its entities."""
        caption = name == "caption"
        return rules.read_text(
            self.params.text(name),
            self.params.text("parse_mode"),
            self.params.json("caption_entities" if caption else "entities"),
            limit=rules.CAPTION_LIMIT if caption else rules.TEXT_LIMIT,
            violations=self.violations,
        )

    def rows(self, *, inline_only: bool = False) -> list[list[Json]]:
        markup = self.params.json("reply_markup")
        return rules.check_markup(markup, inline_only=inline_only, violations=self.violations)

    def count(self, chat: Chat) -> None:
        """One message more for the flood limits."""
        over = self.flood.take(chat.id, group=chat.kind != "private")
        if over is None:
            return
        sentence, seconds = over
        self.violations.append(sentence)
        if self.flood.mode == "enforce":
            raise too_many(seconds)


Handler = Callable[[Request], Any]
