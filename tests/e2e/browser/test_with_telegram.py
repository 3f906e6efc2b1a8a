"""What somebody does on Telegram shows on their page: the real adapter and library, before the simulated server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from platforms.telegram.server import TelegramServer
from playwright.async_api import expect
from support.browser import Lodge, Visitors, served
from support.telegram_bot import telegram_bot


@pytest.fixture
async def telegram() -> AsyncIterator[TelegramServer]:
    async with TelegramServer(flood="off") as server:
        yield server
        assert server.violations == []


@pytest.fixture
async def home(tmp_path: Path, telegram: TelegramServer) -> AsyncIterator[Lodge]:
    async with telegram_bot(tmp_path / "data", telegram) as bot, served(bot.service) as opened:
        yield opened


async def test_fork_made_on_telegram_appears_in_the_sidebar_within_a_second(
    visitors: Visitors, telegram: TelegramServer
) -> None:
    ann = telegram.user("Ann")
    await ann.say("one")
    await ann.private.seen("You said: one")
    page = await visitors.visit("Ann (telegram)", "/")
    await expect(page.locator("#chats li")).to_have_count(1)
    await ann.command("/fork")
    await ann.private.seen("Forked turn 1, step 1")
    await expect(page.locator("#chats ol li")).to_contain_text("from turn 1, step 1", timeout=1000)


async def test_restore_on_telegram_reloads_the_open_chat(visitors: Visitors, telegram: TelegramServer) -> None:
    ann = telegram.user("Ann")
    for text in ("one", "two"):
        await ann.say(text)
        await ann.private.seen(f"You said: {text}")
    page = await visitors.visit("Ann (telegram)", "/")
    await page.locator("#chats li a").first.click()
    await expect(page.locator("[data-answer]")).to_have_count(2)
    await ann.command("/undo")
    await ann.private.seen("Took 1 turn back")
    await expect(page.locator("[data-answer]")).to_have_count(1)
