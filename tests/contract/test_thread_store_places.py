"""What every thread store does with the places of platforms: bindings, and what our messages there show."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from support.threads import ANN, FORK, NOW, TRIP, Talk, entry

from turnback.core.models import Action, Position, Post, Surface
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
