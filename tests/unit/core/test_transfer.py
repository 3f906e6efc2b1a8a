"""Reading conversations from elsewhere."""

from __future__ import annotations

import json
from typing import Any

import pytest

from turnback.core.transfer import NotImportable, read

CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": "What  is\n1+1?"},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function"}]},
    {"role": "tool", "tool_call_id": "c", "content": "2"},
    {"role": "assistant", "content": "2"},
    {"role": "user", "content": [{"type": "text", "text": "thanks"}]},
    {"role": "assistant", "content": "!"},
]


def step(**changes: Any) -> dict[str, Any]:
    return {
        "id": "a" * 32,
        "thread_id": "b" * 32,
        "turn_index": 1,
        "iteration": 0,
        "created_at": "2026-01-01T00:00:00.000Z",
        "summary": "hello",
        "parent": None,
        "state": {"messages": []},
        **changes,
    }


def test_chat_becomes_one_step_a_turn() -> None:
    (found,) = read(json.dumps({"messages": CHAT}))
    assert found.title == "What is 1+1?"
    assert [(s.turn_index, s.summary, len(s.state["messages"])) for s in found.steps] == [
        (1, "What is 1+1?", 5),
        (2, "thanks", 7),
    ]
    assert found.steps[-1].state == {"messages": CHAT}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(CHAT),
        json.dumps([{"messages": CHAT}]),
        json.dumps({"messages": CHAT, "title": "Sums"}, indent=1),
        "\ufeff" + json.dumps({"messages": CHAT}) + "\r\n",
    ],
)
def test_every_form_of_a_chat_is_read(text: str) -> None:
    (found,) = read(text)
    assert len(found.steps) == 2


def test_json_lines_hold_a_chat_each() -> None:
    lines = [json.dumps({"messages": CHAT}), "", json.dumps({"messages": CHAT[:2], "title": "Other"})]
    first, second = read("\n".join(lines))
    assert (first.title, second.title) == ("What is 1+1?", "Other")


def test_chat_without_a_user_is_one_step() -> None:
    (found,) = read(json.dumps({"messages": [{"role": "assistant", "content": "hi"}]}))
    assert [len(s.state["messages"]) for s in found.steps] == [1]


def test_export_keeps_ids_and_groups_threads() -> None:
    lines = [step(label="x", head=True), step(id="c" * 32, thread_id="d" * 32, parent="a" * 32)]
    first, second = read("\n".join(map(json.dumps, lines)))
    assert (first.original, first.steps[0].original, first.steps[0].label) == ("b" * 32, "a" * 32, "x")
    assert (second.original, second.steps[0].parent) == ("d" * 32, "a" * 32)


def test_whole_numbers_of_any_size_and_lone_surrogates_survive() -> None:
    (found,) = read(json.dumps(step(state={"n": 2**80, "s": "\udc88"})))
    assert found.steps[0].state == {"n": 2**80, "s": "\udc88"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "nothing"),
        ("not json", "line 1 is not JSON"),
        ('{"messages": [{"role": "user", "content": "a"}]}\n{oops', "line 2 is not JSON"),
        ("{}", "neither"),
        ("[1]", "neither"),
        ('{"messages": []}', "neither"),
        ('{"messages": [{"role": "robot", "content": "a"}]}', "message 1: has no role"),
        ('{"messages": ["a"]}', "message 1: has no role"),
        ('{"messages": [{"role": "user", "content": 7}]}', "content"),
        (json.dumps(step(state=[])), "state is not an object"),
        (json.dumps(step(id="x")), "id is not"),
        (json.dumps(step(thread_id="../x")), "thread_id"),
        (json.dumps(step(turn_index=0)), "turn_index"),
        (json.dumps(step(turn_index=True)), "turn_index"),
        (json.dumps(step(iteration=-1)), "iteration"),
        (json.dumps(step(created_at="yesterday")), "created_at"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_neither_is_refused_with_where_and_why(text: str, words: str) -> None:
    with pytest.raises(NotImportable, match=words):
        read(text)
