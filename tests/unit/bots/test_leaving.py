"""Who leaves a group, and what that means for its chat."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from support.hall import Hall
from support.outlet import Walker

from turnback.bots.platform import Left
from turnback.core.errors import NotFound
from turnback.core.events import Event
from turnback.core.models import Surface, ThreadId


def group(house: Hall, name: str, key: str, place: str = "-100") -> Walker:
    return house.walker(name, key, place=place, group=True)


def gone(key: str | None, place: str = "-100") -> Left:
    return Left(surface=Surface.TELEGRAM, place=place, user_key=key)


async def talked(house: Hall, place: str = "-100") -> ThreadId:
    """A group's chat that Ann began and Bob wrote in."""
    ann, bob = group(house, "Ann", "1", place), group(house, "Bob", "2", place)
    await house.tell(ann, "one")
    await bob.say("two", addressed=True)
    await bob.reads("said one", "said two")
    await house.presenter.settle(10)
    return await house.thread(ann)


async def may_read(house: Hall, walker: Walker, thread: ThreadId) -> bool:
    try:
        await house.service.rewind.thread(await house.actor(walker), thread)
    except NotFound:
        return False
    return True


@pytest.mark.parametrize("place", ["-100", "-100/7"])
async def test_who_left_reads_the_chat_no_more_until_they_speak_there_again(house: Hall, place: str) -> None:
    thread, bob = await talked(house, place), group(house, "Bob", "2", place)
    assert await may_read(house, bob, thread)
    await house.desk.left(gone("2"))
    assert not await may_read(house, bob, thread)
    assert await may_read(house, group(house, "Ann", "1", place), thread)
    await bob.say("/replay list")
    assert await may_read(house, bob, thread)


async def test_who_left_keeps_their_fork(house: Hall) -> None:
    await talked(house)
    bob = group(house, "Bob", "2")
    await bob.say("/fork")
    await house.desk.left(gone("2"))
    [fork] = await house.service.rewind.threads(await house.actor(bob))
    assert fork.forked_from is not None
    assert await may_read(house, bob, fork.id)


async def test_private_chat_of_who_left_goes_on_apart_and_hears_no_news(house: Hall) -> None:
    thread, home = await talked(house), house.walker("Bob", "2")
    await home.say(f"/switch {thread}")
    await home.reads("Now talking into “one”.")
    await house.desk.left(gone("2"))
    await group(house, "Ann", "1").say("/undo")
    await home.say("three")
    await home.reads("Now talking into “one”.", "said three")
    assert await house.asked(group(house, "Ann", "1")) == ["one"]
    assert not await may_read(house, home, thread)


async def test_everybody_but_the_starter_is_out_when_we_are_put_out(house: Hall) -> None:
    thread = await talked(house)
    await house.desk.left(gone(None))
    assert not await may_read(house, group(house, "Bob", "2"), thread)
    assert await may_read(house, group(house, "Ann", "1"), thread)


async def test_who_left_and_never_spoke_to_us_changes_nothing(house: Hall) -> None:
    thread = await talked(house)
    await house.desk.left(gone("3"))
    assert await may_read(house, group(house, "Bob", "2"), thread)


async def test_list_of_chats_of_who_left_is_told_of_it(house: Hall) -> None:
    await talked(house)
    bob = await house.actor(group(house, "Bob", "2"))
    async with house.service.events.listen() as events:
        await house.desk.left(gone("2"))
        event = await anext(events)
    assert event is not None
    assert (event.name, event.readers) == ("threads", frozenset({bob.account}))


async def test_who_left_is_not_told_of_the_turn_that_runs(house: Hall) -> None:
    thread, ann = await talked(house), group(house, "Ann", "1")
    bob = await house.actor(group(house, "Bob", "2"))
    await ann.say("slow", addressed=True)
    await house.agent.reached("start")
    await house.desk.left(gone("2"))
    async with house.service.events.listen() as events:
        house.agent.go("start")
        house.agent.go("middle")
        told = [event async for event in _until_ended(events)]
    assert {event.name for event in told} >= {"message", "turn_finished"}
    assert all(bob.account not in event.readers for event in told if event.thread_id == thread)


async def _until_ended(events: AsyncIterator[Event | None]) -> AsyncIterator[Event]:
    async for event in events:
        assert event is not None
        yield event
        if event.name == "ended":
            return


class Held(Walker):
    """Somebody of whom the platform says late what they are."""

    asked: asyncio.Event
    known: asyncio.Event

    async def _is_admin(self) -> bool:
        self.asked.set()
        await self.known.wait()
        return False


@pytest.mark.parametrize("place", ["-100", "-100/7"])
async def test_what_was_said_before_leaving_comes_first(house: Hall, place: str) -> None:
    thread, known = await talked(house, place), group(house, "Cleo", "3", place)
    cleo = Held(known.desk, known.screen, known.person, replace(known.place, key=place), known.clock)
    cleo.asked, cleo.known = asyncio.Event(), asyncio.Event()
    speaking = asyncio.create_task(cleo.say("three", addressed=True))
    await cleo.asked.wait()
    leaving = asyncio.create_task(house.desk.left(gone("3")))
    await asyncio.sleep(0)
    cleo.known.set()
    await asyncio.gather(speaking, leaving)
    assert not await may_read(house, known, thread)
