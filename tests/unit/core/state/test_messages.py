"""Messages in the one shape that people read, from every form."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnback.core.state.finish import finish, is_finished
from turnback.core.state.messages import clean, count, readable, readable_since, tool_calls
from turnback.core.state.outline import outline
from turnback.core.state.scrub import scrub


def entry(role: str, text: str = "", calls: Any = (), result: Any = None) -> dict[str, Any]:
    return {"role": role, "text": text, "tool_calls": list(calls), "tool_result": result}


def test_every_form_reads_alike(form: Any) -> None:
    state = {"messages": [form.ask("hi"), form.call(["a", "b"]), *form.result(["a", "b"])]}
    assert readable(state) == [
        entry("user", "hi"),
        entry("assistant", calls=[{"name": "ta", "args": {"x": 1}}, {"name": "tb", "args": {"x": 1}}]),
        entry("tool", result="result a"),
        entry("tool", result="result b"),
    ]


ONE = [
    ({"role": "system", "content": "s"}, entry("system", "s")),
    ({"role": "developer", "content": "s"}, entry("system", "s")),
    ({"role": "assistant", "content": None}, entry("assistant")),
    ({"role": "user", "content": ["a", {"type": "text", "text": "b"}]}, entry("user", "a\nb")),
    ({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:…"}}]}, entry("user", "[image]")),
    (
        {"role": "user", "content": [{"type": "input_audio"}, {"type": "document"}, {"type": "file"}]},
        entry("user", "[audio]\n[document]\n[file]"),
    ),
    (
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "b"}]},
        entry("assistant", "b"),
    ),
    ({"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}, entry("assistant", "no")),
    ({"role": "tool", "content": {"rows": [1]}}, entry("tool", result={"rows": [1]})),
    ({"role": "tool", "content": [{"type": "text", "text": "b"}]}, entry("tool", result="b")),
    ({"role": "tool", "content": [1, {"a": 2}]}, entry("tool", result=[1, {"a": 2}])),
    ({"role": "tool", "content": "cut \udc88"}, entry("tool", result="cut \ufffd")),
    ({"role": "function", "name": "f", "content": "x"}, entry("tool", result="x")),
    ({"role": "user", "content": "cut \ud83d and \ud83d\ude00"}, entry("user", "cut \ufffd and 😀")),
    ({"role": "user", "content": {"a": 1}}, entry("user", '{"a":1}')),
    ({"role": "model", "parts": [{"text": "gemini"}]}, entry("assistant", "gemini")),
    (
        {"role": "assistant", "tool_calls": [{"name": "n", "args": {"k\udc88": "\udc88"}}]},
        entry("assistant", calls=[{"name": "n", "args": {"k\ufffd": "\ufffd"}}]),
    ),
    (
        {"role": "assistant", "tool_calls": [{"function": {"name": "n", "arguments": "{broken"}}]},
        entry("assistant", calls=[{"name": "n", "args": "{broken"}]),
    ),
    (
        {"role": "assistant", "tool_calls": [{"function": {"name": "n", "arguments": '{"n":18446744073709551616}'}}]},
        entry("assistant", calls=[{"name": "n", "args": {"n": 2**64}}]),
    ),
    (
        {"role": "assistant", "tool_calls": [{"name": "n"}, 5, None]},
        entry("assistant", calls=[{"name": "n", "args": {}}]),
    ),
    ({"type": "AIMessageChunk", "content": "x"}, entry("assistant", "x")),
    (
        {
            "kind": "request",
            "instructions": "secret",
            "parts": [{"part_kind": "user-prompt", "content": ["a", {"kind": "image-url", "url": "u"}]}],
        },
        entry("user", "a\n[image]"),
    ),
    (
        {
            "kind": "request",
            "parts": [{"part_kind": "user-prompt", "content": [{"kind": "binary", "media_type": "image/png"}]}],
        },
        entry("user", "[image]"),
    ),
    (
        {
            "kind": "request",
            "parts": [{"part_kind": "system-prompt", "content": "s"}, {"part_kind": "instruction", "content": "i"}],
        },
        entry("system", "s"),
    ),
    (
        {
            "kind": "request",
            "parts": [{"part_kind": "retry-prompt", "content": "again", "tool_name": "n", "tool_call_id": "a"}],
        },
        entry("tool", result="again"),
    ),
    (
        {"kind": "request", "parts": [{"part_kind": "retry-prompt", "content": "again", "tool_name": None}]},
        entry("user", "again"),
    ),
    (
        {
            "kind": "response",
            "parts": [{"part_kind": "thinking", "content": "hm"}, {"part_kind": "text", "content": "x"}],
        },
        entry("assistant", "x"),
    ),
    ({"kind": "response", "parts": []}, entry("assistant")),
    ("just text", entry("system", "just text")),
    (7, entry("system", "7")),
    (None, entry("system")),
    ({}, entry("system")),
    ([], entry("system")),
    ({"role": 5, "content": 6}, entry("system", "6")),
]


@pytest.mark.parametrize(("message", "expected"), ONE, ids=lambda value: ascii(value)[:60])
def test_each_kind_of_message_reads_as_one_entry(message: Any, expected: dict[str, Any]) -> None:
    assert readable({"messages": [message]}) == [expected]
    assert count({"messages": [message]}) == 1


@pytest.mark.parametrize(
    "state", [{}, {"messages": None}, {"messages": "text"}, {"messages": {"a": 1}}, {"messages": 3}, {"messages": []}]
)
def test_states_without_messages_have_none(state: dict[str, Any]) -> None:
    assert readable(state) == []
    assert outline(state) == (0, True)


def test_tool_calls_gives_those_after_so_many_messages(form: Any) -> None:
    state = {"messages": [form.ask("1"), form.call(["a"]), *form.result(["a"]), form.call(["b", "c"])]}
    later = [{"name": "tb", "args": {"x": 1}}, {"name": "tc", "args": {"x": 1}}]
    assert tool_calls(state, 3) == later
    assert tool_calls(readable(state), 2) == later
    assert [readable_since(state, n) for n in range(7)] == [readable(state)[n:] for n in range(7)]
    assert len(tool_calls(state)) == 3


def test_clean_leaves_a_deep_value_whole() -> None:
    value: Any = "\udc88"
    for _ in range(5000):
        value = [value]
    result = clean(value)
    while isinstance(result, list):
        [result] = result
    assert result == "\ufffd"


KINDS = [
    "user",
    "assistant",
    "tool",
    "ai",
    "human",
    "request",
    "response",
    "text",
    "tool_use",
    "tool_result",
    "tool-call",
    "tool-return",
]
words = st.sampled_from([*KINDS, "retry-prompt", "suspended", "a", "b", "\udc88"])
KEYS = [
    "role",
    "type",
    "kind",
    "content",
    "parts",
    "part_kind",
    "tool_calls",
    "tool_call_id",
    "tool_use_id",
    "id",
    "args",
    "function",
]
MORE_KEYS = [
    "name",
    "arguments",
    "state",
    "lc",
    "kwargs",
    "data",
    "additional_kwargs",
    "function_call",
    "tool_name",
    "text",
    "media_type",
]
names = st.sampled_from([*KEYS, *MORE_KEYS])
odd = st.recursive(
    words | st.none() | st.integers(0, 2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner),
    max_leaves=8,
)
odd_messages = st.lists(st.dictionaries(names, odd, max_size=5) | odd, max_size=4)


@given(odd_messages)
@settings(deadline=None)
def test_odd_messages_never_raise(messages: Any) -> None:
    state = {"messages": messages}
    before = copy.deepcopy(state)
    entries = readable(state)
    assert all(set(entry) == {"role", "text", "tool_calls", "tool_result"} for entry in entries)
    assert count(state) == len(entries)
    assert readable_since(state, 2) == entries[2:]
    assert outline(state) == (len(entries), is_finished(state))
    finished = finish(state)
    assert is_finished(finished)
    assert is_finished(state) == (finished is state)
    scrub(state)
    assert state == before


@given(st.data())
@settings(deadline=None)
def test_the_quick_look_at_usual_histories_agrees_with_the_close_one(data: st.DataObject) -> None:
    call_ids = st.sampled_from(["a", "b"])
    spoken: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "system"]), "content": st.sampled_from(["x", None, []])}
    )
    result = st.fixed_dictionaries({"role": st.just("tool"), "content": st.just("x"), "tool_call_id": call_ids})
    calls = st.lists(st.fixed_dictionaries({"id": call_ids, "name": st.just("n")}), max_size=2)
    calling = st.fixed_dictionaries({"role": st.just("assistant"), "content": st.none(), "tool_calls": calls})
    part = st.fixed_dictionaries(
        {
            "part_kind": st.sampled_from(
                ["text", "tool-call", "tool-return", "user-prompt", "retry-prompt", "instruction"]
            ),
            "tool_call_id": call_ids,
            "tool_name": st.sampled_from(["n", None]),
        }
    )
    parted = st.fixed_dictionaries(
        {"kind": st.sampled_from(["request", "response"]), "parts": st.lists(part, max_size=3)}
    )
    messages = data.draw(st.lists(spoken | result | calling, max_size=5) | st.lists(parted, max_size=5))
    state = {"messages": messages}
    assert outline(state) == (len(readable(state)), finish(state) is state)
