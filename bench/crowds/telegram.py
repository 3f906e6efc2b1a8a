"""People on a simulated Telegram, which counts the flood limits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from platforms.telegram.people import User
from platforms.telegram.server import TelegramServer


class Telegram:
    """See `crowd.Crowd`."""

    def __init__(self, server: TelegramServer) -> None:
        self.signal = server.signal
        self._server = server

    @classmethod
    @asynccontextmanager
    async def open(cls) -> AsyncIterator[Telegram]:
        async with TelegramServer(flood="count") as server:
            yield cls(server)

    @property
    def environment(self) -> Mapping[str, str]:
        return {
            "TURNBACK_TELEGRAM__TOKEN": self._server.token,
            "TURNBACK_TELEGRAM__API_BASE_URL": self._server.base_url,
        }

    @property
    def broken(self) -> Sequence[str]:
        return [*self._server.violations, *self._server.refusals]

    async def ready(self) -> None:
        """It takes commands as they are typed."""

    def person(self, name: str) -> Person:
        return Person(self._server.user(name))


class Person:
    """See `crowd.Person`."""

    def __init__(self, user: User) -> None:
        self._user = user

    @property
    def place(self) -> str:
        return str(self._user.id)

    async def write(self, text: str) -> None:
        await self._user.say(text)

    def told(self) -> Sequence[str]:
        return [message.text for message in self._user.private.said()]
