"""Places: where somebody writes, and the one function that finds the thread that a place talks into."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from turnback.bots.capabilities import HTTP, Capabilities
from turnback.core.errors import Forbidden
from turnback.core.locks import Locks
from turnback.core.models import AccountId, Actor, Surface, Thread, ThreadId
from turnback.core.rewind import RewindService
from turnback.core.threads.store import ThreadStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A DM, a group, a topic, a channel, a Slack thread (`key` names it on its surface), or just a thread.

    `thread_id` is given where the request names it; then there is no key.
    """

    surface: Surface
    key: str | None = None
    thread_id: ThreadId | None = None
    group: bool = False
    can: Capabilities = HTTP


class Places:
    """Finds and keeps the threads of places, for messages and commands alike."""

    def __init__(self, threads: ThreadStore, rewind: RewindService) -> None:
        self._threads = threads
        self._rewind = rewind
        self._locks = Locks()

    async def find(self, place: Place) -> ThreadId | None:
        """The thread that a place talks into; None before its first message, or when it was deleted."""
        if place.thread_id is not None or place.key is None:
            return place.thread_id
        bound = await self._threads.bound(place.surface, place.key)
        return bound if bound is not None and await self._threads.find_thread(bound) is not None else None

    async def open(self, actor: Actor, place: Place, title: str | None = None) -> ThreadId:
        """The same for a message: starts a thread where there is none, one though several write at once."""
        async with self._locks.hold(f"{place.surface.value}:{place.key}"):
            found = await self.find(place)
            if found is not None:
                return found
            thread = await self._rewind.create_thread(actor, title, group=place.group)
            await self.bind(actor, place, thread)
            return thread.id

    async def enter(self, actor: Actor, place: Place) -> None:
        """Somebody is let through to a group's place by its platform, and says something there: they take part.

        Raises Forbidden where a chat that is somebody's own goes on in a group's place (a fork).
        """
        found = await self.find(place) if place.group and place.key is not None else None
        thread = await self._threads.find_thread(found) if found is not None else None
        if thread is None or actor.account == thread.owner:
            return
        if not thread.group:
            if actor.admin:
                return
            raise Forbidden("The chat in this place is somebody's own. Only they can use it here.")
        if actor.account not in await self._threads.participants(thread.id):
            await self._threads.add_participant(thread.id, actor.account, place.surface, str(place.key))

    async def leave(self, surface: Surface, key: str, user_key: str | None) -> Collection[tuple[ThreadId, AccountId]]:
        """A user of a platform (None: everybody) is no more in a place. They do not take part in its chats until they
        speak there again, and cannot read them. Answers who is no more in which thread by that.
        """
        identity = await self._threads.find_identity(surface, user_key) if user_key is not None else None
        if identity is None and user_key is not None:
            return ()
        return await self._threads.drop_participants(surface, key, identity.account if identity else None)

    async def bind(self, actor: Actor, place: Place, thread: Thread) -> None:
        """Make a place where `actor` asks talk into a thread from now on."""
        if place.key is not None:
            owner = None if place.group else actor.account
            await self._threads.bind(place.surface, place.key, thread.id, owner)
