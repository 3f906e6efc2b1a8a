"""A conversation in the terminal where the server's event stream is lost, or wrong."""

from __future__ import annotations

import io
from typing import Any

import httpx2
import pytest

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
