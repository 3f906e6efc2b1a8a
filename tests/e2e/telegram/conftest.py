"""Turnback's Telegram adapter on the real library, over real HTTP, against the simulated Bot API server.

After every test the server must have counted no broken rule.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from platforms.telegram.people import User
from platforms.telegram.server import TelegramServer
from support.telegram_bot import HASTY, Bot, telegram_bot

from turnback.bots.telegram.client import make_bot
from turnback.bots.telegram.outlet import TelegramOutlet
from turnback.bots.telegram.pacing import Pacer


@pytest.fixture
async def telegram() -> AsyncIterator[TelegramServer]:
    async with TelegramServer(flood="off") as server:
        yield server
        assert server.violations == []


class Moves:
    """Groups whose id has changed, as the outlet learns of them."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, int]] = []

    async def __call__(self, old: int, new: int) -> None:
        self.seen.append((old, new))


@pytest.fixture
def moves() -> Moves:
    return Moves()


@pytest.fixture
async def outlet(telegram: TelegramServer, moves: Moves) -> AsyncIterator[TelegramOutlet]:
    async with make_bot(telegram.token, telegram.base_url, Pacer(HASTY)) as bot:
        yield TelegramOutlet(bot, moves)


@pytest.fixture
async def bot(telegram: TelegramServer, tmp_path: Path) -> AsyncIterator[Bot]:
    """The whole of Turnback, for whoever writes to it."""
    async with telegram_bot(tmp_path, telegram) as running:
        yield running


@pytest.fixture
def ann(telegram: TelegramServer) -> User:
    return telegram.user("Ann")


@pytest.fixture
def bob(telegram: TelegramServer) -> User:
    return telegram.user("Bob")
