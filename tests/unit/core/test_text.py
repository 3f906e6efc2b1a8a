"""Rules about text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnback.core.text import counted, one_line, well_formed


@pytest.mark.parametrize(
    ("text", "limit", "line"),
    [
        ("short", 80, "short"),
        ("  two\n\twords ", 80, "two words"),
        ("one two three", 7, "one two"),
        ("one two three", 8, "one two"),
        ("unbreakable", 4, "unbr"),
        ("", 5, ""),
        ("a\ud800b", 5, "a\ufffdb"),
    ],
)
def test_one_line_cuts_at_a_word(text: str, limit: int, line: str) -> None:
    assert one_line(text, limit) == line


@given(st.text(), st.integers(min_value=1, max_value=100))
def test_one_line_is_one_line_within_the_limit(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert "\n" not in line
    assert bool(line) == bool(text.split())


@given(st.text(alphabet=st.characters()))
def test_well_formed_can_be_encoded(text: str) -> None:
    well_formed(text).encode()


def test_well_formed_joins_a_pair_of_surrogates() -> None:
    assert well_formed("\ud83d\ude00 \ude00") == "😀 \ufffd"


def test_counts_have_their_plural() -> None:
    assert (counted(0, "step"), counted(1, "step"), counted(2, "step")) == ("0 steps", "1 step", "2 steps")
