"""Forks: whose they are, what is in them, and that they live on their own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from support.world import ANN, BOB, Clock, Scripted

from turnback.core import open_service
from turnback.core.errors import NotFound, NothingToUndo, StoreUnavailable
from turnback.core.models import AccountId, Action, Actor, Outcome, Surface, Thread
from turnback.core.service import Turnback

Say = Callable[..., Awaitable[str]]

CLEO = Actor(account=AccountId("e" * 32), surface=Surface.API, name="Cleo")


async def ids(service: Turnback, thread: Thread, actor: Actor = ANN) -> list[str]:
    return [v.step.id for v in (await service.rewind.list_steps(actor, thread.id)).steps]


async def words(service: Turnback, thread: Thread, actor: Actor = ANN) -> list[str]:
    return [row.text for row, _ in await service.rewind.transcript(actor, thread.id)]


async def state(service: Turnback, thread: Thread) -> dict[str, Any]:
    found = await service.threads.find_thread(thread.id)
    assert found is not None
    kept = await service.threads.checkpoint(thread.id, found.head)
    assert kept is not None
    return kept


@pytest.fixture
async def group(service: Turnback) -> Thread:
    """Ann started it, Bob writes there, Cleo does not."""
    await service.threads.create_account(CLEO.account, CLEO.name, Clock()())
    group = await service.rewind.create_thread(ANN, "Group", group=True)
    await service.threads.add_participant(group.id, BOB.account, Surface.TELEGRAM, "-1")
    for text in ("one", "set plan a", "three"):
        await service.turns.ask(ANN, group.id, text)
    return group


async def test_fork_of_a_group_is_its_askers_alone(service: Turnback, group: Thread) -> None:
    second = (await ids(service, group))[1]
    fork = (await service.rewind.fork(BOB, group.id, second)).thread
    assert (fork.owner, fork.group) == (BOB.account, False)
    assert fork.id in [t.id for t in await service.rewind.threads(BOB)]
    assert fork.id not in [t.id for t in await service.rewind.threads(ANN)]
    for other in (ANN, CLEO):
        with pytest.raises(NotFound):
            await service.rewind.transcript(other, fork.id)
    assert await words(service, group) == ["one", "said one", "set plan a", "said set plan a", "three", "said three"]
    newest = (await service.threads.audit_trail(thread_id=group.id))[0]
    assert (newest.action, newest.account, newest.snapshot_id, newest.outcome) == (
        Action.FORK,
        BOB.account,
        second,
        Outcome.DONE,
    )


async def test_fork_of_a_group_by_a_stranger_is_like_one_that_is_not_there(service: Turnback, group: Thread) -> None:
    second = (await ids(service, group))[1]
    with pytest.raises(NotFound) as foreign:
        await service.rewind.fork(CLEO, group.id, second)
    with pytest.raises(NotFound) as unknown:
        await service.rewind.fork(CLEO, "0" * 32, second)
    assert foreign.value.detail == unknown.value.detail
    assert await service.rewind.threads(CLEO) == []


async def test_fork_outlives_the_group(service: Turnback, group: Thread) -> None:
    fork = (await service.rewind.fork(BOB, group.id)).thread
    await service.rewind.delete(ANN, group.id)
    assert (await service.turns.ask(BOB, fork.id, "four")).turn_index == 4
    assert len(await ids(service, fork, BOB)) == 2
    await service.rewind.undo(BOB, fork.id)
    assert (await words(service, fork, BOB))[-1] == "said three"


async def test_two_members_fork_the_same_step_apart(service: Turnback, group: Thread) -> None:
    second = (await ids(service, group))[1]
    hers, his = [(await service.rewind.fork(who, group.id, second)).thread for who in (ANN, BOB)]
    assert hers.id != his.id
    assert {hers.owner, his.owner} == {ANN.account, BOB.account}


async def test_fork_holds_the_chosen_step_and_nothing_later(service: Turnback, thread: Thread, say: Say) -> None:
    states = []
    for n in range(6):
        await say(f"set k{n} v")
        states.append(await state(service, thread))
    saved = await ids(service, thread)
    fork = (await service.rewind.fork(ANN, thread.id, saved[1])).thread
    assert await state(service, fork) == states[1]
    await service.rewind.restore(ANN, thread.id, saved[2])
    elsewhere = (await service.rewind.fork(ANN, thread.id, saved[4])).thread
    assert await state(service, elsewhere) == states[4], "also a step that is set aside"
    assert (await service.turns.ask(ANN, fork.id, "set own v")).turn_index == 3


async def test_fork_of_a_fork_at_its_root_has_its_line_only(service: Turnback, thread: Thread, say: Say) -> None:
    for text in ("one", "two", "three"):
        await say(text)
    first = (await service.rewind.fork(ANN, thread.id, (await ids(service, thread))[1])).thread
    await say("four", first.id)
    nested = (await service.rewind.fork(ANN, first.id, (await ids(service, first))[0])).thread
    assert await words(service, nested) == ["one", "said one", "two", "said two"]
    assert nested.forked_from is not None
    assert nested.forked_from.thread_id == first.id
    assert nested.title == "⑂ Trip"
    with pytest.raises(NothingToUndo):
        await service.rewind.undo(ANN, nested.id)


async def test_fork_shows_up_in_its_owners_list_at_once(service: Turnback, thread: Thread, say: Say) -> None:
    await say("one")
    async with service.events.listen() as events:
        await service.rewind.fork(ANN, thread.id)
        event = await anext(events)
    assert event is not None
    assert (event.name, event.readers) == ("threads", frozenset({ANN.account}))


async def test_fork_that_fails_leaves_no_chat(
    service: Turnback, thread: Thread, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    await say("one")

    def fail(*_: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr("turnback.core.threads.records.add_audit", fail)
    with pytest.raises(OSError, match="space"):
        await service.rewind.fork(ANN, thread.id)
    monkeypatch.undo()
    assert [t.id for t in await service.rewind.threads(ANN)] == [thread.id]


async def test_fork_whose_step_could_not_be_saved_is_made_up_for_by_the_next_try(
    service: Turnback, thread: Thread, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    await say("one")

    async def fail(*_: object) -> None:
        raise StoreUnavailable

    with monkeypatch.context() as patched:
        patched.setattr(service.steps, "adopt", fail)
        with pytest.raises(StoreUnavailable):
            await service.rewind.fork(ANN, thread.id)
    fork = await service.rewind.fork(ANN, thread.id)
    assert fork.again
    assert fork.root is not None
    assert len(await service.rewind.threads(ANN)) == 2


async def test_fork_while_a_turn_runs_holds_its_last_finished_step(service: Turnback, thread: Thread, say: Say) -> None:
    await say("steps 2")
    begun = await ids(service, thread)
    fork = (await service.rewind.fork(ANN, thread.id, begun[0])).thread
    told = (await state(service, fork))["messages"]
    assert [m["role"] for m in told] == ["user", "assistant", "tool"]
    assert (await service.turns.ask(ANN, fork.id, "go on")).status == "done"


async def test_first_message_in_a_fork_after_a_restart_is_answered(data: Path, clock: Clock) -> None:
    async with open_service(data, agent=Scripted(), clock=clock, maintain=False) as service:
        await service.threads.create_account(ANN.account, ANN.name, clock())
        thread = await service.rewind.create_thread(ANN)
        await service.turns.ask(ANN, thread.id, "set plan a")
        fork = (await service.rewind.fork(ANN, thread.id)).thread
        before = await state(service, fork)
    async with open_service(data, agent=Scripted(), clock=clock, maintain=False) as service:
        assert await state(service, fork) == before
        told = await service.turns.ask(ANN, fork.id, "go on")
        assert (told.status, told.turn_index) == ("done", 2)


async def test_fork_keeps_the_fact_that_its_origin_left_behind(service: Turnback, thread: Thread, say: Say) -> None:
    await say("remember tea")
    await say("remember call me Captain")
    fork = (await service.rewind.fork(ANN, thread.id)).thread
    await service.rewind.undo(ANN, thread.id)
    assert [f.text for f in await service.rewind.facts(ANN, thread.id)] == ["tea"]
    assert [f.text for f in await service.rewind.facts(ANN, fork.id)] == ["tea", "call me Captain"]
