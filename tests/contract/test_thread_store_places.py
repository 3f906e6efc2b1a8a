"""What every thread store does with the places of platforms: bindings, who takes part, what our messages show."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from support.threads import ANN, BOB, FORK, NOW, TRIP, Talk, entry

from turnback.core.models import AccountId, Action, Position, Post, Surface
from turnback.core.threads.store import ThreadStore

Reopen = Callable[[], Awaitable[ThreadStore]]

POST = Post(surface=Surface.TELEGRAM, place="chat:1", message="10", thread_id=TRIP, at=Position(0, 2), kind="answer")


@pytest.fixture
async def talk(threads: ThreadStore) -> Talk:
    return await Talk(threads).start()


async def found(store: ThreadStore, place: str = "chat:1") -> list[str]:
    return [post.message for post in await store.posts(TRIP, Surface.TELEGRAM, place)]


async def test_post_is_found_by_its_message_after_a_restart(reopen_threads: Reopen) -> None:
    store = await reopen_threads()
    await Talk(store).start()
    await store.add_post(POST)
    store = await reopen_threads()
    assert await store.find_post(Surface.TELEGRAM, "chat:1", "10") == POST
    assert await store.find_post(Surface.TELEGRAM, "chat:1", "11") is None
    assert await store.find_post(Surface.TELEGRAM, "chat:2", "10") is None
    assert await store.find_post(Surface.SLACK, "chat:1", "10") is None


async def test_message_shows_what_it_was_last_posted_as(talk: Talk) -> None:
    await talk.store.add_post(POST)
    edited = replace(POST, at=Position(0, 4), kind="note")
    await talk.store.add_post(edited)
    assert await talk.store.find_post(Surface.TELEGRAM, "chat:1", "10") == edited
    assert await found(talk.store) == ["10"]


async def test_posts_of_a_thread_at_a_place_come_in_the_order_in_which_they_were_added(talk: Talk) -> None:
    await Talk(talk.store, FORK).start()
    for message in ("9", "10", "8"):
        await talk.store.add_post(replace(POST, message=message))
    await talk.store.add_post(replace(POST, message="11", thread_id=FORK))
    await talk.store.add_post(replace(POST, message="12", place="chat:2"))
    assert await found(talk.store) == ["9", "10", "8"]


async def test_drop_posts_forgets_these_alone(talk: Talk) -> None:
    for place, message in (("chat:1", "9"), ("chat:1", "10"), ("chat:2", "9")):
        await talk.store.add_post(replace(POST, place=place, message=message))
    await talk.store.drop_posts(Surface.TELEGRAM, "chat:1", ["9", "77"])
    assert await found(talk.store) == ["10"]
    assert await found(talk.store, "chat:2") == ["9"]


async def test_posts_go_with_their_thread_and_none_comes_later(talk: Talk) -> None:
    await talk.store.add_post(POST)
    await talk.store.delete_thread(TRIP, entry(Action.DELETE))
    assert await talk.store.find_post(Surface.TELEGRAM, "chat:1", "10") is None
    await talk.store.add_post(POST)
    assert await talk.store.find_post(Surface.TELEGRAM, "chat:1", "10") is None


async def test_posts_of_what_was_discarded_stay_so_that_their_messages_can_be_deleted(talk: Talk) -> None:
    [first] = await talk.turn("one")
    [second] = await talk.turn("two")
    await talk.store.add_post(replace(POST, at=second))
    await talk.move(first, state={"n": 1}, discard=True)
    assert await found(talk.store) == ["10"]


async def test_move_place_takes_the_binding_along(talk: Talk) -> None:
    await talk.store.bind(Surface.TELEGRAM, "chat:1", TRIP)
    await talk.store.bind(Surface.SLACK, "chat:1", TRIP)
    await talk.store.move_place(Surface.TELEGRAM, "chat:1", "chat:-100")
    assert await talk.store.bound(Surface.TELEGRAM, "chat:1") is None
    assert await talk.store.bound(Surface.TELEGRAM, "chat:-100") == TRIP
    assert await talk.store.bound(Surface.SLACK, "chat:1") == TRIP


async def test_move_place_again_changes_nothing(talk: Talk) -> None:
    await talk.store.create_thread(FORK, "other", Surface.WEB, ANN, NOW)
    await talk.store.bind(Surface.TELEGRAM, "chat:1", TRIP)
    await talk.store.move_place(Surface.TELEGRAM, "chat:1", "chat:-100")
    await talk.store.bind(Surface.TELEGRAM, "chat:-100", FORK)
    await talk.store.move_place(Surface.TELEGRAM, "chat:1", "chat:-100")
    assert await talk.store.bound(Surface.TELEGRAM, "chat:-100") == FORK


async def test_move_place_wins_over_what_the_new_key_was_bound_to_meanwhile(talk: Talk) -> None:
    await talk.store.create_thread(FORK, "other", Surface.WEB, ANN, NOW)
    await talk.store.bind(Surface.TELEGRAM, "chat:1", TRIP)
    await talk.store.bind(Surface.TELEGRAM, "chat:-100", FORK)
    await talk.store.move_place(Surface.TELEGRAM, "chat:1", "chat:-100")
    assert await talk.store.bound(Surface.TELEGRAM, "chat:-100") == TRIP


async def test_move_place_forgets_messages_whose_ids_mean_others_in_the_new_place(talk: Talk) -> None:
    await talk.store.add_post(POST)
    await talk.store.add_post(replace(POST, place="chat:-100", message="11"))
    await talk.store.move_place(Surface.TELEGRAM, "chat:1", "chat:-100")
    assert (await found(talk.store), await found(talk.store, "chat:-100")) == ([], ["11"])


async def test_move_place_is_known_after_a_restart(reopen_threads: Reopen) -> None:
    store = await reopen_threads()
    await store.move_place(Surface.TELEGRAM, "chat:1", "chat:-100")
    await store.move_place(Surface.TELEGRAM, "chat:-100", "chat:-200")
    store = await reopen_threads()
    assert await store.moved_places(Surface.TELEGRAM) == {"chat:1": "chat:-200", "chat:-100": "chat:-200"}
    assert await store.moved_places(Surface.SLACK) == {}


# who takes part


async def take_part(talk: Talk, *people: tuple[AccountId, str]) -> None:
    for account, place in people:
        await talk.store.add_participant(talk.id, account, Surface.TELEGRAM, place)


async def test_who_leaves_a_place_takes_part_no_more(talk: Talk) -> None:
    await take_part(talk, (ANN, "-100"), (BOB, "-100"))
    gone = await talk.store.drop_participants(Surface.TELEGRAM, "-100", BOB)
    assert set(gone) == {(TRIP, BOB)}
    assert set(await talk.store.participants(TRIP)) == {ANN}
    assert list(await talk.store.list_threads(BOB)) == []
    assert not await talk.store.drop_participants(Surface.TELEGRAM, "-100", BOB)


async def test_who_leaves_a_place_leaves_the_places_in_it(talk: Talk) -> None:
    await take_part(talk, (BOB, "-100/7"))
    assert set(await talk.store.drop_participants(Surface.TELEGRAM, "-100", BOB)) == {(TRIP, BOB)}


@pytest.mark.parametrize("other", ["-1001", "-1000/7", "-100:7", "-10", "100"])
async def test_who_leaves_a_place_stays_in_others(talk: Talk, other: str) -> None:
    await take_part(talk, (BOB, "-100"), (BOB, other))
    assert not await talk.store.drop_participants(Surface.TELEGRAM, "-100", BOB)
    assert set(await talk.store.participants(TRIP)) == {BOB}


async def test_who_leaves_a_place_stays_in_one_of_the_same_key_elsewhere(talk: Talk) -> None:
    await talk.store.add_participant(TRIP, BOB, Surface.SLACK, "-100")
    assert not await talk.store.drop_participants(Surface.TELEGRAM, "-100", BOB)
    assert set(await talk.store.participants(TRIP)) == {BOB}


async def test_everybody_leaves_a_place_that_we_are_put_out_of(talk: Talk) -> None:
    await take_part(talk, (ANN, "-100"), (BOB, "-100/7"), (BOB, "-200"))
    assert set(await talk.store.drop_participants(Surface.TELEGRAM, "-100", None)) == {(TRIP, ANN)}
    assert set(await talk.store.participants(TRIP)) == {BOB}


async def test_private_place_of_who_left_talks_into_the_thread_no_more(talk: Talk) -> None:
    await Talk(talk.store, FORK).start()
    await take_part(talk, (BOB, "-100"))
    for place, thread, whose in (("-100", TRIP, None), ("2", TRIP, BOB), ("1", TRIP, ANN), ("3", FORK, BOB)):
        await talk.store.bind(Surface.TELEGRAM, place, thread, whose)
    await talk.store.drop_participants(Surface.TELEGRAM, "-100", BOB)
    assert [await talk.store.bound(Surface.TELEGRAM, place) for place in ("-100", "2", "1", "3")] == [
        TRIP,
        None,
        TRIP,
        FORK,
    ]


async def test_private_place_of_a_merged_account_is_the_kept_ones(talk: Talk) -> None:
    for account in (ANN, BOB):
        await talk.store.create_account(account, account, NOW)
    await take_part(talk, (ANN, "-100"), (BOB, "-100"))
    await talk.store.bind(Surface.TELEGRAM, "2", TRIP, BOB)
    await talk.store.merge_accounts(ANN, BOB)
    assert set(await talk.store.drop_participants(Surface.TELEGRAM, "-100", ANN)) == {(TRIP, ANN)}
    assert await talk.store.bound(Surface.TELEGRAM, "2") is None


async def test_move_place_takes_those_along_who_take_part(talk: Talk) -> None:
    await take_part(talk, (BOB, "-1"))
    await talk.store.move_place(Surface.TELEGRAM, "-1", "-100")
    assert set(await talk.store.drop_participants(Surface.TELEGRAM, "-100", BOB)) == {(TRIP, BOB)}
