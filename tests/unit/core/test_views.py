"""What follows from positions: parents, heads, branches."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

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
)
from turnback.core.threads.store import ThreadView
from turnback.core.views import Placed

AT = datetime(2026, 3, 1, tzinfo=UTC)


def a_view(head: Position, *left: Position) -> ThreadView:
    thread = Thread(
        id=ThreadId("t" * 32),
        title="t",
        surface=Surface.API,
        owner=AccountId("a"),
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
    branches = (Branch(branch=0, left=None), *(Branch(branch=i, left=at) for i, at in enumerate(left, 1)))
    return ThreadView(thread=thread, branches=branches, turns=(), returns=(), gates=())


def a_step(branch: int, pos: int, kind: StepKind = StepKind.STEP) -> Step:
    return Step(
        id=StepId(f"{pos:032x}"),
        thread_id=ThreadId("t" * 32),
        seq=pos,
        at=Position(branch, pos),
        turn_index=1,
        turn_no=1,
        iteration=0,
        created_at=AT,
        model=None,
        kind=kind,
        summary="",
        tools=(),
        message_count=1,
        bytes=1,
        stored_bytes=1,
        truncated=False,
        label=None,
        workspace=None,
    )


def test_parent_is_the_nearest_step_that_survived() -> None:
    # 2 and 4 on branch 0; branch 1 left after 4, whose step 4 was dropped
    view = a_view(Position(1, 6), Position(0, 4))
    views = Placed(view, [a_step(0, 2), a_step(1, 6)]).views()
    assert views[1].parent == views[0].step.id
    assert [v.on_path for v in views] == [True, True]


def test_head_is_the_newest_step_at_or_before_where_the_thread_stands() -> None:
    placed = Placed(a_view(Position(0, 5)), [a_step(0, 2), a_step(0, 4), a_step(0, 9)])
    assert [v.head for v in placed.views()] == [False, True, False]
    assert [v.on_path for v in placed.views()] == [True, True, False]


def test_a_step_has_branches_only_while_something_of_them_survives() -> None:
    view = a_view(Position(0, 4), Position(0, 2))
    with_branch = Placed(view, [a_step(0, 2), a_step(0, 4), a_step(1, 6)]).views()
    without = Placed(view, [a_step(0, 2), a_step(0, 4)]).views()
    assert with_branch[0].has_branches
    assert not any(v.has_branches for v in without)


def test_a_rescue_step_is_on_no_path_and_nobodys_parent() -> None:
    views = Placed(a_view(Position(0, 4)), [a_step(0, 2, StepKind.RESCUE), a_step(0, 4)]).views()
    assert views[1].parent is None
    assert not views[0].on_path


@given(
    left=st.lists(st.integers(0, 30), max_size=6),
    kept=st.sets(st.integers(0, 60), max_size=25),
    data=st.data(),
)
def test_parents_and_head_agree_with_the_path(left: list[int], kept: set[int], data: st.DataObject) -> None:
    # branch i + 1 leaves branch i; positions 10 * branch .. are its own
    origins = [Position(i, 10 * i + at % 10) for i, at in enumerate(left)]
    view = a_view(Position(len(left), 10 * len(left) + data.draw(st.integers(0, 9))), *origins)
    steps = [a_step(min(pos // 10, len(left)), pos) for pos in sorted(kept)]
    placed = Placed(view, steps)
    views = {v.step.id: v for v in placed.views()}
    for v in views.values():
        ancestors = [s for s in steps if placed.lineage.path(v.step.at).covers(s.at) and s.id != v.step.id]
        assert v.parent == (max(ancestors, key=lambda s: s.at.pos).id if ancestors else None)
    on_path = [s for s in steps if placed.path.covers(s.at)]
    assert [s.id for s in steps if views[s.id].head] == ([max(on_path, key=lambda s: s.at.pos).id] if on_path else [])
