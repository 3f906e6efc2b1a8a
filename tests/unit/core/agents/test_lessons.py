"""What is learnt from a branch that ended badly."""

from __future__ import annotations

import pytest
from support.listening import Surroundings, listen

from turnback.core.agents.builtin import PydanticAgent
from turnback.core.lessons import MAX_CALLS, Tried, lesson, tried


async def test_failed_tool_makes_a_lesson(agent: PydanticAgent, context: Surroundings) -> None:
    told = await listen(agent.run({}, "boom", context), context)

    note = lesson(tried(told.state["messages"]))

    assert note is not None
    assert "- boom {}: failed: this tool always fails" in note


async def test_calls_that_worked_make_no_lesson(agent: PydanticAgent, context: Surroundings) -> None:
    told = await listen(agent.run({}, "steps 2", context), context)

    calls = tried(told.state["messages"])

    assert [call.tool for call in calls] == ["note", "note"]
    assert lesson(calls) is None


async def test_stop_makes_a_lesson(agent: PydanticAgent, context: Surroundings) -> None:
    told = await listen(agent.run({}, "steps 1", context), context)

    note = lesson(tried(told.state["messages"]), stopped=True)

    assert note is not None
    assert "after it was stopped" in note
    assert "note" in note


def test_lesson_stays_short() -> None:
    calls = [Tried(tool="run_command", args={"command": "x" * 5000}, error="line\n" * 5000) for _ in range(100)]

    note = lesson(calls)

    assert note is not None
    assert len(note) < 400 * MAX_CALLS
    assert note.count("- run_command") == MAX_CALLS


@pytest.mark.parametrize("messages", [[], [None, 5, {}], [{"parts": [None, {"part_kind": "tool-call"}]}]])
def test_odd_messages_make_no_lesson(messages: list[object]) -> None:
    assert lesson(tried(messages)) is None
