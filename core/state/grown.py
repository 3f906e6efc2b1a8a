"""The outline of histories that only grew since they were last looked at, which is nearly every save.

That the beginning is still the same is proved by a keyed hash over its encoded bytes, in a tenth of the time
that looking at each message takes. Only outlines that are told at a glance are remembered, since of
those the whole is the sum of its parts.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import xxhash

from turnback.core.state.codec import Proof
from turnback.core.state.dialects import items
from turnback.core.state.outline import at_a_glance, outline

_HISTORIES = 1024
"""How many beginnings are remembered."""

_OF_ONE = 4
"""How many histories with the same beginning."""

_BEGINNING = 256
"""Bytes that tell one history from most others."""

_LONG = 64 * 1024
"""Bytes of a history from which on it is worth remembering."""


@dataclass(frozen=True, slots=True)
class _Known:
    """A settled history: its bytes but for the closing bracket, their hash, its messages, how many are readable."""

    size: int
    digest: int
    messages: int
    count: int


class Grown:
    """Remembers what it looked at; holds numbers only."""

    def __init__(self) -> None:
        self._key = secrets.randbits(64)
        self._known: OrderedDict[bytes, tuple[_Known, ...]] = OrderedDict()

    def outline(self, state: Mapping[str, Any], encoded: bytes) -> tuple[int, bool, Proof | None]:
        """`outline.outline(state)`, and how that is proved if it is by a hash.

        `encoded` is the JSON array of its messages, b"" where they are no list.
        """
        body = memoryview(encoded)[:-1]
        if len(body) < _LONG:
            return *outline(state), None
        beginning = bytes(body[:_BEGINNING])
        known = self._known.pop(beginning, ())
        hashing, best = self._proved(body, known)
        messages = items(state.get("messages"))
        count = None
        if best is not None and best.messages <= len(messages):
            rest = at_a_glance(messages[best.messages :])
            count = None if rest is None else best.count + rest
        if count is None:
            count = at_a_glance(messages)
        if count is None:
            return *outline(state), None
        latest = _Known(len(body), hashing.intdigest(), len(messages), count)
        self._known[beginning] = (latest, *(one for one in known if one is not best))[:_OF_ONE]
        if len(self._known) > _HISTORIES:
            self._known.popitem(last=False)
        beginning_of = None if best is None else (best.size, best.digest)
        return count, True, Proof((latest.size, latest.digest), beginning_of)

    def _proved(self, body: memoryview, known: tuple[_Known, ...]) -> tuple[xxhash.xxh3_64, _Known | None]:
        """The hash of all of `body`, and the longest of the known histories that it begins with."""
        hashing, done, best = xxhash.xxh3_64(seed=self._key), 0, None
        for one in sorted(known, key=lambda one: one.size):
            if one.size > len(body):
                break
            hashing.update(body[done : one.size])
            done = one.size
            if hashing.intdigest() == one.digest:
                best = one
        hashing.update(body[done:])
        return hashing, best
