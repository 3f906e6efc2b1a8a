"""What the rewind service answers: frozen values that every surface renders in its own form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from turnback.core.models import Effect, ForkedFrom, State, StepId, StepView, Thread, ThreadId, TurnView
from turnback.core.steps.store import Usage
from turnback.core.threads.store import Return

EFFECTS_SHOWN = 10
"""Effects that an answer lists; the rest is a count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A thread's steps in the order of saving, and its turns, oldest first.

    `aside` counts the steps that are set aside; `since` is when the oldest step that is left was saved.
    `back` is the move that a redo would reverse, if there is one.
    """

    thread: Thread
    turn_index: int
    head: StepId | None
    steps: tuple[StepView, ...]
    turns: tuple[TurnView, ...]
    aside: int
    usage: Usage
    since: datetime | None
    back: Return | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDetail:
    """One step with its state; `messages` is the readable form."""

    view: StepView
    state: State
    messages: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewound:
    """What a restore, undo, redo or reset did, or (in a preview) would do.

    `effects` are the newest, newest first, of `effects_total` tool calls whose effects stay in the
    world. `bring_back` names this move for a redo of just it. `undone` is how many turns an undo
    took back, which is less than was asked for at the beginning. `unchanged`: the thread stood there
    already. `lesson` is what was tried on a branch that ended badly, if the agent may be told.
    """

    thread_id: ThreadId
    head: StepView | None
    turn_index: int
    summary: str
    turns_set_aside: int
    turns_brought_back: int
    effects: tuple[Effect, ...] = ()
    effects_total: int = 0
    rescue: StepId | None = None
    bring_back: str | None = None
    lesson: str | None = None
    undone: int = 0
    unchanged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a restore would do now, and what would be in its way."""

    rewound: Rewound
    refusal: Exception | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """A new thread made from a step; `again` when the same fork was made moments before."""

    thread: Thread
    forked_from: ForkedFrom
    root: StepView | None
    again: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What became of a step that another process recorded; the id is None unless it was saved."""

    result: str
    id: StepId | None
