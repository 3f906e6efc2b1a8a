"""Going back, forward and aside, over real stores and a real (small) agent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from support.world import ANN, BOB, Clock, Ids, Rules

from turnback.core.errors import (
    AmbiguousStep,
    InvalidRequest,
    NotFound,
    NothingToRedo,
    NothingToUndo,
    SnapshotTruncated,
    StepGone,
    StoreUnavailable,
)
from turnback.core.models import Action, Outcome, Position, Spent, State, Thread, ThreadId
from turnback.core.policy import Budgets, TimeTravel
from turnback.core.recording import Report
from turnback.core.service import Turnback
from turnback.core.state.codec import encode
from turnback.core.steps.store import Usage
from turnback.core.threads.store import NewTurn

Say = Callable[[str], Awaitable[str]]


async def ids(service: Turnback, thread: Thread, **kw: bool) -> list[str]:
    return [v.step.id for v in (await service.rewind.list_steps(ANN, thread.id, **kw)).steps]


async def words(service: Turnback, thread: Thread) -> list[str]:
    return [row.text for row, _ in await service.rewind.transcript(ANN, thread.id)]


async def state(service: Turnback, thread: Thread) -> dict[str, object]:
    now = await service.rewind.thread(ANN, thread.id)
    kept = await service.threads.checkpoint(thread.id, now.head)
    assert kept is not None
    return kept


async def test_restore_brings_back_every_key_and_drops_later_ones(service: Turnback, thread: Thread, say: Say) -> None:
    await say("set plan a")
    before = await state(service, thread)
    (first,) = await ids(service, thread)
    await say("set plan b")
    await say("set draft 2")

    told = await service.rewind.restore(ANN, thread.id, first[:8])

    assert await state(service, thread) == before
    assert (told.turn_index, told.turns_set_aside, told.turns_brought_back) == (1, 2, 0)
    assert await words(service, thread) == ["set plan a", "said set plan a"]


async def test_next_message_continues_from_the_restored_step_on_a_new_branch(
    service: Turnback, thread: Thread, say: Say
) -> None:
    await say("one")
    await say("two")
    first = (await ids(service, thread))[0]
    await service.rewind.restore(ANN, thread.id, first)

    await say("other two")

    listing = await service.rewind.list_steps(ANN, thread.id)
    assert [(t.turn.turn_index, t.turn.summary) for t in listing.turns] == [(1, "one"), (2, "other two")]
    assert [v.step.at.branch for v in listing.steps] == [0, 1]
    assert listing.steps[1].parent == first
    assert listing.steps[0].has_branches
    assert listing.aside == 1


async def test_restore_in_the_middle_of_a_turn_does_not_count_that_turn(
    service: Turnback, thread: Thread, say: Say
) -> None:
    await say("steps 3")
    await say("two")
    second = (await ids(service, thread))[1]

    told = await service.rewind.restore(ANN, thread.id, second)

    assert (told.turn_index, told.turns_set_aside) == (1, 1)
    assert await words(service, thread) == ["steps 3"]
    assert told.head is not None
    assert told.head.step.number == 2


async def test_restore_where_the_thread_stands_changes_nothing(service: Turnback, thread: Thread, say: Say) -> None:
    await say("one")
    (first,) = await ids(service, thread)
    before = await service.rewind.thread(ANN, thread.id)

    told = await service.rewind.restore(ANN, thread.id, first)

    assert told.unchanged
    assert await service.rewind.thread(ANN, thread.id) == before


async def test_redo_reverses_one_at_a_time_and_ends_with_a_new_message(
    service: Turnback, thread: Thread, say: Say
) -> None:
    for text in ("one", "two", "three"):
        await say(text)
    whole = await state(service, thread)
    await service.rewind.undo(ANN, thread.id)
    await service.rewind.undo(ANN, thread.id)
    await service.rewind.redo(ANN, thread.id)
    told = await service.rewind.redo(ANN, thread.id)

    assert told.turns_brought_back == 1
    assert await state(service, thread) == whole
    await service.rewind.undo(ANN, thread.id)
    await say("other three")
    with pytest.raises(NothingToRedo):
        await service.rewind.redo(ANN, thread.id)


async def test_redo_of_several_is_one_move(service: Turnback, thread: Thread, say: Say) -> None:
    for text in ("one", "two", "three"):
        await say(text)
    whole = await state(service, thread)
    await service.rewind.reset(ANN, thread.id)
    await service.rewind.redo(ANN, thread.id)
    await service.rewind.undo(ANN, thread.id)
    await service.rewind.undo(ANN, thread.id)
    await service.rewind.undo(ANN, thread.id)

    two = await service.rewind.redo(ANN, thread.id, 2)
    assert (two.turns_brought_back, two.turn_index) == (2, 2)
    rest = await service.rewind.redo(ANN, thread.id, 5)
    assert (rest.turns_brought_back, rest.turn_index) == (1, 3)
    assert await state(service, thread) == whole
    with pytest.raises(NothingToRedo):
        await service.rewind.redo(ANN, thread.id)
    trail = await service.rewind.audit_trail(replace(ANN, admin=True), thread.id)
    assert [entry.outcome for entry in trail if entry.action is Action.REDO] == ["refused", "done", "done", "done"]


async def test_redo_of_none_is_refused(service: Turnback, thread: Thread, say: Say) -> None:
    await say("one")
    await service.rewind.undo(ANN, thread.id)
    with pytest.raises(InvalidRequest):
        await service.rewind.redo(ANN, thread.id, 0)


async def test_redo_of_moves_that_cancel_each_other_ends_where_it_began(
    service: Turnback, thread: Thread, say: Say
) -> None:
    await say("one")
    await say("two")
    newest = (await ids(service, thread))[-1]
    await service.rewind.undo(ANN, thread.id)
    await service.rewind.restore(ANN, thread.id, newest)

    told = await service.rewind.redo(ANN, thread.id, 2)

    assert (told.turn_index, told.turns_set_aside, told.turns_brought_back) == (2, 0, 0)
    assert await words(service, thread) == ["one", "said one", "two", "said two"]
    with pytest.raises(NothingToRedo):
        await service.rewind.redo(ANN, thread.id)


async def test_bring_back_pressed_again_changes_nothing(service: Turnback, thread: Thread, say: Say) -> None:
    await say("one")
    await say("two")
    first = (await ids(service, thread))[0]
    told = await service.rewind.restore(ANN, thread.id, first)
    assert told.bring_back is not None

    await service.rewind.redo(ANN, thread.id, only=told.bring_back)
    stands = await service.rewind.thread(ANN, thread.id)
    with pytest.raises(NothingToRedo):
        await service.rewind.redo(ANN, thread.id, only=told.bring_back)

    assert (await service.rewind.thread(ANN, thread.id)).head == stands.head


async def test_undo_past_the_beginning_says_how_many(service: Turnback, thread: Thread, say: Say) -> None:
    await say("one")
    await say("two")

    told = await service.rewind.undo(ANN, thread.id, 5)

    assert (told.undone, told.turn_index, told.head) == (2, 0, None)
    assert await state(service, thread) == {}
    with pytest.raises(NothingToUndo):
        await service.rewind.undo(ANN, thread.id)


async def test_undo_needs_no_steps(service: Turnback, thread: Thread, say: Say, rules: Rules) -> None:
    rules.value = TimeTravel(enabled=False)
    await say("set plan a")
    before = await state(service, thread)
    await say("set plan b")

    await service.rewind.undo(ANN, thread.id)

    assert await state(service, thread) == before
    assert await ids(service, thread) == []


async def test_undo_of_a_restored_middle_goes_before_that_turn(service: Turnback, thread: Thread, say: Say) -> None:
    await say("one")
    await say("steps 2")
    middle = (await ids(service, thread))[1]
    await service.rewind.restore(ANN, thread.id, middle)
    await say("three")

    await service.rewind.undo(ANN, thread.id)
    assert await words(service, thread) == ["one", "said one", "steps 2"]
    await service.rewind.undo(ANN, thread.id)
    assert await words(service, thread) == ["one", "said one"]


async def test_undo_beyond_the_kept_checkpoints_is_refused(service: Turnback, thread: Thread, say: Say) -> None:
    for number in range(52):
        await say(f"turn {number}")
    with pytest.raises(StepGone):
        await service.rewind.undo(ANN, thread.id, 51)

    told = await service.rewind.undo(ANN, thread.id, 50)

    assert told.turn_index == 2


async def test_reset_keeps_the_steps(service: Turnback, thread: Thread, say: Say) -> None:
    await say("one")
    saved = await ids(service, thread)

    told = await service.rewind.reset(ANN, thread.id)

    assert (told.head, told.turn_index, told.turns_set_aside) == (None, 0, 1)
    assert await ids(service, thread, everything=True) == saved
    await service.rewind.redo(ANN, thread.id)
    assert await words(service, thread) == ["one", "said one"]


async def test_effects_are_those_of_turns_that_were_left_newest_first(
    service: Turnback, thread: Thread, say: Say
) -> None:
    await say("one")
    (first,) = await ids(service, thread)
    await say("act ann")
    await say("steps 1")
    await say("act bob")

    told = await service.rewind.restore(ANN, thread.id, first)

    assert [(e.tool, e.args) for e in told.effects] == [("send_mail", {"to": "bob"}), ("send_mail", {"to": "ann"})]
    assert told.effects_total == 2
    assert [(e.turn_index, e.number) for e in told.effects] == [(4, 1), (2, 1)]


async def test_preview_tells_the_same_and_does_nothing(service: Turnback, thread: Thread, say: Say) -> None:
    await say("one")
    (first,) = await ids(service, thread)
    await say("act ann")
    before = await service.rewind.thread(ANN, thread.id)

    preview = await service.rewind.preview(ANN, thread.id, first)
    after = await service.rewind.thread(ANN, thread.id)
    told = await service.rewind.restore(ANN, thread.id, first)

    assert after == before
    assert preview.refusal is None
    assert replace(told, bring_back=None) == preview.rewound


async def test_discard_deletes_what_was_left(service: Turnback, thread: Thread, say: Say, rules: Rules) -> None:
    rules.value = TimeTravel(on_restore="discard")
    await say("one")
    await say("two")
    first, second = await ids(service, thread)

    told = await service.rewind.restore(ANN, thread.id, first)

    assert told.bring_back is None
    assert await ids(service, thread, everything=True) == [first]
    every = await service.rewind.transcript(ANN, thread.id, everything=True)
    assert [row.text for row, _ in every] == ["one", "said one"]
    with pytest.raises(NothingToRedo):
        await service.rewind.redo(ANN, thread.id)
    with pytest.raises(NotFound):
        await service.rewind.restore(ANN, thread.id, second)


async def test_fork_is_the_askers_own_and_continues_from_the_step(service: Turnback, thread: Thread, say: Say) -> None:
    await say("set plan a")
    first = (await ids(service, thread))[0]
    kept = await state(service, thread)
    await say("set plan b")

    fork = await service.rewind.fork(ANN, thread.id, first)

    assert fork.thread.title == "⑂ Trip"
    assert await state(service, fork.thread) == kept
    assert await words(service, fork.thread) == ["set plan a", "said set plan a"]
    assert fork.root is not None
    assert (fork.root.step.turn_index, fork.root.head) == (1, True)
    assert len(await ids(service, fork.thread)) == 1
    with pytest.raises(NothingToUndo):
        await service.rewind.undo(ANN, fork.thread.id)
    await service.turns.ask(ANN, fork.thread.id, "two")
    listing = await service.rewind.list_steps(ANN, fork.thread.id)
    assert [v.step.turn_index for v in listing.steps] == [1, 2]
    again = await service.rewind.fork(ANN, fork.thread.id)
    assert again.thread.title == "⑂ Trip"


async def test_fork_within_a_minute_is_the_same_fork(service: Turnback, thread: Thread, say: Say, clock: Clock) -> None:
    await say("one")
    first = await service.rewind.fork(ANN, thread.id)
    again = await service.rewind.fork(ANN, thread.id)
    clock.advance(seconds=61)
    later = await service.rewind.fork(ANN, thread.id)

    assert again.again
    assert again.thread.id == first.thread.id
    assert later.thread.id != first.thread.id


async def test_fork_outlives_its_original(service: Turnback, thread: Thread, say: Say) -> None:
    await say("one")
    fork = await service.rewind.fork(ANN, thread.id)

    await service.rewind.delete(ANN, thread.id)

    assert await words(service, fork.thread) == ["one", "said one"]
    root = (await service.rewind.list_steps(ANN, fork.thread.id)).steps[0]
    assert (await service.rewind.show(ANN, fork.thread.id, root.step.id)).messages[0]["text"] == "one"


async def test_fork_without_steps_is_refused(service: Turnback, thread: Thread) -> None:
    with pytest.raises(NotFound):
        await service.rewind.fork(ANN, thread.id)
    assert len(await service.rewind.threads(ANN)) == 1


async def test_a_foreign_thread_is_refused_like_one_that_is_not_there(
    service: Turnback, thread: Thread, say: Say
) -> None:
    await say("one")
    (first,) = await ids(service, thread)
    for attempt in (
        lambda t: service.rewind.list_steps(BOB, t),
        lambda t: service.rewind.show(BOB, t, first),
        lambda t: service.rewind.restore(BOB, t, first),
        lambda t: service.rewind.fork(BOB, t, first),
        lambda t: service.rewind.clear(BOB, t),
        lambda t: service.rewind.delete(BOB, t),
        lambda t: service.rewind.compare(BOB, t, first),
    ):
        with pytest.raises(NotFound) as foreign:
            await attempt(thread.id)
        with pytest.raises(NotFound) as missing:
            await attempt("0" * 32)
        assert foreign.value.detail == missing.value.detail
    assert await ids(service, thread) == [first]


async def test_clear_deletes_the_steps_and_keeps_the_conversation(service: Turnback, thread: Thread, say: Say) -> None:
    await say("one")
    await say("steps 2")

    assert await service.rewind.clear(ANN, thread.id) == 4

    assert await ids(service, thread, everything=True) == []
    assert len(await words(service, thread)) == 4
    await service.rewind.undo(ANN, thread.id)
    assert await words(service, thread) == ["one", "said one"]
    await say("after")
    assert len(await ids(service, thread)) == 1


async def test_a_step_is_named_by_four_characters_in_any_case_or_a_label(
    service: Turnback, thread: Thread, say: Say
) -> None:
    await say("one")
    (first,) = await ids(service, thread)
    await service.rewind.label(ANN, thread.id, first, "Good")

    for ref in (first, first[:4].upper(), "@good", "@GOOD"):
        assert (await service.rewind.resolve(ANN, thread.id, ref)).step.id == first
    for ref in ("", first[:3], "%", "0"):
        with pytest.raises(InvalidRequest):
            await service.rewind.resolve(ANN, thread.id, ref)
    for ref in ("_" + first[1:8], first[:4] + "%", "@bad", "zzzz"):
        with pytest.raises(NotFound):
            await service.rewind.resolve(ANN, thread.id, ref)


async def test_an_ambiguous_name_lists_the_candidates(
    service: Turnback, thread: Thread, say: Say, new_ids: Ids
) -> None:
    await say("one")
    new_ids.prefix = "3fa9c1d2"
    await say("steps 1")
    with pytest.raises(AmbiguousStep) as refused:
        await service.rewind.restore(ANN, thread.id, "3FA9C1D2")
    assert [c["number"] for c in refused.value.candidates] == [1, 2]
    exact = refused.value.candidates[1]["id"]
    assert (await service.rewind.resolve(ANN, thread.id, exact)).step.id == exact


async def test_a_truncated_step_can_be_read_but_not_restored(
    service: Turnback, thread: Thread, say: Say, rules: Rules
) -> None:
    rules.value = TimeTravel(budgets=Budgets(max_snapshot_bytes=2000))
    await say("one")
    await say("set big " + "x" * 5000)
    truncated = (await ids(service, thread))[-1]
    detail = await service.rewind.show(ANN, thread.id, truncated)
    assert detail.view.step.truncated
    for attempt in (service.rewind.restore, service.rewind.fork):
        with pytest.raises(SnapshotTruncated):
            await attempt(ANN, thread.id, truncated)
    assert (await state(service, thread))["big"] == "x" * 5000


async def test_compare_with_now_and_with_itself(service: Turnback, thread: Thread, say: Say) -> None:
    await say("one")
    (first,) = await ids(service, thread)
    await say("set plan b")

    told = await service.rewind.compare(ANN, thread.id, first)
    same = await service.rewind.compare(ANN, thread.id, first, first)

    assert told["common_messages"] == 2
    assert [m["text"] for m in told["only_b"]] == ["set plan b", "said set plan b"]
    assert told["changes"] == [{"op": "add", "path": "/plan", "value": "b"}]
    assert same["identical"]
    assert not told["identical"]


async def test_forget_deletes_the_steps_from_the_turn_that_learned_it(
    service: Turnback, thread: Thread, say: Say
) -> None:
    await say("one")
    (first,) = await ids(service, thread)
    await say("remember call me Captain")
    await say("three")
    (fact,) = await service.rewind.facts(ANN, thread.id)

    await service.rewind.forget(ANN, thread.id, fact.id)

    assert await service.rewind.facts(ANN, thread.id) == []
    assert await ids(service, thread, everything=True) == [first]


async def test_facts_go_and_come_back_with_their_turn(service: Turnback, thread: Thread, say: Say) -> None:
    await say("remember a")
    await say("remember b")
    await service.rewind.undo(ANN, thread.id)
    assert [f.text for f in await service.rewind.facts(ANN, thread.id)] == ["a"]
    await service.rewind.redo(ANN, thread.id)
    assert [f.text for f in await service.rewind.facts(ANN, thread.id)] == ["a", "b"]


async def test_record_continues_the_thread_and_refuses_to_go_below(service: Turnback, thread: Thread) -> None:
    def told(*texts: str) -> dict[str, object]:
        roles = ("user", "assistant")
        return {"messages": [{"role": roles[i % 2], "content": text} for i, text in enumerate(texts)]}

    rewind = service.rewind
    one = await rewind.record(ANN, thread.id, Report(turn_index=1, iteration=0, state=told("hi", "hello")))
    again = await rewind.record(ANN, thread.id, Report(turn_index=1, iteration=0, state=told("hi", "hello")), key="k")
    repeated = await rewind.record(ANN, thread.id, Report(turn_index=1, iteration=0, state=told("x")), key="k")
    skipped = await rewind.record(
        ANN, thread.id, Report(turn_index=4, iteration=0, state=told("hi", "hello", "more", "yes"))
    )

    assert again.id not in (None, one.id)
    assert repeated == again
    assert await ids(service, thread) == [one.id, again.id, skipped.id]
    assert await words(service, thread) == ["hi", "hello", "more", "yes"]
    with pytest.raises(InvalidRequest):
        await rewind.record(ANN, thread.id, Report(turn_index=3, iteration=0, state=told("hi")))
    told_back = await rewind.undo(ANN, thread.id)
    assert told_back.turn_index == 1


async def test_recorded_state_reads_back_whole_and_a_restore_of_it_is_scrubbed(
    service: Turnback, thread: Thread
) -> None:
    told: dict[str, object] = {"messages": [{"role": "user", "content": "hi"}], "chat_id": 5, "deep": {"user_id": 1}}
    step = await service.rewind.record(ANN, thread.id, Report(turn_index=1, iteration=0, state=told))
    await service.rewind.record(ANN, thread.id, Report(turn_index=2, iteration=0, state={"messages": []}))
    assert step.id is not None

    shown = await service.rewind.show(ANN, thread.id, step.id)
    await service.rewind.restore(ANN, thread.id, step.id)

    assert shown.state == told
    assert await state(service, thread) == {"messages": told["messages"], "deep": {}}


async def test_what_was_done_and_refused_is_audited(service: Turnback, thread: Thread, say: Say) -> None:
    await say("one")
    await say("two")
    first, second = await ids(service, thread)
    await service.rewind.restore(ANN, thread.id, first)
    with pytest.raises(NotFound):
        await service.rewind.restore(BOB, thread.id, first)

    refused, done = (await service.threads.audit_trail(thread_id=thread.id))[:2]

    assert (done.action, done.outcome, done.snapshot_id, done.head_before) == (
        Action.RESTORE,
        Outcome.DONE,
        first,
        second,
    )
    assert (refused.outcome, refused.code, refused.account) == (Outcome.REFUSED, "not_found", BOB.account)


async def test_what_was_set_aside_goes_with_its_last_step(
    service: Turnback, thread: Thread, say: Say, rules: Rules
) -> None:
    rules.value = TimeTravel(budgets=Budgets(max_snapshots=3))
    await say("one")
    await say("left behind")
    await service.rewind.undo(ANN, thread.id)
    await say("two")
    everything = [row.text for row, _ in await service.rewind.transcript(ANN, thread.id, everything=True)]
    assert "left behind" in everything

    for text in ("three", "four", "five"):
        await say(text)

    everything = [row.text for row, _ in await service.rewind.transcript(ANN, thread.id, everything=True)]
    assert "left behind" not in everything
    assert "one" in everything


def talked(number: int, tool: str | None = None) -> list[dict[str, object]]:
    """The messages of one turn of an agent elsewhere."""
    call = {"id": f"c{number}", "type": "function", "function": {"name": tool, "arguments": '{"to": "x"}'}}
    tools: list[dict[str, object]] = [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": "ok"},
    ]
    answer: dict[str, object] = {"role": "assistant", "content": f"a{number}"}
    return [{"role": "user", "content": f"q{number}"}, *(tools if tool else ()), answer]


async def test_tool_calls_of_recorded_steps_are_listed_as_staying(service: Turnback, thread: Thread) -> None:
    one, two = talked(1), talked(2, "send_mail")
    first = await service.rewind.record(ANN, thread.id, Report(turn_index=1, iteration=0, state={"messages": one}))
    await service.rewind.record(ANN, thread.id, Report(turn_index=2, iteration=3, state={"messages": one + two}))
    assert first.id is not None

    told = await service.rewind.restore(ANN, thread.id, first.id)

    assert [(e.tool, e.args, e.turn_index, e.number) for e in told.effects] == [("send_mail", {"to": "x"}, 2, 4)]


async def test_what_recorded_steps_cost_stays_spent(service: Turnback, thread: Thread) -> None:
    for iteration, tokens in enumerate((10, 25)):
        state = {"messages": talked(1), "cost": {"tokens": tokens, "usd": tokens / 100}}
        await service.rewind.record(ANN, thread.id, Report(turn_index=1, iteration=iteration, state=state))
    await service.rewind.undo(ANN, thread.id)
    assert (await service.rewind.thread(ANN, thread.id)).spent == Spent(tokens=25, usd=0.25)


async def test_compare_with_now_sees_a_head_that_moved_meanwhile(
    service: Turnback, thread: Thread, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    await say("one")
    (first,) = await ids(service, thread)
    new = NewTurn(text="two", summary="two", actor=ANN.account, at=thread.created_at)
    turn = await service.threads.begin_turn(thread.id, new)
    await service.threads.commit_step(thread.id, turn.turn_no, encode({"n": 1}))
    checkpoint = service.threads.checkpoint

    async def moved_first(thread_id: ThreadId, at: Position) -> State | None:
        monkeypatch.undo()
        await service.threads.commit_step(thread.id, turn.turn_no, encode({"n": 2}))
        return await checkpoint(thread_id, at)

    monkeypatch.setattr(service.threads, "checkpoint", moved_first)
    result = await service.rewind.compare(ANN, thread.id, first)
    assert {"op": "add", "path": "/n", "value": 2} in result["changes"]


async def test_delete_refused_by_the_step_store_stops_no_turn(
    service: Turnback, thread: Thread, monkeypatch: pytest.MonkeyPatch
) -> None:
    halted: list[str] = []

    async def out_of_order() -> Usage:
        raise StoreUnavailable

    async def halt(thread_id: ThreadId) -> None:
        halted.append(thread_id)

    monkeypatch.setattr(service.steps, "totals", out_of_order)
    monkeypatch.setattr(service.turns, "halt", halt)
    with pytest.raises(StoreUnavailable):
        await service.rewind.delete(ANN, thread.id)
    assert halted == []


async def test_memory_off_refused_by_the_step_store_leaves_it_on(
    service: Turnback, thread: Thread, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def out_of_order() -> Usage:
        raise StoreUnavailable

    monkeypatch.setattr(service.steps, "totals", out_of_order)
    with pytest.raises(StoreUnavailable):
        await service.rewind.set_memory(ANN, thread.id, False)
    assert (await service.rewind.thread(ANN, thread.id)).memory


async def test_a_listing_names_the_move_that_a_redo_would_reverse(service: Turnback, thread: Thread, say: Say) -> None:
    await say("one")
    await say("two")
    before = (await service.rewind.thread(ANN, thread.id)).head
    told = await service.rewind.undo(ANN, thread.id)

    back = (await service.rewind.list_steps(ANN, thread.id)).back

    assert back is not None
    assert (back.id, back.to) == (told.bring_back, before)
    await say("three")
    assert (await service.rewind.list_steps(ANN, thread.id)).back is None
