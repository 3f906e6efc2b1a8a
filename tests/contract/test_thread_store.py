"""What every thread store does with turns, heads and forks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.threads import ANN, BOB, FORK, NOW, TRIP, Talk, entry, fork_of, later, new_turn, said

from turnback.core.errors import ApprovalPending, NotFound, StepGone, TurnRunning
from turnback.core.models import (
    BEGINNING,
    Action,
    Effect,
    FactId,
    ForkedFrom,
    Gate,
    GateId,
    GateStatus,
    Position,
    Spent,
    StepId,
    Surface,
    ThreadId,
    TurnStatus,
)
from turnback.core.policy import UNDO_TURNS
from turnback.core.state.codec import encode
from turnback.core.threads.store import Move, Row, Stale, ThreadStore


def gate(gate_id: str, turn_no: int = 1) -> Gate:
    return Gate(
        id=GateId(gate_id),
        thread_id=TRIP,
        turn_no=turn_no,
        call_id=f"call-{gate_id}",
        tool="send_mail",
        args={"to": "Bob \ud800"},
        status=GateStatus.WAITING,
        created_at=NOW,
        expires_at=later(600),
    )


# threads


async def test_create_thread_stands_at_the_beginning(threads: ThreadStore) -> None:
    thread = await threads.create_thread(TRIP, "Trip", Surface.SLACK, ANN, NOW, group=True)
    assert thread == await threads.find_thread(TRIP)
    assert (thread.head, thread.root, thread.root_turn_index, thread.version) == (BEGINNING, BEGINNING, 0, 0)
    assert (thread.created_at, thread.updated_at, thread.surface, thread.group) == (NOW, NOW, Surface.SLACK, True)
    assert (thread.memory, thread.spent, thread.forked_from, thread.running_turn) == (True, Spent(), None, None)


async def test_find_thread_that_is_not_there_answers_none(threads: ThreadStore) -> None:
    assert await threads.find_thread(TRIP) is None
    assert await threads.view(TRIP) is None
    with pytest.raises(NotFound):
        await threads.begin_turn(TRIP, new_turn("hello"))


async def test_list_threads_gives_own_and_shared_newest_first(threads: ThreadStore) -> None:
    for number, owner in enumerate([ANN, BOB, ANN, BOB]):
        await threads.create_thread(ThreadId(str(number)), "t", Surface.WEB, owner, later(number))
    await threads.add_participant(ThreadId("1"), ANN, Surface.TELEGRAM, "-1")
    await threads.add_participant(ThreadId("1"), ANN, Surface.TELEGRAM, "-1")
    await threads.begin_turn(ThreadId("0"), new_turn("hello", at=later(100)))
    assert [t.id for t in await threads.list_threads(ANN)] == ["0", "2", "1"]
    assert [t.id for t in await threads.list_threads(None)] == ["0", "3", "2", "1"]
    assert [t.id for t in await threads.list_threads(None, limit=1)] == ["0"]
    assert set(await threads.participants(ThreadId("1"))) == {ANN}


async def test_match_threads_finds_ones_own_by_the_beginning_of_their_ids(threads: ThreadStore) -> None:
    for thread_id, owner in (("ab12", ANN), ("ab13", BOB), ("ab14", BOB), ("ac00", ANN), ("ab", ANN)):
        await threads.create_thread(ThreadId(thread_id), "t", Surface.WEB, owner, NOW)
    await threads.add_participant(ThreadId("ab13"), ANN, Surface.TELEGRAM, "-1")

    async def found(beginning: str, limit: int = 9) -> list[str]:
        return [thread.id for thread in await threads.match_threads(ANN, beginning, limit)]

    assert await found("ab1") == ["ab12", "ab13"]
    assert await found("ab1", limit=1) == ["ab12"]
    assert await found("ab") == ["ab", "ab12", "ab13"]
    assert await found("ab12") == ["ab12"]
    assert [await found(nothing) for nothing in ("ab14", "a%", "ab_2", "b", "ab1\ud800")] == [[], [], [], [], []]


async def test_rename_thread_keeps_all_but_title_and_time(talk: Talk) -> None:
    before = (await talk.view()).thread
    renamed = await talk.store.rename_thread(TRIP, "⑂ lone \ud800", later(9))
    assert renamed == replace(before, title="⑂ lone \ufffd", updated_at=later(9))
    assert await talk.store.rename_thread(FORK, "x", NOW) is None


async def test_set_memory_is_remembered(talk: Talk) -> None:
    await talk.store.set_memory(TRIP, False)
    assert (await talk.view()).thread.memory is False


# turns


async def test_begin_turn_writes_the_row_and_keeps_the_state(talk: Talk) -> None:
    await talk.turn("one", [{"n": 1}])
    turn = await talk.begin("two")
    assert (turn.turn_no, turn.turn_index, turn.status) == (2, 2, TurnStatus.RUNNING)
    assert turn.base < turn.start == await talk.head()
    assert await talk.state() == {"n": 1}
    assert await talk.texts() == ["one", "answer to one", "two"]
    assert (await talk.view()).turns[-1] == turn
    assert list(await talk.store.running()) == [turn]
    assert (await talk.view()).thread.running_turn == 2


async def test_turn_knows_its_origin_its_files_and_where_it_ended(talk: Talk) -> None:
    new = replace(new_turn("look"), origin="slack:C1#7", files=("inbox/a.png",))
    turn = await talk.store.begin_turn(TRIP, new)
    assert list(await talk.store.running()) == [turn]
    step = await talk.commit(turn, {"n": 1})
    ended = await talk.end(turn)
    assert (ended.origin, ended.files, ended.end) == ("slack:C1#7", ("inbox/a.png",), step)
    assert (await talk.view()).turns == (ended,)


async def test_turn_without_a_step_ends_at_its_answer(talk: Talk) -> None:
    ended = await talk.end(await talk.begin("hi"))
    assert ended.end == await talk.head()
    assert (ended.origin, ended.files) == (None, ())


async def test_begin_turn_at_the_beginning_keeps_an_empty_state(talk: Talk) -> None:
    await talk.begin()
    assert await talk.state() == {}
    assert await talk.store.checkpoint(TRIP, BEGINNING) == {}


async def test_begin_turn_while_one_runs_refuses(talk: Talk) -> None:
    await talk.begin()
    with pytest.raises(TurnRunning):
        await talk.begin()
    with pytest.raises(TurnRunning):
        await talk.move(BEGINNING)
    assert await talk.texts() == ["hello"]


async def test_begin_turn_may_skip_turn_indexes(talk: Talk) -> None:
    turn = await talk.store.begin_turn(TRIP, new_turn("seven", turn_index=7))
    await talk.end(turn)
    assert (await talk.begin()).turn_index == 8


async def test_commit_step_moves_the_head_with_its_state(talk: Talk) -> None:
    turn = await talk.begin()
    first = await talk.commit(turn, {"messages": [{"role": "user", "content": "hi"}], "n": 1})
    second = await talk.commit(turn, {"messages": [{"role": "user", "content": "hi"}], "plan": ["a"]})
    assert turn.start < first < second == await talk.head()
    assert await talk.state() == {"messages": [{"role": "user", "content": "hi"}], "plan": ["a"]}
    assert await talk.store.checkpoint(TRIP, first) is None, "only the newest of a turn is kept"


async def test_commit_step_adds_up_what_was_spent(talk: Talk) -> None:
    turn = await talk.begin()
    content = encode({})
    await talk.store.commit_step(TRIP, turn.turn_no, content, spent=Spent(tokens=5, usd=0.25))
    await talk.store.end_turn(TRIP, turn.turn_no, TurnStatus.DONE, [], later(1), spent=Spent(tokens=1, usd=0.5))
    await talk.undo()
    assert (await talk.view()).thread.spent == Spent(tokens=6, usd=0.75)


async def test_commit_step_keeps_effects_at_its_position(talk: Talk) -> None:
    turn = await talk.begin()
    effects = [
        Effect(tool="send_mail", args={"to": "x", "n": 2**70}, turn_index=1, number=1, at=BEGINNING),
        Effect(tool="post", args=None, turn_index=1, number=1, at=BEGINNING),
    ]
    at = await talk.store.commit_step(TRIP, turn.turn_no, encode({}), effects=effects)
    assert list(await talk.store.effects(TRIP)) == [replace(e, at=at) for e in effects]


async def test_commit_step_of_a_turn_that_ended_is_stale(talk: Talk) -> None:
    turn = await talk.begin()
    await talk.end(turn)
    before = await talk.view()
    with pytest.raises(Stale):
        await talk.commit(turn, {"late": True})
    with pytest.raises(Stale):
        await talk.end(turn)
    with pytest.raises(Stale):
        await talk.store.set_turn_status(TRIP, turn.turn_no, TurnStatus.RUNNING)
    assert await talk.view() == before


async def test_end_turn_writes_the_answer_where_the_last_step_is(talk: Talk) -> None:
    [place] = await talk.turn("one")
    rows = await talk.store.transcript(TRIP)
    assert [(r.role, r.text, r.at, r.turn_no, r.turn_index, aside) for r, aside in rows] == [
        ("user", "one", Position(0, 1), 1, 1, False),
        ("assistant", "answer to one", place, 1, 1, False),
    ]
    assert (rows[0][0].author, rows[1][0].author) == (ANN, None)
    assert (rows[0][0].created_at, rows[1][0].created_at) == (NOW, later(1))
    assert len({r.id for r, _ in rows}) == 2


async def test_end_turn_without_a_step_gets_a_position_of_its_own(talk: Talk) -> None:
    await talk.turn("one", [{"n": 1}])
    turn = await talk.begin("two")
    ended = await talk.end(turn, "stopped", TurnStatus.STOPPED)
    assert ended.status is TurnStatus.STOPPED
    assert ended.ended_at == later(1)
    assert await talk.head() > turn.start
    assert await talk.state() == {"n": 1}
    await talk.undo()
    assert await talk.texts() == ["one", "answer to one"]


async def test_end_turn_may_replace_the_state(talk: Talk) -> None:
    turn = await talk.begin()
    await talk.commit(turn, {"n": 1})
    await talk.store.end_turn(TRIP, turn.turn_no, TurnStatus.DONE, said("x"), later(1), content=encode({"n": 2}))
    assert await talk.state() == {"n": 2}
    assert (await talk.view()).thread.running_turn is None


async def test_end_turn_keeps_checkpoints_of_the_newest_turns_only(talk: Talk) -> None:
    ends = [(await talk.turn(f"t{n}", [{"n": n}]))[-1] for n in range(UNDO_TURNS + 3)]
    kept = [at for at in ends if await talk.store.checkpoint(TRIP, at) is not None]
    assert kept == ends[-UNDO_TURNS - 1 :], "the ends of the newest turns, and where the oldest of them began"
    assert await talk.undo(UNDO_TURNS)
    assert await talk.state() == {"n": 2}
    with pytest.raises(StepGone):
        await talk.move(ends[0])


async def test_record_turn_makes_a_turn_and_continues_it(talk: Talk) -> None:
    rows = [Row(role="user", text="hi", author=ANN), Row(role="assistant", text="hello")]
    turn, first = await talk.store.record_turn(TRIP, new_turn(""), encode({"n": 1}), rows, same_turn=False)
    again, second = await talk.store.record_turn(
        TRIP, new_turn("", at=later(5)), encode({"n": 2}), said("more"), same_turn=True
    )
    assert (turn.turn_no, turn.turn_index, turn.status) == (1, 1, TurnStatus.DONE)
    assert (again.turn_no, again.ended_at) == (1, later(5))
    assert first < second == await talk.head()
    assert await talk.texts() == ["hi", "hello", "more"]
    assert await talk.state() == {"n": 2}
    await talk.undo()
    assert await talk.state() == {}


async def test_record_turn_in_a_turn_that_was_left_makes_a_branch(talk: Talk) -> None:
    _, first = await talk.store.record_turn(TRIP, new_turn(""), encode({"n": 1}), said("1"), same_turn=False)
    await talk.store.record_turn(TRIP, new_turn(""), encode({"n": 2}), said("2"), same_turn=True)
    await talk.move(first, state={"n": 1})
    turn, third = await talk.store.record_turn(TRIP, new_turn(""), encode({"n": 3}), said("3"), same_turn=True)
    assert (turn.turn_no, third.branch) == (1, 1)
    assert await talk.texts() == ["1", "3"]
    assert (await talk.view()).returns == ()


async def test_record_turn_refuses_while_a_turn_runs(talk: Talk) -> None:
    await talk.begin()
    for same_turn in (True, False):
        with pytest.raises(TurnRunning):
            await talk.store.record_turn(TRIP, new_turn("x"), encode({}), [], same_turn=same_turn)


# gates


async def test_open_gates_refuses_everything_else_until_they_are_decided(talk: Talk) -> None:
    turn = await talk.begin()
    await talk.store.open_gates(TRIP, turn.turn_no, [gate("g1"), gate("g2")], encode({"waiting": 1}))
    expected = {"id": "g1", "tool": "send_mail", "expires_at": "2026-01-02T03:14:05.678Z"}
    for attempt in (talk.begin(), talk.move(BEGINNING)):
        with pytest.raises(ApprovalPending) as refused:
            await attempt
        assert [g["id"] for g in refused.value.gates] == ["g1", "g2"]
        assert expected.items() <= refused.value.gates[0].items()
    assert await talk.store.decide_gate(GateId("g1"), GateStatus.APPROVED, ANN, NOW)
    assert await talk.store.decide_gate(GateId("g2"), GateStatus.DENIED, ANN, NOW)
    with pytest.raises(TurnRunning):
        await talk.begin()


async def test_open_gates_keeps_what_the_agent_resumes_from(talk: Talk) -> None:
    turn = await talk.begin()
    await talk.store.open_gates(TRIP, turn.turn_no, [gate("g1")], encode({"waiting": 1}))
    [waiting] = await talk.store.running()
    assert waiting.status is TurnStatus.APPROVAL_PENDING
    assert list(await talk.store.gates(TRIP, turn.turn_no)) == [gate("g1")]
    assert (await talk.view()).gates == (gate("g1"),)
    assert await talk.store.gate_content(TRIP, turn.turn_no) == {"waiting": 1}
    await talk.store.open_gates(TRIP, turn.turn_no, [gate("g2")], encode({"waiting": 2}))
    assert await talk.store.gate_content(TRIP, turn.turn_no) == {"waiting": 2}
    assert [g.id for g in await talk.store.gates(TRIP, turn.turn_no)] == ["g1", "g2"]
    await talk.store.set_turn_status(TRIP, turn.turn_no, TurnStatus.RUNNING)
    assert (await talk.store.running())[0].status is TurnStatus.RUNNING


async def test_decide_gate_works_once(talk: Talk) -> None:
    turn = await talk.begin()
    await talk.store.open_gates(TRIP, turn.turn_no, [gate("g1")], None)
    assert await talk.store.decide_gate(GateId("g1"), GateStatus.APPROVED, ANN, NOW)
    assert not await talk.store.decide_gate(GateId("g1"), GateStatus.DENIED, BOB, NOW)
    assert not await talk.store.decide_gate(GateId("none"), GateStatus.DENIED, BOB, NOW)
    found = await talk.store.find_gate(GateId("g1"))
    assert found is not None
    assert found.status is GateStatus.APPROVED
    assert await talk.store.find_gate(GateId("none")) is None


async def test_end_turn_kills_waiting_gates_and_what_waited(talk: Talk) -> None:
    turn = await talk.begin()
    await talk.store.open_gates(TRIP, turn.turn_no, [gate("g1")], encode({"waiting": 1}))
    await talk.end(turn, "stopped", TurnStatus.STOPPED)
    assert [g.status for g in await talk.store.gates(TRIP, turn.turn_no)] == [GateStatus.DEAD]
    assert not await talk.store.decide_gate(GateId("g1"), GateStatus.APPROVED, ANN, NOW)
    assert await talk.store.gate_content(TRIP, turn.turn_no) is None
    assert (await talk.view()).gates == ()


async def test_set_turn_status_does_not_end_turns(talk: Talk) -> None:
    turn = await talk.begin()
    with pytest.raises(ValueError, match="end_turn"):
        await talk.store.set_turn_status(TRIP, turn.turn_no, TurnStatus.DONE)


# going back


async def test_move_head_sets_aside_what_came_later(talk: Talk) -> None:
    first, _ = await talk.turn("one", [{"n": 1}, {"n": 2}])
    await talk.turn("two")
    moved = await talk.move(first, state={"n": 1})
    assert moved == (await talk.view()).thread
    assert moved.head == first
    assert moved.updated_at == later(60)
    assert await talk.texts() == ["one"]
    rows = await talk.store.transcript(TRIP, everything=True)
    assert [(r.text, aside) for r, aside in rows] == [
        ("one", False),
        ("answer to one", True),
        ("two", True),
        ("answer to two", True),
    ]
    assert await talk.state() == {"n": 1}


async def test_move_head_takes_every_key_from_the_step(talk: Talk) -> None:
    """RS-01: what came later is gone, not merged."""
    then = {"messages": [], "plan": ["a todo"], "routing": {"x": None}, "cost": {"usd": 0.1}}
    first, _ = await talk.turn("one", [then, {**then, "plan": ["a done", "b"], "scratchpad": {"draft": 2}}])
    await talk.move(first, state=then)
    assert await talk.state() == then
    await talk.begin("what is your plan?")
    assert await talk.state() == then


async def test_move_head_writes_one_audit_row(talk: Talk) -> None:
    await talk.turn("one")
    await talk.undo()
    assert list(await talk.store.audit_trail(thread_id=TRIP)) == [entry()]


async def test_move_head_on_an_old_version_changes_nothing(talk: Talk) -> None:
    await talk.turn("one")
    version = (await talk.view()).thread.version
    await talk.turn("two")
    before = await talk.view()
    with pytest.raises(Stale):
        await talk.store.move_head(TRIP, version, Move(to=BEGINNING, returns=(), content=None, audit=entry()))
    assert await talk.view() == before
    assert list(await talk.store.audit_trail()) == []


async def test_move_head_where_nothing_is_kept_changes_nothing(talk: Talk) -> None:
    first, _ = await talk.turn("one", [{"n": 1}, {"n": 2}])
    before = await talk.view()
    with pytest.raises(StepGone):
        await talk.move(first)
    assert await talk.view() == before
    assert list(await talk.store.audit_trail()) == []


async def test_begin_turn_after_going_back_makes_a_branch_and_ends_redo(talk: Talk) -> None:
    [first] = await talk.turn("one")
    await talk.turn("two")
    await talk.undo()
    assert [r.to for r in (await talk.view()).returns] != []
    turn = await talk.begin("other")
    view = await talk.view()
    assert (turn.turn_no, turn.turn_index, turn.base, turn.start.branch) == (3, 2, first, 1)
    assert [(b.branch, b.left) for b in view.branches] == [(0, None), (1, first)]
    assert view.returns == ()
    await talk.end(turn, "x")
    assert await talk.texts() == ["one", "answer to one", "other", "x"]


async def test_begin_turn_where_the_branch_ends_stays_on_it(talk: Talk) -> None:
    await talk.turn("one")
    await talk.turn("two")
    await talk.undo()
    await talk.redo()
    assert (await talk.begin()).start.branch == 0


async def test_redo_brings_everything_back(talk: Talk) -> None:
    await talk.turn("one", [{"n": 1}])
    await talk.turn("two", [{"n": 2}])
    before = await talk.texts()
    await talk.undo()
    await talk.undo()
    assert await talk.state() == {}
    assert await talk.head() == BEGINNING
    await talk.redo()
    assert await talk.state() == {"n": 1}
    await talk.redo()
    assert await talk.texts() == before
    assert await talk.state() == {"n": 2}
    assert (await talk.view()).returns == ()


async def test_move_head_that_discards_deletes_what_is_off_the_path(talk: Talk) -> None:
    first, _ = await talk.turn("one", [{"n": 1}, {"n": 2}])
    turn = await talk.begin("two")
    await talk.store.add_fact(TRIP, FactId("f"), "likes tea", NOW)
    await talk.store.commit_step(
        TRIP, turn.turn_no, encode({"n": 3}), effects=[Effect(tool="t", args={}, turn_index=2, number=1, at=BEGINNING)]
    )
    await talk.end(turn)
    end = await talk.head()
    await talk.move(first, state={"n": 1}, discard=True)
    rows = await talk.store.transcript(TRIP, everything=True)
    assert [r.text for r, _ in rows] == ["one"]
    assert [t.turn_no for t in (await talk.view()).turns] == [1]
    assert list(await talk.store.effects(TRIP)) == []
    assert await talk.store.checkpoint(TRIP, end) is None
    [duty] = await talk.store.follow_ups()
    assert (duty.kind, duty.thread_id, duty.args) == (
        "discard",
        TRIP,
        {"to": [first.branch, first.pos], "before": end.pos + 1},
    )
    turn = await talk.begin("again")
    assert (turn.turn_no, turn.start) == (3, Position(1, end.pos + 1)), "numbers never go back"


# facts


async def test_fact_is_known_at_once_and_belongs_to_the_step_being_made(talk: Talk) -> None:
    """RS-12: what an undone turn taught is gone, and comes back with it."""
    turn = await talk.begin("remember tea")
    before = await talk.commit(turn, {"n": 1})
    fact = await talk.store.add_fact(TRIP, FactId("f"), "likes \udfff tea", NOW)
    assert (fact.text, fact.turn_no, fact.turn_index, fact.created_at) == ("likes \ufffd tea", 1, 1, NOW)
    assert list(await talk.store.facts(TRIP)) == [fact]
    await talk.commit(turn, {"n": 2})
    await talk.end(turn)
    assert list(await talk.store.facts(TRIP)) == [fact]
    await talk.move(before, state={"n": 1})
    assert list(await talk.store.facts(TRIP)) == []
    await talk.redo()
    assert list(await talk.store.facts(TRIP)) == [fact]
    await talk.undo()
    assert list(await talk.store.facts(TRIP)) == []


async def test_fact_of_a_step_that_was_never_finished_is_set_aside(talk: Talk) -> None:
    turn = await talk.begin()
    await talk.commit(turn, {"n": 1})
    await talk.store.add_fact(TRIP, FactId("f"), "tea", NOW)
    await talk.end(turn, "stopped", TurnStatus.STOPPED)
    assert list(await talk.store.facts(TRIP)) == []
    await talk.turn("next")
    assert list(await talk.store.facts(TRIP)) == []
    assert await talk.texts() == ["hello", "stopped", "next", "answer to next"]


async def test_fact_after_the_turn_ended_is_stale(talk: Talk) -> None:
    """RS-12: nothing is written late."""
    await talk.turn("one")
    with pytest.raises(Stale):
        await talk.store.add_fact(TRIP, FactId("f"), "late", NOW)


# forks


async def test_fork_thread_takes_transcript_facts_and_state_along(talk: Talk) -> None:
    turn = await talk.begin("one")
    fact = await talk.store.add_fact(TRIP, FactId("f"), "tea", NOW)
    at = await talk.commit(turn, {"n": 1})
    await talk.end(turn, "ok")
    await talk.turn("two")
    before = await talk.view()
    fork = await talk.fork(at, state={"n": "forked"})
    thread = (await fork.view()).thread
    assert (thread.head, thread.root, thread.root_turn_index) == (at, at, 1)
    assert (thread.title, thread.owner, thread.group, thread.surface) == ("⑂ Trip", BOB, False, Surface.API)
    assert thread.forked_from == ForkedFrom(thread_id=TRIP, snapshot_id=StepId("a" * 32))
    assert thread.spent == Spent()
    assert await fork.texts() == ["one", "ok"]
    assert await fork.state() == {"n": "forked"}
    assert list(await talk.store.facts(FORK)) == [replace(fact, thread_id=FORK)]
    assert list(await talk.store.effects(FORK)) == []
    assert (await fork.view()).turns == ()
    assert await talk.view() == before, "the original is not touched"
    assert [(f.kind, f.thread_id, f.args) for f in await talk.store.follow_ups()] == [("root", FORK, {"id": "b" * 32})]
    assert list(await talk.store.audit_trail()) == [entry(Action.FORK)]


async def test_fork_continues_with_the_next_turn_on_branch_0(talk: Talk) -> None:
    [at] = await talk.turn("one")
    fork = await talk.fork(at)
    turn = await fork.begin("mine")
    assert (turn.turn_no, turn.turn_index, turn.start, turn.base) == (2, 2, Position(0, at.pos + 1), at)
    await fork.end(turn)
    rows = await talk.store.transcript(FORK)
    assert len({r.id for r, _ in rows}) == 4
    await fork.undo()
    assert await fork.state() == {"forked": True}


async def test_fork_of_a_branch_lies_on_branch_0(talk: Talk) -> None:
    await talk.turn("one")
    await talk.turn("two")
    await talk.undo()
    first, _ = await talk.turn("three", [{"n": 3}, {"n": 4}])
    assert first.branch == 1
    fork = await talk.fork(first)
    assert await fork.texts() == ["one", "answer to one", "three"]
    assert await fork.head() == Position(0, first.pos)


async def test_fork_of_a_running_thread_works(talk: Talk) -> None:
    turn = await talk.begin("one")
    at = await talk.commit(turn, {"n": 1})
    fork = await talk.fork(at)
    await talk.commit(turn, {"n": 2})
    await talk.end(turn)
    assert await fork.texts() == ["one"]
    await fork.turn("on")


async def test_fork_of_what_is_gone_refuses(talk: Talk) -> None:
    await talk.store.delete_thread(TRIP, entry(Action.DELETE))
    with pytest.raises(NotFound):
        await talk.fork(BEGINNING)


async def test_recent_fork_is_found_by_owner_step_and_time(talk: Talk) -> None:
    [at] = await talk.turn("one")
    fork = await talk.fork(at)
    thread = (await fork.view()).thread
    assert thread.forked_from is not None
    assert await talk.store.recent_fork(BOB, thread.forked_from, NOW) == thread
    assert await talk.store.recent_fork(ANN, thread.forked_from, NOW) is None
    assert await talk.store.recent_fork(BOB, thread.forked_from, later(1)) is None
    other = replace(thread.forked_from, snapshot_id=StepId("c" * 32))
    assert await talk.store.recent_fork(BOB, other, NOW) is None


async def test_checkpoint_bundle_is_copied_into_a_fork_undecoded(talk: Talk) -> None:
    state = {"messages": [{"role": "user", "content": "x" * 50_000}], "n": 1}
    [at] = await talk.turn("one", [state])
    bundle = await talk.store.checkpoint_bundle(TRIP, at)
    assert bundle is not None
    await talk.store.fork_thread(replace(fork_of(TRIP, at), content=bundle))
    assert await talk.store.checkpoint(FORK, at) == state
    assert await talk.store.checkpoint_bundle(TRIP, Position(0, 999)) is None
