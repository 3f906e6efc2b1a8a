"""When what was appended to a log is merged: the rules, on numbers only.

Each state appends one small tail, for all logs of its thread together. Sixteen tails become one piece of
each log (level 1), and sixteen pieces that lie one behind the other become one that stays, since zstd
finds more in more text and a file holds few big rows better than many small ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

FAN = 16
"""Tails, or pieces, that are merged into one."""

PIECE = 128 * 1024
"""A piece of this many bytes before compression is not merged any more; a bigger one is cut into such."""

MERGE = 128 * 1024
"""Pieces of so many bytes together are merged before they are `FAN`."""

DIRECT = PIECE // 4
"""So much is not worth a tail: it becomes a piece at once."""

CEILING = 512 * 1024
"""The most bytes that a merge makes."""

STAYS = 2
"""The level that is never merged."""


@dataclass(frozen=True, slots=True)
class Tail:
    """What one state appended: where in each log, and how many bytes before compression."""

    starts: tuple[int, int, int]
    raws: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Piece:
    """A stored piece of a log: where it starts, its bytes before compression, its level."""

    start: int
    raw: int
    level: int

    @property
    def stop(self) -> int:
        return self.start + self.raw


def pieces(start: int, size: int) -> list[Piece]:
    """How `size` bytes at `start` are cut."""
    if size < PIECE:
        return [Piece(start, size, 1)]
    count = max(1, round(size / PIECE))
    bounds = [start + size * n // count for n in range(count + 1)]
    return [Piece(lo, hi - lo, STAYS) for lo, hi in pairwise(bounds)]


def to_merge(open_pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces that shall become one now, none if it is not time yet.

    `open_pieces` are those below `STAYS`, ascending.
    """
    run: list[Piece] = []
    total = 0
    for piece in open_pieces:
        if run and (run[-1].stop != piece.start or total + piece.raw > CEILING):
            return run
        run.append(piece)
        total += piece.raw
    return run if len(run) >= FAN or total >= MERGE else []


def merged(run: Sequence[Piece]) -> Piece:
    """What a run becomes."""
    return Piece(run[0].start, run[-1].stop - run[0].start, STAYS)
