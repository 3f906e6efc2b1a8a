"""What the thread store does: the seam behind which turnback.db, and later PostgreSQL, stands.

It alone decides where a thread stands. Every method is one transaction. Those that change a head
take the `version` that the caller decided on, and raise `Stale` when the thread has moved on since:
the caller reads anew and decides again. Rules live in the callers; the store only keeps them whole.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

from turnback.core.lineage import Lineage
from turnback.core.models import (
    AccountId,
    Actor,
    AuditEntry,
    Branch,
    Effect,
    Fact,
    FactId,
    ForkedFrom,
    Gate,
    GateId,
    GateStatus,
    Position,
    Spent,
    State,
    Surface,
    Thread,
    ThreadId,
    TranscriptRow,
    Turn,
    TurnStatus,
)
from turnback.core.packs.bundle import Bundle
from turnback.core.state.codec import Encoded
from turnback.core.threads.accounts import AccountStore
from turnback.core.threads.ledger import Ledger
from turnback.core.threads.places import PlaceStore

LISTED = 500
"""Threads that a list has at most, unless it asks for more."""


class Stale(Exception):
    """The thread changed since the caller read it; read again and decide again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Return:
    """One entry of the redo chain: the head before a restore, undo or reset, newest last."""

    id: str
    to: Position


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadView:
    """A thread with all that decides about its path, read in one transaction."""

    thread: Thread
    branches: tuple[Branch, ...]
    turns: tuple[Turn, ...]
    """By turn_no. Turns that were discarded for good are not in it."""
    returns: tuple[Return, ...]
    gates: tuple[Gate, ...]
    """The waiting ones."""

    @property
    def lineage(self) -> Lineage:
        return Lineage(self.branches)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTurn:
    """A turn about to begin. With `turn_index` None it is the one after the head's.

    `waiting` is the id of the message if it had to wait. `origin` and `files` as in `Turn`.
    """

    text: str
    summary: str
    actor: AccountId
    at: datetime
    turn_index: int | None = None
    waiting: int | None = None
    origin: str | None = None
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A message that waits for its turn. Its actor is an admin if the account is one now."""

    id: int
    thread_id: ThreadId
    actor: Actor
    text: str
    origin: str | None = None
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A transcript row about to be written."""

    role: Literal["user", "assistant", "note"]
    text: str
    author: AccountId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A change of head by restore, undo, redo or reset.

    `returns` is the redo chain afterwards. `content` becomes the checkpoint at `to`; None keeps the one
    that is there. `discard` (`returns` is then empty) deletes for good, in the same transaction, all
    rows, turns, facts and effects that then are off the path, and leaves a follow-up "discard" for the
    steps (`args`: "to" as a list, and "before", the next position that the thread would have given out).
    """

    to: Position
    returns: tuple[Return, ...]
    content: Encoded | Bundle | None
    audit: AuditEntry
    discard: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFork:
    """A fork about to be made: `source` and where in it, the new thread, its root's content."""

    id: ThreadId
    title: str
    owner: AccountId
    surface: Surface
    source: ThreadId
    at: Position
    turn_index: int
    forked_from: ForkedFrom
    content: Encoded | Bundle
    created_at: datetime
    audit: AuditEntry
    root: Mapping[str, Any]
    """Arguments of the follow-up "root", which makes the fork's one step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowUp:
    """What steps.db (and later files) still has to do after turnback.db has decided."""

    id: int
    kind: Literal["root", "clear", "delete", "forget", "discard"]
    thread_id: ThreadId
    args: Mapping[str, Any]


class ThreadStore(AccountStore, PlaceStore, Ledger, Protocol):
    """Threads, and all that must outlive steps.db."""

    # threads and where they stand
    async def create_thread(
        self, thread_id: ThreadId, title: str, surface: Surface, owner: AccountId, at: datetime, *, group: bool = False
    ) -> Thread: ...
    async def find_thread(self, thread_id: ThreadId) -> Thread | None: ...
    async def list_threads(self, account: AccountId | None, limit: int = LISTED) -> Sequence[Thread]:
        """Threads that an account owns or takes part in, newest first; None: everybody's."""
        ...

    async def match_threads(self, account: AccountId, beginning: str, limit: int) -> Sequence[Thread]:
        """Those of an account whose ids begin like that, by id."""
        ...

    async def rename_thread(self, thread_id: ThreadId, title: str, at: datetime) -> Thread | None: ...
    async def view(self, thread_id: ThreadId) -> ThreadView | None: ...
    async def set_memory(self, thread_id: ThreadId, on: bool) -> None: ...
    async def running(self) -> Sequence[Turn]:
        """Every turn that runs or waits at a gate."""
        ...

    # turns
    async def begin_turn(self, thread_id: ThreadId, turn: NewTurn) -> Turn:
        """Begin a turn at the head: allocates turn_no, position and, off a branch's tip, a branch.

        Writes the user's row, moves the head to it with the same checkpoint content, ends the redo
        chain; a message that waited waits no more. Raises the refusals TurnRunning and ApprovalPending
        (they are known only in here), and Stale if that message did not wait.
        """
        ...

    async def commit_step(
        self,
        thread_id: ThreadId,
        turn_no: int,
        content: Encoded,
        *,
        effects: Sequence[Effect] = (),
        spent: Spent = Spent(),
    ) -> Position:
        """A step of the running turn is finished: the head moves on to it, with its checkpoint.

        The `at` of each effect is ignored and set to the position that is answered. Raises Stale when
        that turn does not run (any more).
        """
        ...

    async def end_turn(
        self,
        thread_id: ThreadId,
        turn_no: int,
        status: TurnStatus,
        rows: Sequence[Row],
        at: datetime,
        *,
        content: Encoded | None = None,
        spent: Spent = Spent(),
    ) -> Turn:
        """End a turn: writes `rows` at the head (a position of their own if no step was made), replaces the
        head's checkpoint by `content` if given, kills waiting gates, lets go of old checkpoints."""
        ...

    async def record_turn(
        self,
        thread_id: ThreadId,
        turn: NewTurn,
        content: Encoded,
        rows: Sequence[Row],
        *,
        same_turn: bool,
        effects: Sequence[Effect] = (),
        spent: Spent = Spent(),
    ) -> tuple[Turn, Position]:
        """A step of an agent in another process: begins and ends a turn (or, with `same_turn`, continues
        the newest one at the head) in one transaction, with `content` as the head's checkpoint."""
        ...

    async def set_turn_status(self, thread_id: ThreadId, turn_no: int, status: TurnStatus) -> None: ...

    # messages that wait for their turn
    async def add_waiting(
        self, thread_id: ThreadId, actor: Actor, text: str, *, origin: str | None = None, files: Sequence[str] = ()
    ) -> int:
        """Keep a message until its turn begins, the head is moved, or it is dropped; answers its id.
        NotFound if there is no such thread."""
        ...

    async def waiting(self) -> Sequence[Waiting]:
        """Those of all threads, in the order in which they came."""
        ...

    async def drop_waiting(self, gone: Collection[int]) -> None: ...

    # going back
    async def checkpoint(self, thread_id: ThreadId, at: Position) -> State | None:
        """The state kept at a position; None where none is (any more). BEGINNING without one is {}."""
        ...

    async def checkpoint_bundle(self, thread_id: ThreadId, at: Position, *, here: bool = False) -> Bundle | None:
        """The same as it is stored, to be copied elsewhere; `here` is what it is to `StepStore.bundle`."""
        ...

    async def move_head(self, thread_id: ThreadId, version: int, move: Move) -> Thread:
        """Nothing waits for its turn afterwards. Raises TurnRunning, ApprovalPending, Stale, and StepGone
        where `to` has no checkpoint and gets none."""
        ...

    async def fork_thread(self, fork: NewFork) -> Thread:
        """A new thread: transcript and facts up to the step on its path, all on branch 0, positions kept."""
        ...

    async def recent_fork(self, owner: AccountId, forked_from: ForkedFrom, since: datetime) -> Thread | None: ...
    async def clear_thread(self, thread_id: ThreadId, audit: AuditEntry) -> FollowUp:
        """Begin a new epoch; the follow-up deletes the steps."""
        ...

    async def delete_thread(self, thread_id: ThreadId, audit: AuditEntry) -> FollowUp:
        """Delete all of a thread for good, and leave a tombstone; idempotent. NotFound if it never was."""
        ...

    async def follow_ups(self) -> Sequence[FollowUp]: ...
    async def followed_up(self, follow_up_id: int) -> None: ...
    async def sweep(self, thread_id: ThreadId, steps: Collection[Position]) -> int:
        """Delete set-aside rows, turns, facts, effects and checkpoints that neither the head, nor the redo
        chain, nor one of the surviving `steps` can reach. Answers how many rows."""
        ...

    async def tombstones(self, ids: Collection[ThreadId] | None = None) -> Collection[ThreadId]:
        """Which of these ids were deleted once; None: all that were."""
        ...

    async def merge_tombstones(self, ids: Collection[ThreadId]) -> None:
        """Threads that another database (one that a backup replaces) knows to be deleted: here too, for good."""
        ...

    async def purge(self) -> bool:
        """Leave no deleted text in the file or its write-ahead log. False while a reader is in the way."""
        ...

    # what people see and what the agent remembers
    async def transcript(
        self, thread_id: ThreadId, *, everything: bool = False
    ) -> Sequence[tuple[TranscriptRow, bool]]:
        """Rows by position, each with whether it is set aside; without `everything` only the path's."""
        ...

    async def turn_rows(self, thread_id: ThreadId, turn_no: int) -> Sequence[TranscriptRow]:
        """The rows of one turn, in their order."""
        ...

    async def effects(self, thread_id: ThreadId) -> Sequence[Effect]: ...
    async def add_fact(self, thread_id: ThreadId, fact_id: FactId, text: str, at: datetime) -> Fact:
        """Remember, in the running turn (Stale if none runs). The fact belongs to the step being made: it is
        on the path when that step is."""
        ...

    async def facts(self, thread_id: ThreadId) -> Sequence[Fact]:
        """The facts on the path, oldest first."""
        ...

    async def forget_facts(self, thread_id: ThreadId, fact_id: FactId | None, audit: AuditEntry) -> FollowUp | None:
        """Delete a fact, or all (None), leave tombstones ("thread/fact"), begin a new epoch. The follow-up
        deletes the steps that hold it: "forget" with {"pos", "epoch"}, or "clear" with {"epoch"}. None if
        there is no such fact."""
        ...

    # gates
    async def open_gates(
        self, thread_id: ThreadId, turn_no: int, gates: Sequence[Gate], content: Encoded | None
    ) -> None:
        """The turn waits: status approval_pending; `content` is what the agent resumes from after a restart."""
        ...

    async def gate_content(self, thread_id: ThreadId, turn_no: int) -> State | None: ...
    async def gates(self, thread_id: ThreadId, turn_no: int) -> Sequence[Gate]: ...
    async def find_gate(self, gate_id: GateId) -> Gate | None: ...
    async def decide_gate(self, gate_id: GateId, status: GateStatus, by: AccountId | None, at: datetime) -> bool:
        """False if it was not waiting."""
        ...

    # the file
    async def backup(self, path: str) -> None:
        """Write a consistent copy of the whole database to a new file."""
        ...

    async def close(self) -> None: ...
