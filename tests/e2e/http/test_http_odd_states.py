"""States as agents really make them, through the whole way: captured in a turn, listed, shown, compared,
restored, continued and forked. Every answer is JSON that a strict parser takes."""

from __future__ import annotations

import base64
import random
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest
from support.web import House, Patient, furnish
from support.world import Clock, Rules

from turnback.core import open_service
from turnback.core.agents.protocol import Context
from turnback.core.models import State
from turnback.core.policy import Budgets, TimeTravel

Client = httpx2.AsyncClient


def nested(depth: int) -> Any:
    value: Any = "bottom"
    for _ in range(depth):
        value = [value]
    return value


def cycle() -> dict[str, Any]:
    pad: dict[str, Any] = {"note": "me"}
    pad["self"] = pad
    return pad


def foreign() -> dict[str, Any]:
    zone = timezone(timedelta(hours=2))
    return {
        "price": Decimal("12.34"),
        "at": datetime(2026, 3, 29, 2, 30, tzinfo=zone),
        "pdf": b"%PDF",
        "ids": {2, 1},
        "obj": object(),
        "p": Path("/x"),
    }


def not_numbers() -> dict[str, float]:
    return {"mean": float("nan"), "max": float("inf"), "min": float("-inf")}


def surrogates() -> dict[str, Any]:
    return {"out": "report \udc88 end", "key \udc88": 1, "cut": "ok \ud83d", "nul": "a\0b"}


ODD: dict[str, tuple[Callable[[], Any], Any, bool]] = {
    "not numbers": (not_numbers, {"mean": None, "max": None, "min": None}, False),
    "surrogates": (
        surrogates,
        {"out": "report \udc88 end", "key \udc88": 1, "cut": "ok \ud83d", "nul": "a\0b"},
        False,
    ),
    "foreign values": (
        foreign,
        {
            "price": "12.34",
            "at": "2026-03-29T02:30:00+02:00",
            "pdf": {"$bytes": base64.b64encode(b"%PDF").decode()},
            "ids": [1, 2],
            "obj": {"$object": "object"},
            "p": "/x",
        },
        False,
    ),
    "big numbers": (lambda: {"n": 10**40, "id": 9007199254740993}, {"n": 10**40, "id": 9007199254740993}, False),
    "deep": (lambda: nested(400), nested(400), False),
    "too deep": (lambda: nested(900), None, True),
    "far too deep": (lambda: nested(200_000), None, True),
    "cycle": (cycle, None, True),
}
"""A value, what it has become (None: cut somewhere), whether its step is truncated."""


class Odd(Patient):
    """`odd NAME` keeps such a value as a tool's result, in its plan and its scratchpad; else like `Patient`."""

    seen: State

    async def run(self, state: State, text: str, context: Context) -> AsyncIterator[Mapping[str, Any]]:
        self.seen = state
        word, _, rest = text.partition(" ")
        if word == "odd":
            value = ODD[rest][0]()
            messages = state.get("messages", [])
            call = {"id": f"c{len(messages)}", "function": {"name": "look", "arguments": value}, "type": "function"}
            state = {
                **state,
                "plan": [value],
                "scratchpad": value,
                "messages": [
                    *messages,
                    {"role": "user", "content": text},
                    {"role": "assistant", "content": "", "tool_calls": [call]},
                    {"role": "tool", "tool_call_id": call["id"], "content": value},
                    {"role": "assistant", "content": "seen"},
                ],
            }
            yield {"type": "step", "state": state, "model": "odd"}
            yield {"type": "done", "state": state, "text": "seen"}
            return
        if word in ("image", "arguments"):
            state = (picture if word == "image" else big_call)(state, int(rest))
            yield {"type": "step", "state": state}
            yield {"type": "done", "state": state, "text": "seen"}
            return
        async for event in super().run(state, text, context):
            yield event


def picture(state: State, size: int) -> State:
    data = base64.b64encode(random.Random(size).randbytes(size)).decode()
    content = [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}]
    return {**state, "messages": [*state.get("messages", []), {"role": "user", "content": content}]}


def big_call(state: State, size: int) -> State:
    arguments = orjson.dumps({"text": random.Random(size).randbytes(size).hex()}).decode()
    call = {"id": "c1", "type": "function", "function": {"name": "write", "arguments": arguments}}
    return {**state, "messages": [{"role": "user", "content": "write"}, {"role": "assistant", "tool_calls": [call]}]}


@pytest.fixture
def rules() -> Rules:
    return Rules()


@pytest.fixture
def agent() -> Odd:
    return Odd()


@pytest.fixture
async def house(tmp_path: Path, agent: Odd, rules: Rules) -> AsyncIterator[House]:
    async with open_service(tmp_path / "data", agent=agent, clock=Clock(), policy=rules, maintain=False) as service:
        yield await furnish(service, agent, service.alerts._clock)  # type: ignore[arg-type]


async def say(client: Client, thread: str, text: str) -> dict[str, Any]:
    answer = await client.post(f"/api/threads/{thread}/messages?wait=true", json={"text": text})
    told: dict[str, Any] = answer.json()
    assert told["status"] == "done", told
    return told


async def strict(answer: httpx2.Response, status: int = 200) -> Any:
    """The answer's JSON, read by a parser that takes no NaN, no lone surrogate and no half of anything."""
    assert answer.status_code == status, answer.text[:500]
    if b"\\ud83d" in answer.content:
        return answer.json()  # a state, which keeps its lone surrogates as escapes
    if b"1" + b"0" * 40 in answer.content:
        return answer.json()  # orjson alone has no such numbers
    return orjson.loads(answer.content) if b"[" * 300 not in answer.content else answer.json()


async def post(client: Client, path: str, **body: Any) -> httpx2.Response:
    return await client.post(f"/api/replay/{path}", json=body)


async def steps(client: Client, thread: str) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = (await strict(await client.get(f"/api/replay/snapshots/{thread}")))["snapshots"]
    return listed


@pytest.mark.parametrize("name", ODD)
async def test_odd_value_goes_the_whole_way(ann: Client, thread: str, agent: Odd, name: str) -> None:
    _, expected, truncated = ODD[name]
    await say(ann, thread, "before")
    await say(ann, thread, f"odd {name}")
    for text in ("one", "two"):
        await say(ann, thread, text)
    saved = await steps(ann, thread)
    assert [s["turn_index"] for s in saved] == [1, 2, 3, 4], "every step is stored, and so are the later ones"
    odd = saved[1]["id"]
    assert saved[1]["truncated"] is truncated
    detail = await strict(await ann.get(f"/api/replay/snapshots/{thread}/{odd}"))
    if expected is not None:
        state = detail["state"]
        assert (state["plan"], state["scratchpad"]) == ([expected], expected)
        assert state["messages"][-2]["content"] == expected
    same = await strict(await post(ann, "compare", thread_id=thread, a=odd, b=odd))
    assert (same["identical"], same["changes"], same["only_a"]) == (True, [], [])
    other = await strict(await post(ann, "compare", thread_id=thread, a=saved[0]["id"], b=odd))
    assert other["common_messages"] == 2
    await strict(await post(ann, "preview", thread_id=thread, snapshot_id=odd))
    if truncated:
        for path in ("restore", "fork"):
            refused = await strict(await post(ann, path, thread_id=thread, snapshot_id=odd), 409)
            assert refused["code"] == "snapshot_truncated"
        return
    rewound = await strict(await post(ann, "restore", thread_id=thread, snapshot_id=odd))
    assert (rewound["head"], rewound["turns_set_aside"]) == (odd, 2)
    await say(ann, thread, "go on")
    there = agent.seen
    fork = await strict(await post(ann, "fork", thread_id=thread, snapshot_id=odd), 201)
    await say(ann, fork["thread_id"], "go on")
    assert agent.seen == there, "a fork's agent is given what the restored one's was"
    if expected is not None and name != "surrogates":
        assert there["scratchpad"] == expected


async def test_title_and_words_with_half_an_emoji_are_mended(ann: Client) -> None:
    headers = {"Content-Type": "application/json"}
    made = await ann.post("/api/threads", content=b'{"title":"ok \\ud83d"}', headers=headers)
    thread = (await strict(made, 201))["thread_id"]
    said = await ann.post(
        f"/api/threads/{thread}/messages?wait=true", content=b'{"text":"cut \\ud83d"}', headers=headers
    )
    assert (await strict(said))["status"] == "done"
    (step,) = await steps(ann, thread)
    assert step["summary"] == "cut \ufffd"
    fork = await strict(await post(ann, "fork", thread_id=thread, snapshot_id=step["id"]), 201)
    assert fork["title"] == "⑂ ok \ufffd"


async def test_image_is_stored_once_and_costs_later_steps_nothing(ann: Client, thread: str, agent: Odd) -> None:
    size = 1_000_000
    await say(ann, thread, f"image {size}")
    for n in range(20):
        await say(ann, thread, f"text {n}")
    saved = await steps(ann, thread)
    assert len(saved) == 21
    assert not any(s["truncated"] for s in saved)
    assert sum(s["stored_bytes"] for s in saved) < 1.5 * size
    await post(ann, "restore", thread_id=thread, snapshot_id=saved[14]["id"])
    await say(ann, thread, "look again")
    assert agent.seen["messages"][0] == picture({}, size)["messages"][0]


@pytest.mark.parametrize("kind", ["image", "arguments"])
async def test_step_that_is_too_big_is_cut_and_the_next_smaller_one_is_not(ann: Client, thread: str, kind: str) -> None:
    await say(ann, thread, f"{kind} 1600000")
    (cut,) = await steps(ann, thread)
    assert cut["truncated"] is True
    for path in ("restore", "fork"):
        assert (await strict(await post(ann, path, thread_id=thread, snapshot_id=cut["id"]), 409))[
            "code"
        ] == "snapshot_truncated"
    detail = await strict(await ann.get(f"/api/replay/snapshots/{thread}/{cut['id']}"))
    assert (detail["truncated"], "[cut: " in str(detail["state"])) == (True, True)
    await ann.post("/api/replay/undo", json={"thread_id": thread})
    await say(ann, thread, "small")
    (small,) = await steps(ann, thread)
    assert small["truncated"] is False
    await strict(await post(ann, "fork", thread_id=thread, snapshot_id=small["id"]), 201)


async def test_cut_step_leaves_the_chat_its_whole_state(ann: Client, thread: str, agent: Odd, rules: Rules) -> None:
    rules.value = TimeTravel(budgets=Budgets(max_snapshot_bytes=5000))
    await say(ann, thread, "image 20000")
    (cut,) = await steps(ann, thread)
    assert cut["truncated"] is True
    await say(ann, thread, "next")
    assert agent.seen["messages"][0] == picture({}, 20000)["messages"][0]


async def test_platform_ids_go_and_what_was_said_stays(ann: Client, thread: str, agent: Odd) -> None:
    said: list[dict[str, Any]] = [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": "",
            "message_id": "m-9",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "send", "arguments": '{"chat_id": 12345}'}},
                {"id": "c2", "name": "send", "args": {"chat_id": 12345, "text": "hi"}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": {"rows": [{"user_id": 8, "message_id": 77}]}},
        {"role": "tool", "tool_call_id": "c2", "content": '{"chat_id": 1}'},
        {"role": "assistant", "content": "done"},
    ]
    state: dict[str, Any] = {
        "chat_id": -100777,
        "config": {"configurable": {"user_id": 5, "thread": thread}},
        "messages": said,
        "scratchpad": {"note": {"chat_id": "customer 12"}},
        "plan": [{"user_id": 1}],
    }
    recorded = await strict(
        await ann.post(f"/api/replay/snapshots/{thread}", json={"turn_index": 1, "iteration": 0, "state": state}), 201
    )
    await say(ann, thread, "later")
    fork = await strict(await post(ann, "fork", thread_id=thread, snapshot_id=recorded["id"]), 201)
    await post(ann, "restore", thread_id=thread, snapshot_id=recorded["id"])
    await say(ann, thread, "go on")
    restored = agent.seen
    await say(ann, fork["thread_id"], "go on")
    for seen in (restored, agent.seen):
        assert "chat_id" not in seen
        assert "user_id" not in seen["config"]["configurable"]
        assert (seen["scratchpad"], seen["plan"]) == (state["scratchpad"], state["plan"])
        without = [{k: v for k, v in message.items() if k != "message_id"} for message in said]
        assert seen["messages"] == without
    assert thread not in str(agent.seen), "the source's id never gets into a fork"
