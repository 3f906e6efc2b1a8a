"""What the thread store knows of places: into which thread each talks, who takes part there, and what our messages
there show."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from turnback.core.models import AccountId, Post, Surface, ThreadId


class PlaceStore(Protocol):
    """The part of `ThreadStore` that is about places of platforms; each method is one transaction."""

    async def bind(self, surface: Surface, place: str, thread_id: ThreadId, account: AccountId | None = None) -> None:
        """This place, the private one of `account` if one is given, talks into that thread from now on. NotFound if
        there is no such thread."""
        ...

    async def bound(self, surface: Surface, place: str) -> ThreadId | None: ...
    async def places(self, thread_id: ThreadId) -> Sequence[tuple[Surface, str]]: ...
    async def move_place(self, surface: Surface, old: str, new: str) -> None:
        """The platform gave a place another key, which talks into the same thread from now on. Idempotent; what
        the new key was bound to meanwhile gives way. Posts at the old key go: a message belongs to one chat for
        ever, and its id may name another message in the new one. The old key is dead from now on."""
        ...

    async def moved_places(self, surface: Surface) -> Mapping[str, str]:
        """The dead keys of a platform's places, each with the key of its place now."""
        ...

    async def participants(self, thread_id: ThreadId) -> Collection[AccountId]: ...
    async def add_participant(self, thread_id: ThreadId, account: AccountId, surface: Surface, place: str) -> None:
        """Somebody takes part in a thread from now on, at a place that they are in; nobody does in one that is gone."""
        ...

    async def drop_participants(
        self, surface: Surface, place: str, account: AccountId | None
    ) -> Collection[tuple[ThreadId, AccountId]]:
        """Somebody (None: anybody) is no more in a place, nor in those in it, whose keys go on behind a slash.

        Answers who takes part in which thread no more: their private places do not talk into it any more, either.
        """
        ...

    async def add_post(self, post: Post) -> None:
        """Remember what a message of ours shows, instead of what it showed before; nothing for a thread that
        is gone. Posts go with their thread."""
        ...

    async def find_post(self, surface: Surface, place: str, message: str) -> Post | None: ...
    async def posts(self, thread_id: ThreadId, surface: Surface, place: str) -> Sequence[Post]:
        """A thread's posts at a place, in the order in which they were added."""
        ...

    async def drop_posts(self, surface: Surface, place: str, messages: Collection[str]) -> None: ...
