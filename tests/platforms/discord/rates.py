"""Rate limits: buckets of a route and what it is about, and 50 requests a second in all.

https://docs.discord.com/developers/topics/rate-limits. The sizes are not documented; these are the ones
that the headers have shown. A correct client never exceeds what the headers tell it. Turned off, the
headers promise plenty and nothing is counted, for tests that are not about speed.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass

from platforms.core import Clock

GLOBAL_PER_SECOND = 50
PLENTY = (1000, 1.0)

_BUCKETS: tuple[tuple[str, int, float], ...] = (
    (r"POST /channels/(\d+)/messages", 5, 5),
    (r"PATCH /channels/(\d+)/messages/\d+", 5, 5),
    (r"DELETE /channels/(\d+)/messages/\d+", 5, 1),
    (r"POST /channels/(\d+)/typing", 5, 5),
    (r"(?:POST|PATCH|DELETE) /webhooks/\d+/([^/]+)(?:/messages/[^/]+)?", 5, 2),
    (r"(?:POST|PUT|PATCH|DELETE) /applications/(\d+)(?:/guilds/\d+)?/commands(?:/\d+)?", 5, 20),
)
_UNLIMITED = re.compile(r"POST /interactions/")
_IDS = re.compile(r"\d{6,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """How a bucket stands after a request: the headers, and the seconds to wait when it was one too many."""

    headers: dict[str, str]
    wait: float = 0.0


@dataclass(slots=True)
class _Window:
    ends: float
    used: int = 0


class Rates:
    """What was used of each bucket."""

    def __init__(self, clock: Clock, *, on: bool) -> None:
        self.on = on
        self._clock = clock
        self._windows: dict[tuple[str, str], _Window] = {}
        self._all: deque[float] = deque()

    def take(self, verb: str, path: str) -> Taken:
        """Count one request."""
        route = f"{verb} {path}"
        if _UNLIMITED.match(route):
            return Taken(headers={})
        name, about, limit, seconds = _bucket(route) if self.on else (_IDS.sub("id", route), "", *PLENTY)
        now = self._clock.now()
        window = self._windows.get((name, about))
        if window is None or window.ends <= now:
            window = self._windows[name, about] = _Window(now + seconds)
        over = window.used >= limit
        wait = max(window.ends - now, 0.001) if over else self._over_all(now, path)
        window.used += not wait
        headers = {
            "X-RateLimit-Limit": str(limit),
            "X-RateLimit-Remaining": str(max(limit - window.used, 0)),
            "X-RateLimit-Reset": f"{window.ends:.3f}",
            "X-RateLimit-Reset-After": f"{window.ends - now:.3f}",
            "X-RateLimit-Bucket": f"{abs(hash(name)):032x}"[-32:],
        }
        return Taken(headers=headers, wait=wait)

    def _over_all(self, now: float, path: str) -> float:
        """The seconds to wait for all together; what answers an interaction is not counted."""
        if not self.on or path.startswith("/webhooks/"):
            return 0.0
        while self._all and self._all[0] <= now - 1:
            self._all.popleft()
        if len(self._all) >= GLOBAL_PER_SECOND:
            return self._all[0] + 1 - now
        self._all.append(now)
        return 0.0


def _bucket(route: str) -> tuple[str, str, int, float]:
    for pattern, limit, seconds in _BUCKETS:
        if found := re.fullmatch(pattern, route):
            return pattern, found[1], limit, seconds
    return _IDS.sub("id", route), "", 50, 1.0
