"""Rows, folds, and the address that names them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.listings import listing, step, step_id, straight

from turnback.core.answers import Listing
from turnback.core.models import Position, StepKind
from turnback.web.timetravel.layout import (
    MOST_CHOICES,
    NEWEST_RUN,
    STRETCH,
    Choice,
    Layout,
    RunRow,
    StartRow,
    StepRow,
    StretchRow,
    TurnRow,
    chosen,
    lay_out,
)


def laid(shown: Listing, choice: Choice = Choice(), opened: int | None = None) -> Layout:
    return lay_out(shown.turns, shown.steps, choice, step_id(opened) if opened else None)


def kinds(layout: Layout) -> str:
    letters = {TurnRow: "T", StepRow: "s", RunRow: "b", StretchRow: "f", StartRow: "0"}
    return "".join(letters[type(row)] for row in layout.rows)


def branched(*, left: int = 2, aside: int = 2) -> Listing:
    """Two turns; then `aside` turns that were left for one on branch 1."""
    steps = [step(0, 1, 1), step(0, 2, 2), *(step(0, 3 + n, 3 + n) for n in range(aside))]
    return listing([*steps, step(1, 50, 60)], Position(1, 50), [Position(0, left)])


def test_rows_of_a_turn_follow_its_head() -> None:
    assert kinds(laid(straight(2, 3))) == "TsssTsss"


@given(turns=st.integers(0, 90), each=st.integers(1, 4))
def test_each_row_begins_where_the_one_above_ends(turns: int, each: int) -> None:
    layout = laid(straight(turns, each))
    top = 0
    for row in layout.rows:
        assert row.top == top
        top += row.height
    assert layout.height == top


def test_the_newest_run_is_shown_below_its_bar() -> None:
    layout = laid(branched())
    assert kinds(layout) == "TsTsbTsTsTs"
    (bar,) = [row for row in layout.rows if isinstance(row, RunRow)]
    assert (bar.shown, bar.turns, len(bar.run.steps)) == (True, 2, 2)


def test_a_run_that_was_closed_is_its_bar_alone() -> None:
    layout = laid(branched(), chosen("", "b0", ""))
    assert kinds(layout) == "TsTsbTs"
    assert isinstance(layout.row_of[step_id(3)], RunRow)


def test_a_long_run_is_closed_unasked_and_opens_when_asked() -> None:
    shown = branched(aside=NEWEST_RUN + 1)
    assert isinstance(laid(shown).row_of[step_id(3)], RunRow)
    assert isinstance(laid(shown, chosen("b0", "", "")).row_of[step_id(3)], StepRow)


def test_an_opened_step_opens_its_run_whatever_was_chosen() -> None:
    assert isinstance(laid(branched(), chosen("", "b0", ""), opened=3).row_of[step_id(3)], StepRow)


def test_without_what_is_set_aside_only_the_path_is_there() -> None:
    assert kinds(laid(branched(), chosen("", "", "no"))) == "TsTsTs"


def test_a_turn_that_was_left_in_its_middle_is_headed_again_below_the_bar() -> None:
    steps = [step(0, 1, 1, 0), step(0, 2, 1, 1), step(1, 3, 2)]
    layout = laid(listing(steps, Position(1, 3), [Position(0, 1)]))
    assert kinds(layout) == "TsbTsTs"
    heads = [row for row in layout.rows if isinstance(row, TurnRow)]
    assert [(h.continued, h.aside) for h in heads] == [(False, False), (True, True), (False, False)]
    (bar,) = [row for row in layout.rows if isinstance(row, RunRow)]
    assert bar.turns == 0


def test_a_long_conversation_folds_all_but_its_end() -> None:
    layout = laid(straight(500, 2))
    assert len(layout.steps()) < 3 * STRETCH
    assert layout.rows[-1].view.head  # type: ignore[attr-defined]
    folded = [row for row in layout.rows if isinstance(row, StretchRow) and not row.shown]
    assert sum(row.steps for row in folded) + len(layout.steps()) == 1000


def test_borders_of_stretches_stay_when_the_conversation_grows() -> None:
    def names(turns: int) -> list[str]:
        return [row.name for row in laid(straight(turns, 2)).rows if isinstance(row, StretchRow)]

    assert names(400)[:5] == names(401)[:5] == names(440)[:5]


def test_a_folded_stretch_opens_when_asked_and_for_an_opened_step() -> None:
    shown = straight(500, 2)
    assert isinstance(laid(shown, chosen("t1", "", "")).row_of[step_id(1)], StepRow)
    assert isinstance(laid(shown, opened=400).row_of[step_id(400)], StepRow)


def test_every_step_has_a_row_that_stands_for_it() -> None:
    shown = straight(300, 3)
    layout = laid(shown)
    assert set(layout.row_of) == {view.step.id for view in shown.steps}


def test_a_thread_at_its_beginning_has_a_row_for_that() -> None:
    steps = [step(0, 1, 1), step(0, 2, 2)]
    layout = laid(listing(steps, Position(0, 0)))
    start = layout.rows[0]
    assert isinstance(start, StartRow)
    assert (start.beginning, start.head) == (True, True)


def test_a_run_whose_beginning_is_not_kept_says_so() -> None:
    steps = [step(0, 8, 8), step(1, 9, 9)]
    start = laid(listing(steps, Position(1, 9), [Position(0, 7)])).rows[0]
    assert isinstance(start, StartRow)
    assert not start.beginning


def test_a_rescue_step_is_a_row_and_no_run() -> None:
    steps = [step(0, 1, 1), step(0, 2, 1, 1, kind=StepKind.RESCUE)]
    assert kinds(laid(listing(steps, Position(0, 1)))) == "Tss"


def test_no_steps_make_no_rows() -> None:
    assert laid(listing([], Position(0, 0))).rows == ()


@pytest.mark.parametrize("text", ["x9", "b", "b-1", "t1'", "b1e9", "b" + "1" * 40, "<b1>"])
def test_what_names_no_fold_is_not_heard(text: str) -> None:
    assert chosen(text, "", "") == Choice()


def test_an_address_holds_few_folds() -> None:
    assert len(chosen(".".join(f"t{n}" for n in range(99)), "", "").opened) == MOST_CHOICES


def test_a_choice_is_read_back_from_its_address() -> None:
    choice = Choice().turned("b2", to_open=True).turned("t7", to_open=False)
    query = choice.query()
    assert chosen(query["open"], query["shut"], query.get("aside", "")) == choice
    assert Choice().query() == {}


def test_opening_another_step_moves_no_row() -> None:
    shown = straight(500, 2)
    first = laid(shown, opened=3)
    again = laid(shown, first.choice, opened=990)
    assert [row.top for row in again.rows] == [row.top for row in first.rows]
