"""A server that speaks OpenAI's chat completions on loopback, as strict about pairing as the real one.

It answers what a test wrote into `script`, streamed or not, and keeps the requests. A history in which
a tool call has no result right behind it, or a result no call, is refused with 400 in OpenAI's words; so
is a system message that is not the first, as by the chat templates of many local servers.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

Calls = Sequence[tuple[str, Mapping[str, Any] | str]]
"""Names and arguments; a string goes out as it is."""


@dataclass(frozen=True)
class Answer:
    """What the model answers once: words, calls, or both."""

    text: str = ""
    calls: Calls = ()
    cut: bool = False
    """The connection breaks in the middle of the stream."""


@dataclass
class ModelServer:
    """The running server."""

    base_url: str = ""
    script: deque[Answer | int] = field(default_factory=deque)
    """Answers in order; a number is an HTTP status to fail with."""
    requests: list[dict[str, Any]] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    _call: int = 0

    async def complete(self, request: Request) -> Response:
        body = await request.json()
        self.requests.append(body)
        self.keys.append(request.headers.get("authorization"))
        if problem := _problem(body["messages"]):
            self.refusals.append(problem)
            return JSONResponse(_error(problem, "invalid_request_error"), status_code=400)
        answer = self.script.popleft()
        if isinstance(answer, int):
            return JSONResponse(_error("scripted, with the key sk-secret in it", "server_error"), status_code=answer)
        message = self._message(answer)
        if not body.get("stream"):
            return JSONResponse(_whole(body["model"], message))
        chunks = _cut(body["model"], message) if answer.cut else _chunks(body["model"], message)
        return StreamingResponse(chunks, media_type="text/event-stream")

    def _message(self, answer: Answer) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
        if answer.calls:
            message["tool_calls"] = [self._tool_call(name, args) for name, args in answer.calls]
        return message

    def _tool_call(self, name: str, args: Mapping[str, Any] | str) -> dict[str, Any]:
        self._call += 1
        function = {"name": name, "arguments": args if isinstance(args, str) else json.dumps(args)}
        return {"id": f"call_{self._call}", "type": "function", "function": function}


@contextlib.asynccontextmanager
async def model_server() -> AsyncIterator[ModelServer]:
    """The server, on a free port of loopback."""
    server = ModelServer()
    app = FastAPI()
    app.add_api_route("/v1/chat/completions", server.complete, methods=["POST"])
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        server.base_url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        uvicorn_server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off"))
        uvicorn_server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        serving = asyncio.create_task(uvicorn_server._serve([listening]))
        try:
            yield server
        finally:
            uvicorn_server.should_exit = True
            uvicorn_server.force_exit = True
            await serving


def _problem(messages: Sequence[Mapping[str, Any]]) -> str | None:
    waiting: list[str] = []
    for index, message in enumerate(messages):
        role = message["role"]
        if role == "tool":
            if message.get("tool_call_id") not in waiting:
                return (
                    f"messages with role 'tool' must be a response to a preceeding message with 'tool_calls'. [{index}]"
                )
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            return (
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(waiting)}"
            )
        if role in ("system", "developer") and index > 0:
            return f"System message must be at the beginning. [{index}]"
        if role == "assistant":
            waiting = [call["id"] for call in message.get("tool_calls") or ()]
            if not waiting and message.get("content") is None:
                return f"Invalid value for 'content': expected a string, got null. [{index}]"
        elif not message.get("content"):
            return f"Invalid value for 'content': empty. [{index}]"
    if waiting:
        return f"The following tool_call_ids did not have response messages: {', '.join(waiting)}"
    return None


def _error(message: str, kind: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


def _whole(model: str, message: Mapping[str, Any]) -> dict[str, Any]:
    choice = {"index": 0, "message": message, "finish_reason": _reason(message)}
    return {**_head(model), "object": "chat.completion", "choices": [choice], "usage": _USAGE}


def _chunks(model: str, message: Mapping[str, Any]) -> Iterator[str]:
    for delta in _deltas(message):
        yield _event(model, [{"index": 0, "delta": delta, "finish_reason": None}])
    yield _event(model, [{"index": 0, "delta": {}, "finish_reason": _reason(message)}])
    yield _event(model, [], usage=_USAGE)
    yield "data: [DONE]\n\n"


def _cut(model: str, message: Mapping[str, Any]) -> Iterator[str]:
    chunks = _chunks(model, message)
    yield next(chunks)
    yield next(chunks)
    raise ConnectionAbortedError


def _deltas(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": ""}
    text = message["content"] or ""
    for start in range(0, len(text), 5):
        yield {"content": text[start : start + 5]}
    for index, call in enumerate(message.get("tool_calls") or ()):
        arguments = call["function"]["arguments"]
        yield {
            "tool_calls": [{"index": index, **call, "function": {"name": call["function"]["name"], "arguments": ""}}]
        }
        for start in range(0, len(arguments), 7):
            yield {"tool_calls": [{"index": index, "function": {"arguments": arguments[start : start + 7]}}]}


def _event(model: str, choices: list[dict[str, Any]], **more: Any) -> str:
    chunk = {**_head(model), "object": "chat.completion.chunk", "choices": choices, **more}
    return f"data: {json.dumps(chunk)}\n\n"


def _head(model: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "created": 1_700_000_000, "model": model}


def _reason(message: Mapping[str, Any]) -> str:
    return "tool_calls" if message.get("tool_calls") else "stop"


_USAGE = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}
