"""What two versions of a text have in common."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from turnback.core.packs.delta import matches


def rebuilt(old: bytes, new: bytes, least: int) -> tuple[bytes, int]:
    """The new text put together from matches, and how much of it was new."""
    out, fresh = b"", 0
    for was, now, size in matches(old, new, least):
        assert size >= least
        assert now >= len(out)
        fresh += now - len(out)
        out += new[len(out) : now] + old[was : was + size]
    return out + new[len(out) :], fresh + len(new) - len(out)


def noise(seed: int, size: int) -> bytes:
    return random.Random(seed).randbytes(size)


@given(st.lists(st.binary(max_size=40), max_size=8), st.lists(st.binary(max_size=40), max_size=8), st.integers(1, 64))
def test_matches_put_the_new_text_together(before: list[bytes], after: list[bytes], least: int) -> None:
    shared = noise(1, 300)
    old, new = shared.join(before), shared.join(after)
    assert rebuilt(old, new, least)[0] == new


def test_matches_follow_edits_in_the_middle() -> None:
    old = noise(1, 1_000_000)
    new = old[:200_000] + b"here" + old[200_050:600_000] + b"and there" * 20 + old[600_000:]
    assert rebuilt(old, new, 1024)[1] < 8192


def test_matches_follow_a_window_that_slides() -> None:
    old = noise(1, 500_000)
    new = old[30_000:] + noise(2, 30_000)
    assert rebuilt(old, new, 1024)[1] < 34_000


def test_matches_find_the_rest_after_a_long_cut() -> None:
    old = noise(1, 900_000)
    new = old[:1000] + noise(2, 3000) + old[700_000:] + noise(3, 500)
    assert rebuilt(old, new, 1024)[1] < 8192


def test_texts_with_nothing_in_common_have_no_matches() -> None:
    assert matches(noise(1, 50_000), noise(2, 50_000), 64) == []


def test_equal_texts_are_one_match() -> None:
    text = noise(1, 100_000)
    assert matches(text, text, 64) == [(0, 0, len(text))]


def test_empty_texts_have_no_matches() -> None:
    assert matches(b"", b"abc" * 100, 8) == []
    assert matches(b"abc" * 100, b"", 8) == []
