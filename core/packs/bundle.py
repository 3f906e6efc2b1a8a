"""A state as it lies in a store, to be carried to another without decoding it."""

from __future__ import annotations

from dataclasses import dataclass

from turnback.core.state.codec import Encoded


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """Opaque parts of one stored state; only `packs` knows what they mean.

    `clean` promises that finishing and scrubbing would change nothing: then a fork or a restore may
    copy the bundle as it is. `bytes` is the size of the whole state as JSON. `content` is the state, where it
    was decompressed already.
    """

    parts: tuple[bytes, ...]
    bytes: int
    clean: bool
    content: Encoded | None = None
