"""The simulated server, and the real library talking to it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import pytest
from platforms.discord.channels import Channel
from platforms.discord.echo import EchoBot, connected
from platforms.discord.people import User
from platforms.discord.server import DiscordServer, pointing


@pytest.fixture
async def server() -> AsyncIterator[DiscordServer]:
    async with DiscordServer(rates=False) as running, contextlib.AsyncExitStack() as stack:
        stack.enter_context(pointing(running))
        yield running


@pytest.fixture
def ann(server: DiscordServer) -> User:
    return server.user("ann")


@pytest.fixture
def bob(server: DiscordServer) -> User:
    return server.user("bob")


@pytest.fixture
def general(server: DiscordServer, ann: User, bob: User) -> Channel:
    """A channel of a guild with ann, who owns it, bob and the bot."""
    return server.guild("Team", [ann, bob]).channel("general")


@pytest.fixture
async def echo(server: DiscordServer, general: Channel) -> AsyncIterator[EchoBot]:
    async with connected(EchoBot(), server) as bot:
        yield bot
