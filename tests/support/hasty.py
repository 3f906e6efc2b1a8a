"""An event loop whose time jumps to the next thing that is due, so that a minute of waiting takes no time."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class HastyLoop(asyncio.SelectorEventLoop):
    """For what waits by `asyncio.sleep` and `call_later` only: with sockets, their answers would come late."""

    def __init__(self) -> None:
        super().__init__()
        self._ahead = 0.0

    def time(self) -> float:
        """The loop's clock."""
        return super().time() + self._ahead

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:  # type: ignore[attr-defined]
            self._ahead += max(0.0, self._scheduled[0].when() - self.time())  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]


def run_hastily(work: Coroutine[Any, Any, T]) -> T:
    """Run something to its end on such a loop."""
    with asyncio.Runner(loop_factory=HastyLoop) as runner:
        return runner.run(work)
