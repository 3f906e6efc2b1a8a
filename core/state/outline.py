"""What a save asks of a history each time, in one quick pass: how many messages, and whether anything is open.

The usual histories (all messages with roles and texts, or all in parts) are told at a glance. Whatever
else is looked at closely by `messages.count` and `pairing.is_paired`, which decide alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from turnback.core.state import messages as readable_messages
from turnback.core.state import pairing
from turnback.core.state.dialects import items

_TEXTS = frozenset({str, type(None)})
_SPEAKERS = frozenset({"user", "assistant", "system", "tool"})
_ROLE, _CONTENT = itemgetter("role"), itemgetter("content")
_ASKS = frozenset({"user-prompt", "system-prompt"})


def outline(state: Mapping[str, Any]) -> tuple[int, bool]:
    """The count of readable messages, and whether every tool call has its result and nothing goes on by itself."""
    messages = items(state.get("messages"))
    count = at_a_glance(messages)
    if count is not None:
        return count, True
    settled = pairing.is_paired(messages) and not any(map(pairing.is_suspended, messages))
    return readable_messages.count(state), settled


def at_a_glance(messages: Sequence[Any]) -> int | None:
    """The count of a usual history in which nothing is open; None if that cannot be told like this.

    Of two such histories, one after the other, it is the sum.
    """
    try:
        return _parted(messages) if messages and "parts" in messages[0] else _spoken(messages)
    except (AttributeError, IndexError, KeyError, TypeError):  # an odd message
        return None


def _spoken(messages: Sequence[Any]) -> int | None:
    """The count of a history with roles and texts that is paired; None if that cannot be told.

    Whole lists at a time, since a loop over each message takes longer than writing all of it as JSON.
    """
    roles = list(map(_ROLE, messages))
    if not _SPEAKERS.issuperset(roles) or not _TEXTS.issuperset(map(type, map(_CONTENT, messages))):
        return None
    if [True for message in messages if "additional_kwargs" in message or "function_call" in message]:
        return None
    answered = 0
    for at in [at for at, message in enumerate(messages) if "tool_calls" in message]:
        calls = messages[at]["tool_calls"]
        if not calls:
            continue
        if roles[at] != "assistant" or messages[at + 1]["tool_call_id"] != calls[0]["id"]:
            return None
        if len(calls) > 1 and not _answers(calls, messages[at + 1 : at + 1 + len(calls)]):
            return None
        answered += len(calls)
    return len(messages) if answered == roles.count("tool") else None


def _answers(calls: Sequence[Any], results: Sequence[Any]) -> bool:
    return [call["id"] for call in calls] == [result["tool_call_id"] for result in results]


def _parted(messages: Sequence[Any]) -> int | None:
    """The same for a history in parts."""
    count = 0
    waiting: set[str] = set()
    for message in messages:
        parts = message["parts"]
        if message["kind"] == "response":
            if waiting or message.get("state") == "suspended":
                return None
            calls = [part["tool_call_id"] for part in parts if part["part_kind"] == "tool-call"]
            if calls:
                waiting.update(calls)
                if len(waiting) != len(calls):
                    return None
            count += 1
            continue
        for part in parts:
            if part["part_kind"] == "tool-return" or (part["part_kind"] == "retry-prompt" and part["tool_name"]):
                waiting.remove(part["tool_call_id"])
            elif waiting or part["part_kind"] not in _ASKS:
                return None
        if waiting:
            return None
        count += len(parts)
    return None if waiting else count
