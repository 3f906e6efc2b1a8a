"""Writes down what people see in the chats of the simulated Telegram, so that a page of docs/ can show it.

What differs from run to run is made the same: ids become others, always the same ones.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field

from platforms.telegram.chats import Button, Chat, Message, Topic, Wanted
from platforms.telegram.people import User
from platforms.telegram.server import TelegramServer

BOT = "Turnback"
SECONDS = 20.0
"""How long an answer may take: tests share their machine."""

_ID = re.compile(r"(?<!= )\b([0-9a-f]{8})([0-9a-f]{24})?\b")
_SIZE = re.compile(r"\b[0-9.]+ (?:B|KB|MB)\b")
_QUOTED = 30


@dataclass
class SameIds:
    """Gives ids of our own for those of a run, by the order in which they came up."""

    _others: dict[str, str] = field(default_factory=dict)

    def __call__(self, text: str) -> str:
        def other(match: re.Match[str]) -> str:
            if match[0] in self._others.values():
                return match[0]
            new = self._others.setdefault(match[1], hashlib.sha256(f"id {len(self._others)}".encode()).hexdigest()[:8])
            return new + hashlib.sha256(new.encode()).hexdigest()[:24] if match[2] else new

        return _ID.sub(other, text)


@dataclass
class Transcript:
    """A conversation as it goes on. `idle` returns when no turn runs; `where` is what we look at."""

    telegram: TelegramServer
    idle: Callable[[], Awaitable[None]]
    lines: list[str] = field(default_factory=list)
    where: tuple[Chat, Topic | None] | None = None
    _fenced: bool = False
    _ids: SameIds = field(default_factory=SameIds)

    def text(self) -> str:
        """All of it, as Markdown."""
        self._fence(False)
        return "\n".join(self.lines).rstrip() + "\n"

    def prose(self, *paragraphs: str) -> None:
        """Headings and explanations."""
        self._fence(False)
        for paragraph in paragraphs:
            self.lines += [paragraph, ""]

    def look_at(self, chat: Chat, topic: Topic | None = None) -> None:
        """Go to a chat."""
        self.where = chat, topic

    async def say(
        self, user: User, text: str, *seen: Wanted, to: Message | None = None, then: str = "", ends: bool = True
    ) -> Message:
        """Somebody writes, as a reply `to` a message or not; answers the first message that the bot answers with.

        `seen` is what the bot then says. `then`: what is worth telling if it says nothing. `ends`: no turn runs then.
        """
        chat, topic = self._place()
        mark = chat.mark()
        self.note(f"{user.name}{self._replying(to)}: {text}")
        await user.say(text, chat, topic=topic, reply_to=to)
        return await self._answers(mark, seen, then, ends=ends)

    async def press(self, user: User, label: str, message: Message, *seen: Wanted) -> Message:
        """Somebody presses a button."""
        chat, _ = self._place()
        mark = chat.mark()
        button = message.button(label)
        self.note(f"{user.name} presses {_label(button)}")
        await user.press(button)
        return await self._answers(mark, seen)

    def note_all(self) -> None:
        """All that the bot has said where we look at."""
        chat, topic = self._place()
        for message in chat.said(topic):
            if message.text:
                self.note(self._shown(message, new=True))

    async def _answers(self, mark: int, seen: tuple[Wanted, ...], then: str = "", *, ends: bool = True) -> Message:
        chat, topic = self._place()
        found = [await chat.seen(wanted, topic=topic, since=mark, seconds=SECONDS) for wanted in seen]
        if not seen:
            await chat.no_replies(topic=topic, since=mark)
            self.note(then)
            return chat.messages[max(chat.messages)]
        if ends:
            await self.idle()
        await self.telegram.signal.settled(0.15)
        for message in sorted(chat.said(topic), key=lambda said: said.changed):
            if message.changed > mark:
                self.note(self._shown(message, new=message.created > mark))
        return found[0]

    def _place(self) -> tuple[Chat, Topic | None]:
        assert self.where is not None, "look_at a chat first"
        return self.where

    def note(self, text: str) -> None:
        """Something that happened."""
        self._fence(True)
        self.lines += [*self._ids(text).splitlines(), ""]

    def _shown(self, message: Message, *, new: bool) -> str:
        who = f"{BOT}{self._replying(message.reply_to)}" if new else f"{BOT}, instead of that"
        return "\n".join([f"{who}: {message.text}", *_rows(message)])

    def _replying(self, to: Message | None) -> str:
        if to is None:
            return ""
        first = self._ids(to.text.partition("\n")[0])
        return f", in reply to “{first if len(first) <= _QUOTED else first[: _QUOTED - 1].rstrip() + '…'}”"

    def _fence(self, wanted: bool) -> None:
        if wanted and not self._fenced:
            self.lines.append("```text")
        elif self._fenced and not wanted:
            self.lines[-1:] = ["```", ""]  # without the empty line before it
        self._fenced = wanted


def same(transcript: str) -> str:
    """What of a transcript must be the same in each run: sizes differ by some bytes."""
    return _SIZE.sub("N B", transcript)


def _rows(message: Message) -> Iterator[str]:
    buttons = iter(message.buttons)
    for row in message.rows:
        yield "  ".join(_label(next(buttons)) for _ in row)


def _label(button: Button) -> str:
    return f"[{button.text}{' ↗' if button.url else ''}]"
