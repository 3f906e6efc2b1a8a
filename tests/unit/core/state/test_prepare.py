"""States made ready for the stores: encoded, counted, and cut where they are too big."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnback.core.state import codec
from turnback.core.state.messages import readable
from turnback.core.state.prepare import prepare
from turnback.core.state.truncate import truncate


def cut_state(state: dict[str, Any], limit: int) -> dict[str, Any]:
    encoded = prepare(state, limit)
    assert encoded.truncated
    assert encoded.bytes <= limit
    return codec.decode(encoded.messages, encoded.fields)


def test_prepare_counts_and_tells_whether_it_is_finished(form: Any) -> None:
    open_state = {"messages": [form.ask("x"), form.call(["a", "b"])]}
    done = {"messages": [*open_state["messages"], *form.result(["a", "b"])]}
    assert (prepare(open_state, 10**6).message_count, prepare(open_state, 10**6).finished) == (2, False)
    assert (prepare(done, 10**6).message_count, prepare(done, 10**6).finished) == (4, True)


def test_prepare_counts_messages_that_are_objects() -> None:
    @dataclasses.dataclass
    class Part:
        part_kind: str
        content: str

    @dataclasses.dataclass
    class Request:
        parts: list[Part]
        kind: str = "request"

    state = {"messages": [Request([Part("system-prompt", "s"), Part("user-prompt", "u")])]}
    assert prepare(state, 10**6).message_count == 2


def test_prepare_tells_a_waiting_run() -> None:
    assert not prepare({"messages": [], "__interrupt__": [1]}, 10**6).finished


def test_a_state_within_the_limit_is_not_cut() -> None:
    state = {"scratchpad": "x" * 1000}
    size = codec.encode(state).bytes
    assert not prepare(state, size).truncated
    assert prepare(state, size - 1).truncated


def test_the_longest_texts_are_cut_first_with_a_marker_at_each() -> None:
    messages = [{"role": "user", "content": "short " * 20} for _ in range(50)]
    state = {"messages": messages, "scratchpad": "a" * 1_500_000, "notes": {"deep": ["b" * 1_200_000]}}
    result = cut_state(state, 1_000_000)
    assert result["messages"] == messages
    assert "[cut: " in result["scratchpad"]
    assert "[cut: " in result["notes"]["deep"][0]
    assert result["scratchpad"].startswith("a" * 300_000)
    assert codec.encode(result).bytes > 700_000


def test_one_long_text_keeps_the_shorter_ones_whole() -> None:
    result = cut_state({"a": "x" * 3_000_000, "b": "y" * 100_000}, 1_000_000)
    assert result["b"] == "y" * 100_000
    assert codec.encode(result).bytes > 900_000


@pytest.mark.parametrize("filler", ["é", "🙂", '"', "\x00", "\udc88"], ids=ascii)
def test_texts_that_grow_when_written_fit_too(filler: str) -> None:
    result = cut_state({"a": filler * 200_000, "messages": [{"role": "user", "content": "hi"}]}, 100_000)
    assert result["messages"] == [{"role": "user", "content": "hi"}]
    assert result["a"].startswith(filler * 1000)


def test_the_oldest_messages_go_next_for_one_marker() -> None:
    messages = [{"role": "user", "content": f"message {n} " + "x" * 100} for n in range(1000)]
    result = cut_state({"messages": messages, "plan": ["a"]}, 50_000)
    kept = result["messages"][1:]
    assert result["plan"] == ["a"]
    assert kept == messages[-len(kept) :]
    assert len(kept) > 250
    assert f"{1000 - len(kept)} oldest messages" in readable(result)[0]["text"]


@pytest.mark.parametrize(
    "state",
    [
        {"a": list(range(100_000)), "messages": [{"role": "user", "content": "hi"}]},
        {"a": {f"key {n} " + "k" * 50: 1 for n in range(5000)}, "messages": [{"role": "user", "content": "hi"}]},
        {"n" * 100 + str(n): n for n in range(5000)} | {"messages": [{"role": "user", "content": "hi"}]},
        {"messages": [{"role": "tool", "content": list(range(100_000))}], "plan": ["a"]},
        {"messages": [{"k" * 200_000: 1}]},
        {"k" * 200_000: 1},
        {"n": 10**100_000},
        {"messages": "x" * 200_000},
        {"messages": [["x" * 150] * 10] * 500},
    ],
    ids=[
        "numbers",
        "keys",
        "fields",
        "message of numbers",
        "key of a message",
        "key",
        "integer",
        "text for messages",
        "lists",
    ],
)
def test_any_kind_of_bulk_is_cut_to_the_limit(state: dict[str, Any]) -> None:
    cut_state(state, 50_000)


def test_bulk_in_one_field_leaves_the_messages() -> None:
    messages = [{"role": "user", "content": "hi"}]
    result = cut_state({"a": list(range(100_000)), "b": 1, "messages": messages}, 50_000)
    assert result["messages"] == messages
    assert result["b"] == 1
    assert "[cut: " in result["a"]


def test_truncate_leaves_its_input_alone() -> None:
    state = {"a": ["x" * 10_000], "messages": [{"role": "user", "content": "y" * 10_000}]}
    truncate(state, 5_000)
    assert state == {"a": ["x" * 10_000], "messages": [{"role": "user", "content": "y" * 10_000}]}


sized = st.recursive(
    st.text(st.characters(), max_size=400) | st.integers() | st.floats() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=6) | st.dictionaries(st.text(st.characters(), max_size=20), inner, max_size=6)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=10) | st.just("messages"), sized, max_size=6), st.integers(2, 2000))
@settings(deadline=None)
def test_whatever_it_holds_it_fits(state: dict[str, Any], limit: int) -> None:
    encoded = prepare(state, limit)
    assert encoded.bytes <= limit
    assert encoded.truncated == (codec.encode(state).bytes > limit)
