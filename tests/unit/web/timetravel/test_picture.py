"""Lanes, spurs and dots."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support.listings import listing, step, step_id, straight

from turnback.core.answers import Listing
from turnback.core.models import Position, Step
from turnback.web.timetravel.layout import Choice, Layout, chosen, lay_out
from turnback.web.timetravel.picture import FIRST_X, LANE, OWN_LANES, Picture, draw


def pictured(shown: Listing, choice: Choice = Choice(), opened: int | None = None) -> tuple[Layout, Picture]:
    at = step_id(opened) if opened else None
    layout = lay_out(shown.turns, shown.steps, choice, at)
    return layout, draw(layout, opened=at)


def runs_leaving(count: int) -> Listing:
    """A path of one turn and a last one, and `count` runs that left after the first turn."""
    steps = [
        step(0, 1, 1),
        *(step(n, n + 1, n + 1) for n in range(1, count + 1)),
        step(count + 1, count + 2, count + 2),
    ]
    return listing(steps, Position(count + 1, count + 2), [Position(0, 1)] * (count + 1))


OPEN = chosen(".".join(f"b{n}" for n in range(20)), "", "")


def test_the_path_is_one_straight_line_to_where_the_chat_stands() -> None:
    layout, picture = pictured(straight(3))
    (line,) = picture.lines
    assert (line.kind, line.d) == ("p", f"M{FIRST_X} {layout.rows[1].middle}V{layout.rows[-1].middle}")
    assert [dot.kind for dot in picture.dots] == ["e", "e", "e", "ring"]


def test_each_shown_step_has_a_dot_at_its_row() -> None:
    layout, picture = pictured(runs_leaving(3), OPEN)
    dots = {dot.step: dot.y for dot in picture.dots if dot.step}
    assert dots == {row.view.step.id: row.middle for row in layout.steps()}


def test_a_run_leaves_its_parents_dot_and_ends_in_a_stop() -> None:
    layout, picture = pictured(runs_leaving(1))
    spur, stop = [line for line in picture.lines if line.kind in "of"]
    parent = layout.row_of[step_id(1)].middle
    assert spur.d.startswith(f"M{FIRST_X} {parent}C")
    end = layout.row_of[step_id(2)].middle + 15
    assert spur.d.endswith(f"V{end}")
    assert stop.d == f"M{FIRST_X + LANE - 6} {end}h12"


def test_a_closed_run_ends_in_its_bar() -> None:
    layout, picture = pictured(runs_leaving(1), chosen("", "b1", ""))
    spur = next(line for line in picture.lines if line.kind == "o")
    assert spur.d.endswith(f"V{layout.row_of[step_id(2)].middle}")


def test_runs_side_by_side_take_lanes_of_their_own() -> None:
    _, picture = pictured(runs_leaving(3), OPEN)
    xs = [dot.x for dot in picture.dots if dot.kind == "so"]
    assert sorted(xs) == [FIRST_X + LANE * n for n in (1, 2, 3)]


def test_a_lane_is_used_again_below() -> None:
    steps = [step(0, 1, 1), step(0, 2, 2), step(1, 3, 3), step(1, 4, 4), step(2, 5, 5)]
    shown = listing(steps, Position(2, 5), [Position(0, 1), Position(1, 3)])
    _, picture = pictured(shown, OPEN)
    assert {dot.x for dot in picture.dots if dot.kind == "so"} == {FIRST_X + LANE}


def test_a_crowd_shares_the_last_lane_and_is_counted() -> None:
    _, picture = pictured(runs_leaving(OWN_LANES + 3), OPEN)
    assert picture.crowd is not None
    assert picture.crowd[0] == FIRST_X + LANE * (OWN_LANES + 1)
    assert picture.crowd[2] == 3
    assert picture.gutter == OWN_LANES + 2


def test_a_run_joins_at_the_nearest_step_that_is_kept() -> None:
    steps = [step(0, 1, 1), step(0, 4, 3), step(1, 5, 4)]  # the steps of turn 2 were dropped
    layout, picture = pictured(listing(steps, Position(1, 5), [Position(0, 3)]))
    spur = next(line for line in picture.lines if line.kind == "o")
    assert spur.d.startswith(f"M{FIRST_X} {layout.row_of[step_id(1)].middle}C")


def test_a_run_from_a_folded_stretch_leaves_its_bar() -> None:
    steps = [step(0, n, n) for n in range(1, 200)]
    shown = listing(
        [*steps, step(1, 200, 200), step(2, 201, 201)], Position(2, 201), [Position(0, 199), Position(0, 3)]
    )
    layout, picture = pictured(shown)
    bar = layout.row_of[step_id(3)]
    assert any(line.d.startswith(f"M{FIRST_X} {bar.middle}C") for line in picture.lines if line.kind == "o")


def test_the_path_after_an_opened_step_is_what_a_restore_would_leave() -> None:
    layout, picture = pictured(straight(3), opened=2)
    kept, left = picture.lines
    at = layout.row_of[step_id(2)].middle
    assert (kept.kind, kept.d.endswith(f"V{at}")) == ("p", True)
    assert (left.kind, left.d.startswith(f"M{FIRST_X} {at}V")) == ("p then", True)
    assert [dot.kind for dot in picture.dots if dot.step == step_id(3)] == ["e then"]
    assert sum(dot.kind == "open" for dot in picture.dots) == 1


def test_restoring_what_was_set_aside_leaves_the_path_where_it_left() -> None:
    layout, picture = pictured(runs_leaving(1), opened=2)
    left = next(line for line in picture.lines if line.kind == "p then")
    assert left.d.startswith(f"M{FIRST_X} {layout.row_of[step_id(1)].middle}V")


def test_a_forked_step_has_a_square() -> None:
    shown = straight(2)
    layout = lay_out(shown.turns, shown.steps, Choice())
    (square,) = draw(layout, forked={step_id(1)}).squares
    assert square.y + 4 == layout.row_of[step_id(1)].middle
    assert square.x > FIRST_X


def test_a_long_conversation_has_no_more_shapes_than_it_shows() -> None:
    layout, picture = pictured(straight(500, 2))
    assert len(picture.dots) < len(layout.rows) * 3
    assert picture.lines[0].d.startswith(f"M{FIRST_X} {layout.rows[0].middle}V")


def test_the_picture_is_said_in_words() -> None:
    _, picture = pictured(runs_leaving(1))
    assert picture.words == "The path runs from turn 1 to turn 3. 1 step from turn 2, step 1 on left it."


@st.composite
def histories(draw_from: st.DrawFn) -> Listing:
    """Any history: each step goes on from some step before it, and the chat stands at any of them."""
    steps: list[Step] = []
    left: list[Position] = []
    tips = {0: 0}
    for pos in range(1, draw_from(st.integers(1, 25)) + 1):
        parent = draw_from(st.sampled_from([Position(0, 0), *(s.at for s in steps)]))
        branch = parent.branch
        if tips[branch] != parent.pos:
            branch = len(tips)
            left.append(parent)
        tips[branch] = pos
        steps.append(step(branch, pos, pos))
    kept = [s for s in steps if draw_from(st.booleans())] or steps
    return listing(kept, draw_from(st.sampled_from([Position(0, 0), *(s.at for s in steps)])), left)


@given(shown=histories(), folds=st.sets(st.integers(0, 12)))
def test_any_history_can_be_drawn_within_its_bounds(shown: Listing, folds: set[int]) -> None:
    layout, picture = pictured(shown, Choice(opened=frozenset(f"b{n}" for n in folds)))
    assert all(0 < dot.x < picture.width and 0 < dot.y < max(picture.height, 1) for dot in picture.dots)
    assert {dot.step for dot in picture.dots if dot.step} == {row.view.step.id for row in layout.steps()}
    for row in layout.steps():
        assert (row.run is None) == row.view.on_path
