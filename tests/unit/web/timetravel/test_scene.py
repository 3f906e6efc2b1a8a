"""What stands beside the rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from support.listings import THREAD, a_thread, listing, step, step_id, straight

from turnback.core.answers import Listing
from turnback.core.models import ForkedFrom, Position, Thread, ThreadId
from turnback.core.threads.store import Return
from turnback.web.timetravel.layout import Choice, RunRow, StretchRow
from turnback.web.timetravel.scene import BringBack, Limits, Scene, set_up


def branched(**tip: Any) -> Listing:
    """Turn 2 was left for turn 3."""
    steps = [step(0, 1, 1), step(0, 2, 2, **tip), step(1, 3, 3)]
    return listing(steps, Position(1, 3), [Position(0, 1)])


def scene(
    shown: Listing, *, opened: int | None = None, threads: tuple[Thread, ...] = (), discard: bool = False
) -> Scene:
    at = step_id(opened) if opened else None
    return set_up(shown, choice=Choice(), opened=at, threads=threads, limits=Limits(discard=discard))


def bar(of: Scene) -> RunRow:
    return next(row for row in of.layout.rows if isinstance(row, RunRow))


def test_the_last_move_is_brought_back_by_a_redo_of_just_it() -> None:
    shown = replace(branched(), back=Return(id="m1", to=Position(0, 2)))
    assert scene(shown).bring_back(bar(scene(shown)).run) == BringBack(only="m1")


def test_an_older_run_is_brought_back_by_restoring_its_tip() -> None:
    shown = replace(branched(), back=Return(id="m1", to=Position(1, 9)))
    assert scene(shown).bring_back(bar(scene(shown)).run) == BringBack(step=step_id(2))


def test_a_tip_that_was_cut_cannot_be_restored_from_its_bar() -> None:
    of = scene(branched(truncated=True))
    assert of.bring_back(bar(of).run) is None


def test_where_restoring_deletes_only_a_redo_needs_no_question() -> None:
    of = scene(branched(), discard=True)
    assert of.bring_back(bar(of).run) is None
    shown = replace(branched(), back=Return(id="m1", to=Position(0, 2)))
    assert scene(shown, discard=True).bring_back(bar(of).run) == BringBack(only="m1")


def test_a_fold_that_closes_over_the_opened_step_closes_it_too() -> None:
    of = scene(branched(), opened=2)
    assert of.opened_beside(bar(of)) is None
    of = scene(branched(), opened=1)
    assert of.opened_beside(bar(of)) == step_id(1)


def test_a_stretch_that_closes_over_the_opened_step_closes_it_too() -> None:
    of = scene(straight(400), opened=5)
    shown = next(row for row in of.layout.rows if isinstance(row, StretchRow) and row.shown)
    assert of.opened_beside(shown) is None
    folded = next(row for row in of.layout.rows if isinstance(row, StretchRow) and not row.shown)
    assert of.opened_beside(folded) == step_id(5)


def test_forks_are_found_at_their_steps() -> None:
    def fork(number: int, origin: ThreadId, pos: int) -> Thread:
        at = ForkedFrom(thread_id=origin, snapshot_id=step_id(pos))
        return replace(a_thread(), id=ThreadId(f"{number:032x}"), forked_from=at)

    mine = fork(1, THREAD, 1)
    of = scene(branched(), threads=(mine, fork(2, ThreadId("x" * 32), 1), fork(3, THREAD, 99), a_thread()))
    assert of.forks == {step_id(1): [mine]}
    assert len(of.picture.squares) == 1
