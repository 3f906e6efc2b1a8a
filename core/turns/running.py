"""One turn from its first event to its end.

The agent works in a task of its own, since a generator that opens a scope in one task must close it
there. What it yields is saved in tasks that a stop does not cancel: a step is saved whole or not at
all. An agent that does not heed a stop is given up after a while, and nothing that it still does is
kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import structlog

from turnback.core import shapes
from turnback.core.agents.context import TurnContext, Undo
from turnback.core.agents.protocol import Resumable
from turnback.core.errors import NotFound, Refusal
from turnback.core.models import Actor, Gate, Spent, State, TranscriptRow, Turn, TurnStatus
from turnback.core.state.codec import Encoded
from turnback.core.text import one_line, well_formed
from turnback.core.threads.store import Row, Stale, ThreadView
from turnback.core.turns.gates import Approvals
from turnback.core.turns.saving import Finished, Saver
from turnback.core.turns.values import Parts, Progress, ResultStatus, TurnResult, Voice
from turnback.core.views import turns_on

UNSAVED = "This step could not be saved, so you cannot go back to it."
STOPPED = "Stopped."
WISH_FAILED = "Going back did not work; the conversation is as it was."
INTERRUPTED = "Interrupted by a restart. What was finished is kept."

RETRY_SECONDS = 5.0
"""How long to wait before trying again to write down that a turn has ended."""

ANSWER_SECONDS = 1.0
"""How long a turn that is answering may take to end when the program ends."""

_log = structlog.get_logger(__name__)


class AgentEndedEarly(Exception):
    """The agent's events ended without `done`, or that without a state."""

    user_message = "the agent ended without an answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """Where a turn goes on after a restart: what its agent left with its gates."""

    state: State
    gates: tuple[Gate, ...]
    iteration: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A turn that has begun; `before` is its thread as it was until then."""

    turn: Turn
    actor: Actor
    text: str
    before: ThreadView
    notes: tuple[str, ...] = ()
    resumed: Resumed | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Done:
    state: State
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ending:
    status: TurnStatus
    row: Row
    content: Encoded | None
    spent: Spent
    notes: tuple[str, ...]

    def result(self, turn: Turn) -> TurnResult:
        return TurnResult(
            thread_id=turn.thread_id,
            turn_index=turn.turn_index,
            status=cast("ResultStatus", self.status.value),
            reply=self.row.text,
            notes=self.notes,
        )


class RunningTurn:
    """A turn under way. `run` it once; `stop` or `leave` it from anywhere."""

    def __init__(self, parts: Parts, begun: Begun, progress: Progress, voice: Voice) -> None:
        self.turn = begun.turn
        self.voice = voice
        self.progress = progress
        self.ended = asyncio.Event()
        self._parts = parts
        self._begun = begun
        resumed = begun.resumed
        self._saver = Saver(
            parts, begun.turn, epoch=begun.before.thread.epoch, iteration=resumed.iteration if resumed else 0
        )
        self.approvals = Approvals(parts, begun.turn, progress, voice, self._saver.deny)
        self._context = TurnContext(
            begun.turn.thread_id,
            parts.workspaces / begun.turn.thread_id,
            threads=parts.threads,
            approvals=self.approvals.answers,
            turns=_turns_before(begun),
            notes=begun.notes,
            files=begun.turn.files,
            clock=parts.clock,
            new_id=parts.new_id,
        )
        self._agent: asyncio.Task[None] | None = None
        self._saving: asyncio.Task[None] | None = None
        self._given_up = asyncio.Event()
        self._answering = False
        self._done: _Done | None = None
        self._stopping: TurnStatus | None = None
        self._leaving = False
        self._left = False
        self._written: Turn | None = None
        self._remarks: tuple[str, ...] = ()
        if resumed:
            self.approvals.rejoin(resumed.gates)

    async def run(self) -> None:
        """Run the turn to its end. Whatever happens in it, it ends."""
        try:
            await self._work()
            self._left = self._leaving and self.approvals.survives
            if self._left:
                self.progress.finish(self._result_left())
            else:
                await self._end()
        finally:
            self.ended.set()
            failed = self._result_failed()
            self.progress.finish(failed)
            if not self._left:
                ended = self._written or replace(self.turn, status=TurnStatus(failed.status))
                self.voice.tell_ended(ended, self._remarks)

    async def stop(self, status: TurnStatus = TurnStatus.STOPPED, *, grace: float | None = None) -> None:
        """Stop the turn and wait until it has ended; its last finished step is where the thread stands."""
        self._cancel(status, self._parts.grace if grace is None else grace)
        await self.ended.wait()

    async def leave(self, grace: float) -> None:
        """The program ends: a turn that waits at gates stays as it is, another is interrupted.

        One that is answering may end by itself: who has read the answer is not told that it was interrupted.
        """
        if self._answering:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.ended.wait(), min(grace, ANSWER_SECONDS))
        self._leaving = self._stopping is None
        await self.stop(TurnStatus.INTERRUPTED, grace=grace)

    def _cancel(self, status: TurnStatus, grace: float) -> None:
        if self._stopping is not None or self.ended.is_set():
            return
        self._stopping = status
        if self._agent is not None:
            self._agent.cancel()
        asyncio.get_running_loop().call_later(grace, self._given_up.set)

    # the agent

    async def _work(self) -> None:
        if self._stopping is not None:
            return
        self._agent = asyncio.create_task(self._drive())
        given_up = asyncio.create_task(self._given_up.wait())
        await asyncio.wait({self._agent, given_up}, return_when=asyncio.FIRST_COMPLETED)
        given_up.cancel()
        self._context.close()
        if not self._agent.done():
            _log.warning("agent does not stop", thread=self.turn.thread_id, operation="stop")
            self._parts.tasks.keep(self._agent)
            self._agent.add_done_callback(_hear_of)
        for begun in (self._saving, self.approvals.opening):
            if begun is not None:
                await asyncio.wait({begun})
                _hear_of(begun)

    async def _drive(self) -> None:
        async with _closing(await self._open()) as events:
            async for event in events:
                if self._stopping is not None:
                    return
                await self._take(event)
                if self._done is not None:
                    return
        raise AgentEndedEarly

    async def _open(self) -> AsyncIterator[Mapping[str, Any]]:
        thread_id, resumed = self.turn.thread_id, self._begun.resumed
        await asyncio.to_thread(_make_private, self._context.workspace)
        stands_at = self._begun.before.thread.head if resumed else self.turn.start
        state = await self._parts.threads.checkpoint(thread_id, stands_at)
        if state is None:
            raise RuntimeError(f"no checkpoint at {stands_at}")
        self._saver.begin_from(state)
        if resumed is None:
            return self._parts.agent.run(state, self._begun.text, self._context)
        answers = await self.approvals.rejoined(resumed.gates)
        return cast("Resumable", self._parts.agent).resume(resumed.state, answers, self._context)

    async def _take(self, event: Mapping[str, Any]) -> None:
        match event["type"]:
            case "delta":
                self._answering = True
                self.voice.tell("delta", text=well_formed(event["text"]))
            case "step":
                await self._save(self._saver.finish_step(event))
            case "gate":
                self.approvals.ask(event)
            case "done":
                if not isinstance(event["state"], Mapping):
                    raise AgentEndedEarly
                if not self._saver.has_steps:
                    await self._save(self._saver.finish_step(event))
                self._done = _Done(state=dict(event["state"]), text=well_formed(event["text"]))
            case _:
                pass  # a later protocol's events are no reason to fail

    async def _save(self, finished: Finished) -> None:
        """Once begun, a save ends, even if the turn is stopped meanwhile."""
        self._saving = asyncio.create_task(self._saver.save(finished))
        await asyncio.shield(self._saving)

    # the end

    async def _end(self) -> None:
        ending = self._ending()
        if ending is None or not await self._write(ending):
            return
        self.ended.set()
        result = ending.result(self.turn)
        try:
            result = await self._rewound(ending, result)
            await self._announce(ending)
        finally:
            self.progress.finish(result)

    def _ending(self) -> _Ending | None:
        """How it ended; None when the thread is gone, or went on without this turn."""
        error = _error_of(self._agent)
        if isinstance(error, Stale):
            return None
        if self._done is not None:
            content = self._saver.close(self._done.state)
            row = Row(role="assistant", text=self._done.text)
            return self._with_notes(TurnStatus.DONE, row, content)
        if self._stopping is not None:
            text = STOPPED if self._stopping is TurnStatus.STOPPED else INTERRUPTED
            return self._with_notes(self._stopping, Row(role="note", text=text))
        return self._with_notes(TurnStatus.FAILED, Row(role="note", text=self._explain(error)))

    def _with_notes(self, status: TurnStatus, row: Row, content: Encoded | None = None) -> _Ending:
        notes = (UNSAVED,) if self._saver.unsaved else ()
        return _Ending(status=status, row=row, content=content, spent=self._saver.owed, notes=notes)

    def _explain(self, error: BaseException | None) -> str:
        """One plain line for the chat; the log has the rest under the same reference."""
        reference = self._parts.new_id()[:8]
        _log.error(
            "turn failed",
            thread=self.turn.thread_id,
            surface=self._begun.actor.surface.value,
            operation="turn",
            reference=reference,
            exc_info=error,
        )
        known = getattr(error, "user_message", None)
        reason = one_line(known, 300).rstrip(".") if isinstance(known, str) and known.strip() else "the agent failed"
        reason = reason[:1].lower() + reason[1:]
        return f"That did not work: {reason}. You can go on or try again; the log has more under {reference}."

    async def _write(self, ending: _Ending) -> bool:
        """Write the end down, however long that takes: until then no other turn could begin."""
        rows = (ending.row, *(Row(role="note", text=n) for n in ending.notes))
        while True:
            try:
                self._written = await self._parts.threads.end_turn(
                    self.turn.thread_id,
                    self.turn.turn_no,
                    ending.status,
                    rows,
                    self._parts.clock(),
                    content=ending.content,
                    spent=ending.spent,
                )
            except (Stale, NotFound):
                return False
            except Exception:  # noqa: BLE001 - a full disk must not keep the thread from going on once there is room
                _log.exception("turn cannot be ended", thread=self.turn.thread_id, operation="turn")
                self.ended.set()
                self.progress.finish(ending.result(self.turn))
                await self._parts.sleep(RETRY_SECONDS)
            else:
                return True

    async def _rewound(self, ending: _Ending, result: TurnResult) -> TurnResult:
        """Do what the agent asked for about the turns, now that its own has ended."""
        wanted, rewind = self._context.wanted, self._parts.rewind()
        if wanted is None or rewind is None or ending.status is not TurnStatus.DONE:
            return result
        actor, thread_id = self._begun.actor, self.turn.thread_id
        try:
            if isinstance(wanted, Undo):
                await rewind.undo(actor, thread_id, wanted.n + 1)
            else:
                await rewind.redo_before(actor, thread_id, self._begun.before.returns)
        except Refusal as refusal:
            return self._remark(result, refusal.detail)
        except Exception:  # noqa: BLE001 - the turn itself is done, and its answer must be shown
            _log.exception("wish failed", thread=thread_id, operation="undo")
            return self._remark(result, WISH_FAILED)
        return result

    def _remark(self, result: TurnResult, note: str) -> TurnResult:
        self._remarks = (*self._remarks, note)
        return replace(result, notes=(*result.notes, note))

    async def _announce(self, ending: _Ending) -> None:
        for row in await self._closing_rows():
            self.voice.tell("message", message=shapes.message_json(row))
        self.voice.tell("turn_finished", turn_index=self.turn.turn_index, status=ending.status.value)
        self.voice.tell_threads()

    async def _closing_rows(self) -> Sequence[TranscriptRow]:
        rows = await self._parts.threads.turn_rows(self.turn.thread_id, self.turn.turn_no)
        return [r for r in rows if r.role != "user"]

    def _result_left(self) -> TurnResult:
        return TurnResult(thread_id=self.turn.thread_id, turn_index=self.turn.turn_index, status="approval_pending")

    def _result_failed(self) -> TurnResult:
        status: ResultStatus = "stopped" if self._stopping is not None else "failed"
        return TurnResult(thread_id=self.turn.thread_id, turn_index=self.turn.turn_index, status=status)


def _make_private(workspace: Path) -> None:
    """Make the folder, and the one of all workspaces, for the owner's eyes only."""
    for folder in (workspace.parent, workspace):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def _turns_before(begun: Begun) -> list[tuple[int, str]]:
    before = begun.before
    return [(t.turn_index, t.summary) for t in turns_on(before, before.lineage.path(begun.turn.base))]


def _error_of(task: asyncio.Task[None] | None) -> BaseException | None:
    if task is None or not task.done() or task.cancelled():
        return None
    return task.exception()


def _hear_of(task: asyncio.Task[Any]) -> None:
    """Take note of how a task ended that nobody waits for."""
    if not task.cancelled():
        task.exception()


@asynccontextmanager
async def _closing(events: AsyncIterator[Mapping[str, Any]]) -> AsyncIterator[AsyncIterator[Mapping[str, Any]]]:
    """`aclosing` for any iterator: an agent need not be written as a generator."""
    try:
        yield events
    finally:
        close = getattr(events, "aclose", None)
        if close is not None:
            await close()
