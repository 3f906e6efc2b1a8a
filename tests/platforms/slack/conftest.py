"""The simulated workspace, and the real library talking to it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from platforms.slack.echo import client_of, echo_app, listening
from platforms.slack.server import SlackServer
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient


@pytest.fixture
async def slack() -> AsyncIterator[SlackServer]:
    async with SlackServer() as server:
        yield server


@pytest.fixture
def client(slack: SlackServer) -> AsyncWebClient:
    """The library's client, with nobody listening for events."""
    return client_of(slack)


@pytest.fixture
async def echo(slack: SlackServer) -> AsyncIterator[AsyncApp]:
    """The echoing bot on Socket Mode."""
    async with listening(slack, echo_app(slack)) as app:
        yield app
