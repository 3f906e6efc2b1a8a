"""A branch that ended badly is left: the agent may be told what was tried there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.world import ANN, Clock, Rules

from turnback.core import open_service
from turnback.core.agents.load import load_agent
from turnback.core.agents.protocol import Context
from turnback.core.errors import StepGone
from turnback.core.models import State, ThreadId
from turnback.core.policy import TimeTravel
from turnback.core.service import Turnback
from turnback.core.state.codec import dumps


@pytest.fixture
async def demo(tmp_path: Path, clock: Clock, rules: Rules) -> AsyncIterator[Turnback]:
    async with open_service(tmp_path / "data", agent=load_agent("demo"), policy=rules, clock=clock) as service:
        await service.threads.create_account(ANN.account, ANN.name, clock())
        yield service


async def after_boom(demo: Turnback) -> ThreadId:
    thread = await demo.rewind.create_thread(ANN)
    for text in ("hello", "boom"):
        await demo.turns.ask(ANN, thread.id, text)
    return thread.id


async def told(demo: Turnback, thread_id: ThreadId) -> bytes:
    head = (await demo.rewind.thread(ANN, thread_id)).head
    return dumps(await demo.threads.checkpoint(thread_id, head))


async def test_an_offered_lesson_reaches_the_next_turn_once_accepted(demo: Turnback) -> None:
    thread_id = await after_boom(demo)
    rewound = await demo.rewind.undo(ANN, thread_id)
    assert rewound.lesson is not None
    assert rewound.bring_back is not None

    await demo.rewind.tell_lesson(ANN, thread_id, rewound.bring_back)
    await demo.turns.ask(ANN, thread_id, "try again")

    assert b"- boom {}: failed" in await told(demo, thread_id)
    with pytest.raises(StepGone):
        await demo.rewind.tell_lesson(ANN, thread_id, rewound.bring_back)


async def test_an_offered_lesson_is_not_told_unasked(demo: Turnback) -> None:
    thread_id = await after_boom(demo)
    await demo.rewind.undo(ANN, thread_id)
    await demo.turns.ask(ANN, thread_id, "try again")
    assert b"failed" not in await told(demo, thread_id)


async def test_lessons_set_to_auto_are_told_at_once(demo: Turnback, rules: Rules) -> None:
    rules.value = TimeTravel(lessons="auto")
    thread_id = await after_boom(demo)
    await demo.rewind.undo(ANN, thread_id)
    await demo.turns.ask(ANN, thread_id, "try again")
    assert b"- boom {}: failed" in await told(demo, thread_id)


async def test_a_branch_that_went_well_teaches_nothing(demo: Turnback) -> None:
    thread = await demo.rewind.create_thread(ANN)
    await demo.turns.ask(ANN, thread.id, "steps 2")
    assert (await demo.rewind.undo(ANN, thread.id)).lesson is None


class Stumbling:
    """An agent whose third step of a turn fails."""

    finish: Any = None

    async def run(self, state: State, text: str, context: Context) -> AsyncIterator[Mapping[str, Any]]:
        messages = list(state.get("messages", []))
        for n, kind in enumerate(("tool-return", "tool-return", "retry-prompt")):
            call = {"part_kind": "tool-call", "tool_name": "walk", "args": {"n": n}, "tool_call_id": f"c{n}"}
            result = {"part_kind": kind, "tool_name": "walk", "content": "a wall", "tool_call_id": f"c{n}"}
            messages += [{"kind": "response", "parts": [call]}, {"kind": "request", "parts": [result]}]
            yield {"type": "step", "state": {"messages": list(messages)}}
        yield {"type": "done", "state": {"messages": messages}, "text": "stuck"}


@pytest.mark.parametrize("finish", [None, dict], ids=["as stored", "settled"])
async def test_restore_in_the_middle_of_a_turn_gives_the_lesson_of_its_rest(
    tmp_path: Path, clock: Clock, finish: Any
) -> None:
    agent = Stumbling()
    agent.finish = finish
    async with open_service(tmp_path / "data", agent=agent, clock=clock) as service:
        await service.threads.create_account(ANN.account, ANN.name, clock())
        thread = await service.rewind.create_thread(ANN)
        await service.turns.ask(ANN, thread.id, "go")
        second = (await service.rewind.list_steps(ANN, thread.id)).steps[1]

        rewound = await service.rewind.restore(ANN, thread.id, second.step.id)

    assert rewound.lesson is not None
    assert rewound.lesson.splitlines()[1:3] == ["It tried:", '- walk {"n": 2}: failed: a wall']
