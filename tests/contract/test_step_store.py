"""What every step store does, whatever it stands on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from support.steps import MANY, OTHER, START, draft, ids, new_id, noise, save, state
from support.steps import THREAD as T

from turnback.core.errors import TooManyLabels
from turnback.core.models import Position, Step, StepId, StepKind, ThreadId
from turnback.core.packs import load
from turnback.core.policy import MAX_LABELS, Budgets, surplus_of_turn
from turnback.core.state import codec
from turnback.core.state.prepare import prepare
from turnback.core.steps.store import StepStore

# saving and reading


async def test_capture_reads_back_equal(store: StepStore) -> None:
    content = state(3, scratchpad="x" * 50_000, nothing=None, deep={"a": [1, 2.5, True]}, ümlaut="⑂")
    step = await save(store, content)
    assert await store.state(T, step.id) == content


async def test_capture_keeps_every_field_of_the_draft(store: StepStore) -> None:
    wanted = draft(
        model="gpt-x",
        kind=StepKind.RESCUE,
        summary="What is ⑂?",
        tools=("read", "read", "write"),
        message_count=7,
        workspace="tree1",
        turn_index=4,
        turn_no=9,
        iteration=2,
        at=Position(3, 44),
    )
    await store.capture(wanted, codec.encode(state()), MANY)
    [step] = await store.rows(T)
    for name in ("id", "thread_id", "at", "turn_index", "turn_no", "iteration", "created_at", "model", "kind"):
        assert getattr(step, name) == getattr(wanted, name)
    for name in ("summary", "tools", "message_count", "workspace"):
        assert getattr(step, name) == getattr(wanted, name)
    assert step.bytes == codec.encode(state()).bytes
    assert step.stored_bytes > 0
    assert not step.truncated
    assert step.label is None


async def test_capture_of_a_cut_state_is_marked(store: StepStore) -> None:
    encoded = prepare(state(1, scratchpad="y" * 100_000), 10_000)
    step = await store.capture(draft(), encoded, MANY)
    assert step is not None
    assert step.truncated


async def test_capture_answers_what_rows_answers(store: StepStore) -> None:
    step = await save(store, tools=("a",), summary="s")
    assert await store.rows(T) == [step]


async def test_rows_are_in_the_order_of_saving_whatever_the_clock(store: StepStore) -> None:
    saved = [await save(store, created_at=START - timedelta(days=n), iteration=9 - n, turn_no=1) for n in range(5)]
    assert [step.id for step in await store.rows(T)] == [step.id for step in saved]
    assert [step.seq for step in saved] == sorted(step.seq for step in saved)


async def test_newest_rows_are_the_last_saved(store: StepStore) -> None:
    saved = [await save(store) for _ in range(5)]
    assert [step.id for step in await store.rows(T, 2)] == [saved[3].id, saved[4].id]


async def test_threads_do_not_see_each_other(store: StepStore) -> None:
    mine, theirs = await save(store), await save(store, thread_id=OTHER)
    assert await ids(store) == [mine.id]
    assert await store.state(T, theirs.id) is None
    assert not await store.match(T, theirs.id)


async def test_nothing_is_known_of_an_unknown_thread(store: StepStore) -> None:
    thread = ThreadId("never")
    assert not await store.rows(thread)
    assert await store.state(thread, new_id()) is None
    assert await store.bundle(thread, new_id()) is None
    assert await store.labelled(thread, "x") is None
    assert await store.usage([thread]) == {}
    assert await store.clear(thread, 5) == 0


async def test_everything_survives_a_restart(reopen_steps: Callable[[], Awaitable[StepStore]]) -> None:
    store = await reopen_steps()
    saved = [await save(store, state(n, scratchpad="word " * n * 500)) for n in range(1, 40)]
    store = await reopen_steps()
    assert [step.id for step in saved] == await ids(store)
    for n, step in enumerate(saved, 1):
        assert await store.state(T, step.id) == state(n, scratchpad="word " * n * 500)
    again = await save(store, state(41, scratchpad="word " * 20_500))
    assert await store.state(T, again.id) == state(41, scratchpad="word " * 20_500)


async def test_parallel_captures_are_all_saved_in_full(store: StepStore) -> None:
    threads = [ThreadId(f"thread {n}") for n in range(8)]

    async def run(thread: ThreadId) -> None:
        for n in range(1, 25):
            await save(store, state(n, who=thread), thread_id=thread)

    await asyncio.gather(*(run(thread) for thread in threads))
    for thread in threads:
        rows = await store.rows(thread)
        assert [await store.state(thread, row.id) for row in rows] == [state(n, who=thread) for n in range(1, 25)]


async def test_parallel_captures_of_one_thread_are_all_saved(store: StepStore) -> None:
    contents = [state(n, n=n) for n in range(1, 31)]
    steps = await asyncio.gather(*(save(store, content) for content in contents))
    assert [await store.state(T, step.id) for step in steps] == contents


async def test_a_capture_that_fails_among_others_fails_alone(store: StepStore) -> None:
    first = await save(store)
    results = await asyncio.gather(
        save(store, thread_id=OTHER), save(store, epoch=2**70), save(store, thread_id=OTHER), return_exceptions=True
    )
    assert [isinstance(result, Exception) for result in results] == [False, True, False]
    assert len(await store.rows(OTHER)) == 2
    assert await ids(store) == [first.id]


async def test_a_cancelled_capture_harms_no_other(store: StepStore) -> None:
    tasks = [asyncio.ensure_future(save(store)) for _ in range(10)]
    await asyncio.sleep(0)
    tasks[4].cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    saved = await ids(store)
    assert {step.id for step in results if isinstance(step, Step)} <= set(saved)
    assert sum(isinstance(step, Step) for step in results) == 9


# branches, bundles


async def test_going_back_and_on_shares_and_reads_back(store: StepStore) -> None:
    long = [state(n, scratchpad="z" * 30_000) for n in (10, 200, 12, 220)]
    long[2]["messages"] = [*long[0]["messages"], {"role": "user", "content": "elsewhere"}]
    steps = [await save(store, content) for content in long]
    assert [await store.state(T, step.id) for step in steps] == long
    assert steps[2].stored_bytes < steps[1].stored_bytes


async def test_adopt_copies_a_state_to_another_thread(store: StepStore) -> None:
    contents = [state(n, pad="tide " * 5000) for n in range(1, 30)]
    steps = [await save(store, content) for content in contents]
    bundle = await store.bundle(T, steps[12].id)
    assert bundle is not None
    copied = await store.adopt(draft(thread_id=OTHER), bundle, MANY)
    assert copied is not None
    assert copied.bytes == steps[12].bytes
    await store.forget_thread(T)
    assert await store.state(OTHER, copied.id) == contents[12]
    after = await save(store, state(14, pad="tide " * 5001), thread_id=OTHER)
    assert await store.state(OTHER, after.id) == state(14, pad="tide " * 5001)


async def test_a_bundle_holds_nothing_of_other_steps(store: StepStore) -> None:
    steps = [await save(store, state(n, secret=f"secret number {n}")) for n in range(1, 40)]
    bundle = await store.bundle(T, steps[10].id)
    assert bundle is not None
    copied = await store.adopt(draft(thread_id=OTHER), bundle, MANY)
    assert copied is not None
    assert load(bundle) == state(11, secret="secret number 11")
    assert copied.stored_bytes < sum(step.stored_bytes for step in steps)


async def test_a_bundle_is_clean_unless_it_must_be_settled(store: StepStore) -> None:
    clean = await save(store, state(2))
    with_id = await save(store, state(2, chat_id=5))
    found = [await store.bundle(T, step.id) for step in (clean, with_id)]
    assert [bundle is not None and bundle.clean for bundle in found] == [True, False]


# finding


async def test_match_finds_by_prefix_within_the_thread(store: StepStore) -> None:
    a = await save(store, id=StepId("3fa9c1d2" + "0" * 24))
    b = await save(store, id=StepId("3fa9c1d2" + "f" * 24))
    await save(store, id=StepId("3fa9c1d3" + "f" * 24))
    await save(store, id=StepId("3fa9c1d2" + "1" * 24), thread_id=OTHER)
    assert [step.id for step in await store.match(T, "3fa9c1d2")] == [a.id, b.id]
    assert [step.id for step in await store.match(T, a.id)] == [a.id]


@pytest.mark.parametrize("prefix", ["%", "_fa9c1d2", "3fa9%", "3fa9c1d_", "3fa9*", "3fa9?", "4"])
async def test_match_takes_signs_as_themselves(store: StepStore, prefix: str) -> None:
    await save(store, id=StepId("3fa9c1d2" + "0" * 24))
    assert not await store.match(T, prefix)


# labels


async def test_label_is_found_in_any_case(store: StepStore) -> None:
    step = await save(store)
    labelled = await store.set_label(T, step.id, "Größe-1")
    assert labelled is not None
    assert labelled.label == "Größe-1"
    assert await store.labelled(T, "GRÖSSE-1") == labelled


async def test_label_given_again_moves(store: StepStore) -> None:
    first, second = await save(store), await save(store)
    await store.set_label(T, first.id, "good")
    await store.set_label(T, second.id, "GOOD")
    assert [step.label for step in await store.rows(T)] == [None, "GOOD"]


async def test_label_is_taken_off_and_replaced(store: StepStore) -> None:
    step = await save(store)
    await store.set_label(T, step.id, "one")
    await store.set_label(T, step.id, "two")
    assert await store.labelled(T, "one") is None
    taken_off = await store.set_label(T, step.id, None)
    assert taken_off is not None
    assert taken_off.label is None
    assert await store.labelled(T, "two") is None


async def test_label_over_the_limit_is_refused_and_changes_nothing(store: StepStore) -> None:
    steps = [await save(store) for _ in range(MAX_LABELS + 1)]
    for n, step in enumerate(steps[:-1]):
        await store.set_label(T, step.id, f"label{n}")
    with pytest.raises(TooManyLabels):
        await store.set_label(T, steps[-1].id, "more")
    assert sum(step.label is not None for step in await store.rows(T)) == MAX_LABELS
    await store.set_label(T, steps[-1].id, "label3")
    await store.set_label(T, steps[0].id, "renamed")
    assert sum(step.label is not None for step in await store.rows(T)) == MAX_LABELS


async def test_label_of_a_step_that_is_gone_is_none(store: StepStore) -> None:
    assert await store.set_label(T, new_id(), "x") is None


# budgets


async def test_the_newest_steps_of_a_thread_are_kept(store: StepStore) -> None:
    saved = [await save(store, state(n), Budgets(max_snapshots=5)) for n in range(1, 12)]
    assert await ids(store) == [step.id for step in saved[-5:]]
    assert await store.state(T, saved[-5].id) == state(7)


async def test_a_lower_budget_takes_effect_at_the_next_save(store: StepStore) -> None:
    for n in range(1, 12):
        await save(store, state(n))
    last = await save(store, state(12), Budgets(max_snapshots=1))
    assert await ids(store) == [last.id]
    assert await store.state(T, last.id) == state(12)


async def test_the_newest_steps_in_all_are_kept(store: StepStore) -> None:
    budgets = Budgets(max_global_snapshots=6)
    saved = [await save(store, state(n), budgets, thread_id=thread) for n in range(1, 6) for thread in (T, OTHER)]
    kept = {step.id for step in saved[-6:]}
    assert {*await ids(store), *await ids(store, OTHER)} == kept
    assert (await store.totals()).steps == 6


async def test_labelled_steps_are_kept_from_the_count_budgets(store: StepStore) -> None:
    first = await save(store)
    await store.set_label(T, first.id, "keep")
    saved = [await save(store, state(n), Budgets(max_snapshots=3, max_global_snapshots=3)) for n in range(6)]
    assert await ids(store) == [first.id, saved[-2].id, saved[-1].id]


async def test_the_step_being_saved_is_never_dropped(store: StepStore) -> None:
    labelled = [await save(store) for _ in range(4)]
    for n, step in enumerate(labelled):
        await store.set_label(T, step.id, f"l{n}")
    last = await save(store, state(3), Budgets(max_snapshots=2, max_global_snapshots=1))
    assert await ids(store) == [*(step.id for step in labelled), last.id]


async def test_a_thread_stays_within_its_bytes(store: StepStore) -> None:
    budgets = Budgets(max_thread_bytes=200_000)
    for n in range(20):
        last = await save(store, {"messages": [], "scratchpad": noise(n, 60_000)}, budgets)
        assert (await store.usage([T]))[T].stored_bytes <= 200_000
    kept = await ids(store)
    assert 2 <= len(kept) < 20
    assert kept[-1] == last.id


async def test_bytes_are_freed_oldest_first_until_it_fits_even_labelled_ones(store: StepStore) -> None:
    saved = [await save(store, {"scratchpad": noise(n, 60_000)}) for n in range(5)]
    await store.set_label(T, saved[0].id, "old")
    last = await save(store, {"scratchpad": noise(9, 60_000)}, Budgets(max_thread_bytes=150_000))
    rest = await ids(store)
    assert rest == [step.id for step in [*saved, last]][-len(rest) :]
    assert saved[0].id not in rest
    assert len(rest) >= 3


async def test_one_step_over_the_bytes_is_kept(store: StepStore) -> None:
    await save(store, {"scratchpad": noise(1, 60_000)})
    last = await save(store, {"scratchpad": noise(2, 90_000)}, Budgets(max_thread_bytes=1000, max_total_bytes=1000))
    assert await ids(store) == [last.id]
    assert await store.state(T, last.id) == {"scratchpad": noise(2, 90_000)}


async def test_all_threads_stay_within_the_total_bytes(store: StepStore) -> None:
    budgets = Budgets(max_total_bytes=300_000)
    for n in range(12):
        await save(store, {"scratchpad": noise(n, 60_000)}, budgets, thread_id=ThreadId(f"t{n % 3}"))
        assert (await store.totals()).stored_bytes <= 300_000
    assert (await store.totals()).steps >= 2


async def test_budgets_hold_under_parallel_saves(store: StepStore) -> None:
    budgets = Budgets(max_snapshots=10, max_global_snapshots=25)

    async def run(thread: ThreadId) -> None:
        for n in range(20):
            await save(store, state(n), budgets, thread_id=thread)
            assert (await store.totals()).steps <= 25
            assert len(await store.rows(thread)) <= 10

    await asyncio.gather(*(run(ThreadId(f"t{n}")) for n in range(5)))


async def test_a_long_conversation_stays_flat_in_bytes(store: StepStore) -> None:
    steps = [await save(store, state(n, blob=noise(1, 60_000))) for n in range(1, 400)]
    assert max(step.stored_bytes for step in steps[300:]) < 2000


# thinning


@pytest.mark.parametrize("most", [1, 2, 5, 30, 1000])
async def test_a_turn_is_thinned_as_the_rule_says(store: StepStore, most: int) -> None:
    budgets = Budgets(max_snapshots=1000, max_per_turn=most)
    expected: list[int] = []
    for n in range(1, 46):
        await save(store, state(n), budgets, turn_no=7, iteration=n - 1)
        expected.append(n)
        gone = set(surplus_of_turn(expected, most))
        expected = [number for number in expected if number not in gone]
        assert [step.number for step in await store.rows(T)] == expected
    assert await store.state(T, (await ids(store))[0]) == state(expected[0])


async def test_a_turn_without_thinning_keeps_the_grid_and_the_newest(store: StepStore) -> None:
    for n in range(1, 44):
        await save(store, state(n), turn_no=7, iteration=n - 1)
    assert [step.number for step in await store.rows(T)] == [*range(1, 21), 30, 40, 43]


async def test_thinning_leaves_other_turns_alone(store: StepStore) -> None:
    for turn in (1, 2):
        for n in range(1, 5):
            await save(store, state(n), Budgets(max_per_turn=2), turn_no=turn, iteration=n - 1)
    assert [(step.turn_no, step.number) for step in await store.rows(T)] == [(1, 1), (1, 4), (2, 1), (2, 4)]


async def test_labelled_steps_are_kept_from_thinning(store: StepStore) -> None:
    for n in range(1, 24):
        step = await save(store, state(n), turn_no=1, iteration=n - 1)
        if n in (2, 22):
            await store.set_label(T, step.id, f"l{n}")
    await save(store, state(24), Budgets(max_per_turn=3), turn_no=1, iteration=23)
    assert [step.number for step in await store.rows(T)] == [1, 2, 22, 24]


# deleting


async def test_clear_deletes_every_step_and_leaves_others(store: StepStore) -> None:
    for n in range(5):
        await save(store, state(n))
    other = await save(store, thread_id=OTHER)
    assert await store.clear(T, 1) == 5
    assert await ids(store) == []
    assert await ids(store, OTHER) == [other.id]
    assert await store.clear(T, 1) == 0


async def test_capture_begun_before_a_clear_is_discarded(store: StepStore) -> None:
    await store.clear(T, 3)
    assert await store.capture(draft(epoch=2), codec.encode(state()), MANY) is None
    assert await ids(store) == []
    later = await save(store, epoch=3)
    assert await ids(store) == [later.id]


async def test_clear_done_late_spares_what_came_after_it(store: StepStore) -> None:
    await save(store, epoch=0)
    later = await save(store, epoch=1)
    assert await store.clear(T, 1) == 1
    assert await ids(store) == [later.id]


async def test_an_older_clear_does_not_lower_the_fence(store: StepStore) -> None:
    await store.clear(T, 5)
    await store.clear(T, 2)
    assert await store.capture(draft(epoch=4), codec.encode(state()), MANY) is None


async def test_delete_from_takes_what_is_at_the_position_and_later(store: StepStore) -> None:
    saved = [await save(store, state(n), at=Position(n % 2, 10 + n)) for n in range(6)]
    assert await store.delete_from(T, 13, 1) == 3
    assert await ids(store) == [step.id for step in saved[:3]]
    assert [await store.state(T, step.id) for step in saved[:3]] == [state(n) for n in range(3)]
    assert await store.capture(draft(epoch=0), codec.encode(state()), MANY) is None
    assert await store.capture(draft(epoch=1), codec.encode(state()), MANY) is not None


async def test_delete_steps_takes_only_those_of_the_thread(store: StepStore) -> None:
    saved = [await save(store, state(n)) for n in range(4)]
    other = await save(store, thread_id=OTHER)
    assert await store.delete_steps(T, [saved[1].id, saved[3].id, other.id, new_id()]) == 2
    assert await ids(store) == [saved[0].id, saved[2].id]
    assert await ids(store, OTHER) == [other.id]
    assert await store.delete_steps(T, []) == 0


async def test_forget_thread_lets_nothing_in_ever_again(reopen_steps: Callable[[], Awaitable[StepStore]]) -> None:
    store = await reopen_steps()
    await save(store)
    assert await store.forget_thread(T) == 1
    assert await store.forget_thread(T) == 0
    store = await reopen_steps()
    assert await store.capture(draft(epoch=10**9), codec.encode(state()), MANY) is None
    assert await ids(store) == []
    assert await store.threads() == []


async def test_capture_after_deleting_the_newest_reads_back(store: StepStore) -> None:
    saved = [await save(store, state(n, pad="p" * 20_000)) for n in range(1, 30)]
    await store.delete_steps(T, [step.id for step in saved[10:]])
    step = await save(store, state(50, pad="p" * 20_001))
    assert await store.state(T, step.id) == state(50, pad="p" * 20_001)
    assert await store.state(T, saved[9].id) == state(10, pad="p" * 20_000)


# retention


async def test_expire_takes_the_oldest_by_their_own_time(store: StepStore) -> None:
    now = START + timedelta(days=100)
    saved = [await save(store, created_at=now - timedelta(days=days)) for days in (120, 31, 29, 0)]
    before = now - timedelta(days=30)
    assert await store.count_before(before) == (2, 1)
    assert await store.expire(before) == [(T, saved[0].id), (T, saved[1].id)]
    assert await store.count_before(before) == (0, 0)
    assert await ids(store) == [saved[2].id, saved[3].id]
    assert not await store.expire(before)


async def test_expire_is_limited_and_spares_threads(store: StepStore) -> None:
    mine = [await save(store, state(n)) for n in range(5)]
    await save(store, thread_id=OTHER)
    later = START + timedelta(days=400)
    assert await store.count_before(later) == (6, 2)
    assert await store.expire(later, keep={OTHER}, limit=3) == [(T, step.id) for step in mine[:3]]
    assert await store.expire(later, keep={OTHER}) == [(T, step.id) for step in mine[3:]]
    assert len(await ids(store, OTHER)) == 1


# counting


async def test_usage_counts_steps_bytes_and_the_last_time(store: StepStore) -> None:
    await save(store)
    last = await save(store, state(5))
    await save(store, thread_id=OTHER)
    used = await store.usage([T, OTHER, ThreadId("none")])
    assert set(used) == {T, OTHER}
    assert used[T].steps == 2
    assert used[T].last_step_at == last.created_at
    totals = await store.totals()
    assert totals.steps == 3
    assert totals.stored_bytes == used[T].stored_bytes + used[OTHER].stored_bytes
    assert set(await store.threads()) == {T, OTHER}


async def test_nothing_is_used_after_everything_is_deleted(store: StepStore) -> None:
    for n in range(40):
        await save(store, state(n, pad=noise(n, 5000)))
    await store.clear(T, 1)
    totals = await store.totals()
    assert (totals.steps, totals.stored_bytes, totals.last_step_at) == (0, 0, None)
    assert await store.threads() == []


async def test_compaction_gives_the_file_back(store: StepStore) -> None:
    for n in range(30):
        await save(store, {"scratchpad": noise(n, 100_000)})
    await store.clear(T, 1)
    before = await store.disk()
    assert before.free > 1_000_000
    while await store.compact(100):
        pass
    after = await store.disk()
    assert after.free == 0
    assert after.size < before.size // 2
