"""Rate limits: one message a second in a channel, and how often a method may be called a minute.

https://docs.slack.dev/apis/web-api/rate-limits: short bursts in a channel are let through. The limits of
methods count for the whole workspace; Slack's own are "about" so many, and they are off unless asked for.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Literal

from platforms.core import Clock

Mode = Literal["off", "count", "enforce"]

BURST = 3
MINUTE = 60.0
PER_MINUTE = {
    "chat.delete": 50,
    "chat.postEphemeral": 100,
    "chat.update": 50,
    "conversations.info": 50,
    "conversations.members": 100,
    "conversations.open": 50,
    "conversations.replies": 50,
    "files.completeUploadExternal": 100,
    "files.getUploadURLExternal": 100,
    "files.info": 100,
    "reactions.add": 50,
    "reactions.remove": 20,
    "team.info": 50,
    "users.info": 100,
    "views.open": 100,
    "views.update": 100,
}


class Rates:
    """When the app did what."""

    def __init__(self, clock: Clock, mode: Mode, *, methods: Mode = "off", burst: int = BURST) -> None:
        self.mode, self.methods, self.burst = mode, methods, burst
        self._clock = clock
        self._free_at: dict[str, float] = defaultdict(float)
        self._called: dict[str, deque[float]] = defaultdict(deque)

    def take_post(self, channel_id: str) -> tuple[str, float] | None:
        """Count one message: None, or the broken limit and the seconds to wait."""
        if self.mode == "off":
            return None
        now = self._clock.now()
        ahead = max(self._free_at[channel_id], now) + 1 - now
        over = ahead > self.burst + 0.001
        if not over or self.mode == "count":
            self._free_at[channel_id] = now + ahead
        return ("over 1 message a second in one channel", ahead - self.burst) if over else None

    def take_call(self, method: str) -> tuple[str, float] | None:
        """Count one call of a method, in the same way."""
        limit = PER_MINUTE.get(method)
        if self.methods == "off" or limit is None:
            return None
        called, now = self._called[method], self._clock.now()
        while called and called[0] <= now - MINUTE:
            called.popleft()
        if len(called) < limit:
            called.append(now)
            return None
        return f"over {limit} calls a minute", called[0] + MINUTE - now
