"""The demo agent's table, through the real agent and its real tools."""

from __future__ import annotations

import asyncio
import gc
import sys
from typing import Any

import pytest
from support.listening import Surroundings, Told, listen

from turnback.core.agents.builtin import PydanticAgent
from turnback.core.state.finish import is_finished


async def ask(agent: PydanticAgent, context: Surroundings, *texts: str, state: dict[str, Any] | None = None) -> Told:
    """One turn after another; the last one's events."""
    told = Told()
    for text in texts:
        told = await listen(agent.run(state or {}, text, context), context)
        state = told.state
    return told


@pytest.mark.parametrize(
    ("text", "tools", "answer"),
    [
        ("steps 3", [["note"], ["note"], ["note"], []], "done 3"),
        ("STEPS 1", [["note"], []], "done 1"),
        ("write b.txt some words", [["write_file"], []], "wrote b.txt"),
        ("append a.txt more", [["append_file"], []], "appended to a.txt"),
        ("delete a.txt", [["delete_file"], []], "deleted a.txt"),
        ("read a.txt", [["read_file"], []], "A\n"),
        ("read nowhere.txt", [["read_file"], []], "nowhere.txt: there is no such file"),
        ("delete nowhere.txt", [["delete_file"], []], "that failed: nowhere.txt: there is no such file"),
        ("ls", [["list_files"], []], "a.txt"),
        ("remember tea", [["remember"], []], "remembered"),
        ("recall", [["recall"], []], "(nothing is remembered)"),
        ("history", [[]], "(nothing before this)"),
        ("plan A; B; C", [["plan"], ["note"], ["note"], ["note"], []], "planned 3"),
        ("slow 0", [["sleep"], []], "slept 0"),
        ("big 1000", [["big"], []], "got 1000 bytes"),
        ("boom", [["boom"], []], "that failed: this tool always fails"),
        ("undo yourself", [["undo_task"], []], "undone"),
        ("undo", [[]], "You said: undo"),
        ("hello  there", [[]], "You said: hello  there"),
        ("shell ls", [[]], "the shell is off (the setting agent.shell)"),
        ("steps x", [[]], "Usage: steps N (N up to 1000)"),
        ("steps", [[]], "Usage: steps N (N up to 1000)"),
        ("steps 1.5", [[]], "Usage: steps N (N up to 1000)"),
        ("slow 999", [[]], "Usage: slow S (S up to 60 seconds)"),
        ("write", [[]], "Usage: write PATH TEXT"),
        ("write a.txt", [[]], "Usage: write PATH TEXT"),
        ("append", [[]], "Usage: append PATH TEXT"),
        ("read", [[]], "Usage: read PATH"),
        ("delete", [[]], "Usage: delete PATH"),
        ("big -1", [[]], "Usage: big N (N up to 16777216 bytes)"),
        ("plan ;", [[]], "Usage: plan A; B; C"),
        ("remember", [[]], "Usage: remember TEXT"),
    ],
)
async def test_message_gives_its_steps_and_answer(
    agent: PydanticAgent, context: Surroundings, text: str, tools: list[list[str]], answer: str
) -> None:
    (context.workspace / "a.txt").write_text("A\n")

    told = await ask(agent, context, text)

    assert told.text == answer
    assert told.tools == tools
    assert "".join(told.deltas) == answer


async def test_every_step_is_finished_and_longer(agent: PydanticAgent, context: Surroundings) -> None:
    told = await ask(agent, context, "hello", "steps 3")

    states = [step["state"] for step in told.steps]
    assert [len(state["messages"]) for state in states] == [5, 7, 9, 10]
    assert all(is_finished(state) for state in states)
    assert states[-1] == told.state


async def test_given_states_are_never_changed(agent: PydanticAgent, context: Surroundings) -> None:
    told = await ask(agent, context, "plan A; B", "steps 2", "boom")

    assert all(state == copy for state, copy in told.copies)


async def test_given_states_share_older_messages(agent: PydanticAgent, context: Surroundings) -> None:
    first = await ask(agent, context, "hello")
    second = await ask(agent, context, "again", state=first.state)

    assert second.state["messages"][0] is first.state["messages"][0]
    assert second.state["messages"] is not first.state["messages"]


async def test_state_that_was_handed_in_is_not_changed(agent: PydanticAgent, context: Surroundings) -> None:
    state: dict[str, Any] = {"messages": [], "plan": [], "scratchpad": "", "own": {"key": 1}}

    told = await ask(agent, context, "plan A", state=state)

    assert state == {"messages": [], "plan": [], "scratchpad": "", "own": {"key": 1}}
    assert told.state["own"] == {"key": 1}


async def test_written_file_holds_the_text_and_a_newline(agent: PydanticAgent, context: Surroundings) -> None:
    await ask(agent, context, "write sub/a.txt two  words", "append sub/a.txt more")

    assert (context.workspace / "sub/a.txt").read_text() == "two  words\nmore\n"


async def test_empty_file_and_folder_have_words(agent: PydanticAgent, context: Surroundings) -> None:
    assert (await ask(agent, context, "ls")).text == "(empty)"
    (context.workspace / "empty").touch()
    assert (await ask(agent, context, "read empty")).text == "(empty)"


async def test_facts_are_recalled_one_a_line(agent: PydanticAgent, context: Surroundings) -> None:
    told = await ask(agent, context, "remember tea", "remember  no   sugar", "recall")

    assert told.text == "tea\nno sugar"


async def test_remember_with_memory_off_fails_plainly(agent: PydanticAgent, context: Surroundings) -> None:
    context.memory = False

    assert (await ask(agent, context, "remember tea")).text == "that failed: memory is off in this chat"


async def test_history_numbers_the_earlier_messages(agent: PydanticAgent, context: Surroundings) -> None:
    told = await ask(agent, context, "one", "two\nlines", "history")

    assert told.text == "1. one\n2. two lines"


async def test_plan_is_set_by_its_first_step(agent: PydanticAgent, context: Surroundings) -> None:
    told = await ask(agent, context, "plan A; B")

    plan = [{"title": "A", "status": "pending"}, {"title": "B", "status": "pending"}]
    assert told.steps[0]["state"]["plan"] == plan
    assert [step["state"]["scratchpad"] for step in told.steps] == ["", "A\n", "A\nB\n", "A\nB\n"]


async def test_undo_yourself_asks_for_one_turn_before(agent: PydanticAgent, context: Surroundings) -> None:
    await ask(agent, context, "undo yourself")

    assert context.undone == [1]


async def test_same_message_gives_other_big_bytes_each_time(agent: PydanticAgent, context: Surroundings) -> None:
    told = await ask(agent, context, "big 5000", "big 5000")

    results = [
        part["content"]
        for message in told.state["messages"]
        for part in message["parts"]
        if part["part_kind"] == "tool-return"
    ]
    assert [len(result) for result in results] == [5000, 5000]
    assert results[0] != results[1]


async def test_cost_grows_with_each_request(agent: PydanticAgent, context: Surroundings) -> None:
    told = await ask(agent, context, "steps 2")

    assert [step["state"]["cost"]["requests"] for step in told.steps] == [1, 2, 3]
    assert told.state["cost"]["output_tokens"] > 0
    assert told.state["cost"]["usd"] == 0


async def test_slow_can_be_cancelled(agent: PydanticAgent, context: Surroundings) -> None:
    started = asyncio.Event()

    async def turn() -> None:
        async for event in agent.run({}, "slow 60", context):
            assert event["type"] != "done"
        raise AssertionError

    async def ask_slowly() -> None:
        started.set()
        await turn()

    task = asyncio.create_task(ask_slowly())
    await started.wait()
    for _ in range(50):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_two_turns_at_once_do_not_mix(agent: PydanticAgent, context: Surroundings) -> None:
    texts = [f"plan item {i}; other {i}" for i in range(8)]

    turns = await asyncio.gather(*(ask(agent, context, text) for text in texts))

    assert [told.state["plan"][0]["title"] for told in turns] == [f"item {i}" for i in range(8)]
    assert [len(told.state["messages"]) for told in turns] == [8] * 8


async def test_tools_that_leave_nothing_are_quiet(agent: PydanticAgent) -> None:
    assert {"read_file", "list_files", "note", "plan", "remember", "recall", "sleep", "big"} <= agent.quiet_tools
    assert not {"write_file", "append_file", "delete_file", "run_command"} & agent.quiet_tools


@pytest.mark.parametrize("heard", range(1, 7))
async def test_turn_that_is_left_at_any_event_closes_all_that_it_opened(
    heard: int, agent: PydanticAgent, context: Surroundings
) -> None:
    before, dropped = sys.get_asyncgen_hooks(), list[str]()
    sys.set_asyncgen_hooks(finalizer=lambda generator: dropped.append(repr(generator)))
    try:
        events = agent.run({}, "steps 2", context)
        for _ in range(heard):
            await anext(events)
        await events.aclose()
        del events
        gc.collect()
    finally:
        sys.set_asyncgen_hooks(*before)
    assert [name for name in dropped if PydanticAgent.__name__ in name] == []
