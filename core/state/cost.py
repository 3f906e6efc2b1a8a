"""What a state's own `cost` says was spent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turnback.core.models import Spent, State

LARGEST = 2**53
"""Numbers beyond this are nobody's bill, and no column holds the sum of some that are much larger."""

_TOKEN_KEYS = (("tokens",), ("input_tokens", "output_tokens"), ("in_tok", "out_tok"))
"""Where a `cost` may count its tokens; the first group with a number is taken."""


def cost_of(state: State) -> Spent:
    """What a state's `cost` says; what is not there, no number, or a senseless one counts as 0."""
    cost = state.get("cost")
    if not isinstance(cost, Mapping):
        return Spent()
    tokens = next((sum(_number(cost.get(k)) for k in keys) for keys in _TOKEN_KEYS if any(k in cost for k in keys)), 0)
    return Spent(tokens=int(tokens), usd=float(_number(cost.get("usd"))))


def spent_between(before: Spent, now: Spent) -> Spent:
    """What was spent since `before`; a cost that went down gives nothing back."""
    return Spent(tokens=max(0, now.tokens - before.tokens), usd=max(0.0, now.usd - before.usd))


def _number(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and -LARGEST < value < LARGEST
    return value if is_number else 0
