"""The rewind service: the one door through which every surface goes back, forward and aside.

turnback.db alone decides where a thread stands. Each operation reads the thread, asks the rules, and
writes its decision with its audit row in one transaction, on condition that the thread has not moved
since; what steps.db then has to do is written down in the same transaction and done afterwards, again
at the next start if need be. So whatever fails, and wherever the process is killed, a thread is where
it was or where it was going.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Protocol

import structlog

from turnback.core.answers import Fork, Preview, Recorded, Rewound
from turnback.core.errors import (
    InvalidRequest,
    NotFound,
    NothingToRedo,
    NothingToUndo,
    Refusal,
    StepGone,
    StoreUnavailable,
)
from turnback.core.followups import FollowUps
from turnback.core.forking import Forking
from turnback.core.journal import Journal
from turnback.core.lessons import lesson_of
from turnback.core.locks import ThreadLocks
from turnback.core.models import (
    UNTITLED,
    Action,
    Actor,
    FactId,
    ForkedFrom,
    Position,
    StepId,
    StepView,
    Thread,
    ThreadId,
)
from turnback.core.packs.bundle import Bundle
from turnback.core.policy import UNDO_TURNS, Access, Right, TimeTravel
from turnback.core.reading import JUST_REMOVED, Reading
from turnback.core.recording import Recording, Report
from turnback.core.settle import Settler
from turnback.core.state.codec import Encoded
from turnback.core.steps.store import StepStore
from turnback.core.text import one_line
from turnback.core.threads.store import Move, Return, Stale, ThreadStore, ThreadView
from turnback.core.views import refuse_busy, refuse_truncated, turns_on

_LABEL = re.compile(r"[\w-]{1,32}")
_ATTEMPTS = 5
"""How often an operation decides anew because the thread moved meanwhile."""

_log = structlog.get_logger(__name__)


class TurnControl(Protocol):
    """What the service needs of turns."""

    async def halt(self, thread_id: ThreadId) -> None:
        """Stop whatever runs in a thread, and wait until it has ended."""
        ...

    def return_waiting(self, thread_id: ThreadId) -> int:
        """The head was moved: tell the senders of messages that waited; answers how many."""
        ...

    def tell(self, thread_id: ThreadId, note: str) -> None:
        """Tell the agent something once, with its next turn."""
        ...


class RewindService(Reading):
    """Every operation of the time machine; see `Reading` for those that change nothing."""

    def __init__(
        self,
        *,
        threads: ThreadStore,
        steps: StepStore,
        forking: Forking,
        recording: Recording,
        journal: Journal,
        follow_ups: FollowUps,
        locks: ThreadLocks,
        policy: Callable[[], TimeTravel],
        access: Callable[[], Access],
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
        settler: Settler,
    ) -> None:
        super().__init__(threads, steps, access)
        self._forking = forking
        self._recording = recording
        self._journal = journal
        self._follow_ups = follow_ups
        self._locks = locks
        self._policy = policy
        self._clock = clock
        self._new_id = new_id
        self._settler = settler
        self.turns: TurnControl | None = None

    # threads

    async def create_thread(self, actor: Actor, title: str | None = None, *, group: bool = False) -> Thread:
        """Start a conversation."""
        name = one_line(title or "", 200) or UNTITLED
        thread = await self._threads.create_thread(
            ThreadId(self._new_id()), name, actor.surface, actor.account, self._clock(), group=group
        )
        self._journal.tell_threads(frozenset({actor.account}))
        return thread

    async def rename(self, actor: Actor, thread_id: str, title: str) -> Thread:
        """Give a conversation another title."""
        thread = await self.thread(actor, thread_id, Right.REWIND)
        name = one_line(title, 200)
        if not name:
            raise InvalidRequest("A title needs at least one character.")
        renamed = await self._threads.rename_thread(thread.id, name, self._clock())
        if renamed is None:
            raise NotFound
        self._journal.tell_threads(await self.readers(renamed))
        return renamed

    # going back and forward

    async def preview(self, actor: Actor, thread_id: str, ref: str) -> Preview:
        """What a restore would do now, nothing done; a refusal that depends on the moment is in the answer."""
        view = await self.view(actor, thread_id, Right.READ)
        step = await self.find_step(view, ref)
        refusal: Refusal | None = None
        try:
            await self.view(actor, thread_id, Right.REWIND)
            refuse_truncated(step)
            refuse_busy(view)
        except Refusal as error:
            refusal = error
        unchanged = step.at == view.thread.head
        return Preview(rewound=await self.describe(view, step.at, unchanged=unchanged), refusal=refusal)

    async def restore(self, actor: Actor, thread_id: str, ref: str, *, confirm_files: str | None = None) -> Rewound:
        """Take a thread back (or over) to a step. `confirm_files` matters once files are part of steps."""
        del confirm_files
        async with self._journal.operation(actor, Action.RESTORE, thread_id, ref):
            return await self._decide(lambda: self._restore(actor, thread_id, ref))

    async def undo(self, actor: Actor, thread_id: str, n: int = 1, *, confirm_files: str | None = None) -> Rewound:
        """Go back to before the last `n` turns; past the beginning, to the beginning."""
        del confirm_files
        async with self._journal.operation(actor, Action.UNDO, thread_id):
            if n < 1:
                raise InvalidRequest("Undo takes a number of turns, 1 or more.")
            return await self._decide(lambda: self._undo(actor, thread_id, n))

    async def redo(
        self, actor: Actor, thread_id: str, n: int = 1, *, only: str | None = None, confirm_files: str | None = None
    ) -> Rewound:
        """Reverse the last `n` undos, restores and resets, or all there are; with `only`, just it if it is the last."""
        del confirm_files
        async with self._journal.operation(actor, Action.REDO, thread_id):
            if n < 1:
                raise InvalidRequest("Redo takes a number of moves, 1 or more.")
            return await self._decide(lambda: self._redo(actor, thread_id, n, only))

    async def redo_before(self, actor: Actor, thread_id: str, returns: Sequence[Return]) -> Rewound:
        """Redo as though the newest turn had never been, which goes, too; `returns` is the chain that it ended."""
        async with self._journal.operation(actor, Action.REDO, thread_id):
            return await self._decide(lambda: self._redo(actor, thread_id, 1, None, tuple(returns)))

    async def reset(self, actor: Actor, thread_id: str) -> Rewound:
        """Go back to before the first turn; steps stay."""
        async with self._journal.operation(actor, Action.RESET, thread_id):
            return await self._decide(lambda: self._reset(actor, thread_id))

    async def _restore(self, actor: Actor, thread_id: str, ref: str) -> Rewound:
        view = await self.view(actor, thread_id, Right.REWIND)
        step = await self.find_step(view, ref)
        refuse_truncated(step)
        refuse_busy(view)
        if step.at == view.thread.head:
            return await self.describe(view, step.at, unchanged=True)
        bundle = await self._steps.bundle(view.thread.id, step.id, here=True)
        if bundle is None:
            raise NotFound(JUST_REMOVED)
        discard = self._policy().on_restore == "discard"
        content = self._settler.settled(bundle)
        return await self._move(actor, view, Action.RESTORE, step.at, content, step_id=step.id, discard=discard)

    async def _undo(self, actor: Actor, thread_id: str, n: int) -> Rewound:
        view = await self.view(actor, thread_id, Right.REWIND)
        refuse_busy(view)
        turns = turns_on(view, view.lineage.path(view.thread.head))
        if not turns:
            raise NothingToUndo
        count = min(n, len(turns))
        if count > UNDO_TURNS:
            raise StepGone(f"Undo reaches back {UNDO_TURNS} turns. /replay list shows the steps that can be restored.")
        to = turns[-count].base
        return await self._move(actor, view, Action.UNDO, to, await self._settler.kept(view, to), undone=count)

    async def _redo(
        self, actor: Actor, thread_id: str, n: int, only: str | None, returns: tuple[Return, ...] | None = None
    ) -> Rewound:
        view = await self.view(actor, thread_id, Right.REWIND)
        refuse_busy(view)
        if returns is not None:
            view = replace(view, returns=returns)
        if not view.returns:
            raise NothingToRedo
        if only is not None and view.returns[-1].id != only:
            raise NothingToRedo("Something newer lies on top of that, so it was left as it is.")
        count = min(n, len(view.returns)) if only is None else 1
        to = view.returns[-count].to
        content = await self._settler.kept(view, to)
        return await self._move(actor, view, Action.REDO, to, content, redone=count)

    async def _reset(self, actor: Actor, thread_id: str) -> Rewound:
        view = await self.view(actor, thread_id, Right.REWIND)
        refuse_busy(view)
        to = view.thread.root
        if to == view.thread.head:
            return await self.describe(view, to, unchanged=True)
        return await self._move(actor, view, Action.RESET, to, await self._settler.kept(view, to))

    async def _decide(self, attempt: Callable[[], Awaitable[Rewound]]) -> Rewound:
        for _ in range(_ATTEMPTS - 1):
            try:
                return await attempt()
            except Stale:
                continue
        return await attempt()

    async def _move(
        self,
        actor: Actor,
        view: ThreadView,
        action: Action,
        to: Position,
        content: Encoded | Bundle | None,
        *,
        step_id: StepId | None = None,
        discard: bool = False,
        undone: int = 0,
        redone: int = 0,
    ) -> Rewound:
        """Decide: from here on the thread stands at `to`."""
        thread = view.thread
        placed = await self.placed_if_possible(view)
        told = await self.describe(view, to, placed)
        back = Return(id=self._new_id()[:12], to=thread.head)
        if redone:
            returns = view.returns[:-redone]
        elif discard:
            returns = ()
        else:
            returns = (*view.returns, back)
        head_before = placed.head.id if placed.head else None
        reached = step_id or (told.head.step.id if told.head else None)
        entry = self._journal.entry(actor, action, thread.id, reached, head_before=head_before)
        move = Move(to=to, returns=returns, content=content, audit=entry, discard=discard)
        lesson = await self._lesson(view, thread.head, to, content) if not redone else None
        await self._threads.move_head(thread.id, thread.version, move)
        if self.turns is not None:
            self.turns.return_waiting(thread.id)
        if discard:
            await self._follow_ups.run(thread.id)
        if lesson and self._policy().lessons == "auto" and self.turns is not None:
            self.turns.tell(thread.id, lesson)
        self._journal.tell_move(actor, thread, await self.readers(thread), action, told)
        bring_back = back.id if returns and returns[-1] is back else None
        return replace(told, bring_back=bring_back, lesson=lesson, undone=undone)

    async def tell_lesson(self, actor: Actor, thread_id: str, move_id: str) -> None:
        """Tell the agent, with its next turn, what was tried on the branch that a move left."""
        view = await self.view(actor, thread_id, Right.WRITE)
        left = next((r.to for r in view.returns if r.id == move_id), None)
        lesson = await self._lesson(view, left, view.thread.head) if left is not None else None
        if lesson is None or self.turns is None:
            raise StepGone("The conversation went on since, so the agent was not told.")
        self.turns.tell(view.thread.id, lesson)

    async def _lesson(
        self, view: ThreadView, left: Position, to: Position, content: Encoded | Bundle | None = None
    ) -> str | None:
        if self._policy().lessons == "off":
            return None
        return await lesson_of(self._threads, view, left, to, content)

    async def _tell_reload(self, view: ThreadView) -> None:
        self._journal.tell_reload(view.thread, await self.readers(view.thread), None)

    # branching off

    async def fork(self, actor: Actor, thread_id: str, ref: str | None = None) -> Fork:
        """Branch a step (the newest) into a new, private chat of the asker's. The original need not be idle."""
        async with self._journal.operation(actor, Action.FORK, thread_id, ref, lock=False):
            view = await self.view(actor, thread_id, Right.READ)
            step = await self.find_step(view, ref) if ref is not None else (await self.placed(view)).head
            if step is None:
                raise NotFound("No step is saved where this chat stands, so there is nothing to fork.")
            refuse_truncated(step)
            thread, again = await self._forking.fork(actor, view, step)
            root = await self.newest(actor, thread.id)
            forked_from = ForkedFrom(thread_id=view.thread.id, snapshot_id=step.id)
            return Fork(thread=thread, forked_from=forked_from, root=root, again=again)

    # removing

    async def clear(self, actor: Actor, thread_id: str) -> int:
        """Delete a thread's steps for good; the conversation, its head and undo stay. Answers how many."""
        async with self._journal.operation(actor, Action.CLEAR, thread_id):
            view = await self.view(actor, thread_id, Right.REWIND)
            await self._steps.totals()  # a store that cannot be used refuses before anything is decided
            await self._threads.clear_thread(view.thread.id, self._journal.entry(actor, Action.CLEAR, view.thread.id))
            deleted = await self._follow_ups.run(view.thread.id)
            await self._tell_reload(view)
            return deleted

    async def delete(self, actor: Actor, thread_id: str) -> None:
        """Stop a thread's turn and delete everything of it for good; its forks stay."""
        async with self._journal.operation(actor, Action.DELETE, thread_id):
            view = await self.view(actor, thread_id, Right.REWIND)
            readers = await self.readers(view.thread)
            await self._steps.totals()
            if self.turns is not None:
                await self.turns.halt(view.thread.id)
            await self._threads.delete_thread(view.thread.id, self._journal.entry(actor, Action.DELETE, view.thread.id))
            self._journal.tell_threads(readers)
            await self._follow_ups.run(view.thread.id)

    async def forget(self, actor: Actor, thread_id: str, fact_id: str | None) -> None:
        """Delete a fact (None: all of them) and the thread's steps from the turn that learned it on."""
        async with self._journal.operation(actor, Action.FORGET, thread_id):
            view = await self.view(actor, thread_id, Right.REWIND)
            await self._steps.totals()
            entry = self._journal.entry(actor, Action.FORGET, view.thread.id)
            fact = FactId(fact_id) if fact_id is not None else None
            if await self._threads.forget_facts(view.thread.id, fact, entry) is None:
                raise NotFound("There is no such fact here. /memory list shows what is remembered.")
            await self._follow_ups.run(view.thread.id)
            await self._tell_reload(view)

    async def set_memory(self, actor: Actor, thread_id: str, on: bool) -> None:
        """Let the agent remember facts here or not; off deletes all facts and steps of the thread."""
        thread = await self.thread(actor, thread_id, Right.REWIND)
        if not on:
            await self._steps.totals()
        await self._threads.set_memory(thread.id, on)
        if not on:
            await self.forget(actor, thread_id, None)

    async def label(self, actor: Actor, thread_id: str, ref: str, label: str | None) -> StepView:
        """Name a step, so that `@label` addresses it and thinning spares it; None takes the name off."""
        async with self._journal.operation(actor, Action.LABEL, thread_id, ref, lock=False):
            if label is not None and not _LABEL.fullmatch(label):
                raise InvalidRequest("A label is 1 to 32 letters, digits, _ or -.")
            view = await self.view(actor, thread_id, Right.WRITE)
            step = await self.find_step(view, ref)
            labelled = await self._steps.set_label(view.thread.id, step.id, label)
            if labelled is None:
                raise NotFound(JUST_REMOVED)
            await self._threads.audit(self._journal.entry(actor, Action.LABEL, view.thread.id, step.id))
            return (await self.placed(view)).view_of(labelled)

    # steps of agents elsewhere

    async def record(self, actor: Actor, thread_id: str, report: Report, *, key: str | None = None) -> Recorded:
        """Save a step that an agent in another process made; the same `key` again answers as before."""
        async with self._locks.hold(ThreadId(thread_id)):
            view = await self.view(actor, thread_id, Right.WRITE)
            if key is not None and (given := await self._threads.idempotent(view.thread.id, key)) is not None:
                return Recorded(result=given["result"], id=given["id"])
            refuse_busy(view)
            recorded = await self._recording.record(actor, view, report)
            if key is not None:
                answer = {"result": recorded.result, "id": recorded.id}
                await self._threads.set_idempotent(view.thread.id, key, answer, self._clock())
            self._journal.tell_reload(view.thread, await self.readers(view.thread), recorded.id)
            return recorded

    # at start

    async def recover(self) -> None:
        """Finish what was decided before the process ended, and let go of steps of deleted threads."""
        try:
            await self._follow_ups.run()
            for gone in await self._threads.tombstones(await self._steps.threads()):
                await self._steps.forget_thread(gone)
        except StoreUnavailable:
            _log.error("recovery waits for the step store")
