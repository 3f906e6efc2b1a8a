"""What one stored state consists of: ropes over the logs of its thread.

A thread has three append-only logs of bytes. A value is a rope, the ranges of one log that make it
up when put one after the other, so an edit in the middle of a long text costs the new middle and
two ranges. A manifest names the ropes of one state; it is small and written with every state.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

Range = tuple[int, int]
"""From and to (exclusive), as offsets in a log."""

Rope = tuple[Range, ...]

MESSAGES, FIELDS, BIG = 0, 1, 2
"""The logs: of messages, of small values, of big values. Apart, since each lives and is read differently."""

LOGS = (MESSAGES, FIELDS, BIG)

_FINISHED, _SUSPECT, _LISTED, _WIDE = 1, 2, 4, 8

_START = struct.calcsize("<BQ")

_NARROW = 2**31 - 1


class Value(NamedTuple):
    """One value: its rope, and the log that it lies in."""

    log: int
    rope: Rope


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """One state. `digest` is the keyed hash of its messages, 0 where it is not known.

    `listed` is whether it has messages (an empty list of them, too), whose rope leaves out the closing
    bracket. `head` is the other keys and their small values, `own` are the longer values in the order of
    their keys (`head.py`).
    """

    bytes: int
    finished: bool
    suspect: bool
    listed: bool
    digest: int
    messages: Rope
    head: Value
    own: tuple[Value, ...]

    def ranges(self, log: int) -> list[Range]:
        """Every range of `log` that this state needs."""
        if log == MESSAGES:
            return list(self.messages)
        return [span for value in (self.head, *self.own) if value.log == log for span in value.rope]


def length(rope: Rope) -> int:
    """How many bytes a rope has."""
    return sum(stop - start for start, stop in rope)


def cut(rope: Rope, start: int, stop: int) -> list[Range]:
    """The ranges that hold the bytes `start` to `stop` of what a rope makes up."""
    out: list[Range] = []
    at = 0
    for lo, hi in rope:
        if at >= stop:
            break
        size = hi - lo
        if at + size > start:
            out.append((lo + max(0, start - at), hi - max(0, at + size - stop)))
        at += size
    return out


def join(ranges: Iterable[Range]) -> Rope:
    """A rope of these ranges; neighbours that touch become one."""
    out: list[Range] = []
    for lo, hi in ranges:
        if lo == hi:
            continue
        if out and out[-1][1] == lo:
            out[-1] = (out[-1][0], hi)
        else:
            out.append((lo, hi))
    return tuple(out)


def union(ranges: Iterable[Range]) -> list[Range]:
    """The same offsets as sorted ranges that neither touch nor overlap."""
    out: list[Range] = []
    for lo, hi in sorted(ranges):
        if out and lo <= out[-1][1]:
            if hi > out[-1][1]:
                out[-1] = (out[-1][0], hi)
        else:
            out.append((lo, hi))
    return out


def encode(manifest: Manifest) -> bytes:
    """As bytes: whole numbers, of 4 bytes where all fit; each range's start as the distance from the last one's end."""
    values = (Value(MESSAGES, manifest.messages), manifest.head, *manifest.own)
    numbers = [manifest.bytes, len(values)]
    last = [0, 0, 0]
    for log, rope in values:
        numbers.append(len(rope) << 1 | (log == BIG))
        at = last[log]
        for lo, hi in rope:
            numbers += (lo - at, hi - lo)
            at = hi
        last[log] = at
    wide = max(numbers) > _NARROW or min(numbers) < -_NARROW
    flags = _FINISHED * manifest.finished | _SUSPECT * manifest.suspect | _LISTED * manifest.listed | _WIDE * wide
    return struct.pack(f"<BQ{len(numbers)}{'q' if wide else 'i'}", flags, manifest.digest, *numbers)


def decode(data: bytes) -> Manifest:
    """The manifest that `encode` made."""
    width = "q" if data[0] & _WIDE else "i"
    count = (len(data) - _START) // struct.calcsize(width)
    flags, digest, size, count, *rest = struct.unpack(f"<BQ{count}{width}", data)
    numbers = iter(rest)
    last = [0, 0, 0]
    values: list[Value] = []
    for index in range(count):
        head = next(numbers)
        log = MESSAGES if index == 0 else BIG if head & 1 else FIELDS
        at = last[log]
        rope: list[Range] = []
        for _ in range(head >> 1):
            at += next(numbers)
            rope.append((at, at + next(numbers)))
            at = rope[-1][1]
        last[log] = at
        values.append(Value(log, tuple(rope)))
    return Manifest(
        bytes=size,
        finished=bool(flags & _FINISHED),
        suspect=bool(flags & _SUSPECT),
        listed=bool(flags & _LISTED),
        digest=digest,
        messages=values[0].rope,
        head=values[1],
        own=tuple(values[2:]),
    )
