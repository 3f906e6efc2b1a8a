"""Paths through a thread's branches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnback.core.lineage import Lineage
from turnback.core.models import BEGINNING, Branch, Position

# 0: 1 2 3 4 5        1 left at 3, 2 left branch 1 at 7, 3 left the beginning
#         \- 1: 6 7 8
#               \- 2: 9
TREE = Lineage(
    [
        Branch(branch=0, left=None),
        Branch(branch=1, left=Position(0, 3)),
        Branch(branch=2, left=Position(1, 7)),
        Branch(branch=3, left=BEGINNING),
    ]
)


def test_path_covers_what_leads_to_its_end() -> None:
    path = TREE.path(Position(2, 9))
    assert path.end == Position(2, 9)
    covered = [Position(0, 0), Position(0, 3), Position(1, 6), Position(1, 7), Position(2, 9)]
    left_out = [Position(0, 4), Position(1, 8), Position(2, 10), Position(3, 1)]
    assert all(path.covers(at) for at in covered)
    assert not any(path.covers(at) for at in left_out)


def test_path_from_the_beginning_covers_the_beginning_only() -> None:
    path = TREE.path(BEGINNING)
    assert path.covers(BEGINNING)
    assert not path.covers(Position(0, 1))
    assert TREE.path(Position(3, 10)).upto == {3: 10, 0: 0}


def test_path_of_an_unknown_branch_is_a_bug() -> None:
    with pytest.raises(KeyError):
        TREE.path(Position(9, 1))


def test_reach_takes_the_furthest_of_all_ends_on_each_branch() -> None:
    assert TREE.reach([Position(2, 9), Position(0, 4), Position(1, 6)]) == {0: 4, 1: 7, 2: 9}
    assert TREE.reach([]) == {}


def test_leaving_names_where_branches_left() -> None:
    assert TREE.leaving() == {Position(0, 3), Position(1, 7), BEGINNING}


@st.composite
def trees(draw: st.DrawFn) -> tuple[Lineage, dict[Position, set[Position]]]:
    """Branches grown one position at a time, and what really led to each position."""
    branches = [Branch(branch=0, left=None)]
    led_to = {BEGINNING: {BEGINNING}}
    tips = {0: BEGINNING}
    for pos in range(1, draw(st.integers(1, 25))):
        base = draw(st.sampled_from(sorted(led_to)))
        at = Position(base.branch, pos)
        if tips[base.branch] != base:
            at = Position(len(branches), pos)
            branches.append(Branch(branch=at.branch, left=base))
        tips[at.branch] = at
        led_to[at] = led_to[base] | {at}
    return Lineage(branches), led_to


@given(trees())
def test_path_covers_exactly_what_led_there_in_any_tree(tree: tuple[Lineage, dict[Position, set[Position]]]) -> None:
    lineage, led_to = tree
    for end, places in led_to.items():
        path = lineage.path(end)
        assert {at for at in led_to if path.covers(at)} == places


@given(trees(), st.data())
def test_reach_is_the_union_of_paths_in_any_tree(
    tree: tuple[Lineage, dict[Position, set[Position]]], data: st.DataObject
) -> None:
    lineage, led_to = tree
    ends = data.draw(st.lists(st.sampled_from(sorted(led_to)), max_size=5))
    reach = lineage.reach(ends)
    reached = set().union(*(led_to[end] for end in ends))
    assert {at for at in led_to if at.pos <= reach.get(at.branch, -1)} == reached
