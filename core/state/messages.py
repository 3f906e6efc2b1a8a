"""Messages as people read them: one shape for all forms that agents keep them in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from turnback.core.state import codec, tree
from turnback.core.state.dialects import (
    Call,
    calls_of,
    is_parted,
    is_result_part,
    items,
    kind_of,
    role_of,
    type_of,
    unwrapped,
)
from turnback.core.text import well_formed

Readable = dict[str, Any]
"""`{"role", "text", "tool_calls": [{"name", "args"}], "tool_result"}`; roles user, assistant, tool, system."""

_PARTS = {
    "system-prompt": "system",
    "user-prompt": "user",
    "tool-return": "tool",
    "retry-prompt": "user",
    "retry-feedback": "user",
}
_TEXT_TYPES = frozenset({"text", "input_text", "output_text", "refusal", "text-content"})
_SILENT_TYPES = frozenset(
    {
        "thinking",
        "redacted_thinking",
        "reasoning",
        "tool_use",
        "tool_call",
        "tool_result",
        "cache-point",
        "cachePoint",
        "non_standard",
    }
)
_MARKS = ("image", "audio", "video", "document", "file")


def readable(state: Mapping[str, Any]) -> list[Readable]:
    """A state's messages; none of a state without. Never raises on odd ones, they show as system's."""
    return [entry for message in items(state.get("messages")) for entry in _entries(message)]


def count(state: Mapping[str, Any]) -> int:
    """How many messages `readable` would give, without making them."""
    total = 0
    for message in items(state.get("messages")):
        total += _count_one(message)
    return total


def tool_calls(source: Mapping[str, Any] | Sequence[Readable], since: int = 0) -> list[dict[str, Any]]:
    """The calls `{"name", "args"}` made after the first `since` readable messages.

    Of a state, or of what `readable` answered. Of a state, those before are only counted.
    """
    entries = readable_since(source, since) if isinstance(source, Mapping) else source[since:]
    return [call for entry in entries for call in entry["tool_calls"]]


def readable_since(state: Mapping[str, Any], since: int) -> list[Readable]:
    """`readable(state)[since:]`, without making those before."""
    entries: list[Readable] = []
    skip = since
    for message in items(state.get("messages")):
        amount = _count_one(message) if skip > 0 else 0
        if amount > skip or skip <= 0:
            entries += _entries(message)[max(skip, 0) :]
        skip -= amount
    return entries


def clean(value: Any) -> Any:
    """The JSON value with U+FFFD for each lone surrogate, as screens and models get it."""
    return tree.map_texts(value, well_formed)


def _count_one(message: Any) -> int:
    if type(message) is not dict or type(message.get("content")) is str or message.get("kind") == "response":
        return 1
    if is_parted(message):
        return 1 if message["kind"] == "response" else sum(kind_of(part) in _PARTS for part in message["parts"])
    inner = unwrapped(message)
    blocks = items(inner.get("content"))
    results = sum(type_of(block) == "tool_result" for block in blocks)
    return results + (results < len(blocks)) if results and role_of(inner) != "tool" else 1


def _entries(message: Any) -> list[Readable]:
    if not isinstance(message, dict):
        return [_entry("system", text=_text(message))]
    if is_parted(message):
        return _response(message) if message["kind"] == "response" else _request(message)
    inner = unwrapped(message)
    role = role_of(inner)
    content = inner.get("content", inner.get("parts"))
    if role == "tool":
        return [_entry("tool", result=_result(content))]
    results = [block for block in items(content) if type_of(block) == "tool_result"]
    entries = [_entry("tool", result=_result(block.get("content"))) for block in results]
    if not results or len(results) < len(content):
        entries.append(_entry(role, text=_text(content), calls=calls_of(message)))
    return entries


def _request(message: Mapping[str, Any]) -> list[Readable]:
    entries = []
    for part in message["parts"]:
        role = _PARTS.get(kind_of(part))
        if is_result_part(part):
            entries.append(_entry("tool", result=_result(part.get("content"))))
        elif role:
            entries.append(_entry(role, text=_text(part.get("content"))))
    return entries


def _response(message: Mapping[str, Any]) -> list[Readable]:
    texts = [_response_text(part) for part in message["parts"]]
    return [_entry("assistant", text="\n".join(text for text in texts if text), calls=calls_of(message))]


def _response_text(part: Any) -> str:
    kind = kind_of(part)
    if kind == "text":
        return _text(part.get("content"))
    if kind == "file":
        return _block_text(part.get("content"))
    return "[audio]" if kind == "speech" else ""


def _entry(role: str, *, text: str = "", calls: Sequence[Call] = (), result: Any = None) -> Readable:
    made = [{"name": clean(call.name), "args": _args(call.args)} for call in calls]
    return {"role": role, "text": text, "tool_calls": made, "tool_result": result}


def _args(args: Any) -> Any:
    if isinstance(args, str):
        parsed = _parsed(args)
        return clean(parsed if isinstance(parsed, dict | list) else args)
    return {} if args is None else clean(args)


def _parsed(text: str) -> Any:
    try:
        return codec.loads(text)
    except (ValueError, RecursionError):
        return None


def _result(content: Any) -> Any:
    """A tool's result: text where it is made of texts, otherwise the JSON value as it is."""
    blocks = items(content)
    if blocks and all(type_of(block) or isinstance(block, str) for block in blocks):
        return _text(content)
    return clean(content)


def _text(content: Any) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return well_formed(content)
    if isinstance(content, list | tuple):
        return "\n".join(text for text in map(_block_text, content) if text)
    return _block_text(content) if isinstance(content, dict) and "type" in content else _json(content)


def _block_text(block: Any) -> str:
    if isinstance(block, str):
        return well_formed(block)
    if not isinstance(block, dict):
        return _json(block)
    kind = type_of(block) or str(block.get("kind") or "")
    if kind in _TEXT_TYPES or not kind:
        text = next((block[key] for key in ("text", "refusal", "content") if isinstance(block.get(key), str)), None)
        return _json(block) if text is None else well_formed(text)
    if kind in _SILENT_TYPES:
        return ""
    return f"[{_mark(kind, block)}]"


def _mark(kind: str, block: Mapping[str, Any]) -> str:
    described = f"{kind} {block.get('media_type') or ''}"
    return next((mark for mark in _MARKS if mark in described), clean(kind))


def _json(value: Any) -> str:
    return codec.dumps(clean(value)).decode().lstrip()
