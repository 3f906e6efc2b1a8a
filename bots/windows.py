"""Limits of platforms as they count them: at most so much within so many seconds."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `most` in any `seconds`."""

    most: int
    seconds: float


@dataclass(slots=True)
class Window:
    """What is under way, and when the newest of what is over was answered, for one limit.

    A platform counts when a message arrives, which is at some time before its answer does: so the time runs from
    the answer, and no slow way there can bring messages closer together than they may be.
    """

    limit: Limit
    flying: int = 0
    answered: deque[float] = field(default_factory=deque)

    def free_at(self) -> float:
        """The earliest time for one more, as far as that is known."""
        over = self.flying + len(self.answered) - self.limit.most
        if over < 0:
            return 0.0
        return self.answered[over] + self.limit.seconds if over < len(self.answered) else float("inf")

    def take(self) -> None:
        """One more is under way."""
        self.flying += 1

    def give_back(self, now: float) -> None:
        """One is over, answered just now."""
        self.flying -= 1
        self.answered.append(now)
        if len(self.answered) > self.limit.most:
            self.answered.popleft()

    def idle_from(self) -> float:
        """When all of it will be forgotten."""
        newest = self.answered[-1] if self.answered else 0.0
        return float("inf") if self.flying else newest + self.limit.seconds
