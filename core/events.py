"""What happens in threads, told to every open tab and every bound place as it happens.

One bus per process. The newest events are kept, so that a listener who lost its connection goes on
after the last one it saw; one that is too far behind is told to reload.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal

from turnback.core.models import AccountId, ThreadId

EventName = Literal[
    "snapshot",
    "message",
    "delta",
    "turn_started",
    "turn_finished",
    "approval",
    "reload",
    "threads",
    "rewound",
    "alert",
    "began",
    "ended",
    "unrun",
]
"""The last five are for the house alone, and no tab is sent them. Those about turns:

- `began {"thread_id", "turn_no", "turn_index", "origin"}`, before all else of a turn; again after a restart
  for one that was under way, which then waits on at its gates, or ends as interrupted.
- `ended {"thread_id", "turn_no", "origin", "status", "branch", "pos", "notes"}`, after all else, once for each turn
  that began, unless the program ends while it waits at gates. `branch` and `pos` are the position where it
  ended; `notes` are lines for the people in the chat that the transcript does not hold.
- `unrun {"thread_id", "origin", "status", "reply"}`: a message that waited during a restart will not run
  (`returned` or `failed`), and nobody waits any more who could be told.
"""

KEPT = 2048
"""Events kept for listeners that reconnect."""

BACKLOG = 1024
"""Events that may wait for a slow listener before it is told to reload instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened; `data` is JSON, its shape goes by `name`.

    Only accounts in `readers` and admins may see it.
    """

    id: int
    name: EventName
    thread_id: ThreadId | None
    readers: frozenset[AccountId]
    data: Mapping[str, Any]


class Events:
    """The bus."""

    def __init__(self) -> None:
        self._last = 0
        self._kept: deque[Event] = deque(maxlen=KEPT)
        self._listeners: set[asyncio.Queue[Event | None]] = set()

    @property
    def last_id(self) -> int:
        """The id of the newest event, 0 before the first."""
        return self._last

    def publish(
        self,
        name: EventName,
        data: Mapping[str, Any],
        *,
        thread_id: ThreadId | None = None,
        readers: frozenset[AccountId] = frozenset(),
    ) -> None:
        """Tell everybody who listens; never waits, never fails."""
        self._last += 1
        event = Event(id=self._last, name=name, thread_id=thread_id, readers=readers, data=data)
        self._kept.append(event)
        for queue in self._listeners:
            if queue.qsize() < BACKLOG:
                queue.put_nowait(event)
            elif queue.qsize() == BACKLOG:
                queue.put_nowait(None)

    @asynccontextmanager
    async def listen(self, after: int | None = None) -> AsyncIterator[AsyncIterator[Event | None]]:
        """Every event from now on, or after the event `after`; None where some were lost."""
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        if after is not None:
            missed = [event for event in self._kept if event.id > after]
            if after > self._last or len(missed) < self._last - after or len(missed) > BACKLOG:
                missed = []
                queue.put_nowait(None)
            for event in missed:
                queue.put_nowait(event)
        self._listeners.add(queue)
        try:
            async with aclosing(_drain(queue)) as events:
                yield events
        finally:
            self._listeners.discard(queue)


async def _drain(queue: asyncio.Queue[Event | None]) -> AsyncGenerator[Event | None, None]:
    while True:
        yield await queue.get()
