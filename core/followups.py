"""What steps.db, and a thread's files, have to do after turnback.db has decided.

The decision and the duty are written in one transaction; the duty is done right afterwards, and again
at the next start if the process was killed in between. Each is idempotent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any

from turnback.core.errors import StoreUnavailable
from turnback.core.models import Position, Step, StepId, ThreadId
from turnback.core.policy import TimeTravel
from turnback.core.steps.store import StepDraft, StepStore
from turnback.core.threads.store import FollowUp, ThreadStore


class FollowUps:
    """Does what was decided. `trouble`, which may be set later, is told when the step store is out of order."""

    def __init__(
        self,
        threads: ThreadStore,
        steps: StepStore,
        policy: Callable[[], TimeTravel],
        forget_files: Callable[[ThreadId], Awaitable[None]],
    ) -> None:
        self._threads = threads
        self._steps = steps
        self._policy = policy
        self._forget_files = forget_files
        self.trouble: Callable[[StoreUnavailable], None] | None = None
        self._one_at_a_time = asyncio.Lock()

    async def run(self, thread_id: ThreadId | None = None) -> int:
        """Do all that is left to do for a thread (None: for all); answers how many steps were deleted."""
        deleted = 0
        async with self._one_at_a_time:
            for duty in await self._threads.follow_ups():
                if thread_id in (None, duty.thread_id):
                    deleted += await self._do_or_tell(duty)
                    await self._threads.followed_up(duty.id)
        return deleted

    async def sweep(self, thread_id: ThreadId) -> None:
        """Let go of set-aside rows and facts whose last step is gone."""
        steps = await self._steps.rows(thread_id)
        await self._threads.sweep(thread_id, [s.at for s in steps])

    async def _do_or_tell(self, duty: FollowUp) -> int:
        try:
            return await self._do(duty)
        except StoreUnavailable as refusal:
            if self.trouble:  # so that somebody looks, and has it done when the store is well again
                self.trouble(refusal)
            raise

    async def _do(self, duty: FollowUp) -> int:
        thread_id, args = duty.thread_id, duty.args
        match duty.kind:
            case "root":
                await self._plant_root(thread_id, draft_from(thread_id, args))
                return 0
            case "clear":
                deleted = await self._steps.clear(thread_id, args["epoch"])
            case "forget":
                deleted = await self._steps.delete_from(thread_id, args["pos"], args["epoch"])
            case "discard":
                deleted = await self._discard(thread_id, Position(*args["to"]), args["before"])
            case "delete":
                deleted = await self._steps.forget_thread(thread_id)
                await self._forget_files(thread_id)
                await self._threads.purge()
                return deleted
        await self.sweep(thread_id)
        return deleted

    async def _plant_root(self, thread_id: ThreadId, draft: StepDraft) -> None:
        """A fork's one step: a copy of its checkpoint as it lies there, nothing decoded."""
        bundle = await self._threads.checkpoint_bundle(thread_id, draft.at)
        if bundle is not None and not await self._steps.match(thread_id, draft.id):
            await self._steps.adopt(draft, bundle, self._policy().budgets)

    async def _discard(self, thread_id: ThreadId, to: Position, before: int) -> int:
        view = await self._threads.view(thread_id)
        if view is None:
            return 0
        path = view.lineage.path(to)
        rows = await self._steps.rows(thread_id)
        gone = [s.id for s in rows if s.at.pos < before and not path.covers(s.at)]
        return await self._steps.delete_steps(thread_id, gone) if gone else 0


def root_args(draft: StepDraft) -> dict[str, Any]:
    """A fork's root as JSON values, to be written down with the decision."""
    return {
        "id": draft.id,
        "at": [draft.at.branch, draft.at.pos],
        "turn_index": draft.turn_index,
        "iteration": draft.iteration,
        "created_at": draft.created_at.isoformat(),
        "model": draft.model,
        "summary": draft.summary,
        "tools": list(draft.tools),
        "message_count": draft.message_count,
    }


def root_of(step: Step, new_id: StepId, thread_id: ThreadId, at: datetime) -> StepDraft:
    """The root of a fork of `step`."""
    return StepDraft(
        id=new_id,
        thread_id=thread_id,
        epoch=0,
        at=Position(0, step.at.pos),
        turn_index=step.turn_index,
        turn_no=0,
        iteration=step.iteration,
        created_at=at,
        model=step.model,
        summary=step.summary,
        tools=step.tools,
        message_count=step.message_count,
    )


def draft_from(thread_id: ThreadId, args: Mapping[str, Any]) -> StepDraft:
    """The root that `root_args` wrote down."""
    return StepDraft(
        id=StepId(args["id"]),
        thread_id=thread_id,
        epoch=0,
        at=Position(*args["at"]),
        turn_index=args["turn_index"],
        turn_no=0,
        iteration=args["iteration"],
        created_at=datetime.fromisoformat(args["created_at"]),
        model=args["model"],
        summary=args["summary"],
        tools=tuple(args["tools"]),
        message_count=args["message_count"],
    )
