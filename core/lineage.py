"""Where things stand: the tree of branches of one thread, as pure functions on values.

A path is never stored, and never follows links between steps, because budgets and thinning drop
steps. It follows from two things that are: where each branch left its parent, and the head.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from turnback.core.models import Branch, Position


@dataclass(frozen=True, slots=True)
class Path:
    """What leads from a thread's beginning to `end`: the last position on each branch of it."""

    end: Position
    upto: Mapping[int, int]

    def covers(self, at: Position) -> bool:
        """Whether `at` lies on this path."""
        return at.pos <= self.upto.get(at.branch, -1)


class Lineage:
    """The branches of one thread."""

    def __init__(self, branches: Iterable[Branch]) -> None:
        self._left = {b.branch: b.left for b in branches}

    def back(self, end: Position) -> Iterator[Position]:
        """The last position on each branch of the path that ends at `end`, its own first.

        A branch that is not known is a bug: KeyError.
        """
        at: Position | None = end
        while at is not None:
            yield at
            at = self._left[at.branch]

    def path(self, end: Position) -> Path:
        """The path that ends at `end`."""
        return Path(end, {at.branch: at.pos for at in self.back(end)})

    def reach(self, ends: Iterable[Position]) -> dict[int, int]:
        """The last position on each branch that a path to any of `ends` covers.

        What lies beyond it can be reached no more.
        """
        reach: dict[int, int] = {}
        for end in ends:
            for branch, pos in self.path(end).upto.items():
                reach[branch] = max(pos, reach.get(branch, -1))
        return reach

    def leaving(self) -> set[Position]:
        """The positions that branches left from."""
        return {left for left in self._left.values() if left is not None}
