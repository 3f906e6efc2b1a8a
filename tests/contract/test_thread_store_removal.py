"""What every thread store does with what is to be gone: sweeping, clearing, forgetting, deleting."""

from __future__ import annotations

import pytest
from support.threads import ANN, FORK, NOW, TRIP, Talk, entry, fork_of, later

from turnback.core.errors import NotFound
from turnback.core.models import (
    BEGINNING,
    Action,
    Effect,
    FactId,
    Position,
    Surface,
    ThreadId,
)
from turnback.core.state.codec import encode
from turnback.core.threads.store import Stale, ThreadStore


async def _branched(talk: Talk) -> tuple[Position, Position]:
    """Turn one, then two (with a fact and an effect) set aside for three: the ends of one and two."""
    [one] = await talk.turn("one")
    turn = await talk.begin("two")
    await talk.store.add_fact(TRIP, FactId("f"), "tea", NOW)
    effect = Effect(tool="mail", args={}, turn_index=2, number=1, at=BEGINNING)
    two = await talk.store.commit_step(TRIP, turn.turn_no, encode({"n": 2}), effects=[effect])
    await talk.end(turn)
    await talk.undo()
    await talk.turn("three")
    return one, two


async def _aside(talk: Talk) -> list[str]:
    return [r.text for r, aside in await talk.store.transcript(TRIP, everything=True) if aside]


# sweeping


async def test_sweep_deletes_what_neither_head_nor_redo_nor_steps_reach(talk: Talk) -> None:
    _, two = await _branched(talk)
    path, before = await talk.texts(), (await talk.view()).thread.version
    assert await talk.store.sweep(TRIP, []) == 2
    assert await _aside(talk) == []
    assert await talk.texts() == path
    assert [t.turn_no for t in (await talk.view()).turns] == [1, 3]
    assert list(await talk.store.effects(TRIP)) == []
    assert await talk.store.checkpoint(TRIP, two) is None
    assert (await talk.view()).thread.version > before, "a restore that decided before must decide anew"


async def test_sweep_keeps_what_a_surviving_step_reaches(talk: Talk) -> None:
    _, two = await _branched(talk)
    before = await talk.view()
    assert await talk.store.sweep(TRIP, [two, Position(77, 1)]) == 0
    assert await _aside(talk) == ["two", "done"]
    assert await talk.view() == before


async def test_sweep_keeps_a_set_aside_turn_only_up_to_its_newest_step(talk: Talk) -> None:
    turn = await talk.begin("one")
    first = await talk.commit(turn, {"n": 1})
    await talk.commit(turn, {"n": 2})
    await talk.end(turn, "answer")
    await talk.undo()
    await talk.turn("two")
    assert await talk.store.sweep(TRIP, [first]) == 1
    assert await _aside(talk) == ["one"]


async def test_sweep_keeps_what_redo_leads_to(talk: Talk) -> None:
    await talk.turn("one", [{"n": 1}])
    await talk.undo()
    assert await talk.store.sweep(TRIP, []) == 0
    await talk.redo()
    assert await talk.texts() == ["one", "answer to one"]
    assert await talk.state() == {"n": 1}


async def test_sweep_during_a_turn_keeps_what_it_just_learned(talk: Talk) -> None:
    turn = await talk.begin()
    await talk.store.add_fact(TRIP, FactId("f"), "tea", NOW)
    assert await talk.store.sweep(TRIP, []) == 0
    await talk.commit(turn, {})
    assert [f.id for f in await talk.store.facts(TRIP)] == ["f"]


async def test_sweep_of_no_thread_does_nothing(threads: ThreadStore) -> None:
    assert await threads.sweep(TRIP, []) == 0


# clearing and forgetting


async def test_clear_thread_begins_an_epoch_and_leaves_a_duty(talk: Talk) -> None:
    await talk.turn("one", [{"n": 1}])
    duty = await talk.store.clear_thread(TRIP, entry(Action.CLEAR))
    assert (duty.kind, duty.thread_id, duty.args) == ("clear", TRIP, {"epoch": 1})
    assert list(await talk.store.follow_ups()) == [duty]
    assert (await talk.view()).thread.epoch == 1
    assert await talk.state() == {"n": 1}
    await talk.undo()
    assert list(await talk.store.audit_trail(limit=2)) == [entry(), entry(Action.CLEAR)]


async def test_clear_thread_makes_a_restore_decide_anew(talk: Talk) -> None:
    [one] = await talk.turn("one")
    await talk.turn("two")
    view = await talk.view()
    await talk.store.clear_thread(TRIP, entry(Action.CLEAR))

    async def stale_view() -> object:
        return view

    talk.view = stale_view  # type: ignore[assignment,method-assign]
    with pytest.raises(Stale):
        await talk.move(one)


async def test_clear_of_no_thread_refuses(threads: ThreadStore) -> None:
    with pytest.raises(NotFound):
        await threads.clear_thread(TRIP, entry(Action.CLEAR))
    assert list(await threads.follow_ups()) == []


async def test_followed_up_is_done_for_good(talk: Talk) -> None:
    first = await talk.store.clear_thread(TRIP, entry(Action.CLEAR))
    second = await talk.store.clear_thread(TRIP, entry(Action.CLEAR))
    await talk.store.followed_up(first.id)
    await talk.store.followed_up(first.id)
    assert list(await talk.store.follow_ups()) == [second]


async def test_forget_fact_names_where_its_turn_began(talk: Talk) -> None:
    await talk.turn("one")
    turn = await talk.begin("two")
    for name in ("f", "g"):
        await talk.store.add_fact(TRIP, FactId(name), name, NOW)
    await talk.commit(turn, {})
    await talk.end(turn)
    duty = await talk.store.forget_facts(TRIP, FactId("f"), entry(Action.FORGET))
    assert duty is not None
    assert (duty.kind, duty.args) == ("forget", {"pos": turn.start.pos, "epoch": 1})
    assert [f.id for f in await talk.store.facts(TRIP)] == ["g"]
    assert list(await talk.store.audit_trail()) == [entry(Action.FORGET)]
    assert set(await talk.store.tombstones()) == {f"{TRIP}/f"}, "no backup brings it back"


async def test_forget_fact_of_a_fork_names_the_facts_own_place(talk: Talk) -> None:
    turn = await talk.begin("one")
    fact = await talk.store.add_fact(TRIP, FactId("f"), "tea", NOW)
    at = await talk.commit(turn, {})
    await talk.fork(at)
    duty = await talk.store.forget_facts(FORK, FactId("f"), entry(Action.FORGET, FORK))
    assert duty is not None
    assert duty.args["pos"] == fact.at.pos
    assert [f.id for f in await talk.store.facts(TRIP)] == ["f"], "the original keeps its own"


async def test_forget_fact_that_is_not_there_changes_nothing(talk: Talk) -> None:
    before = await talk.view()
    assert await talk.store.forget_facts(TRIP, FactId("f"), entry(Action.FORGET)) is None
    assert await talk.view() == before
    assert list(await talk.store.audit_trail()) == []


async def test_forget_all_facts_deletes_set_aside_ones_too(talk: Talk) -> None:
    await _branched(talk)
    duty = await talk.store.forget_facts(TRIP, None, entry(Action.FORGET))
    assert duty is not None
    assert (duty.kind, duty.args) == ("clear", {"epoch": 1})
    assert await talk.store.forget_facts(TRIP, FactId("f"), entry(Action.FORGET)) is None


# deleting


async def test_delete_thread_leaves_a_tombstone_a_duty_and_its_audit(talk: Talk) -> None:
    await _branched(talk)
    await talk.store.bind(Surface.WEB, "here", TRIP)
    await talk.store.add_participant(TRIP, ANN, Surface.TELEGRAM, "-1")
    await talk.store.clear_thread(TRIP, entry(Action.CLEAR))
    duty = await talk.store.delete_thread(TRIP, entry(Action.DELETE))
    assert (duty.kind, duty.thread_id) == ("delete", TRIP)
    assert list(await talk.store.follow_ups()) == [duty], "what else there was to do is done by it"
    assert await talk.store.find_thread(TRIP) is None
    assert set(await talk.store.participants(TRIP)) == set()
    assert await talk.store.bound(Surface.WEB, "here") is None
    assert set(await talk.store.tombstones([TRIP, FORK])) == {TRIP}
    assert [e.action for e in await talk.store.audit_trail(thread_id=TRIP)] == ["delete", "clear", "restore"]


async def test_delete_thread_again_only_renews_the_duty(talk: Talk) -> None:
    await talk.store.delete_thread(TRIP, entry(Action.DELETE))
    again = await talk.store.delete_thread(TRIP, entry(Action.DELETE))
    assert list(await talk.store.follow_ups()) == [again]
    assert len(await talk.store.audit_trail()) == 1


async def test_delete_of_what_never_was_refuses(threads: ThreadStore) -> None:
    with pytest.raises(NotFound):
        await threads.delete_thread(TRIP, entry(Action.DELETE))
    assert set(await threads.tombstones()) == set()


async def test_delete_thread_leaves_its_forks(talk: Talk) -> None:
    [at] = await talk.turn("one")
    fork = await talk.fork(at)
    await talk.store.delete_thread(TRIP, entry(Action.DELETE))
    assert await fork.texts() == ["one", "answer to one"]
    assert await fork.state() == {"forked": True}
    await fork.turn("on")


async def test_delete_thread_while_a_turn_runs_makes_its_writes_stale(talk: Talk) -> None:
    """DB-12: nothing late brings a deleted thread back."""
    turn = await talk.begin()
    await talk.store.delete_thread(TRIP, entry(Action.DELETE))
    with pytest.raises(Stale):
        await talk.commit(turn, {})
    with pytest.raises(Stale):
        await talk.end(turn)
    with pytest.raises(Stale):
        await talk.store.add_fact(TRIP, FactId("f"), "x", NOW)
    await talk.store.add_participant(TRIP, ANN, Surface.TELEGRAM, "-1")
    await talk.store.set_idempotent(TRIP, "k", {}, NOW)
    with pytest.raises(NotFound):
        await talk.store.bind(Surface.WEB, "here", TRIP)
    assert set(await talk.store.participants(TRIP)) == set()
    assert await talk.store.idempotent(TRIP, "k") is None
    assert await talk.store.bound(Surface.WEB, "here") is None
    assert list(await talk.store.running()) == []


async def test_merge_tombstones_deletes_here_what_was_deleted_there(talk: Talk) -> None:
    await talk.turn("one")
    await talk.store.merge_tombstones([TRIP, ThreadId("never seen")])
    assert await talk.store.find_thread(TRIP) is None
    assert set(await talk.store.tombstones()) == {TRIP, "never seen"}
    assert [(f.kind, f.thread_id) for f in await talk.store.follow_ups()] == [("delete", TRIP)]


async def test_a_deleted_threads_id_is_not_given_again(talk: Talk) -> None:
    [at] = await talk.turn("one")
    await talk.fork(at)
    await talk.store.delete_thread(FORK, entry(Action.DELETE, FORK))
    with pytest.raises(NotFound):
        await talk.store.create_thread(FORK, "again", Surface.WEB, ANN, later(1))
    with pytest.raises(NotFound):
        await talk.store.fork_thread(fork_of(TRIP, at))
