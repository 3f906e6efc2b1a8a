"""Histories that grew are outlined as if they were looked at anew."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from turnback.core.state import codec
from turnback.core.state.grown import Grown
from turnback.core.state.outline import outline

LONG = "a beginning that is long enough to be remembered " * 1400


def said(role: str, text: str = "text") -> dict[str, Any]:
    return {"role": role, "content": text}


CALL = {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "name": "t", "args": {}}]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "ok"}
PARTED = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "hi"}]}

messages = st.lists(
    st.sampled_from([said("user"), said("assistant"), CALL, RESULT, PARTED, said("odd"), {"role": "user"}, 5]),
    max_size=8,
)


def look(grown: Grown, history: list[Any]) -> tuple[int, bool]:
    state = {"messages": history}
    return grown.outline(state, codec.encode(state).messages)[:2]


@given(st.lists(st.tuples(st.integers(0, 8), messages), max_size=8))
def test_any_history_is_outlined_as_if_it_were_new(changes: list[tuple[int, list[Any]]]) -> None:
    grown, history = Grown(), [said("user", LONG)]
    for keep, more in changes:
        history = [said("user", LONG), *history[1 : keep + 1], *more]
        assert look(grown, history) == outline({"messages": history})


def test_an_edited_beginning_is_noticed() -> None:
    grown, history = Grown(), [said("user", LONG), CALL, RESULT, said("user")]
    assert look(grown, history) == (4, True)
    assert look(grown, [said("user", LONG), CALL, said("user"), said("user")]) == outline(
        {"messages": [said("user", LONG), CALL, said("user"), said("user")]}
    )


def test_a_call_that_waits_is_open_until_its_result_comes() -> None:
    grown, history = Grown(), [said("user", LONG)]
    assert look(grown, history) == (1, True)
    assert look(grown, [*history, CALL]) == (2, False)
    assert look(grown, [*history, CALL, RESULT]) == (3, True)


def test_messages_that_are_no_list_are_outlined() -> None:
    assert Grown().outline({"messages": LONG}, b"")[:2] == outline({"messages": LONG})
