"""Small pieces of what is said."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnback.bots.telling import age, moment, size, telling_apart, value_text

NOW = datetime(2026, 5, 3, 14, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("span", "said"),
    [
        (timedelta(seconds=59), "just now"),
        (timedelta(seconds=-5), "just now"),
        (timedelta(minutes=5, seconds=30), "5 min"),
        (timedelta(hours=3, minutes=59), "3 h"),
        (timedelta(days=2, hours=1), "2 d"),
    ],
)
def test_age_is_said_in_the_biggest_unit(span: timedelta, said: str) -> None:
    assert age(NOW - span, NOW) == said


def test_moment_is_utc_without_a_leading_zero() -> None:
    assert moment(NOW) == "3 May 2026, 14:05 UTC"


@pytest.mark.parametrize(("n", "said"), [(512, "512 B"), (12_300, "12 KB"), (33_554_432, "32.0 MB")])
def test_size_is_said_in_its_unit(n: int, said: str) -> None:
    assert size(n) == said


@given(st.lists(st.text("ab", min_size=12, max_size=12), unique=True, min_size=1))
def test_ids_are_shown_as_long_as_needed_to_tell_them_apart(ids: list[str]) -> None:
    shown = telling_apart(ids)
    assert len(set(shown.values())) == len(ids)
    assert all(len(s) >= 8 and i.startswith(s) for i, s in shown.items())


def test_values_that_json_refuses_are_still_text() -> None:
    assert value_text({"n": 2**70}).startswith("{")
    assert value_text("as it is") == "as it is"
