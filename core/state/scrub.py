"""Platform ids leave a state before it is written into a thread.

They are dropped from every mapping, except inside what people, models and tools said or wrote: message
content, tool-call arguments, tool results, `plan` and `scratchpad` stay byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from turnback.core.models import State
from turnback.core.state import dialects

PLATFORM_KEYS = frozenset(
    {
        "chat_id",
        "user_id",
        "message_id",
        "update_id",
        "chat_type",
        "channel_id",
        "guild_id",
        "team_id",
        "thread_ts",
        "message_ts",
        "message_thread_id",
        "interaction_token",
        "response_url",
    }
)

_SUSPECT = re.compile(rb'"(?:' + "|".join(sorted(PLATFORM_KEYS)).encode() + rb')":')
_OWN_WORDS = frozenset({"plan", "scratchpad"})
_SAID = frozenset({"content", "text", "tool_result", "artifact", "function_call"})
_RETURNED = _SAID | {"result", "output", "metadata"}
_CALLED = frozenset({"args", "arguments", "input", "result", "output"})
_CALL_LISTS = frozenset({"tool_calls", "invalid_tool_calls"})
_WRAPPED = frozenset({"kwargs", "data"})
_CONTAINERS = (dict, list, tuple)
_LONG_ID = 16


def scrub(state: State) -> State:
    """The state without platform ids: the same object if it holds none. The given one is not changed."""
    return _without(state, lambda key, _value: key in PLATFORM_KEYS)


def without_thread(state: State, thread_id: str) -> State:
    """The state without that thread's id outside what was said: keys and values with it are dropped."""

    def names(value: Any) -> bool:
        return isinstance(value, str) and (value == thread_id or (len(thread_id) >= _LONG_ID and thread_id in value))

    return _without(state, lambda key, value: names(key) or names(value))


def suspects(data: bytes, thread_id: str) -> bool:
    """Whether these JSON bytes of a state may hold something to scrub, or that thread's id."""
    return _SUSPECT.search(data) is not None or (bool(thread_id) and thread_id.encode("utf-8", "replace") in data)


def _without(state: State, drops: Callable[[Any, Any], bool]) -> State:
    made: State = {}
    changed = False
    stack: list[tuple[Any, Any, str]] = [(state, made, "state")]
    while stack:
        source, target, place = stack.pop()
        kept = _kept_keys(source, place)
        for key, value in source.items() if isinstance(source, dict) else enumerate(source):
            if key in kept:
                target[key] = value
                continue
            listed = not isinstance(source, dict)
            if drops(None if listed else key, value):
                changed = True
                continue
            child = _child(value, stack, _place_below(source, place, key))
            target.append(child) if listed else target.__setitem__(key, child)
    return made if changed else state


def _child(value: Any, stack: list[tuple[Any, Any, str]], place: str) -> Any:
    if not isinstance(value, _CONTAINERS):
        return value
    made: Any = {} if isinstance(value, dict) else []
    stack.append((value, made, place))
    return made


def _place_below(source: Any, place: str, key: Any) -> str:
    """Where a container stands for what lies in it: a list's place is its elements' place."""
    if key in _CALL_LISTS:
        return "call"
    if key == "messages":
        return "message"
    if not isinstance(source, dict):
        return place
    if place == "call":
        return "call" if key == "function" else "other"
    return "message" if dialects.unwrapped(source) is not source and key in _WRAPPED else "other"


def _kept_keys(source: Any, place: str) -> frozenset[str]:
    if not isinstance(source, Mapping):
        return frozenset()
    if place == "state":
        return _OWN_WORDS
    if place == "call":
        return _CALLED
    if "part_kind" in source:
        return _RETURNED | {"args"} if source.get("part_kind") != "tool-call" else frozenset({"args"})
    if place == "message" or _looks_said(source):
        return _RETURNED if _speaker(source) == "tool" else _SAID
    return frozenset()


def _speaker(source: Mapping[str, Any]) -> str | None:
    name = source.get("role") or source.get("type")
    return dialects.ROLES.get(name) if isinstance(name, str) else None


def _looks_said(source: Mapping[str, Any]) -> bool:
    return "content" in source and _speaker(source) is not None
