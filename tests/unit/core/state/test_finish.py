"""States taken in the middle of something, as ones that a conversation can go on from."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessagesTypeAdapter, repair_messages

from turnback.core.state.finish import finish, is_finished
from turnback.core.state.messages import readable
from turnback.core.state.pairing import NOT_RUN

Message = dict[str, Any]


def unwrap(message: Message) -> Message:
    if "lc" in message:
        name = str(message["id"][-1])
        return {"type": {"H": "human", "A": "ai", "T": "tool"}[name[0]], **message["kwargs"]}
    return {"type": message["type"], **message["data"]} if "data" in message else message


def strict(messages: list[Message]) -> None:
    """As strict as OpenAI and Anthropic: every result right behind its call, once, and none without."""
    due: list[str] = []
    for message in map(unwrap, messages):
        results = results_in(message)
        for call in results:
            assert call in due, f"a result without a call before it: {call}"
            due.remove(call)
        if not results or "parts" in message or isinstance(message.get("content"), list):
            assert not due, f"no result behind the call: {due}"
        due = due or calls_in(message)
    assert not due, f"no result behind the call: {due}"


def calls_in(message: Message) -> list[str]:
    if "parts" in message:
        return [part["tool_call_id"] for part in message["parts"] if part["part_kind"] == "tool-call"]
    if message.get("tool_calls"):
        return [call["id"] for call in message["tool_calls"]]
    content = message.get("content")
    return [block["id"] for block in content if block["type"] == "tool_use"] if isinstance(content, list) else []


def results_in(message: Message) -> list[str]:
    if "tool_call_id" in message:
        return [message["tool_call_id"]]
    pieces = message.get("parts") or message.get("content") or []
    if isinstance(pieces, str):
        return []
    flags = [piece.get("part_kind") == "tool-return" or piece.get("type") == "tool_result" for piece in pieces]
    assert flags == sorted(flags, reverse=True), "results come first"
    return [
        piece.get("tool_call_id") or piece.get("tool_use_id") for piece, flag in zip(pieces, flags, strict=True) if flag
    ]


def results_of(messages: list[Message]) -> list[Any]:
    return [entry["tool_result"] for entry in readable({"messages": messages}) if entry["role"] == "tool"]


CALLS = ["a", "b", "c"]
SOME = [list(some) for n in range(4) for some in itertools.combinations(CALLS, n)]


@pytest.mark.parametrize("done", SOME, ids="".join)
def test_parallel_calls_get_the_results_that_are_missing(form: Any, done: list[str]) -> None:
    state = {"messages": [form.ask("go"), form.call(CALLS), *(form.result(done) if done else [])]}
    before = copy.deepcopy(state)
    finished = finish(state)
    strict(finished["messages"])
    assert results_of(finished["messages"]) == [f"result {call}" if call in done else NOT_RUN for call in CALLS]
    assert finished["messages"][:2] == before["messages"][:2]
    assert state == before
    assert finish(finished) is finished
    assert is_finished(finished)
    assert is_finished(state) == (done == CALLS)
    assert (finish(state) is state) == (done == CALLS)


def test_results_that_stand_elsewhere_move_behind_their_call(form: Any) -> None:
    messages = [form.ask("go"), form.call(["a", "b"]), *form.result(["b"]), form.ask("and?"), *form.result(["a"])]
    finished = finish({"messages": messages})
    strict(finished["messages"])
    assert results_of(finished["messages"]) == ["result a", "result b"]
    assert "and?" in [entry["text"] for entry in readable(finished)]


def test_results_without_a_call_go(form: Any) -> None:
    messages = [*form.result(["x"]), form.ask("go"), form.call(["a"]), *form.result(["a"]), *form.result(["a"])]
    finished = finish({"messages": messages})
    strict(finished["messages"])
    assert results_of(finished["messages"]) == ["result a"]


def test_an_open_call_before_later_turns_is_closed(form: Any) -> None:
    state = {"messages": [form.ask("1"), form.call(["a"]), form.ask("2"), form.call(["b"]), *form.result(["b"])]}
    assert not is_finished(state)
    finished = finish(state)
    strict(finished["messages"])
    assert results_of(finished["messages"]) == [NOT_RUN, "result b"]


def test_call_ids_that_are_used_again_belong_to_the_nearest_call(form: Any) -> None:
    messages = [
        form.call(["a"]),
        *form.result(["a"]),
        form.call(["a"]),
        form.ask("x"),
        form.call(["a"]),
        *form.result(["a"]),
    ]
    finished = finish({"messages": messages})
    strict(finished["messages"])
    assert results_of(finished["messages"]) == ["result a", NOT_RUN, "result a"]


def test_results_in_another_order_than_their_calls_stay(form: Any) -> None:
    state = {"messages": [form.call(["a", "b"]), *form.result(["b", "a"])]}
    assert finish(state) is state


def test_a_real_result_replaces_our_marker(form: Any) -> None:
    once = finish({"messages": [form.call(["a"])]})
    again = finish({"messages": [*once["messages"], form.ask("x"), *form.result(["a"])]})
    assert results_of(again["messages"]) == ["result a"]


def test_a_users_words_beside_results_stay() -> None:
    blocks = [{"type": "tool_result", "tool_use_id": "a", "content": "A"}, {"type": "text", "text": "and this"}]
    calls: list[Message] = [{"type": "tool_use", "id": call, "name": "t", "input": {}} for call in ("a", "b")]
    finished = finish({"messages": [{"role": "assistant", "content": calls}, {"role": "user", "content": blocks}]})
    strict(finished["messages"])
    assert len(finished["messages"]) == 2
    assert [block["type"] for block in finished["messages"][1]["content"]] == ["tool_result", "tool_result", "text"]


def test_results_after_words_come_first() -> None:
    blocks = [{"type": "text", "text": ""}, {"type": "tool_result", "tool_use_id": "a", "content": "A"}]
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "t", "input": {}}]}
    strict(finish({"messages": [call, {"role": "user", "content": blocks}]})["messages"])


def test_signed_thinking_stays_the_same_object(form: Any) -> None:
    call = form.call(CALLS)
    assert any(message is call for message in finish({"messages": [call]})["messages"])


def test_calls_without_ids_are_answered_in_order() -> None:
    call = {"role": "assistant", "content": "", "tool_calls": [{"name": "x", "args": {}}, {"name": "y", "args": {}}]}
    state = {"messages": [call, {"role": "tool", "content": "X"}]}
    finished = finish(state)
    assert [message["content"] for message in finished["messages"][1:]] == ["X", NOT_RUN]
    assert finish(finished) is finished


def test_legacy_function_calls_are_answered() -> None:
    call = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    finished = finish({"messages": [call]})
    assert finished["messages"][1] == {"role": "function", "name": "f", "content": NOT_RUN}
    assert finish(finished) is finished


def test_raw_langchain_calls_are_answered() -> None:
    call = {
        "type": "ai",
        "content": "",
        "additional_kwargs": {"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": ""}}]},
    }
    assert finish({"messages": [call]})["messages"][1]["tool_call_id"] == "a"


def test_calls_that_the_provider_runs_itself_need_no_result() -> None:
    parts = [{"part_kind": "builtin-tool-call", "tool_name": "web", "args": {}, "tool_call_id": "a"}]
    blocks = [{"type": "server_tool_use", "id": "a", "name": "web", "input": {}}]
    for message in ({"kind": "response", "parts": parts}, {"role": "assistant", "content": blocks}):
        state = {"messages": [message]}
        assert finish(state) is state


def test_a_suspended_response_does_not_go_on_by_itself() -> None:
    state = {"messages": [{"kind": "response", "parts": [{"part_kind": "text", "content": "x"}], "state": "suspended"}]}
    assert not is_finished(state)
    finished = finish(state)
    assert finished["messages"][0]["state"] == "interrupted"
    assert is_finished(finished)


def test_pydantic_ai_reads_a_finished_history_and_has_nothing_to_repair() -> None:
    call = {
        "kind": "response",
        "timestamp": "2026-01-01T00:00:00Z",
        "parts": [{"part_kind": "tool-call", "tool_name": "t", "args": {}, "tool_call_id": "a"}],
    }
    ask = {
        "kind": "request",
        "parts": [{"part_kind": "user-prompt", "content": "x", "timestamp": "2026-01-01T00:00:00Z"}],
    }
    history = ModelMessagesTypeAdapter.validate_python(finish({"messages": [ask, call]})["messages"])
    assert repair_messages(history) == history
    assert len(history) == 3


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("__interrupt__", [{"value": "ok?"}]),
        ("pending_approvals", []),
        ("gates", [{"id": "g"}]),
        ("pending", [{"tool": "run_command", "args": {}}]),
        ("pending", {"g1": {"tool_name": "x"}}),
    ],
)
def test_what_a_run_waits_for_goes(key: str, value: Any) -> None:
    state = {"messages": [], key: value, "plan": [1]}
    assert not is_finished(state)
    assert finish(state) == {"messages": [], "plan": [1]}


@pytest.mark.parametrize(
    "state", [{"pending": ["buy milk"]}, {"pending": 3}, {"next": "page 2"}, {"routing": {"next": "a"}}]
)
def test_keys_that_may_be_the_agents_own_stay(state: dict[str, Any]) -> None:
    assert finish(state) is state
    assert is_finished(state)


@pytest.mark.parametrize(
    "messages",
    [
        None,
        5,
        "x",
        {},
        [],
        [None, 1, "x", [], {}],
        [{"role": None}],
        [{"parts": 1}],
        [{"kind": "request", "parts": [1, {}]}],
    ],
)
def test_odd_messages_are_left_alone(messages: Any) -> None:
    state = {"messages": messages}
    assert finish(state) is state
    assert is_finished(state)


ids = st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=1, max_size=3, unique=True)
moves = st.lists(st.tuples(st.sampled_from(["ask", "call", "result"]), ids), max_size=8)


@given(moves=moves)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_history_is_finished_once_and_accepted(form: Any, moves: list[tuple[str, list[str]]]) -> None:
    messages: list[Message] = []
    for move, calls in moves:
        messages += [form.ask("x")] if move == "ask" else [form.call(calls)] if move == "call" else form.result(calls)
    state = {"messages": messages}
    finished = finish(state)
    strict(finished["messages"])
    assert finish(finished) is finished
    assert is_finished(state) == (finished is state)
    assert [calls_in(unwrap(m)) for m in finished["messages"] if calls_in(unwrap(m))] == [
        c for move, c in moves if move == "call"
    ]
