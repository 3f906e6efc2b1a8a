"""The nouns of Turnback as frozen values: what stores return and every surface speaks of.

Times are aware UTC. Ids are `NewType`s over `str`, so that a step's id is never handed in where a
thread's belongs. Where a thing stands in its thread is a `Position`; the tree of positions is in
`lineage`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, NamedTuple, NewType

ThreadId = NewType("ThreadId", str)
StepId = NewType("StepId", str)
AccountId = NewType("AccountId", str)
GateId = NewType("GateId", str)
FactId = NewType("FactId", str)

ID = re.compile(r"[0-9a-f]{32}")
"""What each of these ids looks like, to be matched whole."""

UNTITLED = "New chat"
"""The title of a thread until its first message gives it one."""

State = dict[str, Any]
"""An agent's whole state, as JSON values."""


class Surface(StrEnum):
    """Where a request came from."""

    TELEGRAM = "telegram"
    DISCORD = "discord"
    SLACK = "slack"
    WEB = "web"
    API = "api"
    TERMINAL = "terminal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A person; identities tie platform users to it.

    `named`: an admin because the setting `access.admins` names them, and only as long as it does.
    """

    id: AccountId
    name: str
    admin: bool
    created_at: datetime
    named: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A platform user (`surface` and its `user_key` there) who is an account."""

    surface: Surface
    user_key: str
    account: AccountId
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who asks, from where, with which rights there.

    `platform_admin` is the platform's own word, asked anew for each act; `identity` is
    `surface:user_key`, or None for tokens, sign-ins and the command line. `place` is the key of the place
    where they ask, for those who ask at one.
    """

    account: AccountId
    surface: Surface
    admin: bool = False
    name: str = ""
    identity: str | None = None
    platform_admin: bool = False
    place: str | None = None


class Position(NamedTuple):
    """A place in a thread: a branch, and a number that the thread gives out once, in order.

    Everything that a thread keeps (transcript rows, turns, steps, facts, checkpoints) has one, so
    that "on the path" is one rule for all. (0, 0) is the beginning of every thread.
    """

    branch: int
    pos: int


BEGINNING = Position(0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A run of positions that left its parent after `left`; None for branch 0."""

    branch: int
    left: Position | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkedFrom:
    """The thread and step that a fork was made from; they may be gone by now."""

    thread_id: ThreadId
    snapshot_id: StepId


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a thread has cost so far; never goes back."""

    tokens: int = 0
    usd: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """One conversation.

    `root` is the position below which nothing can be undone (the beginning, or a fork's root),
    `root_turn_index` the turn index there. `epoch` grows with each clear and forget: a capture of an
    older epoch is discarded. `version` grows with each change of the head.
    """

    id: ThreadId
    title: str
    surface: Surface
    owner: AccountId
    group: bool
    created_at: datetime
    updated_at: datetime
    forked_from: ForkedFrom | None
    head: Position
    root: Position
    root_turn_index: int
    epoch: int
    version: int
    memory: bool
    spent: Spent
    running_turn: int | None
    """`turn_no` of the turn that runs or waits at a gate."""


class TurnStatus(StrEnum):
    RUNNING = "running"
    APPROVAL_PENDING = "approval_pending"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One user message and all that the agent did to answer it.

    `start` is the position of the user's message, `base` the head that it continued from, `end` where the
    turn came to; while it runs, that is not brought up to date. `origin` says where the message was written,
    in words of the chat layer's own; `files` are the paths in the workspace that came with it.
    """

    thread_id: ThreadId
    turn_no: int
    turn_index: int
    start: Position
    base: Position
    end: Position
    summary: str
    status: TurnStatus
    actor: AccountId
    started_at: datetime
    ended_at: datetime | None
    origin: str | None = None
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """A message of ours at a place of a platform, and the position in its thread that it shows.

    `message` is its id there. `kind` is a word of the chat layer's own: what the message is.
    """

    surface: Surface
    place: str
    message: str
    thread_id: ThreadId
    at: Position
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptRow:
    """One message as people saw it; `role` is user, assistant or note."""

    id: str
    thread_id: ThreadId
    at: Position
    turn_no: int
    turn_index: int
    role: Literal["user", "assistant", "note"]
    text: str
    created_at: datetime
    author: AccountId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Something the agent was asked to remember, and the turn that taught it."""

    id: FactId
    thread_id: ThreadId
    at: Position
    turn_no: int
    turn_index: int
    text: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """A tool call whose effect stays in the world when the conversation goes back."""

    tool: str
    args: Any
    turn_index: int
    number: int
    at: Position


class GateStatus(StrEnum):
    WAITING = "waiting"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    DEAD = "dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """An approval that a tool call waits for. `call_id` is the agent's own name of the call."""

    id: GateId
    thread_id: ThreadId
    turn_no: int
    call_id: str
    tool: str
    args: Any
    status: GateStatus
    created_at: datetime
    expires_at: datetime


class StepKind(StrEnum):
    STEP = "step"
    RESCUE = "rescue"


class Step(NamedTuple):
    """What the step store keeps of a step beside its state. `seq` is the order of saving.

    A tuple, since lists make many of them.
    """

    id: StepId
    thread_id: ThreadId
    seq: int
    at: Position
    turn_index: int
    turn_no: int
    iteration: int
    created_at: datetime
    model: str | None
    kind: StepKind
    summary: str
    tools: tuple[str, ...]
    message_count: int
    bytes: int
    stored_bytes: int
    truncated: bool
    label: str | None
    workspace: str | None

    @property
    def number(self) -> int:
        """How the step is counted for people: from 1 in its turn."""
        return self.iteration + 1


class CaptureResult(StrEnum):
    STORED = "stored"
    TRUNCATED = "truncated"
    SKIPPED = "skipped"
    FAILED = "failed"


class Action(StrEnum):
    """What the audit trail records."""

    RESTORE = "restore"
    UNDO = "undo"
    REDO = "redo"
    RESET = "reset"
    FORK = "fork"
    CLEAR = "clear"
    DELETE = "delete"
    FORGET = "forget"
    LABEL = "label"
    SETTINGS = "settings"
    LOGIN = "login"


class Outcome(StrEnum):
    DONE = "done"
    REFUSED = "refused"
    FAILED = "failed"
    REVERSED = "reversed"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One line of the audit trail: append-only, outlives the thread, holds no message text.

    `code`: why it was refused or failed; of a change that an admin made also what was changed. `n` is the
    line's number in the trail, 0 before it is written.
    """

    at: datetime
    account: AccountId | None
    actor: str
    surface: Surface
    action: Action
    thread_id: ThreadId | None = None
    snapshot_id: StepId | None = None
    head_before: str | None = None
    outcome: Outcome = Outcome.DONE
    code: str | None = None
    n: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    """A step as its thread sees it now: the step, and what depends on where the thread stands."""

    step: Step
    parent: StepId | None
    has_branches: bool
    on_path: bool
    head: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnView:
    """A turn of a listing, with the steps of it that are listed."""

    turn: Turn
    on_path: bool
    steps: tuple[StepView, ...] = field(default=())
