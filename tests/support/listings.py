"""Listings without a store: a thread's steps as a test names them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from turnback.core.answers import Listing
from turnback.core.models import (
    BEGINNING,
    AccountId,
    Branch,
    Position,
    Spent,
    Step,
    StepId,
    StepKind,
    Surface,
    Thread,
    ThreadId,
    Turn,
    TurnStatus,
)
from turnback.core.steps.store import Usage
from turnback.core.threads.store import ThreadView
from turnback.core.views import Placed, group_by_turn

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
THREAD = ThreadId("t" * 32)


def step(branch: int, pos: int, turn_no: int, iteration: int = 0, **more: Any) -> Step:
    """A step; its id is its position, its turn is shown under its number."""
    values: dict[str, Any] = {
        "id": step_id(pos),
        "thread_id": THREAD,
        "seq": pos,
        "at": Position(branch, pos),
        "turn_index": turn_no,
        "turn_no": turn_no,
        "iteration": iteration,
        "created_at": AT + timedelta(minutes=pos),
        "model": "scripted",
        "kind": StepKind.STEP,
        "summary": f"ask {turn_no}",
        "tools": (),
        "message_count": 2 * pos,
        "bytes": 100,
        "stored_bytes": 10,
        "truncated": False,
        "label": None,
        "workspace": None,
    }
    return Step(**values | more)


def step_id(pos: int) -> StepId:
    """The id of the step at a position."""
    return StepId(f"{pos:032x}")


def listing(steps: Sequence[Step], head: Position, left: Sequence[Position] = (), **thread: Any) -> Listing:
    """Everything that is kept of a thread; `left`: where branches 1, 2, … left their parents."""
    branches = (Branch(branch=0, left=None), *(Branch(branch=i, left=at) for i, at in enumerate(left, 1)))
    view = ThreadView(
        thread=replace(a_thread(head), **thread), branches=branches, turns=tuple(_turns(steps)), returns=(), gates=()
    )
    placed = Placed(view, steps)
    views = tuple(placed.views())
    return Listing(
        thread=view.thread,
        turn_index=max((v.step.turn_index for v in views if v.on_path), default=0),
        head=next((v.step.id for v in views if v.head), None),
        steps=views,
        turns=group_by_turn(view, placed.path, views),
        aside=sum(not v.on_path for v in views),
        usage=Usage(steps=len(views), stored_bytes=10 * len(views)),
        since=AT,
    )


def a_thread(head: Position = BEGINNING) -> Thread:
    """A thread of Ann's."""
    return Thread(
        id=THREAD,
        title="Trip",
        surface=Surface.WEB,
        owner=AccountId("a" * 32),
        group=False,
        created_at=AT,
        updated_at=AT,
        forked_from=None,
        head=head,
        root=BEGINNING,
        root_turn_index=0,
        epoch=0,
        version=0,
        memory=True,
        spent=Spent(),
        running_turn=None,
    )


def straight(turns: int, each: int = 1) -> Listing:
    """A conversation that never went back: turns of so many steps."""
    steps = [step(0, t * each + i + 1, t + 1, i) for t in range(turns) for i in range(each)]
    return listing(steps, Position(0, turns * each))


def _turns(steps: Sequence[Step]) -> list[Turn]:
    firsts: dict[int, Step] = {}
    for one in steps:
        firsts.setdefault(one.turn_no, one)
    return [
        Turn(
            thread_id=THREAD,
            turn_no=number,
            turn_index=first.turn_index,
            start=first.at,
            base=first.at,
            end=first.at,
            summary=first.summary,
            status=TurnStatus.DONE,
            actor=AccountId("a" * 32),
            started_at=AT,
            ended_at=AT,
        )
        for number, first in firsts.items()
    ]
