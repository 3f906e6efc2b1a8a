"""States of any shape are read, and none breaks a chat."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from support.listening import Surroundings, listen

from turnback.core.agents import dialect, history
from turnback.core.agents.builtin import PydanticAgent
from turnback.core.state.messages import readable

DEEP: Any = "bottom"
for _ in range(400):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    "messages",
    [
        None,
        "text",
        {"role": "user"},
        [None, 7, "text", [], {}],
        [{"kind": "request"}, {"kind": "request", "parts": None}, {"kind": "response", "parts": "x"}],
        [{"kind": "request", "parts": [{"part_kind": "new-kind", "content": 1}]}],
        [{"kind": "request", "parts": []}, {"kind": "response", "parts": []}],
        [
            {
                "kind": "request",
                "parts": [{"part_kind": "tool-return", "tool_name": "x", "content": 1, "tool_call_id": "c"}],
            }
        ],
        [
            {
                "kind": "response",
                "parts": [{"part_kind": "tool-call", "tool_name": "x", "args": "{", "tool_call_id": "c"}],
            }
        ],
        [{"kind": "response", "parts": [{"part_kind": "text", "content": "x"}], "state": "suspended"}],
        [{"role": "assistant", "content": None, "tool_calls": [{"id": "c", "function": {"name": "f"}}]}],
        [{"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "image_url", "image_url": {}}]}],
        [{"type": "human", "data": {"content": "hi"}}, {"type": "ai", "content": "yo", "tool_calls": None}],
        [{"role": "user", "content": DEEP}],
        [{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "\ud83d"}]}],
        [{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "x"}], "metadata": {"turnback": 5}}],
        [{"kind": "request", "metadata": {"turnback": "summary"}}],
        [{"role": "user", "content": 2**80}],
    ],
)
async def test_odd_messages_do_not_break_a_chat(agent: PydanticAgent, context: Surroundings, messages: Any) -> None:
    told = await listen(agent.run({"messages": messages}, "hello", context), context)
    again = await listen(agent.run(told.state, "steps 1", context), context)

    assert told.text == "You said: hello"
    assert again.text == "done 1"


@pytest.mark.parametrize("key", ["plan", "scratchpad", "cost", "routing"])
@pytest.mark.parametrize("value", [None, 7, "text", [1], {"input_tokens": "many", "requests": None}])
async def test_odd_keys_do_not_break_a_chat(agent: PydanticAgent, context: Surroundings, key: str, value: Any) -> None:
    told = await listen(agent.run({key: value}, "plan A", context), context)

    assert told.text == "planned 1"
    assert told.state["plan"] == [{"title": "A", "status": "pending"}]
    assert told.state["cost"]["requests"] == 3


async def test_stored_messages_hold_nothing_that_each_run_says_anew(
    agent: PydanticAgent, context: Surroundings
) -> None:
    told = await listen(agent.run({}, "steps 1", context), context)

    stored = json.dumps(told.state["messages"])
    assert not any(key in stored for key in ("instructions", "run_id", "conversation_id", "You are a helpful"))


async def test_stored_messages_read_back_equal(agent: PydanticAgent, context: Surroundings) -> None:
    told = await listen(agent.run({}, "steps 2", context), context)

    stored = json.loads(json.dumps(told.state["messages"]))
    assert history.dump(history.load(stored).messages) == stored


async def test_notes_are_stored_as_the_systems_words(agent: PydanticAgent, context: Surroundings) -> None:
    context.notes = ["Mind the gap."]

    told = await listen(agent.run({}, "hello", context), context)

    rows = readable(told.state)
    assert [(row["role"], row["text"]) for row in rows] == [
        ("system", "Mind the gap."),
        ("user", "hello"),
        ("assistant", "You said: hello"),
    ]


async def test_notes_are_no_history(agent: PydanticAgent, context: Surroundings) -> None:
    context.notes = ["Mind the gap."]
    told = await listen(agent.run({}, "hello", context), context)

    again = await listen(agent.run(told.state, "history", context), context)

    assert again.text == "1. hello"


def test_unreadable_messages_are_said() -> None:
    loaded = history.load([{"role": "assistant", "content": None}, {"role": "user", "content": "hi"}])

    assert history.UNREADABLE in loaded.background
    assert len(loaded.messages) == 1


def test_open_calls_are_closed_unless_they_wait() -> None:
    call = {"part_kind": "tool-call", "tool_name": "x", "args": "{}", "tool_call_id": "c"}
    stored = [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "go"}]},
        {"kind": "response", "parts": [call]},
    ]

    assert [c.tool_call_id for c in history.open_calls(history.load(stored, waiting=True).messages)] == ["c"]
    assert history.open_calls(history.load(stored).messages) == []


def test_answer_so_far_begins_after_the_users_words() -> None:
    messages: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart(content="one")]),
        ModelResponse(parts=[TextPart(content="first")]),
        ModelRequest(parts=[UserPromptPart(content="two")]),
        ModelResponse(parts=[TextPart(content="second")]),
        ModelResponse(parts=[TextPart(content="third")]),
    ]

    assert dialect.answer_so_far(history.dump(messages)) == ["second", "third"]
