"""Between a state's `messages` and what pydantic-ai sends to a model.

The state holds them in the dialect of `dialect.py`, without what each run says anew (instructions, ids
of runs). The model gets system messages as instructions, since many servers take one at the start only.

A state may come from anywhere (a restore, an import, another agent): what is not in this dialect is
turned into plain text of the same roles, and what cannot be read at all is left out and said.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson
from pydantic import ValidationError
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    UserPromptPart,
    repair_messages,
)

from turnback.core.agents.dialect import NOTE, SUMMARY, Message, mark_of, text_of
from turnback.core.state.messages import readable
from turnback.core.text import well_formed

UNREADABLE = "Some earlier messages of this conversation could not be read and are missing."

_MAX_DEPTH = 100
_OF_A_RUN = ("instructions", "run_id", "conversation_id", "workspace_ref", "history_digest")


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What a model is given of a state: messages, and background for the instructions."""

    messages: list[ModelMessage]
    background: str


def load(stored: Sequence[Any], *, waiting: bool = False) -> History:
    """Read stored messages; `waiting`: calls of the last response still wait for their results."""
    background: list[str] = []
    items: list[Any] = []
    for item in stored:
        mark = mark_of(item)
        if mark == SUMMARY:
            background.append(text_of(item))
        elif mark != NOTE:
            items.append(item)
    read = _validated(items)
    if any(message is None for message in read):
        background.append(UNREADABLE)
    messages = [kept for m in read if m is not None and (kept := _without_system(m, background))]
    repaired = repair_messages(messages, repair_last_response=not waiting)
    return History(messages=repaired, background="\n\n".join(background))


def dump(messages: Sequence[ModelMessage]) -> list[Message]:
    """Messages as they are stored: JSON values."""
    dumped = ModelMessagesTypeAdapter.dump_python(list(messages), mode="json", exclude_none=True)
    for message in dumped:
        for key in _OF_A_RUN:
            message.pop(key, None)
        if "usage" in message:
            message["usage"] = {key: value for key, value in message["usage"].items() if value}
    return dumped  # type: ignore[no-any-return]


def open_calls(messages: Sequence[ModelMessage]) -> list[ToolCallPart]:
    """The calls of the last response that have no result yet."""
    done: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, ModelResponse):
            return [call for call in message.tool_calls if call.tool_call_id not in done]
        done |= {i for part in message.parts if isinstance(i := getattr(part, "tool_call_id", None), str)}
    return []


def _validated(items: list[Any]) -> list[ModelMessage | None]:
    """Each item as messages, None where nothing can be read; all at once where they are as we wrote them."""
    try:
        orjson.dumps(items, option=orjson.OPT_NON_STR_KEYS)
        return list(ModelMessagesTypeAdapter.validate_python(items))
    except (orjson.JSONEncodeError, ValidationError):
        return [message for item in items for message in _one(_clean(item))]


def _one(item: Any) -> Sequence[ModelMessage | None]:
    try:
        return ModelMessagesTypeAdapter.validate_python([item])
    except ValidationError:
        return [_foreign(row) for row in readable({"messages": [item]})] or [None]


def _foreign(row: Mapping[str, Any]) -> ModelMessage | None:
    """A message of another dialect as text: without its calls' ids nothing pairs them, so they are told."""
    text = str(row.get("text") or "")
    calls = row.get("tool_calls") or ()
    lines = [text] if text else []
    lines += [f"(called {call['name']} with {json.dumps(call['args'], default=str)})" for call in calls]
    if row.get("tool_result"):
        result = row["tool_result"]
        lines.append(f"(its result: {result if isinstance(result, str) else json.dumps(result, default=str)})")
    words = well_formed("\n".join(lines))
    if not words:
        return None
    match row.get("role"):
        case "user":
            return ModelRequest(parts=[UserPromptPart(content=words)])
        case "system":
            return ModelRequest(parts=[SystemPromptPart(content=words)])
        case _:
            return ModelResponse(parts=[TextPart(content=words)])


def _without_system(message: ModelMessage, background: list[str]) -> ModelMessage | None:
    """The message without system parts, whose words go to the background; nothing in it goes on by itself."""
    if isinstance(message, ModelResponse):
        awake = replace(message, state="complete") if message.state == "suspended" else message
        return awake if message.parts else None
    system = [part.content for part in message.parts if isinstance(part, SystemPromptPart)]
    if system:
        background.extend(text for text in system if text not in background)
        message = replace(message, parts=[part for part in message.parts if not isinstance(part, SystemPromptPart)])
    return message if message.parts else None


def _clean(value: Any, depth: int = 0) -> Any:
    """JSON values with texts that can be sent, and no deeper than a message is."""
    if depth > _MAX_DEPTH:
        return "[cut: nested too deep]"
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        return {well_formed(str(key)): _clean(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean(item, depth + 1) for item in value]
    return value
