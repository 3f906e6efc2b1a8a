"""What came of a turn is shown once, though it is told more than once: by events, by the answer to the message
that began it, and to `/stop`.

Events may come late, after a lost connection; or never, after a restart of the server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from turnback.core.turns.running import STOPPED


@dataclass(slots=True, eq=False)
class Asked:
    """Something that was sent, and what events told since: words of turns, and turns that ended."""

    said: set[tuple[int | None, str]] = field(default_factory=set)
    over: set[int | None] = field(default_factory=set)


class Outcomes:
    """Turns go by their `turn_index`, which is None for a message that began none."""

    def __init__(self) -> None:
        self._asked: list[Asked] = []
        self._turn: int | None = None
        self._ahead: dict[int | None, str] = {}
        self._news = asyncio.Event()
        self._stopping = False
        self._stop_said = False

    @property
    def muted(self) -> bool:
        """Whether the answer that events tell of now is on the screen already."""
        return self._turn in self._ahead

    @contextmanager
    def asked(self) -> Iterator[Asked]:
        """While the answer to something that was sent is waited for."""
        asked = Asked()
        self._asked.append(asked)
        try:
            yield asked
        finally:
            self._asked.remove(asked)

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait for events that make this true."""
        while not true():
            self._news.clear()
            await self._news.wait()

    # what events tell

    def started(self, turn: int) -> None:
        """A turn has begun."""
        self._turn = turn

    def heard(self, turn: int, text: str) -> bool:
        """The agent, or a note, says something; whether that is to be shown."""
        for asked in self._asked:
            asked.said.add((turn, text))
        return self._ahead.get(turn) != text and not self._is_said_of_stop(text)

    def ended(self, turn: int) -> None:
        """A turn has ended."""
        for asked in self._asked:
            asked.over.add(turn)
        self._ahead.pop(turn, None)
        self._turn, self._stopping = None, False

    def looked(self) -> None:
        """An event was shown; whoever waits for it may look."""
        self._news.set()

    def lost(self) -> None:
        """Events that did not come yet will not come any more, or are of turns that are set aside.

        That of a turn that `/stop` ends may still come: after a restart the stream begins with a gap.
        """
        self._ahead.clear()
        self._turn = None

    # what answers tell

    def answered(self, asked: Asked, turn: int | None, text: str) -> bool:
        """The answer to what was sent tells the last words of its turn; whether they are to be shown."""
        if (turn, text) in asked.said:
            return False
        if turn is not None:
            self._ahead[turn] = text
        return not self._is_said_of_stop(text)

    def stop(self) -> None:
        """`/stop` is sent."""
        self._stopping, self._stop_said = True, False

    def stopped(self, text: str) -> bool:
        """The answer to `/stop`; whether it is to be shown."""
        if text != STOPPED:
            self._stopping = False
            return True
        said, self._stop_said = self._stop_said, True
        return not said

    def _is_said_of_stop(self, text: str) -> bool:
        """Whether this is what `/stop` was answered with, or will be."""
        if not self._stopping or text != STOPPED:
            return False
        said, self._stop_said = self._stop_said, True
        return said
