"""Approvals: asked for by the agent, answered by people or by the clock."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support.turning import ANN, BOB, THREAD, House, called, talked, until

from turnback.core.errors import ApprovalPending, Forbidden, NotFound
from turnback.core.models import GateStatus, Surface, ThreadId
from turnback.core.threads.store import NewTurn


async def test_gate_halts_the_turn_and_shows_what_would_run(house: House) -> None:
    result = await house.turns.ask(ANN, THREAD, "gated x")

    assert (result.status, result.turn_index) == ("approval_pending", 1)
    (gate,) = result.gates
    assert (gate.tool, gate.args, gate.call_id, gate.status) == ("mail", {"to": "x"}, "x", GateStatus.WAITING)
    assert (gate.expires_at - house.time()).total_seconds() == 600
    (told,) = house.told("approval")
    assert told.data["gate"]["id"] == gate.id
    assert house.turns.running(THREAD)
    with pytest.raises(ApprovalPending):
        await house.threads.begin_turn(THREAD, NewTurn(text="x", summary="x", actor=ANN.account, at=house.time()))


@pytest.mark.parametrize(("approve", "status"), [(True, GateStatus.APPROVED), (False, GateStatus.DENIED)])
async def test_decided_goes_on_with_the_answer(house: House, approve: bool, status: GateStatus) -> None:
    asked = await house.turns.ask(ANN, THREAD, "gated x")
    result = await house.turns.decided(ANN, THREAD, asked.gates[0].id, approve)

    assert (result.status, result.reply) == ("done", f"answered [('x', {approve})]")
    gate = await house.threads.find_gate(asked.gates[0].id)
    assert gate is not None
    assert gate.status is status
    assert [e.data["gate"].get("status") for e in house.told("approval")] == [None, status.value]


async def test_denied_call_is_no_effect_that_stays(house: House) -> None:
    async def both(stage: Any, state: Any, text: str, context: Any) -> Any:
        yield {"type": "gate", "tool": "mail", "args": {"to": "x"}, "id": "1"}
        await context.approvals()
        state = called(called(state, "mail", to="x"), "mail", to="y")
        yield {"type": "step", "state": state}
        yield {"type": "done", "state": state, "text": "ok"}

    house.agent.scripts["both"] = both
    asked = await house.turns.ask(ANN, THREAD, "both")
    await house.turns.decided(ANN, THREAD, asked.gates[0].id, False)
    assert [(e.tool, e.args) for e in await house.threads.effects(THREAD)] == [("mail", {"to": "y"})]


async def test_several_gates_wait_for_all_answers(house: House) -> None:
    asked = await house.turns.ask(ANN, THREAD, "gated x y")
    first, second = asked.gates

    still = await house.turns.decided(ANN, THREAD, first.id, True)
    assert still.status == "approval_pending"
    assert [g.id for g in still.gates] == [second.id]
    done = await house.turns.decided(ANN, THREAD, second.id, False)
    assert done.reply == "answered [('x', True), ('y', False)]"


async def test_gate_after_a_gate_is_reported_by_the_first_answer(house: House) -> None:
    async def twice(stage: Any, state: Any, text: str, context: Any) -> Any:
        answers = {}
        for name in ("one", "two"):
            yield {"type": "gate", "tool": "mail", "args": {"to": name}, "id": name}
            answers.update(await context.approvals())
        yield {"type": "done", "state": state, "text": f"{sorted(answers)}"}

    house.agent.scripts["twice"] = twice
    asked = await house.turns.ask(ANN, THREAD, "twice")
    following = await house.turns.decided(ANN, THREAD, asked.gates[0].id, True)
    assert following.status == "approval_pending"
    assert [g.call_id for g in following.gates] == ["two"]
    done = await house.turns.decided(ANN, THREAD, following.gates[0].id, True)
    assert done.reply == "['one', 'two']"


async def test_gate_that_nobody_answers_counts_as_denied(house: House) -> None:
    sent = await house.turns.send(ANN, THREAD, "gated x")
    asked = await sent.progress.stage()
    await until(lambda: bool(house.time.sleepers))
    house.time.advance(601)

    result = await house.turns.wait(sent)
    assert result.reply == "answered [('x', False)]"
    gate = await house.threads.find_gate(asked.gates[0].id)
    assert gate is not None
    assert gate.status is GateStatus.EXPIRED
    assert house.told("approval")[-1].data["gate"]["status"] == "expired"


async def test_clock_is_looked_at_though_timers_stood_still(house: House) -> None:
    await house.turns.ask(ANN, THREAD, "gated x")
    await until(lambda: bool(house.time.sleepers))
    at, _ = house.time.sleepers[-1]
    assert (at - house.time()).total_seconds() == 60


async def test_answer_that_comes_too_late_is_refused_and_counts_as_denied(house: House) -> None:
    asked = await house.turns.ask(ANN, THREAD, "gated x")
    await until(lambda: bool(house.time.sleepers))
    house.time.sleepers.clear()
    house.time.advance(601)

    with pytest.raises(NotFound, match="no longer waiting"):
        await house.turns.decide(ANN, THREAD, asked.gates[0].id, True)
    await until(lambda: not house.turns.running(THREAD))
    assert (await house.rows())[-1] == ("assistant", "answered [('x', False)]")


async def test_of_two_answers_at_once_one_counts(house: House) -> None:
    asked = await house.turns.ask(ANN, THREAD, "gated x")
    gate = asked.gates[0].id
    answers = await asyncio.gather(
        house.turns.decide(ANN, THREAD, gate, True),
        house.turns.decide(ANN, THREAD, gate, False),
        return_exceptions=True,
    )

    assert sorted(isinstance(a, NotFound) for a in answers) == [False, True]
    won = not isinstance(answers[0], NotFound)
    await until(lambda: not house.turns.running(THREAD))
    assert (await house.rows())[-1] == ("assistant", f"answered [('x', {won})]")


async def test_decide_twice_is_refused(house: House) -> None:
    asked = await house.turns.ask(ANN, THREAD, "gated x")
    await house.turns.decided(ANN, THREAD, asked.gates[0].id, True)
    await until(lambda: not house.turns.running(THREAD))
    for answer in (house.turns.decide, house.turns.decided):
        with pytest.raises(NotFound, match="no longer waiting"):
            await answer(ANN, THREAD, asked.gates[0].id, True)


async def test_decide_by_who_may_not_is_refused(house: House) -> None:
    asked = await house.turns.ask(ANN, THREAD, "gated x")
    with pytest.raises(Forbidden):
        await house.turns.decide(BOB, THREAD, asked.gates[0].id, True)


async def test_decide_through_another_thread_is_refused(house: House) -> None:
    other = ThreadId("9" * 32)
    await house.threads.create_thread(other, "Other", Surface.API, ANN.account, house.time())
    asked = await house.turns.ask(ANN, THREAD, "gated x")
    with pytest.raises(NotFound):
        await house.turns.decide(ANN, other, asked.gates[0].id, True)
    with pytest.raises(NotFound):
        await house.turns.decide(ANN, THREAD, "f" * 32, True)
    assert (await house.turns.decide(ANN, THREAD, asked.gates[0].id, True)).status is GateStatus.APPROVED


async def test_gate_whose_state_cannot_be_encoded_does_not_survive_a_restart(house: House) -> None:
    class Unreadable(dict[str, Any]):
        def items(self) -> Any:
            raise OSError

    async def odd(stage: Any, state: Any, text: str, context: Any) -> Any:
        yield {"type": "gate", "tool": "mail", "args": {}, "state": {"odd": Unreadable(a=1)}}
        yield {"type": "done", "state": state, "text": str(list((await context.approvals()).values()))}

    house.agent.scripts["odd"] = odd
    asked = await house.turns.ask(ANN, THREAD, "odd")
    assert asked.gates[0].call_id == asked.gates[0].id
    await house.restart()
    assert not house.turns.running(THREAD)
    assert (await house.rows())[-1][0] == "note"


async def test_approvals_without_a_gate_answers_nothing(house: House) -> None:
    async def plain(stage: Any, state: Any, text: str, context: Any) -> Any:
        yield {"type": "done", "state": state, "text": str(dict(await context.approvals()))}

    house.agent.scripts["plain"] = plain
    assert (await house.turns.ask(ANN, THREAD, "plain")).reply == "{}"


async def test_message_that_waits_behind_a_gate_hears_of_its_own_end(house: House) -> None:
    asked = await house.turns.ask(ANN, THREAD, "gated x")
    waiting = asyncio.create_task(house.turns.ask(ANN, THREAD, "two"))
    await asyncio.sleep(0)
    await house.turns.decide(ANN, THREAD, asked.gates[0].id, True)
    assert (await waiting).reply == "said two"


async def test_gate_without_a_state_does_not_resume_from_that_of_an_earlier_one(house: House) -> None:
    async def twice(stage: Any, state: Any, text: str, context: Any) -> Any:
        yield {"type": "gate", "tool": "mail", "args": {}, "id": "one", "state": talked(state, "user", text)}
        await context.approvals()
        yield {"type": "gate", "tool": "mail", "args": {}, "id": "two"}
        await context.approvals()

    house.agent.scripts["twice"] = twice
    first = await house.turns.ask(ANN, THREAD, "twice")
    await house.turns.decided(ANN, THREAD, first.gates[0].id, True)
    running = (await house.thread()).running_turn
    assert running is not None
    assert await house.threads.gate_content(THREAD, running) is None
