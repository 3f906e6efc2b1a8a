"""What a message says, whichever of the usual forms it has.

    OpenAI      {"role", "content", "tool_calls": [{"id", "function": {"name", "arguments"}}]},
                {"role": "tool", "tool_call_id"}; also with {"id", "name", "args"} as calls
    Anthropic   {"role", "content": [{"type": "tool_use"}]}, answered by {"type": "tool_result"} blocks in a
                user's message
    pydantic-ai {"kind": "request" or "response", "parts": [{"part_kind": "tool-call"}]}
    LangChain   {"type": "ai", "content", "tool_calls": [{"id", "name", "args"}]}, {"type": "tool", "tool_call_id"};
                also inside {"lc": 1, "id": [..., "AIMessage"], "kwargs"} and {"type", "data"}

Nothing here raises on odd input: what is not understood is no call and no result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Form = Literal["openai", "anthropic", "pydantic-ai", "langchain"]

ROLES: Mapping[str, str] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
    "system": "system",
    "developer": "system",
}
"""The roles and types of all forms, and what they are called here."""

RESULT_PARTS = frozenset({"tool-return", "retry-prompt"})


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call; `id` is None where the form gives none."""

    id: str | None
    name: str
    args: Any


def items(value: Any) -> Sequence[Any]:
    """A list's elements; none of anything else."""
    return value if isinstance(value, list | tuple) else ()


def unwrapped(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """The message inside LangChain's wrappers, with its `type`."""
    if "content" in message:
        return message
    if "lc" in message and isinstance(message.get("kwargs"), dict):
        path = items(message.get("id"))
        name = str(path[-1]) if path else ""
        return {"type": _lc_type(name), **message["kwargs"]}
    if isinstance(message.get("data"), dict) and isinstance(message.get("type"), str):
        return {"type": message["type"], **message["data"]}
    return message


def role_of(message: Mapping[str, Any]) -> str:
    """One of user, assistant, tool, system; of an unwrapped message."""
    name = message.get("role") or message.get("type")
    return ROLES.get(name, "system") if isinstance(name, str) else "system"


def is_parted(message: Mapping[str, Any]) -> bool:
    """Whether this is a pydantic-ai message."""
    return message.get("kind") in ("request", "response") and isinstance(message.get("parts"), list | tuple)


def form_of(message: Mapping[str, Any]) -> Form:
    """In which form this message's results are to be written; of a message with calls."""
    if is_parted(message):
        return "pydantic-ai"
    inner = unwrapped(message)
    if inner is not message or "role" not in message:
        return "langchain"
    return "openai" if any(True for _ in _listed_calls(inner)) else "anthropic"


def calls_of(message: Any) -> list[Call]:
    """The tool calls that a message makes, in order, without those that the provider runs itself."""
    if not isinstance(message, dict):
        return []
    if is_parted(message):
        if message["kind"] == "request":
            return []
        return [_part_call(part) for part in message["parts"] if kind_of(part) == "tool-call"]
    inner = unwrapped(message)
    calls = list(_listed_calls(inner))
    if calls or not isinstance(inner.get("content"), list | tuple) or role_of(inner) != "assistant":
        return calls
    return [_block_call(block) for block in inner["content"] if type_of(block) == "tool_use"]


def result_ids(message: Any) -> list[str | None]:
    """Which calls the results in this message answer, in order; None where it does not say."""
    if not isinstance(message, dict):
        return []
    if is_parted(message):
        if message["kind"] == "response":
            return []
        return [_text_or_none(part.get("tool_call_id")) for part in message["parts"] if is_result_part(part)]
    inner = unwrapped(message)
    if role_of(inner) == "tool":
        return [_text_or_none(inner.get("tool_call_id"))]
    blocks = items(inner.get("content"))
    return [_text_or_none(block.get("tool_use_id")) for block in blocks if type_of(block) == "tool_result"]


def is_result_part(part: Any) -> bool:
    """Whether a pydantic-ai part answers a call: a retry prompt without a tool answers a text."""
    kind = kind_of(part)
    return kind == "tool-return" or (kind == "retry-prompt" and bool(part.get("tool_name")))


def kind_of(part: Any) -> str:
    """A pydantic-ai part's kind, "" if it is none."""
    return _text_or_none(part.get("part_kind")) or "" if isinstance(part, dict) else ""


def type_of(block: Any) -> str:
    """A content block's type, "" if it has none."""
    return _text_or_none(block.get("type")) or "" if isinstance(block, dict) else ""


def _listed_calls(message: Mapping[str, Any]) -> Iterator[Call]:
    calls = items(message.get("tool_calls"))
    if not calls and isinstance(message.get("additional_kwargs"), dict):
        calls = items(message["additional_kwargs"].get("tool_calls"))
    for call in calls:
        if isinstance(call, dict):
            yield _listed_call(call)
    legacy = message.get("function_call")
    if not calls and isinstance(legacy, dict):
        yield Call(None, str(legacy.get("name") or ""), legacy.get("arguments"))


def _listed_call(call: Mapping[str, Any]) -> Call:
    function = call.get("function")
    inner = function if isinstance(function, dict) else call
    args = next((inner[key] for key in ("arguments", "args", "input") if key in inner), None)
    return Call(_text_or_none(call.get("id")), str(inner.get("name") or ""), args)


def _part_call(part: Mapping[str, Any]) -> Call:
    return Call(_text_or_none(part.get("tool_call_id")), str(part.get("tool_name") or ""), part.get("args"))


def _block_call(block: Mapping[str, Any]) -> Call:
    return Call(_text_or_none(block.get("id")), str(block.get("name") or ""), block.get("input"))


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _lc_type(name: str) -> str:
    for start, kind in (
        ("Human", "human"),
        ("AI", "ai"),
        ("Tool", "tool"),
        ("System", "system"),
        ("Function", "function"),
    ):
        if name.startswith(start):
            return kind
    return name
