"""Turnback's Slack adapter on the real library, over real HTTP and WebSocket, against the simulated workspace.

After every test the server must have counted no broken rule.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from platforms.slack.channels import Channel
from platforms.slack.people import User
from platforms.slack.server import SlackServer
from support.slack_bot import HASTY, Bot, server, slack_bot

from turnback.bots.slack.adapter import make_client
from turnback.bots.slack.outlet import SlackOutlet
from turnback.bots.slack.pacing import Pacer


@pytest.fixture
async def slack() -> AsyncIterator[SlackServer]:
    async with server() as running:
        yield running
        assert running.violations == []


@pytest.fixture
def outlet(slack: SlackServer) -> SlackOutlet:
    return SlackOutlet(make_client(slack.bot_token, slack.base_url), Pacer(HASTY))


@pytest.fixture
async def bot(slack: SlackServer, tmp_path: Path) -> AsyncIterator[Bot]:
    """The whole of Turnback, for whoever writes to it."""
    async with slack_bot(tmp_path, slack) as running:
        yield running


@pytest.fixture
def ann(slack: SlackServer) -> User:
    return slack.user("Ann")


@pytest.fixture
def bob(slack: SlackServer) -> User:
    return slack.user("Bob")


@pytest.fixture
def general(slack: SlackServer, ann: User, bob: User) -> Channel:
    return slack.channel("general", [slack.user("Maker"), ann, bob])
