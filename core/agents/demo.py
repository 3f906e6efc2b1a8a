"""The demo agent: the built-in agent with a scripted model, so that every real part runs without a key.

The model is a pure function of the messages that it is sent: the newest words of the user choose the
script, and the responses since then tell how far it is.
"""

from __future__ import annotations

import asyncio
import base64
import json
import random
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from pydantic import Field
from pydantic_ai import Tool
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.profiles import ModelProfile

from turnback.core.agents import compaction
from turnback.core.agents.builtin import PydanticAgent
from turnback.core.agents.options import AgentOptions
from turnback.core.agents.work import ToolContext, Work

MODEL_NAME = "demo"

_BLIND = ModelProfile(supports_image_input=False)
"""A script reads words."""

MAX_STEPS = 1000
MAX_SECONDS = 60
MAX_BYTES = 16_777_216

_PIECE = re.compile(r"\s*\S+\s*", re.DOTALL)
_PIECES = 12
"""Pieces that an answer is streamed in, about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the scripted model goes by.

    `rest` is the user's message without its first word; `turn` counts the requests made in this turn;
    `result` is the newest tool result and `failed` whether it is an error; `before` are the user's
    earlier messages; `length` is the number of messages; `tools` names the tools that there are.
    """

    text: str
    rest: str
    turn: int
    result: str
    failed: bool
    before: tuple[str, ...]
    length: int
    tools: frozenset[str]


@dataclass(frozen=True, slots=True)
class Call:
    """A response that calls a tool."""

    tool: str
    args: Mapping[str, Any]


Script: TypeAlias = Callable[[Seen], Call | str]


def build(options: AgentOptions) -> PydanticAgent:
    """The agent of `agent.kind = "demo"`; `options.model` and its like are not used."""
    model = FunctionModel(stream_function=_stream, model_name=MODEL_NAME, profile=_BLIND)
    tools = [Tool[Work](tool, takes_ctx=True) for tool in (sleep, big, boom)]
    return PydanticAgent(model, options, more_tools=tools, summarise=compaction.by_code)


def respond(seen: Seen) -> Call | str:
    """The model's response: a call, or the answer."""
    words = seen.text.split(maxsplit=1)
    script = _SCRIPTS.get(words[0].lower()) if words else None
    return (script or _echo)(seen)


async def sleep(ctx: ToolContext, seconds: Annotated[float, Field(ge=0, le=MAX_SECONDS)]) -> str:  # noqa: ARG001
    """Sleep.

    Args:
        seconds: How long.
    """
    await asyncio.sleep(seconds)
    return "slept"


async def big(ctx: ToolContext, size: Annotated[int, Field(ge=0, le=MAX_BYTES)], seed: int) -> str:  # noqa: ARG001
    """Give many bytes, which hardly compress.

    Args:
        size: How many.
        seed: The same one gives the same bytes.
    """
    return await asyncio.to_thread(_bytes, size, seed)


async def boom(ctx: ToolContext) -> str:  # noqa: ARG001
    """Fail."""
    raise ToolFailed("this tool always fails")


def _bytes(size: int, seed: int) -> str:
    return base64.b64encode(random.Random(seed).randbytes(size * 3 // 4 + 3)).decode()[:size]  # noqa: S311


def _steps(seen: Seen) -> Call | str:
    count = _number(seen.rest, MAX_STEPS)
    if count is None or count != int(count):
        return f"Usage: steps N (N up to {MAX_STEPS})"
    if seen.turn < count:
        return Call("note", {"text": f"step {seen.turn + 1} of {int(count)}"})
    return f"done {int(count)}"


def _write(seen: Seen) -> Call | str:
    path, text = _path_and_text(seen.rest)
    if not text:
        return "Usage: write PATH TEXT"
    return _one(seen, Call("write_file", {"path": path, "text": text + "\n"}), f"wrote {path}")


def _append(seen: Seen) -> Call | str:
    path, text = _path_and_text(seen.rest)
    if not text:
        return "Usage: append PATH TEXT"
    return _one(seen, Call("append_file", {"path": path, "text": text + "\n"}), f"appended to {path}")


def _delete(seen: Seen) -> Call | str:
    if not seen.rest:
        return "Usage: delete PATH"
    return _one(seen, Call("delete_file", {"path": seen.rest}), f"deleted {seen.rest}")


def _read(seen: Seen) -> Call | str:
    if not seen.rest:
        return "Usage: read PATH"
    return Call("read_file", {"path": seen.rest}) if seen.turn == 0 else seen.result or "(empty)"


def _ls(seen: Seen) -> Call | str:
    return Call("list_files", {"path": seen.rest or "."}) if seen.turn == 0 else seen.result


def _remember(seen: Seen) -> Call | str:
    if not seen.rest:
        return "Usage: remember TEXT"
    return _one(seen, Call("remember", {"text": seen.rest}), "remembered")


def _recall(seen: Seen) -> Call | str:
    return Call("recall", {}) if seen.turn == 0 else seen.result


def _history(seen: Seen) -> Call | str:
    lines = [f"{i}. {' '.join(text.split())}" for i, text in enumerate(seen.before, 1)]
    return "\n".join(lines) or "(nothing before this)"


def _plan(seen: Seen) -> Call | str:
    items = [item.strip() for item in seen.rest.split(";") if item.strip()]
    if not items:
        return "Usage: plan A; B; C"
    if seen.turn == 0:
        return Call("plan", {"items": [{"title": item, "status": "pending"} for item in items]})
    if seen.turn <= len(items):
        return Call("note", {"text": items[seen.turn - 1]})
    return f"planned {len(items)}"


def _shell(seen: Seen) -> Call | str:
    if not seen.rest:
        return "Usage: shell CMD"
    if "run_command" not in seen.tools:
        return "the shell is off (the setting agent.shell)"
    return Call("run_command", {"command": seen.rest}) if seen.turn == 0 else seen.result


def _slow(seen: Seen) -> Call | str:
    seconds = _number(seen.rest, MAX_SECONDS)
    if seconds is None:
        return f"Usage: slow S (S up to {MAX_SECONDS} seconds)"
    return _one(seen, Call("sleep", {"seconds": seconds}), f"slept {seen.rest}")


def _big(seen: Seen) -> Call | str:
    size = _number(seen.rest, MAX_BYTES)
    if size is None or size != int(size):
        return f"Usage: big N (N up to {MAX_BYTES} bytes)"
    return _one(seen, Call("big", {"size": int(size), "seed": seen.length}), f"got {int(size)} bytes")


def _boom(seen: Seen) -> Call | str:
    return _one(seen, Call("boom", {}), "nothing failed")


def _undo(seen: Seen) -> Call | str:
    if seen.rest.lower() != "yourself":
        return _echo(seen)
    return _one(seen, Call("undo_task", {}), "undone")


def _echo(seen: Seen) -> Call | str:
    return f"You said: {seen.text}"


_SCRIPTS: Mapping[str, Script] = {
    "steps": _steps,
    "write": _write,
    "append": _append,
    "delete": _delete,
    "read": _read,
    "ls": _ls,
    "remember": _remember,
    "recall": _recall,
    "history": _history,
    "plan": _plan,
    "shell": _shell,
    "slow": _slow,
    "big": _big,
    "boom": _boom,
    "undo": _undo,
}


def _one(seen: Seen, call: Call, answer: str) -> Call | str:
    """One call, then the answer, or why the call failed."""
    if seen.turn == 0:
        return call
    if not seen.failed:
        return answer
    return seen.result if seen.result.startswith("denied: ") else f"that failed: {seen.result}"


def _path_and_text(rest: str) -> tuple[str, str]:
    words = rest.split(maxsplit=1)
    return "".join(words[:1]), "".join(words[1:])


def _number(word: str, most: int) -> float | None:
    """A plain decimal number from 0 to `most`."""
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,3})?", word):
        return None
    return value if (value := float(word)) <= most else None


def _see(messages: Sequence[ModelMessage], info: AgentInfo) -> Seen:
    said: list[str] = []
    turn, result, failed = 0, "", False
    for message in messages:
        if isinstance(message, ModelResponse):
            turn += 1
            continue
        for part in message.parts:
            if isinstance(part, UserPromptPart) and isinstance(part.content, str):
                said.append(part.content)
                turn = 0
            elif isinstance(part, ToolReturnPart):
                result = part.content if isinstance(part.content, str) else json.dumps(part.content)
                failed = part.outcome != "success"
    text = said[-1] if said else ""
    return Seen(
        text=text,
        rest="".join(text.strip().split(maxsplit=1)[1:]),
        turn=turn,
        result=result,
        failed=failed,
        before=tuple(said[:-1]),
        length=len(messages),
        tools=frozenset(tool.name for tool in info.function_tools),
    )


async def _stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
    response = respond(_see(messages, info))
    if isinstance(response, Call):
        yield {0: DeltaToolCall(name=response.tool, json_args=json.dumps(response.args, ensure_ascii=False))}
        return
    for piece in _pieces(response):
        yield piece
        await asyncio.sleep(0)


def _pieces(text: str) -> list[str]:
    words = _PIECE.findall(text) or [text]
    size = -(-len(words) // _PIECES)
    return ["".join(words[i : i + size]) for i in range(0, len(words), size)]
