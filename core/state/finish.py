"""A state in the middle of something as one that a conversation can go on from.

Providers refuse a history in which a tool call has no result right behind it, or a result no call. So
every call gets its result: those that are there stay, missing ones say that the call was not run, in the
order of the calls. What waits or runs by itself (gates, interrupts) is dropped. Messages that need no
change are the same objects afterwards, so signed thinking stays whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from turnback.core.models import State
from turnback.core.state import outline, pairing
from turnback.core.state.dialects import items

_RUN_KEYS = frozenset(
    {
        "__interrupt__",
        "__interrupts__",
        "interrupts",
        "gates",
        "pending_gates",
        "pending_approvals",
        "pending_approval",
        "pending_tool_calls",
        "pending_calls",
        "pending_interrupts",
        "pending_sends",
        "pending_tasks",
        "pending_writes",
        "deferred_tool_requests",
    }
)
"""Top-level keys that only ever say what a run waits for."""

_CALL_KEYS = frozenset(
    {
        "tool",
        "tool_name",
        "tool_call_id",
        "tool_calls",
        "call_id",
        "gate",
        "gate_id",
        "approval",
        "approvals",
        "interrupt",
    }
)


def finish(state: State) -> State:
    """The state with nothing open: the same object if nothing was. The given one is not changed."""
    waiting = [key for key, value in state.items() if _waits(key, value)]
    before = items(state.get("messages"))
    after = _woken(pairing.paired(before))
    if not waiting and after is before:
        return state
    finished = {key: value for key, value in state.items() if key not in waiting}
    if after is not before:
        finished["messages"] = list(after)
    return finished


def is_finished(state: State) -> bool:
    """Whether `finish` would change nothing."""
    return nothing_waits(state) and outline.outline(state)[1]


def nothing_waits(state: State) -> bool:
    """Whether no key of the state says that a run waits; the messages are `outline`'s matter."""
    return _RUN_KEYS.isdisjoint(state) and not _is_of_a_run(state.get("pending"))


def _woken(messages: Sequence[Any]) -> Sequence[Any]:
    """Without suspended responses, which pydantic-ai would continue by itself."""
    if not any(pairing.is_suspended(message) for message in messages):
        return messages
    return [{**message, "state": "interrupted"} if pairing.is_suspended(message) else message for message in messages]


def _waits(key: Any, value: Any) -> bool:
    return key in _RUN_KEYS or (key == "pending" and _is_of_a_run(value))


def _is_of_a_run(value: Any) -> bool:
    """`pending` is also a word for things to do: only one that names calls or gates is a run's."""
    if isinstance(value, Mapping):
        return not _CALL_KEYS.isdisjoint(value) or any(
            _is_of_a_run(item) for item in value.values() if isinstance(item, Mapping)
        )
    if isinstance(value, Sequence) and not isinstance(value, str):
        return any(isinstance(item, Mapping) and not _CALL_KEYS.isdisjoint(item) for item in value)
    return False
