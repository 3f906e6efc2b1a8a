"""The event stream: who is sent what, and going on after a break."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from sse_starlette import ServerSentEvent

from turnback.core.events import KEPT, Events
from turnback.core.models import AccountId, Actor, Surface, ThreadId
from turnback.web import events as web_events
from turnback.web.events import EventStream

ANN = Actor(account=AccountId("ann"), surface=Surface.API)
BOB = Actor(account=AccountId("bob"), surface=Surface.API)
ROOT = Actor(account=AccountId("root"), surface=Surface.API, admin=True)
MINE, THEIRS = ThreadId("m" * 32), ThreadId("t" * 32)


@pytest.fixture
def bus() -> Events:
    return Events()


@pytest.fixture
def stream(bus: Events) -> EventStream:
    return EventStream(bus)


def tell(bus: Events, text: str, *, thread: ThreadId = MINE, reader: str = "ann") -> None:
    data = {"thread_id": thread, "text": text}
    bus.publish("delta", data, thread_id=thread, readers=frozenset({AccountId(reader)}))


class Reader:
    """Somebody who reads a stream."""

    def __init__(
        self,
        stream: EventStream,
        actor: Actor = ANN,
        *,
        thread: ThreadId | None = None,
        last: str | None = None,
        signed_in: bool = True,
    ) -> None:
        self.signed_in = signed_in

        async def identify() -> Actor | None:
            return actor if self.signed_in else None

        self._events: AsyncIterator[ServerSentEvent] = stream.follow(actor, thread, last, identify)

    async def connect(self) -> Reader:
        await anext(self._events)
        self._next = asyncio.ensure_future(anext(self._events))
        await asyncio.sleep(0)
        return self

    async def read(self) -> tuple[str, Any, str]:
        """Name, data and id of the next event."""
        sent = await asyncio.wait_for(self._next, 5)
        self._next = asyncio.ensure_future(anext(self._events))
        await asyncio.sleep(0)
        assert isinstance(sent.data, str)
        assert sent.event is not None
        assert sent.id is not None
        return sent.event, json.loads(sent.data), sent.id

    async def leave(self) -> None:
        self._next.cancel()
        await asyncio.gather(self._next, return_exceptions=True)


async def test_reader_is_sent_what_it_may_see(stream: EventStream, bus: Events) -> None:
    reader = await Reader(stream).connect()
    tell(bus, "hers", thread=THEIRS, reader="bob")
    tell(bus, "mine")
    name, data, _ = await reader.read()
    assert (name, data) == ("delta", {"thread_id": MINE, "text": "mine"})
    await reader.leave()


async def test_admin_is_sent_everything(stream: EventStream, bus: Events) -> None:
    reader = await Reader(stream, ROOT).connect()
    tell(bus, "hers", thread=THEIRS, reader="bob")
    assert (await reader.read())[1]["text"] == "hers"
    await reader.leave()


async def test_events_of_the_house_are_not_sent(stream: EventStream, bus: Events) -> None:
    reader = await Reader(stream, ROOT).connect()
    bus.publish("rewound", {"by": "ann"}, thread_id=MINE)
    bus.publish("alert", {"text": "disk"})
    bus.publish("began", {"origin": "telegram:chat:1#7"}, thread_id=MINE)
    bus.publish("ended", {"origin": "telegram:chat:1#7"}, thread_id=MINE)
    bus.publish("unrun", {"origin": "telegram:chat:1#7"}, thread_id=MINE)
    tell(bus, "after")
    assert (await reader.read())[0] == "delta"
    await reader.leave()


async def test_reader_of_one_thread_is_sent_that_thread(stream: EventStream, bus: Events) -> None:
    reader = await Reader(stream, thread=MINE).connect()
    tell(bus, "other", thread=ThreadId("o" * 32))
    tell(bus, "mine")
    assert (await reader.read())[1]["text"] == "mine"
    await reader.leave()


async def test_reader_goes_on_after_the_last_event_it_saw(stream: EventStream, bus: Events) -> None:
    first = await Reader(stream).connect()
    tell(bus, "one")
    _, _, last = await first.read()
    await first.leave()
    tell(bus, "two")
    tell(bus, "three")
    again = await Reader(stream, last=last).connect()
    assert [(await again.read())[1]["text"] for _ in range(2)] == ["two", "three"]
    await again.leave()


@pytest.mark.parametrize("last", ["0-1", "nonsense", "", "-", "7", "9" * 40])
async def test_reader_with_a_foreign_id_is_told_to_reload(stream: EventStream, bus: Events, last: str) -> None:
    tell(bus, "one")
    reader = await Reader(stream, last=last).connect()
    name, data, _ = await reader.read()
    assert (name, data) == ("reload", {"thread_id": None, "head": None})
    await reader.leave()


async def test_reader_who_is_too_far_behind_is_told_to_reload_and_goes_on(stream: EventStream, bus: Events) -> None:
    first = await Reader(stream).connect()
    tell(bus, "seen")
    _, _, last = await first.read()
    await first.leave()
    for number in range(KEPT + 1):
        tell(bus, str(number))
    again = await Reader(stream, thread=MINE, last=last).connect()
    name, data, reload_id = await again.read()
    assert (name, data["thread_id"]) == ("reload", MINE)
    tell(bus, "new")
    assert (await again.read())[1]["text"] == "new"
    await again.leave()
    after_reload = await Reader(stream, last=reload_id).connect()
    assert (await after_reload.read())[1]["text"] == "new"
    await after_reload.leave()


async def test_slow_reader_is_told_to_reload(stream: EventStream, bus: Events) -> None:
    reader = await Reader(stream).connect()
    for number in range(KEPT):
        tell(bus, str(number))
    names = set()
    while "reload" not in names:
        names.add((await reader.read())[0])
    await reader.leave()


async def test_close_ends_streams(stream: EventStream, bus: Events) -> None:
    reader = await Reader(stream).connect()
    stream.close()
    with pytest.raises(StopAsyncIteration):
        await reader.read()


async def test_signed_out_reader_is_sent_nothing_more(
    stream: EventStream, bus: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_events, "RECHECK_SECONDS", -1)
    reader = await Reader(stream).connect()
    tell(bus, "one")
    await reader.read()
    reader.signed_in = False
    tell(bus, "two")
    with pytest.raises(StopAsyncIteration):
        await reader.read()


async def test_left_reader_is_forgotten(stream: EventStream, bus: Events) -> None:
    reader = await Reader(stream).connect()
    assert len(bus._listeners) == 1
    await reader.leave()
    await reader._events.aclose()  # type: ignore[attr-defined]
    assert not bus._listeners
