"""Comparisons in words."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from turnback.core.state.compare import compare
from turnback.web.timetravel.comparing import CHANGES_SHOWN, MESSAGES_SHOWN, Comparison, read_comparison


def compared(a: dict[str, Any], b: dict[str, Any]) -> Comparison:
    result = {"a": "a", "b": "b", "model": {"a": "m1", "b": "m2"}, "files": None, **compare(a, b)}
    return read_comparison(result, a)


def text(pieces: tuple[tuple[str, str], ...] | None) -> str | None:
    return None if pieces is None else "".join(part for _, part in pieces)


def changes(a: dict[str, Any], b: dict[str, Any]) -> list[tuple[str, str, str | None, str | None]]:
    return [(c.verb, c.where, text(c.a), text(c.b)) for c in compared(a, b).changes]


def said(role: str, words: str) -> dict[str, Any]:
    return {"role": role, "content": words}


def test_a_change_names_its_place_and_both_values() -> None:
    a = {"plan": [{"do": "upload"}, {"do": "sleep"}]}
    assert changes(a, {"plan": [{"do": "verify"}, {"do": "sleep"}]}) == [
        ("changed", "plan › 1 › do", "upload", "verify")
    ]


def test_what_comes_and_goes_is_not_there_on_one_side() -> None:
    assert changes({"old": 1}, {"new": [1]}) == [("removed", "old", "1", None), ("added", "new", None, "[1]")]


def test_keys_that_look_like_numbers_are_keys() -> None:
    assert changes({"k": {"0": 1}}, {"k": {"0": 2}}) == [("changed", "k › 0", "1", "2")]


def test_keys_with_slashes_and_tildes_read_as_they_are() -> None:
    assert changes({"a/b~c": 1}, {"a/b~c": 2})[0][1] == "a/b~c"


def test_values_before_are_those_that_each_change_meets() -> None:
    a = {"list": ["a", "b", "c", "d", "z"]}
    removed = [(verb, old) for verb, _, old, _ in changes(a, {"list": ["a", "z"]})]
    assert sorted(removed) == [("removed", "b"), ("removed", "c"), ("removed", "d")]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=3), JSON, max_size=4), st.dictionaries(st.text(max_size=3), JSON, max_size=4))
def test_any_two_states_can_be_compared(a: dict[str, Any], b: dict[str, Any]) -> None:
    for change in compared(a, b).changes:
        assert (change.a is None) == (change.verb == "added")
        assert (change.b is None) == (change.verb == "removed")


def test_messages_beyond_a_bound_are_counted() -> None:
    many = [said("user", f"m{n}") for n in range(MESSAGES_SHOWN + 5)]
    side = compared({"messages": many}, {"messages": []}).a
    assert (len(side.messages), side.more, side.total) == (MESSAGES_SHOWN, 5, MESSAGES_SHOWN + 5)


def test_changes_beyond_a_bound_are_counted() -> None:
    shown = compared({}, {f"k{n}": n for n in range(CHANGES_SHOWN + 3)})
    assert (len(shown.changes), shown.more_changes) == (CHANGES_SHOWN, 3)


def test_like_messages_have_their_changed_words_marked() -> None:
    a = {"messages": [said("user", "go by train at nine")]}
    shown = compared(a, {"messages": [said("user", "go by bus at nine")]})
    assert ("del", "train") in shown.a.messages[0][1]
    assert ("ins", "bus") in shown.b.messages[0][1]


def test_cost_says_what_b_costs_and_how_that_differs() -> None:
    shown = compared({"cost": {"usd": 0.02, "zero": 0}}, {"cost": {"usd": 0.01, "zero": 0}})
    assert shown.costs == (("Cost", "$0.0100 in B", "$0.0100 less than A, $0.0200"),)


def test_the_same_is_identical() -> None:
    assert compared({"a": 1}, {"a": 1}).identical
