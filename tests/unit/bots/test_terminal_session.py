"""A conversation in the terminal where the server's event stream is lost, or wrong."""

from __future__ import annotations

import asyncio
import io
import json
from typing import Any

import httpx2
import pytest

from turnback.bots.terminal import client as clients
from turnback.bots.terminal import session as sessions
from turnback.bots.terminal.client import Client, Problem
from turnback.bots.terminal.screens import PlainScreen
from turnback.bots.terminal.session import Session

THREAD = {"thread_id": "a" * 32, "title": "Talk\x1b[2J", "forked_from": None}


class Server:
    """Answers as the API does; its event stream says what the test wants."""

    def __init__(self, events: httpx2.Response, result: dict[str, Any]) -> None:
        self.events, self.result, self.asked = events, result, list[str]()

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        path = request.url.path
        self.asked.append(f"{request.method} {path}")
        if path == "/api/events":
            return self.events
        if path == "/api/threads":
            return httpx2.Response(200, json={"threads": [THREAD]})
        if path.endswith("/messages"):
            return httpx2.Response(200, json=self.result)
        return httpx2.Response(200, json={"snapshots": []})


async def converse(server: Server, line: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sessions, "SETTLE_SECONDS", 0.01)
    monkeypatch.setattr(sessions, "LISTEN_SECONDS", 0.01)
    out = io.StringIO()
    client = Client("http://127.0.0.1:1", "t", httpx2.MockTransport(server))
    session = Session(client, PlainScreen(out))
    await session.open(None, new=False)
    await session.handle(line, wait=True)
    await session.close()
    await client.close()
    return out.getvalue()


async def test_an_answer_is_shown_though_the_event_stream_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(httpx2.Response(503), {"turn_index": 1, "status": "done", "reply": "hello", "gates": []})
    shown = await converse(server, "hi", monkeypatch)
    assert shown == "Talk[2J (aaaaaaaa)\nhello\n"


async def test_a_waiting_approval_is_shown_though_the_event_stream_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = {"id": "g", "tool": "shell", "args": {"cmd": "ls"}, "expires_at": ""}
    result = {"turn_index": 1, "status": "approval_pending", "reply": "", "gates": [gate]}
    shown = await converse(Server(httpx2.Response(503), result), "hi", monkeypatch)
    assert shown.endswith("Approval: shell cmd=ls\nApprove? y/n\n")


async def test_a_returned_message_is_said_to_be_unsent(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(httpx2.Response(503), {"turn_index": None, "status": "returned", "reply": "", "gates": []})
    assert "was not sent" in await converse(server, "hi", monkeypatch)


async def test_local_words_do_not_reach_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(httpx2.Response(503), {})
    shown = await converse(server, "/7", monkeypatch)
    assert "There is no such button now." in shown
    assert not [path for path in server.asked if path.startswith("POST")]


async def test_what_is_not_turnback_is_said_in_a_line() -> None:
    client = Client("http://127.0.0.1:1", "t", httpx2.MockTransport(lambda _: httpx2.Response(200, text="<html>")))
    with pytest.raises(Problem, match="not Turnback"):
        await client.threads()
    await client.close()


def test_a_url_that_is_none_is_said_in_a_line() -> None:
    with pytest.raises(Problem, match="no URL"):
        Client("http://host:port", "t")


# what is told more than once


def sse(name: str, number: int = 1, **data: Any) -> str:
    return f"id: run-{number}\nevent: {name}\ndata: {json.dumps({'thread_id': THREAD['thread_id'], **data})}\n\n"


def said(role: str, text: str) -> str:
    return sse("message", message={"id": "m", "turn_index": 1, "role": role, "text": text})


def told(*events: str) -> httpx2.Response:
    return httpx2.Response(200, headers={"content-type": "text/event-stream"}, text="".join(events))


BEGUN, ENDED = sse("turn_started", turn_index=1, status="running"), sse("turn_finished", turn_index=1, status="done")


class Late(Server):
    """Its event stream is lost at once, and later tells what the test wants; `heard` is set once it has."""

    def __init__(self, result: dict[str, Any], *streams: httpx2.Response) -> None:
        super().__init__(told(), result)
        self.streams, self.lost, self.heard = list(streams), True, asyncio.Event()

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.path.endswith("/commands"):
            return httpx2.Response(200, json={"text": "Stopped.", "buttons": [], "error": None})
        if request.url.path != "/api/events" or self.lost:
            return super().__call__(request)
        if not self.streams:
            self.heard.set()
            return self.events
        return self.streams.pop(0)


async def converse_with(server: Late, *lines: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Say these while the stream is lost; then it comes back. All that is shown but the title."""
    monkeypatch.setattr(sessions, "SETTLE_SECONDS", 0.01)
    monkeypatch.setattr(sessions, "LISTEN_SECONDS", 0.01)
    monkeypatch.setattr(clients, "RETRY_SECONDS", (0.01,))
    out = io.StringIO()
    client = Client("http://127.0.0.1:1", "t", httpx2.MockTransport(server))
    session = Session(client, PlainScreen(out))
    await session.open(None, new=False)
    for line in lines:
        await session.handle(line, wait=True)
    server.lost = False
    await server.heard.wait()
    await session.close()
    await client.close()
    return out.getvalue().partition("\n")[2]


async def test_an_answer_whose_events_come_late_is_shown_once(monkeypatch: pytest.MonkeyPatch) -> None:
    events = told(BEGUN, sse("delta", text="hel"), sse("delta", text="lo"), said("assistant", "hello"), ENDED)
    server = Late({"turn_index": 1, "status": "done", "reply": "hello", "gates": []}, events)
    assert await converse_with(server, "hi", monkeypatch=monkeypatch) == "hello\n"


async def test_a_stopped_turn_whose_events_come_late_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    result = {"turn_index": 1, "status": "stopped", "reply": "Stopped.", "gates": []}
    server = Late(result, told(BEGUN, said("note", "Stopped."), ENDED))
    assert await converse_with(server, "hi", monkeypatch=monkeypatch) == "Stopped.\n"


async def test_stop_is_answered_once_where_its_event_comes_after_the_next_line(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Late({}, told(said("note", "Stopped."), ENDED))
    shown = await converse_with(server, "/stop", "/7", monkeypatch=monkeypatch)
    assert shown == "Stopped.\nThere is no such button now.\n"


async def test_stop_is_answered_once_where_the_message_that_it_stopped_is_answered_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result = {"turn_index": 1, "status": "stopped", "reply": "Stopped.", "gates": []}
    assert await converse_with(Late(result), "/stop", "hi", monkeypatch=monkeypatch) == "Stopped.\n"


async def test_stop_is_answered_once_where_its_event_comes_after_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Late({}, told(sse("reload", head=None), said("note", "Stopped."), ENDED))
    shown = await converse_with(server, "/stop", monkeypatch=monkeypatch)
    assert shown.count("Stopped.") == 1


async def test_the_same_answer_after_going_back_is_shown_again(monkeypatch: pytest.MonkeyPatch) -> None:
    moved = sse("reload", head="b" * 32)
    again = told(moved, BEGUN, said("assistant", "hello"), ENDED)
    server = Late({"turn_index": 1, "status": "done", "reply": "hello", "gates": []}, again)
    shown = await converse_with(server, "hi", monkeypatch=monkeypatch)
    assert shown == "hello\nThis chat was moved from elsewhere: it stands at bbbbbbbb.\nhello\n"


async def test_a_restart_of_the_server_is_no_move(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Late({}, told(sse("threads")), told(sse("reload", head=None)))
    assert await converse_with(server, "/7", monkeypatch=monkeypatch) == "There is no such button now.\n"
