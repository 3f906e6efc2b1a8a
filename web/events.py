"""What happens, as server-sent events: each reader is sent what it may see, and nothing else.

Ids are `run-number`: numbers begin anew when the process does, so that a browser which comes back
after a restart is told to reload instead of missing what came in between.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

from sse_starlette import EventSourceResponse, ServerSentEvent

from turnback.core.events import Event, Events
from turnback.core.models import Actor, ThreadId
from turnback.web.answers import dumps

SENT = frozenset(
    {"snapshot", "message", "delta", "turn_started", "turn_finished", "approval", "reload", "threads"},
)
"""The events that leave the house; others are its own."""

PING_SECONDS = 15
"""How often a silent stream says that it is alive."""

SEND_SECONDS = 30
"""How long a reader may take for one event before it is let go."""

RECHECK_SECONDS = 30
"""How old the knowledge may be that a reader is still signed in."""

STALE = -1
"""An id that no event has, and none before the first kept one: the reader has to reload."""


class EventStream:
    """The streams of one process."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._run = secrets.token_hex(4)
        self._closing = asyncio.Event()

    def close(self) -> None:
        """End every stream, so that the server can."""
        self._closing.set()

    @property
    def last_id(self) -> str:
        """The id of the newest event, as readers know it."""
        return f"{self._run}-{self._events.last_id}"

    def respond(
        self,
        actor: Actor,
        thread_id: ThreadId | None,
        last_id: str | None,
        identify: Callable[[], Awaitable[Actor | None]],
    ) -> EventSourceResponse:
        """The answer to a reader who saw everything up to `last_id`; `identify` says who it is by now."""
        content = self.follow(actor, thread_id, last_id, identify)
        return EventSourceResponse(
            content,
            ping=PING_SECONDS,
            sep="\n",
            send_timeout=SEND_SECONDS,
            ping_message_factory=lambda: ServerSentEvent(comment="alive", sep="\n"),
        )

    async def follow(
        self,
        actor: Actor,
        thread_id: ThreadId | None,
        last_id: str | None,
        identify: Callable[[], Awaitable[Actor | None]],
    ) -> AsyncIterator[ServerSentEvent]:
        """The events that `actor` may see, until the server ends or the actor is signed out."""
        clock = asyncio.get_running_loop().time
        checked = clock()
        yield ServerSentEvent(comment="connected", sep="\n")
        async with self._events.listen(self._after(last_id)) as events:
            async for event in self._until_closing(events):
                if clock() - checked > RECHECK_SECONDS:
                    now = await identify()
                    if now is None or now.account != actor.account:
                        return
                    actor, checked = now, clock()
                if event is None:
                    yield self._reload(thread_id)
                elif _may_see(actor, event) and thread_id in (None, event.thread_id):
                    yield self._sse(event.id, event.name, event.data)

    def _after(self, last_id: str | None) -> int | None:
        if last_id is None:
            return None
        run, _, number = last_id.partition("-")
        return int(number) if run == self._run and number.isdecimal() and len(number) < 19 else STALE

    def _reload(self, thread_id: ThreadId | None) -> ServerSentEvent:
        return self._sse(self._events.last_id, "reload", {"thread_id": thread_id, "head": None})

    def _sse(self, number: int, name: str, data: object) -> ServerSentEvent:
        return ServerSentEvent(data=dumps(data).decode(), event=name, id=f"{self._run}-{number}", sep="\n")

    async def _until_closing(self, events: AsyncIterator[Event | None]) -> AsyncIterator[Event | None]:
        closing = asyncio.ensure_future(self._closing.wait())
        try:
            while not self._closing.is_set():
                upcoming = asyncio.ensure_future(anext(events))
                try:
                    await asyncio.wait({upcoming, closing}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    if not upcoming.done():
                        upcoming.cancel()
                        with suppress(asyncio.CancelledError):
                            await upcoming
                if upcoming.cancelled():
                    return
                yield upcoming.result()
        finally:
            closing.cancel()


def _may_see(actor: Actor, event: Event) -> bool:
    return event.name in SENT and (actor.admin or actor.account in event.readers)
