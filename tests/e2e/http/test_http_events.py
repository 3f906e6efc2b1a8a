"""Server-sent events from a real server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from support.web import House

from turnback.web.server import serve

Client = httpx2.AsyncClient


@pytest.fixture
async def server(house: House) -> AsyncIterator[tuple[str, asyncio.Event, asyncio.Task[None]]]:
    listening: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    stop = asyncio.Event()
    task = asyncio.create_task(
        serve(
            house.app,
            host="127.0.0.1",
            port=0,
            on_listening=lambda host, port: listening.set_result(f"http://{host}:{port}"),
            stop=stop,
        )
    )
    yield await asyncio.wait_for(listening, 10), stop, task
    stop.set()
    await asyncio.wait_for(task, 10)


@pytest.fixture
async def ann(house: House, server: Any) -> AsyncIterator[Client]:
    async with Client(base_url=server[0], headers={"Authorization": f"Bearer {house.tokens['ann']}"}) as client:
        yield client


@pytest.fixture
async def bob(house: House, server: Any) -> AsyncIterator[Client]:
    async with Client(base_url=server[0], headers={"Authorization": f"Bearer {house.tokens['bob']}"}) as client:
        yield client


@asynccontextmanager
async def stream(url: str, token: str, **headers: str) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
    path = "/api/events" + headers.pop("query", "")
    headers["Authorization"] = f"Bearer {token}"
    async with Client(base_url=url, headers=headers, timeout=10) as client, client.stream("GET", path) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.aiter_lines()
        assert (await anext(lines)).startswith(":")
        yield parsed(lines)


async def parsed(lines: AsyncIterator[str]) -> AsyncIterator[dict[str, Any]]:
    event: dict[str, Any] = {}
    async for line in lines:
        if not line:
            if event:
                yield event
            event = {}
        elif not line.startswith(":"):
            key, _, value = line.partition(": ")
            event[key] = json.loads(value) if key == "data" else value


async def until(events: AsyncIterator[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    seen: list[dict[str, Any]] = []
    while not seen or seen[-1]["event"] != name:
        seen.append(await asyncio.wait_for(anext(events), 10))
    return seen


async def test_turn_is_told_as_it_happens(house: House, server: Any, ann: Client, thread: str) -> None:
    async with stream(server[0], house.tokens["ann"]) as events:
        await ann.post(f"/api/threads/{thread}/messages?wait=true", json={"text": "hello"})
        seen = await until(events, "turn_finished")
    names = [e["event"] for e in seen]
    for name in ("message", "turn_started", "delta", "snapshot", "turn_finished"):
        assert name in names
    assert all(e["id"] for e in seen)
    by_name = {e["event"]: e["data"] for e in seen}
    assert by_name["delta"] == {"thread_id": thread, "text": "said hello"}
    assert by_name["snapshot"]["snapshot"]["turn_index"] == 1
    assert by_name["turn_finished"] == {"thread_id": thread, "turn_index": 1, "status": "done"}


async def test_foreign_events_are_never_sent(house: House, server: Any, ann: Client, bob: Client, thread: str) -> None:
    async with stream(server[0], house.tokens["bob"]) as events:
        await ann.post(f"/api/threads/{thread}/messages?wait=true", json={"text": "private"})
        mine = (await bob.post("/api/threads")).json()["thread_id"]
        await bob.post(f"/api/threads/{mine}/messages?wait=true", json={"text": "own"})
        seen = await until(events, "turn_finished")
    assert {e["data"]["thread_id"] for e in seen if "thread_id" in e["data"]} == {mine}
    assert "private" not in json.dumps(seen)


async def test_stream_goes_on_after_the_last_event(house: House, server: Any, ann: Client, thread: str) -> None:
    async with stream(server[0], house.tokens["ann"], query=f"?thread_id={thread}") as events:
        await ann.post(f"/api/threads/{thread}/messages?wait=true", json={"text": "one"})
        last = (await until(events, "turn_finished"))[-1]["id"]
    (step,) = (await ann.get(f"/api/replay/snapshots/{thread}")).json()["snapshots"]
    await ann.post(f"/api/threads/{thread}/messages?wait=true", json={"text": "two"})
    await ann.post("/api/replay/restore", json={"thread_id": thread, "snapshot_id": step["id"]})
    async with stream(
        server[0], house.tokens["ann"], query=f"?thread_id={thread}", **{"Last-Event-ID": last}
    ) as events:
        missed = await until(events, "reload")
    assert "turn_started" in [e["event"] for e in missed]
    assert missed[-1]["data"] == {"thread_id": thread, "head": step["id"]}


async def test_too_old_id_is_told_to_reload(house: House, server: Any) -> None:
    async with stream(server[0], house.tokens["ann"], **{"Last-Event-ID": "12"}) as events:
        assert (await until(events, "reload"))[0]["data"] == {"thread_id": None, "head": None}


async def test_stream_of_a_foreign_thread_is_not_found(bob: Client, thread: str) -> None:
    foreign = await bob.get("/api/events", params={"thread_id": thread})
    unknown = await bob.get("/api/events", params={"thread_id": "0" * 32})
    assert (foreign.status_code, foreign.content) == (404, unknown.content)


async def test_open_streams_do_not_hold_the_server_up(house: House, server: Any) -> None:
    url, stop, task = server
    async with stream(url, house.tokens["ann"]) as events:
        stop.set()
        await asyncio.wait_for(task, 5)
        with pytest.raises(StopAsyncIteration):
            await asyncio.wait_for(anext(events), 5)


async def test_taken_port_is_an_error(house: House, server: Any) -> None:
    port = int(server[0].rsplit(":", 1)[1])
    with pytest.raises(OSError, match="in use"):
        await serve(house.app, host="127.0.0.1", port=port)
