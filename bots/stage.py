"""What is needed to say something at a place: its platform's outlet, and the place's turn to speak.

What is said at one place is said in order, while a slow place holds up no other. A platform that is away
is waited for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

import structlog

from turnback.bots.platform import Down, Outlet, Said, Unreachable
from turnback.core.locks import Locks
from turnback.core.models import Position, Post, Surface, ThreadId
from turnback.core.service import Turnback

T = TypeVar("T")

AGAIN_AFTER, LONGEST_WAIT = 1.0, 30.0
"""Seconds before a platform that is down is tried again: at first, and at most."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A place, the thread that it talks into, and where in that something is shown."""

    surface: Surface
    place: str
    thread_id: ThreadId
    at: Position


class Stage:
    """The outlets that there are, and who speaks through them when."""

    def __init__(
        self, service: Turnback, *, clock: Callable[[], datetime], sleep: Callable[[float], Awaitable[None]]
    ) -> None:
        self.service = service
        self.clock = clock
        self.sleep = sleep
        self._locks = Locks()
        self._outlets: dict[Surface, Outlet] = {}
        self._ever: set[Surface] = set()
        self._added = asyncio.Event()

    @property
    def outlets(self) -> Sequence[Outlet]:
        """Those that can be spoken through now."""
        return tuple(self._outlets.values())

    def add(self, outlet: Outlet) -> None:
        """This platform can be spoken through from now on."""
        self._outlets[outlet.surface] = outlet
        self._ever.add(outlet.surface)
        self._added.set()

    def remove(self, outlet: Outlet) -> None:
        """It cannot any more."""
        if self._outlets.get(outlet.surface) is outlet:
            del self._outlets[outlet.surface]

    def find(self, surface: Surface) -> Outlet | None:
        """A platform's outlet, if it is there now."""
        return self._outlets.get(surface)

    def speaks(self, surface: Surface) -> bool:
        """Whether there is this platform here, be it away now."""
        return surface in self._ever

    async def outlet(self, surface: Surface) -> Outlet:
        """A platform's outlet; waits until there is one."""
        while surface not in self._outlets:
            self._added.clear()
            await self._added.wait()
        return self._outlets[surface]

    async def do(self, surface: Surface, place: str, work: Callable[[Outlet], Awaitable[T]]) -> T:
        """Do something at a place, when it is its turn and the platform is there."""
        async with self._locks.hold(f"{surface.value}:{place}"):
            wait = AGAIN_AFTER
            while True:
                outlet = await self.outlet(surface)
                try:
                    return await work(outlet)
                except Unreachable:
                    raise
                except Down as down:
                    _log.warning("platform is down", surface=surface.value, why=str(down))
                except Exception:
                    if self.find(surface) is outlet:
                        raise  # no lost connection: a fault
                await self.sleep(wait)
                wait = min(2 * wait, LONGEST_WAIT)

    async def say(self, surface: Surface, place: str, said: Said) -> Sequence[str]:
        """Say something at a place; answers the ids of its messages."""

        async def send(outlet: Outlet) -> Sequence[str]:
            return await outlet.send(place, said)

        return await self.do(surface, place, send)

    async def post(self, standing: Standing, messages: Sequence[str], kind: str) -> None:
        """Write down what messages of ours show."""
        for message in messages:
            post = Post(
                surface=standing.surface,
                place=standing.place,
                message=message,
                thread_id=standing.thread_id,
                at=standing.at,
                kind=kind,
            )
            try:
                await self.service.threads.add_post(post)
            except Exception:  # noqa: BLE001 - a full disk: the message is shown, it just cannot be pointed at
                _log.exception("post not kept", surface=standing.surface.value, thread=standing.thread_id)
                return

    def failed(self, surface: Surface, error: BaseException, what: str) -> None:
        """Take note of what could not be shown. An unreachable place is no news; all else is a fault."""
        self.service.metrics.platform_errors.labels(surface.value, type(error).__name__).inc()
        if isinstance(error, Unreachable):
            _log.warning("place cannot be reached", surface=surface.value, operation=what, why=str(error))
        else:
            _log.error("cannot be shown", surface=surface.value, operation=what, exc_info=error)
