"""When the pieces of a log are merged: the rules, on numbers only.

Each state appends one small piece (level 0). Sixteen of a level that lie one behind the other become one
of the next, since zstd finds more in more text and a file holds few big rows better than many
small ones. What is big enough, or was merged twice, stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

FAN = 16
"""Pieces that are merged into one."""

PIECE = 128 * 1024
"""A piece of this many bytes before compression is not merged any more; a bigger one is cut into such."""

CEILING = 512 * 1024
"""The most bytes that a merge makes."""

STAYS = 2
"""The level that is never merged."""


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
    """How `size` new bytes at `start` are cut."""
    if size < PIECE:
        return [Piece(start, size, 0)]
    count = max(1, round(size / PIECE))
    bounds = [start + size * n // count for n in range(count + 1)]
    return [Piece(lo, hi - lo, STAYS) for lo, hi in pairwise(bounds)]


def to_merge(open_pieces: Sequence[Piece], level: int) -> list[Piece]:
    """The pieces of `level` that shall become one now, none if it is not time yet.

    `open_pieces` are those below `STAYS`, ascending.
    """
    run: list[Piece] = []
    total = 0
    for piece in open_pieces:
        if piece.level != level:
            continue
        if run and (run[-1].stop != piece.start or total + piece.raw > CEILING):
            return run
        run.append(piece)
        total += piece.raw
    return run if len(run) >= FAN or total >= PIECE else []


def merged(run: Sequence[Piece]) -> Piece:
    """What a run becomes."""
    raw = run[-1].stop - run[0].start
    return Piece(run[0].start, raw, STAYS if raw >= PIECE else min(STAYS, run[0].level + 1))
