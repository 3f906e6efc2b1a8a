"""How a thread's steps and turns look from where it stands now: pure functions on values.

Steps know nothing of heads and parents, since budgets drop steps and heads move. Both follow from
positions, each time they are asked for.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace

from turnback.core import shapes
from turnback.core.errors import ApprovalPending, SnapshotTruncated, TurnRunning
from turnback.core.lineage import Lineage, Path
from turnback.core.models import AccountId, Position, Step, StepKind, StepView, Thread, Turn, TurnStatus, TurnView
from turnback.core.threads.store import ThreadView


class Placed:
    """A thread's surviving steps, placed on its branches."""

    def __init__(self, view: ThreadView, steps: Iterable[Step]) -> None:
        self.view = view
        self.lineage: Lineage = view.lineage
        self.path: Path = self.lineage.path(view.thread.head)
        self.steps: list[Step] = sorted(steps, key=lambda s: s.seq)
        self._on_branch: dict[int, list[tuple[int, int]]] = {}
        self._by_seq = {s.seq: s for s in self.steps}
        for step in self.steps:
            if step.kind is StepKind.STEP:
                insort(self._on_branch.setdefault(step.at.branch, []), (step.at.pos, step.seq))

    def newest_at(self, at: Position) -> Step | None:
        """The newest surviving step at or before a position, on the path that leads there."""
        for last in self.lineage.back(at):
            places = self._on_branch.get(last.branch, [])
            index = bisect_right(places, (last.pos, 2**63))
            if index:
                return self._by_seq[places[index - 1][1]]
        return None

    @property
    def head(self) -> Step | None:
        """The newest surviving step at or before where the thread stands."""
        return self.newest_at(self.view.thread.head)

    def standing_at(self, to: Position) -> Placed:
        """The same steps, as they look once the thread stands at `to`."""
        other = copy(self)
        other.view = replace(self.view, thread=replace(self.view.thread, head=to))
        other.path = self.lineage.path(to)
        return other

    def views(self) -> list[StepView]:
        """Every step, in the order of saving."""
        head, forks = self.head, self._left_by_branches()
        return [self._view(step, head, forks) for step in self.steps]

    def view_of(self, step: Step) -> StepView:
        """One step of these."""
        return self._view(step, self.head, self._left_by_branches())

    def head_view(self) -> StepView | None:
        """The step at the head."""
        return self.view_of(self.head) if self.head else None

    def _view(self, step: Step, head: Step | None, forks: set[int]) -> StepView:
        parent = self.newest_at(Position(step.at.branch, step.at.pos - 1))
        return StepView(
            step=step,
            parent=parent.id if parent else None,
            has_branches=step.seq in forks,
            on_path=step.kind is StepKind.STEP and self.path.covers(step.at),
            head=head is not None and step.seq == head.seq,
        )

    def _left_by_branches(self) -> set[int]:
        alive = {b for branch in {s.at.branch for s in self.steps} for b in self.lineage.path(Position(branch, 0)).upto}
        alive |= set(self.path.upto)
        left = (b.left for b in self.view.branches if b.left is not None and b.branch in alive)
        return {step.seq for at in left if (step := self.newest_at(at)) is not None}


def turns_on(view: ThreadView, path: Path) -> list[Turn]:
    """The turns on a path, oldest first. One that the path leaves in its middle is on it."""
    return sorted((t for t in view.turns if path.covers(t.start)), key=lambda t: t.start.pos)


def turn_index_on(view: ThreadView, path: Path) -> int:
    """The turn index where a path ends."""
    turns = turns_on(view, path)
    return turns[-1].turn_index if turns else view.thread.root_turn_index


def group_by_turn(view: ThreadView, path: Path, steps: Sequence[StepView]) -> tuple[TurnView, ...]:
    """The turns that have steps among `steps`, in their order, each with those steps."""
    known = {t.turn_no: t for t in view.turns}
    groups: dict[int, list[StepView]] = {}
    for step in steps:
        groups.setdefault(step.step.turn_no, []).append(step)
    turns = []
    for number in sorted(groups):
        members = tuple(groups[number])
        turn = known.get(number) or _turn_of_root(view.thread, members[0].step)
        turns.append(TurnView(turn=turn, on_path=path.covers(turn.start), steps=members))
    return tuple(turns)


def _turn_of_root(thread: Thread, step: Step) -> Turn:
    """The turn of a fork's root: it happened in the thread that was forked."""
    return Turn(
        thread_id=thread.id,
        turn_no=step.turn_no,
        turn_index=step.turn_index,
        start=step.at,
        base=step.at,
        end=step.at,
        summary=step.summary,
        status=TurnStatus.DONE,
        actor=AccountId(thread.owner),
        started_at=step.created_at,
        ended_at=step.created_at,
    )


def refuse_truncated(step: Step) -> None:
    """Nobody goes to a step with parts cut."""
    if step.truncated:
        raise SnapshotTruncated


def refuse_busy(view: ThreadView) -> None:
    """Nobody goes anywhere while an approval waits or a turn runs."""
    if view.gates:
        raise ApprovalPending([shapes.gate_json(g) for g in view.gates])
    if view.thread.running_turn is not None:
        raise TurnRunning
