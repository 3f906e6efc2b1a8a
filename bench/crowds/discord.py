"""People on a simulated Discord, which counts its rate limits, under its own host names behind a proxy."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from platforms.discord.people import User
from platforms.discord.server import DiscordServer
from platforms.gate import Gate

START_SECONDS = 120.0


class Discord:
    """See `crowd.Crowd`."""

    def __init__(self, server: DiscordServer, gate: Gate) -> None:
        self.signal = server.signal
        self._server, self._gate = server, gate

    @classmethod
    @asynccontextmanager
    async def open(cls) -> AsyncIterator[Discord]:
        async with DiscordServer() as server, Gate(server.routes) as gate:
            yield cls(server, gate)

    @property
    def environment(self) -> Mapping[str, str]:
        return {
            "TURNBACK_DISCORD__TOKEN": self._server.token,
            "TURNBACK_DISCORD__PROXY": self._gate.url,
            "SSL_CERT_FILE": self._gate.environment()["SSL_CERT_FILE"],
        }

    @property
    def broken(self) -> Sequence[str]:
        return [*self._server.violations, *self._server.refusals, *self._gate.refused]

    async def ready(self) -> None:
        """Commands can be picked once they are registered, which takes a while: Discord lets five through in 20 s."""
        await self._server.registered("Fork from here", seconds=START_SECONDS)

    def person(self, name: str) -> Person:
        return Person(self._server.user(name))


class Person:
    """See `crowd.Person`."""

    def __init__(self, user: User) -> None:
        self._user = user

    @property
    def place(self) -> str:
        return self._user.private.id

    async def write(self, text: str) -> None:
        if text.startswith("/"):
            await self._user.slash(text)
        else:
            await self._user.say(text)

    def told(self) -> Sequence[str]:
        return [message.text for message in self._user.private.said()]
