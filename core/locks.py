"""One lock per thread: what begins a turn and what moves a head exclude each other. The same for other keys.

A lock lives only while somebody holds or wants it, so that their number follows what is going on and
not how many threads there ever were. They are fair: who asks first, gets it first.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class _Entry:
    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.users = 0


class Locks:
    """The locks of all keys."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}

    def __len__(self) -> int:
        """How many keys are locked or waited for."""
        return len(self._entries)

    def wanted(self, key: str) -> list[str]:
        """Which of a key, and of the keys that go on behind it with a slash, are locked or waited for."""
        return [each for each in self._entries if each == key or each.startswith(f"{key}/")]

    @asynccontextmanager
    async def hold(self, key: str) -> AsyncIterator[None]:
        """Wait for a key's lock and hold it. Not to be nested for one key."""
        entry = self._entries.setdefault(key, _Entry())
        entry.users += 1
        try:
            async with entry.lock:
                yield
        finally:
            entry.users -= 1
            if not entry.users:
                del self._entries[key]


class ThreadLocks(Locks):
    """The locks of all threads of this process, by their ids."""
