"""The time machine over HTTP."""

from __future__ import annotations

from typing import Any

import httpx2
import orjson
import pytest
from support.web import BASE, House

from turnback.web import schemas

Client = httpx2.AsyncClient


async def say(client: Client, thread: str, text: str) -> dict[str, Any]:
    answer = await client.post(f"/api/threads/{thread}/messages?wait=true", json={"text": text})
    assert answer.status_code == 200, answer.text
    result: dict[str, Any] = answer.json()
    schemas.TurnResult.model_validate(result)
    return result


async def steps(client: Client, thread: str, **params: str) -> list[dict[str, Any]]:
    answer = await client.get(f"/api/replay/snapshots/{thread}", params=params)
    assert answer.status_code == 200, answer.text
    listing = answer.json()
    schemas.Snapshots.model_validate(listing)
    snapshots: list[dict[str, Any]] = listing["snapshots"]
    return snapshots


async def post(client: Client, path: str, **body: Any) -> httpx2.Response:
    return await client.post(f"/api/replay/{path}", json=body)


async def test_threads_tell_what_their_steps_use(ann: Client, bob: Client, thread: str) -> None:
    await say(ann, thread, "steps 2")
    listed = (await ann.get("/api/replay/threads")).json()
    schemas.ThreadsWithSteps.model_validate(listed)
    (row,) = listed["threads"]
    assert (row["thread_id"], row["title"], row["steps"], row["turn_running"]) == (thread, "Trip", 3, False)
    assert row["stored_bytes"] > 0
    assert (await bob.get("/api/replay/threads")).json() == {"threads": []}


async def test_list_has_the_path_in_order(ann: Client, thread: str) -> None:
    await say(ann, thread, "steps 1")
    await say(ann, thread, "hello")
    answer = (await ann.get(f"/api/replay/snapshots/{thread}")).json()
    shown = [(s["turn_index"], s["number"], s["on_path"], s["head"]) for s in answer["snapshots"]]
    assert shown == [(1, 1, True, False), (1, 2, True, False), (2, 1, True, True)]
    assert answer["head"] == answer["snapshots"][-1]["id"]
    assert [t["turn_index"] for t in answer["turns"]] == [1, 2]
    assert answer["turns"][0]["steps"][0] == {"id": answer["snapshots"][0]["id"], "number": 1}


async def test_show_has_state_and_messages(ann: Client, thread: str) -> None:
    await say(ann, thread, "hello")
    (step,) = await steps(ann, thread)
    answer = await ann.get(f"/api/replay/snapshots/{thread}/{step['id'][:8].upper()}")
    detail = answer.json()
    schemas.StepDetail.model_validate(detail)
    assert detail["state"]["messages"][0] == {"role": "user", "content": "hello"}
    assert [m["text"] for m in detail["messages"]] == ["hello", "said hello"]


async def test_restore_goes_back_and_redo_returns(ann: Client, thread: str) -> None:
    await say(ann, thread, "one")
    await say(ann, thread, "act two")
    first, *_, last = await steps(ann, thread)
    preview = (await post(ann, "preview", thread_id=thread, snapshot_id=first["id"])).json()
    schemas.Preview.model_validate(preview)
    rewound = (await post(ann, "restore", thread_id=thread, snapshot_id=first["id"])).json()
    schemas.Rewound.model_validate(rewound)
    assert rewound == {k: preview[k] for k in rewound}
    assert (rewound["head"], rewound["turns_set_aside"]) == (first["id"], 1)
    assert [e["tool"] for e in rewound["effects"]] == ["send_mail"]
    assert [s["id"] for s in await steps(ann, thread)] == [first["id"]]
    assert last["id"] in [s["id"] for s in await steps(ann, thread, include="all")]
    messages = (await ann.get(f"/api/threads/{thread}/messages")).json()["messages"]
    assert [m["text"] for m in messages] == ["one", "said one"]
    redone = (await post(ann, "redo", thread_id=thread)).json()
    assert (redone["head"], redone["turns_brought_back"]) == (last["id"], 1)


async def test_undo_and_redo_count(ann: Client, thread: str) -> None:
    for text in ("one", "two", "three"):
        await say(ann, thread, text)
    assert (await post(ann, "undo", thread_id=thread)).json()["turns_set_aside"] == 1
    assert (await post(ann, "undo", thread_id=thread)).json()["turns_set_aside"] == 1
    redone = (await post(ann, "redo", thread_id=thread, n=5)).json()
    assert (redone["turn_index"], redone["turns_brought_back"]) == (3, 2)
    refused = await post(ann, "redo", thread_id=thread)
    assert (refused.status_code, refused.json()["code"]) == (409, "nothing_to_redo")


async def test_reset_goes_to_the_beginning(ann: Client, thread: str) -> None:
    await say(ann, thread, "one")
    reset = (await ann.post(f"/api/threads/{thread}/reset")).json()
    schemas.Rewound.model_validate(reset)
    assert (reset["head"], reset["turn_index"]) == (None, 0)
    refused = await post(ann, "undo", thread_id=thread)
    assert (refused.status_code, refused.json()["code"]) == (409, "nothing_to_undo")


async def test_fork_makes_a_chat_of_its_own(ann: Client, thread: str) -> None:
    await say(ann, thread, "one")
    (step,) = await steps(ann, thread)
    answer = await post(ann, "fork", thread_id=thread, snapshot_id=step["id"])
    assert answer.status_code == 201
    fork = answer.json()
    schemas.Fork.model_validate(fork)
    assert fork["title"] == "⑂ Trip"
    assert fork["url"] == f"{BASE}/chats/{fork['thread_id']}"
    assert fork["forked_from"] == {"thread_id": thread, "snapshot_id": step["id"]}
    assert (await say(ann, fork["thread_id"], "more"))["turn_index"] == 2
    across = await post(ann, "compare", thread_id=thread, a=step["id"], b_thread_id=fork["thread_id"])
    compared = across.json()
    schemas.Comparison.model_validate(compared)
    assert [m["text"] for m in compared["only_b"]] == ["more", "said more"]


async def test_compare_names_what_differs(ann: Client, thread: str) -> None:
    await say(ann, thread, "one")
    await say(ann, thread, "set mood good")
    first, second = await steps(ann, thread)
    compared = (await post(ann, "compare", thread_id=thread, a=first["id"], b=second["id"])).json()
    schemas.Comparison.model_validate(compared)
    assert {"op": "add", "path": "/mood", "value": "good"} in compared["changes"]
    assert compared["identical"] is False
    same = (await post(ann, "compare", thread_id=thread, a=second["id"])).json()
    assert same["identical"] is True


async def test_label_names_a_step(ann: Client, thread: str) -> None:
    await say(ann, thread, "one")
    (step,) = await steps(ann, thread)
    path = f"/api/replay/snapshots/{thread}/{step['id']}"
    labelled = (await ann.patch(path, json={"label": "Good"})).json()
    schemas.Step.model_validate(labelled)
    assert labelled["label"] == "Good"
    assert (await ann.get(f"/api/replay/snapshots/{thread}/@good")).json()["id"] == step["id"]
    assert (await ann.patch(path, json={"label": None})).json()["label"] is None


@pytest.mark.parametrize("label", ["", "two words", "x" * 33, "a/b"])
async def test_bad_label_is_refused(ann: Client, thread: str, label: str) -> None:
    await say(ann, thread, "one")
    (step,) = await steps(ann, thread)
    answer = await ann.patch(f"/api/replay/snapshots/{thread}/{step['id']}", json={"label": label})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")


async def test_clear_deletes_steps_and_keeps_the_chat(ann: Client, thread: str) -> None:
    await say(ann, thread, "steps 2")
    answer = await ann.delete(f"/api/replay/threads/{thread}")
    assert (answer.status_code, answer.json()) == (200, {"deleted": 3})
    assert await steps(ann, thread) == []
    assert len((await ann.get(f"/api/threads/{thread}/messages")).json()["messages"]) == 2


async def test_recorded_step_becomes_the_head(ann: Client, thread: str) -> None:
    body = {"turn_index": 1, "iteration": 0, "state": {"messages": [{"role": "user", "content": "hi"}]}}
    answer = await ann.post(f"/api/replay/snapshots/{thread}", json={**body, "model": "m", "summary": "s"})
    assert answer.status_code == 201
    schemas.Recorded.model_validate(answer.json())
    assert answer.json()["result"] == "stored"
    (step,) = await steps(ann, thread)
    assert (step["id"], step["head"], step["model"], step["summary"]) == (answer.json()["id"], True, "m", "s")
    lower = await ann.post(f"/api/replay/snapshots/{thread}", json={**body, "turn_index": 5})
    assert lower.status_code == 201
    below = await ann.post(f"/api/replay/snapshots/{thread}", json={**body, "turn_index": 4})
    assert (below.status_code, below.json()["code"]) == (422, "invalid_request")


async def test_idempotency_key_records_once(ann: Client, thread: str) -> None:
    body = {"turn_index": 1, "iteration": 0, "state": {"n": 1}}
    answers = [
        await ann.post(f"/api/replay/snapshots/{thread}", json=body, headers={"Idempotency-Key": key})
        for key in ("k1", "k1", "k2")
    ]
    first, second, third = (a.json()["id"] for a in answers)
    assert first == second != third
    assert len(await steps(ann, thread)) == 2


async def test_odd_states_come_back_as_they_were(ann: Client, thread: str) -> None:
    deep: Any = "bottom"
    for _ in range(300):
        deep = [deep]
    state = '{"big":123456789012345678901234567890,"cut":"ok \\ud83d","k\\udc88":1,"nul":"a\\u0000b","deep":%s}'
    text = f'{{"turn_index":1,"iteration":0,"state":{state % str(deep).replace(chr(39), chr(34))}}}'
    recorded = await ann.post(
        f"/api/replay/snapshots/{thread}", content=text.encode(), headers={"Content-Type": "application/json"}
    )
    assert recorded.json()["result"] == "stored"
    shown = await ann.get(f"/api/replay/snapshots/{thread}/{recorded.json()['id']}")
    assert shown.status_code == 200
    got = shown.json()["state"]
    assert got == {"big": 123456789012345678901234567890, "cut": "ok \ud83d", "k\udc88": 1, "nul": "a\0b", "deep": deep}


async def test_nan_in_a_state_is_the_same_everywhere(ann: Client, thread: str) -> None:
    text = (
        '{"turn_index":1,"iteration":0,"state":{"messages":[{"role":"tool","tool_call_id":"c",'
        '"content":{"mean":NaN,"max":Infinity,"min":-Infinity}}]}}'
    )
    headers = {"Content-Type": "application/json"}
    ids = []
    for _ in range(2):
        recorded = await ann.post(f"/api/replay/snapshots/{thread}", content=text, headers=headers)
        assert recorded.json()["result"] == "stored"
        ids.append(recorded.json()["id"])
    answers = [
        await ann.get(f"/api/replay/snapshots/{thread}"),
        await ann.get(f"/api/replay/snapshots/{thread}/{ids[1]}"),
        await post(ann, "compare", thread_id=thread, a=ids[0], b=ids[1]),
        await post(ann, "restore", thread_id=thread, snapshot_id=ids[0]),
        await post(ann, "fork", thread_id=thread, snapshot_id=ids[0]),
    ]
    for answer in answers:
        assert answer.is_success
        orjson.loads(answer.content)
    assert answers[1].json()["state"]["messages"][0]["content"] == {"mean": None, "max": None, "min": None}
    assert answers[2].json()["identical"] is True


async def test_ambiguous_step_names_candidates(house: House, ann: Client, thread: str) -> None:
    ids = iter(["abcd" + "0" * 28, "abcd" + "1" * 28])
    house.service.rewind._recording._new_id = lambda: next(ids)
    for n in (1, 2):
        await ann.post(f"/api/replay/snapshots/{thread}", json={"turn_index": n, "iteration": 0, "state": {"n": n}})
    refused = await post(ann, "restore", thread_id=thread, snapshot_id="ABCD")
    problem = refused.json()
    assert (refused.status_code, problem["code"]) == (409, "ambiguous_step")
    assert [(c["turn_index"], c["number"]) for c in problem["candidates"]] == [(1, 1), (2, 1)]


@pytest.mark.parametrize("ref", ["abc", "", "%", "_", "@", "zzzz", "list2", "../", "a" * 33, "ﬀ00"])
async def test_odd_references_are_refused(ann: Client, thread: str, ref: str) -> None:
    await say(ann, thread, "one")
    answer = await post(ann, "restore", thread_id=thread, snapshot_id=ref)
    assert answer.status_code in (404, 422)
    assert answer.json()["code"] in ("not_found", "invalid_request")


async def test_restore_during_a_turn_is_refused(house: House, ann: Client, thread: str) -> None:
    await say(ann, thread, "one")
    (step,) = await steps(ann, thread)
    sent = await ann.post(f"/api/threads/{thread}/messages", json={"text": "hold"})
    assert (sent.status_code, sent.json()) == (202, {"turn_index": 2, "status": "running"})
    await house.agent.held.wait()
    for path, body in (
        ("restore", {"snapshot_id": step["id"]}),
        ("undo", {}),
        ("redo", {}),
    ):
        refused = await post(ann, path, thread_id=thread, **body)
        assert (refused.status_code, refused.json()["code"]) == (409, "turn_running")
    house.agent.let_go.set()
