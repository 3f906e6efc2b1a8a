"""What leaves a state before it is written into a thread, and what stays byte for byte."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnback.core.state import codec
from turnback.core.state.scrub import PLATFORM_KEYS, scrub, suspects, without_thread

THREAD = "0123456789abcdef0123456789abcdef"
IDS = {"chat_id": 1, "user_id": [2], "deep": {"message_id": 3}}
CLEAN: dict[str, Any] = {"deep": {}}


def test_platform_ids_go_but_what_was_said_stays() -> None:
    state = {
        "chat_id": -100777,
        "config": {"configurable": {"user_id": 5}},
        "messages": [
            {
                "role": "assistant",
                "message_id": "m-9",
                "tool_calls": [{"id": "c1", "args": {"chat_id": 12345, "text": "hi"}}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": {"rows": [{"user_id": 8, "message_id": 77}]}},
        ],
        "scratchpad": {"note": {"chat_id": "customer 12"}},
    }
    before = copy.deepcopy(state)
    assert scrub(state) == {
        "config": {"configurable": {}},
        "messages": [
            {"role": "assistant", "tool_calls": [{"id": "c1", "args": {"chat_id": 12345, "text": "hi"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": {"rows": [{"user_id": 8, "message_id": 77}]}},
        ],
        "scratchpad": {"note": {"chat_id": "customer 12"}},
    }
    assert state == before


@pytest.mark.parametrize("key", sorted(PLATFORM_KEYS))
def test_each_platform_key_goes_at_any_depth(key: str) -> None:
    state = {key: 1, "a": [{"b": ({key: {"x": 1}, "c": 2},)}], "messages": [{"role": "user", "content": "", key: 1}]}
    assert scrub(state) == {"a": [{"b": [{"c": 2}]}], "messages": [{"role": "user", "content": ""}]}


KEPT = [
    {"plan": IDS},
    {"scratchpad": [IDS]},
    {"messages": [{"role": "user", "content": [{"type": "text", "text": "x", **IDS}]}]},
    {"messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "n", "input": IDS}]}]},
    {"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [IDS]}]}]},
    {
        "messages": [
            {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "n", "arguments": IDS}}]}
        ]
    },
    {"messages": [{"role": "assistant", "content": None, "function_call": {"name": "n", "arguments": IDS}}]},
    {"messages": [{"role": "tool", "result": IDS}]},
    {"messages": [{"kind": "response", "parts": [{"part_kind": "tool-call", "tool_name": "n", "args": IDS}]}]},
    {"messages": [{"kind": "request", "parts": [{"part_kind": "tool-return", "tool_name": "n", "content": IDS}]}]},
    {"messages": [{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": [IDS]}]}]},
    {"messages": [{"kind": "request", "parts": [{"part_kind": "retry-prompt", "content": [{"input": IDS}]}]}]},
    {"messages": [{"type": "ai", "content": "", "tool_calls": [{"name": "n", "args": IDS, "id": "a"}]}]},
    {"messages": [{"type": "ai", "content": "", "invalid_tool_calls": [{"name": "n", "args": IDS}]}]},
    {"messages": [{"type": "tool", "content": [IDS], "artifact": IDS, "tool_call_id": "a"}]},
    {
        "messages": [
            {"type": "ai", "additional_kwargs": {"tool_calls": [{"function": {"name": "n", "arguments": IDS}}]}}
        ]
    },
    {
        "messages": [
            {
                "lc": 1,
                "type": "constructor",
                "id": ["AIMessage"],
                "kwargs": {"content": [IDS], "tool_calls": [{"args": IDS}]},
            }
        ]
    },
    {
        "messages": [
            {"lc": 1, "type": "constructor", "id": ["ToolMessage"], "kwargs": {"content": [IDS], "artifact": IDS}}
        ]
    },
    {"messages": [{"type": "ai", "data": {"content": [IDS], "tool_calls": [{"args": IDS}]}}]},
    {"sub": {"messages": [{"role": "user", "content": [IDS]}]}},
    {"history": [{"role": "tool", "content": IDS}]},
]


@pytest.mark.parametrize("state", KEPT, ids=lambda state: str(state)[:60])
def test_what_was_said_is_the_same_object(state: dict[str, Any]) -> None:
    assert scrub(state) is state


SCRUBBED = [
    (
        {"messages": [{"role": "user", "content": "", "meta": IDS}]},
        {"messages": [{"role": "user", "content": "", "meta": CLEAN}]},
    ),
    (
        {"messages": [{"role": "assistant", "content": "", "metadata": IDS}]},
        {"messages": [{"role": "assistant", "content": "", "metadata": CLEAN}]},
    ),
    (
        {"messages": [{"role": "assistant", "tool_calls": [{"id": "a", "args": {}, **IDS}]}]},
        {"messages": [{"role": "assistant", "tool_calls": [{"id": "a", "args": {}, **CLEAN}]}]},
    ),
    (
        {
            "messages": [
                {"kind": "response", "parts": [{"part_kind": "tool-call", "args": {}, "provider_details": IDS}], **IDS}
            ]
        },
        {
            "messages": [
                {
                    "kind": "response",
                    "parts": [{"part_kind": "tool-call", "args": {}, "provider_details": CLEAN}],
                    **CLEAN,
                }
            ]
        },
    ),
    (
        {"messages": [{"type": "ai", "content": "", "additional_kwargs": IDS}]},
        {"messages": [{"type": "ai", "content": "", "additional_kwargs": CLEAN}]},
    ),
    (
        {"messages": [{"lc": 1, "kwargs": {"content": "", "response_metadata": IDS}}]},
        {"messages": [{"lc": 1, "kwargs": {"content": "", "response_metadata": CLEAN}}]},
    ),
    ({"config": {"plan": IDS, "content": IDS}}, {"config": {"plan": CLEAN, "content": CLEAN}}),
    ({"messages": IDS}, {"messages": CLEAN}),
]


@pytest.mark.parametrize(("state", "expected"), SCRUBBED, ids=lambda state: str(state)[:60])
def test_ids_beside_what_was_said_go(state: dict[str, Any], expected: dict[str, Any]) -> None:
    before = copy.deepcopy(state)
    assert scrub(state) == expected
    assert state == before


def test_scrub_reaches_the_bottom_of_a_deep_state() -> None:
    state: dict[str, Any] = {"chat_id": 1}
    for _ in range(5000):
        state = {"a": [state]}
    result = scrub(state)
    while result:
        [result] = result["a"]
    assert result == {}


def test_thread_id_goes_with_its_key_but_not_from_what_was_said() -> None:
    state = {
        "thread_id": THREAD,
        "config": {"id": THREAD, THREAD: 1, "path": f"ws/{THREAD}/x", "all": [THREAD, "other"]},
        "messages": [{"role": "user", "content": THREAD, "meta": THREAD}],
        "scratchpad": THREAD,
        "plan": [THREAD],
    }
    assert without_thread(state, THREAD) == {
        "config": {"all": ["other"]},
        "messages": [{"role": "user", "content": THREAD}],
        "scratchpad": THREAD,
        "plan": [THREAD],
    }


def test_short_thread_id_goes_only_where_it_is_the_whole_value() -> None:
    assert without_thread({"a": "t1", "b": "t10", "c": 1}, "t1") == {"b": "t10", "c": 1}


def test_state_without_the_thread_id_is_the_same_object() -> None:
    state = {"a": "b", "messages": [{"role": "user", "content": THREAD}]}
    assert without_thread(state, THREAD) is state


@pytest.mark.parametrize("key", sorted(PLATFORM_KEYS))
def test_suspects_tells_every_key_and_the_thread(key: str) -> None:
    assert suspects(codec.dumps({"a": {key: 1}}), THREAD)
    assert suspects(codec.dumps({"a": THREAD}), THREAD)
    assert not suspects(codec.dumps({"a": key, "tool_call_id": 1, f"my_{key}": 2}), THREAD)


states = st.dictionaries(
    st.sampled_from(["a", "plan", "messages", "content", "chat_id", "thread_ts", "role"]),
    st.recursive(
        st.sampled_from(["user", "tool", THREAD]) | st.integers(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["role", "content", "user_id", "b"]), inner),
        max_leaves=8,
    ),
)


@given(states)
@settings(deadline=None)
def test_what_is_not_suspected_needs_no_scrubbing(state: dict[str, Any]) -> None:
    if not suspects(codec.dumps(state), THREAD):
        assert scrub(state) is state
        assert without_thread(state, THREAD) is state


@given(states)
@settings(deadline=None)
def test_scrubbing_twice_changes_nothing_more(state: dict[str, Any]) -> None:
    once = scrub(state)
    assert scrub(once) is once
