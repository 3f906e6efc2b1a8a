"""The program ends, and another begins on the same files."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from support.turning import ANN, BOB, THREAD, House, Stage, gated, slow, talked, until

from turnback.core.errors import NotFound
from turnback.core.models import Action, Actor, AuditEntry, GateStatus, Surface, Thread, TurnStatus
from turnback.core.policy import Right
from turnback.core.threads.store import NewTurn
from turnback.core.turns.running import RunningTurn

INTERRUPTED = "Interrupted by a restart. What was finished is kept."


async def last_status(house: House) -> TurnStatus:
    view = await house.threads.view(THREAD)
    assert view is not None
    return view.turns[-1].status


def kill(house: House) -> None:
    """Leave the files as a killed program would; what it still does in memory is not heard of again."""
    house.turns = house.new_turns()


async def test_killed_turn_is_closed_as_interrupted(house: House) -> None:
    await house.threads.begin_turn(THREAD, NewTurn(text="hi", summary="hi", actor=ANN.account, at=house.time()))
    await house.turns.recover()

    assert await last_status(house) is TurnStatus.INTERRUPTED
    assert await house.rows() == [("user", "hi"), ("note", INTERRUPTED)]
    assert (await house.thread()).running_turn is None
    assert (await house.turns.ask(ANN, THREAD, "next")).turn_index == 2


async def test_close_interrupts_what_runs_and_keeps_its_steps(house: House) -> None:
    sent = await house.turns.send(ANN, THREAD, "slow")
    house.agent.go("start")
    await house.agent.reached("middle")
    await house.turns.close()

    assert (await house.turns.wait(sent)).status == "interrupted"
    assert await last_status(house) is TurnStatus.INTERRUPTED
    assert (await house.state())["messages"][-1]["role"] == "tool"


async def test_close_lets_an_answer_that_is_shown_be_saved(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    async def answering(stage: Any, state: Any, text: str, context: Any) -> Any:
        yield {"type": "delta", "text": "all of it"}
        await stage.halt("shown")
        yield {"type": "done", "state": state, "text": "all of it"}

    async def leave(turn: RunningTurn, grace: float) -> None:
        leaving = asyncio.create_task(left(turn, grace))
        await asyncio.sleep(0)  # it has begun
        house.agent.go("shown")
        await leaving

    left = RunningTurn.leave
    monkeypatch.setattr(RunningTurn, "leave", leave)
    house.agent.scripts["answering"] = answering
    sent = await house.turns.send(ANN, THREAD, "answering")
    await house.agent.reached("shown")
    await house.turns.close()
    assert (await house.turns.wait(sent)).status == "done"
    assert await house.rows() == [("user", "answering"), ("assistant", "all of it")]


async def test_close_leaves_a_turn_at_its_gate(house: House) -> None:
    sent = await house.turns.send(ANN, THREAD, "gated x")
    asked = await sent.progress.stage()
    await house.turns.close()

    assert (await house.turns.wait(sent)).status == "approval_pending"
    assert await last_status(house) is TurnStatus.APPROVAL_PENDING
    gate = await house.threads.find_gate(asked.gates[0].id)
    assert gate is not None
    assert gate.status is GateStatus.WAITING


async def test_close_does_not_hang_on_an_agent_that_does_not_stop(house: House) -> None:
    free = asyncio.Event()

    async def stubborn(stage: Any, state: Any, text: str, context: Any) -> Any:
        while not free.is_set():
            try:
                stage.go("stubborn")
                await stage.halt("stubborn")
                await free.wait()
            except asyncio.CancelledError:
                continue
        yield {"type": "delta", "text": "late"}

    house.agent.scripts["stubborn"] = stubborn
    await house.turns.send(ANN, THREAD, "stubborn")
    await house.agent.reached("stubborn")
    await house.turns.close(0.1)
    assert await last_status(house) is TurnStatus.INTERRUPTED
    free.set()


async def test_close_while_a_gate_is_being_stored_leaves_the_turn_at_it(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored, told = asyncio.Event(), asyncio.Event()
    open_gates = house.threads.open_gates

    async def slowly(*args: Any) -> None:
        await open_gates(*args)
        stored.set()
        await told.wait()

    monkeypatch.setattr(house.threads, "open_gates", slowly)
    sent = await house.turns.send(ANN, THREAD, "gated x")
    await stored.wait()
    closing = asyncio.create_task(house.turns.close())
    await house.others_had_time()
    told.set()
    await closing
    assert (await house.turns.wait(sent)).status == "approval_pending"

    kill(house)
    await house.turns.recover()
    (gate,) = await house.threads.gates(THREAD, 1)
    assert (await house.turns.decided(ANN, THREAD, gate.id, True)).reply == "resumed [('x', True)]"


async def test_close_before_the_turn_heard_of_an_answer_keeps_the_answer(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = await house.turns.ask(ANN, THREAD, "gated x")
    await house.others_had_time()
    with monkeypatch.context() as patched:
        patched.setattr(house.threads, "gates", lambda *_: asyncio.Event().wait())
        await house.turns.decide(ANN, THREAD, asked.gates[0].id, True)
        await house.turns.close()

    kill(house)
    await house.turns.recover()
    await until(lambda: not house.turns.running(THREAD))
    assert (await house.rows())[-1] == ("assistant", "resumed [('x', True)]")


async def test_close_right_after_a_stop_does_not_leave_the_turn_at_its_gate(house: House) -> None:
    await house.turns.ask(ANN, THREAD, "gated x")
    turn = house.turns._lanes[THREAD].current
    await asyncio.gather(turn.stop(), turn.leave(1))
    await until(lambda: not house.turns._lanes)
    assert (await house.rows())[-1] == ("note", "Stopped.")


@pytest.mark.parametrize("approve", [True, False])
async def test_turn_at_a_gate_goes_on_after_a_restart(house: House, approve: bool) -> None:
    asked = await house.turns.ask(ANN, THREAD, "gated x")
    await house.restart()

    assert house.turns.running(THREAD)
    result = await house.turns.decided(ANN, THREAD, asked.gates[0].id, approve)
    assert (result.status, result.turn_index, result.reply) == ("done", 1, f"resumed [('x', {approve})]")
    assert await house.rows() == [("user", "gated x"), ("assistant", f"resumed [('x', {approve})]")]
    assert [d.iteration for d in house.captured.drafts] == [0, 1]
    assert await last_status(house) is TurnStatus.DONE


async def test_several_gates_wait_for_the_rest_after_a_restart(house: House) -> None:
    asked = await house.turns.ask(ANN, THREAD, "gated x y")
    await house.turns.decide(ANN, THREAD, asked.gates[0].id, True)
    await house.restart()

    result = await house.turns.decided(ANN, THREAD, asked.gates[1].id, True)
    assert result.reply == "resumed [('x', True), ('y', True)]"


async def test_gate_answered_in_the_last_moment_is_not_asked_again(house: House) -> None:
    asked = await house.turns.ask(ANN, THREAD, "gated x")
    await house.turns.close()
    kill(house)
    await house.threads.decide_gate(asked.gates[0].id, GateStatus.APPROVED, ANN.account, house.time())
    await house.turns.recover()

    await until(lambda: not house.turns.running(THREAD))
    assert (await house.rows())[-1] == ("assistant", "resumed [('x', True)]")


async def test_gate_that_ran_out_during_the_downtime_counts_as_denied(house: House) -> None:
    await house.turns.ask(ANN, THREAD, "gated x")
    await house.turns.close()
    house.time.advance(3600)
    kill(house)
    await house.turns.recover()

    await until(lambda: not house.turns.running(THREAD))
    assert (await house.rows())[-1] == ("assistant", "resumed [('x', False)]")


async def test_ask_after_a_restart_waits_behind_the_gate(house: House) -> None:
    asked = await house.turns.ask(ANN, THREAD, "gated x")
    await house.restart()
    sent = await house.turns.send(ANN, THREAD, "two")
    assert sent.status == "queued"
    await house.turns.decide(ANN, THREAD, asked.gates[0].id, False)
    assert (await house.turns.wait(sent)).reply == "said two"


async def test_stop_after_a_restart_kills_the_gate(house: House) -> None:
    asked = await house.turns.ask(ANN, THREAD, "gated x")
    await house.restart()
    assert await house.turns.stop(ANN, THREAD)
    with pytest.raises(NotFound):
        await house.turns.decide(ANN, THREAD, asked.gates[0].id, True)
    assert (await house.rows())[-1] == ("note", "Stopped.")


async def test_agent_that_cannot_resume_is_interrupted_at_its_gate(house: House) -> None:
    house.agent = Stage(gated=gated, slow=slow)
    house.turns = house.new_turns()
    asked = await house.turns.ask(ANN, THREAD, "gated x")
    await house.restart()

    assert await last_status(house) is TurnStatus.INTERRUPTED
    assert (await house.rows())[-1] == ("note", INTERRUPTED)
    gate = await house.threads.find_gate(asked.gates[0].id)
    assert gate is not None
    assert gate.status is GateStatus.DEAD


async def test_gate_whose_agent_was_changed_is_interrupted(house: House) -> None:
    await house.turns.ask(ANN, THREAD, "gated x")
    await house.turns.close()
    house.agent = Stage()
    kill(house)
    await house.turns.recover()

    assert await last_status(house) is TurnStatus.INTERRUPTED
    assert (await house.turns.ask(ANN, THREAD, "next")).status == "done"


async def test_recover_twice_changes_nothing(house: House) -> None:
    asked = await house.turns.ask(ANN, THREAD, "gated x")
    await house.restart()
    await house.turns.recover()
    await house.turns.decide(ANN, THREAD, asked.gates[0].id, True)
    await until(lambda: not house.turns.running(THREAD))
    assert len(await house.rows()) == 2


async def test_step_numbers_go_on_after_a_restart_of_a_turn_that_learned_facts(house: House) -> None:
    async def learning(stage: Any, state: Any, text: str, context: Any) -> Any:
        state = talked(state, "user", text)
        await context.remember("one")
        await context.remember("two")
        yield {"type": "step", "state": state}
        yield {"type": "gate", "tool": "mail", "args": {}, "id": "g", "state": state}
        await context.approvals()

    house.agent.scripts["learning"] = learning
    asked = await house.turns.ask(ANN, THREAD, "learning")
    await house.restart()
    await house.turns.decided(ANN, THREAD, asked.gates[0].id, True)
    assert [draft.iteration for draft in house.captured.drafts] == [0, 1]


# messages that waited


async def queued(house: House, first: str, *behind: str) -> None:
    """One message has begun its turn, the others wait."""
    for text in (first, *behind):
        await house.turns.send(ANN, THREAD, text)


async def ran(house: House) -> None:
    """All that was begun or waited has ended."""
    await until(lambda: not house.turns._lanes)


async def test_messages_behind_a_killed_turn_run_in_order_after_it_is_closed(house: House) -> None:
    await queued(house, "slow", "two", "three")
    kill(house)
    await house.turns.recover()
    await ran(house)

    assert await house.rows() == [
        ("user", "slow"),
        ("note", INTERRUPTED),
        ("user", "two"),
        ("assistant", "said two"),
        ("user", "three"),
        ("assistant", "said three"),
    ]
    assert list(await house.threads.waiting()) == []


async def test_message_behind_a_gate_waits_on_after_a_kill(house: House) -> None:
    asked = await house.turns.ask(ANN, THREAD, "gated x")
    await house.turns.send(ANN, THREAD, "two")
    kill(house)
    await house.turns.recover()
    later = await house.turns.send(ANN, THREAD, "three")
    await house.others_had_time()
    assert await house.rows() == [("user", "gated x")]

    await house.turns.decide(ANN, THREAD, asked.gates[0].id, True)
    await house.turns.wait(later)
    assert [text for role, text in await house.rows() if role == "user"] == ["gated x", "two", "three"]


async def test_message_that_waited_at_close_is_kept_and_runs_once(house: House) -> None:
    await house.turns.send(ANN, THREAD, "slow")
    waiting = await house.turns.send(ANN, THREAD, "two")
    await house.restart()

    result = await house.turns.wait(waiting)
    assert (result.status, result.turn_index) == ("queued", None)
    assert "runs when Turnback has started again" in result.reply
    await ran(house)
    await house.restart()
    await ran(house)
    assert [text for role, text in await house.rows() if role == "user"] == ["slow", "two"]


async def test_message_of_a_turn_that_had_begun_does_not_run_again_after_a_kill(house: House) -> None:
    await queued(house, "gated x", "slow")
    await house.turns.stop(ANN, THREAD)
    await until(lambda: house.turns.running(THREAD))
    kill(house)
    await house.turns.recover()
    await ran(house)
    assert (await house.rows())[-2:] == [("user", "slow"), ("note", INTERRUPTED)]


async def test_message_whose_sender_may_no_more_is_dropped_after_a_restart(house: House) -> None:
    await house.threads.create_account(BOB.account, BOB.name, house.time(), admin=True)
    await house.turns.send(ANN, THREAD, "slow")
    await house.turns.send(replace(BOB, admin=True), THREAD, "two")
    await house.turns.send(ANN, THREAD, "three")
    await house.threads.set_admin(BOB.account, False)
    await house.restart()
    await ran(house)

    assert [text for role, text in await house.rows() if role == "user"] == ["slow", "three"]
    assert list(await house.threads.waiting()) == []


async def test_message_runs_after_a_restart_as_who_sent_it(house: House) -> None:
    seen = []

    async def rights(actor: Actor, thread_id: str, right: Right) -> Thread:
        seen.append(actor)
        return await House.rights(house, actor, thread_id, right)

    sender = replace(ANN, surface=Surface.TELEGRAM, identity="telegram:7")
    await house.turns.send(ANN, THREAD, "slow")
    await house.turns.send(sender, THREAD, "two")
    await house.turns.close()
    house.rights = rights  # type: ignore[method-assign]
    kill(house)
    await house.turns.recover()
    assert seen == [sender]


async def test_message_in_a_thread_deleted_meanwhile_is_gone(house: House) -> None:
    await queued(house, "slow", "two")
    await house.turns.close()
    entry = AuditEntry(at=house.time(), account=ANN.account, actor="Ann", surface=ANN.surface, action=Action.DELETE)
    await house.threads.delete_thread(THREAD, entry)
    kill(house)
    await house.turns.recover()
    assert not house.turns._lanes
