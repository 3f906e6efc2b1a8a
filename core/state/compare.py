"""Two states side by side: the common beginning, what only one has, and what else changed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from turnback.core.models import State
from turnback.core.state import codec, messages, patch
from turnback.core.state.dialects import items


def compare(a: State, b: State) -> dict[str, Any]:
    """How `b` differs from `a`.

    `common_messages` (a count of readable messages), `only_a` and `only_b` (readable messages), `changes`
    (an RFC 6902 patch that makes a's other keys b's), `cost` (`a`, `b`, `delta`: numbers per key of the
    states' cost) and `identical`.
    """
    shared = _common(items(a.get("messages")), items(b.get("messages")))
    common = {"messages": items(a.get("messages"))[:shared]}
    return {
        "common_messages": messages.count(common),
        "only_a": messages.readable({"messages": items(a.get("messages"))[shared:]}),
        "only_b": messages.readable({"messages": items(b.get("messages"))[shared:]}),
        "changes": messages.clean(patch.diff(_others(a), _others(b))),
        "cost": _costs(a.get("cost"), b.get("cost")),
        "identical": codec.canonical(a) == codec.canonical(b),
    }


def _common(a: Sequence[Any], b: Sequence[Any]) -> int:
    for index, (left, right) in enumerate(zip(a, b, strict=False)):
        if left is not right and codec.canonical(left) != codec.canonical(right):
            return index
    return min(len(a), len(b))


def _others(state: State) -> State:
    """All keys but the messages; messages that are no list have nothing to show, and are a key like others."""
    listed = isinstance(state.get("messages"), list | tuple)
    return {key: value for key, value in state.items() if not (listed and key == "messages")}


def _costs(a: Any, b: Any) -> dict[str, dict[str, int | float]]:
    left, right = _numbers(a), _numbers(b)
    delta = {key: _minus(right.get(key, 0), left.get(key, 0)) for key in {**left, **right}}
    return {"a": left, "b": right, "delta": delta}


def _numbers(cost: Any) -> dict[str, int | float]:
    """The numbers in a cost, whose inner ones are named by a path with dots."""
    found: dict[str, int | float] = {}
    stack = [("", cost)]
    while stack:
        name, value = stack.pop()
        if isinstance(value, Mapping):
            stack.extend((f"{name}.{key}" if name else str(key), item) for key, item in reversed(list(value.items())))
        elif type(value) is int or (type(value) is float and math.isfinite(value)):
            found[messages.clean(name) or "cost"] = value
    return found


def _minus(a: float, b: float) -> int | float:
    """The difference as people write it: 0.3 - 0.1 is 0.2."""
    if isinstance(a, int) and isinstance(b, int):
        return a - b
    return float(Decimal(repr(a)) - Decimal(repr(b)))
