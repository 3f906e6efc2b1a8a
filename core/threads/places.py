"""What the thread store knows of places: into which thread each talks, and what our messages there show."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from turnback.core.models import Post, Surface, ThreadId


class PlaceStore(Protocol):
    """The part of `ThreadStore` that is about places of platforms; each method is one transaction."""

    async def bind(self, surface: Surface, place: str, thread_id: ThreadId) -> None:
        """This place talks into that thread from now on. NotFound if there is no such thread."""
        ...

    async def bound(self, surface: Surface, place: str) -> ThreadId | None: ...
    async def places(self, thread_id: ThreadId) -> Sequence[tuple[Surface, str]]: ...
    async def move_place(self, surface: Surface, old: str, new: str) -> None:
        """The platform gave a place another key, which talks into the same thread from now on. Idempotent; what
        the new key was bound to meanwhile gives way. Posts at the old key go: a message belongs to one chat for
        ever, and its id may name another message in the new one."""
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
