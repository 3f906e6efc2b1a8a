"""Conversations over HTTP."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from support.web import BASE, House

from turnback.web import schemas

Client = httpx2.AsyncClient


async def ask(client: Client, thread: str, text: str) -> dict[str, Any]:
    answer = await client.post(f"/api/threads/{thread}/messages?wait=true", json={"text": text})
    assert answer.status_code == 200, answer.text
    result: dict[str, Any] = answer.json()
    schemas.TurnResult.model_validate(result)
    return result


async def test_started_chat_is_listed_and_read(ann: Client, bob: Client) -> None:
    answer = await ann.post("/api/threads", json={"title": "Trip"})
    assert answer.status_code == 201
    started = answer.json()
    assert started == {
        "thread_id": started["thread_id"],
        "title": "Trip",
        "url": f"{BASE}/chats/{started['thread_id']}",
    }
    listed = (await ann.get("/api/threads")).json()
    schemas.Threads.model_validate(listed)
    assert [t["thread_id"] for t in listed["threads"]] == [started["thread_id"]]
    read = (await ann.get(f"/api/threads/{started['thread_id']}")).json()
    assert read == listed["threads"][0]
    assert (read["surface"], read["turn_running"], read["spent"]) == ("api", False, {"tokens": 0, "usd": 0.0})
    assert (await bob.get("/api/threads")).json() == {"threads": []}


async def test_chat_starts_without_a_body(ann: Client) -> None:
    assert (await ann.post("/api/threads")).status_code == 201
    assert (await ann.post("/api/threads", json={})).status_code == 201


async def test_list_is_mine_for_admins_too(root: Client, thread: str) -> None:
    assert (await root.get("/api/threads")).json() == {"threads": []}
    assert (await root.get(f"/api/threads/{thread}")).status_code == 200


async def test_rename_answers_with_the_chat(ann: Client, thread: str) -> None:
    answer = await ann.patch(f"/api/threads/{thread}", json={"title": "Rome"})
    assert answer.json()["title"] == "Rome"


async def test_title_cut_in_an_emoji_is_mended(ann: Client, thread: str) -> None:
    body = b'{"title": "ok \\ud83d"}'
    answer = await ann.patch(f"/api/threads/{thread}", content=body, headers={"Content-Type": "application/json"})
    assert answer.json()["title"] == "ok \ufffd"


async def test_delete_leaves_nothing(ann: Client, thread: str) -> None:
    await ask(ann, thread, "one")
    answer = await ann.delete(f"/api/threads/{thread}")
    assert (answer.status_code, answer.content) == (204, b"")
    assert (await ann.get(f"/api/threads/{thread}")).status_code == 404
    assert (await ann.delete(f"/api/threads/{thread}")).status_code == 404


async def test_answer_comes_with_wait(ann: Client, thread: str) -> None:
    result = await ask(ann, thread, "hello")
    assert result == {"turn_index": 1, "status": "done", "reply": "said hello", "gates": []}


async def test_message_during_a_turn_waits_its_turn(house: House, ann: Client, thread: str) -> None:
    await ann.post(f"/api/threads/{thread}/messages", json={"text": "hold"})
    await house.agent.held.wait()
    queued = await ann.post(f"/api/threads/{thread}/messages", json={"text": "next"})
    assert (queued.status_code, queued.json()) == (202, {"turn_index": None, "status": "queued"})
    assert (await ann.get(f"/api/threads/{thread}")).json()["turn_running"] is True
    house.agent.let_go.set()
    assert (await ask(ann, thread, "last"))["turn_index"] == 3


@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
async def test_blank_message_is_refused(ann: Client, thread: str, text: str) -> None:
    answer = await ann.post(f"/api/threads/{thread}/messages", json={"text": text})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
    assert answer.json()["detail"] == "text: this must not be blank"
    assert (await ann.get(f"/api/threads/{thread}/messages")).json() == {"messages": []}


async def test_transcript_says_what_is_set_aside(ann: Client, thread: str) -> None:
    await ask(ann, thread, "one")
    await ask(ann, thread, "two")
    await ann.post("/api/replay/undo", json={"thread_id": thread})
    path = (await ann.get(f"/api/threads/{thread}/messages")).json()
    schemas.Messages.model_validate(path)
    assert [(m["role"], m["text"]) for m in path["messages"]] == [("user", "one"), ("assistant", "said one")]
    assert "set_aside" not in path["messages"][0]
    whole = (await ann.get(f"/api/threads/{thread}/messages?include=all")).json()["messages"]
    assert [m["set_aside"] for m in whole] == [False, False, True, True]


async def test_stop_says_whether_a_turn_ran(house: House, ann: Client, thread: str) -> None:
    idle = await ann.post(f"/api/threads/{thread}/stop")
    assert (idle.status_code, idle.json()) == (202, {"stopped": False})
    await ann.post(f"/api/threads/{thread}/messages", json={"text": "hold"})
    await house.agent.held.wait()
    stopped = await ann.post(f"/api/threads/{thread}/stop")
    assert (stopped.status_code, stopped.json()) == (202, {"stopped": True})


@pytest.mark.parametrize(("approve", "reply"), [(True, "said approved Eva"), (False, "said denied Eva")])
async def test_approval_is_waited_for_and_given(ann: Client, thread: str, approve: bool, reply: str) -> None:
    waiting = await ask(ann, thread, "ask Eva")
    assert (waiting["status"], waiting["turn_index"]) == ("approval_pending", 1)
    (gate,) = waiting["gates"]
    assert (gate["tool"], gate["args"]) == ("send_mail", {"to": "Eva"})
    refused = await ann.post("/api/replay/undo", json={"thread_id": thread})
    assert (refused.status_code, refused.json()["code"]) == (409, "approval_pending")
    assert [g["id"] for g in refused.json()["gates"]] == [gate["id"]]
    answer = await ann.post(f"/api/threads/{thread}/approvals/{gate['id']}?wait=true", json={"approve": approve})
    assert (answer.status_code, answer.json()["status"], answer.json()["reply"]) == (200, "done", reply)


async def test_approval_without_wait_answers_at_once(ann: Client, thread: str) -> None:
    (gate,) = (await ask(ann, thread, "ask Eva"))["gates"]
    answer = await ann.post(f"/api/threads/{thread}/approvals/{gate['id']}", json={"approve": True})
    assert answer.status_code == 202
    schemas.Decided.model_validate(answer.json())
    assert answer.json()["status"] == "approved"
    again = await ann.post(f"/api/threads/{thread}/approvals/{gate['id']}", json={"approve": False})
    assert (again.status_code, again.json()["code"]) == (404, "not_found")


async def test_gate_of_another_chat_is_not_found(ann: Client, bob: Client, thread: str) -> None:
    (gate,) = (await ask(ann, thread, "ask Eva"))["gates"]
    theirs = (await bob.post("/api/threads")).json()["thread_id"]
    for at in (thread, theirs):
        answer = await bob.post(f"/api/threads/{at}/approvals/{gate['id']}", json={"approve": True})
        assert answer.status_code == 404


async def test_command_goes_to_the_dispatch(ann: Client, thread: str) -> None:
    answer = (await ann.post(f"/api/threads/{thread}/commands", json={"text": "/replay list"})).json()
    schemas.Spoken.model_validate(answer)
    assert answer["text"] == f"{thread}: /replay list"


async def test_fact_is_listed_and_forgotten(ann: Client, thread: str) -> None:
    await ask(ann, thread, "remember the sea")
    memory = (await ann.get(f"/api/threads/{thread}/memory")).json()
    schemas.Memory.model_validate(memory)
    (fact,) = memory["facts"]
    assert (fact["text"], fact["turn_index"]) == ("the sea", 1)
    assert (await ann.delete(f"/api/threads/{thread}/memory/{fact['id']}")).status_code == 204
    assert (await ann.get(f"/api/threads/{thread}/memory")).json() == {"facts": []}
    assert (await ann.delete(f"/api/threads/{thread}/memory/{fact['id']}")).status_code == 404


async def test_list_of_chats_works_without_the_step_store(
    house: House, ann: Client, thread: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from turnback.core.errors import StoreUnavailable

    async def fail(*_args: object) -> None:
        raise StoreUnavailable

    for name in ("usage", "totals", "rows"):
        monkeypatch.setattr(house.service.steps, name, fail)
    assert (await ann.get("/api/threads")).status_code == 200
    assert (await ann.get("/readyz")).json() == {"status": "degraded"}
    for path in ("/api/replay/threads", f"/api/replay/snapshots/{thread}"):
        answer = await ann.get(path)
        assert (answer.status_code, answer.json()["code"]) == (503, "store_unavailable")
