"""Turnback's Discord adapter on the real library, over real HTTP and WebSocket, against the simulated server.

After every test the server must have counted no broken rule.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from platforms.discord.channels import Channel
from platforms.discord.guilds import Guild
from platforms.discord.people import User
from platforms.discord.server import DiscordServer, pointing
from support.discord_bot import Bot, discord_bot


@pytest.fixture
async def discord() -> AsyncIterator[DiscordServer]:
    async with DiscordServer(rates=False) as server:
        with pointing(server):
            yield server
        assert server.violations == []


@pytest.fixture
def ann(discord: DiscordServer) -> User:
    return discord.user("ann")


@pytest.fixture
def bob(discord: DiscordServer) -> User:
    return discord.user("bob")


@pytest.fixture
def guild(discord: DiscordServer, ann: User, bob: User) -> Guild:
    """Ann owns it, so she may do everything there; Bob is in it, too."""
    return discord.guild("Team", [ann, bob])


@pytest.fixture
def general(guild: Guild) -> Channel:
    return guild.channel("general")


@pytest.fixture
async def bot(discord: DiscordServer, general: Channel, tmp_path: Path) -> AsyncIterator[Bot]:
    """The whole of Turnback, for whoever writes to it; its commands are known."""
    async with discord_bot(tmp_path, discord) as running:
        await discord.registered("help")
        await discord.registered("Rewind to here")
        yield running
