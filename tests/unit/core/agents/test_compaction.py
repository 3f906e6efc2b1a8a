"""Long conversations become shorter without losing their newest turns."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.listening import Surroundings, Told, listen

from turnback.core.agents import compaction, demo, dialect
from turnback.core.agents.builtin import PydanticAgent
from turnback.core.agents.options import AgentOptions
from turnback.core.state.finish import is_finished
from turnback.core.state.messages import readable

LIMIT = 600


@pytest.fixture
def short() -> PydanticAgent:
    return demo.build(AgentOptions(max_context_tokens=LIMIT))


async def talk(agent: PydanticAgent, context: Surroundings, turns: int, state: dict[str, Any]) -> list[Told]:
    told = []
    for i in range(turns):
        told.append(await listen(agent.run(state, f"message {i} " + "words " * 60, context), context))
        state = told[-1].state
    return told


def size(state: dict[str, Any]) -> int:
    return sum(compaction.tokens(item) for item in state["messages"])


async def test_conversation_stays_near_the_limit(short: PydanticAgent, context: Surroundings) -> None:
    told = await talk(short, context, 20, {})

    assert max(size(turn.state) for turn in told) < 2 * LIMIT
    assert is_finished(told[-1].state)


async def test_steps_from_before_hold_the_originals(short: PydanticAgent, context: Surroundings) -> None:
    told = await talk(short, context, 6, {})

    assert any(dialect.mark_of(message) == dialect.SUMMARY for message in told[-1].state["messages"])
    assert "message 0" in json.dumps(told[1].steps[-1]["state"])
    assert not any(dialect.mark_of(message) == dialect.SUMMARY for message in told[1].state["messages"])


async def test_summary_is_no_turn_of_a_user(short: PydanticAgent, context: Surroundings) -> None:
    told = await talk(short, context, 6, {})
    seen = await listen(short.run(told[-1].state, "history", context), context)

    rows = readable(told[-1].state)
    assert rows[0]["role"] == "system"
    assert "message 1" in rows[0]["text"]
    assert "message 5" in seen.text
    assert "Summary" not in seen.text


async def test_second_compaction_keeps_the_first_ones_summary(short: PydanticAgent, context: Surroundings) -> None:
    told = await talk(short, context, 8, {})

    marks = [dialect.mark_of(message) for message in told[-1].state["messages"]]
    assert marks.count(dialect.SUMMARY) == 1
    assert marks[0] == dialect.SUMMARY


async def test_fork_of_a_compacted_state_stays_compact(short: PydanticAgent, context: Surroundings) -> None:
    told = await talk(short, context, 10, {})
    state = json.loads(json.dumps(told[-1].state))

    here = await listen(short.run(told[-1].state, "hi", context), context)
    fork = await listen(short.run(state, "hi", context), context)

    assert size(fork.state) == size(here.state)


async def test_one_turn_over_the_limit_is_summarised_too(short: PydanticAgent, context: Surroundings) -> None:
    told = await listen(short.run({}, "big 20000", context), context)

    after = await listen(short.run(told.state, "hi", context), context)

    assert size(after.state) < LIMIT
    assert after.text == "You said: hi"


def test_newest_turns_are_kept_whole() -> None:
    call = {"part_kind": "tool-call", "tool_name": "x", "args": "{}", "tool_call_id": "c"}
    result = {"part_kind": "tool-return", "tool_name": "x", "content": "y" * 400, "tool_call_id": "c"}
    turn = [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "u" * 400}]},
        {"kind": "response", "parts": [call]},
        {"kind": "request", "parts": [result]},
        {"kind": "response", "parts": [{"part_kind": "text", "content": "done"}]},
    ]

    for limit in range(100, 2000, 50):
        assert compaction.first_kept(turn * 6, limit) % 4 == 0


def test_note_goes_with_its_turn() -> None:
    turn = [
        dialect.marked(dialect.NOTE, "note"),
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "u" * 400}]},
    ]

    assert compaction.first_kept(turn * 6, 300) % 2 == 0
