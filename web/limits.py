"""A limit on how often one address may try something, kept in memory."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable

MOST_ADDRESSES = 10_000
"""Addresses remembered; the one that tried longest ago is forgotten first."""


class RateLimit:
    """At most `times` in any `seconds`, for each address."""

    def __init__(self, times: int, seconds: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._times = times
        self._seconds = seconds
        self._clock = clock
        self._tries: OrderedDict[str, deque[float]] = OrderedDict()

    def allows(self, address: str) -> bool:
        """Count a try; False when it is one too many (it does not count then)."""
        now = self._clock()
        tries = self._tries.setdefault(address, deque())
        self._tries.move_to_end(address)
        if len(self._tries) > MOST_ADDRESSES:
            self._tries.popitem(last=False)
        while tries and tries[0] <= now - self._seconds:
            tries.popleft()
        if len(tries) >= self._times:
            return False
        tries.append(now)
        return True
