"""What a step store does: the seam behind which SQLite, and later PostgreSQL, stands.

A step store knows nothing of heads or paths: it keeps steps in the order of their saving, inside
the budgets, and gives them back. Every call may raise `StoreUnavailable`, and only that, when the
store cannot be used; it tries anew at the next call, so it heals without a restart.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from turnback.core.models import Position, State, Step, StepId, StepKind, ThreadId
from turnback.core.packs.bundle import Bundle
from turnback.core.policy import Budgets
from turnback.core.state.codec import Encoded


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDraft:
    """A step about to be saved: all of a `Step` that is known before the store has it.

    `epoch` is the thread's when the capture began: if the thread was cleared since, it is discarded.
    """

    id: StepId
    thread_id: ThreadId
    epoch: int
    at: Position
    turn_index: int
    turn_no: int
    iteration: int
    created_at: datetime
    model: str | None = None
    kind: StepKind = StepKind.STEP
    summary: str = ""
    tools: tuple[str, ...] = ()
    message_count: int = 0
    workspace: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a thread's steps, or all steps, use."""

    steps: int
    stored_bytes: int
    last_step_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """The file behind the store, in bytes; `free` is what compaction could give back."""

    size: int
    wal: int
    free: int


class StepStore(Protocol):
    """Saved steps of all threads."""

    async def capture(self, draft: StepDraft, encoded: Encoded, budgets: Budgets) -> Step | None:
        """Save a step and apply every budget, in one transaction.

        None when the thread was cleared or deleted since the capture began.
        """
        ...

    async def adopt(self, draft: StepDraft, bundle: Bundle, budgets: Budgets) -> Step | None:
        """Save a step whose state is copied from another place, without decoding it."""
        ...

    async def rows(self, thread_id: ThreadId, newest: int | None = None) -> Sequence[Step]:
        """The steps of a thread in the order of saving, all or the newest."""
        ...

    async def match(self, thread_id: ThreadId, prefix: str) -> Sequence[Step]:
        """The steps of a thread whose id begins with `prefix` (lower case hex, checked by the caller)."""
        ...

    async def labelled(self, thread_id: ThreadId, label: str) -> Step | None:
        """The step with this label, compared case-blind."""
        ...

    async def state(self, thread_id: ThreadId, step_id: StepId) -> State | None:
        """A step's state; None if the step is gone."""
        ...

    async def bundle(self, thread_id: ThreadId, step_id: StepId, *, here: bool = False) -> Bundle | None:
        """A step's state as stored, to be copied elsewhere; None if the step is gone.

        With `here` it is for the same thread, and may come with text of other steps; its bytes are looked at, so that
        StoreUnavailable tells of a damaged one.
        """
        ...

    async def set_label(self, thread_id: ThreadId, step_id: StepId, label: str | None) -> Step | None:
        """Give, move or take off a label; TooManyLabels over `policy.MAX_LABELS`. None if the step is gone."""
        ...

    async def clear(self, thread_id: ThreadId, epoch: int) -> int:
        """Delete every step of an epoch before `epoch`, for good, and let no later capture of one in.

        Answers how many. What is deleted is in no file of the store when this returns.
        """
        ...

    async def delete_from(self, thread_id: ThreadId, pos: int, epoch: int) -> int:
        """Delete the steps at `pos` and later, for good; captures begun before `epoch` are discarded."""
        ...

    async def delete_steps(self, thread_id: ThreadId, step_ids: Collection[StepId]) -> int:
        """Delete single steps, for good."""
        ...

    async def forget_thread(self, thread_id: ThreadId) -> int:
        """Delete every step of a thread, for good, and let no capture of it in ever again."""
        ...

    async def expire(
        self, before: datetime, keep: Collection[ThreadId] = (), limit: int = 500
    ) -> Sequence[tuple[ThreadId, StepId]]:
        """Delete up to `limit` of the oldest steps saved before `before`, but of threads in `keep`."""
        ...

    async def count_before(self, before: datetime) -> tuple[int, int]:
        """How many steps of how many threads were saved before `before`; on a fresh connection."""
        ...

    async def usage(self, thread_ids: Collection[ThreadId]) -> Mapping[ThreadId, Usage]:
        """What each thread uses; threads without steps are left out."""
        ...

    async def totals(self) -> Usage:
        """What all steps use."""
        ...

    async def threads(self) -> Collection[ThreadId]:
        """Every thread that has steps."""
        ...

    async def disk(self) -> Disk:
        """The size of the file."""
        ...

    async def compact(self, max_pages: int) -> int:
        """Give up to `max_pages` free pages back to the file system; answers how many are left.

        Short: called repeatedly, so that captures come in between.
        """
        ...

    async def close(self) -> None:
        """Finish what was begun and let go of the files. Nothing may be called after it."""
        ...
