"""A state made ready for every store, once, before the first await: encoded, limited, counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from turnback.core.models import State
from turnback.core.state import codec, finish, truncate
from turnback.core.state.codec import Encoded
from turnback.core.state.grown import Grown

_grown = Grown()


def prepare(state: Mapping[str, Any], max_bytes: int) -> Encoded:
    """The state encoded, cut if it is over `max_bytes` as JSON, its readable messages counted.

    Raises codec.NotEncodable.
    """
    encoded, plain = codec.encode_plain(state)
    if encoded.bytes > max_bytes:
        return _cut(plain, max_bytes)
    return _counted(encoded, plain)


def prepare_whole(state: Mapping[str, Any]) -> tuple[Encoded, State]:
    """The state encoded, never cut for its size, its messages counted; and the same as plain JSON values.

    Raises codec.NotEncodable.
    """
    encoded, plain = codec.encode_plain(state)
    return _counted(encoded, plain), plain


def within(encoded: Encoded, plain: State, max_bytes: int) -> Encoded:
    """What `prepare_whole` answered, cut if it is over `max_bytes`."""
    return _cut(plain, max_bytes) if encoded.bytes > max_bytes else encoded


def _cut(plain: State, max_bytes: int) -> Encoded:
    encoded, cut = codec.encode_plain(truncate.truncate(plain, max_bytes))
    return _counted(replace(encoded, truncated=True), cut)


def _counted(encoded: Encoded, plain: State) -> Encoded:
    count, settled, proof = _grown.outline(plain, encoded.messages)
    return Encoded(
        messages=encoded.messages,
        fields=encoded.fields,
        bytes=encoded.bytes,
        message_count=count,
        truncated=encoded.truncated,
        finished=settled and finish.nothing_waits(plain),
        proof=proof,
    )
