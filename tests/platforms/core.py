"""What every simulated platform shares: a real HTTP server on loopback, a record of calls, faults, waiting.

A server runs in the test's own event loop and speaks to the platform's real library over sockets, in this
process or in another. Every call is kept; whatever breaks a rule of the platform is kept as a sentence in
`violations`. Nobody waits by sleeping: `Signal.until` looks again whenever something visible changes.
"""

from __future__ import annotations

import asyncio
import fnmatch
import itertools
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self, TypeVar

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

Json = dict[str, Any]
T = TypeVar("T")

WAIT_SECONDS = 20.0
"""How long a test waits for something visible before it fails."""

KEEP_ALIVE_SECONDS = 75


class ClientRefused(Exception):
    """The platform's own client would not let a person do this."""


class Clock:
    """The wall clock, moved forward by tests."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def now(self) -> float:
        return time.time() + self._ahead

    def advance(self, seconds: float) -> None:
        self._ahead += seconds


class Signal:
    """Wakes whoever waits for something that people could see."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()

    def touch(self) -> None:
        waiting, self._waiting = self._waiting, set()
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def until(self, look: Callable[[], T | None], what: Callable[[], str], seconds: float = WAIT_SECONDS) -> T:
        """The first true thing that `look` answers; an AssertionError that says `what` after `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                while not (found := look()):
                    await self._next()
                return found
        except TimeoutError:
            raise AssertionError(f"not within {seconds} s: {what()}") from None

    async def settled(self, seconds: float) -> None:
        """Return when nothing has changed for so long."""
        try:
            while True:
                async with asyncio.timeout(seconds):
                    await self._next()
        except TimeoutError:
            return

    async def _next(self) -> None:
        future = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        try:
            await future
        finally:
            self._waiting.discard(future)


@dataclass(eq=False)
class Call:
    """One request of the bot and what it was answered."""

    method: str
    params: Json
    at: float
    files: Mapping[str, bytes] = field(default_factory=dict)
    status: int = 0
    """0 while it runs, and when its connection was dropped."""
    answer: Any = None
    refused: str = ""
    """The platform's words, when it refused."""
    violations: list[str] = field(default_factory=list)


@dataclass(kw_only=True)
class Fault:
    """Trouble planned for the next calls of a method."""

    method: str
    status: int
    retry_after: float | None = None
    delay: float = 0.0
    drop: bool = False
    applied: bool = False
    times: int = 1


class Dropped(Response):
    """An answer whose connection breaks before its body."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1")]})


class PlatformServer(ABC):
    """Lifecycle, record and faults of one simulated platform."""

    websockets: ClassVar[Literal["none", "websockets-sansio"]] = "none"
    """What serves the WebSockets of a platform that has them."""

    def __init__(self, port: int = 0) -> None:
        self.clock, self.signal = Clock(), Signal()
        self.calls: list[Call] = []
        self.port = port
        self._faults: list[Fault] = []
        self._uvicorn: uvicorn.Server | None = None
        self._serving: asyncio.Task[None] | None = None

    @abstractmethod
    def application(self) -> Starlette:
        """The routes."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def violations(self) -> list[str]:
        """Every broken rule as "method: sentence"."""
        return [f"{call.method}: {sentence}" for call in self.calls for sentence in call.violations]

    @property
    def refusals(self) -> list[str]:
        """Every call that was refused as "method: the platform's words", broken rule or not."""
        return [f"{call.method}: {call.refused}" for call in self.calls if call.refused]

    def calls_to(self, pattern: str) -> list[Call]:
        """The calls so far whose method matches, such as "send*"."""
        return [call for call in self.calls if fnmatch.fnmatch(call.method.lower(), pattern.lower())]

    async def arrived(self, pattern: str, count: int = 1, *, seconds: float = WAIT_SECONDS) -> list[Call]:
        """The calls that match, when there are `count` of them."""

        def look() -> list[Call] | None:
            calls = self.calls_to(pattern)
            return calls if len(calls) >= count else None

        return await self.signal.until(look, lambda: f"{count} calls of {pattern}; {self._latest()}", seconds)

    async def up(self) -> None:
        """Listen: on a free port the first time, then always on the same."""
        listening = _listen(self.port)
        self.port = listening.getsockname()[1]
        config = uvicorn.Config(
            self.application(),
            log_level="critical",
            lifespan="off",
            ws=self.websockets,
            http="h11",
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
        )
        self._uvicorn = uvicorn.Server(config)
        self._serving = asyncio.create_task(self._uvicorn._serve([listening]))

    async def down(self) -> None:
        """Cut every connection and refuse new ones, until `up`."""
        if self._uvicorn is None or self._serving is None:
            return
        while not self._uvicorn.started and not self._serving.done():  # noqa: ASYNC110 - uvicorn tells nobody
            await asyncio.sleep(0)
        for listening in self._uvicorn.servers:
            listening.close()
        for connection in list(self._uvicorn.server_state.connections):
            if transport := getattr(connection, "transport", None):
                transport.abort()
        running = [self._serving, *self._uvicorn.server_state.tasks]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        self._uvicorn = self._serving = None

    async def __aenter__(self) -> Self:
        await self.up()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.down()

    def fail_next(
        self,
        method: str,
        status: int = 500,
        *,
        retry_after: float | None = None,
        delay: float = 0.0,
        drop: bool = False,
        applied: bool = False,
        times: int = 1,
    ) -> None:
        """Trouble for the next `times` calls of `method` (a pattern).

        `status` 0 fails nothing: with `delay` the answer is only slow. `drop` breaks the connection
        instead of answering. `applied` does what was asked first, so that only its answer is lost.
        """
        self._faults.append(
            Fault(
                method=method,
                status=status,
                retry_after=retry_after,
                delay=delay,
                drop=drop,
                applied=applied,
                times=times,
            )
        )

    def stop_failing(self) -> None:
        """Forget the trouble that is still planned."""
        self._faults.clear()

    def _latest(self) -> str:
        return f"the last calls: {[(call.method, call.status, call.refused) for call in self.calls[-5:]]}"

    def _record(self, method: str, params: Json, files: Mapping[str, bytes]) -> Call:
        call = Call(method, params, self.clock.now(), files)
        self.calls.append(call)
        self.signal.touch()
        return call

    async def _take_fault(self, method: str) -> Fault | None:
        for fault in self._faults:
            if fnmatch.fnmatch(method.lower(), fault.method.lower()):
                fault.times -= 1
                if fault.times <= 0:
                    self._faults.remove(fault)
                await asyncio.sleep(fault.delay)
                return fault if fault.status or fault.drop else None
        return None


async def read_request(request: Request) -> tuple[Json, dict[str, bytes]]:
    """Parameters from the query and a JSON, form or multipart body, and the files of a multipart body.

    A file's name comes as the parameter "<field>:name".
    """
    params: Json = dict(request.query_params)
    files: dict[str, bytes] = {}
    kind = request.headers.get("content-type", "").partition(";")[0]
    if kind == "application/json":
        params |= await request.json() if await request.body() else {}
    elif kind in ("application/x-www-form-urlencoded", "multipart/form-data"):
        async with request.form(max_part_size=8 << 20) as form:
            for name, value in form.multi_items():
                if isinstance(value, str):
                    params[name] = value
                else:
                    files[name] = await value.read()
                    params[f"{name}:name"] = value.filename
    return params, files


def _listen(port: int) -> socket.socket:
    """A socket whose protocol is named: else asyncio leaves Nagle's algorithm on, and each answer takes 40 ms."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", port))
    listening.listen(2048)
    return listening


def utf16_len(text: str) -> int:
    """The length in UTF-16 code units, in which Telegram counts."""
    return len(text) + sum(ord(char) > 0xFFFF for char in text)


def counter(start: int) -> Callable[[], int]:
    """Numbers from `start` on."""
    return itertools.count(start).__next__
