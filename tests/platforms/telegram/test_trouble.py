"""The simulated server's trouble, as the real library meets it."""

from __future__ import annotations

import asyncio

import pytest
from platforms.telegram.server import TelegramServer
from telegram import Bot
from telegram.error import InvalidToken, NetworkError, RetryAfter, TimedOut


async def test_a_planned_failure_happens_once(telegram: TelegramServer, bot: Bot) -> None:
    await telegram.user("Ann").say("hi")
    telegram.fail_next("sendMessage", 502)
    ann = telegram.world.users[min(telegram.world.users)]
    with pytest.raises(NetworkError, match="Bad Gateway"):
        await bot.send_message(ann.id, "first")
    await bot.send_message(ann.id, "second")
    assert [message.text for message in ann.private.said()] == ["second"]
    assert telegram.violations == []


@pytest.mark.filterwarnings("ignore:.*retry_after:telegram.warnings.PTBDeprecationWarning")
async def test_a_planned_429_says_how_long_to_wait(telegram: TelegramServer, bot: Bot) -> None:
    telegram.fail_next("getM*", 429, retry_after=30)
    with pytest.raises(RetryAfter) as refused:
        await bot.get_me()
    assert refused.value.retry_after == 30


async def test_an_applied_failure_loses_only_the_answer(telegram: TelegramServer, bot: Bot) -> None:
    ann = telegram.user("Ann")
    await ann.say("hi")
    telegram.fail_next("sendMessage", applied=True, drop=True)
    with pytest.raises(NetworkError):
        await bot.send_message(ann.id, "sent")
    await ann.private.seen("sent")


async def test_a_slow_answer_comes_in_the_end(telegram: TelegramServer, bot: Bot) -> None:
    telegram.fail_next("getMe", 0, delay=0.3)
    with pytest.raises(TimedOut):
        await bot.get_me(read_timeout=0.1)
    telegram.fail_next("getMe", 0, delay=0.05)
    assert (await bot.get_me(read_timeout=5)).username == "turnback_bot"


async def test_a_revoked_token_is_refused_until_it_is_restored(telegram: TelegramServer, bot: Bot) -> None:
    telegram.revoke_token()
    with pytest.raises(InvalidToken):
        await bot.get_me()
    telegram.restore_token()
    assert (await bot.get_me()).id == telegram.bot.id


async def test_a_server_that_is_down_refuses_and_comes_back(telegram: TelegramServer, bot: Bot) -> None:
    waiting = asyncio.create_task(bot.get_updates(timeout=20))
    await telegram.arrived("getUpdates")
    await telegram.down()
    with pytest.raises(NetworkError):
        await waiting
    with pytest.raises(NetworkError):
        await bot.get_me()
    await telegram.up()
    assert (await bot.get_me()).id == telegram.bot.id


async def test_a_polling_bot_outlives_an_outage(telegram: TelegramServer, echo: object) -> None:
    ann = telegram.user("Ann")
    await ann.say("before")
    await ann.private.seen("Ann: before")
    await telegram.down()
    await ann.say("meanwhile")
    await telegram.up()
    await ann.private.seen("Ann: meanwhile", seconds=15)
    assert telegram.violations == []
