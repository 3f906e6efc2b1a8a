"""Branching a step off into a chat of its own: stored packs are copied, nothing is decoded where nothing changes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from turnback.core.errors import NotFound
from turnback.core.followups import FollowUps, root_args, root_of
from turnback.core.journal import Journal
from turnback.core.locks import ThreadLocks
from turnback.core.models import Action, Actor, ForkedFrom, Step, StepId, Thread, ThreadId
from turnback.core.reading import JUST_REMOVED
from turnback.core.settle import Settler
from turnback.core.steps.store import StepStore
from turnback.core.threads.store import NewFork, ThreadStore, ThreadView

FORK_AGAIN = timedelta(seconds=60)
"""The same person forking the same step within this gets the same fork."""

FORK_MARK = "⑂ "


class Forking:
    """Makes forks."""

    def __init__(
        self,
        *,
        threads: ThreadStore,
        steps: StepStore,
        settler: Settler,
        follow_ups: FollowUps,
        journal: Journal,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
    ) -> None:
        self._threads = threads
        self._steps = steps
        self._settler = settler
        self._follow_ups = follow_ups
        self._journal = journal
        self._clock = clock
        self._new_id = new_id
        self._locks = ThreadLocks()

    async def fork(self, actor: Actor, view: ThreadView, step: Step) -> tuple[Thread, bool]:
        """The actor's own fork of a step, and whether it was made moments before."""
        forked_from = ForkedFrom(thread_id=view.thread.id, snapshot_id=step.id)
        async with self._locks.hold(ThreadId(f"{actor.account} {step.id}")):
            since = self._clock() - FORK_AGAIN
            again = await self._threads.recent_fork(actor.account, forked_from, since)
            if again is not None:
                await self._follow_ups.run(again.id)  # what failed the first time is made up for
                return again, True
            return await self._make(actor, view, step, forked_from), False

    async def _make(self, actor: Actor, view: ThreadView, step: Step, forked_from: ForkedFrom) -> Thread:
        bundle = await self._steps.bundle(view.thread.id, step.id)
        if bundle is None:
            raise NotFound(JUST_REMOVED)
        fork_id, now = ThreadId(self._new_id()), self._clock()
        root = root_of(step, StepId(self._new_id()), fork_id, now)
        thread = await self._threads.fork_thread(
            NewFork(
                id=fork_id,
                title=FORK_MARK + view.thread.title.removeprefix(FORK_MARK),
                owner=actor.account,
                surface=actor.surface,
                source=view.thread.id,
                at=step.at,
                turn_index=step.turn_index,
                forked_from=forked_from,
                content=self._settler.settled(bundle, source=view.thread.id),
                created_at=now,
                audit=self._journal.entry(actor, Action.FORK, view.thread.id, step.id),
                root=root_args(root),
            )
        )
        await self._follow_ups.run(fork_id)
        self._journal.tell_threads(frozenset({actor.account}))
        return thread
