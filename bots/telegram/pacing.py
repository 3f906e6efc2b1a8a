"""Telegram's flood limits, kept: messages wait for their turn, and one that is refused goes once more.

python-telegram-bot asks a rate limiter before each request. Its own one knows groups and the whole bot, but
not that a single chat takes about one message a second, and it lets an edit go before a first answer. See
https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this. Edits count like messages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from telegram.error import RetryAfter
from telegram.ext import BaseRateLimiter

from turnback.bots.windows import Limit, Window

COUNTED = frozenset({"sendMessage", "sendDocument", "editMessageText", "editMessageReplyMarkup"})
"""What counts as a message. Typing, deleting, and answers to presses do not."""

EDITS_YIELD_SECONDS = 3.0
"""How much later than it was asked for an edit counts as asked for: first answers go first, but no edit starves."""

SLACK_SECONDS = 0.1
"""Added to the wait that Telegram asks for, whose seconds are whole."""

_CHATS_KEPT = 4096
_CHAT, _GROUP, _GROUP_EDITS, _EVERYWHERE = Limit(3, 3.05), Limit(20, 60.5), Limit(12, 60.5), Limit(29, 1.02)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the pacer keeps to. `group_edits` are those of a group's messages that edits may take: the rest is
    kept for answers.
    """

    chat: Limit = _CHAT
    group: Limit = _GROUP
    group_edits: Limit = _GROUP_EDITS
    everywhere: Limit = _EVERYWHERE


@dataclass(slots=True)
class _Chat:
    """The limits of one chat, and until when Telegram wants it left alone."""

    always: list[Window]
    edits: list[Window]
    held_until: float = 0.0

    def windows(self, *, edit: bool) -> Sequence[Window]:
        return [*self.always, *self.edits] if edit else self.always

    def idle_from(self) -> float:
        return max(self.held_until, *(window.idle_from() for window in self.always))


@dataclass(slots=True, eq=False)
class _Waiting:
    due: float
    chat: int
    edit: bool
    ready: asyncio.Future[None]


class Pacer(BaseRateLimiter[None]):
    """The rate limiter of our bot."""

    def __init__(self, limits: Limits = Limits()) -> None:
        self._limits = limits
        self._all = Window(limits.everywhere)
        self._chats: dict[int, _Chat] = {}
        self._waiting: list[_Waiting] = []
        self._timer: asyncio.TimerHandle | None = None

    async def initialize(self) -> None:
        """Nothing to prepare."""

    async def shutdown(self) -> None:
        """Wake nobody any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def process_request(
        self,
        callback: Callable[..., Coroutine[Any, Any, Any]],
        args: Any,
        kwargs: dict[str, Any],
        endpoint: str,
        data: dict[str, Any],
        rate_limit_args: None,  # noqa: ARG002 - the library's signature
    ) -> Any:
        """Make a request when its time has come. RetryAfter where Telegram refuses it a second time."""
        chat, edit = _chat_of(data), endpoint.startswith("edit")
        if chat is None or endpoint not in COUNTED:
            return await self._again(chat, lambda: callback(*args, **kwargs))
        due = asyncio.get_running_loop().time() + (EDITS_YIELD_SECONDS if edit else 0.0)

        async def go() -> Any:
            await self._turn(due, chat, edit=edit)
            try:
                return await callback(*args, **kwargs)
            finally:
                self._give_back(chat, edit=edit)

        return await self._again(chat, go)

    async def _again(self, chat: int | None, call: Callable[[], Awaitable[Any]]) -> Any:
        """Make a request, and once more where Telegram says how long to wait with it."""
        try:
            return await call()
        except RetryAfter as refused:
            seconds = seconds_of(refused) + SLACK_SECONDS
        if chat is not None:
            held = self._of(chat)
            held.held_until = max(held.held_until, asyncio.get_running_loop().time() + seconds)
        await asyncio.sleep(seconds)
        return await call()

    async def _turn(self, due: float, chat: int, *, edit: bool) -> None:
        waiting = _Waiting(due, chat, edit, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self._waiting.sort(key=lambda w: w.due)
        self._let_go()
        try:
            await waiting.ready
        except asyncio.CancelledError:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
            elif waiting.ready.done() and not waiting.ready.cancelled():
                self._give_back(chat, edit=edit)
            raise

    def _give_back(self, chat: int, *, edit: bool) -> None:
        now = asyncio.get_running_loop().time()
        for window in (self._all, *self._of(chat).windows(edit=edit)):
            window.give_back(now)
        self._let_go()

    def _let_go(self) -> None:
        """Let everybody go whose time has come, and look again when the next one's may have."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        loop = asyncio.get_running_loop()
        now, soonest, left = loop.time(), float("inf"), list[_Waiting]()
        for waiting in self._waiting:
            at = self._free_at(waiting)
            if waiting.ready.done():
                continue
            if at <= now:
                self._take(waiting)
                waiting.ready.set_result(None)
            else:
                soonest = min(soonest, at)
                left.append(waiting)
        self._waiting = left
        if soonest < float("inf"):
            self._timer = loop.call_at(soonest, self._let_go)

    def _free_at(self, waiting: _Waiting) -> float:
        chat = self._of(waiting.chat)
        windows = chat.windows(edit=waiting.edit)
        return max(chat.held_until, self._all.free_at(), *(window.free_at() for window in windows))

    def _take(self, waiting: _Waiting) -> None:
        for window in (self._all, *self._of(waiting.chat).windows(edit=waiting.edit)):
            window.take()

    def _of(self, chat: int) -> _Chat:
        found = self._chats.get(chat)
        if found is None:
            if len(self._chats) >= _CHATS_KEPT:
                self._forget_idle()
            group = chat < 0
            always = [Window(self._limits.chat), *([Window(self._limits.group)] if group else [])]
            edits = [Window(self._limits.group_edits)] if group else []
            found = self._chats[chat] = _Chat(always, edits)
        return found

    def _forget_idle(self) -> None:
        now = asyncio.get_running_loop().time()
        waited_for = {waiting.chat for waiting in self._waiting}
        self._chats = {
            chat: limits for chat, limits in self._chats.items() if chat in waited_for or limits.idle_from() > now
        }


def seconds_of(refused: RetryAfter) -> float:
    """How long Telegram wants us to wait; the library says it as a number or as a timedelta, as it is set up."""
    wait = refused.retry_after
    return wait.total_seconds() if isinstance(wait, timedelta) else float(wait)


def _chat_of(data: dict[str, Any]) -> int | None:
    try:
        return int(data["chat_id"])
    except (KeyError, TypeError, ValueError):
        return None
