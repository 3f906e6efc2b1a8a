"""People in a simulated workspace of Slack, which counts its rate limits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from platforms.slack.people import User
from platforms.slack.server import SlackServer
from support.slack_bot import manifest


class Slack:
    """See `crowd.Crowd`."""

    def __init__(self, server: SlackServer) -> None:
        self.signal = server.signal
        self._server = server

    @classmethod
    @asynccontextmanager
    async def open(cls) -> AsyncIterator[Slack]:
        async with SlackServer(manifest=manifest(), rates="count", method_rates="count") as server:
            yield cls(server)

    @property
    def environment(self) -> Mapping[str, str]:
        return {
            "TURNBACK_SLACK__BOT_TOKEN": self._server.bot_token,
            "TURNBACK_SLACK__APP_TOKEN": self._server.app_token,
            "TURNBACK_SLACK__API_BASE_URL": self._server.base_url,
        }

    @property
    def broken(self) -> Sequence[str]:
        return [*self._server.violations, *self._server.refusals]

    async def ready(self) -> None:
        """Its manifest has declared the commands."""

    def person(self, name: str) -> Person:
        return Person(self._server.user(name))


class Person:
    """See `crowd.Person`."""

    def __init__(self, user: User) -> None:
        self._user = user

    @property
    def place(self) -> str:
        return f"{self._user.scene.app.team}/{self._user.private.id}"

    async def write(self, text: str) -> None:
        if text.startswith("/"):
            await self._user.command(text)
        else:
            await self._user.say(text)

    def told(self) -> Sequence[str]:
        return [message.text for message in self._user.private.said()]
