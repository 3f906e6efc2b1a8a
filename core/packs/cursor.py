"""What is remembered between two captures of a thread: where its logs end and what its last state was.

Only a memory: everything in it can be had from the file again. The least recently used cursors are
forgotten when they hold too much.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

import xxhash

from turnback.core.packs.loose import Loose
from turnback.core.packs.manifest import LOGS, Manifest, Range, Value
from turnback.core.packs.plan import STAYS, Piece, Tail
from turnback.core.state.codec import Proof

MOST_BYTES = 32 * 1024 * 1024
"""Bytes of values that all cursors together may hold."""

MOST = 2048
"""Cursors that are kept."""


@dataclass(slots=True)
class Base:
    """The state that the next one is compared with: its reference, manifest and the bytes of all but its messages.

    `hashing` is the hash of its messages, to be gone on with, and `proof` what they were known by when it was saved.
    """

    ref: bytes
    manifest: Manifest
    keys: tuple[str, ...]
    head: bytes
    own: dict[str, tuple[bytes, Value]]
    hashing: xxhash.xxh3_64 | None = None
    proof: Proof | None = None

    @property
    def weight(self) -> int:
        return len(self.head) + sum(len(text) for text, _ in self.own.values())


@dataclass(slots=True)
class Cursor:
    """One thread's. `ends` of its logs; `open` are the pieces that will be merged, `states` how many are kept.

    `loose` is where the next tail goes, `loose_bytes` what the tails hold before compression, `since` how many states
    were saved since tails were last made pieces.
    """

    number: int
    states: int = 0
    dropped: int = 0
    ends: list[int] = field(default_factory=lambda: [0, 0, 0])
    open: list[list[Piece]] = field(default_factory=lambda: [[], [], []])
    base: Base | None = None
    loose: Loose = field(default_factory=Loose)
    loose_bytes: int = 0
    since: int = 0
    pieces_made: bool = False
    """Since the last state was saved; what that does to the file's size is not added up."""

    @property
    def weight(self) -> int:
        return 2048 + (self.base.weight if self.base else 0)

    def found(self, log: int, pieces: list[Piece]) -> None:
        """Take over what the file has of a log."""
        self.open[log] = [piece for piece in pieces if piece.level < STAYS]
        if pieces:
            self.ends[log] = max(self.ends[log], pieces[-1].stop)

    def found_tail(self, tail: Tail) -> None:
        """Take over a tail, or remember a new one."""
        self.loose_bytes += sum(tail.raws)
        for log in LOGS:
            self.ends[log] = max(self.ends[log], tail.starts[log] + tail.raws[log])

    def fits(self, ranges: list[list[Range]]) -> None:
        """Never write below what a state refers to."""
        for log in LOGS:
            self.ends[log] = max([self.ends[log], *(stop for _, stop in ranges[log])])


class Cursors:
    """The cursors of one file, bounded."""

    def __init__(self, most: int = MOST, most_bytes: int = MOST_BYTES) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._all: OrderedDict[str, tuple[Cursor, int]] = OrderedDict()
        self._bytes = 0

    def find(self, thread: str) -> Cursor | None:
        entry = self._all.get(thread)
        if entry is None:
            return None
        self._all.move_to_end(thread)
        return entry[0]

    def keep(self, thread: str, cursor: Cursor) -> None:
        """Remember, as the most recently used."""
        self.forget(thread)
        weight = cursor.weight
        self._all[thread] = (cursor, weight)
        self._bytes += weight
        while len(self._all) > 1 and (len(self._all) > self._most or self._bytes > self._most_bytes):
            self.forget(next(iter(self._all)))

    def forget(self, thread: str) -> None:
        entry = self._all.pop(thread, None)
        if entry is not None:
            self._bytes -= entry[1]

    def clear(self) -> None:
        self._all.clear()
        self._bytes = 0
