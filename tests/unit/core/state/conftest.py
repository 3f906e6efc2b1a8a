"""Histories in each form, and a checker as strict as the strictest provider."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Message = dict[str, Any]


class Form:
    """How one agent library writes a call, a result and a word; `calls` and `results` are ids."""

    def __init__(
        self,
        name: str,
        ask: Callable[[str], Message],
        call: Callable[[list[str]], Message],
        result: Callable[[list[str]], list[Message]],
    ) -> None:
        self.name, self.ask, self.call, self.result = name, ask, call, result


def _openai() -> Form:
    return Form(
        "openai",
        lambda text: {"role": "user", "content": text},
        lambda ids: {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": i, "type": "function", "function": {"name": f"t{i}", "arguments": '{"x": 1}'}} for i in ids
            ],
        },
        lambda ids: [{"role": "tool", "tool_call_id": i, "content": f"result {i}"} for i in ids],
    )


def _anthropic() -> Form:
    return Form(
        "anthropic",
        lambda text: {"role": "user", "content": [{"type": "text", "text": text}]},
        lambda ids: {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                *[{"type": "tool_use", "id": i, "name": f"t{i}", "input": {"x": 1}} for i in ids],
            ],
        },
        lambda ids: [
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": i, "content": f"result {i}"} for i in ids],
            }
        ],
    )


def _pydantic_ai() -> Form:
    return Form(
        "pydantic-ai",
        lambda text: {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": text}]},
        lambda ids: {
            "kind": "response",
            "timestamp": "2026-01-01T00:00:00Z",
            "parts": [
                {"part_kind": "thinking", "content": "hm", "signature": "c2ln"},
                *[{"part_kind": "tool-call", "tool_name": f"t{i}", "args": {"x": 1}, "tool_call_id": i} for i in ids],
            ],
        },
        lambda ids: [
            {
                "kind": "request",
                "parts": [
                    {"part_kind": "tool-return", "tool_name": f"t{i}", "content": f"result {i}", "tool_call_id": i}
                    for i in ids
                ],
            }
        ],
    )


def _langchain(wrap: Callable[[str, Message], Message], name: str) -> Form:
    return Form(
        name,
        lambda text: wrap("human", {"content": text}),
        lambda ids: wrap(
            "ai",
            {
                "content": "",
                "additional_kwargs": {},
                "tool_calls": [{"name": f"t{i}", "args": {"x": 1}, "id": i} for i in ids],
            },
        ),
        lambda ids: [wrap("tool", {"content": f"result {i}", "tool_call_id": i}) for i in ids],
    )


def _bare(kind: str, inner: Message) -> Message:
    return {"type": kind, **inner}


def _serialised(kind: str, inner: Message) -> Message:
    name = {"human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage"}[kind]
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name], "kwargs": inner}


FORMS = {
    form.name: form
    for form in (
        _openai(),
        _anthropic(),
        _pydantic_ai(),
        _langchain(_bare, "langchain"),
        _langchain(_serialised, "langchain-serialised"),
        _langchain(lambda kind, inner: {"type": kind, "data": inner}, "langchain-data"),
    )
}


@pytest.fixture(params=list(FORMS))
def form(request: pytest.FixtureRequest) -> Form:
    return FORMS[request.param]
