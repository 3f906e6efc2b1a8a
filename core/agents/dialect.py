"""What lies in a state's `messages`, read without the library that made it, which takes long to load.

They are pydantic-ai's own messages as JSON, one dict each, in order. Two kinds of our own are marked in
their `metadata`: a summary of what was compacted away, and notes for one turn. They are stored as system
messages, so that no screen shows them as words of a user.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from turnback.core.models import State
from turnback.core.text import well_formed

MARK = "turnback"
SUMMARY = "summary"
NOTE = "note"

Message = dict[str, Any]


def stored_messages(state: State) -> list[Any]:
    """The state's messages as they are; none where there is no list."""
    messages = state.get("messages")
    return list(messages) if isinstance(messages, list) else []


def marked(mark: str, text: str) -> Message:
    """A message of our own, shown as the system's."""
    return {
        "parts": [{"content": well_formed(text), "part_kind": "system-prompt"}],
        "kind": "request",
        "metadata": {MARK: mark},
    }


def mark_of(item: Any) -> str | None:
    """Which of our own kinds a stored message is."""
    metadata = item.get("metadata") if isinstance(item, dict) else None
    mark = metadata.get(MARK) if isinstance(metadata, dict) else None
    return mark if isinstance(mark, str) else None


def text_of(item: Message) -> str:
    """The words of a stored message's parts."""
    return "\n".join(part["content"] for part in parts_of(item) if isinstance(part.get("content"), str))


def parts_of(item: Any) -> list[Message]:
    """The parts of a stored message of our dialect; none of others."""
    parts = item.get("parts") if isinstance(item, dict) else None
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def is_user(item: Any) -> bool:
    """Whether a stored message begins a turn: it holds words of a user, in any dialect."""
    if not isinstance(item, dict):
        return False
    if "parts" in item:
        return any(part.get("part_kind") == "user-prompt" for part in parts_of(item))
    return item.get("role") == "user" or item.get("type") == "human"


def last_calls(stored: Sequence[Any]) -> list[str]:
    """The tools that the newest stored response called, in order."""
    for item in reversed(stored):
        if isinstance(item, dict) and item.get("kind") == "response":
            return [str(part.get("tool_name")) for part in parts_of(item) if part.get("part_kind") == "tool-call"]
    return []


def answer_so_far(stored: Sequence[Any]) -> list[str]:
    """What the agent has said since the newest words of a user, a text for each response."""
    texts: list[str] = []
    for item in reversed(stored):
        if is_user(item):
            break
        said = [
            p["content"] for p in parts_of(item) if p.get("part_kind") == "text" and isinstance(p.get("content"), str)
        ]
        if "".join(said):
            texts.append("".join(said))
    return texts[::-1]
