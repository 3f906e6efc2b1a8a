"""Which calls wait for an approval, and what becomes of them."""

from __future__ import annotations

import json

import pytest
from support.listening import Surroundings, listen, until_gate

from turnback.core.agents import demo
from turnback.core.agents.builtin import PydanticAgent
from turnback.core.agents.failures import AgentFailed
from turnback.core.agents.options import AgentOptions, PermissionMode, ShellMode
from turnback.core.state.finish import finish, is_finished


def agent_in(mode: PermissionMode) -> PydanticAgent:
    return demo.build(AgentOptions(permission_mode=mode, shell=ShellMode.UNCONFINED))


@pytest.mark.parametrize(
    ("mode", "text", "asks"),
    [
        (PermissionMode.CONFIRM_ALL, "write a.txt A", True),
        (PermissionMode.CONFIRM_ALL, "shell true", True),
        (PermissionMode.CONFIRM_ALL, "read a.txt", False),
        (PermissionMode.CONFIRM_ALL, "remember tea", False),
        (PermissionMode.CONFIRM_SAFES, "write a.txt A", False),
        (PermissionMode.CONFIRM_SAFES, "shell true", True),
        (PermissionMode.AUTO_APPROVE, "shell true", False),
    ],
)
async def test_mode_decides_what_asks(context: Surroundings, mode: PermissionMode, text: str, asks: bool) -> None:
    told = await listen(agent_in(mode).run({}, text, context), context)

    assert bool(told.gates) is asks
    assert len(told.steps) == 2


async def test_gate_names_the_call_and_holds_the_state(context: Surroundings) -> None:
    told = await listen(agent_in(PermissionMode.CONFIRM_SAFES).run({}, "shell echo hi", context), context)

    (gate,) = told.gates
    assert (gate["tool"], gate["args"]) == ("run_command", {"command": "echo hi"})
    assert len(gate["state"]["messages"]) == 2
    assert not is_finished(gate["state"])
    assert told.text == "hi\n"


async def test_denied_call_does_not_run_and_is_said(context: Surroundings) -> None:
    context.answer = False

    told = await listen(agent_in(PermissionMode.CONFIRM_SAFES).run({}, "shell touch made", context), context)

    assert told.text == "denied: run_command was not allowed and did not run"
    assert not (context.workspace / "made").exists()
    assert told.tools == [["run_command"], []]


@pytest.mark.parametrize("answer", [True, False])
async def test_turn_resumed_after_a_restart_ends_as_without(context: Surroundings, answer: bool) -> None:
    (gate,) = await until_gate(agent_in(PermissionMode.CONFIRM_SAFES).run({}, "shell touch made", context))
    saved = json.loads(json.dumps(gate["state"]))

    agent = agent_in(PermissionMode.CONFIRM_SAFES)
    told = await listen(agent.resume(saved, {gate["id"]: answer}, context), context)

    assert told.tools == [["run_command"], []]
    assert (context.workspace / "made").exists() is answer
    assert len(told.state["messages"]) == 4
    assert all(is_finished(step["state"]) for step in told.steps)


async def test_gate_without_an_answer_counts_as_denied(context: Surroundings) -> None:
    agent = agent_in(PermissionMode.CONFIRM_SAFES)
    (gate,) = await until_gate(agent.run({}, "shell touch made", context))

    told = await listen(agent.resume(gate["state"], {}, context), context)

    assert told.text.startswith("denied: ")


async def test_finished_state_cannot_be_resumed(context: Surroundings) -> None:
    agent = agent_in(PermissionMode.CONFIRM_SAFES)
    (gate,) = await until_gate(agent.run({}, "shell touch made", context))

    with pytest.raises(AgentFailed, match="nothing in it waits"):
        await listen(agent.resume(finish(gate["state"]), {gate["id"]: True}, context), context)

    assert not (context.workspace / "made").exists()


async def test_next_turn_after_a_finished_gate_runs_nothing_by_itself(context: Surroundings) -> None:
    agent = agent_in(PermissionMode.CONFIRM_SAFES)
    (gate,) = await until_gate(agent.run({}, "shell touch made", context))

    told = await listen(agent.run(finish(gate["state"]), "hello", context), context)

    assert told.text == "You said: hello"
    assert told.tools == [[]]
    assert not (context.workspace / "made").exists()
