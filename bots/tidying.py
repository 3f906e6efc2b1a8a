"""Takes messages of ours away that no longer fit where a thread stands, if `chat.after_restore` says so.

What we said while turns ran that are now set aside goes: answers, notes, approvals, and replies to commands
in between. Each was written down with where its thread stood then (a post). What people wrote stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from turnback.bots.addressing import REPLY
from turnback.bots.platform import Outlet
from turnback.bots.stage import Stage, Standing
from turnback.core.errors import StoreUnavailable
from turnback.core.models import Surface, ThreadId

AfterRestore = Callable[[], Literal["keep", "delete"]]


class Tidying:
    """Looks after our messages at the places of platforms."""

    def __init__(self, stage: Stage, after_restore: AfterRestore) -> None:
        self._stage = stage
        self._threads = stage.service.threads
        self._after_restore = after_restore

    async def standing(self, surface: Surface, place: str) -> Standing | None:
        """Where the thread of a place stands; None if there is none, it cannot be read, or all is kept anyway."""
        if self._after_restore() == "keep":
            return None
        try:
            bound = await self._threads.bound(surface, place)
            thread = await self._threads.find_thread(bound) if bound is not None else None
        except StoreUnavailable:
            return None
        if thread is None:
            return None
        return Standing(surface=surface, place=place, thread_id=thread.id, at=thread.head)

    async def answered(self, standing: Standing, messages: Sequence[str], *, moved: bool) -> None:
        """Take note of a reply, given when the thread stood there; after one to a move, tidy up.

        A reply that a move overtook while it was on its way goes, too.
        """
        await self._stage.post(standing, messages, REPLY)
        await self.tidy(standing.thread_id, standing.surface, standing.place, among=None if moved else messages)

    async def tidy(
        self, thread_id: ThreadId, surface: Surface, place: str, *, among: Sequence[str] | None = None
    ) -> None:
        """Delete our messages at a place (or those `among` them) that are off the thread's path."""
        if self._after_restore() == "keep":
            return
        view = await self._threads.view(thread_id)
        if view is None:
            return
        path = view.lineage.path(view.thread.head)
        posts = await self._threads.posts(thread_id, surface, place)
        later = [p.message for p in posts if not path.covers(p.at) and (among is None or p.message in among)]
        if not later:
            return

        async def delete(outlet: Outlet) -> None:
            await outlet.delete(place, later)

        try:
            await self._stage.do(surface, place, delete)
        except Exception as error:  # noqa: BLE001 - what the platform does not let us delete stays
            self._stage.failed(surface, error, "delete")
            return
        await self._threads.drop_posts(surface, place, later)
