"""Flood limits: about one message a second in a chat, 20 a minute in a group, 30 a second in all.

https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this: short bursts in one chat
are let through. Edits count like messages, as they do in practice.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Literal

from platforms.core import Clock

Mode = Literal["off", "count", "enforce"]

BURST = 3
PER_GROUP_MINUTE = 20
PER_SECOND = 30


class Flood:
    """When the bot sent what."""

    def __init__(self, clock: Clock, mode: Mode) -> None:
        self.mode = mode
        self._clock = clock
        self._chat_free_at: dict[int, float] = defaultdict(float)
        self._group: dict[int, deque[float]] = defaultdict(deque)
        self._all: deque[float] = deque()

    def take(self, chat_id: int, *, group: bool) -> tuple[str, float] | None:
        """Count one message: None, or the broken limit and the seconds to wait."""
        if self.mode == "off":
            return None
        now = self._clock.now()
        over = self._over(chat_id, now, group=group)
        if over is None or self.mode == "count":
            self._chat_free_at[chat_id] = max(self._chat_free_at[chat_id], now) + 1
            self._all.append(now)
            if group:
                self._group[chat_id].append(now)
        return over

    def _over(self, chat_id: int, now: float, *, group: bool) -> tuple[str, float] | None:
        sent, everywhere = self._group[chat_id], self._all
        _forget(sent, now - 60)
        _forget(everywhere, now - 1)
        if group and len(sent) >= PER_GROUP_MINUTE:
            return f"over {PER_GROUP_MINUTE} messages a minute in one group", sent[0] + 60 - now
        ahead = max(self._chat_free_at[chat_id], now) + 1 - now
        if ahead > BURST + 0.001:
            return "over 1 message a second in one chat", ahead - BURST
        if len(everywhere) >= PER_SECOND:
            return f"over {PER_SECOND} messages a second in all", 1.0
        return None


def _forget(times: deque[float], before: float) -> None:
    while times and times[0] <= before:
        times.popleft()
